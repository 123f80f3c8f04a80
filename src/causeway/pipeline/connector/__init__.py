"""The bus as a source and a sink of Spark: `spark.read`, `readStream`, `write` and `writeStream.format("causeway")`."""

from causeway.pipeline.connector.listing import create_tables
from causeway.pipeline.connector.progress import mailbox_progress
from causeway.pipeline.connector.source import CausewaySource, register

__all__ = ["CausewaySource", "create_tables", "mailbox_progress", "register"]
