"""The evaluation of QpidR: the two goals, and a committed report that is what the brokers of today do."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from causeway.evaluate import qpidr
from causeway.evaluate.managed_domain import Shape
from causeway.evaluate.qpidr_words import FIVE_TO_ONE_MAX, MONITORING_KB_MAX, TABLE_1, TABLE_4, latency
from causeway.evaluate.recovery_costs import (
    FAILURES,
    MONITORING,
    QUEUES,
    SMALL,
    RecoveryCase,
    RecoveryCost,
    TimelineCase,
    measure,
    measure_timeline,
)


@pytest.fixture(scope="module")
def recovered() -> dict[int, RecoveryCost]:
    """One failure and five, as in the first seed of the quick plan."""
    return {amount: measure(RecoveryCase(FAILURES, Shape(24, 6), amount)) for amount in (1, 5)}


def as_recorded(cost: RecoveryCost) -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads(msgspec.json.encode(cost))
    return recorded


def test_five_failures_are_recovered_in_hardly_more_time_than_one(recovered: dict[int, RecoveryCost]) -> None:
    one, five = recovered[1], recovered[5]
    assert five.seconds <= FIVE_TO_ONE_MAX * one.seconds
    assert max(five.seats_seconds, five.whole_seconds) <= FIVE_TO_ONE_MAX * max(one.seats_seconds, one.whole_seconds)
    assert five.seconds < TABLE_4[5][0] / 5


def test_monitoring_a_broker_takes_less_than_a_quarter_of_a_kilobyte_a_second() -> None:
    cost = measure(RecoveryCase(MONITORING, qpidr.shape_of(10, 0)))
    (row,) = [row for row in qpidr.table_1([cost], (10,)) if row["brokers"] == 10]
    assert 0 < row["landmark_per_broker"] < MONITORING_KB_MAX
    assert 0 < row["signs_and_agents"] < MONITORING_KB_MAX
    assert row["ours"] < row["paper"] / 10


def test_committed_report_is_what_brokers_do_now(committed: dict[str, Any], recovered: dict[int, RecoveryCost]) -> None:
    """Otherwise: causeway evaluate qpidr --quick --seed 0 --out docs/evaluation/qpidr."""
    again = [*recovered.values(), measure(RecoveryCase(QUEUES, SMALL, 10))]
    assert [cost for cost in map(as_recorded, again) if cost not in committed["measurements"]] == []


def test_committed_report_meets_both_goals_for_all_sizes(committed: dict[str, Any]) -> None:
    assert [row["brokers"] for row in committed["table_1"]] == list(TABLE_1)
    assert max(row["landmark_per_broker"] for row in committed["table_1"]) < MONITORING_KB_MAX
    for silent in (False, True):
        for metric in ("ours", "seats_and_copies"):
            one, five = (latency(committed, failures, metric, silent=silent) for failures in (1, 5))
            assert five <= FIVE_TO_ONE_MAX * one


@pytest.mark.parametrize("silent", [False, True], ids=["killed", "vanished"])
def test_messages_published_during_an_outage_arrive_in_order(silent: bool) -> None:
    letters = measure_timeline(TimelineCase(Shape(8, 2), silent))
    arrivals = [letter.received for letter in letters]
    assert arrivals == sorted(arrivals)
    assert sum(letter.published < 0 for letter in letters) == 20
    assert any(letter.received - letter.published > 1 for letter in letters) == silent


def test_large_clusters_have_domains_of_one_size() -> None:
    assert qpidr.shape_of(200, 0) == Shape(200, 48, 4, 0)
    assert max(plan.brokers for plan in (case.shape for case in qpidr.plan_cases(qpidr.FULL, 0))) == 200
