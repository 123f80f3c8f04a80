"""Consumers and loops of the async client."""

from __future__ import annotations

import asyncio
import gc

import pytest

import causeway
from causeway.errors import ConfigError, DeadlineExceeded, LocalProtocolError
from tests.unit.client._async.test_bus import eventually
from tests.unit.client.fake_broker import FakeBroker


async def fill(bus: causeway.Bus, count: int, mailbox: str = "orders") -> None:
    for number in range(count):
        bus.send_nowait(mailbox, str(number), service="transactional")
    await bus.flush()


async def test_messages_come_one_by_one_or_in_batches(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 10)
        async with bus.consumer("orders") as consumer:
            await consumer.attached(5)
            assert (await consumer.get(5)).text == "0"
            batch: list[causeway.Message] = []
            while len(batch) < 9:
                batch += await consumer.get_batch(4, 5)
            assert [message.text for message in batch] == [str(n) for n in range(1, 10)]


async def test_waiting_for_a_message_ends_in_time(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        consumer = bus.consumer("orders")
        with pytest.raises(DeadlineExceeded, match="no message in 'orders'"):
            await consumer.get(0.05)
        assert await consumer.get_batch(10, 0.05) == []
        assert consumer._reader.waiter in (None, [])


async def test_acknowledged_messages_are_gone_and_others_come_again(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 6)
        async with bus.consumer("orders") as consumer:
            messages = [await consumer.get(5) for _ in range(6)]
            messages[1].ack()
            messages[3].ack_all()
            messages[4].nack()
        assert broker.stored("orders") == [b"4", b"5"]
        again = bus.consumer("orders")
        first = await again.get(5)
        assert (first.text, first.deliveries, first.redelivered) == ("4", 1, True)


async def test_prefetch_bounds_what_is_held(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 10)
        consumer = bus.consumer("orders", prefetch=3)
        held = [await consumer.get(5) for _ in range(3)]
        assert await consumer.get_batch(10, 0.05) == []
        held[0].ack()
        assert (await consumer.get(5)).text == "3"
        with pytest.raises(ConfigError, match="prefetch"):
            bus.consumer("orders", prefetch=0)


async def test_loop_acknowledges_each_message_when_it_asks_for_the_next(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 5)
        seen = []
        async for message in bus.receive("orders", timeout=1):
            seen.append(message.text)
            await eventually(lambda: len(broker.stored("orders")) == 5 - len(seen) + 1)
        assert seen == ["0", "1", "2", "3", "4"]
        assert broker.stored("orders") == []


async def test_loop_left_by_break_acknowledges_its_last_message_and_no_other(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 5)
        async for message in bus.receive("orders"):
            if message.text == "1":
                break
        await eventually(lambda: not broker.consumers)
        assert broker.stored("orders") == [b"2", b"3", b"4"]
        async for message in bus.receive("orders"):
            assert message.text == "2"
            break
    assert broker.stored("orders") == [b"3", b"4"]


async def test_loop_leaves_alone_what_its_body_settled(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 3)
        seen = []
        async for message in bus.receive("orders", timeout=1):
            seen.append((message.text, message.deliveries))
            if message.deliveries == 0 and message.text == "1":
                message.nack()
            elif message.text == "2":
                message.ack()
        assert sorted(seen) == [("0", 0), ("1", 0), ("1", 1), ("2", 0)]
        assert broker.stored("orders") == []


@pytest.mark.parametrize("first", ["ack", "ack_all", "nack"])
@pytest.mark.parametrize("second", ["ack", "ack_all", "nack"])
async def test_message_is_settled_once(broker: FakeBroker, first: str, second: str) -> None:
    done = "given back" if first == "nack" else "acknowledged"
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 2)
        consumer = bus.consumer("orders")
        one, other = await consumer.get(5), await consumer.get(5)
        getattr(other, first)()
        with pytest.raises(LocalProtocolError, match=f"{other.id} was already {done}"):
            getattr(other, second)()
        with pytest.raises(LocalProtocolError, match=done):
            bus.transaction().ack(other)
        if first != "ack_all":
            one.ack()


async def test_message_in_a_transaction_is_settled_by_it_alone(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 1)
        message = await bus.consumer("orders").get(5)
        transaction = bus.transaction()
        transaction.ack(message)
        with pytest.raises(LocalProtocolError, match="put in a transaction"):
            message.ack()
        transaction.rollback()
        message.ack()


async def test_what_an_automatic_consumer_handed_out_cannot_be_given_back(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 1)
        message = await bus.consumer("orders", auto_ack=True).get(5)
        with pytest.raises(LocalProtocolError, match="acknowledged when it was handed out"):
            message.nack()


async def test_loop_without_auto_ack_settles_nothing(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 3)
        async for message in bus.receive("orders", auto_ack=False, timeout=0.1):
            if message.text == "1":
                message.ack()
        assert broker.stored("orders") == [b"0", b"2"]


async def test_loop_over_a_consumer_does_not_end_it(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 3)
        consumer = bus.consumer("orders")
        async for message in consumer:
            first = message
            break
        gc.collect()
        first.ack()
        await eventually(lambda: len(broker.stored("orders")) == 2)


async def test_automatic_consumer_settles_what_it_hands_out(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 5)
        consumer = bus.consumer("orders", auto_ack=True)
        assert (await consumer.get(5)).text == "0"
        await eventually(lambda: broker.stored("orders") == [b"1", b"2", b"3", b"4"])


@pytest.mark.parametrize("prefetch", [7, 64])
async def test_consumers_survive_the_loss_of_the_connection(broker: FakeBroker, prefetch: int) -> None:
    """With 64 the loop ends while there is no connection: what it settled must be said by the next one."""
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 30)
        seen = []
        async for message in bus.receive("orders", prefetch=prefetch, timeout=20):
            seen.append(int(message.text))
            if len(seen) % 10 == 5:
                broker.drop_connections()
            if len(seen) == 30:
                break
        assert seen == list(range(30))
    assert broker.stored("orders") == []


async def test_closed_consumer_wakes_and_refuses_its_callers(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 1)
        consumer = bus.consumer("orders")
        message = await consumer.get(5)
        waiting = asyncio.create_task(consumer.get())
        await asyncio.sleep(0)
        await consumer.aclose()
        with pytest.raises(LocalProtocolError, match="closed"):
            await waiting
        for call in (message.ack, message.ack_all, message.nack):
            with pytest.raises(LocalProtocolError, match="delivered again"):
                call()
        assert broker.stored("orders") == [b"0"]


async def test_several_tasks_can_share_a_consumer(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        consumer = bus.consumer("orders", auto_ack=True)
        waiting = [asyncio.create_task(consumer.get(5)) for _ in range(5)]
        await consumer.attached(5)
        await fill(bus, 5)
        assert sorted([(await task).text for task in waiting]) == ["0", "1", "2", "3", "4"]


# How much is taken ahead ----------------------------------------------------------------------------------------
async def test_consumers_that_did_not_say_leave_enough_for_the_others(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 1000)
        consumers = [bus.consumer("orders") for _ in range(10)]
        shares = dict.fromkeys(consumers, 0)

        async def read(consumer: causeway.MailboxConsumer) -> None:
            while sum(shares.values()) < 1000:
                for message in await consumer.get_batch(8, 0.2):
                    shares[consumer] += 1
                    message.ack()
                await asyncio.sleep(0)

        await eventually(lambda: [len(one.held) for one in broker.consumers] == [16] * 10)
        await asyncio.gather(*map(read, consumers))
        assert broker.stored("orders") == []
        assert min(shares.values()) >= 32, "each had its first two windows"


async def test_reader_that_acknowledges_late_gets_all_it_may_hold(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 1100)
        consumer = bus.consumer("orders")
        held = [await consumer.get(5) for _ in range(1024)]
        assert await consumer.get_batch(1, 0.05) == []
        held[-1].ack_all()
        assert (await consumer.get(5)).text == "1024"


async def test_slow_reader_takes_no_more_than_at_first(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 200)
        consumer = bus.consumer("orders")
        for left in range(200, 0, -1):
            await eventually(lambda left=left: sum(len(one.held) for one in broker.consumers) == min(16, left))
            (await consumer.get(5)).ack()
            await eventually(lambda left=left: len(broker.stored("orders")) == left - 1)
        assert [one.credit for one in broker.consumers] == [16]


@pytest.mark.parametrize("how", [{"prefetch": 300}, {"exclusive": True}])
async def test_who_said_how_much_or_is_alone_takes_it_at_once(broker: FakeBroker, how: dict[str, int]) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 300)
        consumer = bus.consumer("orders", **how)  # type: ignore[arg-type]
        await eventually(lambda: [len(one.held) for one in broker.consumers] == [300])
        assert consumer.mailbox == "orders"


async def test_window_is_kept_when_the_connection_is_lost(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await fill(bus, 40)
        consumer = bus.consumer("orders")
        held = [await consumer.get(5) for _ in range(17)]
        broker.drop_connections()
        await eventually(lambda: len(broker.attaches) == 2)
        assert [head.window for head in broker.attaches] == [16, 32]
        held[-1].ack_all()
