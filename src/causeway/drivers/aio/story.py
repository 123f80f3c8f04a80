"""The recent past of a broker, kept in memory to answer `causeway story`.

Owns: a bounded trace. On the hot path it costs one `extend`. Must not know: how traces come about.
"""

from __future__ import annotations

from collections import deque
from itertools import islice

import msgspec

from causeway.core.messages import StoryRequest
from causeway.limits import STORY_RECORDS_MAX, TRACE_RECORDS_MAX
from causeway.trace import TraceRecord


class RecentTrace:
    """The last records of this broker, oldest first."""

    def __init__(self, records_max: int = TRACE_RECORDS_MAX) -> None:
        self._records: deque[TraceRecord] = deque(maxlen=records_max)
        self.add = self._records.extend

    def story(self, request: StoryRequest) -> bytes:
        """What happened to one message, as the body of a StoryReply: its latest records, oldest first."""
        found = list(
            islice((record for record in reversed(self._records) if _is_of(record, request)), STORY_RECORDS_MAX)
        )
        found.reverse()
        return msgspec.msgpack.encode(found)


def _is_of(record: TraceRecord, request: StoryRequest) -> bool:
    return (
        record.first <= request.id <= record.last
        and record.source == request.source
        and record.dest == request.dest
        and record.stream == request.stream
        and request.incarnation in (0, record.incarnation)
    )
