"""How far a job has come: its stage, the rows that Spark has read for it, and how much time is left.

Owns: counting, and what is said of it. Must not know: any job, how it is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql.utils import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST: Final = 0.05
"""Below this part nothing is said of the time left: it would be a guess."""


class SparkWork(NamedTuple):
    """What Spark does at this moment."""

    done: int
    """Tasks that are done, of the stages of Spark that are under way."""
    tasks: int
    rows: int
    """Read by these stages, from files and from each other."""


class JobCourse:
    """How far a job is, from its own stages and from Spark's tasks."""

    def __init__(self, job: str) -> None:
        self.stage = job
        self.total: int | None = None
        self.done = 0.0
        self._number = 0

    def tick(self, stage: str, done: int, total: int) -> None:
        """A stage of the job begins."""
        self.stage, self._number, self.total = stage, done, total
        self.done = float(done)

    def said(self, work: SparkWork, seconds: float) -> str:
        """What is to be told now, after so many seconds; moves on as tasks are done. One stage of a job may be several
        of Spark's: it never goes back."""
        if self.total is not None and work.tasks and self._number < self.total:
            self.done = max(self.done, self._number + work.done / (work.tasks + 1))
        words = [f"{work.done} of {work.tasks} tasks"] if work.tasks else []
        words += [f"{work.rows:,} rows"] if work.rows else []
        part = self.done / self.total if self.total else 0.0
        if LEAST <= part < 1:
            words.append(f"about {time_said(seconds * (1 - part) / part)} left")
        return ", ".join(words)


def time_said(seconds: float) -> str:
    """Seconds or minutes, roughly."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def spark_work(spark: SparkSession) -> SparkWork:
    """From Spark's own records of its stages; none of a Spark Connect server, which shows no such records."""
    if is_remote():
        return SparkWork(0, 0, 0)
    jvm = spark.sparkContext._jsc
    assert jvm is not None
    stages = jvm.sc().statusStore().activeStages()
    done = tasks = rows = 0
    for number in range(stages.size()):
        stage = stages.apply(number)
        done += stage.numCompleteTasks()
        tasks += stage.numTasks()
        rows += stage.inputRecords() + stage.shuffleReadRecords()
    return SparkWork(done, tasks, rows)
