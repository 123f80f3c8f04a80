"""All Spark tests share one session: it takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from causeway.pipeline.session import open_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = open_session(
        "tests", master="local[2]", driver_memory="2g", settings={"spark.sql.shuffle.partitions": "2"}
    )
    yield session
    session.stop()
