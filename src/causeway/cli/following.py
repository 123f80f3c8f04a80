"""`causeway pipeline audit --follow`: findings as they come, and how far behind the follower is.

Owns: what is shown and written meanwhile. Must not know: how anything is found.
"""

from __future__ import annotations

import datetime as dt
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.markup import escape
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from causeway.cli.output import EXIT_FAILED, EXIT_OK, console, notices, print_json
from causeway.lake.locations import Location, locate
from causeway.pipeline.audit.continuous import Behind, Follower, Known, behind_of, metrics_of
from causeway.pipeline.audit.words import VIOLATED
from causeway.pipeline.connector import register
from causeway.pipeline.frame import JobRequest
from causeway.progress import Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

METRICS: Final = "audit.prom"
LOOK_SECONDS: Final = 1.0


def follow(session: SparkSession, request: JobRequest, stop: threading.Event, *, as_json: bool) -> int:
    """Follow until somebody says stop: the exit code."""
    out = locate(request.out)
    out.make_folder()
    register(session)

    def say(findings: list[dict[str, Any]]) -> None:
        for one in findings:
            if as_json:
                print_json({"finding": one})
            else:
                _show(one)

    follower = Follower(session, request, say)
    query = follower.start()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=notices(), transient=True) as bar:
        task = bar.add_task("reads what is there", total=None)
        while query.isActive and not stop.wait(LOOK_SECONDS):
            known, behind = follower.known, behind_of(query, follower.known)
            _write(out, known, behind)
            bar.update(task, description=_said(known, behind))
    if not stop.is_set():
        if follower.failure is not None:
            raise follower.failure
        query.awaitTermination()  # raises why it ended
    query.stop()
    known = follower.known
    _write(out, known, Behind(0, 0.0))
    summary = {"found": known.found, **known.counts, "lives_in_doubt": known.in_doubt, "judged_until": _time(known.now)}
    if as_json:
        print_json({"job": "audit", "summary": summary})
    else:
        notices().print(_said(known, Behind(0, 0.0)), highlight=False, markup=False)
    return EXIT_FAILED if any(outcomes.get(VIOLATED) for outcomes in known.found.values()) else EXIT_OK


def _show(finding: dict[str, Any]) -> None:
    doubt = f" ({finding['doubt']})" if finding["doubt"] else ""
    out = console()
    out.print(
        f"[bold]{escape(finding['what'])}[/] ({finding['outcome']}): {escape(finding['reason'])}, "
        f"at {escape(finding['mailbox'])}: {escape(finding['messages'])}{escape(doubt)}",
        highlight=False,
        soft_wrap=True,
    )


def _said(known: Known, behind: Behind) -> str:
    if not known.read:
        return "reads what is there"
    found = sum(sum(outcomes.values()) for outcomes in known.found.values())
    late = f"{behind.segments} segments and {behind.seconds:.0f} s behind" if behind.seconds else "up to date"
    judged = known.counts.get("judged", 0)
    return f"{late}; {judged:,} messages judged, until {_time(known.now)}; {found:,} findings"


def _time(milliseconds: int) -> str:
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC).isoformat(timespec="seconds")


def _write(out: Location, known: Known, behind: Behind) -> None:
    """Whole or not at all: whoever reads metrics may come at any time, and takes all files that end like this one."""
    said = metrics_of(known, behind).encode()
    if not out.is_local:
        (out / METRICS).write(said)
        return
    part = Path(out.path, f".{METRICS}.part")
    part.write_bytes(said)
    part.replace(Path(out.path, METRICS))
