"""Who talks to whom, as `causeway plan domains` reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from causeway.domains.tables import read_seats, read_traffic
from causeway.errors import ConfigError, LakeError
from causeway.trace import Step
from tests.pipeline.lakes import NOON, event, run, write_lake

NS = 1_000_000_000


def received(source: str, reader: str, first: int, last: int, second: int, **values: Any) -> dict[str, Any]:
    who = {"writer": reader, "role": "application", "at": (NOON + second) * NS}
    return event(Step.RECEIVED, source, reader, first, last, **who, **values)


def two_circles() -> list[dict[str, Any]]:
    """Applications a0..a5 talk among themselves, and so do b0..b5; now and then a0 tells b0 something, in causal
    order."""
    rows = []
    for circle in "ab":
        for left in range(6):
            for right in range(6):
                if left != right:
                    rows.append(received(f"{circle}{left}", f"{circle}{right}", 1, 100, left))
    rows += [received("a0", "b0", 1, 5, 9, causal=True), received("a0", "b0", 6, 10, 5, causal=True)]
    # Neither what brokers did nor what was sent says who has read it.
    rows += [event(Step.DELIVERED, "a0", "b1", 1, 50, at=NOON * NS), event(Step.SENT, "a0", "b1", 1, 50, at=NOON * NS)]
    return rows


def test_circles_become_domains(spark: SparkSession, tmp_path: Path) -> None:
    write_lake(tmp_path / "lake", "events", two_circles())
    found = run(spark, "domains", tmp_path / "lake", tmp_path)
    traffic = read_traffic((tmp_path / "traffic.csv").read_text())
    rates = {(source, reader): rate for source, reader, rate in traffic.rates}
    assert rates["a0", "b0"] == 1.0  # ten messages in ten seconds
    assert rates["b1", "b2"] == 10.0
    assert len(rates) == 61
    seats = read_seats("seats", (tmp_path / "seats.json").read_text())
    assert set(seats) == {f"{circle}{one}" for circle in "ab" for one in range(6)}
    for circle in "ab":
        shared = set.intersection(*(set(seats[f"{circle}{one}"]) for one in range(6)))
        assert len(shared) == 1
    assert found.summary["domains"] >= 2
    assert found.summary["part_within_one_domain"] > 0.99


def test_causal_traffic_alone(spark: SparkSession, tmp_path: Path) -> None:
    write_lake(tmp_path / "lake", "events", two_circles())
    run(spark, "domains", tmp_path / "lake", tmp_path, traffic="causal")
    assert read_traffic((tmp_path / "traffic.csv").read_text()).rates == (("a0", "b0", 1.0),)


def test_lake_in_which_nobody_received_is_named(spark: SparkSession, tmp_path: Path) -> None:
    write_lake(tmp_path / "lake", "events", [event(Step.SENT, "a", "b", 1, at=NOON * NS)])
    with pytest.raises(LakeError, match="no application that it received"):
        run(spark, "domains", tmp_path / "lake", tmp_path)
    with pytest.raises(ConfigError, match=r"set traffic='some'.*all, causal"):
        run(spark, "domains", tmp_path / "lake", tmp_path, traffic="some")


def test_batch_that_ends_before_it_begins_stops_the_job(spark: SparkSession, tmp_path: Path) -> None:
    write_lake(tmp_path / "lake", "events", [received("a", "b", 5, 4, 0)])
    with pytest.raises(LakeError, match="last is before first"):
        run(spark, "domains", tmp_path / "lake", tmp_path)
