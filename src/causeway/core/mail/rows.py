"""Rows of a mailbox: every durable fact has a key and a value here. Followers copy rows without reading them.

    "b" seq(8)   StoredBatch            messages seq .. seq+count-1, their bodies included
    "m" seq(8)   tuple[Mark, ...]       what is settled, counted or condemned of a batch (or of what lies behind)
    "s" stream   SeenRow                ids of one stream that were admitted: duplicates are known by it
    "t" txid     PreparedRow            a transaction's part, held invisible until it is decided
    "u"          list[Span]             numbers that the dead-letter mailbox has
    "i" mailbox  RegistrationRow        of an item: a subscription and what is forwarded to it
    "r" topic    StoredBatch            of an item: a topic's retained message
    "w"          SubscriptionRow        of a subscription: what it wants

Numbers are 8 bytes big-endian, so that key order is delivery order. "d" belongs to the coordinator's decisions.
Owns: the encodings. Must not know: what a mailbox does with them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from causeway.core.messages import Published
from causeway.types import VOLATILE_FROM, Instant, Span
from causeway.wire.body import cut

BATCH: Final = b"b"
MARK: Final = b"m"
SEEN: Final = b"s"
PREPARED: Final = b"t"
BURIED: Final = b"u"

SETTLED: Final = -1
CONDEMNED: Final = 1 << 32
"""Added to a mark's deliveries when the messages wait for the dead-letter mailbox."""


class StoredBatch(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A batch as the mailbox keeps it, or a stretch of one (then `seq`, `first`, `count` and `body` are cut)."""

    seq: int
    """Number of the first message in the mailbox; from VOLATILE_FROM on it is in memory only."""
    source: str
    incarnation: int
    stream: int
    first: int
    count: int
    flags: int
    priority: int
    expires: Instant
    """0 = never."""
    at: Instant
    """When the owner took it."""
    origin: bytes
    """The source broker, where acknowledgements go."""
    body: bytes
    count_before: int = 0
    bytes_before: int = 0
    """What was ever stored in this mailbox before: tells a backlog's size without reading it."""
    ready: Instant = 0
    """Nobody gets it before; 0 = it was not delayed."""
    published: Published | None = None

    @property
    def last(self) -> int:
        """Id of the last message."""
        return self.first + self.count - 1

    def has_expired(self, now: Instant) -> bool:
        """Whether it has outlived its time: nobody gets or sees what of it waits, and `expire` ends it."""
        return 0 < self.expires <= now


class BatchHead(StoredBatch, frozen=True, array_like=True, gc=False):
    """A StoredBatch whose body nobody looks at."""

    origin: msgspec.Raw
    body: msgspec.Raw


def stretch(batch: StoredBatch, start: int, stop: int) -> StoredBatch:
    """Messages start .. stop-1 of a batch as a batch of their own."""
    if start == 0 and stop == batch.count:
        return batch
    return StoredBatch(
        batch.seq + start,
        batch.source,
        batch.incarnation,
        batch.stream,
        batch.first + start,
        stop - start,
        batch.flags,
        batch.priority,
        batch.expires,
        batch.at,
        batch.origin,
        cut(batch.body, batch.count, start, stop),
        ready=batch.ready,
        published=published_from(batch.published, start),
    )


def published_from(published: Published | None, start: int) -> Published | None:
    """What a batch was published as, without its first `start` messages."""
    return published.without(start) if published is not None and published.source else published


class Mark(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Messages with the same fate: SETTLED, or given back `deliveries` times (plus CONDEMNED)."""

    first: int
    last: int
    deliveries: int


class SeenRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Admitted ids of one stream, with the mailbox's counters after the last of its batches."""

    spans: list[Span]
    used: Instant
    last: int
    """Number of the last message stored from this stream."""
    count: int
    bytes: int
    timed: bool = False
    """Whether messages with a time to live were among them."""


class TxId(NamedTuple):
    """One attempt at one transaction."""

    source: str
    incarnation: int
    number: int
    attempt: int


class PreparedSend(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Messages a transaction will store if it commits."""

    first: int
    count: int
    flags: int
    priority: int
    expires: Instant
    body: bytes
    ready: Instant = 0
    published: Published | None = None


class PreparedRow(msgspec.Struct, frozen=True, array_like=True):
    """What a mailbox holds for a transaction in doubt."""

    origin: bytes
    sends: tuple[PreparedSend, ...]
    locks: tuple[Span, ...]


_encode = msgspec.msgpack.encode
encode = _encode
"""Any of the values above to bytes."""

decode_batch = msgspec.msgpack.Decoder(StoredBatch).decode
decode_head = msgspec.msgpack.Decoder(BatchHead).decode
decode_marks = msgspec.msgpack.Decoder(tuple[Mark, ...]).decode
decode_seen = msgspec.msgpack.Decoder(SeenRow).decode
decode_prepared = msgspec.msgpack.Decoder(PreparedRow).decode
decode_spans = msgspec.msgpack.Decoder(list[Span]).decode
_decode_stream = msgspec.msgpack.Decoder(tuple[str, int, int]).decode
_decode_tx = msgspec.msgpack.Decoder(tuple[str, int, int, int]).decode


def batch_key(seq: int) -> bytes:
    """Key of the batch row that starts at a number."""
    return BATCH + seq.to_bytes(8, "big")


def mark_key(seq: int) -> bytes:
    """Key of the marks that start at a number."""
    return MARK + seq.to_bytes(8, "big")


def number_of(key: bytes) -> int:
    """The number in a batch's or a mark's key; of a key that is none, any number that can be gone on from."""
    return min(int.from_bytes(key[1:9], "big"), VOLATILE_FROM)


def seen_key(source: str, incarnation: int, stream: int) -> bytes:
    """Key of what was seen of one stream."""
    return SEEN + _encode((source, incarnation, stream))


def stream_of(key: bytes) -> tuple[str, int, int]:
    """The stream in a seen row's key."""
    return _decode_stream(key[1:])


def prepared_key(tx: TxId) -> bytes:
    """Key of a prepared part."""
    return PREPARED + _encode(tuple(tx))


def tx_of(key: bytes) -> TxId:
    """The transaction in a prepared row's key."""
    return TxId(*_decode_tx(key[1:]))
