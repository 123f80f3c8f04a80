"""A Spark driver of its own, to be killed: `python stream_driver.py URL CHECKPOINT` carries in/# over to out/#."""

from __future__ import annotations

import sys

from pyspark.sql import DataFrame, SparkSession

from causeway.pipeline.connector import register
from causeway.pipeline.session import open_session


def carried(spark: SparkSession, url: str) -> DataFrame:
    """What the test's two drivers do, the one that is killed and the one that goes on."""
    reader = spark.readStream.format("causeway").option("url", url).option("topics", "in/#")
    reader = reader.option("startingOffsets", "earliest").option("maxMessagesPerTrigger", "1000")
    return reader.option("minPartitions", "2").load().selectExpr("concat('out/', topic) AS topic", "body")


def main(url: str, checkpoint: str) -> None:
    """Carry over until somebody ends it."""
    spark = open_session("driver", master="local[2]", driver_memory="1g")
    register(spark)
    writer = carried(spark, url).writeStream.format("causeway").option("url", url)
    writer.option("checkpointLocation", checkpoint).start().awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
