"""A driver of a cluster, on its own: `python -m tests.pipeline.cluster_driver MASTER WHAT ...`.

    job MASTER job LAKE OUT       runs the job rates over a lake
    bus MASTER bus URL            reads a queue and writes another, after a shuffle; and measures a case on an executor
    stream MASTER stream URL CHECKPOINT KILLED   carries in/# over to out/# until somebody ends it

Sessions of a cluster and of this machine cannot be in one process.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from causeway.pipeline.connector import register
from causeway.pipeline.executors import Executors
from causeway.pipeline.session import SessionFlags, open_session
from tests.pipeline.lakes import run

CONF = {
    "spark.executor.memory": "1g",
    "spark.cores.max": "2",
    "spark.executor.cores": "1",
    "spark.sql.shuffle.partitions": "2",
}


def copy_queue(spark: SparkSession, url: str) -> None:
    """From the queue `here` to the queue `there`."""
    rows = spark.read.format("causeway").options(url=url, queues="here").load().select("body").repartition(2)
    rows.write.format("causeway").options(url=url, queue="there").mode("append").save()
    assert sorted(Executors(spark).run(abs, [-1, -2])) == [(0, 1), (1, 2)]


def carry(spark: SparkSession, url: str, checkpoint: str) -> None:
    """What is killed again and again."""
    reader = spark.readStream.format("causeway").options(url=url, topics="in/#", startingOffsets="earliest")
    frame = reader.option("maxMessagesPerTrigger", "500").option("minPartitions", "2").load()
    copy = frame.selectExpr("concat('out/', substring(topic, 4)) AS topic", "body")
    writer = copy.writeStream.format("causeway").option("url", url).option("checkpointLocation", checkpoint)
    writer.start().awaitTermination()


def main(master: str, what: str, *arguments: str) -> None:
    """Do one of these."""
    # A server of Spark Connect was started with its own settings.
    spark = open_session("test", flags=SessionFlags(master, conf={} if master.startswith("sc://") else CONF))
    register(spark)
    if what == "job":
        lake, out = arguments
        print(run(spark, "rates", lake, out).summary["items"])
    elif what == "bus":
        copy_queue(spark, *arguments)
    else:
        carry(spark, *arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
