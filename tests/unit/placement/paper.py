"""The six items and three brokers of the paper (Tables I to III), which several tests use."""

from __future__ import annotations

from causeway.placement import BrokerCapacity, Instance, LoadModel, from_moments

ITEMS = [f"item{number}" for number in range(1, 7)]
MEANS = [150.0, 300.0, 350.0, 200.0, 100.0, 130.0]
COVARIANCE = [
    [5310.0, 2456.0, 962.0, 1071.0, 840.0, 409.0],
    [2456.0, 7544.0, 611.0, 418.0, 1237.0, 542.0],
    [962.0, 611.0, 6972.0, -1622.0, 3401.0, 2387.0],
    [1071.0, 418.0, -1622.0, 7538.0, -102.0, 4266.0],
    [840.0, 1237.0, 3401.0, -102.0, 4992.0, 3626.0],
    [409.0, 542.0, 2387.0, 4266.0, 3626.0, 4202.0],
]
BROKERS = [BrokerCapacity("b1", 700.0), BrokerCapacity("b2", 750.0), BrokerCapacity("b3", 600.0)]
SOLUTION_1 = [1, 0, 1, 2, 2, 0]
SOLUTION_2 = [0, 0, 1, 2, 1, 2]
OPTIMUM = [1, 0, 2, 1, 1, 0]


def paper_model(*, repair: bool = True) -> LoadModel:
    return from_moments(MEANS, COVARIANCE, ITEMS, repair=repair)


def paper_instance(*, repair: bool = True, threshold: float | None = None) -> Instance:
    return Instance(paper_model(repair=repair), BROKERS, threshold=threshold)
