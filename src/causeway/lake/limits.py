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

MERGED_AT_ONCE: Final = 12
"""So many segments of one writer that follow each other become one: at one every 5 s, those of a minute. Twelve of
these become one again."""

MERGED_BYTES_MAX: Final = 4 << 20
"""What a writer makes of several is no larger: it costs a tenth of a second. `causeway lake compact` goes further."""

COMPACTED_BYTES_MAX: Final = 128 << 20
"""What `causeway lake compact` makes of several is no larger: one task reads it."""

REPLACED_SECONDS: Final = 3600
"""How long the files stay whose place another has taken: a job that has seen them must have read them by then."""

TRACKED_MAX: Final = 100_000
"""Batches whose steps are held against each other to know how long they took; of more, some durations are not known."""

METERED_ROWS_MAX: Final = 100_000
"""Rows of telemetry, and of latency, that one segment may have; what is beyond is not counted, and the log says so."""

WRITE_SECONDS: Final = 0.25
"""How often the thread turns what waits into rows."""

CLOSE_SECONDS_MAX: Final = 5.0
"""How long the end of a writer waits for its last segment: a disk that hangs must not hold a broker."""
