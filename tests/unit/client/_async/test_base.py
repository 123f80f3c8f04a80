"""Every call that takes a time limit or headers says what is wrong with it, and does nothing."""

from __future__ import annotations

import inspect
import math
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

import causeway
import causeway.sync
from causeway.client._async.bus import Bus
from causeway.core.messages import Moved
from causeway.errors import Code, ConfigError, DeadlineExceeded, LocalProtocolError, Refused, SelectorError
from causeway.limits import MESSAGE_BYTES_MAX
from tests.unit.client.fake_broker import FakeBroker
from tests.unit.client.stage import Stage

CALLS: dict[str, Callable[[Bus, Any], Any]] = {
    "transaction": lambda bus, timeout: bus.transaction(timeout=timeout),
    "request": lambda bus, timeout: bus.request("a", b"x", timeout=timeout),
    "send": lambda bus, timeout: bus.send("a", b"x", timeout=timeout),
    "send_nowait": lambda bus, timeout: bus.send_nowait("a", b"x", timeout=timeout),
    "publish": lambda bus, timeout: bus.publish("a", b"x", timeout=timeout),
    "publish_nowait": lambda bus, timeout: bus.publish_nowait("a", b"x", timeout=timeout),
    "ready": lambda bus, timeout: bus.ready(timeout),
    "flush": lambda bus, timeout: bus.flush(timeout),
    "receive": lambda bus, timeout: bus.receive("a", timeout=timeout),
    "forget_topics": lambda bus, timeout: bus.forget_topics("a", timeout=timeout),
    "subscribe": lambda bus, timeout: bus.subscribe("a", timeout=timeout),
    "unsubscribe": lambda bus, timeout: bus.unsubscribe("a", timeout=timeout),
    "keep_history": lambda bus, timeout: bus.keep_history("a", seconds=1, timeout=timeout),
    "forget_history": lambda bus, timeout: bus.forget_history("a", timeout=timeout),
    "temporary_mailbox": lambda bus, timeout: bus.temporary_mailbox(timeout=timeout),
    "end_temporary": lambda bus, timeout: bus.end_temporary("a", timeout=timeout),
    "browse": lambda bus, timeout: bus.browse("a", timeout=timeout),
    "status": lambda bus, timeout: bus.status(timeout=timeout),
    "story": lambda bus, timeout: bus.story("a:1f:b:r:17", timeout=timeout),
    "find": lambda bus, timeout: bus.find("a", timeout=timeout),
    "where": lambda bus, timeout: bus.where("a", timeout=timeout),
    "extent": lambda bus, timeout: bus.extent("a", timeout=timeout),
    "read": lambda bus, timeout: bus.read("a", timeout=timeout),
    "read_pages": lambda bus, timeout: bus.read_pages("a", timeout=timeout),
    "purge": lambda bus, timeout: bus.purge("a", timeout=timeout),
    "delete": lambda bus, timeout: bus.delete("a", timeout=timeout),
    "settle_below": lambda bus, timeout: bus.settle_below("a", 1, timeout=timeout),
    "history_of": lambda bus, timeout: bus.history_of("a", timeout=timeout),
}
"""Each call of a bus that takes a time limit."""

WRONG = ["1", math.nan, math.inf, -1, True, [1]]


async def _done(result: Any) -> None:
    if inspect.isawaitable(result):
        await result
    elif isinstance(result, AsyncIterator):
        await anext(result)


def test_calls_with_time_limits_are_all_tried() -> None:
    limited = {
        name
        for name, call in inspect.getmembers(Bus, inspect.isfunction)
        if not name.startswith("_") and "timeout" in inspect.signature(call).parameters
    }
    assert limited == CALLS.keys()


@pytest.mark.parametrize("call", CALLS)
async def test_wrong_time_limit_is_refused_by_name_and_nothing_happens(broker: FakeBroker, call: str) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        for timeout in WRONG:
            with pytest.raises(ConfigError, match="seconds") as caught:
                await _done(CALLS[call](bus, timeout))
            assert (caught.value.field, caught.value.value) == ("timeout", timeout)
        assert bus._engine.session.consumers() == []
        assert bus._engine.session.idle
    assert broker.attaches == []


@pytest.mark.parametrize("timeout", WRONG)
async def test_wrong_time_limit_of_a_consumer_or_receipt_is_refused_by_name(broker: FakeBroker, timeout: Any) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        receipt = await bus.send("orders", b"x", confirm=True)
        consumer = bus.consumer("orders")
        await consumer.attached(5)
        board = bus.subscription("roads/#")
        for call in (consumer.get, consumer.attached, consumer.ready, board.get, board.ready, board.unsubscribe):
            with pytest.raises(ConfigError, match="timeout"):
                await call(timeout)
        with pytest.raises(ConfigError, match="timeout"):
            await consumer.get_batch(10, timeout)
        with pytest.raises(ConfigError, match="timeout"):
            await receipt.confirmed(timeout)
        await board.ready()


def test_wrong_time_limit_is_refused_without_asyncio_too(broker: FakeBroker) -> None:
    with causeway.sync.connect(broker.url, name="shop") as bus, bus.consumer("orders") as consumer:
        for timeout in WRONG:
            for call in (consumer.get, consumer.attached, bus.flush, bus.ready):
                with pytest.raises(ConfigError, match="timeout"):
                    call(timeout)  # type: ignore[arg-type]
        with pytest.raises(DeadlineExceeded):
            consumer.get(0)


@pytest.mark.parametrize("headers", ["x", "", [("x", 1)], 5, {"~x": 1}, {7: 1}, {"x": []}])
async def test_wrong_headers_are_refused_by_every_call(broker: FakeBroker, headers: Any) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        await bus.send("shop", b"?", headers={"~reply": "orders", "~corr": 1})
        async with bus.consumer() as consumer:
            question = await consumer.get(5)
        calls: tuple[Callable[[], Any], ...] = (
            lambda: bus.send("orders", b"x", headers=headers),
            lambda: bus.publish("orders", b"x", headers=headers),
            lambda: bus.send_nowait("orders", b"x", headers=headers),
            lambda: bus.publish_nowait("orders", b"x", headers=headers),
            lambda: bus.request("orders", b"x", headers=headers),
            lambda: bus.transaction().send("orders", b"x", headers=headers),
            lambda: bus.transaction().publish("orders", b"x", headers=headers),
            lambda: question.reply(b"x", headers=headers),
        )
        for call in calls:
            with pytest.raises(ConfigError, match="headers"):
                await _done(call())
    assert broker.stored("orders") == []


# What is said to somebody who begins -----------------------------------------------------------------------------
NOWHERE = "causeway://127.0.0.1:1"


async def test_plain_loop_over_an_async_bus_says_how_to_loop(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        for what in (bus.receive(), bus.consumer()):
            with pytest.raises(TypeError, match="async for"):
                for _ in what:
                    pass
            await what.aclose()


def test_bus_that_is_not_open_names_its_own_kind_of_block() -> None:
    with pytest.raises(LocalProtocolError, match="use it in an `async with`"):
        causeway.connect(NOWHERE, name="shop").send_nowait("a", b"")
    with pytest.raises(LocalProtocolError, match="use it in a `with`"):
        causeway.sync.connect(NOWHERE, name="shop").send_nowait("a", b"")


async def test_bus_shows_its_name_and_its_broker(broker: FakeBroker) -> None:
    bus = causeway.connect(broker.url, name="shop")
    assert repr(bus) == "<Bus of 'shop', not open>"
    async with bus:
        assert repr(bus) == "<Bus of 'shop', at broker 'fake'>"


def test_names_of_the_package_are_listed_before_they_are_used() -> None:
    assert {"connect", "Bus", "Message"} <= set(dir(causeway))


def test_code_is_printed_as_the_documents_write_it() -> None:
    assert str(Code.ABORTED) == "ABORTED"
    assert int(Code.ABORTED) == 9


async def test_body_that_cannot_be_sent_names_the_remedy(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        with pytest.raises(ConfigError, match=r"not dict; send json.dumps.*kinds.encode"):
            await bus.send("a", {"b": 1})  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match=r"^body: has \d+ bytes with its headers"):
            await bus.send("a", b"x" * MESSAGE_BYTES_MAX, headers={"a": 1})


@pytest.mark.parametrize("timeout", [0, -1])
async def test_time_limit_of_a_send_is_refused_in_one_way(broker: FakeBroker, timeout: float) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        with pytest.raises(ConfigError, match="must be more than 0"):
            await bus.send("a", b"x", timeout=timeout)


async def test_times_are_said_in_seconds(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        with pytest.raises(ConfigError, match=r"^delay=5.0: .*time to live, 2 seconds"):
            await bus.send("a", b"x", delay=5, ttl=2)


async def test_selector_with_two_equals_signs_is_told_that_one_is_enough(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        with pytest.raises(SelectorError, match="equality is a single ="):
            bus.consumer("a", selector="region == 'EU'")


async def test_subscription_that_no_broker_serves_is_named_by_its_pattern(broker: FakeBroker) -> None:
    async with causeway.connect(broker.url, name="shop") as bus:
        broker.deaf = True
        async with bus.subscription("roads/#") as board:
            with pytest.raises(DeadlineExceeded, match="the subscription to 'roads/#'"):
                await board.ready(0.05)
            broker.deaf = False


def test_message_that_never_left_was_not_sent(stage: Stage) -> None:
    ticket = stage.session.send("orders", b"x", timeout=1_000_000)
    stage.turn()
    stage.sleep(2_000_000)
    assert str(ticket.error) == "no broker was reached in time: the message to 'orders' was not sent"


async def test_second_reader_of_a_subscription_is_told_what_to_do(broker: FakeBroker) -> None:
    broker.attach_refusal = Moved("", None, int(Code.IN_USE), "another one consumes alone")
    async with causeway.connect(broker.url, name="shop") as bus:
        board = bus.subscription("roads/#", name="board", durable=True)
        with pytest.raises(Refused, match=r"alone; close the other consumer of the subscription 'board', or share it"):
            await board.ready(5)
