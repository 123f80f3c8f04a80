"""The seats of the product in a network of their own: random trees, traffic, delays, losses, crashes, hand-overs."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.core.causal.clock import MatrixClock
from causeway.core.machine import Turn
from causeway.core.messages import Deposit, Message, Rejected
from causeway.errors import Code
from causeway.names import seat_name
from causeway.sim.checkers.base import Wrong
from causeway.sim.checkers.causality import Causality
from causeway.sim.letters import PUBLISHED, Letter
from causeway.sim.seats import Got, SeatedApplication, SeatNetwork, SeatWeather
from causeway.types import MILLISECOND, SECOND, ServiceClass
from tests.property.domain_network import tree_of

TOPIC = "talk"
ORDERED = int(ServiceClass.TRANSACTIONAL)


class Talk:
    """One application per seat, with one mailbox for letters and the topic; the checker sees what they do."""

    def __init__(self, network: SeatNetwork, letters: int) -> None:
        self.network, self.rng, self.left = network, network.rng, letters
        self.checker = Causality()
        self._letters: dict[tuple[str, int], Letter] = {}
        self.apps = [network.application(f"a{name}", name, f"{TOPIC}/#") for name in network.places]
        network.run(network.now + SECOND)
        for app in self.apps:
            self.checker.subscribed(app.name, [f"{TOPIC}/x"])
            self.checker.subscription_begun(app.name)
        network.on_receive = self._read

    def write(self, app: SeatedApplication) -> None:
        if self.left <= 0:
            return
        self.left -= 1
        self.checker.now = self.network.now
        if self.rng.random() < 0.2:
            dest = f"{PUBLISHED}{TOPIC}/x"
            number = app.send(b"", topic=f"{TOPIC}/x")
        else:
            dest = self.rng.choice(self.apps).name
            number = app.send(b"", dest=dest)
        letter = self._letters[app.name, number] = Letter(app.name, 1, dest, ORDERED, number)
        self.checker.sent(letter)

    def _read(self, mailbox: str, got: Got) -> None:
        self.checker.now = self.network.now
        self.checker.delivered(mailbox, (mailbox, 1), self._letters[got.source, got.id])
        if self.rng.random() < 0.4:
            self.write(self.network.applications[mailbox])

    def finish(self) -> None:
        """Everybody was answered, hence everything has arrived."""
        for app in self.apps:
            assert not app.unanswered, f"{app.name} waits for an answer to {sorted(app.unanswered)}"
        for letter in self._letters.values():
            self.checker.acknowledged(letter)
        self.checker.finish()
        for place in self.network.places.values():
            assert not place.seat.entries
            assert not place.seat.held.count


def talk(seed: int, seats: int, crashes: int, weather: SeatWeather, letters: int = 150) -> SeatNetwork:
    rng = random.Random(f"{seed}/{seats}")
    network = SeatNetwork(tree_of(rng, seats), seed, weather)
    conversation = Talk(network, letters)
    for _ in range(letters // 2):
        network.after(rng.randint(0, 2 * SECOND), lambda: conversation.write(rng.choice(conversation.apps)))
    for _ in range(crashes):
        name = rng.choice(list(network.places))
        network.after(rng.randint(0, 3 * SECOND), network.places[name].crash)
    network.run()
    conversation.finish()
    return network


@given(
    seed=st.integers(0, 2**32),
    seats=st.integers(2, 24),
    crashes=st.integers(0, 30),
    slow=st.sampled_from([3, 40, 500]),
    lost=st.sampled_from([0.0, 0.1]),
)
@settings(max_examples=40, deadline=None)
def test_order_holds_whatever_happens(seed: int, seats: int, crashes: int, slow: int, lost: float) -> None:
    weather = SeatWeather(delay=(MILLISECOND, slow * MILLISECOND), doubled=0.2, lost=lost)
    talk(seed, seats, crashes, weather)


@pytest.mark.parametrize("seed", range(3))
def test_order_holds_among_sixty_seats(seed: int) -> None:
    weather = SeatWeather(delay=(MILLISECOND, 200 * MILLISECOND), doubled=0.1, lost=0.02)
    network = talk(seed, 60, 40, weather, letters=200)
    assert sum(place.seat.held.most for place in network.places.values()) > 50, "nothing was ever early"


@pytest.mark.parametrize("seed", range(5))
def test_a_seat_without_room_to_hold_back_takes_what_the_others_wait_for(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("causeway.core.causal.holdback.HELD_BYTES_PER_SEAT_MAX", 1)
    talk(seed, 6, 2, SeatWeather(delay=(MILLISECOND, 500 * MILLISECOND)))


def test_order_holds_when_every_step_is_an_operation_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.causal.seat.DECIDED_BYTES_MAX", 1)
    for seed in range(5):
        talk(seed, 9, 20, SeatWeather(delay=(MILLISECOND, 100 * MILLISECOND), doubled=0.1, lost=0.05))


# Void -----------------------------------------------------------------------------------------------------------
def test_a_place_whose_sender_and_seat_failed_together_is_given_up() -> None:
    network = SeatNetwork({"p": ("d",), "q": ("d",)}, 1, SeatWeather((MILLISECOND, MILLISECOND), (0, 0)))
    anna, ben = network.application("anna", "p"), network.application("ben", "q")
    network.places["q"].seat.offer = lambda turn, head, body: None  # type: ignore[method-assign]
    anna.send(b"lost", dest="ben")
    network.run(network.now + 10 * MILLISECOND)
    head, body = anna.unanswered.pop(1)  # it dies
    del network.places["q"].seat.offer
    network.places["p"].crash()
    carl = network.application("carl", "p")
    carl.send(b"behind it", dest="ben")
    network.run(network.now + 5 * SECOND)
    assert [got.body for got in network.mailboxes["ben"]] == []  # it waits for what may still come
    place = network.places["p"]
    place.act(place.seat.give_up)
    network.run(network.now + 5 * SECOND)
    assert [got.body for got in network.mailboxes["ben"]] == [b"behind it"]

    heard: list[Message] = []
    anna.answered = heard.append  # type: ignore[method-assign, assignment]
    network.deliver(head, body)  # it was only asleep
    network.run(network.now + SECOND)
    assert [answer.code for answer in heard if isinstance(answer, Rejected)] == [Code.ORDER_LOST]
    assert [got.body for got in network.mailboxes["ben"]] == [b"behind it"]
    assert not ben.unanswered


# Marks ----------------------------------------------------------------------------------------------------------
def test_who_read_at_another_seat_is_ordered_after_what_it_read() -> None:
    """p writes to q slowly, then to a queue at r; s reads the queue there and writes to q: it must not overtake."""
    seats = dict.fromkeys("pqrs", ("d",))
    network = SeatNetwork(seats, 1, SeatWeather((MILLISECOND, MILLISECOND), (0, 0)))
    pia, quinn, sam = (network.application(f"{name}-app", name) for name in "pqs")
    network.map.bindings["queue"] = "r"
    slow = network.places["q"]
    offer = slow.seat.offer

    def hold(turn: Turn, head: Deposit, body: bytes) -> None:
        if head.source != seat_name("p"):
            offer(turn, head, body)

    slow.seat.offer = hold  # type: ignore[method-assign]
    pia.send(b"first", dest=quinn.name)
    pia.send(b"then", dest="queue")
    network.run(network.now + SECOND)
    assert [got.body for got in network.mailboxes["queue"]] == [b"then"]
    sam.send(b"after both", dest=quinn.name, after=((seat_name("r"), 1),))
    network.run(network.now + SECOND)
    assert network.mailboxes[quinn.name] == []
    del slow.seat.offer
    network.run(network.now + SECOND)
    assert [got.body for got in network.mailboxes[quinn.name]] == [b"first", b"after both"]


# What these tests would find ------------------------------------------------------------------------------------
def test_stamping_receivers_one_by_one_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = MatrixClock.send
    monkeypatch.setattr(MatrixClock, "send", lambda clock, to, count: [whole(clock, [one], count)[0] for one in to])
    weather = SeatWeather(delay=(MILLISECOND, 500 * MILLISECOND))
    with pytest.raises(Wrong, match="which happened before it"):
        for seed in range(60):
            talk(seed, 8, 0, weather)


# No way ---------------------------------------------------------------------------------------------------------
def test_no_way_is_told_only_when_the_map_is_the_latest() -> None:
    network = SeatNetwork({"p": ("north",), "q": ("south",)}, 1, SeatWeather((MILLISECOND, MILLISECOND), (0, 0)))
    network.map.confirmed = 0
    anna, _ = network.application("anna", "p"), network.application("ben", "q")
    heard: list[Message] = []
    anna.answered = heard.append  # type: ignore[method-assign, assignment]
    anna.send(b"", dest="ben")
    network.run(network.now + SECOND)
    assert heard == []
    assert "a map with a way" in network.places["p"].seat.senders.listing()[0]["why"]  # type: ignore[operator]
    network.map.confirmed = network.now
    network.places["p"].act(network.places["p"].seat.on_chart)
    network.run(network.now + SECOND)
    assert [answer.code for answer in heard if isinstance(answer, Rejected)][:1] == [Code.NO_ROUTE]
