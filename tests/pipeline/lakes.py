"""Small lakes for tests, written as writers do (whole files in day=/domain=/kind= folders), and jobs on them."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from causeway.lake.schema import KINDS, LAKE_VERSION
from causeway.lake.seal import row_digest
from causeway.pipeline.frame import JobRequest, JobResult, run_job
from causeway.trace import Step

TYPES = {
    "int32": pa.int32(),
    "int64": pa.int64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "list<int32>": pa.list_(pa.int32()),
    "list<int64>": pa.list_(pa.int64()),
}
USUAL = {"int32": 0, "int64": 0, "bool": False, "string": "", "list<int32>": [], "list<int64>": []}
DAY = 86_400
NOON = 1_700_000_000 // DAY * DAY + DAY // 2
"""A second in the middle of a day."""

_numbers = itertools.count(1)


def row(kind: str, **values: Any) -> dict[str, Any]:
    """A row with these values; the rest is 0 or empty."""
    defaults: dict[str, Any] = {column.name: USUAL[column.type] for column in KINDS[kind]}
    defaults |= {"version": LAKE_VERSION, "writer": "b1", "role": "broker", "life": 1}
    unknown = set(values) - set(defaults)
    assert not unknown, f"{kind} has no columns {sorted(unknown)}"
    return defaults | values


def telemetry(name: str, second: int, messages_in: int, **values: Any) -> dict[str, Any]:
    return row("telemetry", name=name, second=second, messages_in=messages_in, **values)


def latency(name: str, second: int, hop: str, counts: Mapping[int, int], **values: Any) -> dict[str, Any]:
    buckets = sorted(counts)
    sketch = {"buckets": buckets, "counts": [counts[bucket] for bucket in buckets]}
    return row("latency", name=name, second=second, hop=hop, **sketch, **values)


def event(step: int, source: str, dest: str, first: int, last: int | None = None, **values: Any) -> dict[str, Any]:
    ids = {"first": first, "last": first if last is None else last}
    return row("events", step=int(step), source=source, dest=dest, **ids, **values)


def day_of(second: int) -> str:
    return dt.datetime.fromtimestamp(second, dt.UTC).date().isoformat()


def write_segment(
    lake: Path,
    kind: str,
    rows: Iterable[Mapping[str, Any]],
    *,
    day: str,
    domain: str = "d1",
    drop: Iterable[str] = (),
    extra: Mapping[str, Any] | None = None,
    sealed: bool = False,
) -> Path:
    """One segment; `drop` leaves columns out as an older version did, `extra` adds some as a later one may. A `sealed`
    one has a seal for each life."""
    folder = lake / f"day={day}" / f"domain={domain}" / f"kind={kind}"
    folder.mkdir(parents=True, exist_ok=True)
    given = list(rows)
    given += seals_of(given) if sealed else []
    gone = set(drop)
    columns = {
        column.name: pa.array([one[column.name] for one in given], TYPES[column.type])
        for column in KINDS[kind]
        if column.name not in gone
    }
    columns |= {name: pa.array([value] * len(given)) for name, value in (extra or {}).items()}
    path = folder / f"writer-1-{next(_numbers):06}.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def write_lake(
    lake: Path, kind: str, rows: Iterable[Mapping[str, Any]], *, domain: str = "d1", day: str = "", sealed: bool = False
) -> list[Path]:
    """A segment per day and domain of the rows: their own `domain` where they have one; a day by `second`, or by `at`
    for events, unless one is given for all."""
    parts: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in rows:
        second = int(one["second"]) if "second" in one else int(one["at"]) // 1_000_000_000
        parts.setdefault((day or day_of(second), one.get("domain", domain)), []).append(one)
    return [
        write_segment(lake, kind, mine, day=day, domain=domain, sealed=sealed)
        for (day, domain), mine in sorted(parts.items())
    ]


def seal_of(part: Sequence[Mapping[str, Any]], *, before: int = 0, copies: int = 0) -> dict[str, Any]:
    """The seal of some events of one life."""
    whose = {name: part[0][name] for name in ("writer", "role", "life", "version")}
    numbers = [one["sequence"] for one in part]
    ids = {"first": min(numbers), "last": max(numbers), "incarnation": before, "copies": copies}
    seal = row("events", **whose, **ids, step=int(Step.SEALED), at=part[-1]["at"])
    return seal | {"note": str(sum(map(row_digest, part)) + row_digest(seal))}


def seals_of(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One for each life."""
    lives: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for one in rows:
        lives.setdefault((one["writer"], one["life"]), []).append(one)
    return [seal_of(mine) for mine in lives.values()]


def run(
    spark: SparkSession,
    name: str,
    lake: Path | str,
    out: Path,
    *,
    checkpoint: Path | None = None,
    seed: int = 0,
    **options: object,
) -> JobResult:
    """A job over a lake, as a stream with a checkpoint; nobody watches."""
    texts = {name.replace("_", "-"): str(value) for name, value in options.items()}
    request = JobRequest(str(lake), str(out), checkpoint is not None, str(checkpoint or ""), seed, texts)
    return run_job(spark, name, request, lambda stage, done, total: None)


def table(path: Path) -> list[dict[str, Any]]:
    """What a job has written, without asking Spark."""
    return list(pq.read_table(path).to_pylist())


def rounded(value: Any) -> Any:
    """The same but for the last digits of fractions: sums of parts are added up in the order in which they come."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value
