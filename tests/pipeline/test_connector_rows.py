"""Messages as Arrow columns, and rows as messages."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from causeway.client.message import with_headers
from causeway.client.stretches import ReadStretch
from causeway.core.messages import Published
from causeway.errors import ConfigError
from causeway.pipeline.connector.options import WriteOptions, write_options
from causeway.pipeline.connector.rows import record_batches
from causeway.pipeline.connector.schema import SCHEMA
from causeway.pipeline.connector.writing import OutgoingRow, in_order, life_of, outgoing
from causeway.types import SECOND
from causeway.wire import body as bodies

ARROW = to_arrow_schema(SCHEMA, timezone="UTC")


def stretch(number: int, texts: list[bytes], topic: str = "", headers: dict[str, object] | None = None) -> ReadStretch:
    """Messages of `radar`, with ids and offsets from their numbers."""
    raw = [with_headers(headers, text) for text in texts] if headers else texts  # type: ignore[arg-type]
    published = Published(topic, "radar", 255, 2, number + 1, number + 500, at=number * SECOND) if topic else None
    return ReadStretch(
        mailbox="history/roads/#" if topic else "orders",
        number=number,
        count=len(texts),
        before=number,
        sender=("radar", 255),
        stream=2,
        first=number + 1,
        headed=headers is not None,
        at=number * SECOND,
        body=bodies.join(raw),
        published=published,
    )


def rows(stretches: list[ReadStretch], schema: pa.Schema = ARROW) -> list[dict[str, object]]:
    return [row for batch in record_batches(stretches, schema) for row in batch.to_pylist()]


def test_columns_say_what_was_published() -> None:
    headers = {"key": "k", "lane": 2, "wet": True, "raw": b"\xff", "none": None, "~corr": 1}
    found = rows([stretch(3, [b"", b"120"], "roads/a1"), stretch(9, [b"80"], "roads/a2", headers), stretch(20, [b"x"])])
    assert [row["body"] for row in found] == [b"", b"120", b"80", b"x"]
    assert [row["topic"] for row in found] == ["roads/a1", "roads/a1", "roads/a2", None]
    assert [row["queue"] for row in found] == [None, None, None, "orders"]
    assert [row["offset"] for row in found] == [503, 504, 509, 20]
    assert [row["key"] for row in found] == [None, None, b"k", None]
    assert dict(found[2]["properties"]) == {"lane": "2", "wet": "true", "raw": "/w==", "none": None}  # type: ignore[call-overload]
    assert found[0]["properties"] == []
    assert str(found[3]["id"]) == "radar:ff:orders:t:21"
    assert [str(row["id"]).rpartition(":")[2] for row in found] == ["4", "5", "10", "21"]
    assert {row["source"] for row in found} == {"radar"}
    assert [row["time"].timestamp() for row in found] == [3, 3, 9, 20]  # type: ignore[attr-defined]


def test_ids_are_those_that_the_client_shows() -> None:
    parts = [stretch(3, [b"a", b"b"], "roads/a1"), stretch(9, [b"c"])]
    assert [row["id"] for row in rows(parts)] == [str(one.id_of(n)) for one in parts for n in range(one.count)]


def test_only_columns_that_are_wanted_are_made() -> None:
    wanted = pa.schema([ARROW.field("topic"), ARROW.field("body")])
    assert rows([stretch(3, [b"120"], "roads/a1")], wanted) == [{"topic": "roads/a1", "body": b"120"}]


def test_many_small_stretches_become_few_batches() -> None:
    parts = [stretch(number, [b"x"], f"roads/a{number % 3}") for number in range(1000)]
    (batch,) = record_batches(parts, ARROW)
    assert batch.num_rows == 1000


# Rows of a sink ------------------------------------------------------------------------------------------------
def sink(**options: str) -> WriteOptions:
    return write_options({"url": "causeway://127.0.0.1:7400", **options})


def test_rows_become_messages_with_key_and_properties() -> None:
    batch = pa.RecordBatch.from_pylist(
        [
            {"topic": "roads/a1", "key": b"k", "properties": [("lane", "2")], "body": "120"},
            {"topic": None, "key": None, "properties": None, "body": ""},
        ],
        pa.schema(
            [
                ("topic", pa.string()),
                ("key", pa.binary()),
                ("properties", pa.map_(pa.string(), pa.string())),
                ("body", pa.string()),
            ]
        ),
    )
    one, two = outgoing(sink(queue="orders"), [batch])
    assert (one.topic, one.queue, one.body, one.said) == ("roads/a1", "", b"120", {"lane": "2", "key": "k"})
    assert (two.topic, two.queue, two.body, two.said) == ("", "orders", b"", None)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"topic": "roads/*", "body": "x"}, "wildcards belong in subscriptions"),
        ({"topic": None, "body": "x"}, "neither topic nor queue"),
        ({"topic": "roads/a1", "body": None}, "the row has none"),
    ],
)
def test_rows_that_cannot_be_sent_are_named(row: dict[str, object], said: str) -> None:
    batch = pa.RecordBatch.from_pylist([row], pa.schema([("topic", pa.string()), ("body", pa.string())]))
    with pytest.raises(ConfigError, match=said):
        list(outgoing(sink(), [batch]))


def test_the_order_of_a_partition_depends_on_its_rows_alone() -> None:
    rng = random.Random(7)
    rows = [OutgoingRow(f"t{n % 3}", "", b"", str(n % 50).encode(), None) for n in range(200)]
    first = in_order(iter(rows), 1 << 20)
    rng.shuffle(rows)
    assert in_order(iter(rows), 1 << 20) == first
    with pytest.raises(ConfigError, match="repartition"):
        in_order(iter(rows), 100)


def test_a_life_is_named_by_what_is_written() -> None:
    assert life_of("stream", "q", 1) == life_of("stream", "q", "1")
    assert len({life_of("stream", "q", n) for n in range(1000)} | {life_of("write", "q", 1)}) == 1001
    assert all(0 < life_of("stream", "q", n) < 1 << 53 for n in range(100))
