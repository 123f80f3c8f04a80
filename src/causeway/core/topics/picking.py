"""What a subscription takes of a batch that matches its pattern: selectors and no_local, for items and for seats."""

from __future__ import annotations

from causeway.core.mail.matching import matching
from causeway.core.mail.rows import StoredBatch
from causeway.core.topics.item import Registration
from causeway.types import Span
from causeway.wire.body import join, split


def picked(registration: Registration, batch: StoredBatch) -> tuple[tuple[Span, ...], bytes, int]:
    """What a subscription takes of a batch: runs that its selector picks (none for all), bodies, how many messages."""
    if registration.interest.no_local == f"{batch.source}:{batch.incarnation:x}":
        return (), b"", 0
    if registration.selector is None:
        return (), batch.body, batch.count
    runs = tuple(matching(registration.selector, batch))
    count = sum(last - first + 1 for first, last in runs)
    if count == batch.count:
        return (), batch.body, count
    messages = split(batch.body, batch.count)
    return runs, join([message for first, last in runs for message in messages[first : last + 1]]), count
