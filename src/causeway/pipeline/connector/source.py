"""`format("causeway")`: what Spark asks when a query names it.

Owns: the name, and which reader or writer serves a query. Options are checked on the driver, before anything runs.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from causeway.errors import ConfigError
from causeway.pipeline.connector.listing import LISTING_SCHEMA, ListingReader, listing_options
from causeway.pipeline.connector.options import WriteOptions, read_options, write_options
from causeway.pipeline.connector.reading import CausewayReader, CausewayStreamReader
from causeway.pipeline.connector.schema import SINK_SCHEMA, check_read_schema, check_write_schema, schema_of
from causeway.pipeline.connector.tables import options_of, told_of_table, with_options
from causeway.pipeline.connector.writing import CausewayStreamWriter, CausewayWriter

PUSHDOWN: Final = "spark.sql.python.filterPushdown.enabled"


class CausewaySource(DataSource):
    """The bus as Spark sees it."""

    @classmethod
    def name(cls) -> str:
        """What users write in `format(...)`."""
        return "causeway"

    def schema(self) -> StructType:
        """All columns, or those that the option `columns` names; `.schema(...)` asks for others."""
        table = told_of_table(self.options)
        if table is None:
            return _columns(dict(self.options))
        columns = with_options(_columns(table), table)
        # Whoever is told now what is wrong need not drop the table again.
        if columns.fieldNames() == SINK_SCHEMA.fieldNames():
            self.writer(columns, overwrite=False)
        else:
            self.reader(columns)
        return columns

    def reader(self, schema: StructType) -> CausewayReader | ListingReader:
        """`spark.read`."""
        options = self._options(schema)
        if "listing" in options:
            return ListingReader(listing_options(options), schema)
        check_read_schema(schema)
        return CausewayReader(read_options(options, stream=False), schema)

    def streamReader(self, schema: StructType) -> CausewayStreamReader:  # noqa: N802
        """`spark.readStream`."""
        check_read_schema(schema)
        return CausewayStreamReader(read_options(self._options(schema), stream=True), schema)

    def writer(self, schema: StructType, overwrite: bool) -> CausewayWriter:  # noqa: FBT001
        """`df.write`."""
        options = self._write_options(schema)
        if overwrite:
            raise ConfigError("mode", "overwrite", "messages that were sent are sent; use mode('append')")
        return CausewayWriter(options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> CausewayStreamWriter:  # noqa: FBT001, N802
        """`df.writeStream`."""
        options = self._write_options(schema)
        if overwrite:
            raise ConfigError("outputMode", "complete", "messages that were sent are sent; use append")
        return CausewayStreamWriter(options)

    def _options(self, schema: StructType) -> dict[str, str]:
        """Those of the table, and what the query itself says."""
        given = told_of_table(self.options)
        said = {name.lower(): value for name, value in (self.options if given is None else given).items()}
        return {name: value for name, value in options_of(schema).items() if name.lower() not in said} | said

    def _write_options(self, schema: StructType) -> WriteOptions:
        options = write_options(self._options(schema))
        check_write_schema(schema, topic=options.topic, queue=options.queue)
        return options


def _columns(options: dict[str, str]) -> StructType:
    """Of what these options mean: a list of mailboxes, a table to write to, or a source."""
    lower = {name.lower(): value for name, value in options.items()}
    if "listing" in lower:
        return LISTING_SCHEMA
    if "topic" in lower or "queue" in lower:
        return SINK_SCHEMA
    return schema_of(lower.get("columns", ""))


def register(spark: SparkSession) -> None:
    """Let this session know `format("causeway")`, and push filters down, unless it was told not to."""
    spark.dataSource.register(CausewaySource)
    if PUSHDOWN not in spark.conf.getAll:
        spark.conf.set(PUSHDOWN, "true")
