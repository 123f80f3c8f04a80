"""Job `compact`: a lake once more, in few files, to be kept longer than its writers keep it.

Writers finish a segment every few seconds and delete their oldest beyond a bound. The copy has one file per day,
domain, kind and writer, sorted, or several where there are many rows. All jobs read it as they read the lake itself.

Owns: this copy. Must not know: what rows mean.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F

from causeway.errors import ConfigError
from causeway.lake.schema import KINDS, PARTITIONS
from causeway.pipeline.frame import JobRequest, JobResult, Tick, read_lake
from causeway.pipeline.quality import segment_sizes, segments

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS_MAX: Final = 5_000_000
"""Of one file: about 150 MB."""
COPY: Final = "lake"


def run(spark: SparkSession, request: JobRequest, tick: Tick) -> JobResult:
    """Copy all rows of a lake to `lake` under `out`, in place of what is there."""
    copy = Path(request.out, COPY).resolve()
    source = Path(request.lake).resolve()
    if not request.lake or copy == source or source in copy.parents:
        raise ConfigError("lake", request.lake, "give the folder of a lake, and an --out outside of it")
    kinds = [kind for kind in KINDS if any(segments(request.lake, kind))] or list(KINDS)
    summary: dict[str, Any] = {}
    for done, kind in enumerate(kinds):
        tick(kind, done, len(kinds))
        order = ("writer", "life", "sequence" if kind == "events" else "second")
        rows = read_lake(spark, request.lake, kind).withColumn("kind", F.lit(kind))
        sorted_rows = rows.repartition("day", "domain", "writer").sortWithinPartitions("day", "domain", *order)
        writer = sorted_rows.write.mode("append" if done else "overwrite").partitionBy(*PARTITIONS)
        writer.option("maxRecordsPerFile", ROWS_MAX).option("compression", "zstd").parquet(str(copy))
        summary[kind] = {"before": _sizes(request.lake, kind), "after": _sizes(str(copy), kind)}
    return JobResult(job="compact", summary=summary, tables=(COPY,))


def _sizes(lake: str, kind: str) -> dict[str, int]:
    sizes = segment_sizes(lake, kind)
    return {"segments": len(sizes), "bytes": sum(sizes)}
