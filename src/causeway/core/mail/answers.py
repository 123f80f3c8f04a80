"""What a mailbox answers: small frozen records that its owner turns into operations and messages.

Owns: the vocabulary between `mailbox` and the office. Must not know: how either of them works.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from causeway.core.mail.rows import StoredBatch, published_from
from causeway.core.messages import Published
from causeway.store.base import Write
from causeway.types import Instant, Span

if TYPE_CHECKING:
    from causeway.core.mail.batches import BatchPart


class Verdict(enum.IntEnum):
    """What to do with a batch that arrived."""

    NEW = 0
    """Store it (or pass it on): `skip` leading messages were there before."""
    DUPLICATE = 1
    """Nothing in it is new: acknowledge again, but not before `seq` is committed when `pending`."""
    GAP = 2
    """Something before it is missing: ask for everything after id `after`."""
    FULL = 3
    """The mailbox has reached its bound."""
    CROWDED = 4
    """The mailbox remembers as many streams as it may, and this one is new."""


class Admission(msgspec.Struct, frozen=True, gc=False):
    """The answer to `admit`."""

    verdict: Verdict
    skip: int = 0
    after: int = 0
    pending: bool = False
    """DUPLICATE only: the original is not safe yet (its operation is on its way, or it is passing)."""
    seq: int = -1
    """DUPLICATE and pending: `seq` of the operation to wait for; from VOLATILE_FROM on it is a passing batch, whose
    settlement (or whose operation, once it was stored after all) acknowledges it."""


class Piece(msgspec.Struct, frozen=True, gc=False):
    """Consecutive messages of one batch, without their bodies."""

    seq: int
    """Number of the first one."""
    source: str
    incarnation: int
    stream: int
    first: int
    last: int
    origin: bytes
    flags: int
    stored: bool
    """Whether they were stored in the group; otherwise express or passing, and acknowledged by this at the latest."""
    published: Published | None = None


class Settlement(msgspec.Struct, frozen=True, gc=False):
    """The answer to `settle`."""

    writes: list[Write]
    """One operation of span 1; empty when nothing durable changed."""
    confirm: list[Piece]
    """All that was settled. Not stored: report Accepted(delivered=True). Stored with Flag.CONFIRM: report Confirmed."""
    dead: Sequence[Span] = ()
    """Not settled: they are dead letters, or about to be."""
    locked: Sequence[Span] = ()
    """Not settled: a transaction has them."""


class Returned(msgspec.Struct, frozen=True):
    """The answer to `give_back`."""

    writes: list[Write]
    dead: list[StoredBatch]
    """Given back too often: reserved until `settle_numbers`, when the dead-letter mailbox has them."""
    pieces: Sequence[Piece] = ()
    """All that was given back."""


class Expired(msgspec.Struct, frozen=True):
    """The answer to `expire`."""

    writes: list[Write]
    pieces: list[Piece]


class Decided(msgspec.Struct, frozen=True):
    """The answer to `decide`."""

    writes: list[Write]
    """One operation of `span` numbers; empty when the transaction is not held here (any more)."""
    span: int
    batches: list[StoredBatch]
    """Stored by it; deliverable when `committed(seq)` was called with the operation's first number."""
    confirm: list[Piece]


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """How much a mailbox holds. Stored messages behind the window are counted by an upper bound."""

    stored_count: int
    stored_bytes: int
    volatile_count: int
    volatile_bytes: int
    memory_bytes: int
    """Bodies in memory, with their bookkeeping."""
    consumers: int
    unsettled: int
    """Messages handed to consumers and not settled yet."""
    prepared: int
    oldest: Instant | None
    """When the oldest message in memory arrived."""
    starved: bool = False
    """A consumer waits, but memory is full of what nobody may get yet or nobody wants: the rest stays on disk."""


def piece_of(part: BatchPart) -> Piece:
    """A part without its bodies."""
    info = part.batch.info
    return Piece(
        info.seq + part.start,
        info.source,
        info.incarnation,
        info.stream,
        info.first + part.start,
        info.first + part.stop - 1,
        info.origin,
        info.flags,
        part.batch.stored,
        published_from(info.published, part.start) if info.published is not None else None,
    )
