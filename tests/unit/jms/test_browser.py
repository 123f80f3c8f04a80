"""Browsing: a message that is broken does not hide those after it."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from causeway.client.lots import Lot
from causeway.client.message import Delivery, with_headers
from causeway.core.messages import BrowsedBatch
from causeway.jms import Connection, Message, MessageFormatException, Queue
from causeway.jms.creation import QueueBrowser
from causeway.kinds import KIND
from causeway.types import Flag, ServiceClass
from causeway.wire import body as bodies


def delivery(raw: bytes) -> Delivery:
    head = BrowsedBatch(
        seq=1,
        source="shop",
        incarnation=1,
        stream=int(ServiceClass.TRANSACTIONAL),
        first=7,
        count=1,
        flags=int(Flag.HEADERS),
        priority=4,
        deliveries=0,
        size=len(raw),
        at=0,
        expires=0,
        published=None,
    )
    return Delivery(Lot.browsed("box", head, bodies.join([raw])), 0)


def test_broken_message_is_a_plain_one_with_an_unreadable_body() -> None:
    good = with_headers({KIND: "text"}, b"good")

    def browse(*_: object, **__: object) -> Iterator[Delivery]:
        return iter([delivery(good), delivery(b"\xff\xff"), delivery(good)])

    connection = cast("Connection", SimpleNamespace(bus=SimpleNamespace(browse=browse), objects=False))
    found = list(QueueBrowser(connection, Queue("box"), None).get_enumeration())
    assert [found[0].get_body(), found[2].get_body()] == ["good", "good"]
    assert type(found[1]) is Message
    assert found[1].get_jms_message_id() == found[0].get_jms_message_id()
    with pytest.raises(MessageFormatException):
        found[1].get_body()
