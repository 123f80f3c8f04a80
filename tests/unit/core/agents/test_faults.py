"""What is wrong with a message between agents is said with the field; what passes can be kept and written."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from causeway.core.agents.faults import FITNESS_MAX, TRIP_MAX, agent_fault
from causeway.core.messages import (
    Announce,
    Bottleneck,
    Bottlenecks,
    Distances,
    DomainDirectory,
    Hail,
    Holding,
    Holdings,
    LinkReport,
    Measure,
    Message,
    SeatHolder,
)
from causeway.domains.limits import (
    AGENTS_PER_DOMAIN_MAX,
    BOTTLENECK_NOTE_BYTES_MAX,
    BOTTLENECKS_PER_BROKER_MAX,
    HOLDINGS_AT_ONCE_MAX,
    SEATS_PER_DOMAIN_MAX,
)
from causeway.limits import CAPABILITY_MAX, CAPACITY_MAX, EPOCH_MAX, GROUP_MEMBERS_MAX, ID_MAX
from causeway.types import Key, key_of
from tests.unit.core.agents.domain import card_of, id_of

B2 = id_of("b2")
SHORT = Key(b"short")
CARD = card_of("b2")
HELD = Holding(key_of("box"), "box", 1, B2, (B2,))
SEAT = SeatHolder("b2", B2, 0)
SLOW = Bottleneck("box", 3, "'app' holds 10 messages", 5)

SOUND: dict[str, Any] = {
    "announce": Announce("d", CARD, 0),
    "directory": DomainDirectory("d", 1, 1, B2, (CARD,), (SEAT,)),
    "report": LinkReport("d", B2, id_of("b3"), False),
    "holdings": Holdings("d", B2, 1, (HELD,)),
    "measure": Measure("d", (B2,)),
    "distances": Distances("d", B2, ((id_of("b3"), 5),)),
    "bottlenecks": Bottlenecks("d", B2, (SLOW,)),
}


@pytest.mark.parametrize("kind", SOUND)
def test_sound_message_has_no_fault(kind: str) -> None:
    assert agent_fault(SOUND[kind]) is None


def test_other_messages_are_none_of_its_business() -> None:
    assert agent_fault(Hail(True, False)) is None


@pytest.mark.parametrize("kind", SOUND)
def test_no_message_is_about_an_impossible_domain(kind: str) -> None:
    for domain in ("", "a/b" * 100, "x\x00"):
        fault = agent_fault(msgspec.structs.replace(SOUND[kind], domain=domain))
        assert fault is not None
        assert "domain" in fault


def card(**changes: object) -> Announce:
    return Announce("d", msgspec.structs.replace(CARD, **changes), 0)


def holding(**changes: object) -> Holdings:
    return Holdings("d", B2, 1, (HELD, msgspec.structs.replace(HELD, **changes)))


def slow(**changes: object) -> Bottlenecks:
    return Bottlenecks("d", B2, (SLOW, msgspec.structs.replace(SLOW, **changes)))


def directory(**changes: object) -> DomainDirectory:
    return msgspec.structs.replace(DomainDirectory("d", 1, 1, B2, (CARD,), (SEAT,)), **changes)


ABSURD: dict[str, Message] = {
    "capability": card(capability=0),
    "capability more": card(capability=CAPABILITY_MAX + 1),
    "capacity": card(capacity=-1),
    "capacity more": card(capacity=CAPACITY_MAX + 1),
    "fitness": card(fitness=FITNESS_MAX + 1),
    "name": card(peer=msgspec.structs.replace(CARD.peer, name="causeway/x")),
    "version": Announce("d", CARD, ID_MAX + 1),
    "term": directory(term=EPOCH_MAX + 1),
    "version directory": directory(version=ID_MAX),
    "landmark": directory(landmark=SHORT),
    "agents": directory(agents=(CARD,) * (AGENTS_PER_DOMAIN_MAX + 1)),
    "fitness of one": directory(agents=(CARD, card_of("b3", fitness=-1))),
    "seats": directory(seats=(SEAT,) * (SEATS_PER_DOMAIN_MAX + 1)),
    "holder": directory(seats=(SEAT, SeatHolder("b3", SHORT, 0))),
    "since": directory(seats=(SeatHolder("b3", B2, -1),)),
    "by": LinkReport("d", SHORT, B2, True),
    "about": LinkReport("d", B2, SHORT, True),
    "by holdings": Holdings("d", SHORT, 1, ()),
    "term holdings": Holdings("d", B2, -1, ()),
    "groups": Holdings("d", B2, 1, (HELD,) * (HOLDINGS_AT_ONCE_MAX + 1)),
    "groups.name": holding(name=""),
    "groups.group": holding(group=SHORT),
    "groups.epoch": holding(epoch=EPOCH_MAX + 1),
    "groups.members": holding(members=(B2, SHORT)),
    "groups.members more": holding(members=(B2,) * (GROUP_MEMBERS_MAX + 1)),
    "about more": Measure("d", (B2,) * (AGENTS_PER_DOMAIN_MAX + 1)),
    "by distances": Distances("d", SHORT, ()),
    "trips": Distances("d", B2, ((SHORT, 1),)),
    "trips negative": Distances("d", B2, ((B2, -1),)),
    "trips huge": Distances("d", B2, ((B2, TRIP_MAX + 1),)),
    "by bottlenecks": Bottlenecks("d", SHORT, ()),
    "found": Bottlenecks("d", B2, (SLOW,) * (BOTTLENECKS_PER_BROKER_MAX + 1)),
    "found.about": slow(about="x\n"),
    "found.kind": slow(kind=4),
    "found.kind none": slow(kind=0),
    "found.note": slow(note="x" * (BOTTLENECK_NOTE_BYTES_MAX + 1)),
    "found.lasting": slow(lasting=-1),
    "trips more": Distances("d", B2, ((B2, 1),) * (AGENTS_PER_DOMAIN_MAX + 1)),
}


@pytest.mark.parametrize("what", ABSURD)
def test_absurd_field_is_named(what: str) -> None:
    fault = agent_fault(ABSURD[what])
    assert fault is not None
    assert what.split(" ", maxsplit=1)[0] in fault
