"""Topics with the async client, against a broker of its own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import causeway
from causeway.core.messages import Moved
from causeway.errors import Code, ConfigError, DeadlineExceeded, LocalProtocolError, Refused, SelectorError, TopicError
from causeway.topics import item_of
from tests.unit.client._async.test_bus import eventually
from tests.unit.client.fake_broker import FakeBroker

NAMING = ("roads/{road}/{kind}",)


async def test_subscriber_hears_what_is_published_from_ready_on(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        async with bus.subscribe("roads/*/speed") as feed:
            await feed.ready()
            receipt = await bus.publish("roads/a1/speed", b"120", headers={"unit": "km/h"})
            await bus.publish("roads/a1/noise", b"loud")
            await bus.publish("roads/a3/speed", b"80")
            first = await anext(feed)
            second = await anext(feed)
        assert (first.body, first.topic, first.headers) == (b"120", "roads/a1/speed", {"unit": "km/h"})
        assert (first.id, first.source, first.service) == (receipt.id, "shop", "recoverable")
        assert (second.topic, second.offset) == ("roads/a3/speed", 2)


async def test_publish_nowait_shares_batches_per_topic(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        board = bus.subscription("roads/#", auto_ack=True)
        await board.ready()
        for number in range(100):
            bus.publish_nowait("roads/a1/speed", f"{number}", service="transactional")
        await bus.flush(5)
        assert len(broker.ttls) == 1
        found = [await board.get(5) for _ in range(100)]
        assert [message.text for message in found] == [str(number) for number in range(100)]


@pytest.mark.parametrize(
    ("pattern", "shown"),
    [("roads/*/speed", "roads/a1/speed"), ("road=*, kind=speed", "road=a1, kind=speed")],
    ids=["path", "tags"],
)
async def test_topic_is_shown_in_the_form_its_subscriber_writes(broker: FakeBroker, pattern: str, shown: str) -> None:
    async with causeway.connect(broker.url, name="shop", naming=NAMING) as bus:
        board = bus.subscription(pattern)
        await board.ready()
        assert board.pattern == "roads/*/speed"
        await bus.publish("kind=speed, road=a1", b"120")
        assert (await board.get(5)).topic == shown


@pytest.mark.parametrize(
    ("error", "pattern", "options"),
    [
        (TopicError, "roads//speed", {}),
        (ConfigError, 7, {}),
        (SelectorError, "roads/#", {"selector": "speed >"}),
        (ConfigError, "roads/#", {"durable": True}),
        (ConfigError, "roads/#", {"prefetch": 0}),
        (ConfigError, "roads/#", {"start": "never"}),
        (ConfigError, "~other:0000000000000001/1", {}),
    ],
)
async def test_subscription_that_makes_no_sense_is_refused_at_once(
    broker: FakeBroker, error: type[ConfigError], pattern: Any, options: dict[str, Any]
) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        with pytest.raises(error):
            bus.subscribe(pattern, **options)
        assert not broker.attaches


async def test_topic_that_makes_no_sense_is_refused_at_once(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        for topic, kind in (("roads/*", TopicError), (7, ConfigError)):
            with pytest.raises(kind):
                await bus.publish(topic, b"x")  # type: ignore[arg-type]
            with pytest.raises(kind):
                bus.transaction().publish(topic, b"x")  # type: ignore[arg-type]


def test_bad_templates_are_refused_before_anything_happens() -> None:
    for naming in ("roads/speed", ["roads/{road", 7], [7]):
        with pytest.raises(ConfigError):
            causeway.connect("causeway://x", name="shop", naming=naming)  # type: ignore[arg-type]


async def test_attach_says_what_kind_of_subscription_it_is(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        for options in ({}, {"durable": True, "name": "b"}, {"durable": True, "shared": True, "name": "b"}):
            alone = not options.get("shared")
            subscription = bus.subscription("roads/#", no_local=alone, **options)  # type: ignore[arg-type]
            async with subscription:
                await subscription.ready()
        private, durable, shared = broker.attaches
        assert private.mailbox.startswith("shop/1~")
        assert (durable.mailbox, shared.mailbox) == ("sub/shop/b", "shared/b")
        assert [head.exclusive for head in broker.attaches] == [True, True, False]
        assert {head.interest.no_local for head in broker.attaches if head.interest} == {bus.id, ""}


@pytest.mark.parametrize("code", [Code.IN_USE, Code.OVERFLOWED, Code.BAD_FIELD], ids=lambda code: code.name)
async def test_refused_subscription_says_why_wherever_somebody_waits(broker: FakeBroker, code: Code) -> None:
    broker.attach_refusal = Moved("", None, int(code), "as the test wants it")
    async with causeway.connect(broker.url, name="shop") as bus:
        board = bus.subscription("roads/#", name="board", durable=True)
        for wait in (board.ready, board.get, board.get_batch):
            with pytest.raises(Refused, match="as the test wants") as caught:
                await asyncio.wait_for(wait(), 5)
            assert caught.value.code == code
        with pytest.raises(Refused):
            async for _ in bus.subscribe("roads/#"):
                pass


async def test_nobody_answers_a_subscription_in_time(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        broker.deaf = True
        with pytest.raises(DeadlineExceeded):
            await bus.subscribe("roads/#").ready(0.05)
        broker.deaf = False


async def test_transaction_publishes_when_it_commits(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        board = bus.subscription("roads/#", auto_ack=True)
        await board.ready()
        async with bus.transaction() as tx:
            tx.publish("roads/a1/speed", b"1")
            tx.publish("roads/a3/speed", b"2", headers={"unit": "km/h"}, retain=True)
        found = [await board.get(5) for _ in range(2)]
        assert [(message.body, message.topic) for message in found] == [
            (b"1", "roads/a1/speed"),
            (b"2", "roads/a3/speed"),
        ]


# Ends -----------------------------------------------------------------------------------------------------------
async def test_private_subscription_ends_with_its_consumer_or_its_bus(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        first, second = bus.subscription("roads/#"), bus.subscription("roads/#")
        await first.ready()
        await second.ready()
        await first.aclose()
        await eventually(lambda: broker.ended == [first.mailbox])
    assert broker.ended == [first.mailbox, second.mailbox]


async def test_loop_that_was_left_ends_its_private_subscription(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await bus.subscribe("roads/#").ready()
        async for _ in bus.subscribe("roads/#", timeout=0.01):
            pass
        await eventually(lambda: len(broker.ended) == 2)


async def test_durable_subscription_outlives_its_bus_until_it_is_ended(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        board = bus.subscription("roads/#", name="board", durable=True)
        await board.ready()
    async with causeway.connect(broker.url, name="shop") as bus:
        assert broker.ended == []
        await bus.publish("roads/a1/speed", b"meanwhile")
        board = bus.subscription("roads/#", name="board", durable=True)
        assert (await board.get(5)).body == b"meanwhile"
        await board.unsubscribe()
        ends = ["twin/sub/shop/board", "sub/shop/board"]  # first what it may have for critical topics
        assert broker.ended == ends
        await bus.unsubscribe("board")
        await bus.unsubscribe("board", shared=True)
        assert broker.ended[2:] == [*ends, "shared/board"]
        with pytest.raises(ConfigError, match="name"):
            await bus.unsubscribe("a/b")


# History --------------------------------------------------------------------------------------------------------
async def published_before(bus: causeway.Bus) -> None:
    await bus.keep_history("roads/#", seconds=60)
    for number in range(5):
        await bus.publish(f"roads/a1/{'speed' if number % 2 == 0 else 'noise'}", f"{number}")


@pytest.mark.parametrize(
    ("start", "wanted"),
    [("earliest", ["0", "2", "4"]), (2, ["2", "4"]), (3.5, ["4"])],
    ids=["earliest", "offset", "time"],
)
async def test_replay_shows_the_past_before_the_present(broker: FakeBroker, start: Any, wanted: list[str]) -> None:
    broker.page_messages_max = 2
    async with causeway.connect(broker.url, name="shop") as bus:
        await published_before(bus)
        async with bus.subscribe("roads/*/speed", start=start, timeout=5) as feed:
            await feed.ready()
            await bus.publish("roads/a1/speed", b"5")
            await bus.publish("roads/a1/speed", b"6")
            found = [await anext(feed) for _ in range(len(wanted) + 2)]
        assert [message.text for message in found] == [*wanted, "5", "6"]
        assert [message.topic for message in found] == ["roads/a1/speed"] * len(found)


async def test_messages_of_a_history_can_be_acknowledged_given_back_and_ignored(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await published_before(bus)
        board = bus.subscription("roads/#", start="earliest")
        first = await board.get(5)
        first.ack()
        first.ack()
        second, third = await board.get_batch(2)
        second.nack()
        third.ack_all()
        async with bus.transaction() as tx:
            tx.ack(await board.get(5))
            tx.send("ledger", b"x")
        assert (await board.get(5)).text == "4"
        assert len(broker.stored("history/roads/#")) == 5


async def test_nothing_is_replayed_without_a_history(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        with pytest.raises(Refused, match=r"keep_history\('roads/#'"):
            await bus.subscribe("roads/#", start="earliest").ready()
        with pytest.raises(Refused, match="nobody keeps a history"):
            async for _ in bus.subscribe("roads/#", start="earliest"):
                pass


async def test_history_is_begun_without_reading_it_and_forgotten_by_its_pattern(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await bus.keep_history("roads/#", seconds=60, bytes_max=1000)
        await eventually(lambda: not broker.consumers)  # its Detach may still be on the way
        await bus.forget_history("roads/#")
        assert broker.ended == ["history/roads/#"]


# Temporary destinations -----------------------------------------------------------------------------------------
async def test_temporary_mailbox_takes_messages_before_anybody_reads_it(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        mailbox = await bus.temporary_mailbox()
        assert [consumer.mailbox for consumer in broker.consumers] == [mailbox]
        await bus.send(mailbox, b"early")
        async with bus.consumer(mailbox) as consumer:
            message = await consumer.get(5)
            message.ack()
            assert (message.body, message.redelivered) == (b"early", False)
            assert len(broker.attaches) == 1
        other = await bus.temporary_mailbox()
        await bus.send(other, b"early")
        async for message in bus.receive(other, prefetch=1):
            assert message.body == b"early"
            break
        last = await bus.temporary_mailbox()
        assert len({mailbox, other, last}) == 3
    assert {mailbox, other, last} <= set(broker.ended)


async def test_temporary_mailbox_is_ended_before_its_bus(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        unread, read = await bus.temporary_mailbox(), await bus.temporary_mailbox()
        async with bus.consumer(read):
            pass
        for mailbox in (unread, read):
            await bus.end_temporary(mailbox)
        assert broker.ended == [unread, read]
        for mailbox in (unread, "billing"):
            with pytest.raises(causeway.ConfigError, match="no temporary mailbox"):
                await bus.end_temporary(mailbox)


async def test_selective_reader_of_a_temporary_mailbox_replaces_its_keeper(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        mailbox = await bus.temporary_mailbox()
        consumer = bus.consumer(mailbox, selector="n > 1")
        await consumer.ready(5)
        assert [(attach.mailbox, attach.selector) for attach in broker.attaches] == [(mailbox, ""), (mailbox, "n > 1")]
        with pytest.raises(causeway.ConfigError, match="column"):
            bus.consumer("billing", selector="n >")


async def test_temporary_mailbox_nobody_serves_is_not_told(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        broker.deaf = True
        with pytest.raises(DeadlineExceeded):
            await bus.temporary_mailbox(timeout=0.05)
        broker.deaf = False


async def test_temporary_topic_is_for_its_own_bus(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus, causeway.connect(broker.url, name="desk") as desk:
        topic = bus.temporary_topic()
        assert topic != bus.temporary_topic()
        answers = bus.subscription(topic)
        await answers.ready()
        await desk.publish(topic, b"answer")
        assert (await answers.get(5)).topic == topic
        with pytest.raises(ConfigError, match="only the bus"):
            desk.subscription(topic)


async def test_request_leaves_when_its_answer_can_come(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus, causeway.connect(broker.url, name="desk") as desk:
        broker.attach_refusal = Moved("", None, int(Code.NOT_READY), "not yet")
        request = asyncio.create_task(bus.request("desk", b"?", timeout=5))
        await eventually(lambda: broker.attaches)
        assert not broker.ttls
        broker.attach_refusal = None
        async for message in desk.receive():
            assert message.reply_to == broker.attaches[0].mailbox
            assert isinstance(message.correlation_id, int)
            await message.reply(b"!")
            break
        assert (await request).body == b"!"
    assert broker.attaches[0].mailbox in broker.ended


async def test_request_whose_answer_cannot_come_is_not_sent(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        broker.attach_refusal = Moved("", None, int(Code.NOT_READY), "not yet")
        with pytest.raises(DeadlineExceeded, match="nothing was asked"):
            await bus.request("desk", b"?", timeout=0.05)
        assert not broker.ttls
        broker.attach_refusal = Moved("", None, int(Code.BAD_FIELD), "bad name")
        with pytest.raises(Refused, match="bad name"):
            await bus.request("desk", b"?", timeout=5)


async def test_consumer_of_a_mailbox_says_which_messages_it_wants_and_whether_alone(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        async with bus.consumer("orders", selector="lane = 2", exclusive=True) as consumer:
            await consumer.ready()
        feed = bus.receive("orders", selector="lane = 1")
        await feed.ready()
        assert [(head.selector, head.exclusive) for head in broker.attaches] == [
            ("lane = 2", True),
            ("lane = 1", False),
        ]
        for wrong in ("lane =", 7):
            with pytest.raises(ConfigError, match="selector"):
                bus.consumer("orders", selector=wrong)  # type: ignore[arg-type]
        mailbox = await bus.temporary_mailbox()
        with pytest.raises(ConfigError, match="exclusive"):
            bus.consumer(mailbox, exclusive=True)


async def test_closed_bus_has_no_topics(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        board = bus.subscription("roads/#")
        await board.ready()
    for call in (lambda: bus.publish_nowait("roads/a1/speed", b"x"), lambda: bus.subscription("roads/#")):
        with pytest.raises(LocalProtocolError, match="closed"):
            call()
    with pytest.raises(LocalProtocolError, match="closed"):
        await board.get(1)


async def test_message_of_the_item_names_the_item_in_its_id(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        receipt = await bus.publish("roads/a1/speed", b"x")
        assert receipt.message_id.dest == item_of("roads/a1/speed")
