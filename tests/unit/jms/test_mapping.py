"""Which header carries what, and what a receiver makes of the headers of strangers."""

from __future__ import annotations

import pytest

from causeway.client.lots import Lot
from causeway.client.message import Delivery, with_headers
from causeway.core.messages import BrowsedBatch, Published
from causeway.errors import RemoteProtocolError
from causeway.jms import BytesMessage, Message, MessageFormatException, Queue, TextMessage, Topic
from causeway.jms.mapping import headers_of, received, unreadable
from causeway.kinds import Scalar
from causeway.types import MILLISECOND, Flag, ServiceClass
from causeway.wire import body as bodies


def delivery(raw: bytes, *, deliveries: int = 0, flags: int = 0, published: Published | None = None) -> Delivery:
    head = BrowsedBatch(
        seq=1,
        source="shop",
        incarnation=1,
        stream=int(ServiceClass.TRANSACTIONAL),
        first=7,
        count=1,
        flags=int(Flag.HEADERS) | flags,
        priority=6,
        deliveries=deliveries,
        size=len(raw),
        at=5_000 * MILLISECOND,
        expires=9_000 * MILLISECOND,
        published=published,
    )
    return Delivery(Lot.browsed("box", head, bodies.join([raw])), 0)


def arrived(headers: dict[str, Scalar], payload: bytes = b"", **more: int) -> Message:
    return received(delivery(with_headers(headers, payload), **more), objects=False)


def test_headers_of_a_message() -> None:
    message = TextMessage()
    message.set_text("x")
    message.set_int_property("n", 1)
    message.set_jms_type("t")
    message.set_jms_correlation_id("c")
    message.set_jms_reply_to(Queue("answers"))
    assert headers_of(message) == {
        "n": 1,
        "~kind": "text",
        "JMSType": "t",
        "JMSCorrelationID": "c",
        "~corr": "c",
        "~reply": "answers",
    }
    message.set_jms_reply_to(Topic("answers/all"))
    assert headers_of(message)["JMSReplyToTopic"] == "answers/all"
    assert "~reply" not in headers_of(message)


def test_message_comes_back_with_its_headers() -> None:
    sent = TextMessage()
    sent.set_text("x")
    sent.set_string_property("JMSXGroupID", "g")
    sent.set_jms_type("t")
    sent.set_jms_correlation_id("c")
    for reply in (Queue("answers"), Topic("answers/all")):
        sent.set_jms_reply_to(reply)
        message = arrived(headers_of(sent), sent.encoded_body())
        assert message.get_jms_reply_to() == reply
    assert (message.get_jms_type(), message.get_jms_correlation_id()) == ("t", "c")
    assert sorted(message.get_property_names()) == ["JMSXDeliveryCount", "JMSXGroupID"]
    assert (message.get_jms_timestamp(), message.get_jms_expiration()) == (5_000, 9_000)
    assert message.get_jms_delivery_time() == 5_000
    assert message.get_jms_destination() == Queue("box")
    assert message.get_jms_priority() == 6
    assert message.get_jms_message_id() == "ID:shop:1:box:t:7"


def test_published_message_has_its_topic() -> None:
    native = delivery(with_headers({}, b"x"), published=Published("roads/a1", "shop", 1, 2, 7))
    assert received(native, objects=False).get_jms_destination() == Topic("roads/a1")


@pytest.mark.parametrize(
    ("deliveries", "flags", "count", "again"),
    [(0, 0, 1, False), (0, int(Flag.REDELIVERED), 2, True), (1, 0, 2, True), (4, 0, 5, True)],
    ids=["first", "perhaps-second", "second", "fifth"],
)
def test_deliveries_are_counted_from_one(deliveries: int, flags: int, count: int, again: bool) -> None:
    message = arrived({}, b"x", deliveries=deliveries, flags=flags)
    assert message.get_int_property("JMSXDeliveryCount") == count
    assert message.get_jms_redelivered() is again


def test_messages_of_strangers() -> None:
    plain = arrived({"a b": 1, "NULL": b"x"}, b"data")
    assert isinstance(plain, BytesMessage)
    assert plain.get_body() == b"data"
    assert plain.get_object_property("NULL") == b"x"
    assert type(arrived({}, b"")) is Message
    numbered = arrived({"~corr": 17, "~reply": "", "JMSType": 7, "JMSDeliveryTime": "x"}, b"x")
    assert numbered.get_jms_correlation_id() == "17"
    assert numbered.get_jms_reply_to() is None
    assert numbered.get_jms_type() is None


def test_broken_header_block_is_a_typed_error() -> None:
    with pytest.raises(RemoteProtocolError):
        received(delivery(b"\xff\xff"), objects=False)


def test_broken_message_shows_what_the_broker_knows_of_it() -> None:
    message = unreadable(delivery(b"\xff\xff", deliveries=1))
    assert type(message) is Message
    assert message.get_jms_destination() == Queue("box")
    assert message.get_jms_priority() == 6
    assert message.get_int_property("JMSXDeliveryCount") == 2
    with pytest.raises(MessageFormatException):
        message.get_body()


def test_empty_bytes_message_can_be_read() -> None:
    message = arrived(headers_of(BytesMessage()))
    assert isinstance(message, BytesMessage)
    assert message.get_body_length() == 0
    assert message.read_bytes() == b""
    assert message.get_body() == b""
