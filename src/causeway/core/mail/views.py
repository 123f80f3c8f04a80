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
from causeway.topics import TopicIndex
from causeway.types import hash_of

ENTRY_OVERHEAD = 96
"""Bytes of one entry of the answer's head beside its name."""


def question_of(head: Browse) -> BrowseRange:
    """What a client asks, within bounds."""
    after = max(-1, min(head.after, ID_MAX - 1))
    limit = max(1, min(head.limit, BROWSED_MESSAGES_MAX))
    if head.selector:
        limit = SELECTED_MESSAGES_MAX
    elif head.topics or head.since or head.until or head.parts:
        limit = BROWSED_MESSAGES_MAX  # most are passed over, without a look at their bodies
    return BrowseRange(after, limit, head.row)


def browsed(head: Browse, question: BrowseRange, glance: Glance, extent: tuple[int, int, int]) -> tuple[Browsed, bytes]:
    """The answer to Browse, with the bodies one after the other; `extent` is how far the mailbox reaches."""
    page = _Page(head)
    for one in glance.shown:
        if not page.add(one):
            break
    done = page.ended or (not page.full and page.seen < question.limit and glance.hidden is None)
    answer = Browsed(
        head.mailbox,
        head.token,
        tuple(page.batches),
        done,
        head.after,
        page.row,
        page.through,
        *extent,
        passed=page.passed,
        ever_through=page.ever_through,
    )
    return answer, b"".join(page.bodies)


class _Page:
    """One answer to Browse, while it is filled."""

    def __init__(self, head: Browse) -> None:
        self._head = head
        self._topics = _index(head.topics) if head.topics else None
        self._selector = selector_of(head.selector) if head.selector else None
        self._room, self._head_room, self._left = BROWSED_BODY_BYTES_MAX, BROWSED_HEAD_BYTES_MAX, max(1, head.limit)
        self.batches: list[BrowsedBatch] = []
        self.bodies: list[bytes] = []
        self.seen = 0
        """Messages that were looked at."""
        self._to_look = SELECTED_BYTES_MAX
        self.row = self.through = self.ever_through = -1
        self.passed = 0
        self.full = False
        self.ended = False
        """Nothing that comes now is below the number where the question ends."""

    def add(self, one: Shown) -> bool:
        """Put in what is wanted of a stretch; false when it did not fit, and the page ends."""
        piece, stop = one.piece, self._head.stop
        if 0 < stop < piece.seq + piece.count:
            self.ended = True
            if piece.seq < stop:
                within = one._replace(piece=stretch(piece, 0, stop - piece.seq), row=one.batch)
                self.ended = self._add(within)
            return False
        return self._add(one)

    def _add(self, one: Shown) -> bool:
        piece = one.piece
        if not self._asked_for(piece):
            self._reach(one, piece.count, 0, one.row)
            return True
        runs, count = [(0, piece.count - 1)], piece.count
        if self._selector is not None:
            count = self._share(piece)
            runs = matching(self._selector, stretch(piece, 0, count)) if count else []
        at = 0
        """Messages of the stretch that are dealt with."""
        for first, last in runs:
            part = stretch(piece, first, min(last + 1, first + self._left)) if self._left > 0 else None
            if part is None or not self._put(part, one, first):
                self.full = True
                return False
            self._left -= part.count
            self._reach(one, first + part.count - at, part.count, one.batch, at)
            at = first + part.count
            if part.count <= last - first:
                self.full = True
                return False
        self._reach(one, count - at, 0, one.row if count == piece.count else one.batch, at)
        self.full = count < piece.count
        return not self.full

    def _asked_for(self, piece: StoredBatch) -> bool:
        """By what holds for all messages of a stretch: topic, sender and time."""
        head, published = self._head, piece.published
        if head.parts > 1 and hash_of(piece.source if published is None else published.topic) % head.parts != head.part:
            return False
        if self._topics is not None and (published is None or not self._topics.wants(published.topic)):
            return False
        at = piece.at if published is None else published.at
        return head.since <= at and (at < head.until or not head.until)

    def _reach(self, one: Shown, looked: int, shown: int, row: int, start: int = 0) -> None:
        """So many more messages of a stretch, from `start` on, were looked at, and so many of them are shown."""
        if not looked and start < one.piece.count:
            return
        self.seen += looked
        self.row, self.through = row, one.piece.seq + start + looked - 1
        if one.before >= 0:
            self.passed += looked - shown
            self.ever_through = one.before + start + looked

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


def _index(patterns: tuple[str, ...]) -> TopicIndex:
    index = TopicIndex()
    for pattern in patterns:
        index.add(pattern, pattern)
    return index


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
