"""Writes the steps of a batch's life as trace records: under the ids of its sender, wherever it is.

Owns: the shape of the records, and what a batch is called by who sent it. Must not know: who reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from causeway.core.machine import Turn
from causeway.core.mail.answers import Piece
from causeway.core.mail.rows import BATCH, BatchHead, StoredBatch, decode_head
from causeway.core.messages import Causal, Config, Deliver, Deposit, SendPart
from causeway.core.shards.rows import split
from causeway.limits import NAMES_REMEMBERED_MAX
from causeway.names import SEATS, is_seat, is_shard
from causeway.store.base import Put, Write
from causeway.topics import item_of as find_item
from causeway.trace import MEMBERS_APART, Step, TraceRecord, transaction_name
from causeway.types import NORMAL_PRIORITY, SEAT_PREFIX, Flag, Instant, ServiceClass, Span

_RELIABLE: Final = int(Flag.RELIABLE)
_WORDS: Final = {int(Flag.RETAIN): "retained", int(Flag.REDELIVERED): "redelivered"}
_APART: Final = sum(_WORDS)
_ORDERED: Final = int(ServiceClass.TRANSACTIONAL)
_COMMITTED: Final = int(ServiceClass.COMMITTED)
_LENGTH_BYTES: Final = 4
"""In a batch's body, for each of its messages (see `wire.body`)."""

item_of = lru_cache(maxsize=NAMES_REMEMBERED_MAX)(find_item)


class SentAs(NamedTuple):
    """What messages are to their sender."""

    source: str
    incarnation: int
    dest: str
    stream: int
    spans: Sequence[Span]
    """Their ids; several runs when a selector has picked some."""
    service: int
    topic: str
    seat: str = ""
    """In causal order: where it is, or where it came from."""


class Tracer:
    """Trace of one broker."""

    __slots__ = ("_broker",)

    def __init__(self, broker: str) -> None:
        self._broker = broker

    def deposit(self, turn: Turn, step: Step, d: Deposit, note: str = "", *, size: int = 0, peer: str = "") -> None:
        """Something happened to a batch on its way; `size` is that of its body."""
        if step == Step.TAKEN and not note:
            note = apart(d.priority, d.flags, delayed=bool(d.delay))
        last = d.first + d.count - 1
        reliable = bool(d.flags & _RELIABLE) or d.stream >= _ORDERED
        count = size - _LENGTH_BYTES * d.count if size else 0
        if d.published is None and d.causal is None:
            # fmt: off
            turn.effects.traces.append(TraceRecord(
                turn.now, self._broker, step, d.source, d.incarnation, d.dest, d.stream, d.first, last, note,
                d.stream, reliable, False, "", d.dest, "", peer, 0, 0, count,
            ))
            # fmt: on
            return
        sent = sent_as(d, d.dest, last, d.causal)
        if sent is not None:
            mailbox = d.dest if d.causal is None else d.causal.dest
            self._write(turn, step, sent, (note, reliable, mailbox, peer, 0, 0, count))

    def delivery(self, turn: Turn, d: Deliver, size: int, peer: str, note: str = "") -> None:
        """Messages were handed to a consumer."""
        note = f"{note} {apart(d.priority, d.flags)}".strip()
        last = d.first + d.count - 1
        reliable = bool(d.flags & _RELIABLE) or d.stream >= _ORDERED
        count = size - _LENGTH_BYTES * d.count
        if d.published is None:
            # fmt: off
            turn.effects.traces.append(TraceRecord(
                turn.now, self._broker, Step.DELIVERED, d.source, d.incarnation, d.mailbox, d.stream, d.first, last,
                note, d.stream, reliable, False, "", d.mailbox, "", peer, 0, 0, count,
            ))
            # fmt: on
            return
        sent = sent_as(d, d.mailbox, last)
        if sent is not None:
            self._write(turn, Step.DELIVERED, sent, (note, reliable, d.mailbox, peer, 0, 0, count))

    def kept(
        self,
        turn: Turn,
        step: Step,
        mailbox: str,
        what: StoredBatch | Piece,
        note: str = "",
        *,
        config: Config | None = None,
        transaction: str = "",
    ) -> None:
        """Something happened to messages in a mailbox; of what is stored, `config` says on whom."""
        if isinstance(what, StoredBatch) and not note:
            note = apart(what.priority, what.flags, delayed=bool(what.ready))
        reliable = bool(what.flags & _RELIABLE) or what.stream >= _ORDERED
        size = len(what.body) - _LENGTH_BYTES * what.count if isinstance(what, StoredBatch) else 0
        epoch, copies, members = _held_by(config)
        if what.published is None:
            # fmt: off
            turn.effects.traces.append(TraceRecord(
                turn.now, self._broker, step, what.source, what.incarnation, mailbox, what.stream, what.first,
                what.last, note, what.stream, reliable, False, "", mailbox, "", members, epoch, copies, size,
                transaction,
            ))
            # fmt: on
            return
        sent = sent_as(what, mailbox, what.last)
        if sent is not None:
            self._write(turn, step, sent, (note, reliable, mailbox, members, epoch, copies, size), transaction)

    def grouped(
        self,
        turn: Turn,
        step: Step,
        whose: tuple[str, int, int],
        sends: Iterable[SendPart],
        note: str = "",
        *,
        config: Config | None = None,
    ) -> None:
        """Something happened to what a transaction sends; `whose` is its source, incarnation and number."""
        epoch, copies, members = _held_by(config)
        transaction = transaction_name(*whose)
        for part in sends:
            topic = part.published.topic if part.published is not None else ""
            size = part.size - _LENGTH_BYTES * part.count
            ids = ((part.first, part.first + part.count - 1),)
            sent = SentAs(*whose[:2], item_of(topic) if topic else part.dest, _COMMITTED, ids, _COMMITTED, topic)
            self._write(turn, step, sent, (note, True, part.dest, members, epoch, copies, size), transaction)

    def copied(self, now: Instant, config: Config, writes: Sequence[Write]) -> list[TraceRecord]:
        """For each batch among the rows of a group, that our storage has it; written when it does."""
        turn = Turn(now)
        owner = next((m.peer.name for m in config.members if m.peer.id == config.owner), "")
        for write in writes:
            if not isinstance(write, Put) or write.key[:1] != BATCH:
                continue
            try:
                head = decode_head(write.value)
            except msgspec.MsgspecError:
                continue
            last = head.first + head.count - 1
            mailbox = config.name
            if is_shard(mailbox):
                parts = split(write.key)
                mailbox = parts[0] if parts is not None else ""
            sent = sent_as(head, mailbox, last)
            if sent is not None:
                reliable = bool(head.flags & _RELIABLE) or head.stream >= _ORDERED
                how = (
                    apart(head.priority, head.flags, delayed=bool(head.ready)),
                    reliable,
                    mailbox,
                    owner,
                    config.epoch,
                    0,
                    _size_of(head.body) - _LENGTH_BYTES * head.count,
                )
                self._write(turn, Step.COPIED, sent, how)
        return turn.effects.traces

    def subscription(self, turn: Turn, step: Step, item: str, *, mailbox: str, pattern: str, note: str) -> None:
        """An item's owner forwards to a subscription from now on, or no longer."""
        turn.effects.traces.append(
            TraceRecord(turn.now, self._broker, step, "", 0, item, 0, 0, 0, note, topic=pattern, mailbox=mailbox)
        )

    def _write(
        self,
        turn: Turn,
        step: Step,
        sent: SentAs,
        how: tuple[str, bool, str, str, int, int, int],
        transaction: str = "",
    ) -> None:
        """A record for each run of ids; the bytes are with the first."""
        note, reliable, mailbox, peer, epoch, copies, size = how
        for first, last in sent.spans:
            # fmt: off
            turn.effects.traces.append(TraceRecord(
                turn.now, self._broker, step, sent.source, sent.incarnation, sent.dest, sent.stream, first, last, note,
                sent.service, reliable, bool(sent.seat), sent.topic, mailbox, sent.seat, peer, epoch, copies, size,
                transaction,
            ))
            # fmt: on
            size = 0


def apart(priority: int, flags: int, *, delayed: bool = False) -> str:
    """Why messages may be handed out in another order than they came in; empty for most. An audit must know."""
    if priority == NORMAL_PRIORITY and not flags & _APART and not delayed:
        return ""
    why = [f"priority {priority}"] if priority != NORMAL_PRIORITY else []
    why += ["delayed"] if delayed else []
    why += [word for flag, word in _WORDS.items() if flags & flag]
    return " ".join(why)


def sent_as(
    batch: Deposit | Deliver | StoredBatch | Piece | BatchHead, dest: str, last: int, causal: Causal | None = None
) -> SentAs | None:
    """What messages of a batch that is at `dest`, or on its way there, are to who sent them; None for a mark between
    seats, which nobody sent."""
    was = batch.published
    own = ((batch.first, last),)
    if causal is not None:
        topic = was.topic if was is not None else ""
        if not causal.dest and not topic:
            return None
        seat = dest.removeprefix(SEAT_PREFIX)
        if was is None or not was.source:
            return SentAs(batch.source, batch.incarnation, SEATS, _ORDERED, own, causal.service, topic, seat)
        spans = was.ids(last - batch.first + 1)
        return SentAs(was.source, was.incarnation, SEATS, _ORDERED, spans, causal.service, topic, seat)
    if was is None:
        return SentAs(batch.source, batch.incarnation, dest, batch.stream, own, batch.stream, "")
    if not was.source:
        return SentAs(batch.source, batch.incarnation, item_of(was.topic), batch.stream, own, batch.stream, was.topic)
    spans = was.ids(last - batch.first + 1)
    if is_seat(batch.source):
        seat = batch.source.removeprefix(SEAT_PREFIX)
        return SentAs(was.source, was.incarnation, SEATS, _ORDERED, spans, was.stream, was.topic, seat)
    return SentAs(was.source, was.incarnation, item_of(was.topic), was.stream, spans, was.stream, was.topic)


def _size_of(body: msgspec.Raw) -> int:
    """Of an encoded body: how long it is without what msgpack puts before it."""
    size = len(memoryview(body))
    return size - (2 if size <= 0xFF + 2 else 3 if size <= 0xFFFF + 3 else 5)


def _held_by(config: Config | None) -> tuple[int, int, str]:
    """Epoch, copies and the names of those who have one; nothing of what is not stored."""
    if config is None:
        return 0, 0, ""
    return config.epoch, len(config.members), MEMBERS_APART.join([member.peer.name for member in config.members])
