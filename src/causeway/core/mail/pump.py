"""Hands what is ready to whoever takes it: the highest priority first, and everybody gets a share.

Owns: how batches are divided among consumers. Must not know: who settles them, and what is written.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from causeway.core.mail.batches import BatchPart
from causeway.core.mail.consumers import SUSPECT, Consumer, Consumers
from causeway.core.mail.contents import Contents
from causeway.core.mail.rows import StoredBatch, published_from
from causeway.core.mail.selection import Selection, Sight
from causeway.core.messages import Deliver
from causeway.types import Flag, Instant
from causeway.wire.body import cut

Handed = tuple[int, Deliver, bytes]
"""Connection, head, body."""

_REDELIVERED = int(Flag.REDELIVERED)


def pump(
    mailbox: str, contents: Contents, consumers: Consumers, now: Instant, clogged: Callable[[int], bool]
) -> list[Handed]:
    """Everything deliverable now, in order."""
    sent: list[Handed] = []
    lanes = contents.lanes
    able = consumers.able(clogged)
    turn = 0
    while able and lanes.count:
        part = lanes.take()
        if part is None:
            break
        if contents.barrier is not None and part.order >= contents.barrier:
            lanes.requeue(part)
            break
        batch = part.batch
        if batch.info.expires and batch.info.has_expired(now):
            continue  # stays ready, without an entry, until `expire` reports it
        turn %= len(able)
        consumer = able[turn]
        count = part.stop - part.start
        alone = part.losses >= SUSPECT and not consumer.unsettled
        take = 1 if alone else min(count, consumer.credit - consumer.unsettled)
        if len(able) > 1 and lanes.waiting(batch.info.priority) + 1 < len(able):
            # Fewer batches than consumers: everybody gets a share. Otherwise whole batches go round.
            take = min(take, -(-count // len(able)))
        if take < count:
            contents.adopt(batch.split(batch.index(part.start), part.start + take))
        contents.give(part, consumer)
        consumers.serve(consumer)
        sent.append(_hand(mailbox, part, consumer))
        if alone:
            consumers.isolate(consumer, now)
        if consumer.unsettled < consumer.credit and not alone:
            turn += 1
        else:
            del able[turn]
    return sent


def pump_sole(
    mailbox: str, contents: Contents, consumers: Consumers, now: Instant, clogged: Callable[[int], bool]
) -> list[Handed]:
    """The same for the only consumer there is, if it takes everything, as far as its credit goes."""
    sent: list[Handed] = []
    lanes, consumer = contents.lanes, consumers.sole
    if consumer is None or consumer.unsettled >= consumer.credit or clogged(consumer.conn) or consumers.loners:
        return sent
    consumers.serve(consumer)
    while lanes.count and (room := consumer.credit - consumer.unsettled) > 0 and (part := lanes.take()) is not None:
        if contents.barrier is not None and part.order >= contents.barrier:
            lanes.requeue(part)
            break
        batch = part.batch
        if batch.info.expires and batch.info.has_expired(now):
            continue  # stays ready, without an entry, until `expire` reports it
        alone = part.losses >= SUSPECT and not consumer.unsettled
        room = 1 if alone else room
        if room < part.stop - part.start:
            contents.adopt(batch.split(batch.index(part.start), part.start + room))
        contents.give(part, consumer)
        sent.append(_hand(mailbox, part, consumer))
        if alone:
            consumers.isolate(consumer, now)
            break
    return sent


def hand_over(contents: Contents, own: Consumer, now: Instant, bytes_max: int) -> list[StoredBatch]:
    """What the owner of an item takes itself: batches in the order of their numbers, up to so many bytes.

    Whole ones, whatever its credit: what a selector picks of a batch is known by where the batch begins.
    """
    handed: list[StoredBatch] = []
    while contents.lanes.count and bytes_max > 0:
        part = contents.lanes.take()
        if part is None:
            break
        batch = part.batch
        if batch.info.expires and batch.info.has_expired(now):
            continue  # stays ready, without an entry, until `expire` reports it
        contents.give(part, own)
        handed.append(batch.piece(part.start, part.stop))
        bytes_max -= batch.charge
    return handed


def pump_selected(
    mailbox: str,
    contents: Contents,
    consumers: Consumers,
    selection: Selection,
    *,
    sight: Sight,
    now: Instant,
    clogged: Callable[[int], bool],
) -> list[Handed]:
    """The same where consumers have selectors: as much as one turn can look at, see `Selection.is_behind`."""
    sent: list[Handed] = []
    able: dict[str, deque[Consumer]] = {}
    for one in consumers.able(clogged):
        able.setdefault(one.selector, deque()).append(one)
    sight.renew()
    selection.is_behind = False
    while able and contents.lanes.count and (wanted := selection.next(able, now, sight)) is not None:
        part, wants = wanted
        if contents.barrier is not None and part.order >= contents.barrier:
            if wants is None:
                contents.lanes.requeue(part)
            else:
                selection.park(part, wants)
            break
        takers = [able[choice.text] for choice in wants if choice.text in able] if wants is not None else [able[""]]
        queue = min(takers, key=_longest_waiting)
        consumer = queue.popleft()
        batch, count = part.batch, part.stop - part.start
        alone = part.losses >= SUSPECT and not consumer.unsettled
        take = 1 if alone else min(count, consumer.credit - consumer.unsettled)
        rivals = sum(map(len, takers)) + 1
        waiting = contents.lanes.waiting(batch.info.priority) + len(contents.lanes.parked)
        if waiting + 1 < rivals:
            take = min(take, -(-count // rivals))
        if take < count:
            rest = batch.split(batch.index(part.start), part.start + take)
            if wants is None:
                contents.adopt(rest)
            else:
                selection.park(rest, wants)
        contents.give(part, consumer)
        consumers.serve(consumer)
        sent.append(_hand(mailbox, part, consumer))
        if alone:
            consumers.isolate(consumer, now)
        if consumer.unsettled < consumer.credit and not alone:
            queue.append(consumer)
        elif not queue:
            del able[consumer.selector]
    selection.is_starved = bool(able) and not selection.is_behind
    return sent


def _longest_waiting(queue: deque[Consumer]) -> int:
    return queue[0].served


def _hand(mailbox: str, part: BatchPart, consumer: Consumer) -> Handed:
    batch = part.batch
    info = batch.info
    count = part.stop - part.start
    flags = info.flags
    if part.deliveries or batch.redelivered:
        flags |= _REDELIVERED
    head = Deliver(
        mailbox,
        consumer.id,
        info.seq + part.start,
        info.source,
        info.incarnation,
        info.stream,
        info.first + part.start,
        count,
        flags,
        info.priority,
        part.deliveries,
        info.at,
        info.expires,
        published_from(info.published, part.start) if info.published is not None else None,
    )
    body = info.body if count == batch.count else cut(info.body, batch.count, part.start, part.stop)
    return consumer.conn, head, body
