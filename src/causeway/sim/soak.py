"""Many seeds on all cores: `python -m causeway.sim.soak --seeds 500 --jobs 2`. Exit code 0 only if none failed.

The seeds are drawn anew each time, for those that were run before find nothing new; the first is printed, and `--first`
runs the same ones again.

Owns: which seeds, a bound on the real time of one and of all, and what people see meanwhile.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from causeway.progress import Progress
from causeway.sim.faults import Options, options_swarm
from causeway.sim.run import SimRun
from causeway.sim.verdict import Ending, SimVerdict
from causeway.spread import Processes

REAL_SECONDS_MAX = 300
"""A seed that computes for so long goes round in circles."""


FRESH_BELOW = 1 << 40
"""Seeds are drawn below this: small enough to be typed."""


class TookTooLong(Exception):
    """The seed did not end in real time; the traceback says where it was."""


def run_seed(seed: int, seconds_max: int = REAL_SECONDS_MAX) -> SimVerdict:
    """One seed of the swarm, ended after `seconds_max` of real time as a crash."""
    return run_bounded(options_swarm(seed), seconds_max)


def run_bounded(options: Options, seconds_max: int = REAL_SECONDS_MAX) -> SimVerdict:
    """One run, ended after `seconds_max` of real time as a crash."""

    def interrupt(signum: int, frame: FrameType | None) -> None:
        raise TookTooLong(f"seed {options.seed} computed for more than {seconds_max} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(seconds_max)
    try:
        return SimRun(options).run()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, show, and say how it went."""
    parser = argparse.ArgumentParser(prog="python -m causeway.sim.soak", description=__doc__)
    parser.add_argument("--seeds", type=int, default=500, help="how many seeds (500)")
    parser.add_argument("--first", type=int, default=None, help="the first seed (drawn anew each time)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--seconds", type=float, default=None, help="begin no further seed after so long (no bound)")
    given = parser.parse_args(arguments)
    if given.seeds < 1 or given.jobs < 1:
        parser.error("--seeds and --jobs must be at least 1")
    console = Console(highlight=False)
    first = random.SystemRandom().randrange(FRESH_BELOW) if given.first is None else given.first
    seeds = range(first, first + given.seeds)
    again = f"--first {first} --seeds {given.seeds}"
    console.print(f"seeds {first} to {seeds[-1]}; the same again: {again}", soft_wrap=True)
    stop = None if given.seconds is None else time.monotonic() + given.seconds
    failed: list[SimVerdict] = []
    events = 0
    endings: dict[str, int] = {}
    columns = (
        TextColumn("soak"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[bad]}"),
    )
    with Progress(*columns, console=Console(stderr=True, highlight=False)) as progress:
        task = progress.add_task("seeds", total=len(seeds), bad="")
        for _place, verdict in Processes(given.jobs).run(run_seed, seeds):
            events += verdict.events
            endings[verdict.ending] = endings.get(verdict.ending, 0) + 1
            if not verdict.ok:
                failed.append(verdict)
                console.print(verdict.failure_line(), markup=False, soft_wrap=True)
            progress.update(task, advance=1, bad=f"{len(failed)} failed" if failed else "")
            if stop is not None and time.monotonic() > stop:
                break
    summary = ", ".join(f"{count} {ending}" for ending, count in sorted(endings.items()))
    console.print(f"{sum(endings.values())} seeds, {events:,} events: {summary}")
    if failed:
        numbers = " ".join(str(verdict.seed) for verdict in sorted(failed, key=lambda v: v.seed))
        console.print(f"failing seeds: {numbers}", soft_wrap=True)
        console.print(f"see one again with: causeway sim --seed {failed[0].seed}")
    return max((verdict.code for verdict in failed), default=int(Ending.OK))


if __name__ == "__main__":
    sys.exit(main())
