"""What Spark looks for: it imports modules whose names begin with `pyspark_` and knows their `DefaultSource` by its
name. So whoever has installed this package has `format("causeway")` in every session."""

from causeway.pipeline.connector import CausewaySource as DefaultSource

__all__ = ["DefaultSource"]
