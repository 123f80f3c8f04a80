"""Moving to a better broker: when it is asked for, what is measured, when a session moves and what it takes along."""

from __future__ import annotations

import heapq

import msgspec
import pytest

from causeway.client.outcomes import Connected, Disconnected
from causeway.client.roaming import SAMPLES, SETTLE_IN
from causeway.core.effects import Send
from causeway.core.events import Opened, Received
from causeway.core.messages import (
    PROTOCOL_VERSION,
    Candidate,
    Confirmed,
    Deposit,
    Goodbye,
    Hello,
    Locate,
    Located,
    Message,
    Outcome,
    Ping,
    Pong,
    Welcome,
)
from causeway.errors import Code
from causeway.limits import LOCATE_PROBES_MAX
from causeway.types import MILLISECOND, SECOND
from tests.unit.client.stage import INCARNATION, Stage, peer

NEAR, FAR = MILLISECOND, 40 * MILLISECOND


def fact(name: str, **facts: object) -> Candidate:
    """A broker elsewhere that nobody has measured yet."""
    usual: dict[str, object] = {
        "alive": True,
        "ready": True,
        "round_trip": 20 * MILLISECOND,
        "measured": False,
        "nearby": 2,
        "distance": 0,
        "connections": 0,
        "limit": 1000,
        "capability": 1000,
        "started": 1,
        "score": 1,
    }
    return Candidate(peer(name), **{**usual, **facts})  # type: ignore[arg-type]


class Trip(Stage):
    """A session that roams from b1, between brokers that answer after a round trip of the test's choice."""

    def __init__(self, trips: dict[str, int], *facts: Candidate, **settings: object) -> None:
        super().__init__(**{"roam": True, "addresses": (("b1", 7400),), **settings})
        self.trips = trips
        """Who answers at all, and after which time."""
        self.facts = facts
        """What a broker says when it is asked."""
        self.mute: set[str] = set()
        """Brokers that greet and then answer no Ping."""
        self.dialled_hosts: list[str] = []
        self._heard = 0
        self._due: list[tuple[int, int, int, Message | None]] = []
        self._count = 0
        self.turn()
        self.run(SECOND // 2)
        assert self.at == "b1"

    @property
    def at(self) -> str:
        """The home."""
        assert self.session.home is not None
        return self.session.home.name

    @property
    def questions(self) -> list[Locate]:
        return self.said(Locate)

    def take_sent(self) -> list[Send]:
        self._listen()
        self._heard = 0
        return super().take_sent()

    def run(self, duration: int) -> None:
        """Let time pass, and everybody answer."""
        end = self.now + duration
        for _ in range(100_000):
            self._listen()
            deadline = self.session.next_deadline()
            answer = self._due[0][0] if self._due else end + 1
            at = min(answer, deadline if deadline is not None else end + 1)
            if at > end:
                self.now = end
                return
            self.now = max(self.now, at)
            if answer <= at:
                self._answer(*heapq.heappop(self._due)[2:])
            else:
                self.turn()
        raise AssertionError("the session never rests")

    def until_at(self, name: str) -> None:
        """Let time pass until the session is there."""
        for _ in range(1000):
            if self.at == name:
                return
            self.run(SECOND // 10)
        raise AssertionError(f"it stays at {self.at}")

    def _listen(self) -> None:
        """Note what is to be answered, and when."""
        for conn, dial in list(self.dials.items()):
            if dial.host in self.trips:
                self.conns[dial.host] = conn
                del self.dials[conn]
                self.dialled_hosts.append(dial.host)
                self._later(conn, None)
        names = {conn: name for name, conn in self.conns.items()}
        for send in self.sent[self._heard :]:
            name = names.get(send.conn)
            if name is None:
                continue
            match send.head:
                case Hello():
                    self._later(send.conn, Welcome(PROTOCOL_VERSION, peer(name), 7))
                case Ping() if name not in self.mute:
                    self._later(send.conn, Pong(send.head.nonce))
                case Locate():
                    self._later(send.conn, Located(send.head.token, self.facts))
                case _:
                    pass
        self._heard = len(self.sent)

    def _later(self, conn: int, head: Message | None) -> None:
        name = next(name for name, known in self.conns.items() if known == conn)
        self._count += 1
        heapq.heappush(self._due, (self.now + self.trips[name], self._count, conn, head))

    def _answer(self, conn: int, head: Message | None) -> None:
        if conn in self.conns.values():
            self.turn(Opened(conn) if head is None else Received(conn, [(head, b"")]))


# Asking ---------------------------------------------------------------------------------------------------------
def test_session_asks_soon_after_it_is_connected_and_then_now_and_again() -> None:
    trip = Trip({"b1": NEAR}, fact("b1"))
    assert trip.questions == []
    trip.run(SETTLE_IN)
    assert [question.token for question in trip.questions] == [1]
    trip.run(20 * SECOND)
    assert len(trip.questions) == 1
    trip.run(20 * SECOND)
    assert [question.token for question in trip.questions] == [1, 2]


def test_session_that_shall_stay_asks_nothing() -> None:
    trip = Trip({"b1": FAR, "b2": NEAR}, fact("b1"), fact("b2"), roam=False)
    trip.run(120 * SECOND)
    assert trip.questions == []
    assert trip.dialled_hosts == ["b1"]


def test_session_with_one_broker_measures_and_moves_nothing() -> None:
    trip = Trip({"b1": FAR}, fact("b1"))
    trip.run(120 * SECOND)
    assert trip.dialled_hosts == ["b1"]
    assert trip.outcomes(Disconnected) == []


# Moving ---------------------------------------------------------------------------------------------------------
def test_session_moves_to_a_broker_that_it_has_measured_to_be_much_nearer() -> None:
    trip = Trip({"b1": FAR, "b2": NEAR}, fact("b1"), fact("b2"))
    trip.until_at("b2")
    assert [told.peer.name for told in trip.outcomes(Connected)] == ["b1", "b2"]
    assert trip.outcomes(Disconnected) == [], "the new link was up before the old one was left"


def test_session_stays_when_the_other_broker_proves_to_be_no_nearer_and_remembers_that() -> None:
    trip = Trip({"b1": FAR, "b2": FAR - NEAR}, fact("b1"), fact("b2"))
    trip.run(100 * SECOND)
    assert trip.at == "b1"
    assert trip.dialled_hosts == ["b1", "b2"], "measured once"
    assert [close.reason for close in trip.closes] == ["only looking"]
    assert list(trip.conns) == ["b1"]
    assert trip.session.trouble == "no broker was reached yet", "a look is no trouble"
    assert dict(trip.questions[-1].round_trips) == {peer("b1").id: FAR, peer("b2").id: FAR - NEAR}


def test_near_broker_with_little_to_do_is_not_left_and_nobody_is_bothered() -> None:
    trip = Trip({"b1": NEAR // 5, "b2": 0, "b3": 0}, fact("b1", connections=12), fact("b2"), fact("b3"))
    trip.run(100 * SECOND)
    assert trip.dialled_hosts == ["b1"]


def test_session_moves_to_a_broker_with_much_less_to_do() -> None:
    trip = Trip({"b1": NEAR, "b2": NEAR}, fact("b1", connections=200), fact("b2"))
    trip.until_at("b2")


def test_session_leaves_a_broker_that_is_full_or_leaving() -> None:
    for facts in ({"connections": 2, "limit": 2}, {"ready": False}):
        trip = Trip({"b1": NEAR, "b2": NEAR}, fact("b1", **facts), fact("b2"))
        trip.until_at("b2")


def test_session_counts_itself_before_it_moves() -> None:
    trip = Trip({"b1": NEAR, "b2": NEAR}, fact("b1", connections=1, limit=2), fact("b2", limit=2))
    trip.run(100 * SECOND)
    assert trip.dialled_hosts == ["b1"], "afterwards the two would only have changed places"


def test_session_whose_reader_needs_the_old_broker_does_not_move_for_its_load() -> None:
    trip = Trip({"b1": NEAR, "b2": NEAR}, fact("b1", connections=200), fact("b2"))
    trip.consume("b1")
    trip.run(100 * SECOND)
    assert trip.dialled_hosts == ["b1"], "its connection would stay"


def test_busy_client_does_not_take_its_own_queue_for_distance() -> None:
    trip = Trip({"b1": NEAR, "b2": NEAR}, fact("b1"), fact("b2"))
    trip.session.send("orders", b"x", timeout=1000 * SECOND)
    trip.turn()
    trip.trips["b1"] = 50 * MILLISECOND  # every answer of b1 stands behind what we send
    trip.run(100 * SECOND)
    assert trip.at == "b1"


def test_quiet_client_notices_that_the_way_has_become_longer() -> None:
    trip = Trip({"b1": NEAR, "b2": NEAR}, fact("b1"), fact("b2"))
    trip.trips["b1"] = FAR
    trip.until_at("b2")


@pytest.mark.parametrize("facts", [{"alive": False}, {"ready": False}, {"connections": 1000}], ids=str)
def test_broker_that_takes_nobody_is_not_even_measured(facts: dict[str, object]) -> None:
    trip = Trip({"b1": FAR, "b2": NEAR}, fact("b1"), fact("b2", **facts))
    trip.run(100 * SECOND)
    assert trip.dialled_hosts == ["b1"]


def test_only_a_few_brokers_are_measured_at_once_each_a_few_times() -> None:
    names = [f"c{number}" for number in range(10)]
    trip = Trip({"b1": FAR, **dict.fromkeys(names, FAR)}, fact("b1"), *(fact(name, connections=3) for name in names))
    trip.run(SETTLE_IN + SECOND)
    assert trip.dialled_hosts == ["b1", *names[:LOCATE_PROBES_MAX]]
    assert len([ping for ping in trip.said(Ping) if ping.nonce >> 32]) == SAMPLES * (1 + LOCATE_PROBES_MAX)


def test_best_of_those_measured_becomes_home_and_the_others_are_let_go() -> None:
    trip = Trip({"b1": FAR, "c0": FAR // 3, "c1": NEAR, "c2": FAR // 8}, *map(fact, ("b1", "c0", "c1", "c2")))
    trip.until_at("c1")
    assert sorted(trip.conns) == ["b1", "c1"]


def test_broker_that_cannot_be_reached_is_passed_over_and_left_out_of_the_next_question() -> None:
    trip = Trip({"b1": FAR, "c1": NEAR}, fact("b1"), fact("c0"), fact("c1"))
    while not trip.dials:
        trip.run(MILLISECOND)
    trip.refuse("c0")
    trip.until_at("c1")
    trip.facts = (fact("c1"),)
    trip.run(5 * SECOND)
    assert trip.questions[-1].exclude == (peer("c0").id,)
    trip.run(90 * SECOND)
    assert trip.questions[-1].exclude == (), "it may be back"


def test_broker_that_answers_no_ping_holds_up_the_decision_for_a_moment_only() -> None:
    trip = Trip({"b1": FAR, "c0": NEAR, "c1": NEAR}, fact("b1"), fact("c0"), fact("c1"))
    trip.mute = {"c0"}
    trip.run(SETTLE_IN + 2 * SECOND)
    assert trip.at == "c1"


def test_somebody_else_at_the_address_is_not_moved_to() -> None:
    trip = Trip({"b1": FAR, "b2": NEAR}, fact("b1"))
    expected = msgspec.structs.replace(peer("b9"), host="b2")
    trip.facts = (fact("b1"), msgspec.structs.replace(fact("b9"), peer=expected))
    trip.run(10 * SECOND)
    assert "b2" in trip.dialled_hosts
    assert trip.at == "b1"


def test_no_second_move_within_the_pause() -> None:
    trip = Trip({"b1": FAR, "b2": FAR // 4, "b3": NEAR // 2}, fact("b1"), fact("b2"), locate_every=5 * SECOND)
    trip.until_at("b2")
    moved = trip.now
    trip.facts = (fact("b2"), fact("b3"))
    trip.until_at("b3")
    assert trip.now - moved >= trip.config.move_pause


def test_no_move_while_a_transaction_is_being_committed() -> None:
    trip = Trip({"b1": FAR, "b2": NEAR}, fact("b1"), fact("b2"), repeat_after=1000 * SECOND)
    commitment = trip.session.commit([], [])
    trip.run(100 * SECOND)
    assert "b2" in trip.dialled_hosts
    assert trip.at == "b1"
    trip.receive("b1", Outcome("billing", INCARNATION, commitment.head.number, True))
    trip.until_at("b2")


# What a move takes along ----------------------------------------------------------------------------------------
def moving(*names: str) -> Trip:
    """From b1 to b2, with three batches that b1 has not answered."""
    trip = Trip({"b1": FAR, "b2": NEAR, **dict.fromkeys(names, FAR)}, fact("b1"), fact("b2"))
    for number in range(3):
        trip.session.send("orders", str(number).encode())
        trip.turn()
    return trip


def test_what_is_unanswered_is_sent_again_to_the_new_home_in_order() -> None:
    trip = moving()
    assert [batch.first for batch in trip.said(Deposit, "b1")] == [1, 2, 3]
    trip.until_at("b2")
    again = trip.said(Deposit, "b2")
    assert [(batch.first, batch.follows) for batch in again] == [(1, 0), (2, 1), (3, 2)]


def test_answers_on_the_old_link_still_count() -> None:
    trip = moving()
    trip.until_at("b2")
    for batch in trip.said(Deposit, "b1"):
        trip.accept("b1", batch)
    assert trip.session.unresolved == 0


def test_what_is_sent_after_the_move_goes_to_the_new_home_only() -> None:
    trip = moving()
    trip.until_at("b2")
    trip.take_sent()
    trip.session.send("orders", b"later")
    trip.turn()
    assert [batch.first for batch in trip.said(Deposit, "b2")] == [4]
    assert trip.said(Deposit, "b1") == []


def test_old_link_is_closed_soon_when_nothing_needs_it() -> None:
    trip = moving()
    trip.until_at("b2")
    for batch in trip.said(Deposit, "b2"):
        trip.accept("b2", batch)
    assert sorted(trip.conns) == ["b1", "b2"]
    trip.run(12 * SECOND)
    assert list(trip.conns) == ["b2"]
    assert trip.at == "b2"


def test_old_link_stays_for_the_reader_that_uses_it() -> None:
    trip = moving()
    reader = trip.consume("b1")
    trip.until_at("b2")
    trip.run(20 * SECOND)
    trip.deliver("b1", reader, 1, 1, 3)
    assert trip.bodies_shown(reader) == [b"1", b"2", b"3"]


def test_old_link_stays_until_the_delivery_of_what_was_sent_there_is_confirmed() -> None:
    trip = Trip({"b1": FAR, "b2": NEAR}, fact("b1"), fact("b2"))
    ticket = trip.session.send("orders", b"x", confirm=True)
    trip.turn()
    trip.accept("b1", trip.said(Deposit)[0])
    trip.until_at("b2")
    trip.run(60 * SECOND)
    trip.receive("b1", Confirmed("billing", INCARNATION, "orders", 1, 1, 1))
    assert ticket.batch.confirmed
    trip.run(12 * SECOND)
    assert list(trip.conns) == ["b2"]


def test_loss_of_the_new_home_leads_back_to_the_old_one_at_once() -> None:
    trip = moving()
    trip.until_at("b2")
    trip.take_sent()
    trip.cut("b2")
    assert trip.at == "b1"
    assert [batch.first for batch in trip.said(Deposit, "b1")] == [1, 2, 3]


def test_loss_of_the_broker_that_was_asked_harms_nobody() -> None:
    trip = Trip({"b1": FAR, "b2": NEAR}, fact("b1"), fact("b2"))
    while "b2" not in trip.dialled_hosts:
        trip.run(MILLISECOND)
    trip.cut("b1")
    del trip.trips["b1"]
    trip.run(SECOND)
    assert trip.at == "b2"
    trip.facts = (fact("b2"),)
    trip.run(60 * SECOND)
    assert trip.at == "b2"


def test_brokers_named_in_an_answer_are_turned_to_when_home_is_lost() -> None:
    trip = Trip({"b1": NEAR}, fact("b1"), fact("c7", connections=3))
    trip.run(SETTLE_IN)
    trip.cut("b1")
    del trip.trips["b1"]
    trip.trips["c7"] = NEAR
    trip.run(SECOND)
    assert trip.at == "c7"


# Finding a first home -------------------------------------------------------------------------------------------
def test_client_that_is_refused_for_lack_of_room_goes_where_it_is_told() -> None:
    stage = Stage(addresses=(("b1", 7400), ("b2", 7400)))
    stage.turn()
    (dial,) = stage.dials.values()
    stage.turn(Opened(dial.conn))
    stage.turn(Received(dial.conn, [(Goodbye(int(Code.OVERLOADED), "full", (peer("c1"),)), b"")]))
    stage.open("c1")
    assert stage.session.home == peer("c1")


def test_two_full_brokers_do_not_send_a_client_to_and_fro_without_a_pause() -> None:
    stage = Stage(addresses=(("b1", 7400),))
    stage.turn()
    for name, other in (("b1", "b2"), ("b2", "b1")):
        conn = stage.dialled(name)
        stage.turn(Opened(conn))
        stage.turn(Received(conn, [(Goodbye(int(Code.OVERLOADED), "full", (peer(other),)), b"")]))
    assert not stage.dials
    assert "full" in stage.session.trouble
    stage.sleep(SECOND)
    assert stage.dials, "later it tries again"


def test_dead_seeds_of_a_url_are_passed_over() -> None:
    stage = Stage(addresses=tuple((f"b{number}", 7400) for number in range(1, 6)))
    stage.turn()
    while (host := next(iter(stage.dials.values())).host) != "b4":
        stage.refuse(host)
    stage.open("b4")
    assert stage.session.home == peer("b4")
