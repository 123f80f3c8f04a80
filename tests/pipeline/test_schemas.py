"""Spark reads what the lake's schema says."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from causeway.lake.schema import KINDS
from causeway.pipeline.schemas import spark_schema


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_spark_schema_has_every_column_in_order(spark: SparkSession, kind: str) -> None:
    frame = spark.createDataFrame([], spark_schema(KINDS[kind]))
    assert frame.columns == [column.name for column in KINDS[kind]]
