"""The job risk: from rates and a placement to risks in every state, and a policy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from causeway.core.placing import PlannedItems
from causeway.errors import ConfigError
from causeway.pipeline.frame import JobRequest, JobResult, run_job
from causeway.pipeline.measured_model import MeasuredModel, write_model
from causeway.placement.cases import build_cases
from causeway.placement.instance import BrokerCapacity, Instance
from causeway.placement.loads import Loads
from causeway.placement.rates import from_moments
from causeway.topics import ALL_ITEMS

ITEMS = list(ALL_ITEMS[:8])
BROKERS = {f"b{number}": 400.0 for number in range(4)}
MEANS = [200.0, 190.0, 30.0, 25.0, 20.0, 20.0, 10.0, 5.0]


def covariance() -> np.ndarray[Any, Any]:
    """The two large ones rise together, and everything varies."""
    found = np.diag([900.0, 900.0, 90.0, 80.0, 60.0, 60.0, 30.0, 20.0])
    found[0, 1] = found[1, 0] = 850.0
    return found


def run(spark: SparkSession, tmp_path: Path, **options: str) -> JobResult:
    (tmp_path / "rates").mkdir(exist_ok=True)
    model = MeasuredModel(items=ITEMS, means=MEANS, covariance=covariance().tolist())
    write_model(str(tmp_path / "rates"), model)
    request = JobRequest("", str(tmp_path / "out"), options={"rates": str(tmp_path / "rates"), **options})
    return run_job(spark, "risk", request, lambda stage, done, total: None)


def described(tmp_path: Path, present: dict[str, list[str]], brokers: Mapping[str, float] = BROKERS) -> str:
    path = tmp_path / "placement.json"
    path.write_text(json.dumps({"brokers": brokers, "present": present}))
    return str(path)


def test_risks_and_cases_are_those_of_the_library_for_every_state(spark: SparkSession, tmp_path: Path) -> None:
    together = {item: ["b0" if number < 2 else f"b{number % 4}", "b3"] for number, item in enumerate(ITEMS)}
    together = {item: [owner, "b1" if owner == "b3" else mirror] for item, (owner, mirror) in together.items()}
    found = run(spark, tmp_path, placement=described(tmp_path, together))
    summary = found.summary["domains"]["all"]
    assert summary["states"] == 1 + 4 + 6
    assert summary["largest_risk"]["present"][0] > 0.05 > summary["largest_risk"]["proposed"][0]
    assert summary["feasible"]

    import msgspec

    policy = msgspec.json.decode((tmp_path / "out" / "policy.json").read_bytes(), type=PlannedItems)
    assert policy.owners[0] != policy.owners[1]
    model = from_moments(MEANS, covariance(), ITEMS)
    instance = Instance(model, [BrokerCapacity(*one) for one in BROKERS.items()], threshold=0.05)
    rows = spark.read.parquet(str(tmp_path / "out" / "risks")).collect()
    now = {row.broker: row.risk for row in rows if row.placement == "proposed" and not row.broken}
    expected = Loads(instance, np.array(policy.owners)).risks()
    assert [now[name] for name in BROKERS] == pytest.approx(expected.tolist())

    from causeway.placement.policy import policy_of

    base = build_cases(instance, policy_of(instance, np.array(policy.owners), np.array(policy.mirrors)))
    cases = spark.read.parquet(str(tmp_path / "out" / "cases")).collect()
    for broken in ({"b0"}, {"b1", "b2"}):
        rows_of = {row.item: (row.owner, row.mirror) for row in cases if set(row.broken) == broken}
        assert rows_of == base.difference(frozenset(broken))


def test_items_without_a_place_are_placed_and_unmeasured_ones_are_idle(spark: SparkSession, tmp_path: Path) -> None:
    found = run(spark, tmp_path, placement=described(tmp_path, {ALL_ITEMS[20]: ["b0", "b1"]}))
    assert found.summary["domains"]["all"]["items"] == len(ITEMS) + 1
    assert not found.summary["domains"]["all"]["largest_risk"]["present"]  # it is no placement yet


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"rates": ""}, "set rates"),
        ({"rates": "nowhere"}, "run `causeway pipeline rates"),
        ({}, "set placement"),
        ({"placement": "nowhere.json"}, "cannot be read"),
        ({"adopt": "perhaps", "placement": "x"}, "yes or no"),
        ({"adopt": "yes", "placement": "x"}, "running cluster"),
        ({"weight": "1"}, "no option of risk"),
    ],
    ids=["no-rates", "wrong-rates", "no-placement", "wrong-placement", "adopt", "adopt-what", "unknown"],
)
def test_bad_request_is_refused_by_name(
    spark: SparkSession, tmp_path: Path, options: dict[str, str], named: str
) -> None:
    with pytest.raises(ConfigError, match=named.replace("`", ".")):
        run(spark, tmp_path, **options)


def test_placement_that_names_strangers_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="none of the brokers"):
        run(spark, tmp_path, placement=described(tmp_path, {ITEMS[0]: ["b9"]}))


@pytest.mark.parametrize("capacity", [0.4, -5.0])
def test_capacity_that_cannot_be_is_refused(spark: SparkSession, tmp_path: Path, capacity: float) -> None:
    with pytest.raises(ConfigError, match=r"brokers, b0.*1 or more"):
        run(spark, tmp_path, placement=described(tmp_path, {ITEMS[0]: ["b0"]}, {**BROKERS, "b0": capacity}))
