"""The audit's rules agree with a slow, obvious reference on random traces; without Spark, so that there can be many."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
from hypothesis import given, settings

from causeway.pipeline.audit.judging import CAUSAL_COLUMNS, causal_table_verdicts, connected
from causeway.pipeline.audit.streams import judge
from causeway.pipeline.audit.words import STEPS as JUDGED_STEPS
from causeway.pipeline.audit.words import VIOLATIONS, Judgement
from causeway.trace import Step
from tests.pipeline.audit_reference import Found, Message, Reference
from tests.pipeline.audit_traces import STEPS, Action, actions, audit_row, conversations, trace_of


def verdicts_of(rows: list[dict[str, Any]]) -> list[Judgement]:
    """All verdicts on some rows, by the functions that the job runs on executors."""
    relevant = [audit_row(row) for row in rows if row["step"] in JUDGED_STEPS]
    relevant.sort(
        key=lambda r: (r.source, r.incarnation, r.dest, r.stream, -r.last, -r.first, r.writer, r.life, r.sequence)
    )
    found = list(judge(relevant))
    causal = [
        {name: row[name] for name in CAUSAL_COLUMNS}
        for row in rows
        if row["role"] == "application" and row["causal"] and row["step"] in (Step.SENT, Step.RECEIVED)
    ]
    taken = [row for row in causal if row["step"] == Step.RECEIVED]
    pairs = pa.RecordBatch.from_pylist([{name: row[name] for name in ("source", "mailbox", "writer")} for row in taken])
    circles = {
        name: circle
        for batch in connected([pairs] if taken else [])
        for name, circle in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    }
    for circle in sorted(set(circles.values())):
        mine = [row for row in causal if circles.get(row["writer"]) == circle]
        found += causal_table_verdicts(pa.Table.from_pylist(mine))
    return found


def exploded(verdicts: list[Judgement]) -> tuple[set[Found], Counter[tuple[str, str, str]]]:
    found: set[Found] = set()
    counts: Counter[tuple[str, str, str]] = Counter()
    for one in verdicts:
        counts[one.service, one.guarantee, one.outcome] += one.messages
        if one.reason:
            assert one.messages == one.last - one.first + 1
            assert one.evidence, one
            key = (one.source, one.incarnation, one.dest, one.stream)
            messages = [Message(*key, number) for number in range(one.first, one.last + 1)]
            found |= {Found(one.guarantee, one.outcome, message, one.mailbox) for message in messages}
    return found, counts


def check(told: list[Action]) -> set[Found]:
    rows = trace_of("t", told)
    reference = Reference(rows)
    found, counts = exploded(verdicts_of(rows))
    assert found == reference.found
    assert +counts == +reference.counts
    return found


@settings(max_examples=300, deadline=None)
@given(actions)
def test_rules_agree_with_the_reference(told: list[Action]) -> None:
    check(told)


@settings(max_examples=300, deadline=None)
@given(conversations)
def test_causal_order_agrees_with_the_reference(told: list[Action]) -> None:
    check(told)


def test_random_traces_break_every_guarantee() -> None:
    """Otherwise to agree would say little."""
    chance = random.Random(1)
    bounds = ((0, 3), (0, len(STEPS) - 1), (0, 10), (1, 5), (0, 2), (0, 2), (0, 15))
    broken: Counter[str] = Counter()
    for _ in range(300):
        told = [tuple(chance.randint(*bound) for bound in bounds) for _ in range(40)]
        broken.update(one.guarantee for one in check(told))  # type: ignore[arg-type]
    assert set(broken) == set(VIOLATIONS)
