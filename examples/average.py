"""The README's lines of Spark: an average over the messages of a queue, which stay there.

causeway up --brokers 5 --detach
causeway send readings 21.5 22.5
pip install -e '.[pipeline]'    # and Java 17 or newer
python examples/average.py
"""

from pyspark.sql import SparkSession

from causeway.pipeline.connector import register

spark = SparkSession.builder.getOrCreate()
register(spark)
bus = spark.read.format("causeway").option("url", "causeway://127.0.0.1:7400")
readings = bus.option("queues", "readings").load()
readings.selectExpr("avg(cast(body AS string)) AS degrees").show()
