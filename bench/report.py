"""What was measured, as a table for people and as JSON for programs."""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.harness import Case, Sample

OURS = "causeway"
LIMIT = "relay"
KINDS = {
    "express": "Express: at most once",
    "recoverable": "Recoverable: on disk and acknowledged",
    "fanout": "Fan-out: one publisher, four subscribers (published messages that all four have)",
    "filtered": "Selector: published messages, of which the broker lets every fourth through",
    "causal": "Causal order: ten brokers in one domain, on disk, three copies, acknowledged",
    "roundtrip": "Round trip: express, one at a time",
}
GOALS = (
    ("express", "zeromq", 1.0, "express throughput no slower than the ZeroMQ proxy"),
    ("recoverable", "redis", 3.0, "recoverable on disk at least 3 times Redis Streams with appendfsync always"),
    ("causal", "unordered", 0.7, "recoverable in causal order at least 0.7 of the same without order"),
    ("roundtrip", "nats", 1.0, "express round trip p50 no worse than NATS"),
)
STEAL_PERCENT_MAX = 5.0
"""Above this the hypervisor took so much that the figure says little about the software."""

LOAD_MAX = 0.5
"""Runnable processes of others; with more, latencies are those of the scheduler."""


@dataclass
class Result:
    """All runs of one case at one message size."""

    case: Case
    size: int
    count: int = 0
    samples: list[Sample] = field(default_factory=list)
    problem: str = ""
    """Why there is no figure: not installed, or what went wrong."""

    @property
    def rate(self) -> float:
        """Messages a second, median of the runs."""
        return statistics.median(sample.rate for sample in self.samples)

    def percentile(self, share: float) -> float:
        """A round trip in microseconds, median of the runs."""
        return statistics.median(
            sample.trips_ns[min(len(sample.trips_ns) - 1, int(len(sample.trips_ns) * share))] / 1e3
            for sample in self.samples
        )

    @property
    def score(self) -> float:
        """More is better: the rate, or how many round trips fit in a second."""
        return 1e6 / self.percentile(0.5) if self.case.kind == "roundtrip" else self.rate

    @property
    def steal_percent(self) -> float:
        """The worst run's share of stolen CPU."""
        return max(sample.steal_percent for sample in self.samples)

    def figure(self) -> str:
        """The result as people read it."""
        if self.case.kind == "roundtrip":
            return f"p50 {self.percentile(0.5):,.0f} µs, p99 {self.percentile(0.99):,.0f} µs"
        return f"{self.rate:,.0f} msg/s"

    def spread(self) -> str:
        """From the worst to the best run."""
        if self.case.kind == "roundtrip":
            values = [sample.trips_ns[len(sample.trips_ns) // 2] / 1e3 for sample in self.samples]
            return f"{min(values):,.0f}-{max(values):,.0f} µs"
        values = [sample.rate for sample in self.samples]
        return f"{min(values):,.0f}-{max(values):,.0f}"

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        shown: dict[str, Any] = {
            "kind": self.case.kind,
            "system": self.case.system,
            "mode": self.case.mode,
            "size": self.size,
            "count": self.count,
        }
        if not self.samples:
            return shown | {"problem": self.problem}
        shown |= {"steal_percent": [round(sample.steal_percent, 1) for sample in self.samples]}
        if self.case.kind == "roundtrip":
            return shown | {"p50_us": self.percentile(0.5), "p99_us": self.percentile(0.99)}
        return shown | {
            "rate": self.rate,
            "rates": [sample.rate for sample in self.samples],
            "broker_us_per_message": statistics.median(sample.broker_us for sample in self.samples),
        }


def find(results: list[Result], kind: str, system: str, size: int) -> Result | None:
    """The measured result of a system, if there is one."""
    for result in results:
        if (result.case.kind, result.case.system, result.size) == (kind, system, size) and result.samples:
            return result
    return None


def ratio(result: Result, other: Result | None) -> str:
    """How many times as good."""
    if other is None or other is result:
        return ""
    return f"{result.score / other.score:.2f}"


def goals(results: list[Result]) -> list[dict[str, Any]]:
    """For each goal and size: the ratio reached, or None where it could not be measured."""
    found = []
    for kind, peer, wanted, text in GOALS:
        for size in sorted({result.size for result in results if result.case.kind == kind}):
            ours, theirs = find(results, kind, OURS, size), find(results, kind, peer, size)
            reached = ours.score / theirs.score if ours and theirs else None
            found.append({"goal": text, "size": size, "wanted": wanted, "reached": reached})
    return found


def as_json(results: list[Result], load: float) -> dict[str, Any]:
    """Everything, for programs."""
    return {
        "machine": machine(),
        "load_before": load,
        "results": [result.as_json() for result in results],
        "goals": goals(results),
    }


def machine() -> str:
    """What the figures depend on."""
    return (
        f"Python {platform.python_version()}, {platform.system()} {platform.release()}, "
        f"{os.cpu_count()} CPUs, SQLite {sqlite3.sqlite_version}"
    )


def show(results: list[Result], load: float, console: Console) -> None:
    """One table per kind, then the goals, then how far to trust them."""
    for kind, title in KINDS.items():
        table = Table(title=title, title_justify="left", title_style="bold", caption_justify="left")
        for name in ("size", "system", "median of runs", "spread", "of relay", "causeway is", "broker CPU", "steal"):
            table.add_column(name, justify="left" if name == "system" else "right")
        rows = [result for result in results if result.case.kind == kind]
        for result in sorted(rows, key=lambda row: (row.size, not row.samples, -row.score if row.samples else 0.0)):
            table.add_row(*cells(results, result), style="bold" if result.case.system == OURS else "")
        if rows:
            console.print(table)
        for problem in dict.fromkeys(f"{row.case.system}: {row.problem}" for row in rows if not row.samples):
            console.print(problem, style="yellow", markup=False)
    for goal in goals(results):
        reached = goal["reached"]
        verdict = (
            "[yellow]not measured[/]"
            if reached is None
            else f"[{'green' if reached >= goal['wanted'] else 'red'}]{reached:.2f}[/]"
        )
        console.print(f"goal, {goal['size']} B: {goal['goal']} (>= {goal['wanted']:g}): {verdict}")
    if load > LOAD_MAX:
        console.print(f"[red]The machine was busy before we began (load {load:.1f}): repeat this when it is quiet.[/]")
    console.print(
        f"[dim]{machine()}. `of relay` and `causeway is` are ratios: more is better for the row, or for Causeway.[/]"
    )


def cells(results: list[Result], result: Result) -> tuple[str, ...]:
    """One row."""
    system = f"{result.case.system} ({result.case.mode})"
    if not result.samples:
        return f"{result.size} B", system, f"[yellow]{result.problem.split(':')[0]}[/]", "", "", "", "", ""
    ours = find(results, result.case.kind, OURS, result.size)
    # There is no relay that stores or looks inside: the express one is the limit of those.
    kind = result.case.kind if result.case.kind in ("roundtrip", "fanout") else "express"
    limit = find(results, kind, LIMIT, result.size)
    busy = statistics.median(sample.broker_us for sample in result.samples)
    steal = f"{result.steal_percent:.0f} %"
    return (
        f"{result.size} B",
        system,
        result.figure(),
        result.spread(),
        ratio(result, limit),
        f"{ratio(ours, result)} x" if ours and ours is not result else "",
        f"{busy:.2f} µs" if result.case.kind != "roundtrip" else "",
        f"[red]{steal}[/]" if result.steal_percent > STEAL_PERCENT_MAX else steal,
    )
