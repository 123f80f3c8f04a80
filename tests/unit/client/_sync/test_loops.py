"""Sync loops that are left, and what nobody closed."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

import causeway.sync
from tests.unit.client._sync.test_bus import eventually
from tests.unit.client.fake_broker import FakeBroker


@pytest.fixture
def bus(broker: FakeBroker) -> Iterator[causeway.sync.Bus]:
    with causeway.sync.connect(broker.url, name="shop") as bus:
        for number in range(3):
            bus.send("orders", str(number))
        yield bus


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_loop_left_by_an_exception_gives_its_message_back(
    broker: FakeBroker, bus: causeway.sync.Bus, error: type[BaseException]
) -> None:
    with pytest.raises(error):
        for message in bus.receive("orders"):
            if message.text == "1":
                raise error
    eventually(lambda: not broker.consumers)
    assert broker.stored("orders") == [b"1", b"2"]
    assert broker.box("orders").ready[0].deliveries == 1


def test_loop_left_by_break_or_return_acknowledges(broker: FakeBroker, bus: causeway.sync.Bus) -> None:
    def first() -> str:
        for message in bus.receive("orders"):
            return message.text
        return ""

    assert first() == "0"
    for _ in bus.receive("orders"):
        break
    eventually(lambda: broker.stored("orders") == [b"2"])


def test_loop_over_a_feed_that_is_held_settles_when_it_is_left(broker: FakeBroker, bus: causeway.sync.Bus) -> None:
    feed = bus.receive("orders", prefetch=1)
    for _ in feed:
        break
    eventually(lambda: broker.stored("orders") == [b"1", b"2"])
    with pytest.raises(ZeroDivisionError):
        for _ in feed:
            raise ZeroDivisionError
    for message in feed:
        assert (message.text, message.deliveries) == ("1", 1)
        break
    eventually(lambda: broker.stored("orders") == [b"2"])


def test_forgotten_consumer_gives_back_what_it_holds_and_says_where_it_began(
    broker: FakeBroker, bus: causeway.sync.Bus
) -> None:
    for _ in range(2):
        with pytest.warns(ResourceWarning, match=r"consumer of 'orders', begun at .*test_loops\.py:\d+, was not"):
            assert bus.consumer("orders").get(5).text == "0"
    eventually(lambda: not broker.consumers)


def test_consumer_collected_under_the_lock_of_its_bus_waits_for_nobody(
    broker: FakeBroker, bus: causeway.sync.Bus
) -> None:
    knot: list[object] = [bus.consumer("orders")]
    eventually(lambda: broker.consumers)
    knot.append(knot)
    del knot
    with bus._engine.lock, pytest.warns(ResourceWarning, match="not closed"):
        gc.collect()
    eventually(lambda: not broker.consumers)


def test_forgotten_bus_finishes_and_leaves_no_thread(broker: FakeBroker) -> None:
    bus = causeway.sync.connect(broker.url, name="forgetful").open()
    bus.send_nowait("orders", b"last words")
    with pytest.warns(ResourceWarning, match=r"bus of 'forgetful', begun at .*test_loops\.py:\d+, was not closed"):
        del bus
    eventually(lambda: not any(thread.name == "causeway-forgetful" for thread in threading.enumerate()))
    eventually(lambda: not broker.sessions)
    assert broker.stored("orders") == [b"last words"]
