"""Finding what has expired on disk, so that nobody counts for ever what nobody will get (ADR 0005).

Owns: what is swept away, and what that leaves to be counted. Must not know: when there is time for it, loads.

One page of one stretch at a time, and only of stretches where something is due. What a transaction has locked or what
is condemned stays, as it would in memory, and is looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence

from causeway.core.mail.answers import Expired, piece_of
from causeway.core.mail.batches import DONE, READY, Batch
from causeway.core.mail.browser import Browser
from causeway.core.mail.contents import Contents
from causeway.core.mail.intake import Intake
from causeway.core.mail.rows import BATCH, batch_key, mark_key, number_of
from causeway.core.mail.stretches import Ever, Stretch
from causeway.store.base import Delete, Row, Write
from causeway.types import MILLISECOND, SECOND, Instant, Span

SWEEP_PAUSE = 200 * MILLISECOND
"""Between two pages of one mailbox: some megabytes a second, whatever lies there."""

SWEEP_AGAIN = 10 * SECOND
"""A stretch is not read again before that, however many of its messages expire one after the other."""


class Sweeper:
    """Sweeps one mailbox."""

    __slots__ = ("_browser", "_contents", "_group", "_intake", "_not_before", "_reading")

    def __init__(self, group: bytes, contents: Contents, intake: Intake, browser: Browser) -> None:
        self._group = group
        self._contents = contents
        self._intake = intake
        self._browser = browser
        self._reading: Stretch | None = None
        self._not_before: Instant = 0

    def due(self) -> Instant | None:
        """When to begin, None when nothing on disk expires."""
        due = self._contents.backlog.stretches.due
        return None if due is None else max(due, self._not_before)

    def begin(self, now: Instant) -> int | None:
        """The number from which on a page is to be loaded (with `Browser.look`), None when nothing is due."""
        backlog = self._contents.backlog
        stretch = backlog.stretches.take(now, backlog.start)
        if stretch is None:
            return None
        self._reading = stretch
        return max(stretch.start, backlog.start)

    def skip(self, now: Instant) -> None:
        """The page came at a time when nothing can be written: later, then."""
        self._browser.skip()
        stretch = self._end(now)
        self._contents.backlog.stretches.put(stretch)

    def page(self, rows: Sequence[Row], next: bytes | None, now: Instant) -> Expired:  # noqa: A002
        """Settle what is due in a page; `next` is where it ended, None at the end of all rows."""
        backlog, stretch = self._contents.backlog, self._end(now)
        read = backlog.looked()
        stop = min(stretch.stop, read.stop)
        if stretch.unread is not None:
            stop = min(stop, self._intake.fresh_from)
        more = next is not None and next[:1] == BATCH and number_of(next) < stop
        end = number_of(next) if more and next is not None else stop
        batches = [batch for batch in self._browser.on_disk(read, rows) if batch.info.seq < end]
        unread = None
        if stretch.unread is not None:
            unread = self._count_missing(batches, stretch.unread, more=more)
        if more:
            backlog.stretches.put(Stretch(end, stretch.stop, stretch.due, unread=unread))
        dead: list[Batch] = []
        due: list[Instant] = []
        for batch in batches:
            if batch.info.has_expired(now) and self._is_free(batch):
                dead.append(batch)
            elif batch.info.expires:
                due.append(max(batch.info.expires, now + SWEEP_AGAIN))
        if due:
            backlog.stretches.put(Stretch(batches[0].info.seq, end, min(due)))
        return Expired(self._remove(dead), [piece_of(p) for batch in dead for p in batch.parts if p.state == READY])

    def _end(self, now: Instant) -> Stretch:
        stretch, self._reading = self._reading, None
        assert stretch is not None
        self._not_before = now + SWEEP_PAUSE
        return stretch

    def _count_missing(self, batches: Sequence[Batch], ever: tuple[Ever, Ever], *, more: bool) -> tuple[Ever, Ever]:
        """Rows know what was stored before them: what a former owner has swept shows as gaps. Answers what is left."""
        backlog = self._contents.backlog
        at = max(ever[0], backlog.passed)
        for batch in batches:
            info = batch.info
            backlog.void(info.count_before - at[0], info.bytes_before - at[1])
            at = (info.count_before + info.count, info.bytes_before + len(info.body))
        if not more:
            backlog.void(ever[1][0] - at[0], ever[1][1] - at[1])
        return at, ever[1]

    def _is_free(self, batch: Batch) -> bool:
        """Whether nobody has a claim on any of it, and its marks are about nothing else."""
        first, last = batch.info.seq, batch.info.seq + batch.count - 1
        if any(not part.state & (READY | DONE) for part in batch.parts):
            return False
        return all(mark.last <= last for mark in self._contents.backlog.marks_within(first, last))

    def _remove(self, batches: Sequence[Batch]) -> list[Write]:
        """The rows that go with batches on disk."""
        backlog = self._contents.backlog
        writes: list[Write] = []
        runs: list[Span] = []
        for batch in batches:
            info = batch.info
            backlog.gone(info.seq)
            backlog.void(info.count, len(info.body))
            stop = info.seq + info.count
            if backlog.forget(info.seq, stop - 1):
                writes.append(Delete(self._group, mark_key(info.seq), mark_key(stop)))
            # Rows with adjacent numbers go in one deletion: nothing can lie between them.
            if runs and runs[-1][1] == info.seq:
                runs[-1] = (runs[-1][0], stop)
            else:
                runs.append((info.seq, stop))
        return writes + [Delete(self._group, batch_key(start), batch_key(stop)) for start, stop in runs]
