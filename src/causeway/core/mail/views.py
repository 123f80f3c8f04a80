"""What a mailbox looks like from outside. Owns: the shapes shown to people and clients. Changes nothing."""

from __future__ import annotations

from causeway.core.mail.browser import BrowseRange, Glance
from causeway.core.mail.mailbox import Mailbox
from causeway.core.messages import Browse, Browsed, BrowsedBatch
from causeway.limits import BROWSED_BODY_BYTES_MAX, BROWSED_HEAD_BYTES_MAX, BROWSED_MESSAGES_MAX, ID_MAX

ENTRY_OVERHEAD = 96
"""Bytes of one entry of the answer's head beside its name."""


def question_of(head: Browse) -> BrowseRange:
    """What a client asks, within bounds."""
    after = max(-1, min(head.after, ID_MAX - 1))
    return BrowseRange(after, max(1, min(head.limit, BROWSED_MESSAGES_MAX)), head.row)


def browsed(head: Browse, question: BrowseRange, glance: Glance) -> tuple[Browsed, bytes]:
    """The answer to Browse, with the bodies one after the other."""
    shown: list[BrowsedBatch] = []
    bodies: list[bytes] = []
    room, head_room, left = BROWSED_BODY_BYTES_MAX, BROWSED_HEAD_BYTES_MAX, question.limit
    row = -1
    cut = False
    for b, deliveries, behind in glance.shown:
        room -= len(b.body)
        head_room -= len(b.source.encode()) + ENTRY_OVERHEAD
        if shown and min(room, head_room) < 0:
            cut = True
            break
        left -= b.count
        row = behind
        bodies.append(b.body)
        shown.append(
            BrowsedBatch(
                b.seq,
                b.source,
                b.incarnation,
                b.stream,
                b.first,
                b.count,
                b.flags,
                b.priority,
                deliveries,
                len(b.body),
            )
        )
    done = not cut and left > 0 and glance.hidden is None
    return Browsed(head.mailbox, head.token, tuple(shown), done, head.after, row), b"".join(bodies)


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
        "consumers": s.consumers,
        "unsettled": s.unsettled,
        "prepared": s.prepared,
        "oldest": s.oldest,
    }
