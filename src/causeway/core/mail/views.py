"""What a mailbox looks like from outside. Owns: the shapes shown to people and clients. Changes nothing."""

from __future__ import annotations

from causeway.core.mail.mailbox import Mailbox
from causeway.core.messages import Browse, Browsed, BrowsedBatch
from causeway.limits import BROWSED_BODY_BYTES_MAX, BROWSED_HEAD_BYTES_MAX, BROWSED_MESSAGES_MAX, ID_MAX

ENTRY_OVERHEAD = 96
"""Bytes of one entry of the answer's head beside its name."""


def browsed(mailbox: Mailbox, head: Browse) -> tuple[Browsed, bytes]:
    """The answer to Browse, with the bodies one after the other."""
    limit = max(1, min(head.limit, BROWSED_MESSAGES_MAX))
    after = max(-1, min(head.after, ID_MAX - 1))
    shown: list[BrowsedBatch] = []
    bodies: list[bytes] = []
    room, head_room, left = BROWSED_BODY_BYTES_MAX, BROWSED_HEAD_BYTES_MAX, limit
    cut = False
    for b, number, deliveries in mailbox.browse(after, limit):
        room -= len(b.body)
        head_room -= len(b.source.encode()) + ENTRY_OVERHEAD
        if shown and min(room, head_room) < 0:
            cut = True
            break
        left -= b.count
        bodies.append(b.body)
        shown.append(
            BrowsedBatch(
                number,
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
    done = not cut and left > 0 and not mailbox.behind
    return Browsed(head.mailbox, head.token, tuple(shown), done), b"".join(bodies)


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
