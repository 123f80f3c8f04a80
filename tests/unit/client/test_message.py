"""Printable ids, headers, and what a delivered message shows."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.client.lots import Lot
from causeway.client.message import (
    Delivery,
    MessageId,
    check_headers,
    check_size,
    split_headers,
    to_bytes,
    with_headers,
)
from causeway.core.messages import BrowsedBatch
from causeway.errors import ConfigError, MessageFormatError, RemoteProtocolError
from causeway.limits import MESSAGE_BYTES_MAX
from causeway.types import Flag
from causeway.wire import body as bodies

names = st.text(min_size=1, max_size=30)
values = st.one_of(
    st.text(), st.integers(-(2**63), 2**63), st.floats(allow_nan=False), st.booleans(), st.binary(), st.none()
)


@given(names, st.integers(0, 2**63), names, st.integers(0, 3), st.integers(1, 2**62))
def test_message_id_survives_its_text(source: str, incarnation: int, dest: str, stream: int, number: int) -> None:
    identity = MessageId(source, incarnation, dest, stream, number)
    text = str(identity)
    assert text.isascii()
    assert " " not in text
    assert MessageId.parse(text) == identity


@pytest.mark.parametrize("text", ["", "a:b", "a:zz:b:r:1", "a:1:b:x:1", "a:1:b::1", "a:1:b:r:one", "a:1:b:r:1:2"])
def test_text_that_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a message id"):
        MessageId.parse(text)


@given(st.dictionaries(st.text().filter(lambda name: name[:1] != "~"), values, max_size=5), st.binary())
def test_headers_survive_the_wire(headers: dict[str, object], payload: bytes) -> None:
    assert split_headers(with_headers(headers, payload)) == (headers, payload)  # type: ignore[arg-type]


@given(st.binary(max_size=40))
def test_hostile_header_blocks_end_in_one_error(data: bytes) -> None:
    with contextlib.suppress(RemoteProtocolError):
        split_headers(data)


def test_headers_that_cannot_travel_are_refused() -> None:
    with pytest.raises(ConfigError, match="headers"):
        with_headers({"a": object()}, b"")  # type: ignore[dict-item]
    with pytest.raises(ConfigError, match="put the rest in the body"):
        with_headers({"a": "x" * 70_000}, b"")
    with pytest.raises(ConfigError, match="reserved"):
        check_headers({"~trace": "x"})
    check_headers({"~reply": "x", "~corr": "x", "~kind": "text"})
    with pytest.raises(ConfigError, match="must be str"):
        check_headers({1: "x"})  # type: ignore[dict-item]


def test_bodies_are_bytes_or_text() -> None:
    assert to_bytes("Grüße") == "Grüße".encode()
    assert to_bytes(bytearray(b"ab")) == b"ab"
    assert to_bytes(memoryview(b"abc")[1:]) == b"bc"
    with pytest.raises(ConfigError, match="not int"):
        to_bytes(5)
    with pytest.raises(ConfigError, match="send bytes"):
        to_bytes("\ud800")


def test_message_too_big_is_refused_with_the_bound() -> None:
    check_size(bytes(MESSAGE_BYTES_MAX))
    with pytest.raises(ConfigError, match=str(MESSAGE_BYTES_MAX)):
        check_size(bytes(MESSAGE_BYTES_MAX + 1))


def delivery(message: bytes, flags: int = 0, deliveries: int = 0) -> Delivery:
    body = bodies.join([b"other", message])
    head = BrowsedBatch(7, "shop", 0x1F, 1, 40, 2, flags, 9, deliveries, len(body))
    return Delivery(Lot.browsed("orders", head, body), 1)


def test_delivery_shows_what_was_sent() -> None:
    message = delivery(b"hello")
    assert (message.body, message.text, message.headers) == (b"hello", "hello", {})
    assert (message.source, message.mailbox, message.priority, message.service) == ("shop", "orders", 9, "recoverable")
    assert message.id == "shop:1f:orders:r:41"
    assert (message.deliveries, message.redelivered) == (0, False)


def test_delivery_shows_the_applications_headers_only() -> None:
    message = delivery(with_headers({"kind": "order", "~corr": 7}, b"hello"), int(Flag.HEADERS))
    assert message.headers == {"kind": "order"}
    assert message.all_headers() == {"kind": "order", "~corr": 7}
    assert message.body == b"hello"


def test_delivery_shows_its_content_as_its_kind_says() -> None:
    def of_kind(kind: str, payload: bytes) -> Delivery:
        return delivery(with_headers({"~kind": kind}, payload), int(Flag.HEADERS))

    assert delivery(b"bare").kind is None
    assert delivery(b"bare").content() == b"bare"
    assert of_kind("text", b"hello").content() == "hello"
    assert of_kind("map", b"\x81\xa1a\x01").content() == {"a": 1}
    for unreadable in (of_kind("picture", b""), of_kind("map", b"x"), of_kind("object", b"N.")):
        with pytest.raises(MessageFormatError):
            unreadable.content()
    assert of_kind("object", b"N.").content(objects=True) is None


def test_delivery_says_when_it_may_have_been_seen() -> None:
    assert delivery(b"", deliveries=2).redelivered
    assert delivery(b"", int(Flag.REDELIVERED)).redelivered
