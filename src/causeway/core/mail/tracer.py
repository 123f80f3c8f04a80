"""Writes the steps of a batch's life as trace records. Owns: the shape of the records, nothing else."""

from __future__ import annotations

from causeway.core.machine import Turn
from causeway.core.mail.answers import Piece
from causeway.core.mail.rows import StoredBatch
from causeway.core.messages import Deliver, Deposit
from causeway.trace import Step, TraceRecord


class Tracer:
    """Trace of one broker."""

    __slots__ = ("_broker",)

    def __init__(self, broker: str) -> None:
        self._broker = broker

    def deposit(self, turn: Turn, step: Step, d: Deposit, note: str = "") -> None:
        """Something happened to a batch on its way."""
        last = d.first + d.count - 1
        turn.effects.traces.append(
            TraceRecord(turn.now, self._broker, step, d.source, d.incarnation, d.dest, d.stream, d.first, last, note)
        )

    def delivery(self, turn: Turn, d: Deliver) -> None:
        """Messages were handed to a consumer."""
        last = d.first + d.count - 1
        turn.effects.traces.append(
            TraceRecord(
                turn.now, self._broker, Step.DELIVERED, d.source, d.incarnation, d.mailbox, d.stream, d.first, last
            )
        )

    def kept(self, turn: Turn, step: Step, mailbox: str, what: StoredBatch | Piece) -> None:
        """Something happened to messages in a mailbox."""
        turn.effects.traces.append(
            TraceRecord(
                turn.now,
                self._broker,
                step,
                what.source,
                what.incarnation,
                mailbox,
                what.stream,
                what.first,
                what.last,
            )
        )
