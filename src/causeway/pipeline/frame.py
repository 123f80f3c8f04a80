"""What every job of the pipeline is: a request in, tables, a summary and figures out.

A job is a module with `run(spark, request, tick) -> JobResult`, named in `JOBS`. It reads the lake through `read_lake`,
is a composition of small functions from data frame to data frame, and writes Parquet under `request.out`.

Owns: the list of jobs, how the lake is read, what is written beside the tables. Must not know: what a job computes, how
figures are drawn.
"""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import reduce
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from causeway.errors import ConfigError
from causeway.figures import Bars, Figure
from causeway.lake.locations import locate
from causeway.lake.schema import KINDS, Column
from causeway.lake.table import REPLACEMENT, listing
from causeway.pipeline.quality import check_segments, segments

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Tick = Callable[[str, int, int], None]
"""Hears the stage that begins, how many stages are done, and how many there are."""


class JobRequest(NamedTuple):
    """What a job is asked."""

    lake: str
    """Folder of the lake; empty for jobs that read none."""
    out: str
    """Folder for what comes out."""
    stream: bool = False
    """Read only what was added since the last run with the same checkpoint; the answer is about all of it."""
    checkpoint: str = ""
    """Where a stream keeps how far it has come, and sums of what it has read. Empty: in `out`."""
    seed: int = 0
    options: Mapping[str, str] = MappingProxyType({})
    """By name; `Job.options` has those that there are."""
    follow: bool = False
    """As a stream, and without an end: go on until somebody says stop."""
    checked: Collection[str] = ()
    """Kinds whose segments somebody has looked at already (`check_lake`)."""


class JobResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a job found."""

    job: str
    summary: dict[str, Any]
    """The answer in short, ready for JSON. Nothing in it grows with the lake."""
    tables: tuple[str, ...] = ()
    """Parquet tables and files under `out`."""
    figures: tuple[Figure | Bars, ...] = ()
    holds: bool = True
    """False: what the job was asked to judge did not hold."""


Run = Callable[["SparkSession", JobRequest, Tick], JobResult]


class Job(NamedTuple):
    """One line of the list of jobs."""

    module: str
    what: str
    """One line for people."""
    reads: str = ""
    """Kind of rows that it reads from the lake; empty: it reads none."""
    streams: bool = False
    """Whether it can go on with a growing lake."""
    follows: bool = False
    """Whether it can do so without an end. Its options are about that."""
    options: Mapping[str, str] = MappingProxyType({})
    """Name -> meaning and default of what `--set` may say."""


_RATES_OPTIONS: Final = {
    "interval": "seconds of a window, which is one sample of a rate (1)",
    "period": "seconds of a period; the job looks for the peak among periods (900)",
    "peak": "part of the periods, 0..1, that lies below the peak (0.75); 0: all periods count",
    "domain": "use this domain alone (all)",
    "capacity": "messages/s that every broker sustains, for model.json (10000)",
    "brokers": "JSON file, broker -> messages/s, instead of `capacity`",
}
_RISK_OPTIONS: Final = {
    "rates": "folder that the job rates has written",
    "url": "running cluster to ask for brokers and present owners",
    "placement": "JSON file with brokers and present owners, as for `causeway plan placement`, instead of `url`",
    "threshold": "largest risk of a broker (the cluster's own, or 0.05)",
    "adopt": "yes: propose policies that are feasible and no riskier than the policy in force (no)",
    "force": "domains, with commas between them, whose policy is proposed even if it would be refused (none)",
}

JOBS: Final[dict[str, Job]] = {
    "audit": Job(
        "causeway.pipeline.audit.job",
        "what was lost, doubled, out of order or acknowledged too early, with evidence; or a certificate",
        reads="events",
        streams=True,
        follows=True,
        options={
            "patience": "with --follow: seconds without a record about messages, after which they are judged (60)",
            "memory": "with --follow: seconds for which records of messages that are still open are held (3600)",
            "url": "with --follow: running cluster to publish findings on (none)",
            "topic": "with --follow: topic of these messages (audit/findings)",
        },
    ),
    "generate": Job(
        "causeway.pipeline.generate.job",
        "a lake of any size, from a seed, with bursts, a daily course and planted faults",
        options={
            "events": "number of lifecycle events, about (100000); 0: none",
            "applications": "number of applications (40)",
            "faults": "number of planted faults of each kind (0)",
            "topics": "number of topics with telemetry (200); 0: none",
            "items": "number of items that the topics belong to (20)",
            "seconds": "seconds of telemetry, from midnight on (3600)",
            "rate": "messages/s of a topic, on average and outside of bursts (0.15)",
            "crowds": "number of groups of items that burst together (8)",
            "brokers": "number of brokers that own the items (5)",
            "latency": "no: telemetry without sketches of latency (yes)",
        },
    ),
    "rates": Job(
        "causeway.pipeline.rates",
        "rates of topics, peak periods, means and covariance of items",
        reads="telemetry",
        streams=True,
        options=_RATES_OPTIONS,
    ),
    "risk": Job(
        "causeway.pipeline.risk",
        "probability of overload now and after failures, and a better placement",
        options=_RISK_OPTIONS,
    ),
    "run": Job(
        "causeway.pipeline.loop",
        "rates, then risk, then adoption of policies that qualify: one turn of the loop, with a history of decisions",
        options={
            **_RATES_OPTIONS,
            **{name: meaning for name, meaning in _RISK_OPTIONS.items() if name in {"url", "threshold", "force"}},
            "adopt": "no: compute, and propose nothing (yes)",
        },
    ),
    "latency": Job(
        "causeway.pipeline.latency",
        "percentiles by class, topic, hop and site, time held, cost of monitoring",
        reads="latency",
        streams=True,
    ),
    "domains": Job(
        "causeway.pipeline.domains",
        "which applications talk to each other, and a split into domains",
        reads="events",
        options={
            "traffic": "`all` messages, or those sent in `causal` order alone (all)",
            "domain-size-max": "largest number of seats in a domain (64)",
        },
    ),
    "sweep": Job(
        "causeway.pipeline.sweep",
        "a grid of simulator runs, one row per run, resumable",
        options={
            "seeds": "number of runs of each combination, with seeds from --seed on (10)",
            "base": "`swarm`: draw other options from the seed; `calm`: no faults but those you name (swarm)",
            "OPTION": "values of an option of the simulator with commas between them; durations in seconds",
        },
    ),
}
"""By name, as `causeway pipeline NAME` knows them."""


# Running ------------------------------------------------------------------------------------------------------------
def check_request(name: str, request: JobRequest) -> Job:
    """The job of that name, or a ConfigError that says what is wrong with the request."""
    if name not in JOBS:
        raise ConfigError("job", name, f"must be one of: {', '.join(JOBS)}")
    job = JOBS[name]
    for option, value in request.options.items():
        if option not in job.options and "OPTION" not in job.options:  # who has any checks them itself
            known = ", ".join(job.options) or "it has none"
            raise ConfigError(f"set {option}", value, f"is no option of {name}; those are: {known}")
    if request.follow and not job.follows:
        raise ConfigError("follow", name, "this job ends; leave --follow out")
    if request.options and job.follows and not request.follow:
        raise ConfigError("set", ", ".join(request.options), "is for --follow; give it too")
    if request.stream and not job.streams:
        raise ConfigError("stream", name, "this job reads the whole lake each time; leave --stream out")
    if job.reads and not request.lake:
        raise ConfigError("lake", request.lake, f"{name} reads a lake; give its folder")
    return job


def check_lake(name: str, request: JobRequest) -> JobRequest:
    """Look at the segments that a job reads before anybody waits for Spark; the same request, which says so."""
    kind = JOBS[name].reads
    if not kind:
        return request
    check_segments(request.lake, kind)
    return request._replace(checked=(kind,))


def run_job(spark: SparkSession, name: str, request: JobRequest, tick: Tick) -> JobResult:
    """Run one job; whatever Spark says about a failure comes out as a CausewayError."""
    from causeway.pipeline.faults import spark_errors

    job = check_request(name, request)
    locate(request.out).make_folder()
    run: Run = importlib.import_module(job.module).run
    began = time.monotonic()
    with spark_errors():
        found = run(spark, request, tick)
    took = round(time.monotonic() - began, 3)
    return msgspec.structs.replace(found, summary={**found.summary, "seconds_taken": took})


def write_result(found: JobResult, out: str, pictures: list[str], page: str) -> dict[str, Any]:
    """Write `result.json`, whole or not at all; what it says."""
    tables = list(found.tables)
    result = {"job": found.job, "summary": found.summary, "tables": tables, "pictures": pictures, "page": page}
    write_text(out, "result.json", json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    return result


def write_text(out: str, name: str, text: str) -> str:
    """A file of the result, whole or not at all; its name."""
    (locate(out) / name).write(text.encode())
    return name


def write_table(frame: DataFrame, out: str, name: str) -> str:
    """A table of the result, in place of one that was there; its name."""
    frame.write.mode("overwrite").parquet(str(locate(out) / name))
    return name


def write_small_table(table: pa.Table, out: str, name: str) -> str:
    """The same for what the driver has already, without asking Spark."""
    import pyarrow.parquet as pq

    folder = locate(out) / name
    folder.remove_folder()
    folder.make_folder()
    pq.write_table(table, f"{folder.path}/part-0.parquet", filesystem=folder.file_system)
    return name


@contextmanager
def kept(frame: DataFrame) -> Iterator[DataFrame]:
    """The same rows, computed when first asked for and kept meanwhile: in memory, or on disk where that is full."""
    rows = frame.persist()
    try:
        yield rows
    finally:
        rows.unpersist()


def number_option(request: JobRequest, name: str, usual: float, least: float, most: float) -> float:
    """An option that is a number in these bounds."""
    text = request.options.get(name)
    if text is None:
        return usual
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise ConfigError(f"set {name}", text, f"must be a number in {least:g}..{most:g}")
    return value


def count_option(request: JobRequest, name: str, usual: int, least: int, most: int) -> int:
    """An option that is a whole number in these bounds."""
    value = number_option(request, name, usual, least, most)
    if value != int(value):
        raise ConfigError(f"set {name}", request.options[name], f"must be a whole number in {least}..{most}")
    return int(value)


def yes_option(request: JobRequest, name: str, *, usual: bool) -> bool:
    """An option that is yes or no."""
    text = request.options.get(name)
    if text not in {None, "yes", "no"}:
        raise ConfigError(f"set {name}", text, "must be yes or no")
    return usual if text is None else text == "yes"


# Reading ------------------------------------------------------------------------------------------------------------
_DEFAULTS: Final[dict[str, Any]] = {"int32": 0, "int64": 0, "bool": False, "string": ""}


def read_lake(spark: SparkSession, lake: str, kind: str, *, checked: Collection[str] = ()) -> DataFrame:
    """Rows of one kind with the columns of the schema, then `day` and `domain`; never null.

    These are the rows of the segments that count now, whatever takes their place while they are read. Columns that an
    older version did not have are filled with 0, false, empty text or an empty list; columns that this version does not
    know are left out. An empty lake, or a segment that is not whole, is a LakeError here, unless somebody has `checked`
    the kind; what is wrong inside a segment is one when it is read.
    """
    from pyspark.errors import AnalysisException

    if kind not in checked:
        check_segments(lake, kind)
    for _ in range(_LOOKS_MAX - 1):
        with suppress(AnalysisException):  # a writer has just made room
            return _read(spark, lake, kind)
    return _read(spark, lake, kind)


_LOOKS_MAX: Final = 3


def _read(spark: SparkSession, lake: str, kind: str) -> DataFrame:
    files = (str(segment.location) for segment in segments(lake, kind))
    return _with_all_columns(_reader(spark.read, lake, kind).parquet(*files), kind)


def stream_lake(spark: SparkSession, lake: str, kind: str, base: Base, *, files_max: int | None = None) -> DataFrame:
    """The same as a stream: each row once, though other segments take the place of the one in which it was read. At
    most `files_max` segments are read at a time."""
    from pyspark.sql import functions as F

    pattern = str(locate(lake) / "day=*" / "domain=*" / f"kind={kind}")
    reader = _reader(spark.readStream, lake, kind)
    if files_max is not None:
        reader = reader.option("maxFilesPerTrigger", files_max)
    rows: DataFrame = reader.parquet(pattern)
    name = F.col("_metadata.file_name")
    fresh = ~name.rlike(REPLACEMENT) & ~name.isin(base.passed_over)
    return _with_all_columns(rows.where(fresh | name.isin(base.taken)), kind)


class Base(msgspec.Struct, frozen=True):
    """Where a stream begins: with segments that had taken the place of others by then."""

    taken: list[str]
    """These, by name."""
    passed_over: list[str]
    """The others, as far as they were there."""


def base_of(lake: str, kind: str) -> Base:
    """For a stream that begins now. From then on it reads each segment when it comes, and none that replaces others."""
    now = listing(lake, kind)
    taken = [one.location.name for one in now.live if one.name is not None and one.name.is_replacement]
    return Base(taken, [one.location.name for one in now.replaced])


def _reader(reader: Any, lake: str, kind: str) -> Any:
    from causeway.pipeline.schemas import lake_schema

    verified = reader.schema(lake_schema(KINDS[kind])).option("parquet.page.verify-checksum.enabled", "true")
    return verified.option("basePath", str(locate(lake)))


def _with_all_columns(rows: DataFrame, kind: str) -> DataFrame:
    columns = KINDS[kind]
    return reduce(_with_default, columns, rows).select(*(column.name for column in columns), "day", "domain")


def _with_default(frame: DataFrame, column: Column) -> DataFrame:
    from pyspark.sql import functions as F

    usual = _DEFAULTS.get(column.type)
    default = F.array().cast(frame.schema[column.name].dataType) if usual is None else F.lit(usual)
    return frame.withColumn(column.name, F.coalesce(column.name, default))
