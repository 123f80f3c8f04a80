"""How much a mailbox holds, for people and for those who look for bottlenecks. Owns: which counts are shown.

Changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from causeway.core.mail.answers import Statistics
from causeway.core.mail.consumers import Consumers
from causeway.core.mail.contents import Contents
from causeway.core.mail.intake import Intake
from causeway.core.ports import Figures, FullConsumer
from causeway.domains.limits import CONSUMERS_GAUGED_MAX


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


def figures_of(
    name: str, contents: Contents, intake: Intake, audience: Consumers, clogged: Callable[[int], bool]
) -> Figures:
    """What there is to know of one mailbox without going through its messages."""
    size = intake.stored_bytes()
    waiting = contents.lanes.count + (0 if contents.behind is None else contents.behind.count)
    return Figures(
        name,
        stored=intake.stored_count() + contents.volatile_count,
        bytes=size + contents.volatile_bytes,
        full=10 * size >= 9 * intake.stored_bytes_max,
        readers=len(audience),
        waiting=waiting,
        held=tuple(_full(audience, clogged)) if waiting else (),
    )


def _full(audience: Consumers, clogged: Callable[[int], bool]) -> Iterator[FullConsumer]:
    for one in islice(audience.all(), CONSUMERS_GAUGED_MAX):
        if one.conn and one.unsettled and (one.room <= 0 or clogged(one.conn)):
            # The place of a batch as it came: what is left of one that is settled in parts has the same. No batch is
            # on the short way (flights) while others wait.
            mark = next((part.batch.rank for part in one.held), 0)
            yield FullConsumer((one.conn, one.id), one.terms.client[0], one.unsettled, mark)
