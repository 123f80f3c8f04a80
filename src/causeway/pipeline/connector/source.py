"""`format("causeway")`: what Spark asks when a query names it.

Owns: the name, and which reader or writer serves a query. Options are checked on the driver, before anything runs.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from causeway.errors import ConfigError
from causeway.pipeline.connector.options import read_options, write_options
from causeway.pipeline.connector.reading import CausewayReader, CausewayStreamReader
from causeway.pipeline.connector.schema import SCHEMA, check_read_schema, check_write_schema
from causeway.pipeline.connector.writing import CausewayStreamWriter, CausewayWriter


class CausewaySource(DataSource):
    """The bus as Spark sees it."""

    @classmethod
    def name(cls) -> str:
        """What users write in `format(...)`."""
        return "causeway"

    def schema(self) -> StructType:
        """All columns; `.schema(...)` asks for fewer."""
        return SCHEMA

    def reader(self, schema: StructType) -> CausewayReader:
        """`spark.read`."""
        check_read_schema(schema)
        return CausewayReader(read_options(self.options, stream=False), schema)

    def streamReader(self, schema: StructType) -> CausewayStreamReader:  # noqa: N802
        """`spark.readStream`."""
        check_read_schema(schema)
        return CausewayStreamReader(read_options(self.options, stream=True), schema)

    def writer(self, schema: StructType, overwrite: bool) -> CausewayWriter:  # noqa: FBT001
        """`df.write`."""
        options = write_options(self.options)
        check_write_schema(schema, topic=options.topic, queue=options.queue)
        if overwrite:
            raise ConfigError("mode", "overwrite", "messages that were sent are sent; use mode('append')")
        return CausewayWriter(options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> CausewayStreamWriter:  # noqa: FBT001, N802
        """`df.writeStream`."""
        options = write_options(self.options)
        check_write_schema(schema, topic=options.topic, queue=options.queue)
        if overwrite:
            raise ConfigError("outputMode", "complete", "messages that were sent are sent; use append")
        return CausewayStreamWriter(options)


PUSHDOWN: Final = "spark.sql.python.filterPushdown.enabled"


def register(spark: SparkSession) -> None:
    """Let this session know `format("causeway")`, and push filters down, unless it was told not to."""
    spark.dataSource.register(CausewaySource)
    if PUSHDOWN not in spark.conf.getAll:
        spark.conf.set(PUSHDOWN, "true")
