"""Rows from the owner to every member: operations in order, and all older rows to members that lack them.

Owns: tenure of an owner (append, confirm, commit), the follower's side of it, transfers to newcomers.
Must not know: what rows mean, who should be a member.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import msgspec

from causeway.core.events import Committed, OwnershipGained, OwnershipResumed
from causeway.core.groups.registry import Registry
from causeway.core.groups.state import END, Group, Operation, Tenure, Transfer, position_row
from causeway.core.machine import Then, Turn
from causeway.core.messages import (
    Chosen,
    Chunk,
    Chunked,
    Copied,
    Inquire,
    Installed,
    NotMember,
    Outbid,
    Outdated,
    Replicate,
)
from causeway.core.messages.soundness import rows_fault, writes_fault
from causeway.limits import CHUNK_SINCE_BYTES_MAX, GROUP_PENDING_MAX, RESENT_AT_ONCE_MAX
from causeway.store.base import Delete, Page, Put, Row, Write
from causeway.types import BrokerId, Key, Peer

RETRIES_DOUBLED = 3
"""The pause before something is sent again doubles so often while nothing is answered."""

_encode = msgspec.msgpack.Encoder().encode
_operations_decoder: msgspec.msgpack.Decoder[list[list[Write]]] = msgspec.msgpack.Decoder(list[list[Write]])
_rows_decoder: msgspec.msgpack.Decoder[list[Row]] = msgspec.msgpack.Decoder(list[Row])


class Replication:
    """Both ends of the copying."""

    def __init__(self, registry: Registry) -> None:
        self._r = registry
        self._lineage = 0
        self.loads_wanted: list[tuple[Key, BrokerId | None]] = []
        """Loads to start: (group, member to transfer to, or None for our own take-over)."""

    # Owner -----------------------------------------------------------------------------------------------------
    def begin(self, turn: Turn, group: Group) -> None:
        """We own the epoch just installed: go on where we were, or load what a former owner left."""
        old, seq = group.tenure, group.position[1]
        self._lineage += 1
        tenure = group.tenure = Tenure(seq, self._lineage, committed=seq)
        tenure.tokens = {m.peer.id: m.token for m in group.config.members if m.peer.id != self._r.me.id}
        if old is not None:
            # Ours before and ours now: operations on their way stay on their way, to the new members.
            tenure.loaded, tenure.pending, tenure.local = old.loaded, old.pending, old.local
            tenure.committed, tenure.lineage, tenure.take = old.committed, old.lineage, old.take
        else:
            tenure.pending = deque()
            tenure.local = -1
        self.announce(turn, group)
        if not tenure.loaded:
            self.loads_wanted.append((group.key, None))
        else:
            turn.tell(OwnershipResumed(group.key))
        self._retry_later(turn, group, tenure)
        self.advance(turn, group)

    def announce(self, turn: Turn, group: Group) -> None:
        """Tell the epoch to members that have not installed it."""
        tenure = group.tenure
        assert tenure is not None
        for member in group.config.members:
            if member.peer.id != self._r.me.id and member.peer.id not in tenure.confirmed:
                self._r.send(turn, member.peer.id, Chosen(group.key, group.config, tenure.base))

    def loaded(self, turn: Turn, group: Group, rows: list[Row], next_key: bytes | None) -> None:
        """A former owner's rows are in memory: the group serves as soon as everybody called complete has them too."""
        assert group.tenure is not None
        group.tenure.taken = (rows, next_key)
        self._serve(turn, group)

    def _serve(self, turn: Turn, group: Group) -> None:
        """Answer for the rows we took over, once they are on every complete member.

        An owner that had the missing operations in memory may have called members complete, and died of it before
        they arrived: what we have on disk then need not be what another one of them would be elected with.
        """
        tenure = group.tenure
        assert tenure is not None
        if tenure.taken is None or not all(
            m.peer.id in tenure.confirmed or m.peer.id == self._r.me.id or m.peer.id in group.config.incomplete
            for m in group.config.members
        ):
            return
        rows, next_key = tenure.taken
        tenure.taken, tenure.loaded = None, True
        turn.tell(OwnershipGained(group.key, group.config, rows, next_key))
        self._r.touch(group.key)

    def append(self, turn: Turn, group: Group, writes: Sequence[Write], span: int, then: Then | None) -> None:
        """Replicate one operation (see ports.Groups)."""
        tenure = group.tenure
        assert tenure is not None and span > 0
        seq = group.position[1]
        end = seq + span
        body = _encode(writes) if tenure.tokens else b""
        operation = Operation(seq, end, body, then)
        group.position = (group.meta.config.epoch, end)
        tenure.pending.append(operation)
        self._r.persist_own(turn, group, writes, end)
        self._r.out.writes.append(position_row(group.key, group.position))
        if tenure.transfers:
            self._keep_for_transfers(group.key, tenure, writes, len(body))
        for broker in tenure.confirmed:
            self._replicate(turn, group, broker, operation)
        if not tenure.retrying:
            self._retry_later(turn, group, tenure)

    def _keep_for_transfers(self, key: Key, tenure: Tenure, writes: Sequence[Write], size: int) -> None:
        """Pages that are being read are brought up to date with what is written meanwhile."""
        for broker, transfer in tenure.transfers.items():
            if transfer.loading:
                transfer.since.extend(writes)
                transfer.since_bytes += size
                if transfer.since_bytes > CHUNK_SINCE_BYTES_MAX:
                    transfer.loading = 0  # too much to bring the page up to date with: read it again
                    self.loads_wanted.append((key, broker))

    def _retry_later(self, turn: Turn, group: Group, tenure: Tenure) -> None:
        tenure.retrying = True
        # Brokers that are too busy to answer in time are not helped by more questions.
        wait = self._r.settings.retry << min(tenure.retries, RETRIES_DOUBLED)
        self._r.deadlines.set(("retry", group.key), turn.now + wait)

    def may_append(self, group: Group) -> bool:
        """Whether an operation would be accepted now."""
        tenure = group.tenure
        return (
            tenure is not None
            and tenure.loaded
            and not tenure.frozen
            and not tenure.blocked
            and not group.meta.promised[0]
            and len(tenure.pending) < GROUP_PENDING_MAX
        )

    def _replicate(self, turn: Turn, group: Group, to: BrokerId, operation: Operation) -> None:
        tenure = group.tenure
        assert tenure is not None
        seq, epoch = operation.seq, group.meta.config.epoch
        entry = (group.key, epoch, tenure.tokens[to], seq, operation.end - seq)
        self._r.out.replicate(to, entry, operation.body)

    def on_persisted(self, turn: Turn, key: Key, end: int, lineage: int) -> None:
        """Our own storage has an operation; one of an earlier ownership says nothing about ours."""
        group = self._r.groups.get(key)
        tenure = group.tenure if group is not None else None
        if group is not None and tenure is not None and tenure.lineage == lineage and end > tenure.local:
            tenure.local = end
            self.advance(turn, group)

    def on_installed(self, turn: Turn, peer: Peer, head: Installed) -> None:
        group = self._r.groups.get(head.group)
        if group is not None and head.epoch > group.config.epoch:
            self._r.send(turn, peer.id, Inquire(head.group, group.config.epoch))  # an epoch of ours we never heard of
        if group is None or group.tenure is None or head.epoch != group.config.epoch:
            return
        if group.member(peer.id) is None or head.seq > group.position[1]:
            return
        tenure = group.tenure
        first_kept = tenure.pending[0].seq if tenure.pending else group.position[1]
        if head.seq < first_kept:
            if peer.id in group.config.incomplete:
                tenure.transfers.pop(peer.id, None)
            tenure.behind[peer.id] = None
            self._r.touch(head.group)
            return
        tenure.retries = 0
        tenure.confirmed[peer.id] = max(head.seq, tenure.confirmed.get(peer.id, -1))
        if peer.id in group.config.incomplete and peer.id not in tenure.transfers and peer.id not in tenure.whole:
            tenure.transfers[peer.id] = Transfer()
            self.loads_wanted.append((group.key, peer.id))
        self._resend(turn, group, peer.id)
        self.advance(turn, group)
        self._serve(turn, group)
        self._r.touch(head.group)

    def on_copied(self, turn: Turn, peer: Peer, head: Copied) -> None:
        groups, broker = self._r.groups, peer.id
        for key, epoch, seq in head.positions:
            group = groups.get(key)
            tenure = group.tenure if group is not None else None
            if group is None or tenure is None or epoch != group.meta.config.epoch:
                continue
            confirmed = tenure.confirmed
            if broker in confirmed and confirmed[broker] < seq <= group.position[1]:
                confirmed[broker] = seq
                tenure.retries = 0
                self.advance(turn, group)

    def advance(self, turn: Turn, group: Group) -> None:
        """Report what is on every member of the epoch."""
        tenure = group.tenure
        assert tenure is not None
        if len(tenure.confirmed) < len(tenure.tokens):
            return
        safe = tenure.local
        for seq in tenure.confirmed.values():
            if seq < safe:
                safe = seq
        if safe > tenure.committed:
            tenure.committed = safe
        pending = tenure.pending
        while pending and pending[0].end <= tenure.committed:
            then = pending.popleft().then
            if then is not None:
                _tell_committed(turn, then)
        if tenure.frozen and not pending:
            self._r.touch(group.key)

    def retry(self, turn: Turn, group: Group) -> None:
        """Send again what went unanswered: the epoch, the oldest operations, the interval of a transfer."""
        tenure = group.tenure
        if tenure is None:
            return
        tenure.retrying = False
        tenure.retries += 1
        self.announce(turn, group)
        for broker in tenure.confirmed:
            self._resend(turn, group, broker)
        for broker, transfer in tenure.transfers.items():
            if not transfer.loading and turn.now - transfer.sent_at >= self._r.settings.retry:
                self.loads_wanted.append((group.key, broker))
        if tenure.pending or tenure.transfers or len(tenure.confirmed) < len(tenure.tokens):
            self._retry_later(turn, group, tenure)

    def _resend(self, turn: Turn, group: Group, to: BrokerId) -> None:
        tenure = group.tenure
        assert tenure is not None
        confirmed = tenure.confirmed[to]
        sent = 0
        for operation in tenure.pending:
            if operation.end > confirmed:
                if not operation.body:
                    # It was written while we were alone; the newcomer gets its rows by transfer.
                    continue
                self._replicate(turn, group, to, operation)
                sent += 1
                if sent == RESENT_AT_ONCE_MAX:
                    break

    # Transfer --------------------------------------------------------------------------------------------------
    def chunk(self, turn: Turn, group: Group, to: BrokerId, token: int, page: Page) -> None:
        """Send the interval just loaded, brought up to date with what was appended meanwhile."""
        tenure = group.tenure
        transfer = tenure.transfers.get(to) if tenure is not None else None
        member = group.member(to)
        if transfer is None or member is None or transfer.loading != token:
            return
        stop = page.next or END
        rows = {row.key: row for row in page.rows}
        for write in transfer.since:
            if isinstance(write, Put):
                if transfer.start <= write.key < stop:
                    rows[write.key] = Row(write.key, write.seq, write.value)
            else:
                last = write.stop or write.start + b"\x00"
                for key in [k for k in rows if write.start <= k < last]:
                    del rows[key]
        transfer.loading, transfer.stop, transfer.sent_at = 0, stop, turn.now
        transfer.since.clear()
        transfer.since_bytes = 0
        head = Chunk(group.key, group.config.epoch, member.token, group.position[1], transfer.start, stop)
        self._r.send(turn, to, head, _encode([rows[k] for k in sorted(rows)]))

    def on_chunked(self, turn: Turn, peer: Peer, head: Chunked) -> None:
        group = self._r.groups.get(head.group)
        if group is None or group.tenure is None or head.epoch != group.config.epoch:
            return
        transfer = group.tenure.transfers.get(peer.id)
        if transfer is None or transfer.stop is None or head.start != transfer.start:
            return
        group.tenure.retries = 0
        if head.ok:
            transfer.start = transfer.stop
        transfer.stop = None
        transfer.loading = 0  # a second reading of the same interval, begun for want of an answer, is void
        if transfer.start == END:
            del group.tenure.transfers[peer.id]
            group.tenure.whole[peer.id] = None
            self._r.touch(head.group)
        else:
            self.loads_wanted.append((group.key, peer.id))

    # Follower --------------------------------------------------------------------------------------------------
    def on_replicate(self, turn: Turn, peer: Peer, head: Replicate, body: bytes) -> None:
        try:
            listed = _operations_decoder.decode(body)
        except msgspec.MsgspecError:
            return
        if len(listed) != len(head.operations):
            return
        r, broker = self._r, peer.id
        everything, copied = r.out.writes, r.out.copied(broker)
        for (key, epoch, token, seq, span), writes in zip(head.operations, listed, strict=True):
            group = self._follower(turn, peer, key, epoch, token)
            if group is None:
                continue
            if seq == group.position[1]:
                if writes_fault(writes, key) is not None:
                    continue
                group.position = (epoch, seq + span)
                r.write(turn, writes, group.meta.config)
                everything.append(position_row(key, group.position))
            # Persists are kept in order: this confirms nothing that is not durable, also when it repeats itself.
            copied.append((key, epoch, group.position[1]))

    def on_chunk(self, turn: Turn, peer: Peer, head: Chunk, body: bytes) -> None:
        group = self._follower(turn, peer, head.group, head.epoch, head.token)
        if group is None:
            return
        ok = head.at == group.position[1]
        writes: list[Write] = []
        if ok:
            try:
                rows = _rows_decoder.decode(body)
            except msgspec.MsgspecError:
                return
            if rows_fault(rows) is not None:
                return
            writes.append(Delete(head.group, head.start, head.stop))
            writes += [Put(head.group, row.key, row.seq, row.value) for row in rows]
        self._r.persist(turn, writes, peer.id, Chunked(head.group, head.epoch, head.start, ok), config=group.config)

    def _follower(self, turn: Turn, peer: Peer, key: Key, epoch: int, token: int) -> Group | None:
        """The group, if this is its owner speaking in the epoch we are in; otherwise the peer is told."""
        r = self._r
        group = r.groups.get(key)
        if group is None:
            # Perhaps the news of our membership is still on its way: ask before denying it.
            r.send(turn, peer.id, Inquire(key, 0))
            return None
        meta = group.meta
        config = meta.config
        if config.epoch == epoch and meta.token == token and not meta.promised[0]:
            return group if config.owner == peer.id else None
        if config.epoch > epoch:
            r.send(turn, peer.id, Outdated(key, config))
        elif config.epoch < epoch:
            r.send(turn, peer.id, Inquire(key, config.epoch))
        elif meta.token != token:
            r.send(turn, peer.id, NotMember(key, epoch, r.token_for(key)))
        else:
            r.send(turn, peer.id, Outbid(key, epoch + 1, meta.promised))
        return None


def _tell_committed(turn: Turn, then: Then) -> None:
    """Have `then` run in this turn, behind everything told before; many in a row are one event."""
    inbox = turn.inbox
    if inbox and type(last := inbox[-1]) is Committed:
        last.thens.append(then)
    else:
        inbox.append(Committed([then]))
