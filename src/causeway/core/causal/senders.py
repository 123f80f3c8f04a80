"""Applications that send through a seat: each by one ordered stream, whose order is that of its sends.

Owns: how far each has got, and what waits until it is known where it goes. Must not know: clocks, entries' ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

import msgspec

from causeway.core.causal.entry import ApplicationRow, Entry, Sender
from causeway.core.causal.outgoing import SeatMap, SeatPort
from causeway.core.machine import Turn
from causeway.core.mail.replies import rejected
from causeway.core.messages import Accepted, AskMark, Causal, Deposit, Resend
from causeway.domains.limits import (
    HELD_SHOWN_MAX,
    SEAT_BYTES_MAX,
    SENDER_BYTES_MAX,
    SENDER_SECONDS_MIN,
    SENDERS_PER_SEAT_MAX,
)
from causeway.errors import Code
from causeway.limits import ITEM_OVERHEAD_BYTES
from causeway.names import seat_name
from causeway.types import MILLISECOND, SEAT_PREFIX, SECOND, Duration, Instant
from causeway.wire.body import cut

ASK_AGAIN: Duration = 200 * MILLISECOND
"""A mark that was asked for and has not come."""

WAITS_MAX: Duration = 10 * SECOND
"""So long batches wait here for a mark, or for a map that knows its seat; then their sender has to send them again, if
there still is one. Nobody has acknowledged them, and others need the room."""

Place = Callable[[Turn, Deposit, bytes, str], None]
"""A batch gets its place in the order; the seat it goes to, or none for all."""


class Senders:
    """All applications of one seat."""

    def __init__(self, seat: str, chart: SeatMap, port: SeatPort, place: Place) -> None:
        self._seat = seat
        self._chart = chart
        self._port = port
        self._place = place
        self.all: dict[tuple[str, int], Sender] = {}
        """Those that sent last come last."""
        self.changed: dict[tuple[str, int], Sender] = {}
        """Since rows were last written."""
        self._waiting: dict[tuple[str, int], Sender] = {}
        """Those with batches that wait."""
        self.forgotten: list[tuple[str, int]] = []
        self.bytes = 0
        """Bodies of applications on their way, and what waits."""
        self._known: dict[str, int] = {}
        """By seat: the number up to which we know what it delivered."""
        self._asked: dict[str, Instant] = {}
        """By seat: when we last asked it for a mark."""

    def restore(self, rows: Iterable[ApplicationRow]) -> None:
        """As they were when these were written."""
        for row in sorted(rows, key=lambda row: row.used):
            self.all[row.source, row.incarnation] = Sender(
                row.source, row.incarnation, row.high, row.used, list(row.voided)
            )

    def remember(self, entry: Entry) -> None:
        """A batch of an application is on its way."""
        _, source, incarnation, first = entry.row.origin
        sender = self.all.setdefault((source, incarnation), Sender(source, incarnation))
        sender.open[first] = entry
        self._count(sender, len(entry.body or b"") + ITEM_OVERHEAD_BYTES)

    def filled(self, entry: Entry) -> None:
        """The body of an entry came after all."""
        domain, source, incarnation, _ = entry.row.origin
        if not domain and not entry.is_mark:
            self._count(self.all[source, incarnation], len(entry.body or b""))

    def _count(self, sender: Sender, size: int) -> None:
        self.bytes += size
        sender.bytes += size

    def give_up(self, entry: Entry) -> None:
        """Nobody sent an entry's body again."""
        _, source, incarnation, _ = entry.row.origin
        sender = self.all[source, incarnation]
        start = sender.voided.pop()[0] if sender.voided and sender.voided[-1][1] + 1 == entry.first else entry.first
        sender.voided.append((start, entry.last))
        self.changed[source, incarnation] = sender

    def forget(self, entry: Entry) -> None:
        """It has arrived everywhere."""
        domain, source, incarnation, first = entry.row.origin
        sender = self.all.get((source, incarnation)) if not domain else None  # an application may be called like a seat
        if sender is not None and sender.open.pop(first, None) is not None:
            self._count(sender, -len(entry.body or b"") - ITEM_OVERHEAD_BYTES)

    # Arriving --------------------------------------------------------------------------------------------------
    def offer(self, turn: Turn, head: Deposit, body: bytes) -> list[tuple[Entry, bytes]]:
        """A batch arrives; entries that lacked a body, with theirs."""
        whose = (head.source, head.incarnation)
        sender = self.all.get(whose) or Sender(*whose)
        last = head.first + head.count - 1
        if last <= sender.high:
            return self._again(turn, sender, head, body)
        expected = sender.expected
        if last < expected:
            return []  # it waits already
        if head.first > expected and head.follows >= expected:
            self._port.answer(turn, head.origin, Resend(*whose, head.dest, head.stream, expected - 1))
            return []
        if head.first < expected:
            skip = expected - head.first
            body = cut(body, head.count, skip, head.count)
            head = msgspec.structs.replace(head, first=expected, count=head.count - skip)
        cost = len(body) + ITEM_OVERHEAD_BYTES
        if (sender.bytes and sender.bytes + cost > SENDER_BYTES_MAX) or self.bytes + cost > SEAT_BYTES_MAX:
            bounds = f"{SENDER_BYTES_MAX} bytes of one application, {SEAT_BYTES_MAX} of all"
            detail = f"seat of {self._seat!r}: as much as may be is on its way through it ({bounds})"
            self._port.answer(turn, head.origin, rejected(head, Code.OVERLOADED, detail))
            return []
        if not self._use(turn, sender):
            detail = f"seat of {self._seat!r}: {SENDERS_PER_SEAT_MAX} senders were active just now, its limit"
            self._port.answer(turn, head.origin, rejected(head, Code.OVERLOADED, detail))
            return []
        self._count(sender, cost)
        if not sender.waiting:
            sender.since = turn.now
        sender.waiting.append((head, body, turn.now))
        self._advance(turn, sender)
        return []

    def _use(self, turn: Turn, sender: Sender) -> bool:
        """The sender is the latest, if there is room: of too many, those that were silent longest are forgotten."""
        whose = (sender.source, sender.incarnation)
        if whose not in self.all and len(self.all) >= SENDERS_PER_SEAT_MAX:
            oldest = next((known for known in self.all.values() if known.is_idle), None)
            if oldest is None or turn.now - oldest.used < SENDER_SECONDS_MIN * SECOND:
                return False
            forgotten = (oldest.source, oldest.incarnation)
            del self.all[forgotten]
            self.changed.pop(forgotten, None)
            self.forgotten.append(forgotten)
        self.all.pop(whose, None)
        self.all[whose] = sender
        return True

    def _again(self, turn: Turn, sender: Sender, head: Deposit, body: bytes) -> list[tuple[Entry, bytes]]:
        """A batch that has its place: perhaps we lack its body, or its sender has not heard that it arrived."""
        last = head.first + head.count - 1
        if any(head.first <= end and start <= last for start, end in sender.voided):
            detail = "its sender and its seat failed together, and others did not wait for it any longer"
            self._port.answer(turn, head.origin, rejected(head, Code.ORDER_LOST, detail))
            return []
        found: list[tuple[Entry, bytes]] = []
        under_way = False
        for entry in self._open(sender, head.first, last):
            under_way = True
            entry.answer_to = head.origin
            if entry.body is None and head.first <= entry.first and entry.last <= last:
                start = entry.first - head.first
                found.append((entry, cut(body, head.count, start, start + entry.row.count)))
        if not under_way:
            whose = (head.source, head.incarnation, head.dest, head.stream)
            self._port.answer(turn, head.origin, Accepted(*whose, head.first, last))
        return found

    @staticmethod
    def _open(sender: Sender, first: int, last: int) -> list[Entry]:
        entry = sender.open.get(first)
        if entry is not None and entry.last == last:
            return [entry]  # as nearly always
        return [entry for entry in sender.open.values() if entry.first <= last and first <= entry.last]

    # Waiting ---------------------------------------------------------------------------------------------------
    def advance_all(self, turn: Turn) -> None:
        """Something is known that was not, or time has passed: whoever waits tries again."""
        for sender in list(self._waiting.values()):
            self._advance(turn, sender)
            if sender.waiting and turn.now - sender.waiting[0][2] >= WAITS_MAX:
                self._count(sender, -sum(len(body) + ITEM_OVERHEAD_BYTES for _, body, _ in sender.waiting))
                sender.waiting.clear()
                del self._waiting[sender.source, sender.incarnation]

    def _advance(self, turn: Turn, sender: Sender) -> None:
        """Give batches of a sender their places, in order, as far as it is known where they go."""
        while sender.waiting and self._place_first(turn, sender):
            pass
        if sender.waiting:
            self._waiting[sender.source, sender.incarnation] = sender
        else:
            self._waiting.pop((sender.source, sender.incarnation), None)

    def _place_first(self, turn: Turn, sender: Sender) -> bool:
        """The first of them, unless it has to wait."""
        head, body, arrived = sender.waiting[0]
        causal = head.causal
        assert causal is not None
        to = self._chart.seat_of(turn, causal.dest, self._seat) if causal.dest else ""
        if to is None:
            sender.why = f"where {causal.dest!r} takes part"
            return False
        if to and to not in self._chart.graph.seats:
            sender.why = f"a map with the seat of {to!r}"
            self._chart.want(turn, self._chart.version + 1)
            return False
        unknown = self._unknown(turn, causal)
        if unknown:
            sender.why = f"a mark of the seat of {unknown!r}, where its sender read something"
            return False
        if to and to != self._seat and self._chart.graph.next_hop(self._seat, to) is None:
            if self._chart.confirmed >= sender.since:
                self._reject_all(turn, sender, causal.dest, to)
            else:
                sender.why = f"a map with a way to the seat of {to!r}"
                self._chart.want(turn, self._chart.version + 1)
            return False
        sender.waiting.popleft()
        self._count(sender, -len(body) - ITEM_OVERHEAD_BYTES)
        sender.high = head.first + head.count - 1
        sender.since = sender.used = turn.now
        self.changed[sender.source, sender.incarnation] = sender
        if head.ttl:
            head = msgspec.structs.replace(head, ttl=max(1, head.ttl - (turn.now - arrived)))
        self._place(turn, head, body, to)
        return True

    def _reject_all(self, turn: Turn, sender: Sender, dest: str, to: str) -> None:
        """The first has no way, and what is behind it must not overtake it."""
        detail = f"{dest!r} takes part at the seat of {to!r}; no domains lead there from that of {self._seat!r}"
        for head, body, _ in sender.waiting:
            self._port.answer(turn, head.origin, rejected(head, Code.NO_ROUTE, detail))
            self._count(sender, -len(body) - ITEM_OVERHEAD_BYTES)
        sender.waiting.clear()

    def _unknown(self, turn: Turn, causal: Causal) -> str:
        """A seat where the sender of a batch read more than we know of, if there is one; such seats are asked."""
        unknown = ""
        for group, number in causal.after:
            name = group.removeprefix(SEAT_PREFIX)
            if name == self._seat or self._known.get(name, 0) >= number:
                continue
            unknown = name
            if name not in self._chart.graph.seats:
                self._chart.want(turn, self._chart.version + 1)  # a later one has it
            elif turn.now - self._asked.get(name, -ASK_AGAIN) >= ASK_AGAIN:
                self._asked[name] = turn.now
                self._port.ask(turn, AskMark(group, seat_name(self._seat), number))
        return unknown

    @property
    def asks(self) -> bool:
        """Whether somebody waits, for a mark most likely: look again after ASK_AGAIN."""
        return bool(self._waiting)

    def learn(self, turn: Turn, seat: str, number: int) -> None:
        """A mark came: we know what that seat had delivered."""
        self._known[seat] = max(number, self._known.get(seat, 0))
        self._asked.pop(seat, None)  # what was read there since may be asked for at once
        self.advance_all(turn)

    def listing(self) -> list[dict[str, object]]:
        """Who waits for what, for people."""
        return [
            {"source": s.source, "first": s.waiting[0][0].first, "why": s.why, "since": s.since}
            for s in islice(self._waiting.values(), HELD_SHOWN_MAX)
        ]
