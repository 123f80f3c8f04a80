"""Hands what is ready to whoever takes it: the highest priority first, and everybody gets a share.

Owns: how batches are divided among consumers. Must not know: who settles them, and what is written.
"""

from __future__ import annotations

from collections.abc import Callable

from causeway.core.mail.batches import BatchPart
from causeway.core.mail.consumers import Consumer, Consumers
from causeway.core.mail.contents import Contents
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
    if lanes.count == 0:
        return sent
    able = consumers.able(clogged)
    turn = 0
    while able and lanes.count:
        part = lanes.take()
        if part is None:
            break
        batch = part.batch
        if 0 < batch.info.expires <= now:
            continue  # stays ready, without an entry, until `expire` reports it
        turn %= len(able)
        consumer = able[turn]
        count = part.stop - part.start
        take = min(count, consumer.credit - consumer.unsettled)
        if len(able) > 1 and lanes.waiting(batch.info.priority) + 1 < len(able):
            # Fewer batches than consumers: everybody gets a share. Otherwise whole batches go round.
            take = min(take, -(-count // len(able)))
        if take < count:
            contents.adopt(batch.split(batch.index(part.start), part.start + take))
        contents.give(part, consumer)
        consumers.serve(consumer)
        sent.append(_hand(mailbox, part, consumer))
        if consumer.unsettled < consumer.credit:
            turn += 1
        else:
            del able[turn]
    return sent


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
    )
    body = info.body if count == batch.count else cut(info.body, batch.count, part.start, part.stop)
    return consumer.conn, head, body
