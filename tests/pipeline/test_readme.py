"""The README's lines of Spark, as printed."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.integration.documents import PRINTED_URL, code_of_example
from tests.pipeline.bus_cluster import running_bus


def test_readme_averages_a_queue(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    with running_bus() as (cluster, bus):
        for degrees in ("21.5", "22.5"):
            bus.send("readings", degrees)
        exec(code_of_example("average.py").replace(PRINTED_URL, cluster.url), {})
    assert "|   22.0|" in capsys.readouterr().out
