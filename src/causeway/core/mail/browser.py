"""Looking into a mailbox without taking anything: by number, from memory, and from rows that lie only on disk.

Owns: what is shown, and where on disk it goes on. Must not know: who looks, and how rows are loaded.

Numbers in memory and on disk form one sequence: stored messages in the window, those behind it, those in memory only.
Nothing is shown before what comes before it, so whoever asks on from the last number misses nothing and sees nothing
twice. A page that was loaded for a look is shown as things stand when it arrives, not as they stood when it was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from causeway.core.mail.backlog import Read
from causeway.core.mail.batches import DELAYED, DONE, READY, Batch
from causeway.core.mail.contents import Contents
from causeway.core.mail.intake import Intake
from causeway.core.mail.reading import read_batch
from causeway.core.mail.rows import BATCH, StoredBatch, number_of
from causeway.limits import BATCH_COUNT_MAX, ID_MAX
from causeway.store.base import Row
from causeway.types import Instant, Span

SEARCH_STEP = 16
"""So far below a number its batch is looked for first, and so many times farther each time it is not found: a batch of
few large messages is near, one of many has small messages, and a page holds all of them."""


class BrowseRange(NamedTuple):
    """Up to `limit` messages with numbers above `after`."""

    after: int
    limit: int
    row: int = -1
    """The number of the batch that holds the first of them, or -1: a batch on disk is found by its own number only."""

    def behind(self, row: int) -> BrowseRange:
        """The same, when nothing below the batch `row` is to be shown."""
        return self._replace(after=max(self.after, row - 1), row=row)


class Shown(NamedTuple):
    """Consecutive messages of one batch."""

    piece: StoredBatch
    deliveries: int
    row: int
    """`BrowseRange.row` for what comes next."""
    batch: int
    """The number of the batch."""
    before: int
    """How many messages were stored before them, ever; -1 in memory only."""


class Glance(NamedTuple):
    """What a look found, in order."""

    shown: list[Shown]
    hidden: int | None
    """Behind it more may lie on disk, from this number on; None: there is nothing."""


class Browser:
    """Looks into one mailbox."""

    __slots__ = ("_contents", "_intake", "_locks")

    def __init__(self, contents: Contents, intake: Intake, locks: Callable[[], list[Span]]) -> None:
        self._contents = contents
        self._intake = intake
        self._locks = locks
        """All numbers that transactions have locked."""

    @property
    def extent(self) -> tuple[int, int]:
        """The number above all stored messages that can be seen, and how many were stored below it, ever."""
        return self._intake.extent

    def browse(self, question: BrowseRange, now: Instant) -> Glance:
        """What memory can answer; when it shows nothing and something is `hidden`, a page is to be loaded there."""
        backlog = self._contents.backlog
        hidden = backlog.hidden_above(question.after)
        if hidden is None:
            return Glance(_shown(self._in_memory(question.after + 1, ID_MAX), question, now), None)
        shown = _shown(self._in_memory(question.after + 1, backlog.start - 1), question, now)
        # The batch may begin below the number asked for; without a hint it is looked for, nearby first.
        hinted = max(0, _longest(question)) <= question.row <= hidden
        return Glance(shown, max(question.row if hinted else hidden - SEARCH_STEP, backlog.start))

    def look(self, first: int) -> bytes:
        """A page is to be loaded from this number on, for `page`: its start. One at a time."""
        return self._contents.backlog.look(first, self._intake.uncommitted)

    def page(self, question: BrowseRange, rows: Sequence[Row], next: bytes | None, now: Instant) -> Glance:  # noqa: A002
        """The page is there; `next` is where it ended, None at the end of all rows."""
        contents = self._contents
        read = contents.backlog.looked()
        more = next is not None and next[:1] == BATCH and number_of(next) < read.stop
        stop = number_of(next) if more and next is not None else read.stop
        wider = self._search(question, read, rows)
        if wider is not None:
            return Glance([], wider)
        batches = {batch.info.seq: batch for batch in self.on_disk(read, rows)}
        batches.update((batch.info.seq, batch) for batch in self._in_memory(question.after + 1, stop - 1))
        shown = _shown((batches[number] for number in sorted(batches)), question, now)
        if more or (contents.backlog.is_open and contents.backlog.last >= stop):
            return Glance(shown, stop)
        rest = question._replace(
            after=max(question.after, stop - 1), limit=question.limit - sum(one.piece.count for one in shown)
        )
        return Glance(shown + _shown(self._in_memory(rest.after + 1, ID_MAX), rest, now), None)

    def _search(self, question: BrowseRange, read: Read, rows: Sequence[Row]) -> int | None:
        """Where to look again when no batch of a page begins at or below the number asked for; None: it was found."""
        wanted, first = question.after + 1, max(_longest(question), self._contents.backlog.start)
        found = next((number_of(row.key) for row in rows if row.key[:1] == BATCH), ID_MAX)
        if found <= wanted or not first < read.first < wanted:
            return None
        return max(first, wanted - (wanted - read.first) * SEARCH_STEP)

    def skip(self) -> None:
        """The page is there, and nobody wants it any more."""
        self._contents.backlog.looked()

    def _in_memory(self, first: int, last: int) -> Iterator[Batch]:
        """All batches in memory with messages of first..last, by number."""
        for shelf in (self._contents.stored, self._contents.volatile):
            for number, batch in shelf.covering(first, last):
                # What was passing and is on its way to the copies has a number, but not yet its place.
                if number == batch.info.seq and batch.safe:
                    yield batch

    def on_disk(self, read: Read, rows: Sequence[Row]) -> Iterator[Batch]:
        """The batches of a page that are not in memory, each in the state it would have there."""
        contents = self._contents
        marks, locks = contents.backlog.marks(), self._locks()
        for row in rows:
            number = number_of(row.key)
            if row.key[:1] == BATCH and not read.ignores(number) and contents.backlog.holds(number):
                info = read_batch(row) if contents.stored.get(number) is None else None
                if info is not None:
                    batch = Batch(info, stored=True)
                    batch.apply(marks.of(number, number + batch.count - 1))
                    batch.lock(locks)
                    yield batch


def _longest(question: BrowseRange) -> int:
    """Where the batch of the number asked for begins if it is as long as can be."""
    return question.after + 2 - BATCH_COUNT_MAX


def _shown(batches: Iterable[Batch], question: BrowseRange, now: Instant) -> list[Shown]:
    """What may be seen of these batches: all that is not settled, whether it waits or somebody has it."""
    found: list[Shown] = []
    left = question.limit
    for batch in batches:
        seq = batch.info.seq
        hidden = DONE | (READY | DELAYED if batch.info.has_expired(now) else 0)
        for part in batch.parts:
            start = max(part.start, question.after + 1 - seq)
            stop = min(part.stop, start + left)
            if start < stop and not part.state & hidden:
                left -= stop - start
                row = seq if stop < batch.count else seq + batch.count
                before = batch.info.count_before + start if batch.stored else -1
                found.append(Shown(batch.piece(start, stop), part.deliveries, row, seq, before))
        if left <= 0:
            break
    return found
