"""Bounds of the trace lake, each with its reason."""

from __future__ import annotations

from typing import Final

BUFFER_RECORDS_MAX: Final = 200_000
"""Records that wait for the thread that writes them (about 60 MB when full); one more is dropped, and the lake says so.
At 20,000 batches a second it holds what a disk that hangs for two seconds leaves."""

SEGMENT_ROWS_MAX: Final = 100_000
"""A segment with so many rows is finished before its time: about 3 MB on disk, and what is not written is bounded."""

SEGMENT_BYTES_MIN: Final = 4096
"""What a segment counts for at least when the lake is bounded: so that many small ones are bounded too."""

TRACKED_MAX: Final = 100_000
"""Batches whose steps are held against each other to know how long they took; of more, some durations are not known."""

METERED_ROWS_MAX: Final = 100_000
"""Rows of telemetry, and of latency, that one segment may have; what is beyond is not counted, and the log says so."""

WRITE_SECONDS: Final = 0.25
"""How often the thread turns what waits into rows."""

CLOSE_SECONDS_MAX: Final = 5.0
"""How long the end of a writer waits for its last segment: a disk that hangs must not hold a broker."""
