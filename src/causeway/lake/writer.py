"""One writer of the lake: records in, segments out. Everything that takes time; `recorder` does it beside a broker.

Owns: the local order (`sequence`), what is not on disk yet, and when a segment is finished. A segment that cannot be
written is given up: its rows are missing in the sequence, and the next segment says how many. Must not know: threads.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa

from causeway.config import LAKE_EVERY
from causeway.lake.days import DAY, day_name
from causeway.lake.limits import SEGMENT_ROWS_MAX
from causeway.lake.meters import Meters
from causeway.lake.seal import digest_of, sealed
from causeway.lake.segments import SegmentFolder, WriterName
from causeway.lake.tables import events_batch, rows_batch
from causeway.limits import LAKE_BYTES_MAX
from causeway.trace import Step, TraceRecord
from causeway.types import SECOND, Duration, Instant

log: Final = logging.getLogger("causeway.lake")

CHUNK: Final = 500
"""Records turned into columns at once: meanwhile nobody else has the interpreter."""

_JOINED: Final = (int(Step.RECEIVED), int(Step.SETTLED))
_ABSURD: Final = (pa.ArrowException, OverflowError, TypeError, ValueError)


class LakeWriter:
    """What one life of a broker or application writes."""

    def __init__(
        self,
        lake: str | Path,
        writer: WriterName,
        *,
        bytes_max: int = LAKE_BYTES_MAX,
        every: Duration = LAKE_EVERY,
        rows_max: int = SEGMENT_ROWS_MAX,
        synced: bool = True,
        copies: int = 0,
    ) -> None:
        self.writer = writer
        self._copies = copies
        """How many a broker was told to keep."""
        self.folder = SegmentFolder(lake, writer, bytes_max, synced=synced)
        self._every = every
        self._rows_max = rows_max
        self._opened = False
        self._sequence = 0
        self._unsealed: tuple[int, int, int] | None = None
        """First and last of the records that no seal covers yet, and the sum of their digests."""
        self._newest: tuple[int, Instant] = (0, 0)
        """Day and time of the last of them."""
        self.latest: Instant = 0
        """When the last record was made."""
        self._meters = Meters()
        self._left_out = 0
        self._batches: dict[tuple[str, str], list[pa.RecordBatch]] = {}
        """By day and kind: what is not written yet."""
        self._rows = 0
        self._since: Instant | None = None
        """When the first of them came."""
        self._lost = 0
        self._lost_why = ""
        """Records that the lake does not have, since it last said so."""
        self.missing = 0
        """The same, ever."""
        self.failures = 0
        """Segments that could not be written."""

    def open(self) -> None:
        """Begin: remove what an earlier life has left unfinished. What fails now is tried again."""
        try:
            self._open()
        except OSError as error:
            self._failed(error, 0)

    def _open(self) -> None:
        self.folder.open()
        self._opened = True

    # Taking -----------------------------------------------------------------------------------------------------
    def take(self, records: Sequence[TraceRecord]) -> None:
        """Records in the order in which they came."""
        if self._lost and records:
            self._tell_lost(records[0].at)
        if self.writer.role == "application":
            records = joined(records)
        for at in range(0, len(records), CHUNK):
            self._take(records[at : at + CHUNK])
        if records:
            self.latest = records[-1].at
            self._since = records[0].at if self._since is None else self._since
        if self._rows >= self._rows_max:
            self.roll()

    def lose(self, count: int, why: str) -> None:
        """So many records came and went: the sequence goes on behind them."""
        self._sequence += count
        self._lost += count
        self._lost_why = why
        self.missing += count

    def _take(self, records: Sequence[TraceRecord]) -> None:
        # A clock may be set back over midnight: runs of a day keep the order in which records came.
        for day, run in itertools.groupby(records, lambda record: record.at // DAY):
            self._add(list(run), day)

    def _add(self, records: Sequence[TraceRecord], day: int) -> None:
        try:
            batch = events_batch(records, self.writer, self._sequence + 1)
        except _ABSURD as error:
            if len(records) > 1:  # one of them has a number that no column holds
                for record in records:
                    self._add([record], day)
            else:
                self.lose(1, f"absurd: {error}"[:200])
            return
        first, _, total = self._unsealed or (self._sequence + 1, 0, 0)
        total += digest_of(records, self.writer, self._sequence + 1)
        self._sequence += len(records)
        self._unsealed = (first, self._sequence, total)
        self._newest = (day, records[-1].at)
        self._keep(day_name(day), "events", batch)
        note = self._meters.note
        for record in records:
            note(record)

    def _tell_lost(self, at: Instant) -> None:
        count, self._lost = self._lost, 0
        self._add([self._own(at, Step.GAP, count, self._lost_why)], at // DAY)

    def _own(self, at: Instant, step: Step, count: int, note: str) -> TraceRecord:
        broker = self.writer.name if self.writer.role == "broker" else ""
        return TraceRecord(at, broker, step, "", 0, "", 0, 1, count, note)

    def _keep(self, day: str, kind: str, batch: pa.RecordBatch) -> None:
        self._batches.setdefault((day, kind), []).append(batch)
        self._rows += batch.num_rows

    # Writing ----------------------------------------------------------------------------------------------------
    def is_due(self, now: Instant) -> bool:
        """Whether what came is old enough to be written."""
        return self._since is not None and now - self._since >= self._every

    def roll(self, now: Instant | None = None) -> None:
        """Finish a segment of each kind; of seconds that are over, or of all that there are without `now`."""
        before = now // SECOND if now is not None else 1 << 62
        self._meter("telemetry", self._meters.telemetry(before))
        self._meter("latency", self._meters.latency(before))
        if self._meters.left_out > self._left_out:
            log.warning("lake: more names than one segment may have; %d counts are left out", self._meters.left_out)
            self._left_out = self._meters.left_out
        self._seal()
        batches, self._batches = self._batches, {}
        self._rows, self._since = 0, now if self._meters.pending else None
        for (day, kind), parts in batches.items():
            events = sum(_numbered(part) for part in parts) if kind == "events" else 0
            try:
                if not self._opened:
                    self._open()
                self.folder.write(pa.Table.from_batches(parts), day, kind)
            except (OSError, pa.ArrowException) as error:
                self._failed(error, events)

    def _seal(self) -> None:
        """Say of the records that are about to be written how many they are, and their digest."""
        if self._unsealed is None:
            return
        self._find_earlier()
        (first, last, total), self._unsealed = self._unsealed, None
        day, at = self._newest
        whose = {"before": self.folder.life_before, "copies": self._copies}
        self._keep(
            day_name(day),
            "events",
            events_batch([sealed(self.writer, at, (first, last), total, **whose)], self.writer, 0),
        )

    def _find_earlier(self) -> None:
        """The folder is opened before the first seal, which names the life before this one."""
        if not self._opened:
            with contextlib.suppress(OSError):
                self._open()

    def close(self, now: Instant) -> None:
        """The life ends in order."""
        if self._sequence:
            if self._lost:
                self._tell_lost(now)
            self._add([self._own(now, Step.ENDED, 1, "")], now // DAY)
            self.roll()
            self.folder.close()

    def _meter(self, kind: str, rows: Iterable[tuple[Any, ...]]) -> None:
        by_day: dict[int, list[tuple[Any, ...]]] = {}
        for row in rows:
            by_day.setdefault(row[0] * SECOND // DAY, []).append(row)
        for day, found in by_day.items():
            self._keep(day_name(day), kind, rows_batch(kind, found, self.writer))

    def _failed(self, error: Exception, events: int) -> None:
        self.failures += 1
        if self.failures == 1:
            log.error(
                "lake: %s %s could not write (%s); messages go on, the trace has a gap, and this is said once",
                self.writer.role,
                self.writer.name,
                error,
            )
        self._lost += events
        self._lost_why = f"not written: {error}"[:200]
        self.missing += events


def _numbered(batch: pa.RecordBatch) -> int:
    """Records of a batch that count: a seal does not."""
    return 0 if batch.column("sequence")[0].as_py() == 0 else batch.num_rows


def joined(records: Sequence[TraceRecord]) -> list[TraceRecord]:
    """The same with what an application took or settled one by one, without anything between, as one."""
    found: list[TraceRecord] = []
    for record in records:
        last = found[-1] if found else None
        if last is not None and record.step in _JOINED and _follows(last, record):
            found[-1] = msgspec.structs.replace(last, last=record.last, bytes=last.bytes + record.bytes)
        else:
            found.append(record)
    return found


def _follows(last: TraceRecord, record: TraceRecord) -> bool:
    return (
        record.step == last.step
        and record.first == last.last + 1
        and record.mailbox == last.mailbox
        and record.source == last.source
        and record.dest == last.dest
        and record.stream == last.stream
        and record.incarnation == last.incarnation
        and record.topic == last.topic
        and record.service == last.service
        and record.note == last.note
    )
