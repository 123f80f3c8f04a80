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
from causeway.errors import ConfigError, DeadlineExceeded
from tests.unit.client.fake_broker import FakeBroker

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
