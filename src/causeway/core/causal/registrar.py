"""The map of domains at its owner: who sits where, who is bound to which seat (the group `causeway/domains`).

A seat is admitted in two steps. First it is written, with a version of the map of its own. Then every seat it shares a
domain with is told that version, and when all go by it the seat is written as known: only then its broker is answered,
and names are bound to it. Or somebody could take part at a seat that its neighbours do not send to yet.

Rows: b"s" + seat -> SeatRow; b"n" + name -> seat it is bound to; b"v" -> version of the map.

Owns: the rows of that group, and who waits until all seats know a new one. Must not know: clocks, batches.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import msgspec

from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.events import OwnershipGained
from causeway.core.machine import Then, Turn
from causeway.core.mail.seat_faults import seating_fault
from causeway.core.messages import AskDomains, Bind, Bound, Domains, DomainsHeld, SeatEntry, SeatTaken, TakeSeat
from causeway.core.ports import Courier, ReplicaGroups
from causeway.domains import DomainGraph, described_cycle
from causeway.domains.limits import (
    BINDINGS_MAX,
    DOMAINS_PER_SEAT_MAX,
    MAP_BYTES_MAX,
    SEATS_MAX,
    SEATS_PER_DOMAIN_MAX,
)
from causeway.errors import REMEDIES, Code
from causeway.limits import DETAIL_CHARS_MAX, ID_MAX
from causeway.names import MAP_NAME, bound_names, seat_name
from causeway.store.base import Put
from causeway.types import MILLISECOND, SEAT_PREFIX, SECOND, Duration, Instant, Key, key_of

TELL_AGAIN_MIN: Duration = 200 * MILLISECOND
TELL_AGAIN_MAX: Duration = 2 * SECOND
"""How long a seat has to say that it holds a map before it is told again."""

VERSION_MAX = ID_MAX // 2
"""No map changes so often: a greater one was written by a broken broker."""

MAP = key_of(MAP_NAME)
_SEAT, _NAME, _VERSION = b"s", b"n", b"v"
_encode = msgspec.msgpack.encode


class SeatRow(msgspec.Struct, frozen=True, array_like=True):
    """A seat of the map as its owner keeps it; it begins like a SeatEntry."""

    name: str
    number: int
    domains: tuple[str, ...]
    version: int
    """Of the map with which it came into the last of its domains."""
    known: bool
    """Whether every seat of its domains goes by that version."""
    grown: bool = False
    """Whether it changed after it came: it may have been held, by an older map, before."""
    left: bool = False
    """Whether its broker left for good."""


@dataclass(slots=True)
class SeatAdmission:
    """A seat that not all of its neighbours know yet."""

    version: int
    waiting: dict[str, None]
    """Seats that have not said that they go by this version."""
    origin: bytes
    """The broker that waits for it; empty when nobody does."""
    delay: Duration = TELL_AGAIN_MIN


class Registrar:
    """The map, if this broker owns it."""

    def __init__(self, groups: ReplicaGroups, courier: Courier, *, alarm: Alarm | None = None) -> None:
        self._groups = groups
        self._courier = courier
        self._deadlines: Deadlines[str] = Deadlines(alarm)
        """By seat that is being admitted: when to tell its neighbours again."""
        self._reset()

    def _reset(self) -> None:
        self._owner: bytes = b""
        self._version = 0
        self._seats: dict[str, SeatRow] = {}
        self._bindings: dict[str, str] = {}
        self._graph = DomainGraph({})
        self._told = Domains(0, ())
        """The map that is on all copies: nobody hears of what may be lost again."""
        self._admissions: dict[str, SeatAdmission] = {}
        self._pending: deque[list[Then]] = deque()
        """Operations on their way to the copies, in order, with what may be said after each."""
        self._deadlines.clear()

    # Ownership -------------------------------------------------------------------------------------------------
    def gain(self, turn: Turn, event: OwnershipGained) -> None:
        """Take up the map as its rows say. Who waited for an answer asks again."""
        self._reset()
        self._owner = event.config.owner
        seats: dict[int, SeatRow] = {}
        for row in event.rows:
            try:
                if row.key[:1] == _SEAT:
                    seat = msgspec.msgpack.decode(row.value, type=SeatRow)
                    if row.key[1:] == seat.name.encode() and _is_sound(seat):
                        seats.setdefault(seat.number, seat)
                elif row.key[:1] == _NAME:
                    bound = Bound(row.key[1:].decode(), msgspec.msgpack.decode(row.value, type=str))
                    if bound.seat and seating_fault(bound) is None:
                        self._bindings[bound.name] = bound.seat
                elif row.key == _VERSION:
                    version = msgspec.msgpack.decode(row.value, type=int)
                    self._version = version if 0 <= version <= VERSION_MAX else 0
            except (msgspec.MsgspecError, UnicodeError):
                continue  # written by a broken broker
        self._seats = {seats[number].name: seats[number] for number in sorted(seats)}
        self._graph = DomainGraph({seat.name: seat.domains for seat in self._seats.values()})
        self._told = self._domains(self._version)
        for name, seat in self._seats.items():
            if seat.left and not seat.known:  # nobody asks again for who has gone
                self._begin(name, b"")
                self._deadlines.set(name, turn.now + TELL_AGAIN_MIN)

    def resume(self, turn: Turn, group: Key) -> None:
        """Still ours, in a new epoch: operations on their way stay on their way."""

    def lose(self, turn: Turn, group: Key) -> None:
        """Another broker owns the map, and is asked again what we have not answered."""
        self._reset()

    def _committed(self, turn: Turn) -> None:
        """The first operation is on all copies: what waited for it may be said."""
        for then in self._pending.popleft():
            then(turn)

    # Questions -------------------------------------------------------------------------------------------------
    def arrived(self, turn: Turn, head: TakeSeat | AskDomains | DomainsHeld | Bind) -> bool:
        """A question for the map; False when it must wait until we may write."""
        if not self._groups.serving(MAP):
            return False
        match head:
            case TakeSeat():
                self._take(turn, head)
            case AskDomains():
                self._courier.answer(turn, head.origin, self._told)
            case DomainsHeld():
                self._on_held(turn, head)
            case Bind():
                self._bind(turn, head)
        return True

    def _take(self, turn: Turn, head: TakeSeat) -> None:
        """Seat a broker in further domains, unless that cannot be; or write down that it left."""
        known = self._seats.get(head.name)
        if known is None and head.leaving:
            self._after(turn, lambda turn: self._courier.answer(turn, head.origin, SeatTaken(head.name, ())))
            return
        had = known.domains if known is not None else ()
        wanted = tuple(domain for domain in dict.fromkeys(head.domains) if domain not in had)
        stays = known is not None and not wanted
        if known is not None and stays and known.left == head.leaving:
            self._after(turn, lambda turn: self._taken(turn, head))
            return
        seat = SeatRow(
            head.name,
            known.number if known is not None else 1 + max((seat.number for seat in self._seats.values()), default=-1),
            (*had, *wanted),
            self._version + 1,
            False,
            known is not None,
            head.leaving,
        )
        grown = self._graph.with_seat(head.name, wanted)
        refusal = None if stays else self._refusal(seat, wanted, grown)
        if refusal is not None:
            code, detail = refusal
            refused = SeatTaken(head.name, head.domains, -1, code, detail[:DETAIL_CHARS_MAX])
            # What speaks against it may still be on its way to the copies, and be lost.
            self._after(turn, lambda turn: self._courier.answer(turn, head.origin, refused))
            return
        self._version, self._graph, self._seats[head.name] = seat.version, grown, seat
        told = self._domains(seat.version)
        version = Put(MAP, _VERSION, self._groups.position(MAP), _encode(seat.version))

        def then(turn: Turn) -> None:
            self._told = told
            self._admissions.pop(head.name, None)
            self._taken(turn, head)

        self._append(turn, [self._row(seat), version], then)

    def _taken(self, turn: Turn, head: TakeSeat) -> None:
        """It is on all copies: the neighbours are told. Who leaves does not wait for them."""
        self._admit(turn, head.name, b"" if head.leaving else head.origin)
        if head.leaving:
            self._courier.answer(turn, head.origin, SeatTaken(head.name, ()))

    def _refusal(self, seat: SeatRow, wanted: tuple[str, ...], grown: DomainGraph) -> tuple[Code, str] | None:
        """Why a seat cannot come into these domains."""
        if not wanted:
            return Code.BAD_FIELD, "domains: name one to be seated in"
        cycle = self._graph.cycle_with(seat.name, wanted)
        if cycle is not None:
            ends = [domain for domain in dict.fromkeys((cycle[1], cycle[-2])) if domain in wanted]
            remedy = f"leave out {' or '.join(repr(domain) for domain in ends)}"
            return Code.CYCLE, f"domains: {remedy}, or there would be a cycle: {described_cycle(cycle)}"
        if len(seat.domains) > DOMAINS_PER_SEAT_MAX:
            return Code.OVERLOADED, f"domains: {len(seat.domains)}; a broker sits in at most {DOMAINS_PER_SEAT_MAX}"
        for domain in wanted:
            if len(grown.domains[domain]) > SEATS_PER_DOMAIN_MAX:
                remedy = "make another domain and join the two with a router"
                return Code.OVERLOADED, f"domains: {domain!r} has its {SEATS_PER_DOMAIN_MAX} seats; {remedy}"
        grows = len(_encode(seat)) + len(_encode(self._domains(seat.version)))
        if len(grown.seats) > SEATS_MAX or grows > MAP_BYTES_MAX:
            bounds = f"at most {SEATS_MAX} seats, and {MAP_BYTES_MAX} bytes with all names"
            return (
                Code.OVERLOADED,
                f"domains: the map is full ({bounds}); seat fewer brokers, or with shorter names",
            )
        return None

    def _bind(self, turn: Turn, head: Bind) -> None:
        """Where a name takes part; from now on at the seat proposed, if it did not yet."""
        names = bound_names(head.name)
        seat = next((self._bindings[name] for name in names if name in self._bindings), "")
        answer = Bound(head.name, seat)
        if not seat and not self._seats:
            answer = Bound(head.name, "", Code.NO_SEAT, REMEDIES[Code.NO_SEAT])
        elif not seat and head.seat:
            proposed = self._seats.get(head.seat)
            if proposed is not None and not proposed.known:
                self._after(turn, lambda turn: self._admit(turn, head.seat, b""))
                return  # it asks again, and soon enough all its neighbours send to this seat
            if proposed is None:
                answer = Bound(head.name, "", Code.NO_SEAT, f"seat: {head.seat!r} is not on the map")
            elif len(self._bindings) >= BINDINGS_MAX:
                answer = Bound(head.name, "", Code.CLUSTER_FULL, f"{BINDINGS_MAX} names are bound to seats, the limit")
            else:
                self._bindings[names[-1]] = head.seat
                row = Put(MAP, _NAME + names[-1].encode(), self._groups.position(MAP), _encode(head.seat))
                bound = Bound(head.name, head.seat)
                self._append(turn, [row], lambda turn: self._courier.answer(turn, head.origin, bound))
                return
        self._after(turn, lambda turn: self._courier.answer(turn, head.origin, answer))

    # Admitting -------------------------------------------------------------------------------------------------
    def _admit(self, turn: Turn, name: str, origin: bytes) -> None:
        """Answer when all neighbours of a seat know it; tell them, unless that is under way."""
        seat = self._seats[name]
        if seat.known:
            self._welcome(turn, seat, origin)
            return
        admission = self._admissions.get(name)
        if admission is not None:
            admission.origin = origin or admission.origin
            return
        self._begin(name, origin)
        self._tell(turn, name)

    def _begin(self, name: str, origin: bytes) -> None:
        seat = self._seats[name]
        concerned = (other for domain in seat.domains for other in self._graph.domains[domain])
        # A seat that came later came with a map that has this one, unless it goes by an older one in other domains.
        waiting = {other: None for other in concerned if self._knows_less(self._seats[other], seat)}
        self._admissions[name] = SeatAdmission(seat.version, waiting, origin)

    @staticmethod
    def _knows_less(other: SeatRow, seat: SeatRow) -> bool:
        """Whether somebody may hold a seat by a map in which another one is not where it is."""
        return other.version < seat.version or other.grown

    def _tell(self, turn: Turn, name: str) -> None:
        """The map to every neighbour that has not said that it goes by it."""
        admission = self._admissions[name]
        if not admission.waiting and self._groups.serving(MAP):
            self._finish(turn, name)
            return
        self._deadlines.set(name, turn.now + admission.delay)
        admission.delay = min(2 * admission.delay, TELL_AGAIN_MAX)
        for other in list(admission.waiting):
            group = seat_name(other)
            told = Domains(self._told.version, self._told.seats, group, self._owner)
            self._courier.post(turn, group, told)

    def _on_held(self, turn: Turn, head: DomainsHeld) -> None:
        """A seat goes by a map (we may write)."""
        seat = head.seat.removeprefix(SEAT_PREFIX)
        for name, admission in list(self._admissions.items()):
            if head.version >= admission.version and seat in admission.waiting:
                del admission.waiting[seat]
                if not admission.waiting:
                    self._finish(turn, name)

    def _finish(self, turn: Turn, name: str) -> None:
        """All neighbours of a seat know it (we may write): so that the next owner need not ask them again."""
        admission = self._admissions[name]
        seat = self._seats[name]
        del self._admissions[name]
        self._deadlines.cancel(name)
        if seat.version != admission.version:
            return  # it came into another domain since: that is on its way to the copies, and begins anew
        seat = self._seats[name] = msgspec.structs.replace(seat, known=True)
        self._append(turn, [self._row(seat)], lambda turn: self._welcome(turn, seat, admission.origin))

    def _welcome(self, turn: Turn, seat: SeatRow, origin: bytes) -> None:
        if origin:
            self._courier.answer(turn, origin, self._told)
            self._courier.answer(turn, origin, SeatTaken(seat.name, seat.domains, seat.number))

    # Writing ---------------------------------------------------------------------------------------------------
    def _append(self, turn: Turn, writes: list[Put], then: Then) -> None:
        self._pending.append([then])
        self._groups.append(turn, MAP, writes, 1, self._committed)

    def _after(self, turn: Turn, then: Then) -> None:
        """When everything written so far is on all copies: an answer must not say what may be lost again."""
        if self._pending:
            self._pending[-1].append(then)
        else:
            then(turn)

    def _row(self, seat: SeatRow) -> Put:
        return Put(MAP, _SEAT + seat.name.encode(), self._groups.position(MAP), _encode(seat))

    def _domains(self, version: int) -> Domains:
        return Domains(
            version, tuple(SeatEntry(seat.name, seat.number, seat.domains, seat.left) for seat in self._seats.values())
        )

    # Time ------------------------------------------------------------------------------------------------------
    def next_deadline(self) -> Instant | None:
        return self._deadlines.next()

    def on_deadline(self, turn: Turn) -> None:
        """Tell seats again that have not answered."""
        for name in self._deadlines.pop_due(turn.now):
            if name in self._admissions:
                self._tell(turn, name)


def _is_sound(seat: SeatRow) -> bool:
    entry = SeatEntry(seat.name, seat.number, seat.domains)
    return 0 <= seat.version <= VERSION_MAX and seating_fault(Domains(seat.version, (entry,))) is None
