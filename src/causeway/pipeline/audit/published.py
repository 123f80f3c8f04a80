"""What is published, against who had subscribed: every subscription that was ready before gets the message.

The item's owner records who is registered, what it stored, and, when all of them have accepted it, that it is settled.
So a message is owed to each that was registered from before it was stored until it was settled, all in the order of one
life of the owner. What a selector leaves out is not known here. Owns: this rule. Must not know: Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from causeway.pipeline.audit.context import Context
from causeway.pipeline.audit.pieces import Piece, Said
from causeway.pipeline.audit.words import PUBLISHED, AuditRow
from causeway.trace import Step

_STORED: Final = int(Step.STORED)
_SETTLED: Final = int(Step.SETTLED)


def published_rule(piece: Piece, context: Context) -> Iterator[Said]:
    """Subscriptions that missed it."""
    one = piece.rows[0]
    if not one.topic or one.causal:
        return
    owed = False
    for item, steps in piece.places.items():
        for stored in steps.get(_STORED, ()):
            owner = (stored.writer, stored.life)
            settled = [row for row in steps.get(_SETTLED, ()) if (row.writer, row.life) == owner]
            if not settled:
                continue
            for mailbox in context.subscribed(item, owner, one.topic, stored.sequence, settled[0].sequence):
                owed = True
                if mailbox not in piece.places:
                    reason = "the subscription was there before, and never got it"
                    yield Said(PUBLISHED, reason, (stored, *settled, *_elsewhere(piece, item)), mailbox)
                    return
    if owed:
        yield Said(PUBLISHED)


def _elsewhere(piece: Piece, item: str) -> Iterator[AuditRow]:
    return (row for row in piece.rows if row.mailbox != item)
