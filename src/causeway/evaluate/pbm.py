"""The evaluation of PBM, section 4: delay, round trip and traffic beside MSMQ's, against brokers and distance.

Owns: which networks are measured, and how the measurements become tables. Must not know: how a message is sent, how a
figure is drawn, what is said about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from causeway.evaluate.broker_churn import ChurnCase, ChurnCost, measure_churn
from causeway.evaluate.broker_rings import AGE, ALL, SEEN
from causeway.evaluate.closed_forms import ACK_BYTES, BITS_PER_SECOND, COPIES, LINKS, MESSAGE_BYTES
from causeway.evaluate.evaluation import Evaluation, Extent
from causeway.evaluate.pbm_claims import conclusions
from causeway.evaluate.pbm_costs import (
    BASE_MS,
    FILLED,
    JOINED,
    NODES,
    SHOWN_KINDS,
    TWIN,
    LinksCase,
    MailCost,
    RingCase,
    measure_links,
    measure_ring,
)
from causeway.evaluate.pbm_figures import figures
from causeway.evaluate.pbm_report import text
from causeway.evaluate.pbm_tables import (
    crossings,
    crossings_by_size,
    formula_rows,
    independent_rows,
    mean_rows,
    ring_agreement,
    twin_rows,
)
from causeway.evaluate.site_costs import deployment_costs
from causeway.evaluate.transactional_streams import StreamCase, StreamCost, measure_streams
from causeway.spread import run_cases
from causeway.types import SECOND

TITLE: Final = "Messages over a ring of brokers and over MSMQ: PBM, section 4"

Case = RingCase | LinksCase | StreamCase | ChurnCase
Cost = MailCost | StreamCost | ChurnCost


class MailPlan(msgspec.Struct, frozen=True):
    """Sizes, by the code that is run; what is named under `once` is measured with one seed, the rest with all."""

    seeds: int
    pairs: int
    joined: tuple[int, ...]
    """Whole brokers that join each other, with real applications."""
    joined_once: tuple[int, ...]
    filled: tuple[int, ...]
    """The overlay's tables alone, and MSMQ's links of the same size."""
    filled_once: tuple[int, ...]
    perfect: tuple[int, ...]
    """With tables that know the nearest of all."""
    far: tuple[int, ...]
    """Of the sizes above those that are measured at every distance."""
    distances_ms: tuple[int, ...]
    directed: int
    """The size at which both directions of a pair are also drawn apart, at every distance."""
    streams: tuple[StreamCase, ...]
    churn: ChurnCase
    churn_seeds: int


QUICK: Final = MailPlan(
    seeds=3,
    pairs=250,
    joined=(64, 128),
    joined_once=(256,),
    filled=(64, 128, 256, 512, 1024),
    filled_once=(4096,),
    perfect=(64, 256, 1024),
    far=(64, 256, 1024),
    distances_ms=(10, 15, 30, 45, 60),
    directed=1024,
    streams=(StreamCase(64, 0, 40),),
    churn=ChurnCase(48, 0, failures=4, apart_s=12, down_s=8),
    churn_seeds=3,
)

FULL: Final = MailPlan(
    seeds=3,
    pairs=1000,
    joined=(64, 128, 256, 512, 1024),
    joined_once=(),
    filled=(64, 128, 256, 512, 1024, 4096, 16384),
    filled_once=(),
    perfect=(64, 128, 256, 512, 1024, 4096),
    far=(64, 128, 256, 512, 1024, 4096, 16384),
    distances_ms=(10, 15, 20, 30, 40, 50, 60),
    directed=1024,
    streams=(StreamCase(64, 0, 100), StreamCase(256, 0, 100)),
    churn=ChurnCase(64, 0, failures=8, apart_s=15, down_s=10),
    churn_seeds=6,
)


def plan_cases(plan: MailPlan, seed: int) -> list[Case]:
    """Every measurement of a plan, the longest first."""

    def distances(brokers: int) -> tuple[int, ...]:
        return plan.distances_ms if brokers in plan.far else (BASE_MS,)

    cases: list[Case] = []
    for add in range(plan.seeds):
        one = seed + add
        first = add == 0
        for brokers in (*plan.joined, *(plan.joined_once if first else ())):
            cases.append(RingCase(JOINED, brokers, one, distances(brokers), plan.pairs, mail=True))
        for brokers in (*plan.filled, *(plan.filled_once if first else ())):
            cases.append(RingCase(FILLED, brokers, one, distances(brokers), plan.pairs, SEEN))
            cases.append(LinksCase(brokers, one, distances(brokers), plan.pairs))
        for brokers in plan.perfect:
            cases.append(RingCase(FILLED, brokers, one, distances(brokers), plan.pairs, ALL))
        cases.append(RingCase(FILLED, plan.directed, one, plan.distances_ms, plan.pairs, directed=True))
        cases.append(LinksCase(plan.directed, one, plan.distances_ms, plan.pairs, directed=True))
        cases += [msgspec.structs.replace(streams, seed=one) for streams in plan.streams]
    cases += [msgspec.structs.replace(plan.churn, seed=seed + add) for add in range(plan.churn_seeds)]
    return sorted(cases, key=lambda case: -case.weight)


def measure(case: Case) -> tuple[Cost, ...]:
    """One case."""
    if isinstance(case, RingCase):
        return measure_ring(case)
    if isinstance(case, LinksCase):
        return measure_links(case)
    return measure_streams(case) if isinstance(case, StreamCase) else measure_churn(case)


def evaluate(extent: Extent, tick: Callable[[int, int], None] = lambda done, total: None) -> Evaluation:
    """Measure everything and compare it with the paper; `tick` hears how much of the work is done."""
    cases = plan_cases(QUICK if extent.quick else FULL, extent.seed)
    found = run_cases(measure, cases, extent.spread, tick)
    return evaluated([cost for costs in found for cost in costs], extent)


def evaluated(costs: Iterable[Cost], extent: Extent) -> Evaluation:
    """What measurements say."""
    costs = list(costs)
    mail = sorted((cost for cost in costs if isinstance(cost, MailCost)), key=_order)
    means = mean_rows(mail)
    by_seed = [mean_rows([cost for cost in mail if cost.seed == seed]) for seed in sorted({c.seed for c in mail})]
    tables: dict[str, list[dict[str, Any]]] = {
        "means": [row for row in means if row["code"] not in (NODES, TWIN)],
        "formulas": formula_rows(means),
        "whole_brokers": twin_rows(means),
        "independent": independent_rows(means),
        "crossings": crossings(means, by_seed),
        "streams": sorted(
            (_rounded(c) for c in costs if isinstance(c, StreamCost)), key=lambda r: (r["brokers"], r["seed"])
        ),
        "churn": sorted(
            (_rounded(c) for c in costs if isinstance(c, ChurnCost)), key=lambda r: (r["seed"], r["system"])
        ),
        "site_costs": [msgspec.structs.asdict(cost) for cost in deployment_costs()],
        "agreement": ring_agreement(means),
        "sizes": crossings_by_size(means),
        "measurements": [per_seed(cost) for cost in mail if is_shown(cost)],
    }
    return Evaluation(
        "pbm",
        TITLE,
        extent.command("pbm"),
        {
            "seed": extent.seed,
            "quick": extent.quick,
            "message_bytes": MESSAGE_BYTES,
            "ack_bytes": ACK_BYTES,
            "bits_per_second": BITS_PER_SECOND,
            "copies": COPIES,
            "links": LINKS,
            "distance_ms": BASE_MS,
            "table_age_s": AGE // SECOND,
            "candidates_per_place": SEEN,
        },
        conclusions(tables),
        tables,
        figures(means, tables["crossings"]),
        text(tables),
    )


def _order(cost: MailCost) -> tuple[Any, ...]:
    kind = (not cost.online, cost.service, not cost.reliable)
    return (cost.system, cost.code, cost.directed, cost.seen, cost.learned, cost.brokers, cost.most_ms, kind, cost.seed)


def is_shown(cost: MailCost) -> bool:
    """What is written down for every seed: four kinds, at the paper's distance."""
    kind = (cost.service, cost.reliable, cost.online)
    return cost.code != TWIN and cost.most_ms == BASE_MS and kind in SHOWN_KINDS


def _rounded(cost: msgspec.Struct) -> dict[str, Any]:
    row = msgspec.structs.asdict(cost)
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in row.items()}


PER_SEED: Final = (
    *("system", "code", "brokers", "most_ms", "seed", "service", "online", "learned", "seen", "directed"),
    *("hops", "one_way_ms", "round_trip_ms", "frames"),
)


def per_seed(cost: MailCost) -> dict[str, Any]:
    """One measurement as it is written down."""
    row = _rounded(cost)
    return {name: row[name] for name in PER_SEED}
