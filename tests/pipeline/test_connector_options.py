"""Options and columns of the connector: an error names what is wrong, its value and the remedy."""

from __future__ import annotations

import pytest
from pyspark.sql import types as t

from causeway.errors import ConfigError, TopicError
from causeway.pipeline.connector.options import Edge, read_options, write_options
from causeway.pipeline.connector.schema import SCHEMA, check_read_schema, check_write_schema

URL = "causeway://127.0.0.1:7400"


def test_a_source_reads_everything_by_batch_and_what_comes_by_stream() -> None:
    batch = read_options({"URL": URL, "Topics": "roads/# ; rails/*", "queues": "orders"}, stream=False)
    assert (batch.topics, batch.queues) == (("roads/#", "rails/*"), ("orders",))
    assert (batch.start, batch.end) == ({"": Edge("earliest")}, {"": Edge("latest")})
    assert read_options({"url": URL, "topics": "roads/#"}, stream=True).start == {"": Edge("latest")}


def test_positions_are_said_for_all_or_for_each() -> None:
    def start(**options: str) -> object:
        return read_options({"url": URL, "topics": "roads/#;rails/#", **options}, stream=True).start

    assert start(startingOffsets='{"roads/#": 1200}') == {"": Edge("latest"), "roads/#": Edge(1200)}
    assert start(startingTimestamp="1700000000000") == {"": Edge("", 1_700_000_000 * 10**9)}


@pytest.mark.parametrize(
    ("options", "field", "remedy"),
    [
        ({"topics": "roads/#"}, "url", "name a broker"),
        ({"url": URL}, "topics", "name topics"),
        ({"url": URL, "topics": "a", "maxMesagesPerTrigger": "5"}, "maxmesagespertrigger", "'maxMessagesPerTrigger'?"),
        ({"url": URL, "topics": "a", "maxMessagesPerTrigger": "0"}, "maxMessagesPerTrigger", "whole number"),
        ({"url": URL, "topics": "a", "minPartitions": "many"}, "minPartitions", "whole number"),
        ({"url": URL, "topics": "a", "failOnDataLoss": "yes"}, "failOnDataLoss", "true or false"),
        ({"url": URL, "topics": "a", "startingOffsets": "newest"}, "startingOffsets", "must be 'earliest'"),
        ({"url": URL, "topics": "a", "startingOffsets": '{"b": 1}'}, "startingOffsets", "is not read; there are a"),
        ({"url": URL, "topics": "a", "startingOffsets": '{"a": -1}'}, "startingOffsets['a']", "or an offset"),
        ({"url": URL, "topics": "a", "startingTimestamp": "today"}, "startingTimestamp", "milliseconds"),
        ({"url": URL, "topics": "a", "endingOffsets": "latest"}, "endingOffsets", "a stream ends with its trigger"),
        ({"url": URL, "topics": "a", "subscribe": "b"}, "subscribe", "another name of topics"),
        ({"kafka.bootstrap.servers": "host:99999", "topics": "a"}, "url", "1..65535"),
        ({"url": URL, "topics": "a", "divide": "evenly"}, "divide", "topics or numbers"),
        ({"url": URL, "queues": "sub/a/b"}, "queues", "is a subscription"),
        ({"url": URL, "topics": "a", "historySeconds": "-1"}, "historySeconds", "more than 0"),
    ],
)
def test_wrong_options_of_a_source_are_named(options: dict[str, str], field: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_options(options, stream=True)
    assert caught.value.field == field
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("options", "field", "remedy"),
    [
        ({"url": URL, "topic": "a", "queue": "b"}, "queue", "one of them"),
        ({"url": URL, "topic": "a", "service": "express"}, "service", "transactional or recoverable"),
        ({"url": URL, "topic": "a", "order": "any"}, "order", "source or content or plan"),
        ({"url": URL, "topic": "a", "priority": "10"}, "priority", "from 0 to 9"),
        ({"url": URL, "queue": "shop~00000000000000ff"}, "queue", "stays"),
        ({"url": URL, "topics": "a"}, "topics", "did you mean 'topic'?"),
    ],
)
def test_wrong_options_of_a_sink_are_named(options: dict[str, str], field: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        write_options(options)
    assert caught.value.field == field
    assert remedy in caught.value.remedy


def test_wrong_topics_say_where() -> None:
    with pytest.raises(TopicError, match="column 7"):
        read_options({"url": URL, "topics": "roads//speed"}, stream=True)


def test_columns_are_those_there_are() -> None:
    check_read_schema(SCHEMA)
    check_read_schema(t.StructType([SCHEMA["body"], SCHEMA["topic"]]))
    with pytest.raises(ConfigError, match="is no column of a causeway source"):
        check_read_schema(t.StructType().add("worth", t.BinaryType()))
    with pytest.raises(ConfigError, match="cast it afterwards"):
        check_read_schema(t.StructType().add("body", t.StringType()))


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ("body string, worth int", "select those you want to send"),
        ("body int, topic string", "must be string or binary"),
        ("topic string", "has no column 'body'"),
        ("body binary", "say where to"),
    ],
)
def test_rows_of_a_sink_have_a_body_and_a_place_to_go(schema: str, said: str) -> None:
    fields = t.StructType()
    kinds = {"string": t.StringType(), "binary": t.BinaryType(), "int": t.IntegerType()}
    for column in schema.split(", "):
        name, kind = column.split()
        fields.add(name, kinds[kind])
    with pytest.raises(ConfigError, match=said):
        check_write_schema(fields, topic="", queue="")
