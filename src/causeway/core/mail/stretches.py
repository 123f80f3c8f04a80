"""When something that lies only on disk outlives its time, by stretches of about one look (LOOK_BYTES).

Owns: which stretches hold messages with a time to live, and when each is to be looked at again.
Must not know: rows, marks, who looks.

Batches without a time to live cost nothing here. After a take-over nobody knows what lies on disk: if messages with a
time to live may be among it, all of it is one stretch that nobody has read, and due at once.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass

from causeway.core.mail.rows import StoredBatch
from causeway.limits import LOOK_BYTES
from causeway.types import VOLATILE_FROM, Instant

Ever = tuple[int, int]
"""Messages and bytes ever stored in a mailbox, up to some number."""


@dataclass(slots=True)
class Stretch:
    """Numbers start .. stop-1."""

    start: int
    stop: int
    due: Instant
    """When the first message with a time to live expires; never later than that."""
    before: int = -LOOK_BYTES
    """Bytes ever stored before it: what comes a look later does not belong to it any more."""
    unread: tuple[Ever, Ever] | None = None
    """Of a stretch nobody has read: what was ever stored before it, and up to its end."""


class Stretches:
    """Stretches of one mailbox, in order."""

    __slots__ = ("_all", "due")

    def __init__(self) -> None:
        self._all: list[Stretch] = []
        self.due: Instant | None = None
        """When to `take` one. Too early at times, when what expired was consumed meanwhile."""

    def add(self, info: StoredBatch) -> None:
        """A batch with a time to live stays on disk, behind all others."""
        last = self._all[-1] if self._all else None
        stop = info.seq + info.count
        if last is None or last.unread is not None or info.bytes_before - last.before >= LOOK_BYTES:
            self.put(Stretch(info.seq, stop, info.expires, info.bytes_before))
            return
        last.stop, last.due = stop, min(last.due, info.expires)
        self._sooner(info.expires)

    def open(self, start: int, ever: tuple[Ever, Ever]) -> None:
        """After a take-over: nobody knows what expires from `start` on."""
        self.put(Stretch(start, VOLATILE_FROM, 0, unread=ever))

    def put(self, stretch: Stretch) -> None:
        """A stretch to be looked at when it is due."""
        insort(self._all, stretch, key=_start)
        self._sooner(stretch.due)

    def take(self, now: Instant, floor: int) -> Stretch | None:
        """The first stretch that is due, taken out; what lies below the number `floor` is of no interest any more."""
        self._all = [stretch for stretch in self._all if stretch.stop > floor]
        found = next((stretch for stretch in self._all if stretch.due <= now), None)
        if found is not None:
            self._all.remove(found)
        self.due = min((stretch.due for stretch in self._all), default=None)
        return found

    def _sooner(self, due: Instant) -> None:
        if self.due is None or due < self.due:
            self.due = due


def _start(stretch: Stretch) -> int:
    return stretch.start
