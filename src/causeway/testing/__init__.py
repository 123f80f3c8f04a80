"""For users' own tests: a cluster of real brokers, and (through pytest) the fixture `causeway_cluster`.

The cluster is loaded when it is first used: pytest loads the fixture's module in every run, whether it is used or not.
"""

from typing import TYPE_CHECKING

from causeway.later import later

if TYPE_CHECKING:
    from causeway.testing.cluster import LocalBroker, LocalCluster

__all__ = ["LocalBroker", "LocalCluster"]

__getattr__ = later(__name__, {"cluster": ("LocalBroker", "LocalCluster")})
