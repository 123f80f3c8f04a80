"""Columns from the bodies of messages, and back."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from causeway.pipeline.connector.bodies import as_cloud_event, as_json, cloud_event, json_body


def messages(spark: SparkSession, *rows: tuple[bytes, dict[str, str]]) -> DataFrame:
    return spark.createDataFrame(
        [(bytearray(body), properties) for body, properties in rows], "body binary, properties map<string,string>"
    )


def test_json_bodies_become_columns_and_come_back(spark: SparkSession) -> None:
    frame = messages(spark, (b'{"street": "a1", "speed": 120.5, "more": 1}', {}), (b"no json", {}))
    it = json_body("street string, speed double")
    rows = frame.select(it.alias("it")).select("it.*").collect()
    assert [tuple(row) for row in rows] == [("a1", 120.5), (None, None)]
    again = frame.limit(1).select(as_json(it).alias("body")).collect()
    assert again[0].body == '{"street":"a1","speed":120.5}'


def test_a_strict_schema_stops_the_query(spark: SparkSession) -> None:
    frame = messages(spark, (b"no json", {}))
    with pytest.raises(Exception, match="Malformed records"):
        frame.select(json_body("speed double", strict=True)).collect()


def test_cloud_events_are_found_in_headers_and_in_bodies(spark: SparkSession) -> None:
    attributes = {"specversion": "1.0", "id": "7", "source": "/radar", "type": "speed"}
    frame = messages(
        spark,
        (b"\xff", {**{f"ce_{name}": value for name, value in attributes.items()}, "content-type": "image/png"}),
        (b"120", {f"cloudEvents:{name}": value for name, value in attributes.items()}),
        (b'{"specversion":"1.0","id":"8","source":"/radar","type":"speed","data":{"kmh":120}}', {}),
        (b'{"specversion":"1.0","id":"9","source":"/radar","type":"raw","data_base64":"/w=="}', {}),
        (b'{"id":"10"}', {}),
    )
    rows = [row.it for row in frame.select(cloud_event().alias("it")).collect()]
    found = [None if it is None else (it.id, it.type, it.datacontenttype, bytes(it.data)) for it in rows]
    assert found == [
        ("7", "speed", "image/png", b"\xff"),
        ("7", "speed", None, b"120"),
        ("8", "speed", None, b'{"kmh":120}'),
        ("9", "raw", None, b"\xff"),
        None,
    ]


def test_a_cloud_event_that_is_written_is_read_again(spark: SparkSession) -> None:
    frame = spark.range(2).select(
        *as_cloud_event(F.lit("x"), type="t", source="/s", id=F.col("id").cast("string"), subject="about")
    )
    rows = [row.it for row in frame.select(cloud_event().alias("it")).collect()]
    assert [(it.id, it.subject, it.source, bytes(it.data)) for it in rows] == [
        ("0", "about", "/s", b"x"),
        ("1", "about", "/s", b"x"),
    ]
