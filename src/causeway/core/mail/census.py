"""How much a mailbox holds, for people. Owns: which counts are shown. Changes nothing."""

from __future__ import annotations

from causeway.core.mail.answers import Statistics
from causeway.core.mail.consumers import Consumers
from causeway.core.mail.contents import Contents
from causeway.core.mail.intake import Intake


def statistics_of(
    contents: Contents, intake: Intake, audience: Consumers, *, prepared: int, starved: bool
) -> Statistics:
    """All counts of one mailbox."""
    oldest = [batch.info.at for batch in (contents.stored.first(), contents.volatile.first()) if batch is not None]
    return Statistics(
        stored_count=intake.stored_count(),
        stored_bytes=intake.stored_bytes(),
        volatile_count=contents.volatile_count,
        volatile_bytes=contents.volatile_bytes,
        memory_bytes=contents.memory_bytes + contents.volatile_bytes,
        consumers=len(audience),
        unsettled=audience.unsettled(),
        prepared=prepared,
        oldest=min(oldest, default=None),
        starved=starved,
    )
