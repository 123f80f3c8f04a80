"""Batches are called in the trace what their senders called them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from causeway.core.machine import Turn
from causeway.core.mail.answers import Piece
from causeway.core.mail.rows import StoredBatch, batch_key, encode
from causeway.core.mail.tracer import Tracer
from causeway.core.messages import Causal, Config, Deliver, Published, SendPart
from causeway.core.messages.groups import Member
from causeway.names import SEATS, seat_name
from causeway.store.base import Delete, Put, Write
from causeway.topics import item_of, other_way
from causeway.trace import Step, TraceRecord
from causeway.types import Key, Peer, key_of
from causeway.wire.body import join
from tests.unit.core.mail.postroom import NAME, RECOVERABLE, deposit

ITEM = item_of("roads/a1")
TWO = join([b"one", b"three"])
GROUP = Key(bytes(16))


def traced(*calls: Any) -> list[TraceRecord]:
    turn = Turn(7)
    for name, *arguments in calls:
        options = arguments.pop() if arguments and isinstance(arguments[-1], dict) else {}
        getattr(Tracer("b1"), name)(turn, *arguments, **options)
    return turn.effects.traces


def ids(record: TraceRecord) -> tuple[str, int, str, int, int, int]:
    return record.source, record.incarnation, record.dest, record.stream, record.first, record.last


def stored(first: int, count: int, source: str = "a", published: Published | None = None) -> StoredBatch:
    return StoredBatch(90, source, 1, 2 if published else 1, first, count, 1, 4, 0, 0, b"", TWO, published=published)


def test_batch_for_a_mailbox_is_written_as_it_is() -> None:
    [record] = traced(("deposit", Step.FORWARDED, deposit(3, 2), {"size": len(TWO), "peer": "b2"}))
    assert ids(record) == ("a", 1, NAME, RECOVERABLE, 3, 4)
    assert (record.at, record.broker, record.step, record.mailbox, record.peer) == (7, "b1", Step.FORWARDED, NAME, "b2")
    assert (record.bytes, record.service, record.reliable, record.causal) == (8, RECOVERABLE, True, False)


def test_published_batch_has_one_item_by_whichever_way_it_goes() -> None:
    topic = "critical/pumps/a"
    first, second = item_of(topic), other_way(item_of(topic))
    for way in (first, second):
        [record] = traced(("deposit", Step.SENT, deposit(1, dest=way, published=Published(topic))))
        assert (record.dest, record.mailbox, record.topic) == (first, way, topic)


@pytest.mark.parametrize(
    ("picked", "count", "spans"),
    [
        ((), 3, [(41, 43)]),
        (((0, 0), (2, 4)), 4, [(41, 41), (43, 45)]),
        (((1, 1), (3, 9)), 3, [(42, 42), (44, 45)]),  # a part of what was picked
    ],
)
def test_what_an_item_forwards_has_the_ids_of_its_publisher(
    picked: tuple[tuple[int, int], ...], count: int, spans: list[tuple[int, int]]
) -> None:
    was = Published("roads/a1", "shop", 9, 1, 41, 500, picked)
    head = deposit(501, count, source=ITEM, dest="sub/x", stream=2, published=was)
    delivered = Deliver("sub/x", 1, 5, ITEM, 4, 2, 501, count, 1, 4, 0, published=was)
    kept = msgspec.structs.replace(stored(501, count, ITEM, was), count=count)
    records = traced(("deposit", Step.FORWARDED, head), ("delivery", delivered, 100, "x"))
    records += traced(("kept", Step.STORED, "sub/x", kept))
    assert [ids(one)[4:] for one in records] == spans * 3
    assert {ids(one)[:4] for one in records} == {("shop", 9, ITEM, 1)}
    assert {(one.topic, one.mailbox, one.service) for one in records} == {("roads/a1", "sub/x", 1)}


def test_causal_batch_is_of_one_stream_from_the_sender_to_the_mailbox() -> None:
    seat, was = seat_name("b2"), Published("", "shop", 9, 1, 6, 300)
    between = {"source": seat_name("b1"), "published": was, "causal": Causal("box", 1, (), "main", (), to="b2")}
    records = traced(
        ("deposit", Step.SENT, deposit(6, source="shop", incarnation=9, dest=seat, stream=2, causal=Causal("box", 1))),
        ("deposit", Step.HELD, deposit(77, dest=seat, stream=2, **between), "waits"),
        ("deposit", Step.FORWARDED, deposit(301, source=seat, dest="box", stream=2, published=was)),
        ("kept", Step.STORED, "box", stored(301, 1, seat, was)),
        ("kept", Step.SETTLED, "box", Piece(90, seat, 1, 2, 301, 301, b"", 0, True, was)),
    )
    assert {ids(one) for one in records} == {("shop", 9, SEATS, 2, 6, 6)}
    assert {(one.mailbox, one.seat, one.causal, one.service) for one in records} == {("box", "b2", True, 1)}


def test_mark_between_seats_is_nobodys_message() -> None:
    was = Published("", "b1", 0, 2, 8, 8)
    mark = deposit(8, source=seat_name("b1"), dest=seat_name("b2"), published=was, causal=Causal("", 2, to="b2"))
    assert traced(("deposit", Step.HELD, mark)) == []


def test_what_is_stored_says_in_which_epoch_and_on_how_many() -> None:
    [record] = traced(("kept", Step.STORED, "box", stored(1, 2), {"config": config()}))
    assert (record.epoch, record.copies, record.bytes) == (12, 2, 8)


def config() -> Config:
    members = tuple(Member(Peer(key_of(name), name, "h", 1, 1), 1) for name in ("b1", "b2"))
    return Config("box", 12, key_of("b2"), members)


def test_transaction_writes_what_it_sends_to_mailboxes_and_topics() -> None:
    sends = (SendPart(NAME, 3, 2, 1, 4, 0, len(TWO)), SendPart(ITEM, 1, 1, 1, 4, 0, 9, Published("roads/a1")))
    to_mailbox, to_topic = traced(("grouped", Step.PREPARED, ("shop", 9, 21), sends, {"config": config()}))
    assert ids(to_mailbox) == ("shop", 9, NAME, 3, 3, 4)
    assert ids(to_topic) == ("shop", 9, ITEM, 3, 1, 1)
    assert to_mailbox.transaction == to_topic.transaction == "shop:9:21"
    assert (to_mailbox.mailbox, to_mailbox.bytes, to_mailbox.epoch, to_mailbox.copies) == (NAME, 8, 12, 2)
    assert (to_topic.mailbox, to_topic.topic, to_topic.service, to_topic.reliable) == (ITEM, "roads/a1", 3, True)


def test_rows_of_a_group_tell_which_batches_are_copied() -> None:
    was = Published("roads/a1", "shop", 9, 1, 41, 500, ((0, 0), (2, 2)))
    rows: list[Write] = [
        Put(GROUP, batch_key(90), 90, encode(stored(1, 2))),
        Put(GROUP, b"s stream", 90, b"no batch"),
        Delete(GROUP, batch_key(3)),
        Put(GROUP, batch_key(92), 92, encode(stored(501, 2, ITEM, was))),
        Put(GROUP, batch_key(94), 94, b"\x00 nonsense"),
    ]
    records = Tracer("b1").copied(5, config(), rows)
    assert [(one.first, one.last, one.bytes) for one in records] == [(1, 2, 8), (41, 41, 8), (43, 43, 0)]
    known = {(one.step, one.at, one.mailbox, one.peer, one.epoch) for one in records}
    assert known == {(Step.COPIED, 5, "box", "b2", 12)}


@pytest.mark.parametrize("size", [10, 250, 251, 252, 300, 65_531, 65_532, 70_000])
def test_bytes_of_a_copy_are_those_of_its_bodies(size: int) -> None:
    batch = msgspec.structs.replace(stored(1, 1), body=join([bytes(size)]))
    [record] = Tracer("b1").copied(5, config(), [Put(GROUP, batch_key(90), 90, encode(batch))])
    assert record.bytes == size
