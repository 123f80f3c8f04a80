"""What comes by two ways is one stream: that of its publisher.

A subscription to critical topics has two readers, one for each way (see docs/adr/0014). Both bring every message; what
tells copies apart from news are the publisher's ids, per pair of items and class. The rest is what is done with every
message that comes again: one that was accepted is settled, one that is in hand learns one more number under which it is
settled when the application is done with it.

An ordered stream comes in order by each way. What one of them has left out it will not bring: a message from before
the subscription began there, or one that nobody acknowledged. Shown now, it would come too late.

Owns: what a delivery is called in the publisher's stream, and what comes too late in it. Must not know: links,
what was shown.
"""

from __future__ import annotations

from collections.abc import Callable

from causeway.client.lots import Lot, SeenStream, StreamKey
from causeway.core.messages import Deliver
from causeway.types import CRITICAL_ITEM_PREFIX, Flag, ServiceClass

_RETAIN = int(Flag.RETAIN)
_DELAYED = int(Flag.DELAYED)
_ORDERED = int(ServiceClass.TRANSACTIONAL)


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


def overtaken(seen: SeenStream, lot: Lot, *, twin: bool) -> int:
    """The id up to which the other way has passed by what a lot brings (0: unknown), and note how far this way is."""
    if not lot.doubled or seen.key[2] != _ORDERED or lot.flags & _DELAYED or lot.deliveries:
        return 0
    here = (twin, lot.priority)
    own = seen.passed.get(here, 0)
    if lot.first <= own:
        return 0  # it comes late on its own way: a transaction had it, and was aborted
    seen.passed[here] = lot.first + lot.count - 1
    return seen.passed.get((not twin, lot.priority), 0)
