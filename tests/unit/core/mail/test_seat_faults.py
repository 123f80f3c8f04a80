"""The judge of causal fields: everything sound passes, and each single wrong field is named."""

from __future__ import annotations

import msgspec
import pytest

from causeway.core.mail import faults
from causeway.core.mail.seat_faults import seating_fault
from causeway.core.messages import (
    AskDomains,
    AskMark,
    Bind,
    Bound,
    Causal,
    Deposit,
    Domains,
    DomainsHeld,
    Interest,
    Message,
    Published,
    Register,
    Relayed,
    SeatEntry,
    SeatTaken,
    TakeSeat,
)
from causeway.domains.limits import DOMAINS_PER_SEAT_MAX, SEATS_MAX, SEATS_PER_DOMAIN_MAX
from causeway.limits import ID_MAX
from causeway.names import seat_name
from causeway.types import Flag
from causeway.wire.body import join
from tests.unit.core.mail.neighbours import OTHER

A, B = seat_name("a"), seat_name("b")
LONG = "x" * 241
"""A broker's name that leaves no room for a seat's."""
HUGE = (1 << 64) - 1
BODY = join([b"x"])

SOUND: dict[str, Message] = {
    "take": TakeSeat("a", ("north", "south"), OTHER.id),
    "taken": SeatTaken("a", ("north",), 3),
    "refused": SeatTaken("a", ("north",), -1, 17, "no"),
    "ask": AskDomains(0, OTHER.id),
    "map": Domains(3, (SeatEntry("a", 0, ("north",)), SeatEntry("b", 1, ("north", "south")))),
    "no map": Domains(0, ()),
    "posted": Domains(3, (SeatEntry("a", 0, ("north",)),), B, OTHER.id),
    "held": DomainsHeld(A, 3),
    "bind": Bind("app", "", OTHER.id),
    "bind here": Bind("sub/app/x", "a", OTHER.id),
    "bound": Bound("app", "a"),
    "mark": AskMark(A, B, 7),
    "relayed": Relayed(OTHER.id, b""),
}

TOO_MANY = tuple(f"d{number}" for number in range(DOMAINS_PER_SEAT_MAX + 1))
CROWD = tuple(SeatEntry(f"s{number}", number, ("north",)) for number in range(SEATS_PER_DOMAIN_MAX + 1))
ABSURD: list[tuple[str, str, object]] = [
    ("take", "name", ""),
    ("take", "name", LONG),
    ("take", "name", "b~1"),
    ("take", "name", "causeway/b"),
    ("take", "domains", ()),
    ("take", "domains", ("north", "north")),
    ("take", "domains", ("a/b",)),
    ("take", "domains", TOO_MANY),
    ("taken", "number", SEATS_MAX),
    ("taken", "number", -2),
    ("taken", "code", -1),
    ("taken", "code", HUGE),
    ("ask", "version", -1),
    ("ask", "version", HUGE),
    ("map", "version", -1),
    ("map", "seats", (SeatEntry("a", 0, ("north",)), SeatEntry("a", 1, ("north",)))),
    ("map", "seats", (SeatEntry("a", 0, ("north",)), SeatEntry("b", 0, ("north",)))),
    ("map", "seats", (SeatEntry("a", SEATS_MAX, ("north",)),)),
    ("map", "seats", (SeatEntry("a", 0, ()),)),
    ("map", "seats", (SeatEntry(LONG, 0, ("north",)),)),
    ("map", "seats", CROWD),
    ("posted", "seat", "b"),
    ("held", "seat", "a"),
    ("held", "seat", seat_name(LONG)),
    ("held", "version", HUGE),
    ("bind", "name", "causeway/root"),
    ("bind here", "seat", LONG),
    ("bound", "name", ""),
    ("bound", "code", HUGE),
    ("mark", "by", "b"),
    ("mark", "number", -1),
    ("relayed", "to", b"short"),
]


@pytest.mark.parametrize("which", SOUND)
def test_sound_message_has_no_fault(which: str) -> None:
    assert seating_fault(SOUND[which]) is None
    assert faults.naming_fault(SOUND[which]) is None


@pytest.mark.parametrize(
    ("which", "field", "value"), ABSURD, ids=[f"{at}-{which}-{field}" for at, (which, field, _) in enumerate(ABSURD)]
)
def test_each_absurd_field_is_named(which: str, field: str, value: object) -> None:
    fault = seating_fault(msgspec.structs.replace(SOUND[which], **{field: value}))
    assert fault is not None
    assert field in fault


def test_messages_about_anything_else_pass() -> None:
    assert seating_fault(Register(A, "sub/app/x", 1, None, OTHER.id)) is None


def test_subscription_may_register_with_a_seat_and_with_nothing_else() -> None:
    wanted = Interest("roads/#", seat=A)
    assert faults.naming_fault(Register(A, "sub/app/x", 1, wanted, OTHER.id)) is None
    assert faults.register_fault(Register(A, "sub/app/x", 1, wanted, OTHER.id)) is None
    assert faults.naming_fault(Register("causeway/domains", "sub/app/x", 1, wanted, OTHER.id)) is not None
    strange = Interest("roads/#", seat="a")
    assert "seat" in str(faults.register_fault(Register(A, "sub/app/x", 1, strange, OTHER.id)))


# Batches ---------------------------------------------------------------------------------------------------------
def batch(source: str, dest: str, *, published: Published | None = None, causal: Causal | None = None) -> Deposit:
    return Deposit(source, 9, dest, 2, 1, 1, 0, int(Flag.RELIABLE), 4, 0, OTHER.id, published, 0, causal)


SENT = batch("app", A, causal=Causal("bob", 1, ((B, 7),)))
STAMPED = Causal("bob", 1, domain="north", stamp=(0, 1, 5), to="b")
HOPS = {
    "sent": SENT,
    "published": batch("app", A, published=Published("roads/a1"), causal=Causal()),
    "between seats": batch(A, B, published=Published("", "app", 9, 2, 1), causal=STAMPED),
    "mark": batch(
        A, B, published=Published("", "app", 9, 2, 1), causal=msgspec.structs.replace(STAMPED, dest="", to="b")
    ),
    "delivered": batch(B, "bob", published=Published("", "app", 9, 2, 1)),
    "delivered topic": batch(B, "sub/app/x", published=Published("roads/a1", "app", 9, 2, 1)),
}


@pytest.mark.parametrize("which", HOPS)
def test_sound_batch_on_each_hop_has_no_fault(which: str) -> None:
    assert faults.deposit_fault(HOPS[which], BODY) is None
    assert faults.naming_fault(HOPS[which]) is None


@pytest.mark.parametrize(
    ("which", "changes", "named"),
    [
        ("sent", {"dest": "bob"}, "dest"),
        ("sent", {"dest": seat_name(LONG)}, "dest"),
        ("sent", {"causal": None}, "dest"),
        ("sent", {"stream": 1}, "stream"),
        ("sent", {"priority": 5}, "priority"),
        ("sent", {"delay": 1}, "delay"),
        ("sent", {"flags": int(Flag.CONFIRM)}, "flags"),
        ("sent", {"flags": int(Flag.RETAIN)}, "flags"),
        ("sent", {"causal": Causal("")}, "causal.dest"),
        ("sent", {"causal": Causal("causeway/root")}, "causal.dest"),
        ("sent", {"causal": Causal(B)}, "causal.dest"),
        ("sent", {"causal": Causal("bob", 3)}, "service"),
        ("sent", {"causal": Causal("bob", 1, (("b", 7),))}, "causal.after"),
        ("sent", {"causal": Causal("bob", 1, ((B, -1),))}, "causal.after"),
        ("sent", {"causal": STAMPED}, "causal"),
        ("sent", {"causal": Causal("bob", void=True)}, "causal"),
        ("published", {"causal": Causal("bob")}, "causal.dest"),
        ("published", {"published": Published("")}, "causal.dest"),
        ("between seats", {"causal": msgspec.structs.replace(STAMPED, domain="")}, "causal.domain"),
        ("between seats", {"causal": msgspec.structs.replace(STAMPED, stamp=(1, 2))}, "causal.stamp"),
        ("between seats", {"causal": msgspec.structs.replace(STAMPED, stamp=(1, 2, -3))}, "causal.stamp"),
        ("between seats", {"causal": msgspec.structs.replace(STAMPED, stamp=(SEATS_MAX, 2, 3))}, "causal.stamp"),
        ("between seats", {"causal": msgspec.structs.replace(STAMPED, stamp=(1, SEATS_MAX, 3))}, "causal.stamp"),
        ("between seats", {"causal": msgspec.structs.replace(STAMPED, stamp=(1, 2, ID_MAX + 1))}, "causal.stamp"),
        ("between seats", {"causal": msgspec.structs.replace(STAMPED, to="")}, "causal.to"),
        ("mark", {"causal": msgspec.structs.replace(STAMPED, dest="", to="")}, "causal.to"),
        ("delivered", {"published": None}, "source"),
        ("delivered", {"source": "app"}, "topic"),
    ],
)
def test_each_absurd_field_of_a_batch_is_named(which: str, changes: dict[str, object], named: str) -> None:
    fault = faults.deposit_fault(msgspec.structs.replace(HOPS[which], **changes), BODY)
    assert fault is not None
    assert named in fault
