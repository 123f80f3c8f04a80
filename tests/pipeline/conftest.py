"""All Spark tests share one session: it takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from causeway.pipeline.session import open_session

SECONDS_MAX = 400
"""A test that is interrupted while Java answers leaves the session useless for all that follow: on a busy machine they
get more time than others."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(SECONDS_MAX))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = open_session(
        "tests", master="local[2]", driver_memory="2g", settings={"spark.sql.shuffle.partitions": "2"}
    )
    yield session
    session.stop()
