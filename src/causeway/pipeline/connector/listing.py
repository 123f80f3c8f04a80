"""What there is to read: the queues, histories of topics and subscriptions of a cluster, as rows and as tables.

Owns: the rows of `.option("listing", "true")`, and the tables of `create_tables`. Must not know: how messages are read.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import types as t
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from causeway.client.url import parse_url
from causeway.errors import ConfigError
from causeway.local.everybody import reports_of
from causeway.names import DURABLE_PREFIX, HISTORY_PREFIX, RESERVED_PREFIX, SHARED_PREFIX, is_private, is_twin
from causeway.pipeline.connector.options import BusAccess, bus_access

LISTING_SCHEMA: Final = t.StructType(
    [
        t.StructField("name", t.StringType()),
        t.StructField("kind", t.StringType()),
        t.StructField("topics", t.StringType()),
        t.StructField("messages", t.LongType()),
        t.StructField("bytes", t.LongType()),
        t.StructField("consumers", t.LongType()),
        t.StructField("oldest", t.TimestampType()),
        t.StructField("broker", t.StringType()),
    ]
)

QUEUE: Final = "queue"
HISTORY: Final = "history"
SUBSCRIPTION: Final = "subscription"


def listing_options(options: Mapping[str, str]) -> BusAccess:
    """Of a list nothing else can be said. Raises ConfigError."""
    if options["listing"].lower() != "true":
        raise ConfigError("listing", options["listing"], "must be true; leave it out to read messages")
    return bus_access(options, "listing")


def list_bus(url: str) -> list[dict[str, Any]]:
    """A row for each mailbox that people have made, by name."""
    found: dict[str, dict[str, Any]] = {}
    for report in asyncio.run(reports_of(parse_url(url))):
        for box in report["mailboxes"]:
            kind = _kind(box["name"])
            if kind:
                found[box["name"]] = {
                    "name": box["name"],
                    "kind": kind,
                    "topics": box["name"].removeprefix(HISTORY_PREFIX) if kind == HISTORY else None,
                    "messages": box["stored"] + box["volatile"],
                    "bytes": box["stored_bytes"] + box["volatile_bytes"],
                    "consumers": box["consumers"],
                    "oldest": None if box["oldest"] is None else box["oldest"] // 1000,
                    "broker": report["broker"],
                }
    return [found[name] for name in sorted(found)]


def _kind(name: str) -> str:
    """Empty for what brokers and clients keep for themselves."""
    if name.startswith(HISTORY_PREFIX):
        return HISTORY
    if name.startswith((DURABLE_PREFIX, SHARED_PREFIX)):
        return SUBSCRIPTION
    return "" if name.startswith(RESERVED_PREFIX) or is_twin(name) or is_private(name) else QUEUE


class ListingReader(DataSourceReader):
    """Reads the list."""

    def __init__(self, access: BusAccess, schema: t.StructType) -> None:
        self._access = access
        self._schema = to_arrow_schema(schema, timezone="UTC")

    def partitions(self) -> list[InputPartition]:
        """One: brokers are asked once."""
        return [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """On an executor: ask all brokers."""
        rows = list_bus(self._access.url)
        yield pa.RecordBatch.from_arrays(
            [pa.array([row[field.name] for row in rows]).cast(field.type) for field in self._schema],
            schema=self._schema,
        )


def create_tables(spark: SparkSession, url: str, database: str = "bus") -> list[str]:
    """A table of Spark for each queue and history that there is now, so that `SHOW TABLES IN bus` names them; these.

    A history is read with its topics, a queue by its name; characters that a table's name cannot have become `_`.
    """
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {_quoted(database)}")
    made: dict[str, str] = {}
    for row in list_bus(url):
        option = {HISTORY: "topics", QUEUE: "queues"}.get(row["kind"])
        if option is None:
            continue
        table = re.sub(r"[^a-z0-9]+", "_", (row["topics"] or row["name"]).lower()).strip("_") or row["kind"]
        while table in made:
            table += "_"
        made[table] = row["name"]
        name = f"{_quoted(database)}.{_quoted(table)}"
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        value = (row["topics"] or row["name"]).replace("\\", "\\\\").replace("'", "\\'")
        spark.sql(f"CREATE TABLE {name} USING causeway OPTIONS (url '{url}', {option} '{value}')")
    return sorted(made)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
