"""What a mailbox looks like from outside. Owns: the shapes shown to people and clients. Changes nothing."""

from __future__ import annotations

from causeway.core.mail.mailbox import Mailbox
from causeway.core.messages import Browse, Browsed, BrowsedBatch

BROWSE_MAX = 1000
"""Messages shown in one answer; the client asks on from the last number."""


def browsed(mailbox: Mailbox, head: Browse) -> tuple[Browsed, bytes]:
    """The answer to Browse, with the bodies one after the other."""
    limit = max(1, min(head.limit, BROWSE_MAX))
    found = mailbox.browse(head.after, limit)
    batches = tuple(
        BrowsedBatch(
            number, b.source, b.incarnation, b.stream, b.first, b.count, b.flags, b.priority, deliveries, len(b.body)
        )
        for b, number, deliveries in found
    )
    done = sum(b.count for b, _, _ in found) < limit
    return Browsed(head.mailbox, head.token, batches, done), b"".join(b.body for b, _, _ in found)


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
