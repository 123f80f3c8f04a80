"""What is published: every subscription that was ready before gets it, and what is critical goes by two ways.

The item's owner records who is registered, what it stored, and, when all of them have accepted it, that it is settled.
So a message is owed to each that was registered from before it was stored until it was settled, all in the order of one
life of the owner. What a selector leaves out is not known here.

Of a critical message brokers record that they took it at each of the two items. It went by one way only if something
that was sent later went by the other way too; if nothing did, it may be on its way.
Owns: these rules. Must not know: Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from causeway.pipeline.audit.context import Context
from causeway.pipeline.audit.pieces import JudgedPiece, Said
from causeway.pipeline.audit.words import PUBLISHED, TWO_WAYS, WAITING, AuditRow
from causeway.topics.critical import is_critical, other_way
from causeway.trace import Step

_SENT: Final = int(Step.SENT)
_STORED: Final = int(Step.STORED)
_SETTLED: Final = int(Step.SETTLED)


def published_rule(piece: JudgedPiece, context: Context) -> Iterator[Said]:
    """Subscriptions that missed it."""
    one = piece.rows[0]
    if not one.topic or one.causal:
        return
    astray = next((box for box in piece.places if context.never_wanted(box, one.topic)), "")
    if astray:
        shown = [row for row in piece.rows if row.mailbox == astray]
        yield Said(PUBLISHED, "it came to a subscription that has never wanted it", shown, astray)
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


def _elsewhere(piece: JudgedPiece, item: str) -> Iterator[AuditRow]:
    return (row for row in piece.rows if row.mailbox != item)


def ways_of(piece: JudgedPiece) -> frozenset[str]:
    """Items at which brokers took it."""
    return frozenset(row.mailbox for row in piece.having(_SENT, broker=True))


def two_ways_rule(piece: JudgedPiece, used: frozenset[str]) -> Iterator[Said]:
    """Whether a critical message went by both ways; `used` are items that something sent later has come to."""
    one = piece.rows[0]
    if one.causal or not is_critical(one.topic):
        return
    ways = ways_of(piece)
    missing = sorted(other for way in ways if (other := other_way(way)) is not None and other not in ways)
    if not missing:
        if ways:
            yield Said(TWO_WAYS)
    elif missing[0] in used:
        yield Said(TWO_WAYS, "what was sent later went by two ways, and this by one", piece.rows, missing[0])
    else:
        yield Said(TWO_WAYS, outcome=WAITING)
