"""The bus as a source and a sink of Spark: `spark.read`, `readStream`, `write` and `writeStream.format("causeway")`."""

from causeway.pipeline.connector.source import CausewaySource, register

__all__ = ["CausewaySource", "register"]
