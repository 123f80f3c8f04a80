"""How much of a lake Spark has read, by its own account."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession


class Work:
    """What was done inside `watched`."""

    jobs = 0
    rows_read = 0
    """From files, those read twice counted twice."""


@contextmanager
def watched(spark: SparkSession) -> Iterator[Work]:
    """What Spark does for this thread meanwhile."""
    found, context = Work(), spark.sparkContext
    before = {one.executionId() for one in _executions(spark)}
    context.setJobGroup(f"watched-{id(found)}", "")
    try:
        yield found
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
        found.jobs = len(context.statusTracker().getJobIdsForGroup(f"watched-{id(found)}"))
        found.rows_read = sum(
            _rows_read(spark, one.executionId()) for one in _executions(spark) if one.executionId() not in before
        )


def _store(spark: SparkSession) -> Any:
    return spark._jsparkSession.sharedState().statusStore()  # type: ignore[attr-defined]


def _executions(spark: SparkSession) -> Iterator[Any]:
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()  # type: ignore[union-attr]
    found = _store(spark).executionsList()
    yield from (found.apply(at) for at in range(found.size()))


def _rows_read(spark: SparkSession, execution: int) -> int:
    """Of one query: what came out of scans of files. A scan whose rows were kept is in later queries too, without
    work."""
    nodes, values = _store(spark).planGraph(execution).allNodes(), _store(spark).executionMetrics(execution)
    total = 0
    for node in (nodes.apply(at) for at in range(nodes.size())):
        if node.name().startswith("Scan parquet"):
            for metric in (node.metrics().apply(at) for at in range(node.metrics().size())):
                value = values.get(metric.accumulatorId())
                if metric.name() == "number of output rows" and value.isDefined():
                    total += int(value.get().replace(",", ""))
    return total
