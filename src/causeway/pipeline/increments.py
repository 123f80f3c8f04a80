"""Batch and incremental reading as one thing: rows that can be merged, from all of the lake or from what it gained.

A job says how rows of the lake become *parts*: rows that may be added up in any order. In batch the parts are made from
the whole lake. As a stream, each run makes parts of the segments that came since the last one, keeps them beside
Spark's own checkpoint, and hands out those of all runs. So both see the same sums, whatever was read when.

A run that was interrupted is repeated by Spark under the same number, and overwrites what it had kept. Parts of many
runs are merged into one (`fold`), so that a stream keeps as much as its sums take, however often it runs.
Owns: parts on disk, the query. Must not know: what is added up.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from causeway.errors import ConfigError, LakeError
from causeway.pipeline.frame import JobRequest, read_lake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Reduce = Callable[["DataFrame"], "DataFrame"]
Keep = Callable[["DataFrame", int], None]
"""Takes new rows and the number of the run; the same number may come again, and then replaces what it made."""

PARTS_MAX: Final = 64
"""Runs whose parts lie beside each other; one more, and all of them are merged."""


def gather(spark: SparkSession, request: JobRequest, kind: str, reduce: Reduce, merge: Reduce) -> DataFrame:
    """Parts of all rows of one kind that the lake has, or of those that this stream has seen until now.

    `reduce` makes parts of rows, `merge` fewer parts of many.
    """
    if not request.stream:
        return reduce(read_lake(spark, request.lake, kind, checked=request.checked))
    parts = parts_folder(request, kind)

    def keep(batch: DataFrame, number: int) -> None:
        reduce(batch).write.mode("overwrite").parquet(str(parts / f"run={number}"))

    follow(spark, request, kind, f"{reduce.__module__}.{reduce.__qualname__}", keep)
    return spark.read.parquet(*map(str, fold(spark, parts, merge)))


def fold(spark: SparkSession, parts: Path, merge: Reduce) -> list[Path]:
    """Folders of all parts that count, which are one if they were many. Nobody writes parts meanwhile.

    What was merged up to a run is written under a hidden name first. Once it has its own, those that it was made of
    count no more, so whoever is killed in between leaves what the next one can read, and clears away.
    """
    folds, runs = _numbered(parts, "upto"), _numbered(parts, "run")
    last = max(folds, default=-1)
    recent = {number: path for number, path in runs.items() if number > last}
    counting = [*(path for number, path in folds.items() if number == last), *recent.values()]
    if len(recent) > PARTS_MAX:
        hidden, named = (parts / f"{dot}upto={max(recent)}" for dot in (".", ""))
        merge(spark.read.parquet(*map(str, counting))).write.mode("overwrite").parquet(str(hidden))
        hidden.rename(named)
        counting = [named]
    for path in (*parts.glob(".upto=*"), *folds.values(), *runs.values()):
        if path not in counting:
            shutil.rmtree(path)
    return counting


def _numbered(parts: Path, name: str) -> dict[int, Path]:
    found = {int(path.name.partition("=")[2]): path for path in parts.glob(f"{name}=*")}
    return dict(sorted(found.items()))


def follow(spark: SparkSession, request: JobRequest, kind: str, about: str, keep: Keep) -> None:
    """Hand over the rows that a stream has not seen yet; what `keep` makes of them lies in `parts_folder`. `about` says
    what that is: a checkpoint that was made for something else is refused."""
    folder = Path(request.checkpoint, kind)
    _check_owner(folder, request, kind, about)
    query = (
        read_lake(spark, request.lake, kind, stream=True, checked=request.checked)
        .writeStream.foreachBatch(keep)
        .option("checkpointLocation", str(folder / "spark"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    if not parts_folder(request, kind).is_dir():
        remedy = "remove the folder: the stream then begins anew"
        raise LakeError(str(folder), "says that the lake was read, and has nothing of it", remedy)


def parts_folder(request: JobRequest, kind: str) -> Path:
    """Where a stream keeps what it has made of rows of a kind."""
    return Path(request.checkpoint, kind, "parts")


def runs_of(request: JobRequest, kind: str) -> int:
    """How many times a stream found new rows of a kind; 0 in batch."""
    parts = parts_folder(request, kind)
    return max((*_numbered(parts, "upto"), *_numbered(parts, "run")), default=-1) + 1 if request.stream else 0


class _Owner(msgspec.Struct, frozen=True):
    """What a checkpoint is about."""

    lake: str
    kind: str
    reduce: str


def _check_owner(folder: Path, request: JobRequest, kind: str, about: str) -> None:
    """A checkpoint of another lake or job would give sums of both; it is refused."""
    owner = _Owner(str(Path(request.lake).resolve()), kind, about)
    path = folder / "about.json"
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_Owner)
    except FileNotFoundError:
        if (folder / "spark").exists():
            raise ConfigError("checkpoint", str(folder), "is that of another query; give a folder of its own") from None
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.encode(owner))
        return
    except msgspec.DecodeError as error:
        raise ConfigError("checkpoint", str(path), f"is damaged ({error}); remove the folder") from error
    if found != owner:
        said = f"is about {found.kind} of {found.lake}; give another folder, or remove this one to begin anew"
        raise ConfigError("checkpoint", str(folder), said)
