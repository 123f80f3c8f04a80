"""What a session was shown and has accepted, per mailbox and stream, within bounds, and what of that must be kept.

Owns: the streams, and which of them are forgotten first. Must not know: consumers, links, how they are kept.
"""

from __future__ import annotations

from collections.abc import Iterable

from causeway.client.lots import SeenStream, StreamKey
from causeway.limits import DOUBLED_RANGES_MAX, SEEN_RANGES_MAX, STREAMS_SEEN_MAX
from causeway.types import Span


class SeenStreams:
    """Of all mailboxes of a session."""

    def __init__(self) -> None:
        self._streams: dict[str, dict[StreamKey, SeenStream]] = {}
        self.keeping = False
        """What is accepted must be on our own disk before anybody hears of it."""
        self.touched: dict[tuple[str, StreamKey], SeenStream] = {}
        """Accepted something this turn, for kept state."""
        self.forgotten: list[tuple[str, StreamKey]] = []

    def find(self, mailbox: str, key: StreamKey, *, doubled: bool = False) -> SeenStream:
        """A stream, begun if need be; one that comes by two ways remembers more."""
        streams = self._streams.setdefault(mailbox, {})
        seen = streams.get(key)
        if seen is None:
            # All of it is written with every change, if it is kept.
            most = DOUBLED_RANGES_MAX if doubled and not self.keeping else SEEN_RANGES_MAX
            seen = streams[key] = SeenStream(mailbox, key, most)
            idle = (known for known, old in streams.items() if not old.lots and known != key)
            if len(streams) > STREAMS_SEEN_MAX and (oldest := next(idle, None)) is not None:
                del streams[oldest]
                if self.keeping:
                    self.forgotten.append((mailbox, oldest))
        return seen

    def accept(self, seen: SeenStream, first: int, last: int) -> None:
        """The application is done with these ids."""
        seen.accept(first, last)
        streams = self._streams.get(seen.mailbox)
        if streams is None:
            return  # of a mailbox that has ended
        if self.keeping:
            self.touched[(seen.mailbox, seen.key)] = seen
        # Dicts keep insertion order: putting it in again makes it the most recently used.
        if len(streams) > 1:
            streams[seen.key] = streams.pop(seen.key, seen)

    def restore(self, mailbox: str, key: StreamKey, spans: Iterable[Span]) -> None:
        """What an earlier life of this application accepted."""
        seen = self.find(mailbox, key)
        for first, last in spans:
            seen.accept(first, last)

    def accepted_in(self, mailbox: str, key: StreamKey, first: int, last: int) -> None:
        """Ids an earlier life accepted inside a transaction that is now known to be committed."""
        self.accept(self.find(mailbox, key), first, last)

    def forget_mailbox(self, mailbox: str) -> None:
        """It has ended: what was accepted of it will never come again."""
        for key in self._streams.pop(mailbox, {}):
            self.touched.pop((mailbox, key), None)
            if self.keeping:
                self.forgotten.append((mailbox, key))
