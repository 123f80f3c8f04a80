"""The job risk: from rates and a placement to risks in every state, and a policy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from pyspark.sql import SparkSession

from causeway.core.placing import PlannedItems, PlanRequest
from causeway.drawing import draw
from causeway.errors import ConfigError
from causeway.pipeline import risk
from causeway.pipeline.frame import JobRequest, JobResult, run_job
from causeway.pipeline.measured_model import MeasuredModel, write_model
from causeway.placement import live
from causeway.placement.cases import build_cases
from causeway.placement.instance import BrokerCapacity, Instance
from causeway.placement.loads import Loads
from causeway.placement.policy import policy_of
from causeway.placement.rates import from_moments
from causeway.topics import ALL_ITEMS
from tests.pipeline.lakes import NOON, table, telemetry, write_lake

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

    policy = msgspec.json.decode((tmp_path / "out" / "policy.json").read_bytes(), type=PlannedItems)
    assert policy.owners[0] != policy.owners[1]
    model = from_moments(MEANS, covariance(), ITEMS)
    instance = Instance(model, [BrokerCapacity(*one) for one in BROKERS.items()], threshold=0.05)
    rows = spark.read.parquet(str(tmp_path / "out" / "risks")).collect()
    now = {row.broker: row.risk for row in rows if row.placement == "proposed" and not row.broken}
    expected = Loads(instance, np.array(policy.owners)).risks()
    assert [now[name] for name in BROKERS] == pytest.approx(expected.tolist())

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


class Landmark:
    """Stands for a running cluster: says how items are placed, and takes policies."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owners: list[int], capacity: int, threshold: int = 50) -> None:
        self.taken: list[PlannedItems] = []
        self._question = PlanRequest(
            items=tuple(ITEMS),
            brokers=tuple(BROKERS),
            capacities=(capacity,) * len(BROKERS),
            samples=(),
            owners=tuple(owners),
            mirrors=tuple((owner + 1) % len(BROKERS) for owner in owners),
            threshold=threshold,
        )
        monkeypatch.setattr(risk, "running_placements", lambda url: {"town": self._question})
        monkeypatch.setattr(risk, "_proposed", self._take)

    def _take(self, url: str, domain: str, plan: PlannedItems) -> int:
        self.taken.append(plan)
        return len(self.taken)


URL = "causeway://127.0.0.1:7400"


def test_policy_that_is_infeasible_is_not_adopted_unless_its_domain_is_named(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All brokers together sustain less than the items carry."""
    landmark = Landmark(monkeypatch, owners=[0] * len(ITEMS), capacity=100)
    found = run(spark, tmp_path, url=URL, adopt="yes")
    decision = found.summary["domains"]["town"]["decision"]
    assert (decision["action"], decision["why"].split(":")[0]) == ("refuse", "it is infeasible")
    assert (found.summary["adopted"], landmark.taken, found.holds) == ({}, [], False)

    with pytest.raises(ConfigError, match=r"set force='city'.*those are: town"):
        run(spark, tmp_path, url=URL, adopt="yes", force="city")
    found = run(spark, tmp_path, url=URL, adopt="yes", force="town")
    assert (found.summary["adopted"], len(landmark.taken), found.holds) == ({"town": 1}, 1, True)
    assert found.summary["domains"]["town"]["decision"]["why"].startswith("forced, although it is infeasible")


def test_policy_that_is_riskier_than_what_is_in_force_is_not_adopted(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners = [0, 1, 2, 2, 2, 3, 3, 3]
    landmark = Landmark(monkeypatch, owners=owners, capacity=300)

    def worse(question: PlanRequest, instance: Instance, build: Any) -> PlannedItems:
        """Both large ones on one broker, which only just takes them."""
        plan, both = live.planned(question, instance, build), (1, 1, *owners[2:])
        build(instance, policy_of(instance, np.array(both), np.array([(owner + 1) % 4 for owner in both])))
        return msgspec.structs.replace(plan, owners=both)

    monkeypatch.setattr(risk, "planned", worse)
    found = run(spark, tmp_path, url=URL, adopt="yes", threshold="1")
    decision = found.summary["domains"]["town"]["decision"]
    assert decision["action"] == "refuse"
    assert decision["why"].startswith("it is riskier than what is in force")
    assert landmark.taken == []


def test_risk_of_each_broker_is_shown_before_and_after(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything is on b0: the others are idle, and load moves to them."""
    landmark = Landmark(monkeypatch, owners=[0] * len(ITEMS), capacity=400)
    found = run(spark, tmp_path, url=URL, adopt="yes")
    assert len(landmark.taken) == 1
    rows = {row["broker"]: row for row in table(tmp_path / "out" / "brokers")}
    assert list(rows) == list(BROKERS)
    assert [row["items_present"] for row in rows.values()] == [len(ITEMS), 0, 0, 0]
    assert rows["b0"]["rate_present"] == pytest.approx(sum(MEANS))
    assert rows["b0"]["risk_present"] > 0.9
    assert sum(row["items_proposed"] for row in rows.values()) == len(ITEMS)
    assert max(row["risk_proposed"] for row in rows.values()) < 0.05
    assert rows["b0"]["risk_present_after_a_failure"] >= rows["b0"]["risk_present"]
    shown = found.summary["domains"]["town"]["risk_of_brokers"]
    assert shown["b0"]["present"] == rows["b0"]["risk_present"]
    (figure,) = [one for one in found.figures if one.name == "risk_brokers_town"]
    assert figure.x_names == tuple(BROKERS)
    assert [curve.ys for curve in figure.curves] == [
        tuple(row[f"risk_{placement}"] for row in rows.values()) for placement in ("present", "proposed")
    ]
    assert all(path.stat().st_size for path in draw(figure, tmp_path))


def test_the_loop_keeps_a_history_of_what_was_decided(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    landmark = Landmark(monkeypatch, owners=[0] * len(ITEMS), capacity=60)
    seconds = range(NOON, NOON + 40)
    rates = [
        telemetry(f"t{number}", second, 9 if second % 4 else 12, item=item)
        for number, item in enumerate(ITEMS)
        for second in seconds
    ]
    write_lake(tmp_path / "lake", "telemetry", rates)
    options = {"url": URL, "period": "4", "peak": "0"}
    for more in ({"adopt": "no"}, {}, {"threshold": "0.001"}):
        request = JobRequest(str(tmp_path / "lake"), str(tmp_path / "out"), options={**options, **more})
        found = run_job(spark, "run", request, lambda stage, done, total: None)
    lines = [json.loads(line) for line in (tmp_path / "out" / "history.jsonl").read_text().splitlines()]
    assert [(line["domain"], line["action"], line["adopted"]) for line in lines] == [
        ("town", "adopt", False),
        ("town", "adopt", True),
        ("town", "adopt", True),
    ]
    assert all(line["why"] and line["at"] and line["largest_risk"]["proposed"] for line in lines)
    assert len(landmark.taken) == 2
    assert "history.jsonl" in found.tables


def test_the_loop_needs_a_lake_and_a_cluster(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="set url"):
        run_job(spark, "run", JobRequest(str(tmp_path), str(tmp_path / "out")), lambda stage, done, total: None)
    with pytest.raises(ConfigError, match="lake"):
        run_job(spark, "run", JobRequest("", str(tmp_path / "out"), options={"url": URL}), lambda *_: None)
