"""What an owner says to senders: taken, refused, delivered. Owns: which batches are answered at all (PBM Table 1)."""

from __future__ import annotations

from collections.abc import Sequence

from causeway.core.machine import Turn
from causeway.core.mail.answers import Piece, Settlement
from causeway.core.mail.box import Box
from causeway.core.mail.rows import StoredBatch
from causeway.core.mail.tracer import Tracer
from causeway.core.messages import Accepted, Confirmed, Deposit, Message, Rejected, Settle, Settled
from causeway.core.ports import Courier
from causeway.errors import Code
from causeway.limits import ID_MAX, NAME_BYTES_MAX, SEEN_SECONDS_MIN_CROWDED, SEEN_STREAMS_MAX
from causeway.ranges import IdSet, disjoint
from causeway.trace import Step
from causeway.types import Flag, ServiceClass

RELIABLE = int(Flag.RELIABLE)
CONFIRM = int(Flag.CONFIRM)
"""As plain integers: flags are looked at for every batch, and enum arithmetic is slow."""


class Replies:
    """Answers go to the source broker of a batch."""

    def __init__(self, courier: Courier, tracer: Tracer) -> None:
        self._courier = courier
        self._tracer = tracer

    def accept(self, turn: Turn, head: Deposit) -> None:
        """Acknowledge a batch with the meaning of its class."""
        if _answered(head.stream, head.flags):
            last = head.first + head.count - 1
            answer = Accepted(head.source, head.incarnation, head.dest, head.stream, head.first, last)
            self._courier.answer(turn, head.origin, answer)

    def accept_batch(self, turn: Turn, mailbox: str, b: StoredBatch) -> None:
        """Acknowledge what a mailbox has stored."""
        if _answered(b.stream, b.flags):
            answer = Accepted(b.source, b.incarnation, mailbox, b.stream, b.first, b.last)
            self._courier.answer(turn, b.origin, answer)

    def reject(self, turn: Turn, head: Deposit, code: Code, detail: str) -> None:
        """Say why a batch is not acknowledged."""
        self._tracer.deposit(turn, Step.REFUSED, head, code.name.lower())
        self._courier.answer(turn, head.origin, rejected(head, code, detail))

    def refuse(self, turn: Turn, head: Deposit, *, crowded: bool) -> None:
        """A batch finds no room in its mailbox."""
        code = Code.MAILBOX_FULL
        if crowded:
            code = Code.OVERLOADED
            detail = (
                f"source={head.source!r}: mailbox {head.dest!r} remembers {SEEN_STREAMS_MAX} streams of senders, its "
                f"limit; send under a name that it knows, or in {SEEN_SECONDS_MIN_CROWDED} s"
            )
        elif head.stream == ServiceClass.EXPRESS:
            detail = f"mailbox {head.dest!r} holds its maximum in memory"
        else:
            detail = f"mailbox {head.dest!r} has reached its bound"
        self.reject(turn, head, code, detail)

    def settled(self, turn: Turn, conn: int, head: Settle, settlement: Settlement) -> None:
        """Tell a consumer which messages are done with, and which are dead letters instead.

        What a transaction has locked is not spoken of: the consumer asks again, when it is decided.
        """
        spans, dead = head.spans, tuple(settlement.dead)
        if dead or settlement.locked:
            blocked = IdSet(sorted((*dead, *settlement.locked)))
            spans = tuple(span for first, last in disjoint(spans) for span in blocked.missing(first, last))
        if spans or dead:
            turn.send(conn, Settled(head.mailbox, head.consumer, spans, dead))

    def confirm(
        self,
        turn: Turn,
        box: Box,
        pieces: Sequence[Piece],
        step: Step = Step.SETTLED,
        note: str = "",
        *,
        transaction: str = "",
    ) -> None:
        """Settled by the application: acknowledge what only passed, confirm what was stored and asked for it."""
        name = box.mailbox.name
        for p in pieces:
            self._tracer.kept(turn, step, name, p, note, transaction=transaction)
            message: Message
            if not p.stored and p.stream != ServiceClass.EXPRESS:
                box.senders.pop(p.seq, None)
                if not _answered(p.stream, p.flags):
                    continue
                message = Accepted(p.source, p.incarnation, name, p.stream, p.first, p.last, True)
            elif p.flags & CONFIRM:
                message = Confirmed(p.source, p.incarnation, name, p.stream, p.first, p.last)
            else:
                continue
            self._courier.answer(turn, p.origin, message)


def rejected(head: Deposit, code: Code, detail: str) -> Rejected:
    """The refusal of a batch. It may be refused for being absurd: what is said of it must fit a frame all the same."""
    last = max(head.first, min(head.first + head.count - 1, ID_MAX))
    dest = head.dest[:NAME_BYTES_MAX]
    return Rejected(head.source, head.incarnation, dest, head.stream, head.first, last, code, detail)


def _answered(stream: int, flags: int) -> bool:
    """Whether a batch is acknowledged: always when transactional, else when its sender asked for it."""
    return bool(flags & RELIABLE) or stream >= ServiceClass.TRANSACTIONAL
