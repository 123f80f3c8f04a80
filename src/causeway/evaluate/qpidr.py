"""The evaluation of QpidR, section 5: what monitoring and recovery cost and how long recovery takes, beside the paper.

Owns: which domains are measured, and the tables in the paper's layout. Must not know: how anything is counted or drawn.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from causeway.evaluate.evaluation import Evaluation, Extent
from causeway.evaluate.fits import another
from causeway.evaluate.managed_domain import BITS_PER_SECOND, Shape
from causeway.evaluate.qpidr_paper import SPARES, TABLE_1, TABLE_2, TABLE_3, TABLE_4, USUAL
from causeway.evaluate.qpidr_words import DOMAIN_BROKERS_MAX, HEADER_BYTES, conclusions, text
from causeway.evaluate.recovery_costs import (
    FAILURES,
    LOOK,
    MONITORING,
    PUBLISH_EVERY,
    QUEUES,
    ROUTES,
    SMALL,
    RecoveryCase,
    RecoveryCost,
    TimelineCase,
    TimelineLetter,
    measure,
    measure_timeline,
)
from causeway.figures import Curve, Figure
from causeway.spread import run_cases
from causeway.types import SECOND

TITLE: Final = "What monitoring and recovery cost: OIGY/QpidR, section 5"
KB: Final = 1000


class RecoveryPlan(msgspec.Struct, frozen=True):
    """How much is measured."""

    seeds: int
    """For latencies."""
    seeds_counted: int
    """For the traffic of recoveries."""
    seeds_monitored: int
    """For that of quiet domains, which takes longest."""
    monitored: tuple[int, ...] = tuple(TABLE_1)
    queues: tuple[int, ...] = tuple(TABLE_2)
    routes: tuple[int, ...] = tuple(TABLE_3)
    failures: tuple[int, ...] = tuple(TABLE_4)
    silent: tuple[int, ...] = tuple(TABLE_4)
    beyond: tuple[int, ...] = ()
    """Brokers, from the paper's 24 on."""


QUICK: Final = RecoveryPlan(seeds=3, seeds_counted=5, seeds_monitored=2, silent=(1, 5), beyond=(24, 48))
FULL: Final = RecoveryPlan(seeds=5, seeds_counted=5, seeds_monitored=3, beyond=(24, 48, 100, 200))

Case = RecoveryCase | TimelineCase
Found = RecoveryCost | list[TimelineLetter]


def shape_of(brokers: int, seed: int) -> Shape:
    """A cluster of so many, a quarter of them spares, in domains that are not too large."""
    domains = -(-brokers // DOMAIN_BROKERS_MAX)
    return Shape(brokers, domains * max(2, round(brokers / domains / 4)), domains, seed)


def plan_cases(plan: RecoveryPlan, seed: int) -> list[Case]:
    """Every measurement of a plan, the longest first."""
    found: list[RecoveryCase] = []
    for each in range(seed, seed + plan.seeds):
        usual = Shape(USUAL, SPARES, 1, each)
        found += [RecoveryCase(FAILURES, usual, amount) for amount in plan.failures]
        found += [RecoveryCase(FAILURES, usual, amount, silent=True) for amount in plan.silent]
    for each in range(seed, seed + plan.seeds_counted):
        small = msgspec.structs.replace(SMALL, seed=each)
        found += [RecoveryCase(QUEUES, small, amount) for amount in plan.queues]
        found += [RecoveryCase(ROUTES, small, amount) for amount in plan.routes]
    for each in range(seed, seed + plan.seeds_monitored):
        found += [RecoveryCase(MONITORING, shape_of(brokers, each)) for brokers in plan.monitored]
    for brokers in plan.beyond:
        shape = shape_of(brokers, seed)
        found += [RecoveryCase(MONITORING, shape)] if brokers not in plan.monitored else []
        found += [RecoveryCase(FAILURES, shape, amount) for amount in (1, 5) if brokers != USUAL]
    found.sort(key=lambda case: -case.weight)
    return [*found, *(TimelineCase(Shape(8, 2, 1, seed), silent) for silent in (False, True))]


def measure_either(case: Case) -> Found:
    """One measurement."""
    return measure_timeline(case) if isinstance(case, TimelineCase) else measure(case)


def evaluate(extent: Extent, tick: Callable[[int, int], None] = lambda done, total: None) -> Evaluation:
    """Measure everything and put it beside the paper; `tick` hears how much of the work is done."""
    cases = plan_cases(QUICK if extent.quick else FULL, extent.seed)
    found = run_cases(measure_either, cases, extent.spread, tick)
    costs = [one for one in found if isinstance(one, RecoveryCost)]
    costs.sort(key=lambda cost: (cost.what, cost.silent, cost.brokers, cost.amount, cost.seed))
    letters = [letter for one in found if isinstance(one, list) for letter in one]
    return evaluated(costs, letters, extent)


def evaluated(costs: Sequence[RecoveryCost], letters: Sequence[TimelineLetter], extent: Extent) -> Evaluation:
    """What measurements say."""
    tables = {
        "table_1": table_1(costs),
        "table_2": table_traffic(costs, QUEUES, TABLE_2),
        "table_3": table_traffic(costs, ROUTES, TABLE_3),
        "table_4": table_4(costs),
        "beyond": beyond(costs),
        "timeline": [msgspec.structs.asdict(letter) for letter in letters],
        "measurements": [msgspec.structs.asdict(cost) for cost in costs],
    }
    return Evaluation(
        "qpidr",
        TITLE,
        extent.command("qpidr"),
        {
            "seed": extent.seed,
            "quick": extent.quick,
            "brokers": USUAL,
            "spares": SPARES,
            "bits_per_second": BITS_PER_SECOND,
        },
        conclusions(tables),
        tables,
        figures(tables),
        text(tables),
    )


# The paper's tables -------------------------------------------------------------------------------------------------
def _mean(values: Sequence[float]) -> float:
    return round(statistics.fmean(values), 4)


def _spread(values: Sequence[float], least: float = 0.0) -> dict[str, Any]:
    """Mean, standard deviation and the range in which one more seed lies (95 %); one value has neither of them.

    `least`: how exact a value is at best.
    """
    if len(values) < 2:
        return {"ours": _mean(values), "ours_deviation": None, "ours_range": None}
    width = max(another(values)[1], least)
    return {
        "ours": _mean(values),
        "ours_deviation": round(statistics.stdev(values), 4),
        "ours_range": round(width, 4),
    }


def table_1(costs: Sequence[RecoveryCost], sizes: Sequence[int] = tuple(TABLE_1)) -> list[dict[str, Any]]:
    """Data rate of periodic control messages, KB/s."""
    rows: list[dict[str, Any]] = []
    for brokers in sizes:
        found = [c for c in costs if (c.what, c.brokers) == (MONITORING, brokers)]
        rows.append(
            {
                "brokers": brokers,
                "paper": TABLE_1[brokers][0],
                "paper_deviation": TABLE_1[brokers][1],
                **_spread([c.landmark_bytes / c.seconds / KB for c in found]),
                "ours_with_headers": _mean([_with_headers(c)[1] / c.seconds for c in found]),
                **_per_broker(found),
            }
        )
    return rows


def _with_headers(cost: RecoveryCost) -> tuple[float, float]:
    """KB over all lines, and on the landmark's."""
    return (
        (cost.sent_bytes + HEADER_BYTES * cost.sent_frames) / KB,
        (cost.landmark_bytes + HEADER_BYTES * cost.landmark_frames) / KB,
    )


def _per_broker(found: Sequence[RecoveryCost]) -> dict[str, float]:
    """Rates in KB/s per broker: of the landmark's line, and of everything that all brokers send."""

    def mean(count: Callable[[RecoveryCost], float]) -> float:
        return round(statistics.fmean(count(c) / c.seconds / c.brokers / KB for c in found), 4)

    return {
        "landmark_per_broker": mean(lambda c: c.landmark_bytes * c.domains),
        "landmark_with_headers": mean(lambda c: c.domains * KB * _with_headers(c)[1]),
        "signs_and_agents": mean(lambda c: c.life_bytes + c.agents_bytes),
        "everything": mean(lambda c: c.sent_bytes),
    }


def table_traffic(
    costs: Sequence[RecoveryCost], what: str, paper: dict[int, tuple[float, float]]
) -> list[dict[str, Any]]:
    """Traffic of one recovery against what the broker had, KB, over all lines of the domain."""
    rows = []
    for amount, (said, said_deviation) in paper.items():
        found = [c for c in costs if (c.what, c.amount) == (what, amount)]
        rows.append(
            {
                what: amount,
                "paper": said,
                "paper_deviation": said_deviation,
                **_spread([c.sent_bytes / KB for c in found]),
                "ours_with_headers": _mean([_with_headers(c)[0] for c in found]),
                "until_whole": _mean([c.whole_bytes / KB for c in found]),
                "landmark": _mean([c.landmark_bytes / KB for c in found]),
                "landmark_with_headers": _mean([_with_headers(c)[1] for c in found]),
            }
        )
    return rows


def table_4(costs: Sequence[RecoveryCost]) -> list[dict[str, Any]]:
    """Recovery latency in seconds, of 24 brokers; silent or not."""
    rows = []
    for silent in (False, True):
        for failures, (said, said_deviation, said_most, said_least) in TABLE_4.items():
            key = (FAILURES, USUAL, failures, silent)
            found = [c for c in costs if (c.what, c.brokers, c.amount, c.silent) == key]
            if not found:
                continue
            rows.append(
                {
                    "silent": silent,
                    "failures": failures,
                    "paper": said,
                    "paper_deviation": said_deviation,
                    "paper_max": said_most,
                    "paper_min": said_least,
                    **_spread([c.seconds for c in found], LOOK / SECOND),
                    "ours_max": max(c.seconds for c in found),
                    "ours_min": min(c.seconds for c in found),
                    "seats_and_copies": _mean([max(c.seats_seconds, c.whole_seconds) for c in found]),
                    "copies": _mean([c.whole_seconds for c in found]),
                }
            )
    return rows


def beyond(costs: Sequence[RecoveryCost]) -> list[dict[str, Any]]:
    """Clusters from 24 brokers on."""
    rows = []
    watched = {c.brokers for c in costs if c.what == MONITORING}
    for brokers in sorted({c.brokers for c in costs if c.what == FAILURES and c.brokers in watched}):
        quiet = [c for c in costs if (c.what, c.brokers) == (MONITORING, brokers)]
        killed = [c for c in costs if (c.what, c.brokers, c.silent) == (FAILURES, brokers, False)]
        one, five = ([c for c in killed if c.amount == amount] for amount in (1, 5))
        rates = _per_broker(quiet)
        rows.append(
            {
                "brokers": brokers,
                "domains": killed[0].domains,
                "spares": killed[0].spares,
                "one_failure": _until_moved(one),
                "five_failures": _until_moved(five),
                "seats_and_copies_of_one": _mean([max(c.seats_seconds, c.whole_seconds) for c in one]),
                "seats_and_copies_of_five": _mean([max(c.seats_seconds, c.whole_seconds) for c in five]),
                "landmark_per_broker": rates["landmark_per_broker"],
                "everything_per_broker": rates["everything"],
            }
        )
    return rows


def _until_moved(found: Sequence[RecoveryCost]) -> float | None:
    """None if it was not waited for in every run."""
    return _mean([c.seconds for c in found]) if all(c.moved for c in found) else None


# Figures ------------------------------------------------------------------------------------------------------------
def figures(tables: dict[str, list[dict[str, Any]]]) -> tuple[Figure, ...]:
    """All figures of the report."""
    return (
        _latency(tables["table_4"]),
        *(
            _timeline([letter for letter in tables["timeline"] if letter["silent"] == silent], silent=silent)
            for silent in (False, True)
        ),
    )


def _latency(rows: Sequence[dict[str, Any]]) -> Figure:
    killed, silent = ([row for row in rows if row["silent"] == value] for value in (False, True))

    def curve(label: str, chosen: Sequence[dict[str, Any]], who: str, style: int) -> Curve:
        return Curve(
            label,
            tuple(row["failures"] for row in chosen),
            tuple(row[who] for row in chosen),
            tuple((row[f"{who}_min"], row[f"{who}_max"]) for row in chosen),
            style=style,
            joined=len(chosen) == len(killed),
        )

    return Figure(
        "recovery_latency",
        f"Recovery of {USUAL} brokers on {BITS_PER_SECOND // 1_000_000} Mbps lines (Table 4): means",
        "brokers that fail at once",
        "latency of recovery, s",
        (
            curve("QpidR, as printed", killed, "paper", 1),
            curve("ours, killed, until spares have all", killed, "ours", 0),
            curve("ours, hosts vanish, until spares have all", silent, "ours", 2),
        ),
        scale="linear",
        bars="least and greatest of all runs",
    )


def _timeline(letters: Sequence[dict[str, Any]], *, silent: bool) -> Figure:
    """How long each message waited; and when the broker failed and the first that waited for it arrived."""
    waits = [letter["received"] - letter["published"] for letter in letters]
    late = [letter["received"] for letter, wait in zip(letters, waits, strict=True) if wait > PUBLISH_EVERY / SECOND]
    marks = [("broker fails", 0.0), *(("recovered", at) for at in sorted(late)[:1])]
    top = 1.1 * max(waits)
    return Figure(
        "timeline_silent" if silent else "timeline_killed",
        f"A broker on the way {'vanishes' if silent else 'is killed'} at 0 s: how long messages wait (Fig. 8)",
        "published, seconds since the failure",
        "seconds until received",
        (
            Curve("one message", tuple(letter["published"] for letter in letters), tuple(waits), joined=False),
            *(Curve(words, (at, at), (0.0, top), formula=words) for words, at in marks),
        ),
        scale="linear",
    )
