"""Messages that went to the dead-letter mailbox, or are on their way there: nobody settles them any more.

Burying is a send that cannot be recalled. A former holder's settlement that comes after the verdict is too late; it is
told so, during the burial and after it, so that no message is ever both settled and a dead letter.

Owns: how many are condemned, the numbers that were buried (a row). Must not know: how they get there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from causeway.core.mail.backlog import Backlog
from causeway.core.mail.batches import DEAD, LOCKED, Shelf
from causeway.core.mail.rows import BURIED, encode
from causeway.limits import BURIED_RANGES_MAX
from causeway.ranges import IdSet
from causeway.store.base import Put
from causeway.types import VOLATILE_FROM, Span


class Graves:
    """Of one mailbox."""

    __slots__ = ("_changed", "_group", "buried", "condemned")

    def __init__(self, group: bytes) -> None:
        self._group = group
        self._changed = False
        self.condemned = 0
        """Messages in memory that wait for the dead-letter mailbox."""
        self.buried = IdSet()

    def restore(self, spans: Iterable[Span]) -> None:
        """What a former owner buried."""
        self.buried = IdSet(spans)

    def bury(self, first: int, count: int) -> None:
        """The dead-letter mailbox has these messages."""
        self.condemned -= count
        if first < VOLATILE_FROM:
            self.buried.add(first, first + count - 1)
            self.buried.forget_lowest(BURIED_RANGES_MAX)
            self._changed = True

    def rows(self) -> list[Put]:
        """What is to be written."""
        if not self._changed:
            return []
        self._changed = False
        return [Put(self._group, BURIED, 0, encode(self.buried.spans()))]


def beyond(
    spans: Sequence[Span], graves: Graves, backlog: Backlog, shelves: tuple[Shelf, Shelf], *, locks: bool
) -> tuple[list[Span], list[Span]]:
    """Of these numbers, those condemned or buried, and those locked (looked for only if there are `locks`)."""
    dead: list[Span] = []
    locked: list[Span] = []
    if not (locks or graves.condemned or graves.buried or backlog.condemned):
        return dead, locked
    for first, last in spans:
        dead += graves.buried.common(first, last)
        if backlog.is_open:
            dead += backlog.condemned.common(max(first, backlog.start), last)
        for number, batch in shelves[first >= VOLATILE_FROM].covering(first, last):
            for part in batch.parts:
                low, high = max(first, number + part.start), min(last, number + part.stop - 1)
                if part.state & (DEAD | LOCKED) and low <= high:
                    (dead if part.state == DEAD else locked).append((low, high))
    return dead, locked
