"""How far Spark has come with what it is doing. Owns: counting tasks. Must not know: any job, how it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.utils import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def task_counts(spark: SparkSession) -> tuple[int, int]:
    """Tasks done and all tasks of the stages that are under way; none of a Spark Connect server, which has no such
    list."""
    if is_remote():
        return 0, 0
    tracker = spark.sparkContext.statusTracker()
    infos = [info for stage in tracker.getActiveStageIds() if (info := tracker.getStageInfo(stage)) is not None]
    return sum(info.numCompletedTasks for info in infos), sum(info.numTasks for info in infos)
