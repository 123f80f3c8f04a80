"""The lake's columns as Spark's types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyspark.sql import types as t

from causeway.lake.schema import PARTITIONS, Column

_TYPES: Final[dict[str, t.DataType]] = {
    "int32": t.IntegerType(),
    "int64": t.LongType(),
    "bool": t.BooleanType(),
    "string": t.StringType(),
    "list<int32>": t.ArrayType(t.IntegerType(), containsNull=False),
    "list<int64>": t.ArrayType(t.LongType(), containsNull=False),
}


def spark_schema(columns: Iterable[Column]) -> t.StructType:
    """A table of the lake, as Spark is told to read it. Files cannot promise that nothing is null, so nothing does."""
    return t.StructType([t.StructField(column.name, _TYPES[column.type]) for column in columns])


def lake_schema(columns: Iterable[Column]) -> t.StructType:
    """The same with the columns that are folders of the lake."""
    table = spark_schema(columns)
    for name in PARTITIONS:
        table = table.add(name, t.StringType())
    return table
