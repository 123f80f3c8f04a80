"""Which broker should own which item, and who mirrors it: placement by the risk of overload.

    model = from_samples(rates, topics, items)          # samples x topics; items: name -> topics
    instance = Instance(model, [BrokerCapacity("b1", 700.0), BrokerCapacity("b2", 750.0)], threshold=0.01)
    solution = place(instance, seed=1)

Pure: numbers in, numbers out; no I/O, no clock, and all chance comes from a seed. Knows nothing of running brokers.
"""

from causeway.placement.instance import BrokerCapacity, Instance
from causeway.placement.rates import CovarianceRepair, LoadModel, from_moments, from_samples
from causeway.placement.solve import Solution, place

__all__ = [
    "BrokerCapacity",
    "CovarianceRepair",
    "Instance",
    "LoadModel",
    "Solution",
    "from_moments",
    "from_samples",
    "place",
]
