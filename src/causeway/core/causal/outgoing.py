"""What leaves a seat: to other seats in any order, to each mailbox in the order of the seat's numbers.

Owns: what is on its way to whom. Must not know: clocks, rows, when a batch is safe.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Protocol

import msgspec

from causeway.core.causal.entry import Entry, Way
from causeway.core.causal.subscribers import Subscribers
from causeway.core.machine import Turn
from causeway.core.messages import AskMark, Causal, Deposit, Message
from causeway.core.topics.picking import picked
from causeway.domains import DomainGraph
from causeway.errors import Code
from causeway.types import NORMAL_PRIORITY, Flag, Instant, ServiceClass

_HEADERS, _RELIABLE = int(Flag.HEADERS), int(Flag.RELIABLE)
_ORDERED = int(ServiceClass.TRANSACTIONAL)


class SeatMap(Protocol):
    """What a seat needs to know of domains and bindings."""

    version: int
    graph: DomainGraph
    """Seats by the names of their brokers."""
    numbers: dict[str, int]
    """Row and column of each seat in clocks."""
    names: dict[int, str]
    confirmed: Instant
    """The map was the latest one then."""

    def seat_of(self, turn: Turn, name: str, hint: str) -> str | None:
        """The seat that a mailbox is bound to, `hint` if to none yet; None while nobody has answered."""

    def want(self, turn: Turn, version: int) -> None:
        """Somebody goes by a later map than we have."""


class SeatPort(Protocol):
    """What a seat needs of its broker."""

    me: bytes

    def forward(self, turn: Turn, head: Deposit, body: bytes) -> None:
        """To another seat or a mailbox; repeated until Outgoing hears that it arrived."""

    def forget(self, turn: Turn, seat: str, dest: str) -> None:
        """Nothing more is to arrive there."""

    def answer(self, turn: Turn, origin: bytes, head: Message) -> None:
        """To the broker that sent a batch."""

    def ask(self, turn: Turn, head: AskMark) -> None:
        """To another seat; may be lost."""

    def write(self, turn: Turn, seat: str) -> None:
        """A seat has decided as much as one operation should hold: make one of it."""


class Outgoing:
    """All that one seat has on its way."""

    def __init__(self, group: str, born: int, port: SeatPort, subscribers: Subscribers) -> None:
        self._group = group
        self._born = born
        """Stands for this seat's life in the streams to mailboxes."""
        self._port = port
        self._lanes: dict[str, deque[Entry]] = {}
        """Entries that have not been sent to a mailbox, in the order of their numbers."""
        self._sent: dict[str, dict[int, tuple[int, Entry]]] = {}
        """On their way, by destination and first id."""
        self._last: dict[str, int] = {}
        """The last number sent to a mailbox where something of ours has not arrived."""
        self._subscribers = subscribers

    # Sending ---------------------------------------------------------------------------------------------------
    def expect(self, entry: Entry) -> None:
        """An entry got its number: what comes later does not overtake it at any mailbox."""
        for mailbox in entry.row.mailboxes:
            self._lanes.setdefault(mailbox, deque()).append(entry)

    def send(self, turn: Turn, entry: Entry) -> list[Entry]:
        """An entry is safe and has its body (or is void): on its way; entries that thereby have arrived everywhere."""
        for way in list(entry.left.values()):
            if way is not None:
                self._to_seat(turn, entry, way)
        done: list[Entry] = []
        for mailbox in entry.row.mailboxes:
            done += self._pump(turn, mailbox)
        return done

    def _to_seat(self, turn: Turn, entry: Entry, way: Way) -> None:
        row = entry.row
        ttl = max(1, row.expires - turn.now) if row.expires else 0
        service = row.published.stream
        causal = Causal(row.dest, service, (), way.domain, way.stamp, entry.void, row.to, ttl)
        head = Deposit(
            self._group,
            0,
            way.dest,
            _ORDERED,
            way.first,
            row.count,
            way.first - 1,
            row.flags & _HEADERS | _RELIABLE,
            NORMAL_PRIORITY,
            0,  # it must not end on the way: others wait for its place
            self._port.me,
            row.published,
            0,
            causal,
        )
        assert entry.body is not None
        self._sent.setdefault(way.dest, {})[way.first] = (way.first + row.count - 1, entry)
        self._port.forward(turn, head, entry.body)

    def _pump(self, turn: Turn, mailbox: str) -> Iterator[Entry]:
        """Send to a mailbox what may be sent; entries that have arrived everywhere because it wants nothing of them."""
        lane = self._lanes.get(mailbox)
        if lane is None:
            return
        while lane and lane[0].safe and lane[0].body is not None:
            entry = lane.popleft()
            if mailbox in entry.left and not self._to_mailbox(turn, entry, mailbox):
                del entry.left[mailbox]
                if not entry.left:
                    yield entry
        if not lane:
            self._lanes.pop(mailbox, None)

    def _to_mailbox(self, turn: Turn, entry: Entry, mailbox: str) -> bool:
        row, body = entry.row, entry.body
        assert body is not None
        runs: tuple[tuple[int, int], ...] = ()
        count = row.count
        if entry.void:
            return False
        if row.published.topic:
            registration = self._subscribers.all.get(mailbox)
            if registration is None:
                return False  # it has ended since
            runs, body, count = picked(registration, entry.batch())
            if not count:
                return False
        first = entry.number
        head = Deposit(
            self._group,
            self._born,
            mailbox,
            _ORDERED,
            first,
            count,
            self._last.get(mailbox, 0),
            row.flags & _HEADERS | _RELIABLE,
            NORMAL_PRIORITY,
            max(1, row.expires - turn.now) if row.expires else 0,
            self._port.me,
            msgspec.structs.replace(row.published, number=first - 1, picked=runs),
        )
        self._last[mailbox] = first + count - 1
        self._sent.setdefault(mailbox, {})[first] = (first + count - 1, entry)
        self._port.forward(turn, head, body)
        return True

    # Answers ---------------------------------------------------------------------------------------------------
    def accepted(self, dest: str, first: int, last: int, refused: int = 0) -> list[Entry]:
        """Ids arrived somewhere, or were refused behind it; entries that thereby have arrived everywhere."""
        sent = self._sent.get(dest)
        done: list[Entry] = []
        while sent and first <= last:
            found = sent.get(first)
            if found is None or found[0] > last:
                break
            del sent[first]
            found[1].refused = found[1].refused or refused
            done += self._arrived(found[1], dest)
            first = found[0] + 1
        if sent is not None and not sent:
            del self._sent[dest]
            self._last.pop(dest, None)  # what comes next has nothing to wait for
        return done

    def gone(self, turn: Turn, mailbox: str) -> list[Entry]:
        """A mailbox has ended: whatever was for it has nowhere to go."""
        self._port.forget(turn, self._group, mailbox)
        self._last.pop(mailbox, None)
        done: list[Entry] = []
        for entry in (*(entry for _, entry in self._sent.pop(mailbox, {}).values()), *self._lanes.pop(mailbox, ())):
            if entry.row.dest == mailbox:
                entry.refused = Code.NO_MAILBOX
            done += self._arrived(entry, mailbox)
        return done

    @staticmethod
    def _arrived(entry: Entry, dest: str) -> list[Entry]:
        if dest not in entry.left:
            return []
        del entry.left[dest]
        return [] if entry.left else [entry]

    def listing(self, most: int) -> list[dict[str, object]]:
        """Seats and mailboxes that have not taken everything, up to so many: how many batches, and the oldest."""
        found: list[dict[str, object]] = []
        for dest, sent in islice(self._sent.items(), most):
            oldest = next(iter(sent.values()))[1].row.published
            count = len(sent) + len(self._lanes.get(dest, ()))
            batch: dict[str, object] = {"source": oldest.source, "first": oldest.first, "since": oldest.at}
            found.append({"to": dest, "count": count, **batch})
        return found

    def forget(self, turn: Turn) -> None:
        """Another broker holds the seat: it sends what has not arrived."""
        for dest in self._sent:
            self._port.forget(turn, self._group, dest)
