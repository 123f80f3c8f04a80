"""Seats at the edges: what ends, expires, is absurd or comes from elsewhere while batches are on their way."""

from __future__ import annotations

import pytest

from causeway.core.causal.senders import WAITS_MAX
from causeway.core.machine import Turn
from causeway.core.messages import Deposit, Register
from causeway.domains import DomainGraph
from causeway.domains.limits import SENDER_SECONDS_MIN
from causeway.names import seat_name
from causeway.sim.seats import SeatedApplication, SeatNetwork, SeatWeather
from causeway.types import MILLISECOND, SECOND

CALM = SeatWeather((MILLISECOND, MILLISECOND), (0, 0))


def network_of(*seats: str) -> SeatNetwork:
    return SeatNetwork(dict.fromkeys(seats, ("d",)), 1, CALM)


class ClosedBox:
    """A mailbox that takes nothing for now."""

    def __init__(self, network: SeatNetwork, mailbox: str) -> None:
        self._network, self._mailbox, self._deposit = network, mailbox, network._deposit
        network._deposit = self._refuse  # type: ignore[method-assign]

    def _refuse(self, head: Deposit, body: bytes) -> None:
        if head.dest != self._mailbox:
            self._deposit(head, body)

    def open(self) -> None:
        self._network._deposit = self._deposit  # type: ignore[method-assign]


def test_letters_on_their_way_survive_the_end_of_a_mailboxs_topics() -> None:
    """An ordinary mailbox that gets no more of a topic is still there for what is sent to it."""
    network = network_of("p", "q")
    anna, ben = network.application("anna", "p"), network.application("ben", "q", "news/#")
    box = ClosedBox(network, "ben")
    anna.send(b"a letter", dest="ben")
    network.run(network.now + 100 * MILLISECOND)
    place = network.places["q"]
    place.act(lambda turn: place.seat.register(turn, Register(seat_name("q"), "ben", 2, None, b""), 0))
    network.run(network.now + SECOND)
    assert anna.unanswered, "acknowledged, and ben does not have it"
    box.open()
    network.run(network.now + SECOND)
    assert [got.body for got in network.mailboxes["ben"]] == [b"a letter"]
    assert not anna.unanswered
    assert not ben.unanswered


# Time to live -----------------------------------------------------------------------------------------------------
def test_time_spent_waiting_is_taken_from_what_is_left_to_live() -> None:
    """A letter waits at its seat for a mark, and at the next one for another letter; its time does not stand still."""
    network = network_of("p", "q", "r")
    anna, ben, carl = (
        network.application(name, seat) for name, seat in zip(("anna", "ben", "carl"), "pqr", strict=True)
    )
    found: list[int] = []
    deposit = network._deposit

    def note(head: Deposit, body: bytes) -> None:
        found.append(head.ttl)
        deposit(head, body)

    network._deposit = note  # type: ignore[method-assign]
    anna.send(b"so that there is a number", dest="carl")
    network.run(network.now + SECOND)
    marks = network.places["r"].seat
    marks.on_ask_mark = lambda turn, head: None  # type: ignore[method-assign]
    anna.send(b"after what was read at r", dest="ben", after=((seat_name("r"), 1),), ttl=60 * SECOND)
    network.run(network.now + WAITS_MAX // 2)
    slow = network.places["q"]
    offer = slow.seat.offer
    slow.seat.offer = lambda turn, head, body: None  # type: ignore[method-assign]
    carl.send(b"first", dest="ben")
    network.run(network.now + SECOND)
    del marks.on_ask_mark

    def hold(turn: Turn, head: Deposit, body: bytes) -> None:
        if head.source != seat_name("r"):
            offer(turn, head, body)

    slow.seat.offer = hold  # type: ignore[method-assign]
    network.run(network.now + 10 * SECOND)
    assert slow.seat.held.count == 1
    found.clear()
    del slow.seat.offer
    network.run(network.now + SECOND)
    assert [got.body for got in network.mailboxes["ben"]] == [b"first", b"after what was read at r"]
    (first, left) = found[:2]
    assert first == 0
    assert 0 < left < 60 * SECOND - WAITS_MAX // 2 - 10 * SECOND
    assert not ben.unanswered


# Who sends --------------------------------------------------------------------------------------------------------
def test_what_waits_for_a_mark_that_never_comes_does_not_stay_for_ever() -> None:
    """Nobody has acknowledged it: its sender sends it again, if there is one, and others need the room."""
    network = network_of("p", "q")
    liar, anna = network.application("liar", "p"), network.application("anna", "p")
    network.application("ben", "q")
    liar.send(b"never", dest="ben", after=((seat_name("q"), 1 << 40),))
    network.run(network.now + SECOND)
    senders = network.places["p"].seat.senders
    assert senders.bytes
    liar.unanswered.clear()  # it is gone
    network.run(network.now + 2 * WAITS_MAX)
    assert senders.bytes == 0
    assert not senders.asks
    anna.send(b"hello", dest="ben")
    network.run(network.now + SECOND)
    assert [got.body for got in network.mailboxes["ben"]] == [b"hello"]


def test_what_waited_too_long_for_a_mark_comes_again_in_order() -> None:
    network = network_of("p", "q")
    anna, ben = network.application("anna", "p"), network.application("ben", "q")
    ben.send(b"a number", dest="ben")
    network.run(network.now + SECOND)
    asked = network.places["q"].seat
    asked.on_ask_mark = lambda turn, head: None  # type: ignore[method-assign]
    bodies = [b"one", b"two", b"three"]
    for body in bodies:
        anna.send(body, dest="ben", after=((seat_name("q"), 1),))
    network.run(network.now + 3 * WAITS_MAX)
    del asked.on_ask_mark
    network.run(network.now + 5 * SECOND)
    assert [got.body for got in network.mailboxes["ben"]][1:] == bodies
    assert not anna.unanswered


def test_marks_of_a_seat_that_is_not_on_our_map_are_waited_for() -> None:
    """It came later than our map: what was read there came after something, too."""
    network = network_of("p", "q", "r")
    anna = network.application("anna", "p")
    network.application("ben", "q")
    whole = network.map.graph
    carl = network.application("carl", "r")
    carl.send(b"a number", dest="carl")
    network.run(network.now + SECOND)
    network.map.graph = DomainGraph({name: domains for name, domains in whole.seats.items() if name != "r"})
    anna.send(b"after it", dest="ben", after=((seat_name("r"), 1),))
    network.run(network.now + SECOND)
    assert network.mailboxes["ben"] == []
    network.map.graph = whole
    network.run(network.now + SECOND)
    assert [got.body for got in network.mailboxes["ben"]] == [b"after it"]


def test_a_crowd_of_senders_that_all_wait_does_not_forget_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.causal.senders.SENDERS_PER_SEAT_MAX", 2)
    network = network_of("p", "q")
    senders = [network.application(f"a{number}", "p") for number in range(4)]
    network.application("ben", "q")
    box = ClosedBox(network, "ben")
    for sender in senders:
        sender.send(b"one of " + sender.name.encode(), dest="ben")
        network.run(network.now + 100 * MILLISECOND)
    network.run(network.now + SECOND)
    box.open()
    network.run(network.now + 2 * SECOND)
    assert sorted(got.source for got in network.mailboxes["ben"]) == ["a0", "a1"]  # the others have to wait
    network.run(network.now + 2 * SENDER_SECONDS_MIN * SECOND)
    assert sorted(got.source for got in network.mailboxes["ben"]) == ["a0", "a1", "a2", "a3"]  # each once
    assert not any(sender.unanswered for sender in senders)


def test_an_application_called_like_a_broker_keeps_its_own_batches() -> None:
    network = network_of("p", "q")
    twin = SeatedApplication(network, "p", "q", incarnation=0)
    network.applications["p"] = twin
    anna = network.application("anna", "p")
    network.application("ben", "q")
    box = ClosedBox(network, "ben")
    twin.send(b"mine", dest="ben")
    network.run(network.now + 100 * MILLISECOND)
    anna.send(b"of the seat p", topic="nobody")
    network.run(network.now + 2 * SECOND)
    assert not anna.unanswered
    assert twin.unanswered, "acknowledged, and ben does not have it"
    assert network.places["q"].seat.senders.bytes > 0
    box.open()
    network.run(network.now + SECOND)
    assert [got.body for got in network.mailboxes["ben"]] == [b"mine"]
    assert network.places["q"].seat.senders.bytes == 0


def test_nothing_is_remembered_of_mailboxes_that_have_everything() -> None:
    network = network_of("p", "q")
    anna = network.application("anna", "p")
    for number in range(20):
        network.map.bindings[f"reply-{number}"] = "q"
        anna.send(b"x", dest=f"reply-{number}")
    network.run(network.now + SECOND)
    assert not anna.unanswered
    assert not network.places["q"].seat.out._last


# Places given up --------------------------------------------------------------------------------------------------
def test_many_places_are_given_up_in_several_operations_and_remembered_as_one_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("causeway.core.causal.seat.VOIDED_AT_ONCE_MAX", 2)
    network = network_of("p", "q")
    anna, carl = network.application("anna", "p"), network.application("carl", "p")
    network.application("ben", "q")
    box = ClosedBox(network, "ben")
    for number in range(5):
        anna.send(b"%d" % number, dest="ben")
    network.run(network.now + 10 * MILLISECOND)
    anna.unanswered.clear()  # it dies, and so does its seat, and the next one
    network.places["q"].crash()
    place = network.places["p"]
    place.crash()
    steps = 0
    while place.seat.void_at:
        place.act(place.seat.give_up)
        network.run(network.now + 10 * MILLISECOND)
        steps += 1
    assert steps == 3
    assert place.seat.senders.all["anna", 1].voided == [(1, 5)]
    box.open()
    carl.send(b"behind", dest="ben")
    network.run(network.now + 2 * SECOND)
    assert [got.body for got in network.mailboxes["ben"]] == [b"behind"]
