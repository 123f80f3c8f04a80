"""What comes by two ways is one stream: that of its publisher.

A subscription to critical topics has two readers, one for each way (see docs/adr/0014). Both bring every message; what
tells copies apart from news are the publisher's ids, per pair of items and class. The rest is what is done with every
message that comes again: one that was accepted is settled, one that is in hand learns one more number under which it is
settled when the application is done with it.

Owns: what a delivery is called in the publisher's stream. Must not know: links, what was shown.
"""

from __future__ import annotations

from collections.abc import Callable

from causeway.client.lots import Lot, StreamKey
from causeway.core.messages import Deliver
from causeway.types import CRITICAL_ITEM_PREFIX, Flag

_RETAIN = int(Flag.RETAIN)


def is_doubled(head: Deliver) -> bool:
    """Whether a delivery comes by the other way too; what was retained comes by one."""
    return head.published is not None and head.source.startswith(CRITICAL_ITEM_PREFIX) and not head.flags & _RETAIN


def doubled_key(head: Deliver) -> StreamKey:
    """The stream of its publisher: of a pair of items, whichever of the two brought it."""
    it = head.published
    assert it is not None
    return f"{head.source.rpartition('/')[0]}/{it.source}", it.incarnation, it.stream


def runs_of(lot: Lot, next_serial: Callable[[], int]) -> list[Lot]:
    """A delivered lot as lots of consecutive ids of its publisher: a selector leaves gaps."""
    published = lot.published
    assert published is not None
    lot.doubled = True
    starts = [at for at in range(lot.count) if not at or published.offset_of(at) != published.offset_of(at - 1) + 1]
    if not published.picked:
        starts = [0]
    stops = [*starts[1:], lot.count]
    runs: list[Lot] = []
    for start, stop in zip(starts, stops, strict=True):
        run = lot if len(starts) == 1 else lot.part(next_serial(), lot.first + start, lot.first + stop - 1)
        assert run.published is not None
        run.first = run.published.first + run.published.offset_of(0)
        runs.append(run)
    return runs
