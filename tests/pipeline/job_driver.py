"""A Spark driver of its own, to be killed: `python job_driver.py LAKE OUT` runs each job that can go on as a stream."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from causeway.pipeline.frame import JOBS, JobResult
from causeway.pipeline.session import open_session
from tests.pipeline.lakes import run

STREAMS = [name for name, job in JOBS.items() if job.streams]


def main(lake: str, out: str) -> None:
    """All of them at once, so that one kill meets each where it is."""
    spark = open_session(
        "driver", master="local[2]", driver_memory="1g", settings={"spark.sql.shuffle.partitions": "2"}
    )

    def follow(name: str) -> JobResult:
        return run(spark, name, lake, Path(out) / name, checkpoint=Path(out) / name / "checkpoint")

    with ThreadPoolExecutor(len(STREAMS)) as pool:
        list(pool.map(follow, STREAMS))


if __name__ == "__main__":
    main(*sys.argv[1:])
