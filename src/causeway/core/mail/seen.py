"""Which ids were admitted: exact sets per stream, and their bounds per source and per mailbox.

Owns: duplicate suppression (PBM section 2.4, corrected: it never asks whether the mailbox is empty).
Must not know: batches, consumers, rows of anything else.

Forgetting is always on the safe side: a forgotten id may be admitted again (the application suppresses it by id),
an id of an unordered stream that was never admitted is never taken for a duplicate. When a stream may be forgotten, and
what that means for exactly once: ADR 0006.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

from causeway.core.mail.rows import SeenRow, seen_key, stream_of
from causeway.limits import (
    SEEN_FORGOTTEN_MAX,
    SEEN_INCARNATIONS_MAX,
    SEEN_RANGES_MAX,
    SEEN_SECONDS_MIN,
    SEEN_SECONDS_MIN_CROWDED,
    SEEN_STREAMS_MAX,
)
from causeway.ranges import IdSet
from causeway.types import SECOND, Instant, ServiceClass, Span

ORDERED = int(ServiceClass.TRANSACTIONAL)
STREAM_COUNT = len(ServiceClass)
FORGET_PAUSE = 1 * SECOND
"""After a look for streams to forget that found none: the next look costs as much."""


class AdmittedStream:
    """One (source, incarnation, stream): what was admitted of it, and what of that is not safe yet."""

    __slots__ = ("ids", "incarnation", "key", "last", "source", "stream", "timed", "unsafe", "used", "written")

    def __init__(self, source: str, incarnation: int, stream: int) -> None:
        self.source = source
        self.incarnation = incarnation
        self.stream = stream
        self.key = seen_key(source, incarnation, stream)
        self.ids = IdSet()
        self.used: Instant = 0
        self.last = -1
        """Number of its last message in the mailbox."""
        self.timed = False
        """Whether messages with a time to live were stored."""
        self.written = False
        """Whether it has a row."""
        self.unsafe = 0
        """How many of its batches are on their way to the copies, or passing."""

    def missing(self, first: int, last: int) -> list[Span]:
        """The runs of first..last that would be new."""
        return self.ids.missing(first, last)

    def admit(self, first: int, last: int) -> None:
        """Take ids in; of an ordered stream, everything up to them."""
        ids = self.ids
        if ids.add(1 if self.stream == ORDERED else first, last) and len(ids) > SEEN_RANGES_MAX:
            ids.forget_lowest(SEEN_RANGES_MAX)

    def row(self, now: Instant, ever: tuple[int, int]) -> SeenRow:
        """What is to be written; `ever` counts what the mailbox has stored."""
        self.used = now
        self.written = True
        return SeenRow(self.ids.spans(), now, self.last, ever[0], ever[1], self.timed)

    def safe_row(self, ever: tuple[int, int], passing: list[Span]) -> SeenRow:
        """As `row`, without ids that are still passing: they would be lost with their owner's memory."""
        self.written = True
        spans = self._without(passing) if passing else self.ids.spans()
        return SeenRow(spans, self.used, self.last, ever[0], ever[1], self.timed)

    def _without(self, passing: list[Span]) -> list[Span]:
        if self.stream == ORDERED:
            # Whatever lies below the highest id counts as seen: stop below the first one that is not safe.
            safe = min(self.ids.high, min(passing)[0] - 1)
            return [(1, safe)] if safe else []
        safe_ids = IdSet(self.ids.spans())
        for first, last in passing:
            safe_ids.remove(first, last)
        return safe_ids.spans()


class Seen:
    """All streams of one mailbox."""

    __slots__ = ("_crowded_until", "_sources", "_streams", "_sweep_at", "latest")

    def __init__(self) -> None:
        self._sweep_at = SEEN_FORGOTTEN_MAX
        """With so many streams it is worth looking for some that may be forgotten."""
        self._crowded_until: tuple[Instant, Instant] = (0, 0)
        """When to look for room again, without rows and with."""
        self._streams: dict[tuple[str, int, int], AdmittedStream] = {}
        self._sources: dict[str, dict[int, None]] | None = None
        """Incarnations per source, least recently used first; kept once there are enough streams for a bound."""
        self.latest: AdmittedStream | None = None
        """The most recently used."""

    def find(self, source: str, incarnation: int, stream: int) -> AdmittedStream | None:
        """The stream, if anything of it was seen."""
        latest = self.latest
        if (
            latest is not None
            and latest.incarnation == incarnation
            and latest.stream == stream
            and latest.source == source
        ):
            return latest
        return self._streams.get((source, incarnation, stream))

    def use(self, source: str, incarnation: int, stream: int) -> tuple[AdmittedStream, bool]:
        """The stream, made the most recently used, and whether its incarnation is new here."""
        found, new = self._streams.get((source, incarnation, stream)), False
        if found is None:
            new = not self._knows(source, incarnation)
            found = self._streams[source, incarnation, stream] = AdmittedStream(source, incarnation, stream)
        self.latest = found
        if self._sources is not None:
            _touch(self._sources, source, incarnation)
        elif len(self._streams) > SEEN_INCARNATIONS_MAX:
            self._sources = {}
            for one in sorted(self._streams.values(), key=_used):
                _touch(self._sources, one.source, one.incarnation)
            _touch(self._sources, source, incarnation)
        return found, new

    def _knows(self, source: str, incarnation: int) -> bool:
        """Whether any stream of an incarnation was seen."""
        return any((source, incarnation, stream) in self._streams for stream in range(STREAM_COUNT))

    def forget(self, source: str, busy: Callable[[AdmittedStream], bool]) -> list[bytes]:
        """Drop the least recently used incarnations of a source over the bound, but none that is busy.

        Returns the keys of the rows that go with them.
        """
        incarnations = self._sources[source] if self._sources is not None else {}
        excess = len(incarnations) - SEEN_INCARNATIONS_MAX
        keys: list[bytes] = []
        if excess <= 0:
            return keys
        newest = next(reversed(incarnations))
        for incarnation in list(incarnations):
            if excess <= 0 or incarnation == newest:
                break
            names = [(source, incarnation, stream) for stream in range(STREAM_COUNT)]
            streams = [self._streams[name] for name in names if name in self._streams]
            if any(busy(stream) for stream in streams):
                continue
            keys += [stream.key for stream in streams if stream.written]
            for name in names:
                self._streams.pop(name, None)
            del incarnations[incarnation]
            excess -= 1
        return keys

    def is_crowded(self, now: Instant, *, rows: bool) -> bool:
        """Whether a stream that is not known must not begin now; `rows` as for `make_room`."""
        return len(self._streams) >= SEEN_STREAMS_MAX and now < self._crowded_until[rows]

    def make_room(self, now: Instant, heir: AdmittedStream, *, rows: bool) -> list[bytes]:
        """Forget streams that were not used for long, when there are many; without `rows` only such as have no row.

        Returns the keys of the rows that go with them; `heir`, in use now, takes over what they say of the mailbox.
        It looks again when there are twice as many, or after a pause.
        """
        count = len(self._streams)
        if count < self._sweep_at or now < self._crowded_until[rows]:
            return []
        crowded = count >= SEEN_STREAMS_MAX
        before = now - (SEEN_SECONDS_MIN_CROWDED if crowded else SEEN_SECONDS_MIN) * SECOND
        old = (s for s in self._streams.values() if s.used <= before and not s.unsafe)
        idle = (s for s in old if rows or not s.written)
        forgotten = heapq.nsmallest(SEEN_FORGOTTEN_MAX, idle, key=_used)
        for stream in forgotten:
            self._drop(stream)
            heir.timed = heir.timed or stream.timed
        count -= len(forgotten)
        self._sweep_at = min(SEEN_STREAMS_MAX, max(SEEN_FORGOTTEN_MAX, 2 * count))
        if count >= SEEN_STREAMS_MAX:
            without, with_rows = self._crowded_until
            self._crowded_until = (without, now + FORGET_PAUSE) if rows else (now + FORGET_PAUSE, with_rows)
        return [stream.key for stream in forgotten if stream.written]

    def _drop(self, stream: AdmittedStream) -> None:
        source, incarnation = stream.source, stream.incarnation
        del self._streams[source, incarnation, stream.stream]
        if self._sources is None or self._knows(source, incarnation):
            return
        incarnations = self._sources[source]
        del incarnations[incarnation]
        if not incarnations:
            del self._sources[source]

    def restore(self, rows: Iterable[tuple[bytes, SeenRow]]) -> None:
        """Rebuild from the rows of the group."""
        for key, row in sorted(rows, key=lambda item: (item[1].used, item[0])):
            stream, _ = self.use(*stream_of(key))
            stream.ids = IdSet(row.spans)
            stream.used, stream.last, stream.written, stream.timed = row.used, row.last, True, row.timed


def _used(stream: AdmittedStream) -> Instant:
    return stream.used


def _touch(sources: dict[str, dict[int, None]], source: str, incarnation: int) -> None:
    """Make an incarnation the most recently used of its source."""
    incarnations = sources.setdefault(source, {})
    incarnations.pop(incarnation, None)
    incarnations[incarnation] = None
