"""A writer of the lake beside a broker or an application: a bounded buffer, and a thread that empties it.

Whoever records only appends. When the buffer is full, because the disk or the processor is, records are dropped and
counted: messages come first, and the lake says that it has a gap. Owns: the thread and the buffer. Must not know: rows.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from causeway.config import LAKE_EVERY
from causeway.lake.limits import BUFFER_RECORDS_MAX, CLOSE_SECONDS_MAX, WRITE_SECONDS
from causeway.lake.segments import WriterName
from causeway.lake.writer import CHUNK, LakeWriter
from causeway.limits import LAKE_BYTES_MAX
from causeway.trace import TraceRecord
from causeway.types import Duration, Instant

log: Final = logging.getLogger("causeway.lake")


class Recorder:
    """Records of one life."""

    def __init__(
        self,
        lake: str | Path,
        writer: WriterName,
        clock: Callable[[], Instant],
        *,
        bytes_max: int = LAKE_BYTES_MAX,
        every: Duration = LAKE_EVERY,
        records_max: int = BUFFER_RECORDS_MAX,
        copies: int = 0,
    ) -> None:
        self.writer = LakeWriter(lake, writer, bytes_max=bytes_max, every=every, copies=copies)
        self._clock = clock
        self._records_max = records_max
        self._buffer: deque[TraceRecord | int] = deque()
        """Records, and numbers of those that were dropped between them."""
        self._dropped = 0
        """Since the last that was not."""
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"causeway-lake-{writer.name}", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def add(self, records: Sequence[TraceRecord]) -> None:
        """More records: never waits. Not from two threads at once."""
        buffer = self._buffer
        if len(buffer) + len(records) > self._records_max:
            self._dropped += len(records)
            return
        if self._dropped:
            buffer.append(self._dropped)
            self._dropped = 0
        buffer.extend(records)

    def close(self) -> None:
        """Write the rest, if that does not take too long; idempotent."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join(CLOSE_SECONDS_MAX)

    def _run(self) -> None:
        try:
            self._work()
        except Exception:
            log.critical("a bug in Causeway: the lake is not written any more; messages go on", exc_info=True)
            self._records_max = -1  # nobody takes more
            self._buffer.clear()

    def _work(self) -> None:
        self.writer.open()
        ending = False
        while not ending:
            ending = self._ending.wait(WRITE_SECONDS)
            self.drain()
            now = self._clock()
            if ending:
                if self._dropped:
                    self.writer.lose(self._dropped, "dropped: too many at once")
                self.writer.close(now)
            elif self.writer.is_due(now):
                self.writer.roll(now)

    def drain(self) -> None:
        """Hand over what waits now, in parts."""
        buffer, left = self._buffer, len(self._buffer)
        while left:
            records: list[TraceRecord] = []
            while left and len(records) < CHUNK:
                left -= 1
                one = buffer.popleft()
                if isinstance(one, int):
                    self.writer.take(records)
                    records = []
                    self.writer.lose(one, "dropped: too many at once")
                else:
                    records.append(one)
            self.writer.take(records)
