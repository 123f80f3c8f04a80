"""Causal order with the async client, against a broker of its own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import causeway
from causeway.core.messages import Interest
from causeway.errors import Code, ConfigError, Refused
from causeway.names import seat_name
from tests.unit.client.fake_broker import FakeBroker

SEAT = seat_name("fake")


async def test_sends_and_publishes_are_one_stream(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus, bus.subscription("news/#", order="causal") as board:
        await board.ready()
        sent = await bus.send("shop", b"1", order="causal", headers={"n": 1})
        published = await bus.publish("news/a", b"2", service="transactional", order="causal")
        await bus.send("shop", b"3", order="causal", service="express", ttl=60)
        assert [(head.dest, head.stream, head.first) for head, _ in broker.causal] == [
            (SEAT, 2, first) for first in (1, 2, 3)
        ]
        own = bus.consumer(auto_ack=True)
        first, second = await own.get(5), await own.get(5)
        assert (first.body, first.order, first.source, first.id, first.topic) == (b"1", "causal", "shop", sent.id, None)
        assert (second.body, second.service, first.headers) == (b"3", "express", {"n": 1})
        third = await board.get(5)
        assert (third.body, third.topic, third.service, third.id) == (b"2", "news/a", "transactional", published.id)


async def test_causal_publications_reach_everybody(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="ann") as ann, causeway.connect(broker.url, name="bob") as bob:
        await bob.keep_history("news/#", seconds=60)
        ordered, plain = bob.subscription("news/#", order="causal"), bob.subscription("news/#")
        for subscription in (ordered, plain):
            await subscription.ready(5)
        await ann.publish("news/1", b"by itself", order="causal")
        for number in range(3):
            ann.publish_nowait("news/1", str(number), order="causal")
        await ann.publish("news/1", b"plain")
        await ann.flush()
        for subscription, order, last in ((ordered, "causal", []), (plain, None, ["plain"])):
            messages = [await subscription.get(5) for _ in range(4 + len(last))]
            assert [message.text for message in messages] == ["by itself", "0", "1", "2", *last]
            assert {message.order for message in messages} == {order}
            assert len({message.id for message in messages}) == len(messages)
        past = bob.subscription("news/#", start="earliest")
        assert (await past.get(5)).text == "by itself"


async def test_causal_publication_that_does_not_reach_everybody_has_failed(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="ann") as ann:
        await ann.publish("news/1", b"first", order="causal")
        broker.refusal, broker.refused = Code.BAD_FIELD, "causeway/topics"
        with pytest.raises(Refused):
            await ann.publish("news/1", b"x", order="causal")
        ann.publish_nowait("news/1", b"y", order="causal")
        with pytest.raises(Refused):
            await ann.flush()


async def test_a_consumer_with_topics_reads_both_from_one_mailbox(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop", naming="news/{kind}") as bus:
        async with bus.consumer(topics="kind=*", order="causal", auto_ack=True) as both:
            await both.ready()
            assert broker.box("shop").interest == Interest("news/*", retained=False, seat=SEAT)
            await bus.publish("news/a", b"1", order="causal")
            await bus.send("shop", b"2", order="causal")
            found = [await both.get(5) for _ in range(2)]
            assert [(message.body, message.topic) for message in found] == [(b"1", "kind=a"), (b"2", None)]
        async with bus.consumer() as plain:
            await plain.ready()
            await bus.publish("news/a", b"3", order="causal")
            assert (await plain.get(5)).topic == "news/a", "closing a consumer ends no interest"
        await bus.forget_topics()
        assert broker.ended == ["shop"]
        assert broker.box("shop").interest is None


async def test_who_has_forgotten_topics_does_not_bring_them_again(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus, bus.receive(topics="news/#", order="causal") as both:
        await both.ready()
        await bus.forget_topics("shop")
        broker.drop_connections()
        await bus.send("shop", b"1")
        assert (await anext(both)).body == b"1"
        assert broker.attaches[-1].interest is None


async def test_a_request_in_causal_order_is_answered_so(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as shop, causeway.connect(broker.url, name="desk") as desk:

        async def answer() -> None:
            async for message in desk.receive():
                await message.reply(b"yes")
                return

        task = asyncio.create_task(answer())
        reply = await shop.request("desk", b"open?", order="causal", timeout=5)
        await task
        assert (reply.body, reply.order, reply.source) == (b"yes", "causal", "desk")
        assert [causal.dest.partition("~")[0] for _, causal in broker.causal] == ["desk", "shop"]


async def test_unreliable_is_not_waited_for(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        receipt = await bus.send("desk", b"1", service="express", reliable=False, order="causal", timeout=5)
        assert receipt.done
        assert receipt.id.endswith(":t:1")
        await bus.flush(5)
        assert broker.stored("desk") == [b"1"]


async def test_no_seat_says_what_to_do(broker: FakeBroker) -> None:
    broker.seat = ""
    async with causeway.connect(broker.url, name="shop") as bus:
        with pytest.raises(Refused, match="no broker has a seat") as caught:
            await bus.send("desk", b"1", order="causal")
        assert caught.value.code == Code.NO_SEAT
        with pytest.raises(Refused, match="no broker has a seat"):
            await bus.subscription("news/#", order="causal").ready(5)
        await bus.send("desk", b"1")


async def test_who_shares_a_subscription_goes_by_its_seat(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        board = bus.subscription("news/#", name="jobs", durable=True, shared=True, order="causal", auto_ack=True)
        await board.ready()
        await bus.publish("news/a", b"1", order="causal")
        await bus.publish("news/a", b"2")
        await bus.publish("news/a", b"3", order="causal")
        found = [(await board.get(5)).body for _ in range(2)]
        assert found == [b"1", b"3"], "what is published without the order does not come"
        assert broker.attaches[-1].interest == Interest("news/#", retained=False, seat=SEAT)


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("order", {"order": "total"}),
        ("priority", {"order": "causal", "priority": 9}),
        ("delay", {"order": "causal", "delay": 1.0}),
        ("confirm", {"order": "causal", "confirm": True}),
        ("retain", {"order": "causal", "retain": True}),
    ],
    ids=["unknown", "priority", "delay", "confirm", "retain"],
)
async def test_publishing_refuses_what_the_order_cannot_keep(
    broker: FakeBroker, field: str, options: dict[str, Any]
) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        with pytest.raises(ConfigError) as caught:
            await bus.publish("news/a", b"x", **options)
        assert caught.value.field == field
        assert "leave it out" in caught.value.remedy or "must be 'causal'" in caught.value.remedy


async def test_transactions_have_no_causal_order(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus, bus.transaction() as tx:
        for call in (tx.send, tx.publish):
            with pytest.raises(ConfigError, match="order='causal'"):
                call("news", b"x", order="causal")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("topics", {"topics": "news/#"}),
        ("order", {"order": "causal"}),
        ("order", {"topics": "news/#", "order": "total"}),
        ("topics", {"mailbox": "sub/shop/a", "topics": "news/#", "order": "causal"}),
    ],
    ids=["without-order", "without-topics", "unknown", "subscription"],
)
async def test_a_consumer_with_topics_says_both(broker: FakeBroker, field: str, options: dict[str, Any]) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        with pytest.raises(ConfigError) as caught:
            bus.consumer(**options)
        assert caught.value.field == field


async def test_a_subscription_in_causal_order_has_no_past(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        with pytest.raises(ConfigError) as caught:
            bus.subscription("news/#", order="causal", start="earliest")
        assert caught.value.field == "start"
