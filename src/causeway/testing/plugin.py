"""The pytest fixture `causeway_cluster`, for users' own tests; pytest finds it when Causeway is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from causeway.testing.cluster import LocalCluster


@pytest.fixture(scope="session")
def causeway_cluster() -> Iterator[LocalCluster]:
    """Three brokers in memory, started once for the whole run: `causeway.connect(causeway_cluster.url, name=...)`.

    A broker that a test kills stays dead for the tests that follow, until `causeway_cluster.restart_all()`."""
    from causeway.testing.cluster import LocalCluster

    with LocalCluster(brokers=3) as cluster:
        yield cluster
