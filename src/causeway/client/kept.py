"""What an application keeps on disk so that exactly-once survives its own restart.

Kept: the incarnation and a count of lives (so that no id is ever used twice), sends and transactions that were not
answered (sent again by the next life), and the accepted ids per stream (so that nothing accepted is shown again).

When it is durable: a recoverable or transactional send, and a commit, is on disk before it leaves for a broker. An
acknowledgement is on disk before the broker hears of it; until then a crash means that the message is shown again, so
whoever has to know waits until `keeps` what it noted before `mark`.
Express sends are not kept. One Persist is under way at a time; whatever gathers meanwhile goes into the next one.

Rows, all in group LOCAL:  i -> identity | b + serial -> unanswered batch | c + number -> unanswered commit |
s + hash of the stream -> accepted ids. Stimuli: Loaded, Persisted, and the end of each turn.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from causeway.client.batches import Lane, SentBatch
from causeway.client.consumers import MailReaders
from causeway.client.fates import Fates
from causeway.client.lots import SeenStream, StreamKey
from causeway.client.marks import merged
from causeway.client.reader import MailReader
from causeway.client.streams import Streams
from causeway.client.transactions import AcceptedIds, Commitment, Transactions
from causeway.core.effects import Load, Persist
from causeway.core.events import Loaded
from causeway.core.machine import Turn
from causeway.core.messages import Causal, Commit, Published
from causeway.errors import CausewayError, StoreError
from causeway.limits import MIB
from causeway.store.base import LOCAL, Delete, Put, Row, Write
from causeway.types import MILLISECOND, Instant, Span

LIFE_SHIFT: Final = 40
"""Each life numbers its messages from life << 40 on: 2^40 messages per stream and life, 2^22 lives."""

CLEANING_PAUSE: Final = 200 * MILLISECOND
"""Rows that are only to be deleted wait so long for a write to go with."""

_LOAD: Final = 1
_PAGE_BYTES: Final = 4 * MIB
_IDENTITY_KEY: Final = b"i"


class Identity(msgspec.Struct, frozen=True, array_like=True):
    """Row i."""

    name: str
    incarnation: int
    life: int
    transactions: int
    """The highest transaction number given out."""


class KeptBatch(msgspec.Struct, frozen=True, array_like=True):
    """Row b: an unanswered send."""

    dest: str
    service: int
    flags: int
    priority: int
    dies: int
    """Instant, 0 for never."""
    first: int
    count: int
    size: int
    body: bytes
    topic: str = ""
    """Empty for a mailbox."""
    due: int = 0
    """Instant before which nobody gets it, 0 for at once."""
    causal: Causal | None = None
    """In causal order; the seat is asked for again."""


class KeptCommit(msgspec.Struct, frozen=True, array_like=True):
    """Row c: an unanswered transaction."""

    head: Commit
    body: bytes
    accepts: list[AcceptedIds]


class KeptSeen(msgspec.Struct, frozen=True, array_like=True):
    """Row s: accepted ids of a stream."""

    mailbox: str
    source: str
    incarnation: int
    stream: int
    spans: list[Span]


_encode = msgspec.msgpack.Encoder().encode
_identity = msgspec.msgpack.Decoder(Identity).decode
_batch = msgspec.msgpack.Decoder(KeptBatch).decode
_commit = msgspec.msgpack.Decoder(KeptCommit).decode
_seen = msgspec.msgpack.Decoder(KeptSeen).decode


class Keeper:
    """Loads at the start, writes at the end of turns, and lets go what waited for the disk."""

    def __init__(
        self, name: str, fates: Fates, streams: Streams, consumers: MailReaders, transactions: Transactions
    ) -> None:
        self._name = name
        self._fates = fates
        self._streams = streams
        self._consumers = consumers
        self._transactions = transactions
        self._rows: dict[bytes, Row] = {}
        self._keys: dict[SentBatch, bytes] = {}
        self._serial = 0
        self._token = _LOAD
        self._durable = 0
        """The last write that is on disk."""
        self._under_way = False
        self._deletes: list[Write] = []
        self._clean_at: Instant | None = None
        self._batches: list[SentBatch] = []
        self._commits: list[Commitment] = []
        self._settles: list[tuple[MailReader, list[Span]]] = []
        self._next_settles: list[tuple[MailReader, list[Span]]] = []
        self._next_commits: list[Commitment] = []
        self.identity: Identity | None = None
        """Known and on disk: the session may begin."""
        self._identity_next: Identity | None = None
        self.error: CausewayError | None = None

    # The beginning ---------------------------------------------------------------------------------------------
    def start(self, turn: Turn) -> None:
        """Read everything."""
        turn.effects.loads.append(Load(_LOAD, LOCAL, b"", b"", _PAGE_BYTES))

    def on_loaded(self, turn: Turn, event: Loaded, incarnation: int) -> None:
        """A page; after the last one restore, and write down that a new life begins."""
        page = event.page
        if page.corrupt:
            self.error = StoreError(
                f"the kept state of {self._name!r} is damaged ({len(page.corrupt)} rows); restore it from a copy, or "
                "remove it and accept that unanswered sends are lost and accepted messages may be shown again"
            )
            return
        self._rows.update((row.key, row) for row in page.rows)
        if page.next is not None:
            turn.effects.loads.append(Load(_LOAD, LOCAL, page.next, b"", _PAGE_BYTES))
            return
        try:
            self._restore(turn, incarnation)
        except msgspec.MsgspecError as error:
            self.error = StoreError(f"the kept state of {self._name!r} cannot be read: {error}")

    def _restore(self, turn: Turn, incarnation: int) -> None:
        rows, self._rows = self._rows, {}
        old = Identity(self._name, incarnation, 0, 0)
        if _IDENTITY_KEY in rows:
            old = _identity(rows[_IDENTITY_KEY].value)
        if old.name != self._name:
            detail = (
                f"the kept state belongs to {old.name!r}, not {self._name!r}; each application needs its own directory"
            )
            self.error = StoreError(detail)
            return
        self._identity_next = Identity(self._name, old.incarnation, old.life + 1, old.transactions)
        self._streams.numbering.source = (self._name, old.incarnation)
        self._streams.numbering.base = self._transactions.base = old.life << LIFE_SHIFT
        self._transactions.last = old.transactions
        for key, row in rows.items():
            if key[:1] == b"b":
                self._restore_batch(key, _batch(row.value), turn.now)
            elif key[:1] == b"c":
                kept = _commit(row.value)
                commitment = Commitment(kept.head, kept.body, ())
                commitment.accepts = kept.accepts
                self._transactions.restore(commitment)
            elif key[:1] == b"s":
                seen = _seen(row.value)
                self._consumers.seen.restore(seen.mailbox, (seen.source, seen.incarnation, seen.stream), seen.spans)
        self._persist(turn, [self._put(_IDENTITY_KEY, self._identity_next)])

    def _restore_batch(self, key: bytes, kept: KeptBatch, now: Instant) -> None:
        self._serial = max(self._serial, int.from_bytes(key[1:], "big"))
        if kept.dies and kept.dies <= now:
            self._deletes.append(Delete(LOCAL, key))
            if kept.causal is not None:
                self._streams.causal.marks.give_back(kept.causal.after)
            return
        dest = kept.dest if kept.causal is None else ""
        lane = Lane(self._streams.numbering.stream(dest, kept.service), kept.flags, kept.priority, ttl=0, timeout=0)
        lane.published = Published(kept.topic) if kept.topic else None
        lane.causal = kept.causal
        batch = SentBatch(lane, self._streams.numbering.source)
        if kept.causal is not None:
            batch.after = merged(kept.causal.after, self._streams.causal.marks.take())
        batch.first, batch.count, batch.size, batch.body = kept.first, kept.count, kept.size, kept.body
        batch.dies, batch.due = kept.dies, kept.due
        self._keys[batch] = key
        self._streams.restore(batch)

    # Turns -----------------------------------------------------------------------------------------------------
    def keep_settles(self, settles: list[tuple[MailReader, list[Span]]]) -> None:
        """Settlements that go out once the acceptance is on disk."""
        self._next_settles += settles

    def keep_commit(self, commitment: Commitment) -> None:
        """A transaction that goes out once it is on disk."""
        commitment.durable = False
        self._next_commits.append(commitment)

    def ended(self, commitment: Commitment) -> None:
        """It was answered."""
        self._deletes.append(Delete(LOCAL, _commit_key(commitment)))

    def awaiting(self) -> dict[int, None]:
        """Consumers with settlements that wait for the disk."""
        return {consumer.number: None for consumer, _ in (*self._settles, *self._next_settles)}

    def mark(self) -> int:
        """The write that brings what was noted until now."""
        return self._token + 1

    def keeps(self, mark: int) -> bool:
        """Whether that write is on disk, or there is nothing left to write."""
        behind = self._consumers.dirty or self._consumers.seen.touched or self._under_way
        return mark <= self._durable or not behind

    @property
    def idle(self) -> bool:
        """Whether nothing that matters waits for the disk."""
        return not (self._under_way or self._next_settles or self._next_commits or self._streams.unkept)

    def flush(self, turn: Turn) -> None:
        """Write what this turn brought, unless a write is under way."""
        for batch in self._fates.resolved:
            key = self._keys.pop(batch, None)
            if key is None:
                continue
            if batch.copy is not None and not batch.copy.resolved:
                self._keys[batch.copy] = key  # until both ways have it
            else:
                self._deletes.append(Delete(LOCAL, key))
        accepted = self._consumers.seen
        self._deletes += [Delete(LOCAL, _seen_key(*forgotten)) for forgotten in accepted.forgotten]
        accepted.forgotten.clear()
        if self._under_way or self.identity is None:
            return
        urgent = self._streams.unkept or accepted.touched or self._next_settles or self._next_commits
        if not urgent:
            if not self._deletes:
                return
            if self._clean_at is None:
                self._clean_at = turn.now + CLEANING_PAUSE
            if turn.now < self._clean_at:
                return
        self._write(turn)

    def _write(self, turn: Turn) -> None:
        streams, accepted = self._streams, self._consumers.seen
        writes, self._deletes = self._deletes, []
        self._clean_at = None
        for batch in streams.unkept:
            if not batch.resolved:
                writes.append(self._put(self._keys.get(batch) or self._key(batch), _kept_batch(batch)))
        self._batches, streams.unkept = streams.unkept, []
        writes += [self._put(_seen_key(*which), _kept_seen(seen)) for which, seen in accepted.touched.items()]
        accepted.touched.clear()
        for commitment in self._next_commits:
            kept = KeptCommit(commitment.head, commitment.body, commitment.accepts)
            writes.append(self._put(_commit_key(commitment), kept))
        if self._next_commits:
            assert self.identity is not None
            self.identity = msgspec.structs.replace(self.identity, transactions=self._transactions.last)
            writes.append(self._put(_IDENTITY_KEY, self.identity))
        self._commits, self._next_commits = self._next_commits, []
        self._settles, self._next_settles = self._next_settles, []
        self._persist(turn, writes)

    def _persist(self, turn: Turn, writes: list[Write]) -> None:
        self._token += 1
        self._under_way = True
        turn.effects.persists.append(Persist(writes, (), self._token))

    def on_persisted(self, turn: Turn) -> None:
        """Let go what waited."""
        self._under_way = False
        self._durable = self._token
        if self._identity_next is not None:
            self.identity, self._identity_next = self._identity_next, None
        batches, self._batches = self._batches, []
        for batch in batches:
            self._streams.release(turn, batch)
        settles, self._settles = self._settles, []
        for consumer, spans in settles:
            self._consumers.settle(turn, consumer, spans)
        commits, self._commits = self._commits, []
        for commitment in commits:
            self._transactions.release(turn, commitment)

    def next_deadline(self) -> Instant | None:
        """When rows are deleted that nothing else has to be written with."""
        return None if self._under_way else self._clean_at

    def _key(self, batch: SentBatch) -> bytes:
        self._serial += 1
        key = self._keys[batch] = b"b" + self._serial.to_bytes(8, "big")
        return key

    def _put(self, key: bytes, row: Identity | KeptBatch | KeptCommit | KeptSeen) -> Put:
        return Put(LOCAL, key, 0, _encode(row))


def _kept_batch(batch: SentBatch) -> KeptBatch:
    lane = batch.lane
    stream = lane.stream
    return KeptBatch(
        stream.dest,
        stream.service,
        lane.flags,
        lane.priority,
        batch.dies,
        batch.first,
        batch.count,
        batch.size,
        batch.body,
        lane.published.topic if lane.published is not None else "",
        batch.due,
        None if lane.causal is None else msgspec.structs.replace(lane.causal, after=batch.after),
    )


def _kept_seen(seen: SeenStream) -> KeptSeen:
    return KeptSeen(seen.mailbox, *seen.key, seen.accepted.spans())


def _seen_key(mailbox: str, key: StreamKey) -> bytes:
    return b"s" + hashlib.blake2b(_encode((mailbox, *key)), digest_size=16).digest()


def _commit_key(commitment: Commitment) -> bytes:
    return b"c" + commitment.head.number.to_bytes(8, "big")
