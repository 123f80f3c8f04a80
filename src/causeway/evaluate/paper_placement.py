"""GEMOM's own example (section IV, Tables I to III, Fig. 2), recomputed from the numbers that it prints.

Owns: those numbers, and what follows from them. Must not know: what is claimed, random instances.
"""

from __future__ import annotations

import itertools
from typing import Any, Final

import numpy as np

from causeway.placement import BrokerCapacity, Instance, from_moments, place
from causeway.placement.arrays import Ints
from causeway.placement.comparisons import round_robin
from causeway.placement.loads import Loads

ITEMS: Final = tuple(f"item{number}" for number in range(1, 7))
MEANS: Final = (150, 300, 350, 200, 100, 130)
COVARIANCE: Final = (
    (5310, 2456, 962, 1071, 840, 409),
    (2456, 7544, 611, 418, 1237, 542),
    (962, 611, 6972, -1622, 3401, 2387),
    (1071, 418, -1622, 7538, -102, 4266),
    (840, 1237, 3401, -102, 4992, 3626),
    (409, 542, 2387, 4266, 3626, 4202),
)
CAPACITIES: Final = (700, 750, 600)
THRESHOLD: Final = 0.007

SOLUTION_1, SOLUTION_2, OURS, OUR_ROUND_ROBIN = "solution 1", "solution 2", "ours", "round robin, ours"
PRINTED: Final = {
    SOLUTION_1: ((1, 0, 1, 2, 2, 0), (0.0018, 0.0016, 0.0010)),
    SOLUTION_2: ((0, 0, 1, 2, 1, 2), (0.0068, 0.0054, 0.0170)),
}
"""Broker by item, and the overload probabilities of Table III. The second is what the paper calls round robin."""

Rows = list[dict[str, Any]]


def smallest_eigenvalue() -> float:
    """Of Table II; that of a covariance is not negative."""
    return float(np.linalg.eigvalsh(np.array(COVARIANCE, dtype=np.float64)).min())


def example_instance(*, repair: bool, threshold: float | None = None) -> Instance:
    """The six items on three brokers; the matrix as printed, or made a covariance."""
    brokers = [BrokerCapacity(f"b{number}", capacity) for number, capacity in enumerate(CAPACITIES, 1)]
    return Instance(from_moments(MEANS, COVARIANCE, ITEMS, repair=repair), brokers, threshold=threshold)


def example() -> dict[str, Rows]:
    """The tables `allocations` (a row per placement), `risks` and `gains` (a row per placement and broker)."""
    raw, sound = example_instance(repair=False), example_instance(repair=True)
    owners = {name: np.array(owner) for name, (owner, _risks) in PRINTED.items()}
    owners[OURS] = place(raw).owner
    owners[OUR_ROUND_ROBIN] = round_robin(raw)
    order = _all_utilities(raw)
    allocations, risks = [], []
    for name, owner in owners.items():
        loads, repaired = Loads(raw, owner), Loads(sound, owner)
        allocations.append(
            {
                "placement": name,
                "items": shown_sets(owner),
                "utility": round(loads.utility(), 3),
                "rank": 1 + sum(other > loads.utility() + 1e-9 for other in order),
                "of": len(order),
                "largest_risk": float(loads.risks().max()),
                "utility_repaired": round(repaired.utility(), 3),
                "largest_risk_repaired": float(repaired.risks().max()),
            }
        )
        printed = PRINTED[name][1] if name in PRINTED else (None, None, None)
        risks += [
            {
                "placement": name,
                "broker": broker + 1,
                "capacity": CAPACITIES[broker],
                "items": _shown_items(owner, broker),
                "printed": printed[broker],
                "recomputed": round(float(loads.risks()[broker]), 6),
                "repaired": round(float(repaired.risks()[broker]), 6),
            }
            for broker in range(len(CAPACITIES))
        ]
    return {"allocations": allocations, "risks": risks, "gains": _gains(risks), "threshold": _threshold()}


def _gains(risks: Rows) -> Rows:
    """Equation (5) at each broker, against the paper's round robin: as printed, recomputed, and of our placement."""

    def risk(placement: str, broker: int, which: str) -> float:
        (row,) = [row for row in risks if (row["placement"], row["broker"]) == (placement, broker)]
        found: float = row[which]
        return found

    rows = []
    for who, placement, which in (
        ("printed", SOLUTION_1, "printed"),
        ("recomputed", SOLUTION_1, "recomputed"),
        ("ours", OURS, "recomputed"),
    ):
        for broker in range(1, len(CAPACITIES) + 1):
            theirs, mine = risk(SOLUTION_2, broker, which), risk(placement, broker, which)
            rows.append({"of": who, "broker": broker, "gain": round((theirs - mine) / theirs, 4)})
    return rows


def _threshold() -> Rows:
    """What comes of the paper's threshold, with the matrix as printed and repaired."""
    rows = []
    for repair in (False, True):
        found = place(example_instance(repair=repair, threshold=THRESHOLD))
        rows.append(
            {
                "matrix": "repaired" if repair else "as printed",
                "threshold": THRESHOLD,
                "feasible": found.feasible,
                "proven": found.hopeless,
                "least_risky": shown_sets(found.owner),
                "its_largest_risk": round(found.largest_risk, 6),
            }
        )
    return rows


def _all_utilities(instance: Instance) -> list[float]:
    every = itertools.product(range(len(CAPACITIES)), repeat=len(ITEMS))
    return [Loads(instance, np.array(owner)).utility() for owner in every]


def shown_sets(owner: Ints) -> str:
    """As the paper writes them: the numbers of the items of each broker."""
    return " ".join("{" + _shown_items(owner, broker) + "}" for broker in range(len(CAPACITIES)))


def _shown_items(owner: Ints, broker: int) -> str:
    return ",".join(str(item + 1) for item in np.flatnonzero(owner == broker).tolist())
