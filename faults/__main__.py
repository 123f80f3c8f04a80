"""`make faults`: brokers and applications as processes on hosts of their own, hurt in phases, and what came of it.

python -m faults [PHASE ...] [--minutes N] [--seed N] [--list] [--json] [--out FOLDER]

Without names: every phase that has one, then one that mixes faults. With --minutes: mixed ones alone, until so much
time is over. A phase draws what it leaves open from the seed and its own name, so any of them can be run again alone.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from rich.console import Console

from faults.hosts import Hosts, NoWorld, enter
from faults.mixed import mixed_phase
from faults.phases import Phase, named_phases
from faults.report import draw, table
from faults.run import Outcome, Run
from faults.slow_road import SlowRoad

TABLE_COLUMNS = 110
"""Where nobody watches; a terminal has its own width."""
EXIT_SKIPPED = 77
"""As test programs say it: nothing was tried."""


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="make faults", description="Hurt real brokers, and check every guarantee.")
    parser.add_argument("phases", nargs="*", help="names of phases, mixed-NUMBER for mixed ones")
    parser.add_argument("--minutes", type=float, help="run mixed phases, for so long")
    parser.add_argument("--seed", type=int, help="draws what phases leave open; a fresh one if not given")
    parser.add_argument("--list", action="store_true", help="name the phases and end")
    parser.add_argument("--json", action="store_true", help="print one object instead of the table")
    parser.add_argument("--out", type=Path, default=Path("build/faults"), help="where diaries, logs and pictures go")
    return parser.parse_args(arguments)


MIXED = re.compile(r"mixed-[0-9]+")


def choose(options: argparse.Namespace, seed: int) -> Iterator[Phase]:
    """The phases to run, drawn when their turn comes. Raises KeyError for a name that there is not."""
    known = named_phases(seed)
    for name in options.phases or ([] if options.minutes else [*known, "mixed-1"]):
        yield mixed_phase(name, seed) if MIXED.fullmatch(name) else known[name]
    end = time.monotonic() + 60 * (options.minutes or 0)
    for number in itertools.count(1):
        if time.monotonic() > end:
            return
        yield mixed_phase(f"mixed-{number}", seed)


async def campaign(phases: Iterator[Phase], seed: int, folder: Path, say: Console) -> list[Outcome]:
    """Phase after phase."""
    hosts = Hosts()
    hosts.build()
    slow_road = SlowRoad(random.Random(f"{seed} road"))
    slow_road.open()
    outcomes = []
    for phase in phases:
        say.print(f"[bold]{phase.name}[/]")
        run = Run(phase, seed, folder / phase.name, hosts, slow_road)
        outcome = await run.run(_progress(say))
        for finding in outcome.findings:
            say.print(f"  [red]{finding.rule}[/]: {finding.count}", sep="")
            for example in finding.examples:
                say.print(f"    {example}", markup=False, soft_wrap=True)
        picture = draw(outcome, folder / phase.name)
        if picture is not None:
            say.print(f"  {picture}", soft_wrap=True)
        outcomes.append(outcome)
    return outcomes


def _progress(say: Console) -> Callable[[str], None]:
    began = time.monotonic()
    return lambda what: say.print(f"  {time.monotonic() - began:6.1f} s  {what}")


def main(arguments: list[str]) -> int:
    """Run it; exit code 0 if everything held, 1 if not, 77 if this machine cannot."""
    options = parse(arguments)
    seed = secrets.randbelow(1_000_000) if options.seed is None else options.seed
    known = named_phases(seed)
    say = Console(stderr=True, highlight=False)
    if options.list:
        for name in known:
            say.print(name)
        return 0
    unknown = [name for name in options.phases if name not in known and not MIXED.fullmatch(name)]
    if unknown:
        say.print(f"no phase is called {', '.join(unknown)}; --list names them")
        return 2
    try:
        enter(["-m", "faults", *arguments, *([] if options.seed is not None else ["--seed", str(seed)])])
    except NoWorld as reason:
        say.print(f"skipped: {reason}")
        return EXIT_SKIPPED
    folder = options.out.resolve() / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{seed}"
    say.print(
        f"seed {seed}; diaries and logs in {folder}; a phase again: make faults ARGS='PHASE --seed {seed}'",
        soft_wrap=True,
    )
    outcomes = asyncio.run(campaign(choose(options, seed), seed, folder, say))
    (folder / "outcomes.json").write_bytes(msgspec.json.encode(outcomes))
    if options.json:
        sys.stdout.buffer.write(msgspec.json.encode({"seed": seed, "phases": outcomes}) + b"\n")
    else:
        Console(width=None if sys.stdout.isatty() else TABLE_COLUMNS).print(table(outcomes))
    return 0 if all(outcome.holds for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
