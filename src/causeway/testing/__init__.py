"""For users' own tests: a cluster of real brokers, and (through pytest) the fixture `causeway_cluster`."""

from causeway.testing.cluster import LocalBroker, LocalCluster

__all__ = ["LocalBroker", "LocalCluster"]
