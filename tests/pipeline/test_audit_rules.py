"""The audit's rules agree with a slow, obvious reference on random traces; without Spark, so that there can be many."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from hypothesis import given, settings

from causeway.pipeline.audit.whole import audit_rows
from causeway.pipeline.audit.words import CAUSAL, IN_ORDER, KEPT, ONCE, STORED_FIRST, Judgement
from tests.pipeline.audit_reference import Found, Message, Reference
from tests.pipeline.audit_traces import STEPS, Action, actions, conversations, trace_of

KNOWN = frozenset((KEPT, ONCE, IN_ORDER, STORED_FIRST, CAUSAL))
"""What the reference judges; `test_audit_faults` has the other rules."""


def verdicts_of(rows: list[dict[str, Any]]) -> list[Judgement]:
    """All verdicts on some rows that the reference knows of."""
    return [one for one in audit_rows(list(rows)).verdicts if one.guarantee in KNOWN]


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
    assert set(broken) == KNOWN
