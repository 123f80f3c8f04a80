"""`causeway pipeline`: jobs on Spark over the trace lake. Parse, call, draw, print."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from causeway.cli import following
from causeway.cli.options import AsJson
from causeway.cli.output import EXIT_FAILED, EXIT_OK, console, notices, print_json
from causeway.drawing import check_drawing
from causeway.errors import ConfigError
from causeway.lake.locations import locate
from causeway.pipeline.faults import spark_errors
from causeway.pipeline.frame import JOBS, JobRequest, JobResult, Tick, check_lake, check_request, run_job
from causeway.pipeline.history import keep_going
from causeway.pipeline.increments import sole_run
from causeway.pipeline.jobs import conclude
from causeway.pipeline.page import shown
from causeway.pipeline.progress import JobCourse, spark_work
from causeway.pipeline.session import SessionFlags, session_for
from causeway.progress import Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOKS_PER_SECOND: Final = 2
"""How often the display asks Spark how far it is."""
EVERY_UNITS: Final = {"s": 1, "m": 60, "h": 3600}
EVERY_SECONDS_MAX: Final = 7 * 24 * 3600


def pipeline(
    job: Annotated[str, typer.Argument(help="; ".join(f"{name}: {one.what}" for name, one in JOBS.items()) + ".")],
    *,
    lake: Annotated[
        str, typer.Option(metavar="PLACE", help="Folder of the trace lake: a path, or a URI such as s3a://BUCKET/LAKE.")
    ] = "",
    out: Annotated[str, typer.Option(metavar="PLACE", help="Folder for the results. Default: pipeline/JOB.")] = "",
    master: Annotated[
        str | None,
        typer.Option(
            help="Spark master: local[N], the URL of a cluster, or sc://HOST of Spark Connect. "
            "Default: what Spark's own configuration says, or local[*].",
            show_default=False,
        ),
    ] = None,
    driver_memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory of the driver, for example 2g; with local[N], of all of Spark."),
    ] = None,
    conf: Annotated[
        list[str] | None,
        typer.Option("--conf", metavar="NAME=VALUE", help="A setting of Spark; may be repeated."),
    ] = None,
    packages: Annotated[str, typer.Option(help="Packages for Spark from Maven, with commas between them.")] = "",
    py_files: Annotated[
        str, typer.Option("--py-files", help="Files for executors to import from, with commas between them.")
    ] = "",
    stream: Annotated[
        bool, typer.Option("--stream", help="Read only what the lake gained since the last run with this checkpoint.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="For the job audit: go on as the lake grows, and tell each finding once.")
    ] = False,
    checkpoint: Annotated[
        str,
        typer.Option(metavar="PLACE", help="Where --stream and --follow say what was read. Default: OUT/checkpoint."),
    ] = "",
    every: Annotated[
        str,
        typer.Option(metavar="TIME", help="For the job run: repeat it at this interval (90s, 10m, 1h) until stopped."),
    ] = "",
    seed: Annotated[int, typer.Option(help="Seed of all random choices; the same seed gives the same answer.")] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An option of the job (docs/pipeline.md); may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Run a job on Spark: over a trace lake of brokers, applications or the simulator, or a sweep of simulator runs.

    The command writes result.json, Parquet tables, pictures and a page to --out. With --json it prints the content of
    result.json: "job", "summary", "tables", "pictures", "page". On a cluster, all executors must see --lake and --out
    under the same path. Exit codes: 0 done; 1 a guarantee did not hold (audit), a run failed (sweep), a policy
    was not adopted (risk, run), or the lake or Spark stopped the job; 2 a flag is wrong or something is not installed.
    """
    request = request_of(job, JobRequest(lake, out, stream, checkpoint, seed, parse_options(settings or []), follow))
    check_request(job, request)
    seconds = parse_every(job, every)
    check_drawing("pipeline")
    first = check_lake(job, request)
    flags = SessionFlags(master, driver_memory, parse_options(conf or [], "conf"), packages, py_files)
    check_session(request, flags)
    with sole_run(request), spark_errors(), session_for(job, flags=flags) as session:
        if follow:
            return following.follow(session, first, _told_to_stop(), as_json=as_json)
        if seconds is None:
            return EXIT_OK if _turn(session, job, first, as_json=as_json).holds else EXIT_FAILED
        keep_going(lambda: _turn(session, job, request, as_json=as_json), request.out, seconds, _told_to_stop())
    return EXIT_OK


def request_of(job: str, said: JobRequest) -> JobRequest:
    """The request with places where none was given."""
    out, grows = said.out or f"pipeline/{job}", said.stream or said.follow
    if said.checkpoint and not grows:
        raise ConfigError("checkpoint", said.checkpoint, "is for --stream and --follow; give one of them too")
    kept = (said.checkpoint or str(locate(out) / "checkpoint")) if grows else ""
    return said._replace(out=out, stream=grows, checkpoint=kept)


def check_session(request: JobRequest, flags: SessionFlags) -> None:
    """What a server of Spark Connect cannot do is said before anything begins."""
    if request.follow and flags.is_remote:
        raise ConfigError("follow", "sc://", "needs its driver in this process; give another --master, or --stream")


def _turn(session: SparkSession, job: str, request: JobRequest, *, as_json: bool) -> JobResult:
    """Run the job once, draw and print."""
    with spark_errors(), _display(session, job) as tick:
        found = run_job(session, job, request, tick)
    result = conclude(found, request.out)
    if as_json:
        print_json(result)
    else:
        _show(found, request.out, result)
    return found


def _told_to_stop() -> threading.Event:
    """Set when the process is asked to end: a turn that is under way is finished."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stop.set())
    return stop


def parse_every(job: str, text: str) -> float | None:
    """Seconds of a time like 90s, 10m or 1h; None if there is none."""
    if not text:
        return None
    if job != "run":
        raise ConfigError("every", text, f"is for the job run, which closes the loop; {job} runs once")
    seconds = float(text[:-1]) * EVERY_UNITS[text[-1]] if re.fullmatch(r"[0-9]{1,6}(\.[0-9]+)?[smh]", text) else 0.0
    if not 1 <= seconds <= EVERY_SECONDS_MAX:
        raise ConfigError("every", text, "must be a time of one second to a week, like 90s, 10m or 1h")
    return seconds


def parse_options(settings: list[str], flag: str = "set") -> dict[str, str]:
    """`NAME=VALUE` texts as a mapping."""
    options: dict[str, str] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ConfigError(flag, text, "must be NAME=VALUE")
        if name in options:
            raise ConfigError(f"{flag} {name}", value, "is there twice; give it once")
        options[name] = value
    return options


@contextmanager
def _display(session: SparkSession, job: str) -> Iterator[Tick]:
    """Stages of the job as a bar, with rows and the time left beside it."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[said]}"), TimeElapsedColumn())
    ended = threading.Event()
    course = JobCourse(job)
    with Progress(*columns, console=notices(), transient=True) as bar:
        task = bar.add_task(job, total=None, said="")

        def look() -> None:
            while not ended.wait(1 / LOOKS_PER_SECOND):
                try:
                    work = spark_work(session)
                except Exception:
                    return  # the session has ended, and with it what there was to show
                said = course.said(work, bar.tasks[0].elapsed or 0.0)
                bar.update(task, description=course.stage, completed=course.done, total=course.total, said=said)

        watcher = threading.Thread(target=look, name="progress", daemon=True)
        watcher.start()
        try:
            yield course.tick
        finally:
            ended.set()
            watcher.join(timeout=2)


def _show(found: JobResult, folder: str, result: dict[str, Any]) -> None:
    table = Table(title=f"{found.job}: {JOBS[found.job].what}", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("what")
    table.add_column("found", overflow="fold")
    for name, value in found.summary.items():
        table.add_row(escape(name.replace("_", " ")), escape(_shown(value)))
    out = console()
    out.print(table)
    written = ", ".join(dict.fromkeys(["result.json", result["page"], *found.tables, *result["pictures"]]))
    out.print(f"written to {folder}: {written}", soft_wrap=True, markup=False)


def _shown(value: Any) -> str:
    if isinstance(value, dict) and any(isinstance(one, dict) for one in value.values()):
        return "\n".join(f"{name}: {_shown(one)}" for name, one in value.items())
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_shown(one)}" for name, one in value.items()) or "-"
    if isinstance(value, list | tuple):
        return "; ".join(map(_shown, value)) or "-"
    return shown(value)
