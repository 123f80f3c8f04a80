"""The numberings of a session's sends: one per destination and class.

Owns: which streams there are and which of them lag behind. Ids are never used again: new streams begin above all that
were retired. Must not know: links, what became of a batch (`streams`), seats (`causal_stream`).
"""

from __future__ import annotations

from causeway.client.batches import Lane, SentStream
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.messages import Accepted, Confirmed, Rejected, Resend
from causeway.limits import STREAMS_SENT_MAX


class Numbering:
    """All streams of a session."""

    def __init__(self, application: str, alarm: Alarm | None = None) -> None:
        self.source: tuple[str, int] = (application, 0)
        self.base = 0
        """Ids of new streams begin above: no id of an earlier life or of a retired stream is used again."""
        self.lanes: dict[tuple[object, ...], Lane] = {}
        """Checked lanes by whatever the caller describes them with; emptied when streams are retired."""
        self.streams: dict[tuple[str, int], SentStream] = {}
        """By destination and class."""
        self.lagging: dict[SentStream, None] = {}
        """With something that could not leave yet."""
        self.retries: Deadlines[tuple[str, int]] = Deadlines(alarm)
        """When streams that were refused for now begin again."""

    def stream(self, dest: str, service: int) -> SentStream:
        """The ids of one destination and class, begun if need be; without a destination it waits for one."""
        key = (dest, int(service))
        stream = self.streams.get(key)
        if stream is None:
            if len(self.streams) >= STREAMS_SENT_MAX:
                self._retire_idle()
            stream = self.streams[key] = SentStream(dest, int(service), self.base + 1)
        return stream

    def _retire_idle(self) -> None:
        """Forget numberings that nothing waits for; new ones begin above all of them."""
        for key, stream in list(self.streams.items()):
            if not (stream.open or stream.waiting or stream.loose or stream.confirming):
                self.base = max(self.base, stream.next_id - 1)
                self.lagging.pop(stream, None)
                self.retries.cancel(key)
                del self.streams[key]
        self.lanes.clear()

    def stream_of(self, head: Accepted | Rejected | Resend | Confirmed) -> SentStream | None:
        """Whose ids an answer is about; None if they are not ours, or nobody waits for them any more."""
        if (head.source, head.incarnation) != self.source:
            return None
        return self.streams.get((head.dest, head.stream))

    def lag(self, stream: SentStream) -> None:
        """Something of it could not leave yet."""
        stream.lagging = True
        self.lagging[stream] = None

    def redirect(self, stream: SentStream, dest: str) -> None:
        """A stream without a destination goes there, under the ids it has."""
        del self.streams[stream.dest, stream.service]
        stream.dest, stream.paused = dest, False
        self.streams[dest, stream.service] = stream
        self.lag(stream)
