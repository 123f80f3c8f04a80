"""Circles of applications are the same, whether one task connects them or many."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from causeway.pipeline.audit import judging
from causeway.pipeline.audit.components import components
from causeway.pipeline.audit.judging import circles
from causeway.trace import Step


def test_names_hang_on_the_least_that_they_are_connected_with(spark: SparkSession) -> None:
    chain = [(f"c{number}", f"c{number + 1}") for number in range(8)]
    random.Random(1).shuffle(chain)
    pairs = [*chain, ("x", "y"), ("z", "z"), ("y", "w")]
    rows = components(spark.createDataFrame(pairs, "left string, right string")).collect()
    found = {row.name: row.least for row in rows}
    assert found == {**{f"c{number}": "c0" for number in range(9)}, "x": "w", "y": "w", "w": "w", "z": "z"}


def test_many_tasks_find_the_circles_that_one_finds(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(7)
    rows = [
        {
            "source": f"app {chance.randrange(60)}",
            "mailbox": f"box {chance.randrange(50)}",
            "writer": f"app {chance.randrange(60)}",
            "step": int(Step.RECEIVED),
        }
        for _ in range(40)
    ]
    causal = spark.createDataFrame(pa.Table.from_pylist(rows))
    one = sorted(tuple(row) for row in circles(causal).collect())
    monkeypatch.setattr(judging, "CONNECTED_MAX", 0)
    assert sorted(tuple(row) for row in circles(causal).collect()) == one
    assert 1 < len({circle for _, circle in one}) < len(one)
