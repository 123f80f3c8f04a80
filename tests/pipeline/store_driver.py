"""Jobs on a lake in an object store, in a process of its own: the session needs Hadoop's files for S3.

`python -m tests.pipeline.store_driver LAKE WHERE` prints what each job says of a lake on a disk, and of it in WHERE.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from causeway.lake.keeping import compact
from causeway.lake.locations import locate
from causeway.pipeline import rates
from causeway.pipeline.audit import job as audit
from causeway.pipeline.frame import JobRequest, JobResult, run_job
from causeway.pipeline.jobs import conclude
from causeway.pipeline.session import open_session
from tests.pipeline.lakes import rounded

# Of Amazon's client only what Hadoop asks for: its usual bundle is 680 MB.
CLIENT = [f"software.amazon.awssdk:{name}:2.35.4" for name in ("s3", "s3-transfer-manager", "sts")]
SETTINGS = {
    "spark.jars.packages": ",".join(["org.apache.hadoop:hadoop-aws:3.5.0", *CLIENT]),
    "spark.jars.excludes": "software.amazon.awssdk:bundle",
    "spark.sql.shuffle.partitions": "2",
}
OF_THE_RUN = ("seconds_taken", "runs", "monitoring")
STREAMS = ("rates", "latency", "audit")


def copy(lake: Path, where: str, *, half: bool = False) -> None:
    """Put a lake, or every other of its files, into another place."""
    for number, path in enumerate(sorted(lake.rglob("*.parquet"))):
        if not half or number % 2:
            (locate(where) / str(path.relative_to(lake))).write(path.read_bytes())


def told(spark: SparkSession, job: str, lake: str, out: str, *, checkpoint: str = "") -> dict[str, Any]:
    """What a job says, but for what depends on where and how often it ran."""
    request = JobRequest(lake, out, bool(checkpoint), checkpoint, 0, {"period": "5"} if job == "rates" else {})
    found: JobResult = run_job(spark, job, request, lambda *_: None)
    result = conclude(found, out)
    written = {entry.location.name for entry in locate(out).entries()}
    assert {*found.tables, *result["pictures"], result["page"], "result.json"} <= written, written
    rest: dict[str, Any] = rounded(
        {k: v for k, v in found.summary.items() if k not in {"seconds_taken", "runs", "monitoring"}}
    )
    return rest


def main(lake: str, where: str) -> None:
    """Print a line of JSON: by job and way, what it said."""
    spark = open_session("store", master="local[2]", driver_memory="1g", settings=SETTINGS)
    store = f"{where}/lake"
    copy(Path(lake), store, half=True)
    for job in STREAMS:
        told(spark, job, store, f"{where}/stream/{job}", checkpoint=f"{where}/kept/{job}")
    copy(Path(lake), store)
    compacted = compact(store, idle=0)
    said: dict[str, dict[str, Any]] = {"compacted": {"replaced": compacted.replaced}}
    for job in STREAMS:
        here = f"{lake}-out/{job}"
        said[job] = {
            "disk": told(spark, job, lake, here),
            "small": told(spark, job, store, f"{where}/small/{job}"),
            "stream": told(spark, job, store, f"{where}/stream/{job}", checkpoint=f"{where}/kept/{job}"),
        }
    rates.SMALL_ROWS = audit.SMALL_ROWS = 0
    for job in STREAMS:
        said[job]["spark"] = told(spark, job, store, f"{where}/spark/{job}")
    spark.stop()
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])
