"""A mailbox's part in transactions: sends held invisible and messages locked, until somebody decides.

Owns: the rows of prepared parts. Must not know: coordinators, and who decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from causeway.core.mail.answers import Decided
from causeway.core.mail.batches import LOCKED, OPEN
from causeway.core.mail.contents import Contents
from causeway.core.mail.intake import Intake
from causeway.core.mail.rows import PreparedRow, PreparedSend, TxId, encode, prepared_key
from causeway.core.mail.tally import Tally
from causeway.core.messages import TxPrepare
from causeway.errors import Code
from causeway.limits import SEEN_STREAMS_MAX
from causeway.ranges import disjoint
from causeway.store.base import Delete, Put, Write
from causeway.types import VOLATILE_FROM, Instant, ServiceClass, Span

_COMMITTED = int(ServiceClass.COMMITTED)


class Participant:
    """Transactions in doubt at one mailbox."""

    __slots__ = ("_attempts", "_contents", "_group", "_held", "_intake", "_pending")

    def __init__(self, group: bytes, contents: Contents, intake: Intake) -> None:
        self._group = group
        self._contents = contents
        self._intake = intake
        self._held: dict[TxId, PreparedRow] = {}
        self._attempts: dict[tuple[str, int, int], TxId] = {}
        """The one attempt held of each transaction."""
        self._pending: dict[TxId, int] = {}
        """Operations that prepare, on their way to the copies."""

    def __len__(self) -> int:
        return len(self._held)

    def restore(self, rows: Iterable[tuple[TxId, PreparedRow]]) -> None:
        """Rebuild; batches that are loaded later are locked by `locks`."""
        self._held = dict(rows)
        self._attempts = {(tx.source, tx.incarnation, tx.number): tx for tx in self._held}
        self._intake.reserved_bytes = sum(map(_size, self._held.values()))

    def locks(self) -> list[Span]:
        """All locked numbers."""
        return [span for row in self._held.values() for span in row.locks]

    def names(self) -> list[TxId]:
        """All transactions in doubt."""
        return list(self._held)

    def prepared_at(self, tx: TxId) -> int | None:
        """The uncommitted operation that prepares it."""
        return self._pending.get(tx)

    def is_behind(self, txid: TxId) -> bool:
        """Whether an earlier transaction of the same client also sends here and is in doubt: it was decided before, if
        the client waited for it, so it must not be overtaken."""
        whose = (txid.source, txid.incarnation)
        return any(
            (one.source, one.incarnation) == whose and one.number < txid.number and bool(row.sends)
            for one, row in self._held.items()
        )

    def committed(self, seq: int) -> None:
        """An operation is on all copies."""
        for tx, at in self._pending.items():
            if at == seq:
                del self._pending[tx]
                return

    def obstacle(self, tx: TxPrepare, size: int, now: Instant = 0) -> tuple[Code, str] | None:
        """Why a part cannot be held, None when it can (or is)."""
        txid = TxId(tx.source, tx.incarnation, tx.number, tx.attempt)
        if txid in self._held:
            return None
        rival = self._rival(txid)
        if rival is not None and rival.attempt > txid.attempt:
            return Code.NOT_OWNER, f"attempt {rival.attempt} of this transaction has begun"
        taken = _size(self._held[rival]) if rival is not None else 0  # the new attempt takes its place
        if size > taken and self._intake.is_full(size - taken):
            return Code.MAILBOX_FULL, f"{tx.mailbox} has reached its bound of stored bytes"
        seen = self._intake.seen
        if tx.sends and seen.is_crowded(now, rows=True) and seen.find(tx.source, tx.incarnation, _COMMITTED) is None:
            return Code.OVERLOADED, f"{tx.mailbox} remembers {SEEN_STREAMS_MAX} streams of senders, its limit"
        mine = self._held[rival].locks if rival is not None else ()
        for first, last in _spans(tx):
            found = self._lock_obstacle(first, last, mine)
            if found is not None:
                return found
        return None

    def _lock_obstacle(self, first: int, last: int, mine: Iterable[Span]) -> tuple[Code, str] | None:
        """Whether first..last can be locked: every message is here, and free or ours."""
        at = first
        shelf = self._contents.volatile if first >= VOLATILE_FROM else self._contents.stored
        for number, batch in shelf.covering(first, last):
            if number > at:
                break
            if not batch.stored and batch.info.stream != int(ServiceClass.EXPRESS):
                return Code.NOT_READY, f"message {at} is passing in memory only; store it first"
            for piece in batch.parts:
                start, stop = number + piece.start, number + piece.stop
                if start > last or stop <= at:
                    continue
                ours = piece.state == LOCKED and any(low <= start and stop - 1 <= high for low, high in mine)
                if not piece.state & OPEN and not ours:
                    at = max(at, start)
                    if piece.state == LOCKED:
                        return Code.ABORTED, f"message {at} is locked by another transaction"
                    return self._gone(at, "is settled already; give it back")
                at = stop
        if at > last:
            return None
        if self._contents.is_paged and at >= self._contents.backlog.start and last < VOLATILE_FROM:
            return Code.NOT_READY, f"message {at} is not in memory yet"
        return self._gone(at, "is not in this mailbox: somebody else settled it, or it comes again; give it back")

    def _gone(self, number: int, why: str) -> tuple[Code, str]:
        """Of a message that cannot be locked: it is a dead letter, or else `why`."""
        if not self._contents.beyond([(number, number)], locks=False)[0]:
            return Code.ABORTED, f"message {number} {why}"
        # To repeat the transaction as it is would never help.
        why = "was given back too often and is a dead letter now; leave it out"
        return Code.BAD_FIELD, f"settles: message {number} {why}"

    def prepare(self, tx: TxPrepare, body: bytes, seq: int, now: Instant) -> list[Write]:
        """Hold a part; the rows to write, none when it is held or was carried out already."""
        txid = TxId(tx.source, tx.incarnation, tx.number, tx.attempt)
        if txid in self._held:
            return []
        rival = self._rival(txid)
        if rival is not None and rival.attempt > txid.attempt:
            return []
        seen = self._intake.seen.find(tx.source, tx.incarnation, _COMMITTED)
        sends: list[PreparedSend] = []
        at = 0
        for send in tx.sends:
            part, at = body[at : at + send.size], at + send.size
            if seen is None or seen.missing(send.first, send.first + send.count - 1):
                expires = now + send.ttl if send.ttl > 0 else 0
                ready = now + send.delay if send.delay > 0 else 0
                whose = (send.first, send.count, send.flags, send.priority)
                sends.append(PreparedSend(*whose, expires, part, ready, send.published))
        if tx.sends and not sends:
            return []  # every id was stored: this is an echo of a transaction that committed
        writes: list[Write] = []
        if rival is not None:
            self._release(rival)
            writes.append(Delete(self._group, prepared_key(rival)))
        locks = [span for first, last in _spans(tx) for span in self._contents.lock(first, last)]
        row = PreparedRow(tx.origin, tuple(sends), tuple(locks))
        self._held[txid] = row
        self._intake.reserved_bytes += _size(row)
        self._attempts[txid.source, txid.incarnation, txid.number] = txid
        self._pending[txid] = seq
        writes.append(Put(self._group, prepared_key(txid), seq, encode(row)))
        return writes

    def decide(self, txid: TxId, seq: int, now: Instant, *, committed: bool) -> Decided:
        """Carry out a decision; nothing when the transaction is not held."""
        row = self._held.get(txid)
        if row is None:
            return Decided([], 0, [], [])
        if not committed:
            self._release(txid)
            return Decided([Delete(self._group, prepared_key(txid))], 1, [], [])
        self._forget(txid)
        tally = Tally()
        self._contents.settle(row.locks, LOCKED, tally)
        writes, batches = self._intake.store_sends(txid, row.origin, row.sends, seq, now)
        writes += self._contents.flush(tally)
        self._intake.passed(list(tally.touched.values()))
        writes.append(Delete(self._group, prepared_key(txid)))
        return Decided(writes, max(1, sum(batch.count for batch in batches)), batches, tally.pieces)

    def _release(self, txid: TxId) -> None:
        for first, last in self._forget(txid).locks:
            self._contents.unlock(first, last)

    def _forget(self, txid: TxId) -> PreparedRow:
        self._pending.pop(txid, None)
        self._attempts.pop((txid.source, txid.incarnation, txid.number), None)
        row = self._held.pop(txid)
        self._intake.reserved_bytes -= _size(row)
        return row

    def _rival(self, txid: TxId) -> TxId | None:
        """Another attempt at the same transaction."""
        return self._attempts.get((txid.source, txid.incarnation, txid.number))


def _spans(tx: TxPrepare) -> Sequence[Span]:
    """All numbers a transaction settles here."""
    return disjoint([span for part in tx.settles for span in part.spans])


def _size(row: PreparedRow) -> int:
    """Bytes of bodies that a part will store."""
    return sum(len(send.body) for send in row.sends)
