"""One seat: lets batches through when its clocks allow, decides where they go, and stamps them (ADR 0010).

A step takes one batch: the clock of the domain it came from is told, the batch gets its number, and everything that
goes on from it is stamped, all at once. What was decided is collected (`collect`) and may leave when it is on all
copies (`committed`). Bodies are not stored: until a batch has arrived everywhere, whoever sent it keeps it.

Owns: clocks, and entries. Must not know: how rows are replicated, who holds other seats.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from causeway.core.causal import rows
from causeway.core.causal.clock import MatrixClock, Predecessor
from causeway.core.causal.entry import MARK_BODY, Done, Entry, EntryRow, Origin, SeatDecision, Way
from causeway.core.causal.holdback import HoldBack
from causeway.core.causal.outgoing import Outgoing, SeatMap, SeatPort
from causeway.core.causal.senders import Senders
from causeway.core.causal.subscribers import Subscribers
from causeway.core.machine import Turn
from causeway.core.mail.tracer import Tracer
from causeway.core.messages import Accepted, AskMark, Causal, Deposit, Published, Register
from causeway.domains.limits import DECIDED_BYTES_MAX
from causeway.limits import ITEM_OVERHEAD_BYTES
from causeway.names import is_seat, seat_name
from causeway.store.base import Delete, Put, Row, Write
from causeway.trace import Step
from causeway.types import NORMAL_PRIORITY, SEAT_PREFIX, SECOND, Duration, Instant, Key, ServiceClass, key_of
from causeway.wire.body import join

VOID_AFTER: Duration = 30 * SECOND
"""So long after a take-over a place waits for its batch to be sent again."""

VOIDED_AT_ONCE_MAX = 256
"""Places given up in one operation, which must fit a frame: what was published to a large domain has 63 stamps."""

_ORDERED = int(ServiceClass.TRANSACTIONAL)


class Seat:
    """The seat of the broker `name`, wherever it is held."""

    def __init__(self, name: str, born: int, chart: SeatMap, port: SeatPort, tracer: Tracer) -> None:
        self.name = name
        self.group = seat_name(name)
        self.key: Key = key_of(self.group)
        self.chart = chart
        self._port = port
        self._tracer = tracer
        self.number = -1
        self.following = 1
        """The number that the next message gets."""
        self._version = 0
        """Of the map that we have said we go by."""
        self._promised = False
        """Whether that is new since rows were last written."""
        self.clocks: dict[str, MatrixClock] = {}
        self.subscribers = Subscribers(name, self.key)
        self.out = Outgoing(self.group, born, port, self.subscribers)
        self.held = HoldBack()
        self.entries: dict[int, Entry] = {}
        """By number."""
        self._by_origin: dict[Origin, Entry] = {}
        self.senders = Senders(name, chart, port, self._place)
        self._marks: dict[str, int] = {}
        """By seat that asked: the number of our mark on its way to it."""
        self.void_at: Instant = 0
        """When places without a batch are given up; 0 when there are none."""
        self._new: list[Entry] = []
        self._size = 0
        """About how many bytes of rows they take."""
        self._arrived: list[Entry] = []
        self._writes: list[Write] = []
        self._done: list[Done] = []
        self.stamps: dict[str, int] = {}
        """Made so far, by domain."""

    # Rows ------------------------------------------------------------------------------------------------------
    def restore(self, turn: Turn, stored: Sequence[Row]) -> None:
        """Take the seat up where its former holder left it."""
        found = rows.read(stored)
        if found.meta is not None:
            self.number, self.following, self._version = found.meta.number, found.meta.following, found.meta.version
        self.clocks = found.clocks
        self.senders.restore(found.applications)
        self.subscribers.restore(stored)
        for entry in found.entries:
            entry.safe = True
            self._remember(entry)
            if entry.is_own_mark or entry.void:
                self._fill(entry, join([b""] * entry.row.count))
                self._arrived += self.out.send(turn, entry)
            elif not entry.row.origin[0]:
                self.void_at = turn.now + VOID_AFTER

    def collect(self, position: int) -> tuple[list[Write], SeatDecision]:
        """The rows of everything decided since the last time, as one operation."""
        writes, self._writes = self._writes, []
        changed, self.senders.changed = self.senders.changed, {}
        forgotten, self.senders.forgotten = self.senders.forgotten, []
        new, self._new, self._size = self._new, [], 0
        arrived, self._arrived = self._arrived, []
        done, self._done = self._done, []
        for sender in changed.values():
            key = rows.application_key(sender.source, sender.incarnation)
            writes.append(Put(self.key, key, position, rows.encode(sender.row())))
        writes += [Delete(self.key, rows.application_key(*whose)) for whose in forgotten]
        for entry in new:
            if entry.left:
                writes.append(Put(self.key, rows.entry_key(entry.number), position, rows.encode(entry.row)))
        writes += [Delete(self.key, rows.entry_key(entry.number)) for entry in arrived]
        for domain, clock in self.clocks.items():
            lines = clock.changed()
            for line in lines:
                writes.append(Put(self.key, rows.line_key(domain, line.row), position, rows.encode(line)))
            if lines:
                writes.append(Put(self.key, rows.times_key(domain), position, rows.encode(clock.times())))
        if new or self._promised:
            self._promised = False
            meta = rows.SeatMeta(self.number, self.following, self._version)
            writes.append(Put(self.key, rows.META, position, rows.encode(meta)))
        return writes, SeatDecision(new, arrived, done)

    @property
    def is_dirty(self) -> bool:
        """Whether something was decided that is not on its way to the copies."""
        return bool(self._writes or self.senders.changed or self._new or self._arrived or self._done)

    def committed(self, turn: Turn, decided: SeatDecision) -> None:
        """It is on all copies."""
        for entry in decided.new:
            entry.safe = True
            if entry.left:
                self._arrived += self.out.send(turn, entry)
            else:
                self._answer(turn, entry)
        for entry in decided.arrived:
            self._answer(turn, entry)
        for done in decided.done:
            done(turn)

    # What arrives ---------------------------------------------------------------------------------------------
    def offer(self, turn: Turn, head: Deposit, body: bytes) -> None:
        """A batch arrives, of an application or of another seat (we may write)."""
        if head.causal is None:
            return
        if is_seat(head.source):
            self._from_seat(turn, head, body, head.causal)
        elif not head.causal.domain:
            for entry, part in self.senders.offer(turn, head, body):
                self._supply(turn, entry, part)

    def on_chart(self, turn: Turn) -> None:
        """The map or a binding is known: what waited for it goes on."""
        self.senders.advance_all(turn)
        for domain in list(self.clocks):  # what is released may go on into a domain of its own
            self._release(turn, domain)

    def _place(self, turn: Turn, head: Deposit, body: bytes, to: str) -> None:
        """A batch of an application gets its place in the order."""
        causal = head.causal
        assert causal is not None
        topic = head.published.topic if head.published is not None else ""
        was = Published(topic, head.source, head.incarnation, causal.service, head.first, 0, (), turn.now)
        origin: Origin = ("", head.source, head.incarnation, head.first)
        expires = turn.now + head.ttl if head.ttl else 0
        self._step(turn, origin, was, msgspec.structs.replace(causal, to=to), (head, body, expires))

    # What other seats send -------------------------------------------------------------------------------------
    def _from_seat(self, turn: Turn, head: Deposit, body: bytes, causal: Causal) -> None:
        sender, domain = head.source.removeprefix(SEAT_PREFIX), causal.domain
        number = self.chart.numbers.get(sender)
        clock = self._clock(domain)
        if clock is None or number is None or domain not in self.chart.graph.seats[sender]:
            self.chart.want(turn, self.chart.version + 1)  # it goes by a later one
            return
        last = head.first + head.count - 1
        have = clock.received(number)
        if last <= have:
            self._known_batch(turn, head, body, (domain, sender, 0, head.first))
        elif head.first > have:
            # Never because others of its sender are held: it may be the one they wait for, and there may be no room.
            missing = self.missing(domain, sender, head)
            if missing:
                if missing[0].sender < 0:
                    self.chart.want(turn, self.chart.version + 1)
                if self.held.keep(domain, sender, head, body, turn.now):
                    self._tracer.deposit(turn, Step.HELD, head, self._described(missing[0]))
                return
            self._let_through(turn, head, body, clock, turn.now)
            if self.held.count:
                self._release(turn, domain)

    def _known_batch(self, turn: Turn, head: Deposit, body: bytes, origin: Origin) -> None:
        entry = self._by_origin.get(origin)
        if entry is None:
            whose = (head.source, head.incarnation, head.dest, head.stream)
            self._port.answer(turn, head.origin, Accepted(*whose, head.first, head.first + head.count - 1))
            return
        entry.answer_to = head.origin
        if entry.body is None:
            if head.causal is not None and head.causal.void:
                self._make_void(entry)
            else:
                self._supply(turn, entry, body)

    def missing(self, domain: str, sender: str, head: Deposit) -> list[Predecessor]:
        """What must come before a batch of another seat."""
        clock, number, causal = self._clock(domain), self.chart.numbers.get(sender), head.causal
        if clock is None or number is None or causal is None:
            return [Predecessor(-1, 0, 0)]
        if causal.to and causal.to != self.name and self.chart.graph.next_hop(self.name, causal.to) is None:
            return [Predecessor(-1, 0, 0)]  # a later map than ours says where it goes
        return clock.missing(number, head.first, causal.stamp)

    def _described(self, first: Predecessor) -> str:
        name = self.chart.names.get(first.sender, "?")
        return f"waits for {first.until} of {name}, has {first.have}" if first.sender >= 0 else "waits for a map"

    def _release(self, turn: Turn, domain: str) -> None:
        clock = self.clocks[domain]
        numbers = self.chart.numbers
        while self.held.count:
            ready = self.held.next_ready(domain, lambda s: clock.received(numbers.get(s, -1)) + 1, self.missing)
            if ready is None:
                return
            self._tracer.deposit(turn, Step.RELEASED, ready.head)
            self._let_through(turn, ready.head, ready.body, clock, ready.since)

    def _let_through(self, turn: Turn, head: Deposit, body: bytes, clock: MatrixClock, since: Instant) -> None:
        """The clock allows a batch that is here since then."""
        causal, was = head.causal, head.published
        assert causal is not None and was is not None
        sender = head.source.removeprefix(SEAT_PREFIX)
        clock.deliver(self.chart.numbers[sender], head.first + head.count - 1, causal.stamp)
        origin: Origin = (causal.domain, sender, 0, head.first)
        expires = since + causal.ttl if causal.ttl else 0
        self._step(turn, origin, was, causal, (head, body, expires))
        if not causal.dest and not was.topic and causal.to == self.name:
            self.senders.learn(turn, was.source, was.number)

    # The step --------------------------------------------------------------------------------------------------
    def _step(
        self, turn: Turn, origin: Origin, was: Published, causal: Causal, parcel: tuple[Deposit, bytes, Instant]
    ) -> None:
        """A batch gets its number, and everything that goes on from here its stamp."""
        head, body, expires = parcel
        ways: list[Way] = []
        mailboxes: tuple[str, ...] = ()
        if was.topic:
            if not causal.void:
                mailboxes = self.subscribers.wanting(was.topic)
            for domain in self.chart.graph.seats.get(self.name, ()):
                others = self.chart.graph.neighbours(self.name, domain) if domain != origin[0] else ()
                if others:
                    ways += self._stamped(domain, others, head.count)
        elif causal.to != self.name:
            hop = self.chart.graph.next_hop(self.name, causal.to)
            assert hop is not None, "only what has a way is let through"
            ways = self._stamped(hop[0], (hop[1],), head.count)
        elif causal.dest and not causal.void:
            mailboxes = (causal.dest,)
        passed = (causal.dest, causal.to, head.flags, expires, tuple(ways), mailboxes, causal.void)
        row = EntryRow(head.count, origin, was, *passed)
        entry = Entry(self.following, row, body, head.origin)
        self.following += head.count
        self._remember(entry)
        self._new.append(entry)
        self._size += ITEM_OVERHEAD_BYTES + 5 * sum(len(way.stamp) for way in ways)
        if self._size >= DECIDED_BYTES_MAX:
            self._port.write(turn, self.group)

    def _stamped(self, domain: str, others: Sequence[str], count: int) -> list[Way]:
        clock = self._clock(domain)
        assert clock is not None
        stamps = clock.send([self.chart.numbers[other] for other in others], count)
        self.stamps[domain] = self.stamps.get(domain, 0) + len(stamps)
        return [
            Way(seat_name(other), domain, first, stamp) for other, (first, stamp) in zip(others, stamps, strict=True)
        ]

    def _clock(self, domain: str) -> MatrixClock | None:
        """The clock of one of our domains."""
        clock = self.clocks.get(domain)
        if clock is None and domain in self.chart.graph.seats.get(self.name, ()):
            self.number = self.chart.numbers[self.name]
            clock = self.clocks[domain] = MatrixClock(self.number)
        return clock

    # Entries ---------------------------------------------------------------------------------------------------
    def _remember(self, entry: Entry) -> None:
        self.entries[entry.number] = entry
        self._by_origin[entry.row.origin] = entry
        if not entry.row.origin[0] and not entry.is_mark:
            self.senders.remember(entry)
        self.out.expect(entry)

    def _forget(self, entry: Entry) -> None:
        if self.entries.pop(entry.number, None) is not None:
            self.senders.forget(entry)
            if self._by_origin.get(entry.row.origin) is entry:
                del self._by_origin[entry.row.origin]
            if entry.is_own_mark:
                self._marks.pop(entry.row.to, None)

    def _fill(self, entry: Entry, body: bytes) -> None:
        """The body of an entry that was taken over without it."""
        entry.body = body
        self.senders.filled(entry)

    def _supply(self, turn: Turn, entry: Entry, body: bytes) -> None:
        if entry.body is None:
            self._fill(entry, body)
            self._arrived += self.out.send(turn, entry)

    def _answer(self, turn: Turn, entry: Entry) -> None:
        """Whoever sent it may forget it."""
        self._forget(entry)
        domain, source, incarnation, first = entry.row.origin
        if entry.is_own_mark or not entry.answer_to or (entry.void and not domain):
            return
        whose = seat_name(source) if domain else source
        answer = Accepted(whose, incarnation, self.group, _ORDERED, first, entry.last, refused=entry.refused)
        self._port.answer(turn, entry.answer_to, answer)

    def on_accepted(self, dest: str, first: int, last: int, refused: int = 0) -> None:
        """Ids arrived at a mailbox or another seat, or were refused behind that one."""
        self._arrived += self.out.accepted(dest, first, last, refused)

    def on_gone(self, turn: Turn, mailbox: str) -> None:
        """A mailbox has ended."""
        self._writes += self.subscribers.remove(mailbox)
        self._arrived += self.out.gone(turn, mailbox)

    # Void ------------------------------------------------------------------------------------------------------
    def give_up(self, turn: Turn) -> None:
        """Places whose batches nobody has sent again are given up (we may write)."""
        lost = [entry for entry in self.entries.values() if entry.body is None and not entry.row.origin[0]]
        self.void_at = turn.now if len(lost) > VOIDED_AT_ONCE_MAX else 0
        for entry in lost[:VOIDED_AT_ONCE_MAX]:
            self.senders.give_up(entry)
            self._make_void(entry)

    def _make_void(self, entry: Entry) -> None:
        entry.void = True
        entry.row = msgspec.structs.replace(entry.row, void=True)
        self._fill(entry, join([b""] * entry.row.count))
        entry.safe = False
        self._new.append(entry)

    # The map ---------------------------------------------------------------------------------------------------
    @property
    def is_ready(self) -> bool:
        """Whether the map known here has this seat, and is as late as the one it was said to go by."""
        return self.name in self.chart.graph.seats and self.chart.version >= self._version

    def go_by(self, version: int, done: Done) -> None:
        """What is sent from here goes by this map, whoever holds the seat; `done` when that is safe (we may write)."""
        self._promised = self._promised or version > self._version
        self._version = max(version, self._version)
        self._done.append(done)

    # Marks and registrations -----------------------------------------------------------------------------------
    def on_ask_mark(self, turn: Turn, head: AskMark) -> None:
        """Another seat wants to know what was delivered here (we may write)."""
        to = head.by.removeprefix(SEAT_PREFIX)
        on_way = self._marks.get(to, -1)
        number = self.following - 1
        if on_way >= head.number or number < head.number or to == self.name:
            return
        if self.chart.graph.next_hop(self.name, to) is None:
            self.chart.want(turn, self.chart.version + 1)
            return
        self._marks[to] = number
        was = Published("", self.name, 0, _ORDERED, number, number, (), turn.now)
        deposit = Deposit(self.group, 0, self.group, _ORDERED, number, 1, 0, 0, NORMAL_PRIORITY, 0)
        self._step(turn, ("", head.by, 0, number), was, Causal("", _ORDERED, to=to), (deposit, MARK_BODY, 0))

    def register(self, turn: Turn, head: Register, position: int) -> None:
        """A subscription says what it wants of what is published in causal order (we may write)."""
        writes, answer = self.subscribers.register(head, self.following, position)
        self._writes += writes
        self._done.append(lambda turn: self._port.answer(turn, head.origin, answer))
