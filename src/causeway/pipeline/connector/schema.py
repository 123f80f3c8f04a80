"""The columns of the connector: those a source can give, those a sink takes.

Owns: names and types. A reader may ask for some of the columns only, with `.schema(...)`: what is not asked for is not
made.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import types as t

from causeway.errors import ConfigError
from causeway.pipeline.connector.options import KAFKA

KEY_HEADER: Final = "key"
"""The header whose value is the column `key`; Causeway itself has no keys."""

SCHEMA: Final = t.StructType(
    [
        t.StructField("key", t.BinaryType()),
        t.StructField("body", t.BinaryType()),
        t.StructField("properties", t.MapType(t.StringType(), t.StringType())),
        t.StructField("topic", t.StringType()),
        t.StructField("queue", t.StringType()),
        t.StructField("offset", t.LongType()),
        t.StructField("id", t.StringType()),
        t.StructField("source", t.StringType()),
        t.StructField("time", t.TimestampType()),
    ]
)

KAFKA_SCHEMA: Final = t.StructType(
    [
        t.StructField("key", t.BinaryType()),
        t.StructField("value", t.BinaryType()),
        t.StructField("topic", t.StringType()),
        t.StructField("partition", t.IntegerType()),
        t.StructField("offset", t.LongType()),
        t.StructField("timestamp", t.TimestampType()),
        t.StructField("timestampType", t.IntegerType()),
    ]
)
"""What Kafka's source calls them, on request."""

SINK_SCHEMA: Final = t.StructType(
    [
        t.StructField("topic", t.StringType()),
        t.StructField("queue", t.StringType()),
        t.StructField("key", t.StringType()),
        t.StructField("properties", t.MapType(t.StringType(), t.StringType())),
        t.StructField("body", t.StringType()),
    ]
)
"""Of a table that is written to."""

KNOWN: Final = {field.name: field for field in (*KAFKA_SCHEMA, *SCHEMA)}

_TEXT: Final = (t.StringType, t.BinaryType)
_TAKEN: Final[dict[str, tuple[type[t.DataType], ...]]] = {
    "body": _TEXT,
    "value": _TEXT,
    "key": _TEXT,
    "topic": (t.StringType,),
    "queue": (t.StringType,),
    "properties": (t.MapType,),
}


def schema_of(columns: str) -> t.StructType:
    """What the option `columns` asks for: names with commas between them, or `kafka`. Raises ConfigError."""
    if not columns:
        return SCHEMA
    if columns == KAFKA:
        return KAFKA_SCHEMA
    names = [name.strip() for name in columns.split(",")]
    for name in names:
        if name not in KNOWN:
            raise ConfigError("columns", name, f"is no column of a causeway source; there are {', '.join(KNOWN)}")
    return t.StructType([KNOWN[name] for name in dict.fromkeys(names)])


def check_read_schema(schema: t.StructType) -> None:
    """Only columns that there are, with their types. Raises ConfigError."""
    for field in schema:
        if field.name not in KNOWN:
            raise ConfigError("schema", field.name, f"is no column of a causeway source; there are {', '.join(KNOWN)}")
        if field.dataType != KNOWN[field.name].dataType:
            remedy = f"must be {KNOWN[field.name].dataType.simpleString()}; cast it afterwards"
            raise ConfigError(f"schema[{field.name!r}]", field.dataType.simpleString(), remedy)


def check_write_schema(schema: t.StructType, *, topic: str, queue: str) -> None:
    """A body, and for every row a place to go. Raises ConfigError."""
    names = schema.fieldNames()
    for field in schema:
        types = _TAKEN.get(field.name)
        if types is None:
            remedy = f"is no column of a causeway sink; there are {', '.join(_TAKEN)}: select those you want to send"
            raise ConfigError("schema", field.name, remedy)
        if not isinstance(field.dataType, types):
            wanted = " or ".join(one.__name__.removesuffix("Type").lower() for one in types)
            raise ConfigError(f"schema[{field.name!r}]", field.dataType.simpleString(), f"must be {wanted}")
    if "body" not in names and "value" not in names:
        raise ConfigError("schema", ", ".join(names), "has no column 'body'; select what to send as body")
    if not (topic or queue or "topic" in names or "queue" in names):
        raise ConfigError("topic", "", "say where to with the option topic or queue, or with a column of that name")
