"""The numberings of a session's sends: one per destination and class, and one for everything in causal order.

Owns: which streams there are, which of them lag behind, and our seat's stream before the seat is known. Ids are never
used again: new streams begin above all that were retired. Must not know: links, what became of a batch (`streams`).
"""

from __future__ import annotations

from causeway.client.batches import Lane, SentStream
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.messages import Accepted, Confirmed, Rejected, Resend
from causeway.errors import Refused
from causeway.limits import STREAMS_SENT_MAX


class Numbering:
    """All streams of a session."""

    def __init__(self, application: str, alarm: Alarm | None = None) -> None:
        self.source: tuple[str, int] = (application, 0)
        self.base = 0
        """Ids of new streams begin above: no id of an earlier life or of a retired stream is used again."""
        self.lanes: dict[tuple[object, ...], Lane] = {}
        """Checked lanes by whatever the caller describes them with; emptied when streams are retired."""
        self._streams: dict[tuple[str, int], SentStream] = {}
        self.lagging: dict[SentStream, None] = {}
        """With something that could not leave yet."""
        self._retries: Deadlines[tuple[str, int]] = Deadlines(alarm)
        self.unseated: SentStream | None = None
        """What is sent in causal order before our seat is known; it waits."""

    def stream(self, dest: str, service: int) -> SentStream:
        """The ids of one destination and class, begun if need be; without a destination, of our seat-to-be."""
        key = (dest, int(service))
        stream = self._streams.get(key)
        if stream is None:
            if len(self._streams) >= STREAMS_SENT_MAX:
                self._retire_idle()
            stream = self._streams[key] = SentStream(dest, int(service), self.base + 1)
            if not dest:
                stream.paused = True
                self.unseated = stream
        return stream

    def _retire_idle(self) -> None:
        """Forget numberings that nothing waits for; new ones begin above all of them."""
        for key, stream in list(self._streams.items()):
            if not (stream.open or stream.waiting or stream.loose or stream.confirming):
                self.base = max(self.base, stream.next_id - 1)
                self.lagging.pop(stream, None)
                self._retries.cancel(key)
                del self._streams[key]
                if stream is self.unseated:
                    self.unseated = None
        self.lanes.clear()

    def _stream_of(self, head: Accepted | Rejected | Resend | Confirmed) -> SentStream | None:
        if (head.source, head.incarnation) != self.source:
            return None
        return self._streams.get((head.dest, head.stream))

    def _lag(self, stream: SentStream) -> None:
        stream.lagging = True
        self.lagging[stream] = None

    # Causal order ----------------------------------------------------------------------------------------------
    def take_seat(self, seat: str) -> None:
        """Our seat is known: what waited for it may leave."""
        stream, self.unseated = self.unseated, None
        if stream is not None:
            del self._streams[stream.dest, stream.service]
            stream.dest, stream.paused, stream.refusal = seat, False, None
            self._streams[seat, stream.service] = stream
            self._lag(stream)

    def excuse_seat(self, error: Refused) -> None:
        """Nobody can say our seat now: that is why it takes long."""
        if self.unseated is not None:
            self.unseated.refusal = error
