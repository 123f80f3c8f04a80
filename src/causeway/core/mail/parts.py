"""Atomic transactions, the holding side: mailboxes we own hold their parts ready and carry out what was decided.

Owns: the conversation with the coordinator. Must not know: how a decision is made (Coordinator).
"""

from __future__ import annotations

from causeway.core.machine import Turn
from causeway.core.mail.box import Box, Done
from causeway.core.mail.operations import Operations
from causeway.core.mail.replies import Replies
from causeway.core.mail.rows import TxId
from causeway.core.mail.tracer import Tracer
from causeway.core.messages import TxAsk, TxDecide, TxDone, TxPrepare, TxPrepared
from causeway.core.ports import Courier, Groups
from causeway.trace import Step, transaction_name
from causeway.types import SECOND

DOUBT = 2 * SECOND
"""A part held for so long without a decision makes us ask for it."""


class Parts:
    """Parts of transactions in the mailboxes of one office. All methods but `ask` need a group that may be written."""

    def __init__(
        self, me: bytes, groups: Groups, courier: Courier, operations: Operations, replies: Replies, *, tracer: Tracer
    ) -> None:
        self._me = me
        self._groups = groups
        self._courier = courier
        self._operations = operations
        self._replies = replies
        self._tracer = tracer

    def prepare(self, turn: Turn, box: Box, head: TxPrepare, body: bytes) -> None:
        """Hold a part ready, invisible."""
        mailbox = box.mailbox
        obstacle = mailbox.participant.obstacle(head, len(body), turn.now)
        if obstacle is not None:
            self._courier.answer(turn, head.origin, _prepared(head, *obstacle))
            return
        writes = mailbox.participant.prepare(head, body, self._groups.position(box.mailbox.key), turn.now)

        def done(turn: Turn) -> None:
            whose, config = (head.source, head.incarnation, head.number), self._groups.config(box.mailbox.key)
            self._tracer.grouped(turn, Step.PREPARED, whose, head.sends, config=config)
            self._courier.answer(turn, head.origin, _prepared(head))

        txid = TxId(head.source, head.incarnation, head.number, head.attempt)
        if writes:
            self._operations.append(turn, box, writes, 1, done)
        elif mailbox.participant.prepared_at(txid) is None:
            done(turn)

    def decide(self, turn: Turn, box: Box, head: TxDecide) -> None:
        """Carry out a decision."""
        txid = TxId(head.source, head.incarnation, head.number, head.attempt)
        part = box.mailbox.participant
        if part.prepared_at(txid) is not None or txid in box.deciding or (head.committed and part.is_behind(txid)):
            return  # something must be on all copies, or decided, before; the coordinator says it again

        def done(turn: Turn) -> None:
            answer = TxDone(head.source, head.incarnation, head.number, head.attempt, head.mailbox)
            self._courier.answer(turn, head.origin, answer)

        self._carry_out(turn, box, txid, done, committed=head.committed)

    def _carry_out(self, turn: Turn, box: Box, txid: TxId, done: Done | None, *, committed: bool) -> None:
        decided = box.mailbox.participant.decide(
            txid, self._groups.position(box.mailbox.key), turn.now, committed=committed
        )

        def confirmed(turn: Turn) -> None:
            box.deciding.pop(txid, None)
            name = transaction_name(txid.source, txid.incarnation, txid.number)
            for batch in decided.batches:
                self._operations.stored(turn, box, batch, name)
            self._replies.confirm(turn, box, decided.confirm, transaction=name)
            if done is not None:
                done(turn)

        if decided.writes:
            box.deciding[txid] = None
            self._operations.append(turn, box, decided.writes, decided.span, confirmed)
        else:
            confirmed(turn)

    def ask(self, turn: Turn, box: Box) -> None:
        """Ask the owner of the sender's mailbox about transactions in doubt."""
        for txid in box.mailbox.participant.names():
            ask = TxAsk(txid.source, txid.incarnation, txid.number, txid.attempt, box.mailbox.name, self._me)
            self._courier.post(turn, txid.source, ask)


def _prepared(head: TxPrepare, code: int = 0, detail: str = "") -> TxPrepared:
    return TxPrepared(head.source, head.incarnation, head.number, head.attempt, head.mailbox, code == 0, code, detail)
