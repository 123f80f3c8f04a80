"""Rates, peaks and moments are those that numpy finds on the dense grid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from causeway.core.topics.publishing import UNWANTED
from causeway.errors import ConfigError, LakeError
from causeway.pipeline import rates
from causeway.pipeline.generate.telemetry import TelemetryPlan, generate_telemetry
from causeway.pipeline.measured_model import read_model
from causeway.topics.critical import critical_items
from causeway.trace import Step
from tests.pipeline.lakes import DAY, NOON, event, rounded, run, table, telemetry, write_lake
from tests.pipeline.scans import watched

TOPICS = 9
SECONDS = 240
JOBS_MAX = 18
"""Of Spark, for one run of the job."""


@pytest.fixture(autouse=True)
def on_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """These lakes are small, and Spark looks at them all the same."""
    monkeypatch.setattr(rates, "SMALL_ROWS", 0)


def dense_lake(seed: int) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Random counts (topics x seconds), most of them zero, one row large; and their rows, in disorder."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(3, (TOPICS, SECONDS)) * (rng.random((TOPICS, SECONDS)) < 0.3)
    counts[0] += 1_000_000  # where sums of squares would lose all digits
    counts[1] = counts[2] * 2
    counts[:, 0] += 1
    counts[:, -1] += 1
    rows = []
    for topic, second in zip(*np.nonzero(counts), strict=True):
        total = int(counts[topic, second])
        parts = (total // 2, total - total // 2) if total > 1 and rng.random() < 0.3 else (total,)
        for service, part in enumerate(parts):  # two classes of one second are two rows
            where = {"item": f"i{topic % 4}", "service": service, "writer": f"b{topic % 4 % 2}"}
            rows.append(telemetry(f"t{topic}", NOON + int(second), part, **where))
    rng.shuffle(rows)  # type: ignore[arg-type]
    return counts, rows


def by_item(counts: np.ndarray) -> np.ndarray:
    return np.array([counts[np.arange(TOPICS) % 4 == item].sum(axis=0) for item in range(4)])


def described(out: Path) -> tuple[np.ndarray, np.ndarray]:
    found = read_model(str(out))
    return np.array(found.means), np.array(found.covariance)


def test_rates_are_those_of_numpy(spark: SparkSession, tmp_path: Path) -> None:
    counts, rows = dense_lake(1)
    write_lake(tmp_path / "lake", "telemetry", rows)
    found = run(spark, "rates", tmp_path / "lake", tmp_path, period=60, peak=0.5)

    rates = by_item(counts).reshape(4, 4, 60).sum(axis=(0, 2)) / 60
    periods = spark.read.parquet(str(tmp_path / "periods")).orderBy("period").collect()
    assert [row.rate for row in periods] == pytest.approx(rates, rel=1e-12)
    peak = rates >= np.percentile(rates, 50)
    assert [row.peak for row in periods] == peak.tolist()

    chosen = by_item(counts)[:, np.repeat(peak, 60)].astype(float)
    means, covariance = described(tmp_path)
    np.testing.assert_allclose(means, chosen.mean(axis=1), rtol=1e-9)
    np.testing.assert_allclose(covariance, np.cov(chosen), rtol=1e-9)
    assert found.summary["peak_windows"] == chosen.shape[1]
    assert found.summary["messages"] == counts.sum()

    topics = {row.name: row for row in spark.read.parquet(str(tmp_path / "topics")).collect()}
    for topic in range(TOPICS):
        row = topics[f"t{topic}"]
        assert (row.windows, row.active) == (SECONDS, np.count_nonzero(counts[topic]))
        assert row.mean == pytest.approx(counts[topic].mean(), rel=1e-9)
        assert row.deviation == pytest.approx(counts[topic].std(ddof=1), rel=1e-9)
        assert row.largest == counts[topic].max()
    series = {row["name"]: row["rates"] for row in spark.read.parquet(str(tmp_path / "series")).collect()}
    for topic in range(TOPICS):
        np.testing.assert_allclose(series[f"t{topic}"], counts[topic].reshape(4, 60).sum(axis=1) / 60, rtol=1e-12)


def test_the_lake_is_read_once(spark: SparkSession, tmp_path: Path) -> None:
    """Every further pass over a large lake takes as long as the first; every job of a small one is a fixed cost."""
    _, rows = dense_lake(3)
    write_lake(tmp_path / "lake", "telemetry", rows)
    with watched(spark) as work:
        run(spark, "rates", tmp_path / "lake", tmp_path, period=60)
    assert work.rows_read == len(rows)
    assert 0 < work.jobs <= JOBS_MAX


def test_stream_says_what_batch_says(spark: SparkSession, tmp_path: Path) -> None:
    _, rows = dense_lake(2)
    lake, half = tmp_path / "lake", len(rows) // 2
    where: dict[str, Any] = {"out": tmp_path / "stream", "checkpoint": tmp_path / "kept"}
    runs = []
    for part in (rows[:half], rows[half:]):
        write_lake(lake, "telemetry", part)
        found = run(spark, "rates", lake, **where, interval=2, period=30)
        runs.append(found.summary["runs"])
    batch = run(spark, "rates", lake, tmp_path / "batch", interval=2, period=30)
    assert runs == [1, 2]
    for left, right in zip(described(tmp_path / "stream"), described(tmp_path / "batch"), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-12)
    for name in ("messages", "windows", "peak_windows", "periods", "peak_periods", "busiest_periods"):
        assert found.summary[name] == batch.summary[name]


def test_checkpoint_of_another_lake_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_lake(tmp_path / name, "telemetry", [telemetry("a", NOON + n, 1, item="i") for n in range(3)])
    where: dict[str, Any] = {"out": tmp_path / "out", "checkpoint": tmp_path / "kept"}
    run(spark, "rates", tmp_path / "one", **where)
    with pytest.raises(ConfigError, match=r"checkpoint.*is about telemetry of"):
        run(spark, "rates", tmp_path / "two", **where)


def test_brokers_without_items_and_messages_without_subscribers_are_named(spark: SparkSession, tmp_path: Path) -> None:
    """Three brokers of the domain, one of which owns the item; b9 is of a domain that has no rates."""
    lake = tmp_path / "lake"
    write_lake(lake, "telemetry", [telemetry("a", NOON + n, 7, item="i", writer="b1") for n in range(20)])
    at = {"at": NOON * 1_000_000_000}
    lost = {**at, "role": "broker", "writer": "b2", "topic": "news", "note": UNWANTED}
    rows = [
        event(Step.COPIED, "x", "i", 1, 5, writer="b3", **at),
        event(Step.SETTLED, "x", "i", 1, 5, **lost),
        event(Step.SETTLED, "x", "j", 6, 6, **{**lost, "topic": "more"}),
        event(Step.SETTLED, "x", critical_items("critical/x", 1)[0], 6, 6, **lost),  # the other way of one that counts
        event(Step.ACKNOWLEDGED, "x", "i", 1, 5, **lost),
        event(Step.SETTLED, "x", "i", 7, 7, **{**lost, "note": ""}),
        event(Step.SENT, "x", "i", 1, 5, **{**at, "role": "application", "writer": "x"}),
    ]
    write_lake(lake, "events", rows)
    write_lake(lake, "events", [event(Step.COPIED, "x", "i", 1, 5, writer="b9", **at)], domain="elsewhere")
    for checkpoint in (None, tmp_path / "kept"):
        found = run(spark, "rates", lake, tmp_path, checkpoint=checkpoint, period=5).summary
        assert (found["brokers"], found["brokers_without_items"]) == (3, ["b2", "b3"])
        assert found["left_out_without_subscribers"] == {"topics": 2, "messages": 6}
        assert list(read_model(str(tmp_path)).brokers) == ["b1", "b2", "b3"]


def test_one_topic_with_a_constant_rate_has_no_variance(spark: SparkSession, tmp_path: Path) -> None:
    write_lake(tmp_path / "lake", "telemetry", [telemetry("a", NOON + n, 7, item="i") for n in range(20)])
    found = run(spark, "rates", tmp_path / "lake", tmp_path, period=5)
    means, covariance = described(tmp_path)
    assert (means.tolist(), covariance.tolist()) == ([7.0], [[0.0]])
    assert (found.summary["periods"], found.summary["peak_periods"]) == (4, 4)


def test_days_nobody_recorded_are_left_out_and_a_jumped_clock_stretches_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Domain n has three days, s lacks the middle one; a clock of n was once in 1970."""
    lake = tmp_path / "lake"
    days = [NOON // DAY * DAY + DAY * day for day in range(3)]
    north = [telemetry("a", day + second, 2, item="i") for day in days for second in (0, DAY - 1)]
    write_lake(lake, "telemetry", [*north, telemetry("a", 5, 2, item="i")], domain="n")
    write_lake(lake, "telemetry", [telemetry("b", day, 1, item="j") for day in (days[0], days[2])], domain="s")
    found = run(spark, "rates", lake, tmp_path, period=DAY, peak=0)
    assert found.summary["days_left_out"] == ["2023-11-15"]
    assert found.summary["windows"] == 1 + DAY + DAY
    assert len(found.summary["spans"]) == 3
    means, _ = described(tmp_path)
    assert means.tolist() == pytest.approx([5 * 2 / (2 * DAY + 1), 2 / (2 * DAY + 1)], rel=1e-12)


def test_lake_of_mailboxes_alone_has_no_rates(spark: SparkSession, tmp_path: Path) -> None:
    rows = [telemetry("box", NOON, 7), telemetry("news", NOON, 7, item="causeway/seats")]
    write_lake(tmp_path / "lake", "telemetry", rows)
    with pytest.raises(LakeError, match=r"no telemetry of topics.*causeway publish"):
        run(spark, "rates", tmp_path / "lake", tmp_path)


def test_more_days_than_the_driver_may_hold_are_named(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("causeway.pipeline.rates.DAYS_MAX", 3)
    rows = [telemetry("a", NOON + day * DAY, 1, item="i") for day in range(4)]
    write_lake(tmp_path / "lake", "telemetry", rows)
    with pytest.raises(LakeError, match="more than 3 days of domains"):
        run(spark, "rates", tmp_path / "lake", tmp_path)


def test_row_with_negative_messages_stops_the_job(spark: SparkSession, tmp_path: Path) -> None:
    write_lake(tmp_path / "lake", "telemetry", [telemetry("a", NOON, -7, item="i", writer="b9")])
    with pytest.raises(LakeError, match=r"messages_in is negative.*b9"):
        run(spark, "rates", tmp_path / "lake", tmp_path)


def test_options_that_cannot_be_are_named(spark: SparkSession, tmp_path: Path) -> None:
    write_lake(tmp_path / "lake", "telemetry", [telemetry("a", NOON, 7, item="i")])
    with pytest.raises(ConfigError, match=r"set peak='2'.*0\.\.1"):
        run(spark, "rates", tmp_path / "lake", tmp_path, peak=2)
    with pytest.raises(ConfigError, match="multiple of interval=7"):
        run(spark, "rates", tmp_path / "lake", tmp_path, interval=7)
    with pytest.raises(ConfigError, match=r"set colour.*no option of rates"):
        run(spark, "rates", tmp_path / "lake", tmp_path, colour="red")


def test_generated_telemetry_has_crowds(spark: SparkSession, tmp_path: Path) -> None:
    plan = TelemetryPlan(topics=40, items=8, seconds=1500, crowds=2, rate=3.0, start=NOON + 17, seed=5)
    generate_telemetry(spark, str(tmp_path / "one"), plan)
    run(spark, "rates", tmp_path / "one", tmp_path, peak=0, period=100)
    _, covariance = described(tmp_path)
    deviations = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(deviations, deviations)
    same = [(left, right) for left in range(8) for right in range(left) if left % 2 == right % 2]
    other = [(left, right) for left in range(8) for right in range(left) if left % 2 != right % 2]
    assert np.mean([correlation[pair] for pair in same]) > 0.2 + np.mean([correlation[pair] for pair in other])


def test_one_process_says_of_a_small_lake_what_spark_says(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, rows = dense_lake(5)
    lake = tmp_path / "lake"
    write_lake(lake, "telemetry", rows)
    write_lake(lake, "telemetry", [telemetry("t0", NOON + 3, 4, item="i0")], domain="d2")
    unwanted = event(Step.SETTLED, "a", "i1", 1, 3, topic="t9", note=UNWANTED, writer="b7", at=NOON * 10**9)
    write_lake(lake, "events", [unwanted, event(Step.SENT, "a", "i1", 4, writer="b8", at=NOON * 10**9)])
    many = run(spark, "rates", lake, tmp_path / "many", period=60, peak=0.5)
    monkeypatch.setattr(rates, "SMALL_ROWS", 10_000)
    with watched(spark) as work:
        few = run(spark, "rates", lake, tmp_path / "few", period=60, peak=0.5)
    assert work.jobs == 0
    assert few.tables == many.tables
    assert rounded(without_time(few.summary)) == rounded(without_time(many.summary))
    for name in many.tables:
        if name != "model.json":
            assert sorted_rows(tmp_path / "few" / name) == sorted_rows(tmp_path / "many" / name)
    assert rounded(described(tmp_path / "few")[1].tolist()) == rounded(described(tmp_path / "many")[1].tolist())


def test_small_lake_with_rows_that_no_writer_writes_is_refused_as_spark_does(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rates, "SMALL_ROWS", 10_000)
    write_lake(tmp_path / "a", "telemetry", [telemetry("t", NOON, -1, item="i")])
    with pytest.raises(LakeError, match=r'messages_in is negative; row of \{"writer":"b1","life":1'):
        run(spark, "rates", tmp_path / "a", tmp_path / "out")
    write_lake(tmp_path / "b", "telemetry", [telemetry("t", NOON, 1)])
    with pytest.raises(LakeError, match="no telemetry of topics"):
        run(spark, "rates", tmp_path / "b", tmp_path / "out")


def without_time(summary: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in summary.items() if name != "seconds_taken"}


def sorted_rows(path: Path) -> list[Any]:
    return sorted((rounded(one) for one in table(path)), key=str)
