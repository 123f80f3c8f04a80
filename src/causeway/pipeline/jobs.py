"""The jobs as functions, for notebooks and programs: each returns its tables as data frames, its summary, and its page.

    from causeway.pipeline import jobs
    found = jobs.rates(spark, "./lake", period=60)
    found["items"].orderBy("mean").show()
    found                       # in a notebook: pictures and numbers

They are what `causeway pipeline` runs. Tables and pages are written to a folder as there (`out`, else pipeline/JOB),
and read from it. Owns: these functions. Must not know: what a job computes.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from causeway.drawing import draw
from causeway.figures import Bars, Figure
from causeway.lake.locations import locate
from causeway.pipeline.frame import JOBS, JobRequest, JobResult, Tick, run_job, write_result
from causeway.pipeline.increments import sole_run
from causeway.pipeline.page import body_of, drawn_in, write_page

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class JobAnswer:
    """What a job found."""

    def __init__(self, spark: SparkSession, found: JobResult, out: str, pictures: list[str]) -> None:
        self._spark = spark
        self.job = found.job
        self.summary = found.summary
        """The answer in short."""
        self.holds = found.holds
        """False: what the job was asked to judge did not hold."""
        self.out = out
        """Folder with everything."""
        self.tables = tuple(name for name in found.tables if (locate(out) / name).is_folder())
        """Names of the data frames."""
        self.files = tuple(name for name in found.tables if name not in self.tables)
        self.pictures = tuple(pictures)

    def __getitem__(self, table: str) -> DataFrame:
        """A table as a data frame."""
        if table not in self.tables:
            raise KeyError(f"{table!r} is no table of {self.job}; those are: {', '.join(self.tables)}")
        return self._spark.read.parquet(str(locate(self.out) / table))

    def __repr__(self) -> str:
        return f"{self.job}: {self.summary}; tables: {', '.join(self.tables) or 'it has no tables'}; all in {self.out}"

    def _repr_html_(self) -> str:
        """In a notebook."""
        return body_of(self.job, self.summary, drawn_in(self.pictures, self.out), (*self.tables, *self.files))


def conclude(found: JobResult, out: str) -> dict[str, Any]:
    """Draw, and write result.json and, unless the job has done so, a page; what result.json says."""
    pictures = [name for figure in found.figures for name in draw_to(figure, out)]
    own = next((name for name in found.tables if name.endswith(".html")), "")
    page = own or write_page(f"{found.job}: {JOBS[found.job].what}", found.summary, pictures, found.tables, out)
    return write_result(found, out, pictures, page)


def draw_to(figure: Figure | Bars, out: str) -> list[str]:
    """Draw a figure into a folder, wherever that is; names of the files."""
    place = locate(out)
    with tempfile.TemporaryDirectory(prefix="causeway-") as folder:
        drawn = draw(figure, Path(folder))
        for path in drawn:
            (place / path.name).write(path.read_bytes())
    return [path.name for path in drawn]


def _call(
    spark: SparkSession,
    job: str,
    lake: str,
    out: str,
    options: dict[str, object],
    *,
    tick: Tick | None,
    stream: bool = False,
) -> JobAnswer:
    folder = out or f"pipeline/{job}"
    seed = int(str(options.pop("seed", 0)))
    texts = {name.replace("_", "-"): _text(value) for name, value in options.items()}
    kept = str(locate(folder) / "checkpoint") if stream else ""
    request = JobRequest(lake, folder, stream, kept, seed, texts)
    with sole_run(request):
        found = run_job(spark, job, request, tick or (lambda stage, done, total: None))
    return JobAnswer(spark, found, folder, conclude(found, folder)["pictures"])


def _text(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def audit(
    spark: SparkSession, lake: str, out: str = "", *, stream: bool = False, tick: Tick | None = None
) -> JobAnswer:
    """What was lost, doubled, out of order or acknowledged too early: findings, certificate, mailboxes, doubts."""
    return _call(spark, "audit", lake, out, {}, tick=tick, stream=stream)


def rates(
    spark: SparkSession, lake: str, out: str = "", *, stream: bool = False, tick: Tick | None = None, **options: object
) -> JobAnswer:
    """Rates of topics, peak periods, means and covariance of items."""
    return _call(spark, "rates", lake, out, options, tick=tick, stream=stream)


def latency(
    spark: SparkSession, lake: str, out: str = "", *, stream: bool = False, tick: Tick | None = None
) -> JobAnswer:
    """Percentiles by class, topic, hop and site."""
    return _call(spark, "latency", lake, out, {}, tick=tick, stream=stream)


def domains(spark: SparkSession, lake: str, out: str = "", *, tick: Tick | None = None, **options: object) -> JobAnswer:
    """Which applications talk to each other, and a split into domains."""
    return _call(spark, "domains", lake, out, options, tick=tick)


def risk(spark: SparkSession, out: str = "", *, tick: Tick | None = None, **options: object) -> JobAnswer:
    """Probability of overload now and after failures, and a better placement."""
    return _call(spark, "risk", "", out, options, tick=tick)


def run(spark: SparkSession, lake: str, out: str = "", *, tick: Tick | None = None, **options: object) -> JobAnswer:
    """Rates, then risk, then adoption: one turn of the loop."""
    return _call(spark, "run", lake, out, options, tick=tick)


def generate(
    spark: SparkSession, lake: str, out: str = "", *, tick: Tick | None = None, **options: object
) -> JobAnswer:
    """A lake of any size, from a seed."""
    return _call(spark, "generate", lake, out, options, tick=tick)


def sweep(spark: SparkSession, out: str = "", *, tick: Tick | None = None, **options: object) -> JobAnswer:
    """A grid of simulator runs, one row per run."""
    return _call(spark, "sweep", "", out, options, tick=tick)
