"""The job `risk`: how likely each broker is overloaded, now and after every failure, and a policy that is less risky.

Rates come from the job `rates`; who holds what at present, from a running cluster or a file. `causeway.placement`
decides, as it does for a landmark; every state of one and two failures is computed by executors. With a running cluster
the policy can be proposed to its landmarks (ADR 0021), which closes the loop from the lake back to the brokers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from causeway.client.url import parse_url
from causeway.core.placing import NOBODY, PlannedItems, PlanRequest
from causeway.errors import ConfigError
from causeway.figures import Curve, Figure
from causeway.lake.locations import locate
from causeway.local.landmarks import propose_policy
from causeway.pipeline.decisions import ADOPT, REFUSE, PolicyDecision, decide
from causeway.pipeline.failure_states import FAILURES_MAX, StateOutcomes, spread_cases, spread_outcomes, worst
from causeway.pipeline.frame import (
    JobRequest,
    JobResult,
    Tick,
    number_option,
    write_small_table,
    write_table,
    yes_option,
)
from causeway.pipeline.measured_model import read_model
from causeway.pipeline.placements import described_placement, running_placements
from causeway.placement.live import at_least, instance_with, planned
from causeway.placement.rates import LoadModel, from_moments

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PRESENT, PROPOSED = "present", "proposed"
FIGURES_MAX: Final = 8
BROKERS_SHOWN_MAX: Final = 20
"""In the summary, the riskiest first; the table has all."""

RISKS: Final = t.StructType(
    [
        t.StructField("domain", t.StringType(), nullable=False),
        t.StructField("placement", t.StringType(), nullable=False),
        t.StructField("broken", t.ArrayType(t.StringType(), containsNull=False), nullable=False),
        t.StructField("broker", t.StringType(), nullable=False),
        t.StructField("risk", t.DoubleType(), nullable=False),
    ]
)
"""One row per placement, state and living broker: the probability that it gets more than it can take."""
CASES: Final = t.StructType(
    [
        t.StructField("domain", t.StringType(), nullable=False),
        t.StructField("broken", t.ArrayType(t.StringType(), containsNull=False), nullable=False),
        t.StructField("item", t.StringType(), nullable=False),
        t.StructField("owner", t.StringType(), nullable=False),
        t.StructField("mirror", t.StringType(), nullable=False),
    ]
)
"""The case base of the proposed policy: with none broken every item, in each other state what differs from that."""

BROKERS: Final = pa.schema(
    [
        ("domain", pa.string()),
        ("broker", pa.string()),
        ("capacity", pa.float64()),
        *(
            (f"{name}_{placement}{more}", pa.int64() if name == "items" else pa.float64())
            for placement in (PRESENT, PROPOSED)
            for name, more in (("items", ""), ("rate", ""), ("risk", ""), ("risk", "_after_a_failure"))
        ),
    ]
)
"""One row per broker, before and after: how many items it owns, their mean rate, its risk with all brokers up, and the
largest after one failure."""


def run(spark: SparkSession, request: JobRequest, tick: Tick) -> JobResult:
    """Risks of the present and the proposed placement of every domain."""
    url, adopt = request.options.get("url", ""), yes_option(request, "adopt", usual=False)
    if adopt and not url:
        raise ConfigError("set adopt", "yes", "is for a running cluster; give --set url=causeway://HOST:PORT too")
    told = read_model(request.options.get("rates", ""))
    model = from_moments(told.means, told.covariance, told.items)
    questions = _questions(request, url, model)
    forced = _forced(request, questions)
    found: dict[str, DomainRisk] = {}
    for number, (domain, question) in enumerate(questions.items()):
        tick(f"domain {domain}" if domain else "failures", number, len(questions) + 1)
        found[domain] = DomainRisk.computed(spark, question, model)
        (locate(request.out) / _policy_file(domain)).write(msgspec.json.encode(found[domain].plan))
    tick("writing", len(questions), len(questions) + 1)
    tables = (
        write_table(_frame(spark, RISKS, found, DomainRisk.risk_rows), request.out, "risks"),
        write_table(_frame(spark, CASES, found, DomainRisk.case_rows), request.out, "cases"),
        write_small_table(_brokers_table(found), request.out, "brokers"),
        *(_policy_file(domain) for domain in found),
    )
    decisions = {domain: one.decision(forced=domain in forced) for domain, one in found.items()}
    versions = {
        domain: _proposed(url, domain, found[domain].plan)
        for domain, decision in decisions.items()
        if adopt and decision.action == ADOPT
    }
    domains = {
        domain or "all": one.summary() | msgspec.to_builtins({"decision": decisions[domain]})
        for domain, one in found.items()
    }
    return JobResult(
        job="risk",
        summary={"domains": domains, "adopted": versions},
        tables=tables,
        figures=tuple(figure for domain, one in list(found.items())[:FIGURES_MAX] for figure in one.figures(domain)),
        holds=not (adopt and any(decision.action == REFUSE for decision in decisions.values())),
    )


class DomainRisk(msgspec.Struct, frozen=True, eq=False):
    """What was found for one domain."""

    question: PlanRequest
    plan: PlannedItems
    present: StateOutcomes
    """Risks by state with the present placement; none if something has no owner yet."""
    proposed: StateOutcomes
    capacities: tuple[float, ...]
    """By broker."""
    means: tuple[float, ...]
    """By item, messages per second."""

    @classmethod
    def computed(cls, spark: SparkSession, question: PlanRequest, model: LoadModel) -> DomainRisk:
        """The present placement, the policy, and all their states."""
        instance = instance_with(question, at_least(restricted(model, question.items)))
        owner, mirror = np.array(question.owners, dtype=np.int64), np.array(question.mirrors, dtype=np.int64)
        present: StateOutcomes = {}
        if NOBODY not in question.owners:
            present = spread_outcomes(spark, instance, owner, mirror)
        proposed: StateOutcomes = {}
        plan = planned(question, instance, partial(spread_cases, spark, outcomes=proposed))
        capacities = tuple(instance.capacity.tolist())
        return cls(question, plan, present, proposed, capacities, tuple(instance.model.means.tolist()))

    def risk_rows(self, domain: str) -> Iterator[tuple[Any, ...]]:
        """Rows of RISKS."""
        brokers = self.plan.brokers
        for placement, states in ((PRESENT, self.present), (PROPOSED, self.proposed)):
            for broken, one in states.items():
                names = [brokers[broker] for broker in broken]
                for broker, risk in enumerate(one.risks):
                    if broker not in broken:
                        yield domain, placement, names, brokers[broker], risk

    def case_rows(self, domain: str) -> Iterator[tuple[Any, ...]]:
        """Rows of CASES."""
        plan = self.plan
        name = {NOBODY: "", **dict(enumerate(plan.brokers))}
        everything = tuple(zip(range(len(plan.items)), plan.owners, plan.mirrors, strict=True))
        for broken, placed in [((), everything), *((case.broken, case.changed) for case in plan.cases)]:
            names = [name[broker] for broker in broken]
            for item, owner, mirror in placed:
                yield domain, names, plan.items[item], name[owner], name[mirror]

    def decision(self, *, forced: bool) -> PolicyDecision:
        """Whether the policy is to be proposed."""
        before = zip(self.question.owners, self.question.mirrors, strict=True)
        changes = sum(
            was != now for was, now in zip(before, zip(self.plan.owners, self.plan.mirrors, strict=True), strict=True)
        )
        threshold = self.question.threshold / 1000
        return decide(self._worst(self.present), self._worst(self.proposed), threshold, changes=changes, forced=forced)

    def broker_rows(self, domain: str) -> Iterator[dict[str, Any]]:
        """A row per broker: what it has and risks at present, and with the policy."""
        for broker, name in enumerate(self.plan.brokers):
            row: dict[str, Any] = {"domain": domain, "broker": name, "capacity": self.capacities[broker]}
            for placement, owners, states in (
                (PRESENT, self.question.owners, self.present),
                (PROPOSED, self.plan.owners, self.proposed),
            ):
                mine = [item for item, owner in enumerate(owners) if owner == broker]
                risks = {broken: one.risks for broken, one in states.items()}
                after = worst(risks, len(self.plan.brokers), 1)[broker] if len(states) > 1 else None
                row |= {
                    f"items_{placement}": len(mine),
                    f"rate_{placement}": float(sum(self.means[item] for item in mine)),
                    f"risk_{placement}": risks[()][broker] if states else None,
                    f"risk_{placement}_after_a_failure": after,
                }
            yield row

    def summary(self) -> dict[str, Any]:
        """In short."""
        rows = sorted(self.broker_rows(""), key=lambda row: -max(row["risk_present"] or 0.0, row["risk_proposed"]))
        moved = sum(was != now for was, now in zip(self.question.owners, self.plan.owners, strict=True))
        return {
            "items": len(self.plan.items),
            "brokers": len(self.plan.brokers),
            "states": len(self.proposed),
            "owners_that_move": moved,
            "feasible": self.plan.feasible,
            "threshold": self.question.threshold / 1000,
            "largest_risk": {PRESENT: self._worst(self.present), PROPOSED: self._worst(self.proposed)},
            "risk_of_brokers": {
                row["broker"]: {PRESENT: row["risk_present"], PROPOSED: row["risk_proposed"]}
                for row in rows[:BROKERS_SHOWN_MAX]
            },
            "brokers_more": max(0, len(rows) - BROKERS_SHOWN_MAX),
        }

    def figures(self, domain: str) -> tuple[Figure, Figure]:
        """The largest risk against the number of failures, and the risk of each broker."""
        return self._by_failures(domain), self._by_broker(domain)

    def _by_broker(self, domain: str) -> Figure:
        places = tuple(float(at) for at in range(len(self.plan.brokers)))
        risks = (("present placement", self.present), ("proposed", self.proposed))
        curves = [
            Curve(label, places, tuple(states[()].risks), style=style, hollow=bool(style), joined=False)
            for style, (label, states) in enumerate(risks)
            if states
        ]
        where = f", domain {domain}" if domain else ""
        return Figure(
            f"risk_brokers_{domain}" if domain else "risk_brokers",
            f"Probability of overload of each broker{where}",
            "broker",
            "probability, with all brokers up",
            tuple(curves),
            scale="linear",
            x_names=self.plan.brokers,
        )

    def _by_failures(self, domain: str) -> Figure:
        failures = tuple(float(count) for count in range(FAILURES_MAX + 1))
        curves = [
            Curve(label, failures[: len(ys)], tuple(ys), style=style)
            for style, (label, ys) in enumerate(
                (("present placement", self._worst(self.present)), ("proposed", self._worst(self.proposed)))
            )
            if ys
        ]
        where = f", domain {domain}" if domain else ""
        return Figure(
            f"risk_{domain}" if domain else "risk",
            f"Largest probability of overload of any broker{where}",
            "brokers that have failed",
            "probability",
            tuple(curves),
            scale="linear",
        )

    def _worst(self, states: StateOutcomes) -> list[float]:
        """By number of failures; as far as there are states."""
        risks = {broken: one.risks for broken, one in states.items()}
        counts = range(max((len(broken) for broken in states), default=-1) + 1)
        return [max(worst(risks, len(self.plan.brokers), count)) for count in counts]


# What is asked ------------------------------------------------------------------------------------------------------
def restricted(model: LoadModel, items: tuple[str, ...]) -> LoadModel:
    """The model of these items; one that nobody measured has no rate."""
    places = {item: at for at, item in enumerate(model.items)}
    known = [at for at, item in enumerate(items) if item in places]
    taken = [places[items[at]] for at in known]
    means, covariance = np.zeros(len(items)), np.zeros((len(items), len(items)))
    means[known] = model.means[taken]
    covariance[np.ix_(known, known)] = model.covariance[np.ix_(taken, taken)]
    return LoadModel({item: (item,) for item in items}, means, covariance, None)


def _questions(request: JobRequest, url: str, model: LoadModel) -> dict[str, PlanRequest]:
    path = request.options.get("placement", "")
    if bool(path) == bool(url):
        raise ConfigError("set placement", path, "give --set placement=FILE, or --set url=URL of a running cluster")
    found: Mapping[str, PlanRequest]
    found = running_placements(url) if url else {"": _with_all(described_placement(path), model.items)}
    threshold = number_option(request, "threshold", 0.0, 0.0, 1.0)
    if threshold:
        most = max(1, round(1000 * threshold))
        found = {domain: msgspec.structs.replace(one, threshold=most) for domain, one in found.items()}
    return {domain: one for domain, one in found.items() if one.items}


def _with_all(described: PlanRequest, items: tuple[str, ...]) -> PlanRequest:
    """With the items that have rates and no place yet."""
    new = tuple(item for item in items if item not in described.items)
    nobody = (NOBODY,) * len(new)
    return msgspec.structs.replace(
        described,
        items=described.items + new,
        owners=described.owners + nobody,
        mirrors=described.mirrors + nobody,
    )


def _forced(request: JobRequest, questions: Mapping[str, PlanRequest]) -> list[str]:
    """Domains whose policy is proposed whatever it is like."""
    named = [name for name in request.options.get("force", "").split(",") if name]
    for name in named:
        if name not in questions:
            raise ConfigError("set force", name, f"is no domain of the cluster; those are: {', '.join(questions)}")
    return named


# What comes out -----------------------------------------------------------------------------------------------------
def _proposed(url: str, domain: str, plan: PlannedItems) -> int:
    return asyncio.run(propose_policy(parse_url(url), domain, plan))


def _policy_file(domain: str) -> str:
    return f"policy-{domain}.json" if domain else "policy.json"


def _brokers_table(found: Mapping[str, DomainRisk]) -> pa.Table:
    return pa.Table.from_pylist([row for domain, one in found.items() for row in one.broker_rows(domain)], BROKERS)


def _frame(spark: SparkSession, schema: t.StructType, found: dict[str, DomainRisk], rows: Any) -> DataFrame:
    made = [row for domain, one in found.items() for row in rows(one, domain)]
    return spark.createDataFrame(made, schema).coalesce(1)
