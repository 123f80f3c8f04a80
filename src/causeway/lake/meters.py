"""What one writer's records add up to: messages per name and second, and how long steps took.

Only steps of the same writer are held against each other: one clock. Owns: counts and sketches of the seconds that are
not written yet. Must not know: files.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Final

from causeway.lake.limits import METERED_ROWS_MAX, TRACKED_MAX
from causeway.lake.runs import IdRun, Runs
from causeway.lake.sketch import number_of
from causeway.topics import is_item
from causeway.trace import Step, TraceRecord
from causeway.types import SECOND, ServiceClass

_EXPRESS: Final = int(ServiceClass.EXPRESS)

TelemetryRow = tuple[int, str, str, int, int, int, int, int, int]
LatencyRow = tuple[int, str, int, str, list[int], list[int]]
Name = tuple[str, str, int]
"""Topic or mailbox, item, class."""


class Meters:
    """Counts and sketches of one writer."""

    def __init__(self, *, rows_max: int = METERED_ROWS_MAX, tracked_max: int = TRACKED_MAX) -> None:
        self._rows_max = rows_max
        self._counts: dict[tuple[int, Name], list[int]] = {}
        """By second and name: messages and bytes in, messages and bytes out, depth."""
        self._depths: dict[Name, int] = {}
        """Messages that wait, by name: no more names than there are runs that wait."""
        self._sketches: dict[tuple[int, str, int, str], dict[int, int]] = {}
        self._waiting = Runs(tracked_max)
        self.left_out = 0
        """Records for whose rows there was no room."""
        self._steps: dict[int, Callable[[TraceRecord], None]] = {
            Step.SENT: self._begin,
            Step.HELD: self._begin,
            Step.RECEIVED: self._begin,
            Step.ACKNOWLEDGED: self._acknowledged,
            Step.RELEASED: self._released,
            Step.TAKEN: self._arrived,
            Step.STORED: self._arrived,
            Step.DELIVERED: self._delivered,
            Step.SETTLED: self._ended,
            Step.EXPIRED: self._ended,
            Step.DEAD: self._ended,
        }

    def note(self, record: TraceRecord) -> None:
        """One more record."""
        step = self._steps.get(record.step)
        if step is not None:
            step(record)

    @property
    def pending(self) -> bool:
        """Whether there are rows to come."""
        return bool(self._counts or self._sketches)

    def telemetry(self, before: int) -> Iterator[TelemetryRow]:
        """Rows of all seconds before this one, once."""
        for key in [key for key in self._counts if key[0] < before]:
            messages_in, bytes_in, messages_out, bytes_out, depth = self._counts.pop(key)
            second, (name, item, service) = key
            yield second, name, item, service, messages_in, bytes_in, messages_out, bytes_out, depth

    def latency(self, before: int) -> Iterator[LatencyRow]:
        """Rows of all seconds before this one, once."""
        for key in [key for key in self._sketches if key[0] < before]:
            sketch = self._sketches.pop(key)
            numbers = sorted(sketch)
            yield *key, numbers, [sketch[number] for number in numbers]

    # Steps ------------------------------------------------------------------------------------------------------
    def _begin(self, r: TraceRecord) -> None:
        if r.step != Step.SENT or r.reliable:  # nobody hears of what is not answered
            self._wait(_stream(r, r.step), IdRun(r.first, r.last, r.at))

    def _acknowledged(self, r: TraceRecord) -> None:
        for run in self._waiting.take(_stream(r, Step.SENT), r.first, r.last):
            self._took(r, "stored" if r.broker else "acknowledged", _length(run), r.at - run.at)

    def _released(self, r: TraceRecord) -> None:
        for run in self._waiting.take(_stream(r, Step.HELD), r.first, r.last):
            self._took(r, "held", _length(run), r.at - run.at)

    def _arrived(self, r: TraceRecord) -> None:
        """In memory, or stored; what is stored after it was in memory is there already."""
        stream, name, following = _stream(r, Step.STORED), _name_of(r), r.first
        fresh: list[IdRun] = []
        for run in sorted(self._waiting.take(stream, r.first, r.last)):
            self._wait(stream, run)
            if following < run.first:
                fresh.append(IdRun(following, run.first - 1, r.at, counted=name))
            following = run.last + 1
        if following <= r.last:
            fresh.append(IdRun(following, r.last, r.at, counted=name))
        count = sum(map(_length, fresh))
        if count:
            self._count(r.at, name, (count, r.bytes * count // (r.last - r.first + 1), 0, 0), count)
        for run in fresh:
            self._wait(stream, run)

    def _delivered(self, r: TraceRecord) -> None:
        stream, count = _stream(r, Step.STORED), r.last - r.first + 1
        known = self._waiting.take(stream, r.first, r.last)
        for run in known:
            self._took(r, "delivered", _length(run), r.at - run.at)
            self._wait(stream, run._replace(handed=r.at))
        box = (r.mailbox, "", r.service)
        # Express goes to its reader as it comes, and is nowhere before.
        relayed = count if not known and r.service == _EXPRESS else 0
        self._count(r.at, box, (relayed, r.bytes if relayed else 0, count, r.bytes), relayed)
        if relayed:
            self._wait(stream, IdRun(r.first, r.last, r.at, r.at, counted=box))
        if r.topic:
            self._count(r.at, (r.topic, r.dest, r.service), (0, 0, count, r.bytes), 0)

    def _ended(self, r: TraceRecord) -> None:
        if not r.broker:
            for run in self._waiting.take(_stream(r, Step.RECEIVED), r.first, r.last):
                self._took(r, "settled", _length(run), r.at - run.at)
            return
        for run in self._waiting.take(_stream(r, Step.STORED), r.first, r.last):
            if run.handed and r.step == Step.SETTLED:
                self._took(r, "settled", _length(run), r.at - run.handed)
            self._count(r.at, run.counted or _name_of(r), (0, 0, 0, 0), -_length(run))

    # Counting ---------------------------------------------------------------------------------------------------
    def _wait(self, stream: Hashable, run: IdRun) -> None:
        """What is forgotten for it waits no longer, as far as anybody knows."""
        for forgotten in self._waiting.put(stream, run):
            if forgotten.counted is not None:
                self._deepen(forgotten.counted, -_length(forgotten))

    def _deepen(self, name: Name, more: int) -> int:
        depth = self._depths.get(name, 0) + more
        if depth > 0:
            self._depths[name] = depth
        else:
            self._depths.pop(name, None)
        return depth

    def _count(self, at: int, name: Name, more: tuple[int, int, int, int], deeper: int) -> None:
        depth = self._deepen(name, deeper)
        key = (at // SECOND, name)
        counts = self._counts.get(key)
        if counts is None:
            if len(self._counts) >= self._rows_max:
                self.left_out += 1
                return
            counts = self._counts[key] = [0, 0, 0, 0, 0]
        for place, value in enumerate(more):
            counts[place] += value
        counts[4] = depth

    def _took(self, r: TraceRecord, hop: str, count: int, duration: int) -> None:
        key = (r.at // SECOND, r.topic or r.mailbox, r.service, hop)
        sketch = self._sketches.get(key)
        if sketch is None:
            if len(self._sketches) >= self._rows_max:
                self.left_out += 1
                return
            sketch = self._sketches[key] = {}
        number = number_of(duration)
        sketch[number] = sketch.get(number, 0) + count


def _length(run: IdRun) -> int:
    return run.last - run.first + 1


def _stream(r: TraceRecord, step: int) -> Hashable:
    """Where ids count that began to wait with a step: the same message is in many mailboxes, but sent once."""
    where = r.seat if step == Step.HELD else "" if step == Step.SENT else r.mailbox
    return step, where, r.source, r.incarnation, r.dest, r.stream


def _name_of(r: TraceRecord) -> Name:
    """What a message in a mailbox counts for: at an item its topic, else the mailbox."""
    if r.topic and is_item(r.mailbox):
        return r.topic, r.mailbox, r.service
    return r.mailbox, "", r.service
