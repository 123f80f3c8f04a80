"""What applications say of a message, against what brokers say became of it.

    sent        it was stored, handed out or taken, and its sender has no record of having sent it; or it was in another
                mailbox than it was sent to
    refused     its sender was told for certain that it was refused, and it was stored, handed out or taken
    taken       its owner recorded that a reader settled it, and that reader has no record of having taken it; or one
                life of its owner recorded that twice; or a reader took it, and no broker has handed it out
    size        its bodies had other lengths where it was stored, handed out or taken than where it was sent
    marked      one life of its owner handed it out again, and did not mark it as redelivered

Owns: these rules. Must not know: Spark, which records are missing (`doubts`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from causeway.pipeline.audit.pieces import JudgedPiece, Said, place_of
from causeway.pipeline.audit.words import MARKED, REFUSED, SENT, TAKEN_BY, UNCHANGED, AuditRow
from causeway.trace import Step

_SENT: Final = int(Step.SENT)
_REFUSED: Final = int(Step.REFUSED)
_RECEIVED: Final = int(Step.RECEIVED)
_SETTLED: Final = int(Step.SETTLED)
_DELIVERED: Final = int(Step.DELIVERED)
_SOMEWHERE: Final = tuple(map(int, (Step.STORED, Step.TAKEN, Step.DELIVERED, Step.RECEIVED)))
_EXISTS: Final = (*_SOMEWHERE, *map(int, (Step.COPIED, Step.PREPARED, Step.ACKNOWLEDGED, Step.SETTLED)))
_SIZED: Final = frozenset((*_SOMEWHERE, int(Step.COPIED), _SENT))


def sender_rules(piece: JudgedPiece) -> Iterator[Said]:
    """All of them."""
    yield from _sent(piece)
    yield from _refused(piece)
    for mailbox, steps in piece.places.items():
        if mailbox:
            yield from _taken(mailbox, steps.get(_DELIVERED, []), steps.get(_SETTLED, []), steps.get(_RECEIVED, []))
            yield from _marked(mailbox, steps.get(_DELIVERED, []))


def _sent(piece: JudgedPiece) -> Iterator[Said]:
    became = piece.having(*_EXISTS)
    if not became or any(row.dead_letter for row in piece.rows):  # a dead letter is sent by the broker it died at
        return
    if piece.having(_SENT, broker=False):
        astray = _astray(piece)
        reason = "it was in a mailbox that it was not sent to" if astray else ""
        yield Said(SENT, reason, astray, astray[0].mailbox if astray else "")
        return
    reason = "a broker took it from its sender, which has not sent it" if piece.having(_SENT) else "nobody sent it"
    yield Said(SENT, reason, sorted(piece.rows, key=place_of), became[0].mailbox, (piece.stream[0],))


def _astray(piece: JudgedPiece) -> list[AuditRow]:
    """Where it should not have been. What is published goes to subscriptions, what is in causal order over seats."""
    one = piece.rows[0]
    if one.topic or one.causal:
        return []
    return [row for row in piece.having(*_SOMEWHERE) if row.mailbox and row.mailbox != one.dest]


def _refused(piece: JudgedPiece) -> Iterator[Said]:
    told = [row for row in piece.having(_REFUSED, broker=False) if not row.uncertain]
    if told:
        shown = piece.having(*_SOMEWHERE)
        reason = "its sender was told that it was refused" if shown else ""
        yield Said(REFUSED, reason, (*told, *shown), shown[0].mailbox if shown else "")


def _taken(
    mailbox: str, delivered: list[AuditRow], settled: list[AuditRow], received: list[AuditRow]
) -> Iterator[Said]:
    done = [row for row in settled if row.broker]
    readers = sorted({row.peer for row in delivered if row.broker and row.peer})
    if done and readers:
        reason = "" if received else "it was settled, and its reader has no record of having taken it"
        if any(row.retained for row in delivered):
            pass  # a subscription that began anew settles again what its topic has kept
        elif len({(row.writer, row.life) for row in done}) < len(done):
            reason = "its owner recorded twice that it was settled"
        yield Said(TAKEN_BY, reason, (*delivered, *done), mailbox, tuple(readers))
    if received and not any(row.broker for row in delivered):
        reason = "a reader took it, and no broker has handed it out"
        yield Said(TAKEN_BY, reason, received, mailbox, everywhere=True)


def _marked(mailbox: str, delivered: list[AuditRow]) -> Iterator[Said]:
    lives: dict[tuple[str, int], list[AuditRow]] = {}
    for row in sorted(delivered, key=place_of):
        lives.setdefault((row.writer, row.life), []).append(row)
    later = [row for mine in lives.values() for row in mine[1:] if not row.retained]  # what a topic kept comes anew
    if later:
        unmarked = any(not row.redelivered for row in later)
        reason = "it came again, and was not marked as redelivered" if unmarked else ""
        yield Said(MARKED, reason, (*delivered,), mailbox)


def size_rule(stream_rows: list[AuditRow]) -> Iterator[tuple[int, int, Said]]:
    """Of rows that speak of the same ids, directly or over others: batches whose sizes differ, with their ids. Where
    somebody speaks of parts, they must be the whole batch together, each once. What is published, or sent in causal
    order, is cut and picked on its way."""
    for sent in stream_rows:
        if sent.step != _SENT or sent.broker or not sent.bytes or sent.topic or sent.causal:
            continue
        others: dict[tuple[object, ...], list[AuditRow]] = {}
        for row in stream_rows:
            if row.step in _SIZED and row.bytes and sent.first <= row.first and row.last <= sent.last:
                others.setdefault((row.writer, row.life, row.step, row.mailbox, row.epoch), []).append(row)
        wrong = next((mine for mine in others.values() if _tile(mine, sent) and _size(mine) != sent.bytes), None)
        compared = any(mine[0] is not sent and _tile(mine, sent) for mine in others.values())
        if compared:
            reason = f"{sent.bytes} bytes were sent, and {_size(wrong)} came" if wrong else ""
            yield sent.first, sent.last, Said(UNCHANGED, reason, (sent, *(wrong or ())), sent.mailbox or sent.dest)


def _size(rows: list[AuditRow]) -> int:
    return sum(row.bytes for row in rows)


def _tile(rows: list[AuditRow], whole: AuditRow) -> bool:
    following = whole.first
    for row in sorted(rows, key=lambda row: row.first):
        if row.first != following:
            return False
        following = row.last + 1
    return following == whole.last + 1
