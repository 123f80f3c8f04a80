"""What a session makes: a browse survives a broken message, and `unsubscribe` ends the own subscription if there is
one, else the shared one."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from causeway.client.lots import Lot
from causeway.client.message import Delivery, with_headers
from causeway.core.messages import BrowsedBatch
from causeway.errors import Code, Refused
from causeway.jms import (
    Connection,
    InvalidDestinationException,
    JMSException,
    Message,
    MessageFormatException,
    Queue,
    Session,
)
from causeway.jms.creation import QueueBrowser
from causeway.jms.gate import Gate
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


class Subscriptions:
    """A bus with these subscriptions: pairs of a name and whether it is shared."""

    def __init__(self, *there: tuple[str, bool], code: Code = Code.NO_MAILBOX) -> None:
        self.there = list(there)
        self._code = code

    def unsubscribe(self, name: str, *, shared: bool = False) -> None:
        if (name, shared) not in self.there:
            raise Refused(self._code, f"name={name!r}: no")
        self.there.remove((name, shared))


def session_of(bus: Subscriptions, client_id: str | None) -> Session:
    connection = SimpleNamespace(
        bus=bus, gate=Gate(), get_client_id=lambda: client_id, check_unsubscribed=lambda name: None
    )
    return Session(cast("Connection", connection), Session.AUTO_ACKNOWLEDGE)


def test_own_one_ends_before_the_shared_one() -> None:
    bus = Subscriptions(("all", True), ("all", False))
    session = session_of(bus, "shop")
    session.unsubscribe("all")
    assert bus.there == [("all", True)]
    session.unsubscribe("all")
    assert bus.there == []


@pytest.mark.parametrize(
    ("client_id", "shared", "left"),
    [("shop", True, False), ("shop", False, True), (None, None, False), (None, False, True)],
    ids=["said-shared", "said-own", "nobody", "nobody-said-own"],
)
def test_what_is_said_counts_and_without_a_client_id_there_are_shared_ones(
    client_id: str | None, shared: bool | None, left: bool
) -> None:
    bus = Subscriptions(("all", True), ("all", False))
    session_of(bus, client_id).unsubscribe("all", shared=shared)
    assert bus.there == [("all", left)]


@pytest.mark.parametrize("client_id", ["shop", None])
@pytest.mark.parametrize("shared", [None, True, False])
def test_unknown_name_is_an_invalid_destination(client_id: str | None, shared: bool | None) -> None:
    with pytest.raises(InvalidDestinationException) as caught:
        session_of(Subscriptions(), client_id).unsubscribe("all", shared=shared)
    assert caught.value.get_error_code() == "NO_MAILBOX"


def test_other_refusals_do_not_end_the_shared_one() -> None:
    bus = Subscriptions(("all", True), code=Code.IN_USE)
    with pytest.raises(JMSException) as caught:
        session_of(bus, "shop").unsubscribe("all")
    assert caught.value.get_error_code() == "IN_USE"
    assert bus.there == [("all", True)]
