"""Keeping a lake: few files in place of many, and no more of it than is wanted.

Both replace segments by one that spans them (`table`). `compact` gives it all their rows, `retain` a single row that
says what they were (`seal`). Whatever is interrupted leaves a lake that is whole; the next run goes on.

A writer merges its own newest segments meanwhile. So that both never take different parts of the same run, what was
written lately is the writer's.

Owns: what is replaced, and when. Must not know: what rows mean, who reads.
"""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from causeway.errors import ConfigError, LakeError
from causeway.lake.days import DAY, day_name
from causeway.lake.limits import COMPACTED_BYTES_MAX, REPLACED_SECONDS
from causeway.lake.locations import Location, locate
from causeway.lake.schema import EVENTS
from causeway.lake.seal import retired_row
from causeway.lake.segments import merge, opened, remove_replaced, write_rows
from causeway.lake.table import Listing, Segment, listing
from causeway.lake.tables import SCHEMAS

Told = Callable[[int, int], None]
"""Hears how much is done, and of how much."""

_LOCK: Final = ".keeping"
_BATCH_ROWS: Final = 10_000
_USUAL: Final[Mapping[str, Any]] = {"string": "", "bool": False}


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What was done."""

    segments_before: int
    segments_after: int
    bytes_before: int
    bytes_after: int
    replaced: int
    """Segments whose place another has taken; they stay for a while."""
    removed: int
    """Files that are gone."""
    days: list[str] = []
    """That were retired."""


def compact(
    lake: str | Location,
    *,
    idle: float = REPLACED_SECONDS,
    grace: float = REPLACED_SECONDS,
    told: Told = lambda *_: None,
) -> Kept:
    """Make one segment of many, writer by writer. What was written in the last `idle` seconds is left alone; what was
    replaced goes after `grace` seconds. Raises LakeError and OSError."""
    with _alone(lake) as place:
        before = listing(place)
        removed = _tidy(place, before, grace)
        runs = [run for mine in _lives(before.live) for run in _runs(mine, idle) if len(run) > 1]
        for done, run in enumerate(runs):
            told(done, len(runs))
            name = _named(run[0])._replace(last=_named(run[-1]).last)
            try:
                merge((one.location for one in run), run[0].location.parent / str(name))
            except FileNotFoundError:
                continue  # its writer has just made room
            except (OSError, pa.ArrowException) as error:
                raise _unreadable(run, error) from error
        after = listing(place)
        return _said(before, after, sum(map(len, runs)), removed + remove_replaced(after, grace))


def retain(
    lake: str | Location,
    *,
    days: int | None = None,
    bytes_max: int | None = None,
    grace: float = REPLACED_SECONDS,
    told: Told = lambda *_: None,
) -> Kept:
    """Retire whole days, oldest first: those more than `days` before today, and more until the rest takes no more than
    `bytes_max`. Today stays. Of events a row remains that says what they were. Raises LakeError and OSError."""
    with _alone(lake) as place:
        before = listing(place)
        removed = _tidy(place, before, grace)
        gone = _old_days(before, days, bytes_max)
        old = [one for one in before.live if one.day in gone and one.name is not None and not one.name.retired]
        runs = [run for mine in _lives(old) for run in _runs(mine, 0, bytes_max=1 << 62, alike=False)]
        for done, run in enumerate(runs):
            told(done, len(runs))
            if run[0].kind != "events":
                for one in run:
                    one.location.remove()
                removed += len(run)
                continue
            name = _named(run[0])._replace(last=_named(run[-1]).last, retired=True)
            try:
                row = retired_row(_rows(run))
            except (OSError, pa.ArrowException) as error:
                raise _unreadable(run, error) from error
            table = pa.Table.from_pylist([row], SCHEMAS["events"])
            write_rows(run[0].location.parent / str(name), [table])
        after = listing(place)
        replaced = sum(len(run) for run in runs if run[0].kind == "events")
        return _said(before, after, replaced, removed + remove_replaced(after, grace), sorted(gone))


# Which --------------------------------------------------------------------------------------------------------------
def _lives(live: Iterable[Segment]) -> Iterator[list[Segment]]:
    """Segments of one writer, life, day and kind, in their order. Files that no writer wrote are left alone."""

    def whose(one: Segment) -> tuple[str, str, int]:
        return (one.location.parent.path, *_named(one)[:2])

    mine = sorted((one for one in live if one.name is not None), key=lambda one: (*whose(one), _named(one).first))
    for _, found in groupby(mine, whose):
        yield list(found)


def _runs(
    mine: list[Segment], idle: float, *, bytes_max: int = COMPACTED_BYTES_MAX, alike: bool = True
) -> Iterator[list[Segment]]:
    """Those that may become one: they follow each other without a gap, have the same columns, and are not too large."""
    if max(one.changed for one in mine) > time.time_ns() - int(idle * 1e9):
        return
    run: list[Segment] = []
    for one in mine:
        if one.name is None or one.name.retired:
            continue
        follows = run and _named(run[-1]).last + 1 == one.name.first
        if not follows or sum(part.size for part in run) + one.size > bytes_max or (alike and not _alike(run[0], one)):
            if run:
                yield run
            run = []
        run.append(one)
    if run:
        yield run


def _alike(one: Segment, other: Segment) -> bool:
    try:
        schemas = [pq.read_schema(each.location.path, filesystem=each.location.file_system) for each in (one, other)]
    except FileNotFoundError:
        return False
    except (OSError, pa.ArrowException) as error:
        raise _unreadable([other], error) from error
    return bool(schemas[0].equals(schemas[1]))


def _old_days(found: Listing, days: int | None, bytes_max: int | None) -> set[str]:
    now = time.time_ns() // DAY
    today, oldest_kept = day_name(now), "" if days is None else day_name(now - days)
    sizes: dict[str, int] = {}
    for one in found.live:
        if one.name is not None and not one.name.retired:
            sizes[one.day] = sizes.get(one.day, 0) + one.size
    gone = {day for day in sizes if day < oldest_kept}
    left = sum(size for day, size in sizes.items() if day not in gone)
    for day in sorted(sizes):
        if day >= today or bytes_max is None or left <= bytes_max:
            break
        if day not in gone:
            gone.add(day)
            left -= sizes[day]
    return gone


def _named(one: Segment) -> Any:
    return one.name


def _rows(run: list[Segment]) -> Iterator[dict[str, Any]]:
    """Rows of events; what an older version did not write is 0 or empty."""
    usual = {column.name: _USUAL.get(column.type, 0) for column in EVENTS}
    for one in run:
        with opened(one.location) as file:
            for batch in file.iter_batches(_BATCH_ROWS, use_threads=False):
                yield from ({**usual, **row} for row in batch.to_pylist())


# Around it ------------------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def _alone(lake: str | Location) -> Iterator[Location]:
    """Nobody else keeps this lake meanwhile. On an object store nothing sees to that."""
    place = locate(lake)
    if not place.is_folder():
        raise ConfigError("lake", str(place), "there is no such folder")
    if not place.is_local:
        yield place
        return
    with Path(place.path, _LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            said = "is being compacted or retired by somebody else"
            raise LakeError(str(place), said, "wait until that has ended") from None
        yield place


def _tidy(place: Location, found: Listing, grace: float) -> int:
    """Remove what was replaced long ago, and what a process that was killed has left."""
    if place.is_local:
        for entry in place.entries(deep=True):
            if entry.location.name.startswith(".") and entry.location.name.endswith(".parquet"):
                entry.location.remove_abandoned()
    return remove_replaced(found, grace)


def _said(before: Listing, after: Listing, replaced: int, removed: int, days: list[str] | None = None) -> Kept:
    return Kept(
        segments_before=len(before.live),
        segments_after=len(after.live),
        bytes_before=before.size,
        bytes_after=after.size,
        replaced=replaced,
        removed=removed,
        days=days or [],
    )


def _unreadable(run: list[Segment], error: Exception) -> LakeError:
    where = str(run[0].location) if len(run) == 1 else f"{run[0].location} or one of the {len(run) - 1} behind it"
    return LakeError(where, f"cannot be read ({error})", "move it out of the lake and run again")
