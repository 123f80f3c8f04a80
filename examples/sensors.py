"""Sensors on a bus, alerts by Spark: readings -> averages over windows of time -> a topic for those that are too hot.

    pip install -e '.[pipeline]'    # and Java 17 or newer
    causeway up --brokers 3
    python examples/sensors.py --url causeway://127.0.0.1:7400 watch --checkpoint alerts-checkpoint
    python examples/sensors.py report hall/3 21.5 --at 2026-01-01T12:00:00
    causeway subscribe 'alerts/#'

- A reading is published on sensors/ROOM; its body is JSON: degrees, and when they were measured.
- Spark reads sensors/# from a history, which the source begins itself. It averages each room over windows of a minute;
  a window counts as complete when readings that are ten seconds younger have come (the watermark).
- Complete windows above the limit are published on alerts/ROOM. Kill the query and start it again with the same
  checkpoint: every alert is published once.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import causeway.sync
from causeway.pipeline.connector import register
from causeway.pipeline.session import open_session

READING = "degrees double, at timestamp"
KEPT_SECONDS = 24 * 3600


def report(url: str, room: str, degrees: float, at: str) -> None:
    """Publish a reading."""
    with causeway.sync.connect(url, name="sensors") as bus:
        bus.publish(f"sensors/{room}", json.dumps({"degrees": degrees, "at": at}))


def readings(spark: SparkSession, url: str) -> DataFrame:
    """All readings, from the first that is kept."""
    reader = spark.readStream.format("causeway").option("url", url).option("topics", "sensors/#")
    frame = reader.option("startingOffsets", "earliest").option("historySeconds", str(KEPT_SECONDS)).load()
    reading = F.from_json(F.col("body").cast("string"), READING)
    room = F.regexp_replace("topic", "^sensors/", "")
    return frame.select(room.alias("room"), reading.alias("reading")).select("room", "reading.*")


def alerts(frame: DataFrame, limit: float) -> DataFrame:
    """Rooms whose average over a minute is above the limit, as messages."""
    minutes = frame.withWatermark("at", "10 seconds").groupBy("room", F.window("at", "1 minute"))
    hot = minutes.agg(F.avg("degrees").alias("degrees")).where(F.col("degrees") > limit)
    said = F.struct("room", F.col("window.start").alias("minute"), F.round("degrees", 2).alias("degrees"))
    topic = F.concat(F.lit("alerts/"), F.col("room"))
    return hot.select(topic.alias("topic"), F.col("room").alias("key"), F.to_json(said).alias("body"))


def watch(spark: SparkSession, url: str, checkpoint: str, limit: float, *, once: bool = False) -> StreamingQuery:
    """Publish alerts until somebody stops it; with `once`, until all that has come is looked at."""
    register(spark)
    writer = alerts(readings(spark, url), limit).writeStream.format("causeway").option("url", url)
    writer = writer.option("name", "watch").option("checkpointLocation", checkpoint)
    return (writer.trigger(availableNow=True) if once else writer.trigger(processingTime="1 second")).start()


def main() -> None:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(description="Alerts from sensors, by Spark.")
    parser.add_argument("--url", default="causeway://127.0.0.1:7400")
    commands = parser.add_subparsers(dest="command", required=True)
    reporting = commands.add_parser("report", help="publish a reading")
    reporting.add_argument("room")
    reporting.add_argument("degrees", type=float)
    reporting.add_argument("--at", required=True, help="when it was measured, such as 2026-01-01T12:00:00")
    watching = commands.add_parser("watch", help="publish alerts")
    watching.add_argument("--checkpoint", required=True, help="a directory that the query goes on from")
    watching.add_argument("--limit", type=float, default=30.0, help="degrees above which there is an alert")
    options = parser.parse_args()
    if options.command == "report":
        report(options.url, options.room, options.degrees, options.at)
    else:
        spark = open_session("sensors")
        # Spark raises in the middle of its own calls, which then log what went wrong in them: only note Ctrl-C.
        interrupted = threading.Event()
        signal.signal(signal.SIGINT, lambda number, frame: interrupted.set())
        query = watch(spark, options.url, options.checkpoint, options.limit)
        ready = False
        while query.isActive and not interrupted.wait(1):
            if not ready and query.status["message"].startswith("Waiting"):
                ready = True
                print(f"ready: rooms above {options.limit:g} degrees are told on alerts/#; Ctrl-C ends it", flush=True)
        if interrupted.is_set():
            query.stop()
            sys.exit(130)
        query.awaitTermination()  # raises why it ended


if __name__ == "__main__":
    main()
