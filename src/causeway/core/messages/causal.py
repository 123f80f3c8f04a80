"""Causal order: what brokers say about domains, seats and clocks. Tags 120 to 139.

A batch in causal order is a Deposit to a seat, with a Causal; from seat to seat it carries the stamp of that hop's
domain (ADR 0010). The map of domains is a group of its own, `causeway/domains`.
"""

from __future__ import annotations

import msgspec

from causeway.types import BrokerId


class Causal(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Of a batch on its way to a seat: what it is for, and what must have come before it."""

    dest: str = ""
    """The mailbox it is for; empty when it is published, and `published` names the topic."""
    service: int = 1
    """ServiceClass its sender chose; on the way it is an ordered stream whatever the class."""
    after: tuple[tuple[str, int], ...] = ()
    """Of an application's batch: what it read at other seats before, as (seat, number there)."""
    domain: str = ""
    """Between seats: the domain of this hop; empty when an application sends."""
    stamp: tuple[int, ...] = ()
    """Between seats: cells of the sender's clock that the receiver may lack: row, column, value, and so on."""
    void: bool = False
    """Its sender and the seat it was sent to failed together: only the place is kept, there is nothing to deliver."""
    to: str = ""
    """Between seats: the broker whose seat `dest` is bound to. With neither `dest` nor a topic the batch is a mark."""
    ttl: int = 0
    """Between seats: nanoseconds left to live when this frame was sent; 0 = for ever."""


class SeatEntry(msgspec.Struct, frozen=True, array_like=True):
    """One seat of the map."""

    name: str
    """That of the broker it belongs to; another one may hold it now."""
    number: int
    """Its row and column in clocks; never used again."""
    domains: tuple[str, ...]
    left: bool = False
    """Its broker left for good. Others hold it, because what was sent in causal order goes by it; nobody new takes part
    there."""


class TakeSeat(msgspec.Struct, frozen=True, array_like=True, tag=120):
    """A broker to the map: seat me in these domains, in addition to those I have; or I leave for good."""

    name: str
    domains: tuple[str, ...]
    """None when it leaves."""
    origin: bytes
    leaving: bool = False


class SeatTaken(msgspec.Struct, frozen=True, array_like=True, tag=121):
    """Every seat of those domains knows it; or it cannot be, and nothing has changed. Or it leaves, on the map."""

    name: str
    domains: tuple[str, ...]
    """All domains it is seated in; of a refusal, those that were asked for; none of who leaves."""
    number: int = -1
    code: int = 0
    detail: str = ""


class AskDomains(msgspec.Struct, frozen=True, array_like=True, tag=122):
    """A broker to the map: tell me, if there is a later version."""

    version: int
    origin: bytes


class Domains(msgspec.Struct, frozen=True, array_like=True, tag=123):
    """The whole map. To a seat it is posted (`seat` says which), and answered with DomainsHeld."""

    version: int
    seats: tuple[SeatEntry, ...]
    seat: str = ""
    origin: bytes = b""


class DomainsHeld(msgspec.Struct, frozen=True, array_like=True, tag=124):
    """A seat to the map: what is sent from here from now on goes by this version."""

    seat: str
    version: int


class Bind(msgspec.Struct, frozen=True, array_like=True, tag=125):
    """A broker to the map: at which seat does this application or mailbox take part? If nobody knows: at `seat`."""

    name: str
    seat: str
    """Empty: only if it has one."""
    origin: bytes


class Bound(msgspec.Struct, frozen=True, array_like=True, tag=126):
    """For good: what was sent there in causal order must not be overtaken by what is sent elsewhere."""

    name: str
    seat: str
    """Empty when it is bound nowhere."""
    code: int = 0
    detail: str = ""


class AskMark(msgspec.Struct, frozen=True, array_like=True, tag=127):
    """A seat to another: send me, in causal order, a sign that I know all you delivered up to this number."""

    seat: str
    """Who is asked."""
    by: str
    """The seat that asks."""
    number: int


class Relayed(msgspec.Struct, frozen=True, array_like=True, tag=128):
    """A second way for what goes from one seat to another, or for its answer: pass it to `to`."""

    to: BrokerId
    head: bytes
    """One encoded Deposit (its body is the body) or Accepted."""


class AskSeat(msgspec.Struct, frozen=True, array_like=True, tag=130):
    """A client: at which seat does this name take part in causal traffic? From now on, if it did not yet."""

    token: int
    name: str
    """The application's own, or that of a shared subscription."""


class SeatGiven(msgspec.Struct, frozen=True, array_like=True, tag=131):
    """Where causal sends of that name go."""

    token: int
    seat: str
    code: int = 0
    detail: str = ""


class JoinDomain(msgspec.Struct, frozen=True, array_like=True, tag=132):
    """A client: this broker is to take a seat in one more domain."""

    token: int
    domain: str


class DomainJoined(msgspec.Struct, frozen=True, array_like=True, tag=133):
    """It has; or it cannot, and nothing has changed."""

    token: int
    domains: tuple[str, ...] = ()
    code: int = 0
    detail: str = ""


CausalMessage = (
    TakeSeat
    | SeatTaken
    | AskDomains
    | Domains
    | DomainsHeld
    | Bind
    | Bound
    | AskMark
    | Relayed
    | AskSeat
    | SeatGiven
    | JoinDomain
    | DomainJoined
)
"""About causal order, whoever says it."""
