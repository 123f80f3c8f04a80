"""What a broker knows of the map: its own seat asked for until it is answered, bindings, clients that wait."""

from __future__ import annotations

import pytest

from causeway.config import BrokerConfig
from causeway.core.causal.chart import ASK_AGAIN_MAX, ASK_AGAIN_MIN, Chart
from causeway.core.events import PeerMessage
from causeway.core.machine import Turn
from causeway.core.messages import (
    AskDomains,
    AskSeat,
    Bind,
    Bound,
    DomainJoined,
    Domains,
    JoinDomain,
    Message,
    SeatEntry,
    SeatGiven,
    SeatTaken,
    TakeSeat,
)
from causeway.domains.limits import MAP_QUESTIONS_MAX
from causeway.errors import Code
from causeway.names import seat_name
from causeway.types import SECOND, Duration
from tests.unit.core.mail.neighbours import ME, FakeLinks

CONN = 2
NORTH = Domains(1, (SeatEntry("b2", 0, ("north",)),))
BOTH = Domains(2, (SeatEntry("b2", 0, ("north",)), SeatEntry("b1", 1, ("north", "south"))))
OURS = SeatTaken("b1", ("north", "south"), 1)


class Desk:
    """A chart; what it asks the map's owner is in `asked`, what it tells clients in `heard`."""

    def __init__(self, *domains: str) -> None:
        self.now = 10 * SECOND
        self.chart = Chart(BrokerConfig(name="b1", domains=domains), FakeLinks())
        self._asked: list[Message] = []
        self._heard: list[tuple[int, Message]] = []

    def end(self, turn: Turn) -> None:
        for event in turn.inbox:
            assert isinstance(event, PeerMessage)
            assert event.peer == ME
            self._asked.append(event.head)
        self._heard += [(send.conn, send.head) for send in turn.effects.sends]

    def asked(self) -> list[Message]:
        asked, self._asked = self._asked, []
        return asked

    def heard(self) -> list[tuple[int, Message]]:
        heard, self._heard = self._heard, []
        return heard

    # What happens
    def join(self) -> None:
        turn = Turn(self.now)
        self.chart.on_joined(turn)
        self.end(turn)

    def hears(self, *heads: SeatTaken | Domains | Bound) -> None:
        for head in heads:
            turn = Turn(self.now)
            self.chart.answered(turn, head)
            self.end(turn)

    def seat_of(self, name: str, hint: str = "b2") -> str | None:
        turn = Turn(self.now)
        seat = self.chart.seat_of(turn, name, hint)
        self.end(turn)
        return seat

    def ask(self, name: str, *, conn: int = CONN, token: int = 1) -> None:
        turn = Turn(self.now)
        self.chart.on_ask_seat(turn, conn, AskSeat(token, name))
        self.end(turn)

    def join_domain(self, domain: str, *, conn: int = CONN, token: int = 1) -> None:
        turn = Turn(self.now)
        self.chart.on_join(turn, conn, JoinDomain(token, domain))
        self.end(turn)

    def want(self, version: int) -> None:
        turn = Turn(self.now)
        self.chart.want(turn, version)
        self.end(turn)

    def pass_time(self, duration: Duration) -> None:
        stop = self.now + duration
        while (due := self.chart.next_deadline()) is not None and due <= stop:
            self.now = due
            turn = Turn(due)
            self.chart.on_deadline(turn)
            self.end(turn)
        self.now = stop


# Our own seat ----------------------------------------------------------------------------------------------------
def test_broker_without_domains_asks_nobody_anything() -> None:
    desk = Desk()
    desk.join()
    desk.pass_time(60 * SECOND)
    assert desk.asked() == []
    assert desk.chart.next_deadline() is None


def test_seat_is_asked_for_until_it_is_taken() -> None:
    desk = Desk("north", "south")
    desk.join()
    desk.join()
    request = TakeSeat("b1", ("north", "south"), ME.id)
    assert desk.asked() == [request]
    desk.pass_time(ASK_AGAIN_MIN)
    assert desk.asked() == [request]
    desk.pass_time(60 * SECOND)
    repeats = len(desk.asked())
    assert 60 * SECOND // ASK_AGAIN_MAX <= repeats <= 60 * SECOND // ASK_AGAIN_MAX + 5
    desk.hears(BOTH, OURS)
    desk.pass_time(60 * SECOND)
    assert desk.asked() == []
    assert desk.chart.refusal == ""
    assert desk.chart.seat == "b1"


def test_refused_seat_is_not_asked_for_again_and_the_reason_is_kept() -> None:
    desk = Desk("north", "south")
    desk.join()
    desk.asked()
    desk.hears(SeatTaken("b1", ("north", "south"), -1, Code.CYCLE, "would close a cycle"))
    assert desk.asked() == [AskDomains(0, ME.id)], "it may have a seat from before"
    desk.hears(BOTH)
    desk.pass_time(60 * SECOND)
    assert desk.asked() == []
    assert desk.chart.refusal == "would close a cycle"
    assert desk.chart.seat == "b1"
    assert desk.chart.statistics()["refusal"] == "would close a cycle"


def test_answers_for_others_change_nothing() -> None:
    desk = Desk("north")
    desk.join()
    desk.hears(SeatTaken("b9", ("north",), 3), SeatTaken("b1", ("other",), -1, Code.CYCLE, "no"))
    desk.asked()
    desk.pass_time(ASK_AGAIN_MIN)
    assert len(desk.asked()) == 1
    assert desk.chart.refusal == ""


# The map ---------------------------------------------------------------------------------------------------------
def test_map_is_learnt_and_older_ones_change_nothing() -> None:
    desk = Desk()
    desk.hears(BOTH, NORTH)
    assert desk.chart.version == 2
    assert desk.chart.numbers == {"b2": 0, "b1": 1}
    assert desk.chart.names == {0: "b2", 1: "b1"}
    assert desk.chart.statistics() == {
        "seat": "b1",
        "refusal": "",
        "version": 2,
        "domains": {"north": ["b2", "b1"], "south": ["b1"]},
        "left": [],
    }


def test_later_map_is_asked_for_once_until_it_comes() -> None:
    desk = Desk()
    desk.want(2)
    desk.want(1)
    assert desk.asked() == [AskDomains(0, ME.id)]
    desk.hears(NORTH)  # the latest there was
    desk.pass_time(ASK_AGAIN_MIN)
    assert desk.asked() == []
    desk.want(2)
    assert desk.asked() == [AskDomains(1, ME.id)]
    desk.hears(NORTH)
    desk.want(2)  # not in one breath
    assert desk.asked() == []
    desk.pass_time(ASK_AGAIN_MIN)
    assert desk.asked() == [AskDomains(1, ME.id)]
    desk.hears(BOTH)
    desk.pass_time(60 * SECOND)
    desk.want(2)
    assert desk.asked() == []


def test_map_that_never_comes_is_not_asked_for_ever() -> None:
    desk = Desk()
    desk.want(1 << 60)
    desk.pass_time(1000 * SECOND)
    assert len(desk.asked()) == MAP_QUESTIONS_MAX
    desk.want(1 << 60)
    assert len(desk.asked()) == 1


# Bindings --------------------------------------------------------------------------------------------------------
def test_binding_is_asked_for_once_and_then_known() -> None:
    desk = Desk()
    assert desk.seat_of("app") is None
    assert desk.seat_of("app") is None
    assert desk.asked() == [Bind("app", "b2", ME.id)]
    desk.hears(Bound("app", "b3"))
    assert desk.seat_of("app") == "b3"
    desk.pass_time(60 * SECOND)
    assert desk.asked() == []


def test_unanswered_binding_is_asked_again() -> None:
    desk = Desk()
    desk.seat_of("app")
    desk.asked()
    desk.pass_time(ASK_AGAIN_MIN)
    assert desk.asked() == [Bind("app", "b2", ME.id)]


def test_refused_binding_is_not_asked_again_at_once() -> None:
    """Who waits asks whenever it hears of anything: that must not become a loop."""
    desk = Desk()
    desk.seat_of("app")
    desk.asked()
    desk.hears(Bound("app", "", Code.NO_SEAT, "none"))
    assert desk.seat_of("app") is None
    assert desk.asked() == []
    desk.pass_time(1000 * SECOND)
    assert 1 <= len(desk.asked()) <= MAP_QUESTIONS_MAX
    assert desk.chart.next_deadline() is None


def test_bindings_remembered_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.causal.chart.BINDINGS_REMEMBERED_MAX", 2)
    desk = Desk()
    desk.hears(Bound("one", "b2"), Bound("two", "b2"))
    assert desk.seat_of("one") == "b2"
    desk.hears(Bound("three", "b2"))
    assert [desk.seat_of(name) for name in ("one", "two", "three")] == ["b2", None, "b2"]


def test_bindings_asked_for_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.causal.chart.BINDINGS_ASKED_MAX", 1)
    desk = Desk()
    desk.seat_of("one")
    assert desk.seat_of("two") is None
    assert len(desk.asked()) == 1
    desk.hears(Bound("one", "b2"))
    desk.seat_of("two")
    assert len(desk.asked()) == 1


# Clients ---------------------------------------------------------------------------------------------------------
def test_client_is_bound_to_our_own_seat_and_told_its_group() -> None:
    desk = Desk()
    desk.hears(BOTH)
    desk.ask("app", token=7)
    assert desk.asked() == [Bind("app", "b1", ME.id)]
    assert desk.heard() == []
    desk.hears(Bound("app", "b1"))
    assert desk.heard() == [(CONN, SeatGiven(7, seat_name("b1")))]
    desk.ask("app", token=8)
    assert desk.heard() == [(CONN, SeatGiven(8, seat_name("b1")))]


def test_client_of_a_broker_without_a_seat_is_bound_to_another_one() -> None:
    desk = Desk()
    desk.ask("app")
    assert desk.asked() == [AskDomains(0, ME.id)]
    desk.hears(NORTH)
    assert desk.asked() == [Bind("app", "b2", ME.id)]


def test_name_is_asked_for_again_at_once_when_all_neighbours_know_our_seat() -> None:
    desk = Desk("north", "south")
    desk.join()
    desk.hears(BOTH)
    desk.ask("app")
    desk.pass_time(2 * SECOND)
    desk.asked()
    desk.hears(OURS)
    assert desk.asked() == [Bind("app", "b1", ME.id)]


def test_client_hears_that_there_are_no_seats() -> None:
    desk = Desk()
    desk.ask("app", token=5)
    desk.hears(Domains(0, ()))
    ((conn, answer),) = desk.heard()
    assert isinstance(answer, SeatGiven)
    assert (conn, answer.token, answer.code) == (CONN, 5, Code.NO_SEAT)
    assert "--domain" in answer.detail
    assert desk.chart.next_deadline() is None


def test_client_waits_while_its_broker_takes_the_first_seat() -> None:
    desk = Desk("north", "south")
    desk.join()
    desk.ask("app")
    desk.hears(Domains(0, ()))
    assert desk.heard() == []
    desk.hears(BOTH, OURS, Bound("app", "b1"))
    assert desk.heard() == [(CONN, SeatGiven(1, seat_name("b1")))]


def test_client_that_waited_for_a_seat_that_was_refused_hears_of_others() -> None:
    desk = Desk("north", "south")
    desk.join()
    desk.ask("app")
    desk.hears(SeatTaken("b1", ("north", "south"), -1, Code.CYCLE, "no"), Domains(0, ()))
    ((_, answer),) = desk.heard()
    assert isinstance(answer, SeatGiven)
    assert answer.code == Code.NO_SEAT


def test_client_hears_why_its_name_is_bound_nowhere() -> None:
    desk = Desk()
    desk.hears(NORTH)
    desk.ask("app")
    desk.hears(Bound("app", "", Code.CLUSTER_FULL, "too many"))
    assert desk.heard() == [(CONN, SeatGiven(1, "", Code.CLUSTER_FULL, "too many"))]
    desk.asked()
    desk.pass_time(60 * SECOND)
    assert desk.asked() == []


def test_client_that_has_gone_is_told_nothing() -> None:
    desk = Desk()
    desk.hears(NORTH)
    desk.ask("app")
    desk.ask("app", conn=4, token=9)
    desk.ask("other")
    desk.join_domain("south")
    desk.chart.on_client_gone(CONN)
    desk.hears(Bound("app", "b2"), Bound("other", "b2"), SeatTaken("b1", ("south",), 1))
    assert desk.heard() == [(4, SeatGiven(9, seat_name("b2")))]


def test_question_of_a_client_that_has_gone_is_not_put_again() -> None:
    desk = Desk()
    desk.hears(NORTH)
    desk.ask("app")
    desk.join_domain("south")
    desk.chart.on_client_gone(CONN)
    desk.asked()
    desk.pass_time(60 * SECOND)
    assert desk.asked() == []


@pytest.mark.parametrize("name", ["", "causeway/root", "x" * 256, "tab\there"])
def test_absurd_names_are_refused(name: str) -> None:
    desk = Desk()
    desk.ask(name)
    ((_, answer),) = desk.heard()
    assert isinstance(answer, SeatGiven)
    assert answer.code == Code.BAD_FIELD
    assert desk.asked() == []


def test_seats_asked_for_by_one_connection_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.causal.chart.SEATS_ASKED_PER_CONNECTION_MAX", 1)
    desk = Desk()
    desk.hears(NORTH)
    desk.ask("one")
    desk.ask("two")
    ((_, answer),) = desk.heard()
    assert isinstance(answer, SeatGiven)
    assert answer.code == Code.OVERLOADED
    desk.ask("two", conn=4)
    assert desk.heard() == []


# Joining on demand -----------------------------------------------------------------------------------------------
def test_join_is_answered_when_the_seat_is_taken() -> None:
    desk = Desk()
    desk.join_domain("south", token=3)
    assert desk.asked() == [TakeSeat("b1", ("south",), ME.id)]
    assert desk.heard() == []
    desk.hears(BOTH, OURS)
    assert desk.heard() == [(CONN, DomainJoined(3, ("north", "south")))]


def test_refused_join_names_the_cycle_and_is_not_our_own_refusal() -> None:
    desk = Desk("north")
    desk.join()
    desk.hears(SeatTaken("b1", ("north",), 0))
    desk.join_domain("south")
    desk.hears(SeatTaken("b1", ("south",), -1, Code.CYCLE, "b1 [north] b2 [south] b1"))
    assert desk.heard() == [(CONN, DomainJoined(1, (), Code.CYCLE, "b1 [north] b2 [south] b1"))]
    assert desk.chart.refusal == ""


def test_late_refusal_of_one_join_is_not_taken_for_another() -> None:
    desk = Desk()
    desk.join_domain("south")
    refusal = SeatTaken("b1", ("south",), -1, Code.CYCLE, "no")
    desk.hears(refusal)
    desk.heard()
    desk.join_domain("west")
    desk.hears(refusal)
    assert desk.heard() == []


@pytest.mark.parametrize("domain", ["", "a/b", "a,b", "x" * 256])
def test_absurd_domains_are_refused(domain: str) -> None:
    desk = Desk()
    desk.join_domain(domain)
    ((_, answer),) = desk.heard()
    assert isinstance(answer, DomainJoined)
    assert answer.code == Code.BAD_FIELD
    assert desk.asked() == []


def test_joins_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.causal.chart.JOINS_MAX", 1)
    desk = Desk()
    desk.join_domain("one", token=1)
    desk.join_domain("one", token=2)
    desk.join_domain("two", token=3)
    codes = [(head.token, head.code) for _, head in desk.heard() if isinstance(head, DomainJoined)]
    assert codes == [(2, Code.OVERLOADED), (3, Code.OVERLOADED)]


# Leaving ---------------------------------------------------------------------------------------------------------
def test_broker_that_leaves_tells_the_map_until_it_is_answered_or_has_said_it_often_enough() -> None:
    for answered in (True, False):
        desk = Desk("north")
        turn = Turn(desk.now)
        desk.chart.leave(turn)
        desk.end(turn)
        assert desk.asked() == [TakeSeat("b1", (), ME.id, leaving=True)]
        assert desk.chart.lingering
        if answered:
            desk.chart.answered(Turn(desk.now), SeatTaken("b1", ("north",), 1))
            assert desk.chart.lingering, "that was for another question"
            desk.chart.answered(Turn(desk.now), SeatTaken("b1", ()))
        else:
            while (due := desk.chart.next_deadline()) is not None and desk.chart.lingering:
                desk.chart.on_deadline(Turn(due))
        assert not desk.chart.lingering


def test_broker_without_domains_has_nothing_to_tell_when_it_leaves() -> None:
    desk = Desk()
    desk.chart.leave(Turn(desk.now))
    assert not desk.chart.lingering


def test_nobody_new_is_sent_to_the_seat_of_a_broker_that_left() -> None:
    desk = Desk()
    seats = (SeatEntry("b2", 0, ("north",), left=True), SeatEntry("b3", 1, ("north",)))
    desk.chart.learn(Turn(desk.now), Domains(3, seats))
    for token in range(8):
        turn = Turn(desk.now)
        desk.chart.on_ask_seat(turn, CONN, AskSeat(token, f"app-{token}"))
        desk.end(turn)
    assert {head.seat for head in desk.asked() if isinstance(head, Bind)} == {"b3"}
