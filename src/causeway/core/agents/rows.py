"""Rows of a domain's group: what every voter holds, so that a new landmark acts at once.

b"g" + broker -> AgentCard      b"s" + seat -> SeatHolder      b"v" -> version of the directory
b"p" -> the policy for items, and the version of the directory that said so first
b"h" + group -> Holding: so that a new landmark can name what was lost with the last one
b"d" + broker -> how often it failed lately: so that a new landmark gives no seat to who flaps
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from causeway.core.agents.failures import DEATHS_KEPT
from causeway.core.agents.faults import card_fault, holder_fault, holding_fault, plan_fault
from causeway.core.messages import AgentCard, Holding, SeatHolder
from causeway.core.placing import PlannedItems
from causeway.limits import ID_MAX
from causeway.store.base import Delete, Put, Row, Write
from causeway.types import KEY_BYTES, BrokerId, Key

_AGENT, _SEAT, _VERSION, _POLICY, _HELD, _DEATHS = b"g", b"s", b"v", b"p", b"h", b"d"
_encode = msgspec.msgpack.encode


@dataclass(slots=True)
class Roll:
    """A domain's agents and seats."""

    agents: dict[BrokerId, AgentCard] = field(default_factory=dict)
    seats: dict[str, SeatHolder] = field(default_factory=dict)
    version: int = 0
    policy: PlannedItems | None = None
    """Who should hold which item."""
    policy_version: int = 0
    """Version of the directory that said so first."""
    held: dict[Key, Holding] = field(default_factory=dict)
    """Who holds which group, as it was when it was last written."""
    deaths: dict[BrokerId, int] = field(default_factory=dict)
    """How often brokers failed within the last minute, when it was last written."""

    def seat_of(self, broker: BrokerId) -> list[str]:
        """Seats that a broker holds."""
        return [seat.seat for seat in self.seats.values() if seat.holder == broker]


def read(rows: Iterable[Row]) -> Roll:
    """The roll as its rows say; what a broken broker wrote is left out."""
    found = Roll()
    for row in rows:
        try:
            if row.key[:1] == _AGENT:
                card = msgspec.msgpack.decode(row.value, type=AgentCard)
                if card_fault(card) is None:
                    found.agents[card.peer.id] = card
            elif row.key[:1] == _SEAT:
                seat = msgspec.msgpack.decode(row.value, type=SeatHolder)
                if holder_fault(seat) is None:
                    found.seats[seat.seat] = seat
            elif row.key[:1] == _HELD:
                held = msgspec.msgpack.decode(row.value, type=Holding)
                if holding_fault(held) is None:
                    found.held[held.group] = held
            elif row.key[:1] == _DEATHS:
                deaths = msgspec.msgpack.decode(row.value, type=int)
                if len(row.key) == 1 + KEY_BYTES and 0 < deaths <= DEATHS_KEPT:
                    found.deaths[BrokerId(row.key[1:])] = deaths
            elif row.key == _VERSION:
                version = msgspec.msgpack.decode(row.value, type=int)
                found.version = version if 0 <= version <= ID_MAX // 2 else 0
            elif row.key == _POLICY:
                version, plan = msgspec.msgpack.decode(row.value, type=tuple[int, PlannedItems])
                if plan_fault(plan) is None and 0 <= version <= ID_MAX // 2:
                    found.policy_version, found.policy = version, plan
        except (msgspec.MsgspecError, UnicodeError):
            continue
    return found


def agent_row(group: Key, position: int, card: AgentCard) -> Write:
    """What one agent says of itself."""
    return Put(group, _AGENT + card.peer.id, position, _encode(card))


def agent_gone(group: Key, broker: BrokerId) -> Write:
    """An agent that is remembered no longer."""
    return Delete(group, _AGENT + broker)


def seat_row(group: Key, position: int, seat: SeatHolder) -> Write:
    """Who holds a seat."""
    return Put(group, _SEAT + seat.seat.encode(), position, _encode(seat))


def seat_gone(group: Key, seat: str) -> Write:
    """A seat that its broker gave up."""
    return Delete(group, _SEAT + seat.encode())


def held_row(group: Key, position: int, held: Holding) -> Write:
    """Who holds a group; nothing of one that has ended."""
    key = _HELD + held.group
    return Put(group, key, position, _encode(held)) if held.members else Delete(group, key)


def deaths_row(group: Key, position: int, broker: BrokerId, deaths: int) -> Write:
    """How often a broker failed lately; nothing of one that did not."""
    key = _DEATHS + broker
    return Put(group, key, position, _encode(deaths)) if deaths else Delete(group, key)


def policy_row(group: Key, position: int, version: int, plan: PlannedItems) -> Write:
    """Who should hold which item."""
    return Put(group, _POLICY, position, _encode((version, plan)))


def version_row(group: Key, position: int, version: int) -> Write:
    """Which directory the others make up."""
    return Put(group, _VERSION, position, _encode(version))
