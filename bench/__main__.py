"""`make bench`: Causeway beside the machine's limit and the peers installed here, in one session.

python -m bench [-k TEXT] [--runs 3] [--seconds 2] [--pings 1000] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from bench import audit, causal, connector, matching, ours, peers, rates, relay, traced
from bench.harness import Case, Failed, Process, Sample, calibrate, measure
from bench.report import OURS, STEAL_PERCENT_MAX, Result, as_json, show

TRIPS_PER_RUN = 3
"""Round trips are measured so much more often: they depend on which core a process happens to be woken on."""

MATCHING = "matching/causeway/index"
"""The name of the one measurement that needs no server."""

ON_SPARK: dict[str, Any] = {"connector/spark": connector, "rates/spark": rates, "audit/spark": audit}
"""The modules of those on Spark, which take minutes each; the jobs of the pipeline are measured only by name."""
UNASKED = "connector/spark"
"""The one of them that a whole session has."""

EXTRA_RUNS_MAX = 2
"""How often a run is repeated because the hypervisor took too much of it."""


def plan(select: str) -> list[Result]:
    """What is to be measured; with what is not installed already said."""
    cases: list[Case] = [*relay.CASES, *ours.CASES, *traced.CASES, *peers.CASES, *causal.CASES]
    results = []
    for case in cases:
        for size in case.sizes:
            if select in f"{case.kind}/{case.system}/{case.mode}/{size}":
                missing = case.missing()
                results.append(Result(case, size, problem=f"not installed: {missing}" if missing else ""))
    return results


def best_of(result: Result, folder: Path, shared: Process | None) -> Sample:
    """One run, or the least disturbed of a few."""
    tries = []
    for attempt in range(1 + EXTRA_RUNS_MAX):
        tries.append(measure(result.case, result.size, result.count, folder / str(attempt), shared))
        if tries[-1].steal_percent <= STEAL_PERCENT_MAX:
            break
    return min(tries, key=lambda sample: sample.steal_percent)


def on_spark(select: str) -> dict[str, Any]:
    """The modules to measure on Spark, by the first part of their names."""
    chosen = (name for name in ON_SPARK if (select in name if select else name == UNASKED))
    return {name.split("/")[0]: ON_SPARK[name] for name in chosen}


class Session:
    """All runs of a session, and how far it has got."""

    def __init__(self, options: argparse.Namespace, progress: Progress, folder: Path) -> None:
        self.options, self.progress, self.folder = options, progress, folder
        self.task = progress.add_task("")
        self.runs = 0

    def run_all(self, results: list[Result]) -> None:
        """Calibrate each case, then run all of them in turn, several times; those that share a server come last."""
        todo = [result for result in results if not result.problem]
        together = [result for result in todo if result.case.shared]
        trips = len([result for result in todo if result.case.kind == "roundtrip"])
        total = len(todo) + self.options.runs * (len(todo) + trips * (TRIPS_PER_RUN - 1))
        self.progress.update(self.task, total=total)
        self.run_turns([result for result in todo if not result.case.shared], None)
        if together:
            where = self.folder / "shared"
            where.mkdir()
            self.progress.update(self.task, description="starting brokers")
            with together[0].case.server(where) as server:
                self.run_turns(together, server)

    def run_turns(self, todo: list[Result], shared: Process | None) -> None:
        """Once to calibrate, then so often as was asked for."""
        for turn in range(1 + self.options.runs):
            trips = [result for result in todo if result.case.kind == "roundtrip"] if turn else []
            for result in [*todo, *trips * (TRIPS_PER_RUN - 1)]:
                if not result.problem:
                    self.run_one(result, shared, calibrating=not turn)
                self.progress.advance(self.task)

    def run_one(self, result: Result, shared: Process | None, *, calibrating: bool) -> None:
        """One measurement, or how many messages it is to have."""
        case = result.case
        self.progress.update(self.task, description=f"{case.kind} {case.system} {result.size} B")
        self.runs += 1
        folder = self.folder / str(self.runs)
        try:
            if not calibrating:
                result.samples.append(best_of(result, folder, shared))
            elif case.kind == "roundtrip":
                result.count = self.options.pings
            else:
                result.count = calibrate(case, result.size, self.options.seconds, folder, shared)
        except Failed as error:
            result.problem = "failed: " + str(error).splitlines()[-1]
            result.samples.clear()
            self.progress.console.print(f"[red]{case.system}, {case.kind}, {result.size} B[/]\n{error}", markup=True)


def main() -> int:
    """Measure, then print; 1 when a figure of Causeway's own is missing."""
    parser = argparse.ArgumentParser(
        prog="make bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-k", dest="select", default="", help="only cases with this text in kind/system/mode/size")
    parser.add_argument("--runs", type=int, default=3, help="runs per case; the median counts")
    parser.add_argument("--seconds", type=float, default=2.0, help="about how long one run takes")
    parser.add_argument("--pings", type=int, default=1000, help="round trips per run")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args()
    results = plan(options.select)
    spark = on_spark(options.select)
    if not results and not spark and options.select not in MATCHING:
        parser.error(f"-k {options.select!r}: no case has this in its name")
    load = os.getloadavg()[0]
    with (
        Progress(console=Console(stderr=True), transient=True) as progress,
        tempfile.TemporaryDirectory(prefix="causeway-bench-") as folder,
    ):
        Session(options, progress, Path(folder)).run_all(results)
        found = matching.measure() if options.select in MATCHING else None
        taken = {name: module.measure() for name, module in spark.items() if not connector.missing()}
    if options.json:
        more = {"matching": found} if found else {}
        print(json.dumps(as_json(results, load) | more | taken, indent=2))
    else:
        console = Console(width=None if sys.stdout.isatty() else 120)
        show(results, load, console)
        if found:
            console.print(matching.sentence(found))
        for line in (line for name, one in taken.items() for line in spark[name].sentences(one)):
            console.print(line, markup=False)
    return int(any(result.case.system == OURS and not result.samples for result in results))


if __name__ == "__main__":
    sys.exit(main())
