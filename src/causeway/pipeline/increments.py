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
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from causeway.errors import ConfigError, LakeError, PipelineError
from causeway.lake.locations import Location, locate
from causeway.lake.table import Listing, Segment, listing
from causeway.pipeline.frame import Base, JobRequest, base_of, read_lake, stream_lake
from causeway.pipeline.quality import check_segments

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Reduce = Callable[["DataFrame"], "DataFrame"]
Keep = Callable[["DataFrame", int], None]
"""Takes new rows and the number of the run; the same number may come again, and then replaces what it made."""

PARTS_MAX: Final = 64
"""Runs whose parts lie beside each other; one more, and all of them are merged."""

_WHOLE: Final = "_whole"
"""A file in what was merged: it counts."""
_SEEN: Final = "seen.json"
"""How far the last run has read, by life of a writer."""
_ANEW: Final = "give another --checkpoint and --out"


@contextmanager
def sole_run(request: JobRequest) -> Iterator[None]:
    """A stream's checkpoint is nobody else's meanwhile; a PipelineError if it is somebody's now. The system gives it
    back when the process dies. The file stays: removing it would race with whoever is next. An object store knows no
    locks."""
    if not request.stream:
        yield
        return
    folder = locate(request.checkpoint)
    if not folder.is_local:
        yield
        return
    lock = Path(folder.path) / "lock"
    try:
        folder.make_folder()
        file = lock.open("a+")
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


def fold(spark: SparkSession, parts: Location, merge: Reduce) -> list[Location]:
    """Folders of all parts that count, which are one if they were many. Nobody writes parts meanwhile.

    What was merged up to a run counts once it is whole on the disk and marked so; then those that it was made of count
    no more. They stay until the next one folds, which clears them away: by then nobody reads them. So whoever is killed
    in between leaves what the next one can read.
    """
    folds, runs = _numbered(parts, "upto"), _numbered(parts, "run")
    last = max((number for number, folder in folds.items() if (folder / _WHOLE).exists()), default=-1)
    recent = {number: folder for number, folder in runs.items() if number > last}
    counting = [*(folder for number, folder in folds.items() if number == last), *recent.values()]
    for folder in (*folds.values(), *runs.values()):
        if folder not in counting:
            folder.remove_folder()
    if len(recent) <= PARTS_MAX:
        return counting
    merged = parts / f"upto={max(recent)}"
    merge(spark.read.parquet(*map(str, counting))).write.mode("overwrite").parquet(str(merged))
    merged.sync_folder()
    (merged / _WHOLE).write(b"")
    return [merged]


def _numbered(parts: Location, name: str) -> dict[int, Location]:
    found = {_number(folder): folder for folder in parts.matching(f"{name}=*")}
    return dict(sorted(found.items()))


def _number(folder: Location) -> int:
    return int(folder.name.partition("=")[2])


def follow(spark: SparkSession, request: JobRequest, kind: str, about: str, keep: Keep) -> None:
    """Hand over the rows that a stream has not seen yet; what `keep` makes of them lies in `parts_folder`. `about` says
    what that is: a checkpoint that was made for something else is refused."""
    folder = locate(request.checkpoint) / kind
    if kind not in request.checked:
        check_segments(request.lake, kind)
    base = check_owner(folder, request, kind, about)
    _check_numbers(folder, parts_folder(request, kind))
    found = listing(request.lake, kind)
    check_unread(folder, found, base)
    query = (
        stream_lake(spark, request.lake, kind, base)
        .writeStream.foreachBatch(keep)
        .option("checkpointLocation", str(folder / "spark"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    if not parts_folder(request, kind).is_folder():
        remedy = "remove the folder: the stream then begins anew"
        raise LakeError(str(folder), "says that the lake was read, and has nothing of it", remedy)
    keep_seen(folder, found, base)


def parts_folder(request: JobRequest, kind: str) -> Location:
    """Where a stream keeps what it has made of rows of a kind."""
    return locate(request.checkpoint) / kind / "parts"


def runs_of(request: JobRequest, kind: str) -> int:
    """How many times a stream found new rows of a kind; 0 in batch."""
    if not request.stream:
        return 0
    parts = parts_folder(request, kind)
    return max((*_numbered(parts, "upto"), *_numbered(parts, "run")), default=-1) + 1


class _Owner(msgspec.Struct, frozen=True):
    """What a checkpoint is about."""

    lake: str
    kind: str
    reduce: str
    base: Base = Base([], [])


def check_owner(folder: Location, request: JobRequest, kind: str, about: str) -> Base:
    """Where the stream began. A checkpoint of another lake or job would give sums of both; it is refused."""
    lake, path = locate(request.lake).absolute(), folder / "about.json"
    try:
        found = msgspec.json.decode(path.read(), type=_Owner)
    except FileNotFoundError:
        if (folder / "spark").exists():
            raise ConfigError("checkpoint", str(folder), "is that of another query; give a folder of its own") from None
        owner = _Owner(lake, kind, about, base_of(request.lake, kind))
        path.write(msgspec.json.encode(owner))
        return owner.base
    except msgspec.DecodeError as error:
        raise ConfigError("checkpoint", str(path), f"is damaged ({error}); remove the folder") from error
    if (found.lake, found.kind, found.reduce) != (lake, kind, about):
        said = f"is about {found.kind} of {found.lake}; give another folder, or remove this one to begin anew"
        raise ConfigError("checkpoint", str(folder), said)
    return found.base


def check_unread(folder: Location, found: Listing, base: Base) -> None:
    """What others have taken the place of is read as long as it is there; a stream that slept too long has missed it,
    and is refused."""
    seen, taken = _seen(folder), frozenset(base.taken)
    named = [(one, one.name) for one in (*found.live, *found.replaced) if one.name is not None]
    there = {(_life(one), name.last) for one, name in named if not name.is_replacement}
    for one, name in named:
        if name.is_replacement and str(name) not in taken:
            unread = range(max(name.first, seen.get(_life(one), 0) + 1), name.last + 1)
            if any((_life(one), number) not in there for number in unread):
                said = "was made of segments that this stream had not read, and they are gone"
                raise LakeError(str(one.location), said, _ANEW)


def keep_seen(folder: Location, found: Listing, base: Base, *, until: int | None = None) -> None:
    """Write down that these were read: the last segment of each life. Those that came after `until`, in milliseconds
    since 1970, were not."""
    seen, taken = _seen(folder), frozenset(base.taken)
    for one in (*found.live, *found.replaced):
        name = one.name
        if name is None or (name.is_replacement and str(name) not in taken):
            continue
        if until is None or one.changed // 1_000_000 <= until:
            seen[_life(one)] = max(seen.get(_life(one), 0), name.last)
    (folder / _SEEN).write(msgspec.json.encode(seen))


def _seen(folder: Location) -> dict[str, int]:
    path = folder / _SEEN
    return msgspec.json.decode(path.read(), type=dict[str, int]) if path.exists() else {}


def _life(one: Segment) -> str:
    assert one.name is not None  # asked only of what a writer wrote
    return f"{one.domain}/{one.name.writer}-{one.name.life}"


def _check_numbers(folder: Location, parts: Location) -> None:
    """Spark goes on after the last run that it has written down. If it knows less than was kept, it would use numbers
    anew: of runs that were merged, which count no more, or of some whose rows it would read again. It is refused."""
    logs = ((folder / "spark" / log).entries() for log in ("offsets", "commits"))
    names = ((entry.location.name for entry in log) for log in logs)
    begun, done = ({int(name) for name in log if name.isdigit()} for log in names)
    runs = [_number(run) for place in (parts, *parts.matching("*")) for run in place.matching("run=*")]
    if _last(_numbered(parts, "upto")) > _last(begun & done) or _last(runs) > _last(begun):
        said = f"has more runs than Spark wrote down in its folder spark, which was removed or changed; {_ANEW}"
        raise ConfigError("checkpoint", str(folder), said)


def _last(numbers: Iterable[int]) -> int:
    return max(numbers, default=-1)
