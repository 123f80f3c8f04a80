"""What a mailbox looks like from outside. Owns: the shapes shown to people and clients. Changes nothing."""

from __future__ import annotations

from causeway.core.mail.browser import BrowseRange, Glance, Shown
from causeway.core.mail.mailbox import Mailbox
from causeway.core.mail.matching import matching, selector_of
from causeway.core.mail.rows import StoredBatch, stretch
from causeway.core.messages import Browse, Browsed, BrowsedBatch
from causeway.limits import (
    BROWSED_BODY_BYTES_MAX,
    BROWSED_HEAD_BYTES_MAX,
    BROWSED_MESSAGES_MAX,
    ID_MAX,
    SELECTED_BYTES_MAX,
    SELECTED_MESSAGES_MAX,
)

ENTRY_OVERHEAD = 96
"""Bytes of one entry of the answer's head beside its name."""


def question_of(head: Browse) -> BrowseRange:
    """What a client asks, within bounds."""
    after = max(-1, min(head.after, ID_MAX - 1))
    limit = SELECTED_MESSAGES_MAX if head.selector else max(1, min(head.limit, BROWSED_MESSAGES_MAX))
    return BrowseRange(after, limit, head.row)


def browsed(head: Browse, question: BrowseRange, glance: Glance, extent: tuple[int, int, int]) -> tuple[Browsed, bytes]:
    """The answer to Browse, with the bodies one after the other; `extent` are its last three fields."""
    page = _Page(head)
    for one in glance.shown:
        if not page.add(one):
            break
    done = not page.full and page.seen < question.limit and glance.hidden is None
    answer = Browsed(head.mailbox, head.token, tuple(page.batches), done, head.after, page.row, page.through, *extent)
    return answer, b"".join(page.bodies)


class _Page:
    """One answer to Browse, while it is filled."""

    def __init__(self, head: Browse) -> None:
        self._selector = selector_of(head.selector) if head.selector else None
        self._room, self._head_room, self._left = BROWSED_BODY_BYTES_MAX, BROWSED_HEAD_BYTES_MAX, max(1, head.limit)
        self.batches: list[BrowsedBatch] = []
        self.bodies: list[bytes] = []
        self.seen = 0
        """Messages that were looked at."""
        self._to_look = SELECTED_BYTES_MAX
        self.row = self.through = -1
        self.full = False

    def add(self, one: Shown) -> bool:
        """Put in what is wanted of a stretch; false when it did not fit, and the page ends."""
        piece = one.piece
        runs, count = [(0, piece.count - 1)], piece.count
        if self._selector is not None:
            count = self._share(piece)
            runs = matching(self._selector, stretch(piece, 0, count)) if count else []
        for first, last in runs:
            part = stretch(piece, first, min(last + 1, first + self._left)) if self._left > 0 else None
            if part is None or not self._put(part, one, first):
                self.full = True
                return False
            self._left -= part.count
            self.row, self.through = one.batch, part.seq + part.count - 1
            if part.count <= last - first:
                self.full = True
                return False
        self.seen += count
        if count < piece.count:
            self.full = True
            if count:
                self.row, self.through = one.batch, piece.seq + count - 1
            return False
        self.row, self.through = one.row, piece.seq + count - 1
        return True

    def _share(self, piece: StoredBatch) -> int:
        """How many messages of a stretch may still be looked at; of the first one at least one."""
        room, size = self._to_look, len(piece.body)
        self._to_look -= size
        if size <= room:
            return piece.count
        return max(0 if self.seen else 1, piece.count * max(room, 0) // size)

    def _put(self, b: StoredBatch, one: Shown, start: int) -> bool:
        self._room -= len(b.body)
        self._head_room -= len(b.source.encode()) + ENTRY_OVERHEAD
        if self.batches and min(self._room, self._head_room) < 0:
            return False
        self.bodies.append(b.body)
        whose = (b.seq, b.source, b.incarnation, b.stream, b.first, b.count)
        times = (b.at, b.expires, b.published)
        before = one.before + start if one.before >= 0 else -1
        self.batches.append(BrowsedBatch(*whose, b.flags, b.priority, one.deliveries, len(b.body), *times, before))
        return True


def described(mailbox: Mailbox) -> dict[str, object]:
    """A mailbox's counts by name."""
    s = mailbox.statistics()
    return {
        "name": mailbox.name,
        "stored": s.stored_count,
        "stored_bytes": s.stored_bytes,
        "volatile": s.volatile_count,
        "volatile_bytes": s.volatile_bytes,
        "memory_bytes": s.memory_bytes,
        "consumers": s.consumers - mailbox.is_item,
        "unsettled": s.unsettled,
        "prepared": s.prepared,
        "oldest": s.oldest,
        "starved": s.starved,
    }
