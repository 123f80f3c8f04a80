"""One mailbox at its owner: everything it decides, in memory; every durable fact a row (see `rows`).

Owns: the whole state of one mailbox. Must not know: connections beyond a number, replication, other mailboxes.

What moves it: batches (`admit`, then `store` or `hold`, or `relay`), confirmations of the group (`committed`), readers
(`attach`, `settle`, `give_back`, `detach`), transactions (`participant`), time (`expire`) and its own rows (`restore`,
`page_in`). Writes that a method answers form ONE operation of the group and take one number unless said
otherwise; the next operation must be appended after them. A mailbox whose group was lost is thrown away.

Order: messages are delivered by priority, then in the order they were committed; priority is honoured among the
messages in the window (config.window_bytes), what lies behind it on disk comes after. Express messages have no order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from causeway.config import BrokerConfig
from causeway.core.mail.answers import (
    Admission,
    Expired,
    Returned,
    Settlement,
    Statistics,
)
from causeway.core.mail.batches import BATCH_OVERHEAD_BYTES, DEAD, HELD, LOCKED, OPEN, BatchPart
from causeway.core.mail.browser import Browser
from causeway.core.mail.census import figures_of, statistics_of
from causeway.core.mail.consumers import ANYTHING, Consumer, Consumers, Terms
from causeway.core.mail.contents import Contents
from causeway.core.mail.flights import Flight, Flights
from causeway.core.mail.intake import Intake
from causeway.core.mail.participant import Participant
from causeway.core.mail.pump import Handed, hand_over, pump, pump_selected, pump_sole
from causeway.core.mail.reading import parse
from causeway.core.mail.rows import BATCH, StoredBatch, number_of
from causeway.core.mail.selection import Selection, Sight
from causeway.core.mail.sweeper import Sweeper
from causeway.core.mail.tally import Tally
from causeway.core.messages import Deliver, Deposit
from causeway.core.ports import Figures
from causeway.limits import LOST_READERS_MAX, STARVED_WINDOWS_MAX
from causeway.ranges import disjoint
from causeway.store.base import Row, Write
from causeway.topics import is_item
from causeway.types import Instant, Key, Span


class Mailbox:
    """State of one mailbox."""

    __slots__ = (
        "_browser",
        "_contents",
        "_flights",
        "_intake",
        "_lost",
        "_participant",
        "_selection",
        "_sweeper",
        "audience",
        "config",
        "is_item",
        "key",
        "name",
    )

    def __init__(self, name: str, key: Key, config: BrokerConfig) -> None:
        self.name = name
        self.key = key
        self.config = config
        self.is_item = is_item(name)
        """Whether it holds what is published to topics: its owner hands it on, in the order of its numbers."""
        self._contents = Contents(key, config.window_bytes, flat=self.is_item)
        self._intake = Intake(key, config, self._contents)
        self.audience = Consumers()
        """Its consumers; `attach` and `detach` change them."""
        # Most mailboxes never need these: there may be a million of them.
        self._participant: Participant | None = None
        self._selection: Selection | None = None
        self._flights: Flights | None = None
        self._browser: Browser | None = None
        self._sweeper: Sweeper | None = None
        self._lost: dict[tuple[tuple[str, int], int], tuple[list[Span], bool]] | None = None
        """Readers that were lost with their connections, by client and number: what they held, and whether alone."""

    @property
    def participant(self) -> Participant:
        """Its part in transactions; to be asked for anew for every use."""
        self._land()
        if self._participant is None:
            self._participant = Participant(self.key, self._contents, self._intake)
        return self._participant

    @property
    def browser(self) -> Browser:
        """Looks that change nothing; to be asked for anew for every use."""
        self._land()
        if self._browser is None:
            self._browser = Browser(self._contents, self._intake, self._locks)
        return self._browser

    @property
    def sweeper(self) -> Sweeper:
        """Ends what expires on disk."""
        if self._sweeper is None:
            self._sweeper = Sweeper(self.key, self._contents, self._intake, self.browser)
        return self._sweeper

    @property
    def in_doubt(self) -> bool:
        """Whether it holds parts of transactions that nobody has decided."""
        return self._participant is not None and len(self._participant) > 0

    def _locks(self) -> list[Span]:
        """All numbers that transactions have locked."""
        return [] if self._participant is None else self._participant.locks()

    def _land(self) -> None:
        """End the short way for all that is on it: see `Flights`."""
        if self._flights is not None:
            self._flights.land()
            self._flights = None

    # Rebuilding and paging -------------------------------------------------------------------------------------
    def restore(self, rows: Sequence[Row], next: bytes | None) -> None:  # noqa: A002
        """Rebuild a new mailbox from its rows: all that are not batches, and the batches below `next`.

        Whatever is found may have been delivered before. Afterwards `participant.names()` and `condemned()` say what
        to ask and to send again, and `next_expiry()` whether rows are to be tidied.
        """
        parsed = parse(rows)
        for number, marks in parsed.marks:
            self._contents.backlog.mark(number, marks)
        if parsed.prepared:
            self.participant.restore(parsed.prepared)
        if parsed.buried:
            self._contents.dead.restore(parsed.buried)
        last, ever = self._intake.restore(parsed.seen)
        if next is not None or sum(map(_cost, parsed.batches)) > self.config.window_bytes:
            self._contents.expect_pages()
        _, cut_at = self._load(parsed.batches, self.config.window_bytes)
        start = cut_at or next
        if start is not None:
            number = number_of(start)
            timed = any(row.timed and row.last >= number for _, row in parsed.seen)
            self._contents.backlog.open(number, last, ever, timed=timed)
        self._contents.page_done(None)

    def page_wanted(self) -> tuple[bytes, bytes] | None:
        """The range of keys (start, stop) to load now, if any; asked for once, until `page_in` has answered it."""
        contents = self._contents
        if not contents.is_paged:
            return None
        drained = contents.memory_bytes * 2 < self.config.window_bytes
        if not drained and (not self._is_starved() or self._is_overgrown()):
            return None
        return contents.backlog.ask(self._intake.uncommitted)

    def _is_starved(self) -> bool:
        """Whether a consumer has credit for which nothing in memory is left, if only because others hold it all."""
        if self._selection is not None and self.audience.selective:
            return self._selection.is_starved
        return self._contents.lanes.count == 0 and self.audience.has_room()

    def _is_overgrown(self) -> bool:
        """Whether what nobody may get yet has filled our memory; what consumers hold may take more, by their credit."""
        contents, parked = self._contents, 0 if self._selection is None else self._selection.parked_bytes
        limit = STARVED_WINDOWS_MAX * self.config.window_bytes
        return bool(contents.delays or parked) and contents.memory_bytes + parked >= limit

    def page_in(self, rows: Sequence[Row], next: bytes | None) -> list[StoredBatch]:  # noqa: A002
        """Take the rows found; `next` is where the page ended, None when the range did.

        Answers the condemned messages among them. A load that failed is answered with no rows and its own start.
        What has expired on disk is in the window for a moment, never delivered, and reported by `expire`.
        """
        dead, cut_at = self._load([row for row in rows if row.key[:1] == BATCH], self.config.window_bytes // 2)
        start = cut_at or next
        self._contents.page_done(number_of(start) if start is not None and start[:1] == BATCH else None)
        return dead

    def _load(self, rows: Sequence[Row], bytes_max: int) -> tuple[list[StoredBatch], bytes | None]:
        """Take batch rows up to a cost in memory, at least one; the condemned among them, and where it stopped.

        The store counts bytes of rows; small batches cost more in memory.
        """
        locks = self._locks()
        dead: list[StoredBatch] = []
        for at, row in enumerate(rows):
            if at and bytes_max <= 0:
                return dead, row.key
            bytes_max -= _cost(row)
            fresh = self._intake.is_fresh(number_of(row.key))
            batch = self._contents.load(row, locks, redelivered=not fresh)
            if batch is not None and batch.marked:
                dead += [batch.piece(part.start, part.stop) for part in batch.parts if part.state == DEAD]
        return dead, None

    # Sending ---------------------------------------------------------------------------------------------------
    def admit(self, deposit: Deposit, size: int = 0, now: Instant = 0) -> Admission:
        """What to do with a recoverable or transactional batch of `size` bytes; changes nothing."""
        return self._intake.admit(deposit, size, now)

    def is_crowded(self, now: Instant) -> bool:
        """Whether nobody may send express who has not sent before: too many senders are remembered."""
        return self._intake.seen.is_crowded(now, rows=False)

    def store(self, deposit: Deposit, body: bytes, seq: int, now: Instant, skip: int = 0) -> list[Write]:
        """The operation at `seq` that stores what `admit` found new; it takes deposit.count - skip numbers.

        Never while batches of the same stream are passing: `unpass` and `store_passed` come first.
        """
        if self._flights is not None:
            self._land()
        return self._intake.store(deposit, body, seq, now, skip)

    def committed(self, seq: int) -> StoredBatch | None:
        """The operation at `seq` is on all members. To be called for every operation.

        Answers the batch to acknowledge (first..last, to its origin) when it was a store, None for all others.
        """
        if self._participant is not None:
            self._participant.committed(seq)
        return self._intake.committed(seq)

    def hold(self, deposit: Deposit, body: bytes, now: Instant) -> int | None:
        """Keep an express batch in memory, or let another one pass (after `admit` said NEW and `can_pass`).

        Answers its number, 0 when everything in it is a duplicate, None when it does not fit into memory or is crowded.
        """
        if self._flights is not None:
            self._land()
        return self._intake.hold(deposit, body, now)

    def relay(
        self, deposit: Deposit, body: bytes, now: Instant, clogged: Callable[[int], bool]
    ) -> tuple[int, Deliver] | None:
        """Instead of `hold`, for express: if nothing waits, a batch without flags goes to the only consumer at once.

        Answers the connection and the head to send, None when it must go the ordinary way.
        """
        consumer, contents, count = self.audience.sole, self._contents, deposit.count
        if (
            consumer is None
            or self.is_item
            or deposit.flags
            or deposit.ttl
            or deposit.delay
            or consumer.unsettled + count > consumer.credit
            or contents.lanes.count
            or contents.is_paged
            or clogged(consumer.conn)
            or self.audience.loners
        ):
            return None
        number = self._intake.number_flight(deposit, len(body), now)
        if number is None:
            return None
        if self._flights is None:
            self._flights = Flights(contents)
        self._flights.begin(number, Flight(count, consumer, deposit, body, now))
        whose = (deposit.source, deposit.incarnation, deposit.stream, deposit.first)
        how = (count, 0, deposit.priority, 0, now)
        return consumer.conn, Deliver(self.name, consumer.id, number, *whose, *how, published=deposit.published)

    def can_pass(self) -> bool:
        """Whether a consumer would take a message now, with nothing before it in memory, on its way or on disk.

        Not while one holds what was stored: it is slow, and the sender would wait until this one is stored as well.
        """
        free = not (self._intake.pending or self._contents.count or self.is_item)
        return free and self.is_handed_over() and self.audience.takes_anything()

    def passing(self) -> Instant | None:
        """When the oldest batch came that is passing, None when none is."""
        return next((batch.info.at for batch in self._intake.passing.values()), None)

    def unpass(self) -> list[StoredBatch]:
        """All passing batches in order; each goes to `store_passed`, in this order and in this turn."""
        return [batch.info for batch in self._intake.passing.values()]

    def store_passed(self, batch: StoredBatch, seq: int) -> list[Write]:
        """The operation at `seq` that stores a passing batch; it takes batch.count numbers.

        A consumer that holds it keeps it, and may settle it under its old number.
        """
        return self._intake.store_passed(batch, seq)

    # Consuming -------------------------------------------------------------------------------------------------
    def attach(self, conn: int, consumer: int, credit: int, now: Instant, terms: Terms = ANYTHING) -> None:
        """A consumer wants messages, or wants another credit."""
        self.audience.attach(conn, consumer, credit, terms)
        self._follow_selectors()

    def _follow_selectors(self) -> None:
        if self._selection is None and self.audience.selective:
            self._selection = Selection(self._contents.lanes)
        if self._selection is not None:
            self._selection.follow(self.audience.selectors)

    def detach(self, conn: int, consumer: int) -> list[Write]:
        """A consumer is gone: what it held goes back to its place."""
        self._land()
        found = self.audience.remove(conn, consumer)
        tally = Tally()
        if found is not None:
            for part in list(found.held):
                self._contents.give_back(part, 0, tally)
            self._follow_selectors()
        return self._flush(tally)

    def lose(self, conn: int) -> Returned:
        """A connection was lost, with all its consumers: perhaps what one of them held has killed its process.

        Of many messages nobody knows which; they are told apart when that happens again (`SUSPECT`). One that a reader
        held alone counts as delivered, and is condemned when that came too often, as if it had been given back.
        """
        self._land()
        tally = Tally()
        dead: list[StoredBatch] = []
        for found in [self.audience.remove(conn, consumer) for consumer in self.audience.of_conn(conn)]:
            assert found is not None
            alone = found.alone and found.unsettled == 1
            parts = [part for part in found.held if part.state == HELD]
            self._remember(found, [_span(part) for part in parts], alone=alone)
            for part in list(found.held):
                counted = alone and part.state == HELD
                self._contents.give_back(part, max(2, self.config.deliveries_max) if counted else 0, tally)
                part.losses += not alone
                if part.state == DEAD:
                    dead.append(part.batch.piece(part.start, part.stop))
        self._follow_selectors()
        return Returned(self._flush(tally), dead, tally.pieces)

    def _remember(self, reader: Consumer, spans: list[Span], *, alone: bool) -> None:
        whose = (reader.terms.client, reader.id)
        lost = self._lost = self._lost or {}
        lost.pop(whose, None)
        if spans:
            lost[whose] = (spans, alone)
        if len(lost) > LOST_READERS_MAX:
            del lost[next(iter(lost))]

    def knows(self, client: tuple[str, int], consumer: int) -> bool:
        """Whether this reader was lost with messages."""
        return self._lost is not None and (client, consumer) in self._lost

    def forgive(self, client: tuple[str, int], consumer: int, *, again: bool) -> list[Write]:
        """A reader that was lost is back. If its process lives (`again`), nothing that it held has killed it."""
        spans, alone = self._lost.pop((client, consumer), ([], False)) if self._lost else ([], False)
        tally = Tally()
        for part in [part for span in spans if again for part in self._contents.select(*span, OPEN | LOCKED)]:
            part.losses = max(0, part.losses - (not alone))
            if alone and part.deliveries:
                part.deliveries -= 1
                tally.touched[part.batch.rank] = part.batch
        return self._flush(tally)

    def consumers(self) -> list[tuple[int, int]]:
        """(conn, consumer) of all, in the order they attached."""
        return self.audience.names()

    def pump(self, now: Instant, clogged: Callable[[int], bool], sight: Sight | None = None) -> list[Handed]:
        """Everything deliverable now, in order: connection, head, body; with selectors as far as `sight` goes."""
        contents = self._contents
        if contents.delays is not None:
            contents.release(now)
        if self.audience.loners:
            self.audience.release(now)
        # Several readers share what there is; one alone gets it in order.
        contents.barrier = contents.orphan(self._locks()) if contents.orphaned and len(self.audience) == 1 else None
        if self._selection is not None and self.audience.selective:
            whom = (self.name, contents, self.audience, self._selection)
            return pump_selected(*whom, sight=sight or Sight(), now=now, clogged=clogged)
        if contents.lanes.count == 0:
            return []
        way = pump if self.audience.sole is None else pump_sole
        return way(self.name, contents, self.audience, now, clogged)

    def hand_over(self, now: Instant, bytes_max: int) -> list[StoredBatch]:
        """As `pump`, for the owner of an item itself: batches in the order of their numbers, up to so many bytes."""
        own = self.audience.sole
        return [] if own is None else hand_over(self._contents, own, now, bytes_max)

    def is_handed_over(self) -> bool:
        """Whether `hand_over` has left nothing behind, in memory or on disk."""
        return self._contents.lanes.count == 0 and not self._contents.is_paged

    def bound(self, bytes_max: int) -> None:
        """Keep no more than so many bytes, stored or in memory."""
        self._intake.stored_bytes_max = min(bytes_max, self.config.stored_bytes_max)
        self._intake.volatile_bytes_max = min(bytes_max, self.config.volatile_bytes_max)

    def oldest(self, size: int, *, stored: bool) -> list[Span]:
        """The numbers of the oldest messages that are at least so many bytes, for who would rather have newer ones."""
        self._land()
        return (self._contents.stored if stored else self._contents.volatile).oldest(size)

    def settle(self, conn: int, consumer: int, spans: Sequence[Span], now: Instant) -> Settlement:
        """An application is done with messages, whether it still holds them here or held them before a failure.

        Numbers that are unknown or settled are ignored, those condemned or locked by a transaction as well, by name.
        """
        if self._flights is not None and self._flights.all:
            spans = disjoint(spans)
            if (ended := self._flights.settle(spans)) is not None:
                return Settlement([], [flight.piece(number) for number, flight in ended])
        elif len(spans) == 1 and not self._intake.passing:
            settled = self._contents.settle_batch(*spans[0])
            if settled is not None:
                return settled
        return self._settle(disjoint(spans), OPEN)

    def settle_numbers(self, spans: Sequence[Span]) -> Settlement:
        """The dead-letter mailbox has these condemned messages."""
        return self._settle(disjoint(spans), DEAD)

    def _settle(self, spans: Sequence[Span], mask: int) -> Settlement:
        self._land()
        tally = Tally()
        dead, locked = self._contents.beyond(spans, locks=self.in_doubt) if mask == OPEN else ((), ())
        self._contents.settle(spans, mask, tally)
        return Settlement(self._flush(tally), tally.pieces, dead, locked)

    def give_back(self, conn: int, consumer: int, spans: Sequence[Span], now: Instant) -> Returned:
        """A consumer does not want messages it holds: to their place again, or condemned when that came too often."""
        self._land()
        found = self.audience.find(conn, consumer)
        tally = Tally()
        dead: list[StoredBatch] = []
        if found is not None:
            for first, last in disjoint(spans):
                for part in self._contents.select(first, last, HELD | LOCKED):
                    if part.holder is found:
                        self._contents.give_back(part, self.config.deliveries_max, tally)
                        if part.state == DEAD:
                            dead.append(part.batch.piece(part.start, part.stop))
        return Returned(self._flush(tally), dead, tally.pieces)

    def condemned(self) -> list[StoredBatch]:
        """All messages in memory that wait for the dead-letter mailbox."""
        if not self._contents.any_condemned:
            return []
        batches = [batch for shelf in (self._contents.stored, self._contents.volatile) for batch in shelf.batches()]
        return [batch.piece(part.start, part.stop) for batch in batches for part in batch.parts if part.state == DEAD]

    def condemned_among(self, first: int, last: int) -> Iterator[StoredBatch]:
        """Those of these numbers, one by one: a piece of a batch is a copy."""
        for part in self._contents.select(first, last, DEAD):
            yield part.batch.piece(part.start, part.stop)

    def _flush(self, tally: Tally) -> list[Write]:
        writes = self._contents.flush(tally)
        if self._intake.passing:
            self._intake.passed(list(tally.touched.values()))
        return writes

    # Time and looking ------------------------------------------------------------------------------------------
    def expire(self, now: Instant) -> Expired:
        """Settle what waits and has outlived its time. May answer only writes: rows to be tidied."""
        tally = Tally()
        self._contents.expire(now, tally)
        return Expired(self._flush(tally), tally.pieces)

    @property
    def timed(self) -> bool:
        """Whether anything here waits for time to pass."""
        behind = self._selection is not None and self._selection.is_behind
        return behind or bool(self._intake.passing or self.audience.loners) or self._contents.timed

    def next_expiry(self) -> Instant | None:
        """When to call `expire`; 0 is at once."""
        return self._contents.next_expiry()

    def next_delivery(self) -> Instant | None:
        """When to call `pump` although nothing else happens: something delayed is ready, a reader has had its message
        alone for long, or not all was looked at."""
        if self._selection is not None and self._selection.is_behind:
            return 0
        dues = (self._contents.next_delivery(), self.audience.next_release())
        return min((due for due in dues if due is not None), default=None)

    def next_sweep(self) -> Instant | None:
        """When to look for what has expired on disk."""
        return None if self._contents.behind is None else self.sweeper.due()

    def empty(self) -> bool:
        """Whether no message is stored, held, on its way or in doubt. What was seen does not count."""
        self._land()
        contents = self._contents
        messages = contents.stored or contents.volatile or self._intake.pending or contents.is_paged
        return not (messages or self.in_doubt)

    def figures(self, clogged: Callable[[int], bool]) -> Figures:
        """How much is in the way."""
        return figures_of(self.name, self._contents, self._intake, self.audience, clogged)

    def statistics(self) -> Statistics:
        """How much there is."""
        self._land()
        starved = self._contents.is_paged and self._is_starved() and self._is_overgrown()
        whom = (self._contents, self._intake, self.audience)
        prepared = 0 if self._participant is None else len(self._participant)
        return statistics_of(*whom, prepared=prepared, starved=starved)


def _span(part: BatchPart) -> Span:
    """The numbers of a part."""
    seq = part.batch.info.seq
    return seq + part.start, seq + part.stop - 1


def _cost(row: Row) -> int:
    """What a batch will cost in memory."""
    return len(row.value) + BATCH_OVERHEAD_BYTES
