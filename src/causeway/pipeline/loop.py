"""The job `run`: one turn of the loop from the lake back to the brokers, and a history of what was decided and why.

A turn computes rates, then risks, then proposes what `decisions` allows. Rates are those of a stream: each turn reads
what the lake gained since the last one, and answers about all of it.

Owns: the order of the two jobs. Must not know: how either computes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from causeway.errors import ConfigError
from causeway.lake.locations import locate
from causeway.pipeline import rates, risk
from causeway.pipeline.decisions import ADOPT
from causeway.pipeline.frame import JOBS, JobRequest, JobResult, Tick, yes_option
from causeway.pipeline.history import HISTORY_FILE, add_history, time_now
from causeway.pipeline.increments import sole_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run(spark: SparkSession, request: JobRequest, tick: Tick) -> JobResult:
    """One turn."""
    if not request.options.get("url"):
        raise ConfigError("set url", "", "the loop ends at a running cluster; give --set url=causeway://HOST:PORT")
    adopt = yes_option(request, "adopt", usual=True)
    if not request.lake:
        raise ConfigError("lake", request.lake, "the loop begins with a lake; give its folder")
    asked = _part(request, "rates", {})._replace(stream=True, checkpoint=str(locate(request.out) / "checkpoint"))
    with sole_run(asked):
        measured = rates.run(spark, asked, tick)
    more = {"rates": str(locate(request.out) / "rates"), "adopt": "yes" if adopt else "no"}
    found = risk.run(spark, _part(request, "risk", more), tick)
    adopted: dict[str, int] = found.summary["adopted"]
    lines = [
        {
            "at": time_now(),
            "domain": domain,
            **one["decision"],
            "adopted": domain in adopted,
            "largest_risk": one["largest_risk"],
            "owners_that_move": one["owners_that_move"],
        }
        for domain, one in found.summary["domains"].items()
    ]
    add_history(request.out, lines)
    return JobResult(
        job="run",
        summary={"decisions": {line["domain"]: _said(line) for line in lines}, **found.summary},
        tables=(HISTORY_FILE, *(f"rates/{one}" for one in measured.tables), *(f"risk/{one}" for one in found.tables)),
        figures=(*measured.figures, *found.figures),
        holds=found.holds,
    )


def _part(request: JobRequest, job: str, more: dict[str, str]) -> JobRequest:
    """What one of the jobs is asked."""
    options = {name: value for name, value in request.options.items() if name in JOBS[job].options}
    out = locate(request.out) / job
    out.make_folder()
    return request._replace(out=str(out), options={**options, **more})


def _said(line: dict[str, Any]) -> str:
    done = "" if line["adopted"] or line["action"] != ADOPT else " (not proposed: adopt=no)"
    return f"{line['action']}: {line['why']}{done}"
