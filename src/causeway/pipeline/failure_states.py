"""What to do when brokers fail, computed for every state of one and two failures, the states spread over executors.

`causeway.placement` decides, here as in a landmark: this only spreads its work, and makes rows of what comes back.

Must not know: where rates and placements come from.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql import types as t

from causeway.placement.arrays import Ints
from causeway.placement.cases import CaseBase, version_of
from causeway.placement.failures import Failures
from causeway.placement.instance import Instance
from causeway.placement.loads import Loads
from causeway.placement.policy import PlacementPolicy, numbers_of

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

FAILURES_MAX: Final = 2
STATES_PER_TASK: Final = 64

STATES: Final = t.StructType(
    [t.StructField("broken", t.ArrayType(t.IntegerType(), containsNull=False), nullable=False)]
)
OUTCOMES: Final = t.StructType(
    [
        *STATES.fields,
        t.StructField("risks", t.ArrayType(t.DoubleType(), containsNull=False), nullable=False),
        t.StructField("changed", t.StringType(), nullable=False),
    ]
)
"""Per state: the risk of every broker (0 of a broken one), and what changes as JSON: item, owner and mirror."""


def states_of(brokers: int, failures_max: int = FAILURES_MAX) -> list[tuple[int, ...]]:
    """All brokers up, and every set of up to so many failures that leaves a broker."""
    most = min(failures_max, brokers - 1)
    return [broken for count in range(most + 1) for broken in itertools.combinations(range(brokers), count)]


def outcome(instance: Instance, owner: Ints, mirror: Ints, broken: tuple[int, ...]) -> dict[str, Any]:
    """One state."""
    changed = Failures(instance, owner, mirror).after(broken) if broken else []
    then = owner.copy()
    for item, new_owner, _mirror in changed:
        then[item] = new_owner
    risks = Loads(instance, then).risks()
    risks[list(broken)] = 0.0
    return {"broken": list(broken), "risks": risks.tolist(), "changed": json.dumps(changed)}


def outcomes(spark: SparkSession, instance: Instance, owner: Ints, mirror: Ints) -> DataFrame:
    """One row per state."""
    states = states_of(instance.broker_count)

    def compute(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        import pandas as pd

        for frame in frames:
            found = [outcome(instance, owner, mirror, tuple(int(one) for one in broken)) for broken in frame["broken"]]
            yield pd.DataFrame(found, columns=OUTCOMES.fieldNames())

    rows = [(list(broken),) for broken in states]
    tasks = -(-len(states) // STATES_PER_TASK)
    return spark.createDataFrame(rows, STATES).repartition(tasks).mapInPandas(compute, OUTCOMES)


class StateOutcome(NamedTuple):
    """What one state is like."""

    risks: list[float]
    """By broker; 0 of a broken one."""
    changed: list[tuple[int, int, int]]
    """Item, owner and mirror of what differs from all brokers up."""


StateOutcomes = dict[tuple[int, ...], StateOutcome]
"""By broken brokers, in the order of `states_of`."""


def spread_outcomes(spark: SparkSession, instance: Instance, owner: Ints, mirror: Ints) -> StateOutcomes:
    """Every state, computed by executors. As large as a case base, whatever the lake."""
    rows = outcomes(spark, instance, owner, mirror).toLocalIterator()
    found = {
        tuple(row.broken): StateOutcome(
            list(row.risks), [(one, two, three) for one, two, three in json.loads(row.changed)]
        )
        for row in rows
    }
    return {broken: found[broken] for broken in states_of(instance.broker_count)}


def spread_cases(
    spark: SparkSession, instance: Instance, policy: PlacementPolicy, *, outcomes: StateOutcomes | None = None
) -> CaseBase:
    """What `placement.cases.build_cases` gives, computed by executors; `outcomes` is filled with what they said."""
    owner, mirror = numbers_of(instance, policy)
    base = CaseBase(version_of(instance), instance.names, instance.model.items, owner, mirror)
    found = spread_outcomes(spark, instance, owner, mirror)
    for broken, one in found.items():
        if broken:
            base.add(frozenset(instance.names[broker] for broker in broken), one.changed)
    if outcomes is not None:
        outcomes.update(found)
    return base


def worst(risks_by_state: Mapping[tuple[int, ...], list[float]], brokers: int, failures: int) -> list[float]:
    """The largest risk of each broker over all states with so many failures; 0 if there is none."""
    rows = [risks for broken, risks in risks_by_state.items() if len(broken) == failures]
    return [max(column) for column in zip(*rows, strict=True)] if rows else [0.0] * brokers
