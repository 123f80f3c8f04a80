"""The audit of a lake that one process can hold, row by row: what `judging` has Spark do with a larger one.

Owns: how few rows are brought together. Must not know: the rules, Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa

from causeway.pipeline.audit.context import CONTEXT_STEPS, context_of
from causeway.pipeline.audit.doubts import Doubt, LifeSums, copies_of, doubtful, sums_of, told_in
from causeway.pipeline.audit.replays import CAUSAL_COLUMNS, causal_table_verdicts, connected
from causeway.pipeline.audit.streams import judge
from causeway.pipeline.audit.transactions import judge_transactions
from causeway.pipeline.audit.words import (
    APART,
    DEAD_LETTERS,
    PART,
    REDELIVERED,
    RETAINED,
    STEPS,
    UNCERTAIN,
    AuditRow,
    Judgement,
)
from causeway.trace import Step

LakeRow = Mapping[str, Any]
_STEPS: Final = frozenset(STEPS)
_APART: Final = tuple(APART.split("|"))

FROM_ROW: Final[dict[str, Callable[[LakeRow], bool]]] = {
    "broker": lambda row: row["role"] == "broker",
    "uncertain": lambda row: row["note"].startswith(UNCERTAIN),
    "dead_letter": lambda row: row["note"] == DEAD_LETTERS,
    "redelivered": lambda row: REDELIVERED in row["note"],
    "apart": lambda row: any(word in row["note"] for word in _APART),
    "retained": lambda row: RETAINED in row["note"],
}
"""What the rules read that is no column of the lake."""


class Audited(NamedTuple):
    """What came out; findings do not say yet what is in doubt."""

    verdicts: list[Judgement]
    lives: list[LifeSums]
    doubts: list[Doubt]


def audit_rows(rows: Sequence[LakeRow]) -> Audited:
    """Every rule on every message of some rows of the lake, with their `domain`."""
    lives = sums_of(rows)
    context = context_of((row for row in rows if row["step"] in CONTEXT_STEPS), copies_of(lives))
    judged = list(judge(sorted(map(audit_row, filter(is_judged, rows)), key=sweep_order), context))
    parts = sorted((one for one in judged if one.guarantee == PART), key=lambda part: part.transaction)
    verdicts = [one for one in judged if one.guarantee != PART]
    verdicts += judge_transactions(parts)
    verdicts += _causal(rows)
    return Audited(verdicts, lives, doubtful(lives, told_in(rows)))


def is_judged(row: LakeRow) -> bool:
    """Whether a row says something of a stream of messages."""
    return row["step"] in _STEPS


def audit_row(row: LakeRow) -> AuditRow:
    """A row of the lake as the rules read it."""
    return AuditRow._make(FROM_ROW[name](row) if name in FROM_ROW else row[name] for name in AuditRow._fields)


def sweep_order(row: AuditRow) -> tuple[Any, ...]:
    """Streams one after the other, the highest ids first."""
    stream = (row.source, row.incarnation, row.dest, row.stream)
    return (*stream, -row.last, -row.first, row.writer, row.life, row.sequence)


def _causal(rows: Iterable[LakeRow]) -> list[Judgement]:
    steps = (int(Step.SENT), int(Step.RECEIVED))
    causal = [
        {name: row[name] for name in CAUSAL_COLUMNS}
        for row in rows
        if row["role"] == "application" and row["causal"] and row["step"] in steps
    ]
    taken = [row for row in causal if row["step"] == Step.RECEIVED]
    pairs = pa.RecordBatch.from_pylist([{name: row[name] for name in ("source", "mailbox", "writer")} for row in taken])
    circles = {
        name: circle
        for batch in connected([pairs] if taken else [])
        for name, circle in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    }
    found: dict[str, list[LakeRow]] = {}
    for row in causal:
        if row["writer"] in circles:
            found.setdefault(circles[row["writer"]], []).append(row)
    tables = (pa.Table.from_pylist(found[circle]) for circle in sorted(found))
    return [verdict for table in tables for verdict in causal_table_verdicts(table)]
