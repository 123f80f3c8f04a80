"""The map at its owner: who sits where, cycles refused and named, and nobody answered before everybody knows."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from causeway.core.causal.registrar import MAP, TELL_AGAIN_MAX, TELL_AGAIN_MIN, Registrar
from causeway.core.events import OwnershipGained
from causeway.core.machine import Turn
from causeway.core.messages import AskDomains, Bind, Bound, Domains, DomainsHeld, Message, SeatTaken, TakeSeat
from causeway.domains import DomainGraph
from causeway.domains.limits import DOMAINS_PER_SEAT_MAX, SEATS_PER_DOMAIN_MAX
from causeway.errors import Code
from causeway.names import MAP_NAME, seat_name
from causeway.store.base import Put, Row
from causeway.types import SECOND, key_of
from tests.unit.core.mail.neighbours import ME, OTHER, FakeCourier, FakeGroups, config_of


class Office:
    """A registrar with its rows; `patient`: operations wait for `commit`."""

    def __init__(self, *, patient: bool = False) -> None:
        self.patient = patient
        self.now = 10 * SECOND
        self.groups, self.courier = FakeGroups(), FakeCourier()
        self.registrar = Registrar(self.groups, self.courier)
        self.rows: dict[bytes, Row] = {}
        self.groups.own(MAP_NAME)
        self.gain()

    def gain(self) -> None:
        """As a new owner that has nothing but the rows."""
        self.groups.operations.clear()
        rows = [self.rows[key] for key in sorted(self.rows)]
        self.registrar.gain(Turn(self.now), OwnershipGained(MAP, config_of(MAP_NAME, ME, OTHER), rows, None))

    def hears(self, head: TakeSeat | AskDomains | DomainsHeld | Bind) -> bool:
        taken = self.registrar.arrived(Turn(self.now), head)
        if not self.patient:
            self.commit()
        return taken

    def commit(self) -> None:
        while self.groups.operations:
            then, _, writes = self.groups.operations.pop(0)
            for write in writes:
                assert isinstance(write, Put)
                self.rows[write.key] = Row(write.key, write.seq, write.value)
            then(Turn(self.now))

    def wait(self, until: int) -> None:
        """Let timers go off."""
        while (due := self.registrar.next_deadline()) is not None and due <= until:
            self.now = due
            self.registrar.on_deadline(Turn(due))
        self.now = until

    # In short
    def take(self, name: str, *domains: str) -> None:
        self.hears(TakeSeat(name, domains, key_of(name)))

    def said(self, kind: type[Message]) -> list[Message]:
        return [head for head in self.courier.said() if isinstance(head, kind)]

    def taken(self) -> list[tuple[str, tuple[str, ...], int, int]]:
        """Who was answered, with what."""
        found = [head for head in self.courier.said() if isinstance(head, SeatTaken)]
        return [(head.name, head.domains, head.number, head.code) for head in found]

    def told(self) -> list[tuple[str, int]]:
        """Which seats were told which version."""
        posted, self.courier.posted = self.courier.posted, []
        assert all(mailbox == head.seat for mailbox, head in posted if isinstance(head, Domains))
        return [(head.seat, head.version) for _, head in posted if isinstance(head, Domains)]

    def hold(self, *names: str, version: int = 1 << 40) -> None:
        for name in names:
            self.hears(DomainsHeld(seat_name(name), version))

    def seat(self, **brokers: Sequence[str]) -> None:
        """Seats that all know each other."""
        for name, domains in brokers.items():
            self.take(name, *domains)
            self.hold(*brokers)
        self.courier.said()
        self.told()


def shown(office: Office) -> dict[str, tuple[str, ...]]:
    """The map as everybody hears it."""
    office.courier.said()
    office.hears(AskDomains(0, OTHER.id))
    (head,) = office.said(Domains)
    assert isinstance(head, Domains)
    return {entry.name: entry.domains for entry in head.seats}


def test_first_seat_is_answered_when_it_is_on_all_copies() -> None:
    office = Office(patient=True)
    office.take("b1", "north")
    assert office.courier.said() == []
    office.commit()
    assert office.taken() == [("b1", ("north",), 0, 0)]
    assert {key[:1] for key in office.rows} == {b"s", b"v"}


def test_seat_and_version_are_one_operation() -> None:
    office = Office(patient=True)
    office.take("b1", "north")
    (operation,) = office.groups.operations
    assert [write.key for write in operation[2] if isinstance(write, Put)] == [b"sb1", b"v"]


def test_join_is_answered_only_when_all_seats_of_its_domains_know() -> None:
    office = Office()
    office.seat(b1=["north"], b2=["north"], b3=["south"])
    office.take("b4", "north")
    assert office.told() == [(seat_name("b1"), 4), (seat_name("b2"), 4)]
    office.hold("b1", version=4)
    office.hold("b2", version=3)
    assert office.taken() == []
    office.hold("b2", version=4)
    assert office.taken() == [("b4", ("north",), 3, 0)]


def test_newcomer_hears_the_map_before_it_hears_that_it_is_seated() -> None:
    office = Office()
    office.take("b1", "north")
    assert [type(head) for head in office.courier.said()] == [Domains, SeatTaken]


def test_seats_that_say_nothing_are_told_again_less_and_less_often() -> None:
    office = Office()
    office.seat(b1=["north"], b2=["north"])
    office.take("b3", "north")
    office.told()
    office.hold("b1")
    start = office.now
    office.wait(start + TELL_AGAIN_MIN)
    assert office.told() == [(seat_name("b2"), 3)]
    office.wait(start + 60 * SECOND)
    assert 60 * SECOND // TELL_AGAIN_MAX <= len(office.told()) + 1 <= 60 * SECOND // TELL_AGAIN_MAX + 4
    office.hold("b2")
    assert office.taken() == [("b3", ("north",), 2, 0)]
    assert office.registrar.next_deadline() is None


def test_repeated_request_is_answered_at_once() -> None:
    office = Office()
    office.seat(b1=["north"], b2=["north"])
    office.take("b2", "north")
    assert office.taken() == [("b2", ("north",), 1, 0)]
    assert office.told() == []


def test_repeated_request_waits_for_the_same_seats() -> None:
    office = Office()
    office.seat(b1=["north"])
    office.take("b2", "north")
    office.take("b2", "north")
    assert office.taken() == []
    office.hold("b1")
    assert office.taken() == [("b2", ("north",), 1, 0)]


def test_further_domain_is_added_to_those_it_has() -> None:
    office = Office()
    office.seat(b1=["north"], b2=["south"])
    office.take("b1", "south")
    assert office.told() == [(seat_name("b1"), 3), (seat_name("b2"), 3)]  # itself too: another broker may hold it
    office.hold("b2")
    assert office.taken() == []
    office.hold("b1")
    assert office.taken() == [("b1", ("north", "south"), 0, 0)]
    assert shown(office) == {"b1": ("north", "south"), "b2": ("south",)}


def test_a_seat_that_grows_at_the_same_time_must_know_a_newcomer_too() -> None:
    office = Office(patient=True)
    for name, domain in (("b1", "north"), ("b2", "south")):
        office.take(name, domain)
        office.commit()
    office.told()
    office.take("b3", "north")
    office.take("b1", "west")  # it sits beside b3, and is held by a map without it
    office.commit()
    assert (seat_name("b1"), 4) in office.told()
    office.hold("b1", version=2)
    office.commit()
    assert [name for name, *_ in office.taken() if name == "b3"] == []
    office.hold("b1", version=4)
    office.commit()
    assert [name for name, *_ in office.taken() if name == "b3"] == ["b3"]


def test_two_domains_that_share_two_brokers_are_a_cycle_named_in_the_refusal() -> None:
    office = Office()
    office.seat(b1=["north", "south"], b2=["north"])
    before = dict(office.rows), shown(office)
    office.take("b2", "south")
    (refused,) = office.said(SeatTaken)
    assert isinstance(refused, SeatTaken)
    assert refused.code == Code.CYCLE
    assert refused.domains == ("south",)
    assert "leave out 'south'" in refused.detail
    for name in ("b2", "[south]", "b1", "[north]"):
        assert name in refused.detail
    assert (dict(office.rows), shown(office)) == before
    assert office.told() == []


def test_cycle_over_several_domains_is_refused() -> None:
    office = Office()
    office.seat(b1=["a", "b"], b2=["b", "c"], b3=["c", "d"])
    office.take("b4", "d", "a")
    (refused,) = office.said(SeatTaken)
    assert isinstance(refused, SeatTaken)
    assert refused.code == Code.CYCLE
    assert "leave out 'd' or 'a'" in refused.detail or "leave out 'a' or 'd'" in refused.detail
    assert "b4" not in shown(office)


def test_two_requests_at_once_cannot_close_a_cycle_between_them() -> None:
    office = Office()
    office.seat(b1=["north"])
    office.patient = True
    office.take("b2", "north", "south")
    office.take("b1", "south")
    assert office.said(SeatTaken) == []  # what speaks against it may still be lost
    office.commit()
    assert [(head[0], head[3]) for head in office.taken()] == [("b1", Code.CYCLE)]


def test_too_many_domains_or_seats_are_refused() -> None:
    office = Office()
    office.take("b1", *(f"d{n}" for n in range(DOMAINS_PER_SEAT_MAX)))
    office.courier.said()
    office.take("b1", "more")
    assert [head[3] for head in office.taken()] == [Code.OVERLOADED]
    for number in range(SEATS_PER_DOMAIN_MAX):
        office.take(f"s{number}", "crowd")
    office.courier.said()
    office.take("late", "crowd")
    assert [head[3] for head in office.taken()] == [Code.OVERLOADED]
    assert "late" not in shown(office)


def test_map_always_fits_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.causal.registrar.MAP_BYTES_MAX", 60)
    office = Office()
    codes = []
    for number in range(6):
        office.take(f"b{number}", f"d{number}")
        codes += [head[3] for head in office.taken()]
    assert codes[0] == 0
    assert codes[-1] == Code.OVERLOADED
    office.hears(AskDomains(0, OTHER.id))
    (head,) = office.said(Domains)
    assert len(msgspec.msgpack.encode(head)) <= 60


def test_who_asks_hears_the_latest_map_also_when_it_has_it() -> None:
    office = Office()
    office.hears(AskDomains(0, OTHER.id))
    assert office.courier.said() == [Domains(0, ())]
    office.seat(b1=["north"], b2=["north"])
    for had in (1, 2):
        office.hears(AskDomains(had, OTHER.id))
        assert [said.version for said in office.courier.said() if isinstance(said, Domains)] == [2]


def test_nobody_hears_of_a_map_that_may_be_lost() -> None:
    office = Office(patient=True)
    office.take("b1", "north")
    office.hears(AskDomains(0, OTHER.id))
    assert office.courier.said() == [Domains(0, ())]


# Taking over -----------------------------------------------------------------------------------------------------
def test_new_owner_knows_all_from_the_rows() -> None:
    office = Office()
    office.seat(b1=["north"], b2=["north", "south"])
    office.hears(Bind("app", "b1", OTHER.id))
    before = shown(office)
    office.gain()
    assert shown(office) == before
    office.hears(Bind("app", "b2", OTHER.id))
    assert office.said(Bound) == [Bound("app", "b1")]
    office.take("b2", "south")
    assert office.taken() == [("b2", ("north", "south"), 1, 0)]
    office.take("b3", "south")
    office.hold("b2")
    assert office.taken() == [("b3", ("south",), 2, 0)]


def test_new_owner_asks_again_whether_the_seats_of_an_unfinished_join_know() -> None:
    office = Office()
    office.seat(b1=["north"])
    office.take("b2", "north")
    office.told()
    office.gain()
    assert office.told() == []
    office.take("b2", "north")
    assert office.taken() == []
    assert office.told() == [(seat_name("b1"), 2)]
    office.hold("b1", version=2)
    assert office.taken() == [("b2", ("north",), 1, 0)]


def test_owner_that_lost_the_map_says_nothing_more() -> None:
    office = Office(patient=True)
    office.take("b1", "north")
    office.registrar.lose(Turn(office.now), MAP)
    office.groups.operations.clear()  # nothing follows from them after that (ports.Groups)
    assert office.courier.said() == []
    assert office.registrar.next_deadline() is None


def test_all_waits_while_the_map_may_not_be_written() -> None:
    office = Office()
    office.groups.mine[MAP] = False
    for head in (
        TakeSeat("b1", ("north",), OTHER.id),
        AskDomains(0, OTHER.id),
        DomainsHeld(seat_name("b1"), 1),
        Bind("app", "", OTHER.id),
    ):
        assert not office.hears(head)
    assert office.courier.said() == []


def test_join_that_all_know_is_written_when_that_is_possible_again() -> None:
    office = Office(patient=True)
    office.groups.mine[MAP] = True
    office.take("b1", "north")
    office.groups.mine[MAP] = False
    for then in office.groups.take():
        then(Turn(office.now))
    assert office.taken() == []
    office.groups.mine[MAP] = True
    office.wait(office.now + SECOND)
    office.commit()
    assert office.taken() == [("b1", ("north",), 0, 0)]


# Bindings --------------------------------------------------------------------------------------------------------
def test_name_is_bound_for_good_to_the_seat_proposed_first() -> None:
    office = Office()
    office.seat(b1=["north"], b2=["north"])
    office.hears(Bind("app", "b2", OTHER.id))
    office.hears(Bind("app", "b1", OTHER.id))
    assert office.courier.said() == [Bound("app", "b2"), Bound("app", "b2")]
    assert b"napp" in office.rows


def test_binding_is_answered_when_it_is_on_all_copies() -> None:
    office = Office()
    office.seat(b1=["north"])
    office.patient = True
    office.hears(Bind("app", "b1", OTHER.id))
    office.hears(Bind("app", "", OTHER.id))
    assert office.courier.said() == []
    office.commit()
    assert office.courier.said() == [Bound("app", "b1"), Bound("app", "b1")]


def test_mailboxes_of_an_application_go_with_it() -> None:
    office = Office()
    office.seat(b1=["north"], b2=["north"])
    office.hears(Bind("sub/app/watch", "b2", OTHER.id))
    office.hears(Bind("app/1~0000000000000007", "b1", OTHER.id))
    office.hears(Bind("app", "b1", OTHER.id))
    assert [head.seat for head in office.courier.said() if isinstance(head, Bound)] == ["b2"] * 3
    assert [key for key in office.rows if key[:1] == b"n"] == [b"napp"]


def test_question_without_a_seat_binds_nothing() -> None:
    office = Office()
    office.seat(b1=["north"])
    office.hears(Bind("app", "", OTHER.id))
    assert office.courier.said() == [Bound("app", "")]
    assert b"napp" not in office.rows


def test_without_any_seat_the_remedy_is_said() -> None:
    office = Office()
    office.hears(Bind("app", "b1", OTHER.id))
    (head,) = office.said(Bound)
    assert isinstance(head, Bound)
    assert (head.seat, head.code) == ("", Code.NO_SEAT)
    assert "--domain" in head.detail


def test_seat_that_nobody_took_binds_nothing() -> None:
    office = Office()
    office.seat(b1=["north"])
    office.hears(Bind("app", "b9", OTHER.id))
    (head,) = office.said(Bound)
    assert isinstance(head, Bound)
    assert (head.seat, head.code) == ("", Code.NO_SEAT)
    assert "b9" in head.detail


def test_nothing_is_bound_to_a_seat_that_its_neighbours_do_not_know_yet() -> None:
    office = Office()
    office.seat(b1=["north"])
    office.take("b2", "north")
    office.hears(Bind("app", "b2", OTHER.id))
    assert office.said(Bound) == []
    office.hold("b1")
    office.hears(Bind("app", "b2", OTHER.id))
    assert office.said(Bound) == [Bound("app", "b2")]


def test_bindings_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.causal.registrar.BINDINGS_MAX", 1)
    office = Office()
    office.seat(b1=["north"])
    office.hears(Bind("one", "b1", OTHER.id))
    office.hears(Bind("two", "b1", OTHER.id))
    office.hears(Bind("one", "b1", OTHER.id))
    assert [head.code for head in office.said(Bound) if isinstance(head, Bound)] == [0, Code.CLUSTER_FULL, 0]


def test_damaged_rows_of_a_map_are_passed_over() -> None:
    office = Office()
    office.seat(b1=["north"])
    for key, value in (
        (b"sb9", b"\xc1"),
        (b"sb8", msgspec.msgpack.encode(("other", 8, ("north",), 1, True))),
        (b"sb7", msgspec.msgpack.encode(("b7", 0, ("north",), 1, True))),
        (b"sb6", msgspec.msgpack.encode(("b6", 6, (), 1, True))),
        (b"sb5", msgspec.msgpack.encode(("b5", 5, ("north",), (1 << 64) - 1, True))),
        (b"n\xff", b"\xa1x"),
        (b"ncauseway/root", b"\xa2b1"),
        (b"v", msgspec.msgpack.encode((1 << 64) - 1)),
    ):
        office.rows[key] = Row(key, 1, value)
    office.gain()
    office.take("b2", "south")
    assert office.taken() == [("b2", ("south",), 1, 0)]
    assert DomainGraph(shown(office)).domains == {"north": ("b1",), "south": ("b2",)}


# Leaving ---------------------------------------------------------------------------------------------------------
def left(office: Office) -> list[str]:
    """Seats of which the map, as it is answered, says that their brokers left."""
    office.hears(AskDomains(0, key_of("asker")))
    *_, told = office.said(Domains)
    assert isinstance(told, Domains)
    return [seat.name for seat in told.seats if seat.left]


def test_seat_of_a_broker_that_leaves_stays_on_the_map_as_one_that_left() -> None:
    office = Office()
    for name in ("b1", "b2", "b3"):
        office.take(name, "d")
        office.hold("b1", "b2", "b3")
    office.courier.answers.clear()
    office.told()
    office.hears(TakeSeat("b2", (), key_of("b2"), leaving=True))
    assert office.taken() == [("b2", (), -1, 0)], "it does not wait for its neighbours"
    assert {seat for seat, _ in office.told()} == {seat_name(name) for name in ("b1", "b2", "b3")}
    assert left(office) == ["b2"]
    office.gain()
    assert left(office) == ["b2"], "also for the next owner of the map"
    office.wait(office.now + TELL_AGAIN_MIN)
    assert {seat for seat, _ in office.told()} == {seat_name(name) for name in ("b1", "b2", "b3")}, "which tells them"


def test_broker_that_left_and_takes_its_seat_again_has_not_left() -> None:
    office = Office()
    office.take("b1", "d")
    office.hears(TakeSeat("b1", (), key_of("b1"), leaving=True))
    office.take("b1", "d")
    office.hold("b1")
    assert office.taken()[-1] == ("b1", ("d",), 0, 0)
    assert left(office) == []


def test_broker_without_a_seat_that_leaves_is_answered_and_changes_nothing() -> None:
    office = Office()
    office.hears(TakeSeat("b9", (), key_of("b9"), leaving=True))
    assert office.taken() == [("b9", (), -1, 0)]
    assert left(office) == []
