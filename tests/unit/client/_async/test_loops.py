"""What becomes of the message in hand when a loop is left, and of what nobody closed."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator

import pytest

import causeway
from tests.unit.client._async.test_bus import eventually
from tests.unit.client._async.test_consumer import fill
from tests.unit.client.fake_broker import FakeBroker


@pytest.fixture
async def bus(broker: FakeBroker) -> AsyncIterator[causeway.Bus]:
    async with causeway.connect(broker.url, name="shop") as bus:
        yield bus


async def returned(broker: FakeBroker, *bodies: bytes) -> None:
    """The first of these was given back, not just dropped, and nobody holds anything."""
    await eventually(lambda: not any(consumer.held for consumer in broker.consumers))
    await eventually(lambda: broker.stored("orders") == [*bodies])
    assert broker.box("orders").ready[0].deliveries == 1


async def test_loop_left_by_an_exception_gives_its_message_back(broker: FakeBroker, bus: causeway.Bus) -> None:
    await fill(bus, 3)
    with pytest.raises(ZeroDivisionError):
        async for message in bus.receive("orders"):
            if message.text == "1":
                raise ZeroDivisionError
    await returned(broker, b"1", b"2")


async def test_loop_over_a_topic_left_by_an_exception_gives_its_message_back(
    broker: FakeBroker, bus: causeway.Bus
) -> None:
    feed = bus.subscribe("roads/#", name="board", durable=True)
    await feed.ready(5)
    await bus.publish("roads/a1", b"120")
    with pytest.raises(ZeroDivisionError):
        async for _ in feed:
            raise ZeroDivisionError
    await eventually(lambda: [letter.deliveries for one in broker.consumers for letter in one.held.values()] == [1])


async def test_loop_that_is_cancelled_gives_its_message_back(broker: FakeBroker, bus: causeway.Bus) -> None:
    await fill(bus, 2)
    began = asyncio.Event()

    async def work() -> None:
        async for _ in bus.receive("orders"):
            began.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asyncio.wait_for(began.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await returned(broker, b"0", b"1")


async def test_loop_left_by_return_acknowledges(broker: FakeBroker, bus: causeway.Bus) -> None:
    async def first() -> str:
        async for message in bus.receive("orders"):
            return message.text
        return ""

    await fill(bus, 2)
    assert await first() == "0"
    await eventually(lambda: broker.stored("orders") == [b"1"])


async def test_loop_over_a_feed_that_is_held_settles_when_it_is_left(broker: FakeBroker, bus: causeway.Bus) -> None:
    await fill(bus, 3)
    feed = bus.receive("orders", prefetch=1)
    async for _ in feed:
        break
    await eventually(lambda: broker.stored("orders") == [b"1", b"2"])
    with pytest.raises(ZeroDivisionError):
        async for _ in feed:
            raise ZeroDivisionError
    async for message in feed:
        assert (message.text, message.deliveries) == ("1", 1)
        break
    await eventually(lambda: broker.stored("orders") == [b"2"])


async def test_block_left_by_an_exception_gives_the_message_back(broker: FakeBroker, bus: causeway.Bus) -> None:
    await fill(bus, 2)
    with pytest.raises(ZeroDivisionError):
        async with bus.receive("orders") as feed:
            await anext(feed)
            raise ZeroDivisionError
    await returned(broker, b"0", b"1")


async def test_exception_that_ends_the_bus_too_gives_the_message_back(broker: FakeBroker) -> None:
    with pytest.raises(ZeroDivisionError):
        async with causeway.connect(broker.url, name="shop") as bus:
            await fill(bus, 2)
            async for _ in bus.receive("orders"):
                raise ZeroDivisionError
    await returned(broker, b"0", b"1")


async def test_bus_that_is_closed_gives_back_what_a_loop_is_at(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 2)
        feed = bus.receive("orders")
        await anext(feed)
    await returned(broker, b"0", b"1")


# What nobody closed ---------------------------------------------------------------------------------------------
async def test_forgotten_consumer_gives_back_what_it_holds_and_says_where_it_began(
    broker: FakeBroker, bus: causeway.Bus
) -> None:
    await fill(bus, 3)
    with pytest.warns(ResourceWarning, match=r"consumer of 'orders', begun at .*test_loops\.py:\d+, was not closed"):
        assert (await bus.consumer("orders").get(5)).text == "0"
    with pytest.warns(ResourceWarning, match="not closed"):
        assert (await bus.consumer("orders").get(5)).text == "0"
    await eventually(lambda: not broker.consumers)


async def test_consumer_lives_as_long_as_its_messages(broker: FakeBroker, bus: causeway.Bus) -> None:
    await fill(bus, 2)
    message = await bus.consumer("orders").get(5)
    gc.collect()
    message.ack()
    await eventually(lambda: broker.stored("orders") == [b"1"])
    with pytest.warns(ResourceWarning, match="not closed"):
        del message
    await eventually(lambda: not broker.consumers)


async def test_forgotten_subscription_ends_in_the_middle_of_a_replay(broker: FakeBroker, bus: causeway.Bus) -> None:
    await bus.keep_history("roads/#", seconds=60)
    for number in range(3):
        await bus.publish("roads/a1", str(number))
    subscription = bus.subscription("roads/#", start="earliest")
    assert (await subscription.get(5)).text == "0"
    with pytest.warns(ResourceWarning, match="not closed"):
        del subscription
    await eventually(lambda: not broker.consumers)


async def test_forgotten_bus_finishes_and_leaves(broker: FakeBroker) -> None:
    bus = await causeway.connect(broker.url, name="shop").open()
    bus.send_nowait("orders", b"last words")
    with pytest.warns(ResourceWarning, match=r"bus of 'shop', begun at .*test_loops\.py:\d+, was not closed"):
        del bus
    await eventually(lambda: not broker.sessions)
    assert broker.stored("orders") == [b"last words"]


async def test_what_ends_with_its_bus_needs_no_warning(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        consumer = bus.consumer("orders")
    del consumer, bus
    gc.collect()


async def test_consumer_collected_under_the_lock_of_its_bus_waits_for_nobody(
    broker: FakeBroker, bus: causeway.Bus
) -> None:
    knot: list[object] = [bus.consumer("orders")]
    await eventually(lambda: broker.consumers)
    knot.append(knot)
    del knot
    with bus._engine.lock, pytest.warns(ResourceWarning, match="not closed"):
        gc.collect()
    await eventually(lambda: not broker.consumers)


async def test_consumer_collected_in_another_thread_ends(broker: FakeBroker, bus: causeway.Bus) -> None:
    holder = [bus.consumer("orders")]
    await eventually(lambda: broker.consumers)
    with pytest.warns(ResourceWarning, match="not closed"):
        await asyncio.to_thread(holder.clear)
    await eventually(lambda: not broker.consumers)
