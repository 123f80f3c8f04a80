"""What `rates` learns from events because telemetry does not have it: brokers without items, and messages without
subscribers.

A batch that nobody wants goes no further than the broker it was published to. No item carries it, so it is no part of
the rates; how many there were is said. Owns: these counts. Must not know: rates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import functions as F

from causeway.core.topics.publishing import UNWANTED
from causeway.pipeline.frame import JobRequest
from causeway.pipeline.increments import gather
from causeway.pipeline.quality import few_rows, segments
from causeway.topics.critical import WAYS
from causeway.trace import Step

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

BROKERS_MAX: Final = 10_000
SECOND_WAY: Final = WAYS[1]
"""Items to which critical messages go once more."""


class EventsSaid(NamedTuple):
    """Of the domains that have rates."""

    brokers: tuple[str, ...] = ()
    """All that wrote anything."""
    unwanted_messages: int = 0
    """Published, and nobody subscribed."""
    unwanted_topics: int = 0


def read_events(spark: SparkSession, request: JobRequest, domains: Iterable[str]) -> EventsSaid:
    """What events of these domains say; nothing if the lake has none."""
    if not any(segments(request.lake, "events")):
        return EventsSaid()
    counts = gather(spark, request, "events", counted_events, added_events).where(F.col("domain").isin(*domains))
    topics = F.count_distinct(F.when(F.col("messages") > 0, F.col("topic"))).alias("topics")
    by_broker = counts.groupBy("writer").agg(F.sum("messages").alias("messages"))
    rows = few_rows(by_broker, BROKERS_MAX, "brokers", "look at one domain with --set domain=NAME")
    messages = sum(row["messages"] for row in rows)
    # Most lakes have none of them, and then nobody needs to count their topics.
    unwanted = counts.agg(topics).collect()[0]["topics"] if messages else 0
    return EventsSaid(tuple(sorted(row["writer"] for row in rows)), messages, unwanted)


def counted_events(events: DataFrame) -> DataFrame:
    """By broker and topic: messages that were published there and that nobody wanted."""
    unwanted = (F.col("step") == int(Step.SETTLED)) & (F.col("note") == UNWANTED) & ~F.col("dest").isin(*SECOND_WAY)
    found = events.where(F.col("role") == "broker").select(
        "domain",
        "writer",
        F.when(unwanted, F.col("topic")).otherwise("").alias("topic"),
        F.when(unwanted, F.col("last") - F.col("first") + 1).otherwise(0).alias("messages"),
    )
    return added_events(found)


def added_events(counts: DataFrame) -> DataFrame:
    """Counts of one broker and topic as one."""
    return counts.groupBy("domain", "writer", "topic").agg(F.sum("messages").alias("messages"))
