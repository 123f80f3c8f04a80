"""States after failures, spread over executors, are what a landmark would compute."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import SparkSession

from causeway.pipeline.failure_states import outcomes, spread_cases, states_of, worst
from causeway.placement.cases import build_cases
from causeway.placement.instance import BrokerCapacity, Instance
from causeway.placement.policy import policy_of
from causeway.placement.rates import from_samples
from causeway.placement.solve import place


def instance_of(brokers: int, items: int = 9) -> Instance:
    rng = np.random.default_rng(5)
    model = from_samples(rng.gamma(2.0, 20.0, (40, items)), [f"i{number}" for number in range(items)])
    return Instance(model, [BrokerCapacity(f"b{number}", 300.0) for number in range(brokers)], threshold=0.05)


def test_case_base_is_that_of_a_landmark(spark: SparkSession) -> None:
    instance = instance_of(5)
    found = place(instance)
    policy = policy_of(instance, found.owner, found.mirror)
    assert spread_cases(spark, instance, policy).to_builtins() == build_cases(instance, policy).to_builtins()


def test_risks_with_all_up_are_those_of_the_placement_and_broken_brokers_have_none(spark: SparkSession) -> None:
    instance = instance_of(4)
    found = place(instance)
    rows = {tuple(row.broken): row.risks for row in outcomes(spark, instance, found.owner, found.mirror).collect()}
    assert len(rows) == 1 + 4 + 6
    assert max(rows[()]) == pytest.approx(found.largest_risk)
    assert all(risks[broker] == 0.0 for broken, risks in rows.items() for broker in broken)
    assert max(worst(rows, 4, 2)) >= max(worst(rows, 4, 1)) >= max(worst(rows, 4, 0))


def test_states_leave_a_broker() -> None:
    assert states_of(1) == [()]
    assert states_of(2) == [(), (0,), (1,)]
    assert worst({(): [0.1]}, 1, 1) == [0.0]
