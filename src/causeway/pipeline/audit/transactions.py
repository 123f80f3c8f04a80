"""Transactions: sends, publications and acknowledgements happen together or not at all.

The rules of single streams say of each part what is known (`part_of`); here the parts of one transaction are brought
together. It is torn if its sender was told that it was refused and a part was stored or taken; if one part was
acknowledged and another one was not; or if it was acknowledged, or a part of it stored, and another part never was,
although its mailbox has stored something that the same sender sent later. If nothing later came there, the decision may
be on its way: that is unknown.

Owns: this rule. Must not know: Spark, which records are missing (`doubts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final, NamedTuple

from causeway.pipeline.audit.pieces import JudgedPiece
from causeway.pipeline.audit.words import ATOMIC, HELD, PART, UNKNOWN, VIOLATED, Evidence, Judgement, evidence_of
from causeway.trace import Step

_ACKNOWLEDGED: Final = int(Step.ACKNOWLEDGED)
_SHOWN: Final = tuple(map(int, (Step.STORED, Step.TAKEN, Step.DELIVERED, Step.RECEIVED)))
_DONE: Final = (*_SHOWN, *map(int, (Step.SETTLED, Step.EXPIRED, Step.DEAD)))
REFUSED_YET: Final = "it was refused, and a part of it was carried out"
NOT_ALL_TOLD: Final = "one part of its transaction was acknowledged, and this one was not"
NOT_ALL_DONE: Final = "its transaction was committed, and this part was never carried out"


class PartFacts(NamedTuple):
    """What is known of one part, as words in an outcome."""

    told: bool
    """Its sender was told that it is committed."""
    decided: bool
    """A broker recorded that it is."""
    refused: bool
    """Its sender was told that it is not."""
    done: bool
    """It was stored, or went on."""
    passed: bool
    """Something that was sent later was stored in the same mailbox."""

    def __str__(self) -> str:
        return " ".join(name for name, holds in zip(self._fields, self, strict=True) if holds)


def facts_in(text: str) -> PartFacts:
    """From what `str` made of them."""
    words = set(text.split())
    return PartFacts(*(name in words for name in PartFacts._fields))


def part_of(piece: JudgedPiece, *, passed: bool) -> tuple[str, PartFacts] | None:
    """The name of the transaction in which messages were sent, and what is known of this part; None if in none."""
    name = next((row.transaction for row in piece.rows if row.transaction and row.step != Step.SETTLED), "")
    if not name:
        return None
    told = bool(piece.having(_ACKNOWLEDGED, broker=False))
    decided = bool(piece.having(_ACKNOWLEDGED, broker=True))
    refused = any(not row.uncertain for row in piece.having(int(Step.REFUSED), broker=False))
    done = bool(piece.having(*_DONE))
    return name, PartFacts(told, decided, refused, done, passed)


def settled_in(piece: JudgedPiece) -> Iterator[tuple[str, PartFacts]]:
    """Transactions in which brokers recorded that messages were acknowledged by their reader."""
    for name in sorted({row.transaction for row in piece.having(int(Step.SETTLED), broker=True) if row.transaction}):
        yield name, PartFacts(told=False, decided=False, refused=False, done=True, passed=False)


def judge_transactions(parts: Iterable[Judgement]) -> Iterator[Judgement]:
    """Verdicts from judgements of kind PART, which come by transaction."""
    for _, mine in groupby(parts, lambda part: part.transaction):
        yield from _judge(sorted(mine))


def _judge(parts: list[Judgement]) -> Iterator[Judgement]:
    facts = [facts_in(part.outcome) for part in parts]
    sends = [(part, known) for part, known in zip(parts, facts, strict=True) if part.service]
    refused = any(known.refused for known in facts)
    decided = any(known.told or known.decided for known in facts)
    for part, known in sends:
        reason, outcome = "", VIOLATED
        if refused and any(one.done for one in facts):
            reason = REFUSED_YET
        elif _lacks(known, facts):
            reason = NOT_ALL_TOLD
        elif not known.done and (decided or any(one.done for one in facts)):
            reason, outcome = NOT_ALL_DONE, VIOLATED if known.passed else UNKNOWN
        if reason:
            evidence = _together(parts)
            domains = tuple(sorted({domain for one in parts for domain in one.domains}))
            yield part._replace(guarantee=ATOMIC, outcome=outcome, reason=reason, domains=domains, evidence=evidence)
            return
    if sends:
        messages = sum(part.messages for part, _ in sends)
        yield Judgement(sends[0][0].service, ATOMIC, HELD, messages, *sends[0][0][4:8])


def _lacks(known: PartFacts, facts: list[PartFacts]) -> bool:
    told, decided = any(one.told for one in facts), any(one.decided for one in facts)
    return (told and not known.told) or (decided and not known.decided)


def _together(parts: list[Judgement]) -> tuple[Evidence, ...]:
    return tuple({one: None for part in parts for one in part.evidence[:4]})[:16]


def part_judgement(piece: JudgedPiece, service: str, name: str, facts: PartFacts, *, sends: bool) -> Judgement:
    """A part on its way to `judge_transactions`; of what it settles, `service` is empty."""
    count = piece.last - piece.first + 1
    ids = (*piece.stream, piece.first, piece.last, piece.stream[2], "")
    domains = tuple(sorted({row.domain for row in piece.rows if row.broker}))
    evidence = evidence_of(sorted(piece.rows, key=lambda row: (row.writer, row.life, row.sequence)))
    return Judgement(service if sends else "", PART, str(facts), count, *ids, domains, (), evidence, name)
