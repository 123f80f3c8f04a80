"""Batch and incremental reading as one thing: rows that can be merged, from all of the lake or from what it gained.

A job says how rows of the lake become *parts*: rows that may be added up in any order. In batch the parts are made from
the whole lake. As a stream, each run makes parts of the segments that came since the last one, keeps them beside
Spark's own checkpoint, and hands out those of all runs. So both see the same sums, whatever was read when.

A run that was interrupted is repeated by Spark under the same number, and overwrites what it had kept. Parts of many
runs are merged into one (`fold`), so that a stream keeps as much as its sums take, however often it runs. Spark is told
not to mind missing files, so nothing is removed that somebody may be reading: a checkpoint is one command's at a time
(`sole_run`), and what was merged goes when the next one folds.

Owns: parts on disk, the query, whose turn it is. Must not know: what is added up.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from causeway.errors import ConfigError, LakeError, PipelineError
from causeway.pipeline.frame import JobRequest, read_lake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Reduce = Callable[["DataFrame"], "DataFrame"]
Keep = Callable[["DataFrame", int], None]
"""Takes new rows and the number of the run; the same number may come again, and then replaces what it made."""

PARTS_MAX: Final = 64
"""Runs whose parts lie beside each other; one more, and all of them are merged."""

_ANEW: Final = "give another --checkpoint and --out"


@contextmanager
def sole_run(request: JobRequest) -> Iterator[None]:
    """A stream's checkpoint is nobody else's meanwhile; a PipelineError if it is somebody's now. The system gives it
    back when the process dies. The file stays: removing it would race with whoever is next."""
    if not request.stream:
        yield
        return
    folder = Path(request.checkpoint)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / "lock").open("a+")
    except OSError as error:
        raise ConfigError("checkpoint", str(folder), f"cannot be written ({error}); {_ANEW}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            said = f"the checkpoint {folder} is used by another run (pid {file.read(32).strip() or 'unknown'})"
            raise PipelineError(said, f"wait until that has ended, or {_ANEW}") from None
        except OSError as error:
            said = f"is on a file system that knows no locks ({error}); {_ANEW} on one that does"
            raise ConfigError("checkpoint", str(folder), said) from error
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


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

    What was merged up to a run is written under a hidden name first. Once it has its own, and the disk has both, those
    that it was made of count no more. They stay until the next one folds, which clears them away: by then nobody reads
    them. So whoever is killed in between leaves what the next one can read.
    """
    folds, runs = _numbered(parts, "upto"), _numbered(parts, "run")
    last = max(folds, default=-1)
    recent = {number: path for number, path in runs.items() if number > last}
    counting = [*(path for number, path in folds.items() if number == last), *recent.values()]
    for path in (*parts.glob(".upto=*"), *folds.values(), *runs.values()):
        if path not in counting:
            shutil.rmtree(path)
    if len(recent) <= PARTS_MAX:
        return counting
    hidden, named = (parts / f"{dot}upto={max(recent)}" for dot in (".", ""))
    merge(spark.read.parquet(*map(str, counting))).write.mode("overwrite").parquet(str(hidden))
    _sync(*hidden.rglob("*"), hidden)
    hidden.rename(named)
    _sync(parts)
    return [named]


def _sync(*paths: Path) -> None:
    """Let files, and names in folders, survive a loss of power."""
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _numbered(parts: Path, name: str) -> dict[int, Path]:
    found = {_number(path): path for path in parts.glob(f"{name}=*")}
    return dict(sorted(found.items()))


def _number(path: Path) -> int:
    return int(path.name.partition("=")[2])


def follow(spark: SparkSession, request: JobRequest, kind: str, about: str, keep: Keep) -> None:
    """Hand over the rows that a stream has not seen yet; what `keep` makes of them lies in `parts_folder`. `about` says
    what that is: a checkpoint that was made for something else is refused."""
    folder = Path(request.checkpoint, kind)
    check_owner(folder, request, kind, about)
    _check_numbers(folder, parts_folder(request, kind))
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


def check_owner(folder: Path, request: JobRequest, kind: str, about: str) -> None:
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


def _check_numbers(folder: Path, parts: Path) -> None:
    """Spark goes on after the last run that it has written down. If it knows less than was kept, it would use numbers
    anew: of runs that were merged, which count no more, or of some whose rows it would read again. It is refused."""
    logs = (folder.glob(f"spark/{log}/*") for log in ("offsets", "commits"))
    begun, done = ({int(path.name) for path in log if path.name.isdigit()} for log in logs)
    runs = map(_number, (*parts.glob("run=*"), *parts.glob("*/run=*")))
    if _last(_numbered(parts, "upto")) > _last(begun & done) or _last(runs) > _last(begun):
        said = f"has more runs than Spark wrote down in its folder spark, which was removed or changed; {_ANEW}"
        raise ConfigError("checkpoint", str(folder), said)


def _last(numbers: Iterable[int]) -> int:
    return max(numbers, default=-1)
