"""Causal order with the sync client, against a broker of its own."""

from __future__ import annotations

import pytest

import causeway.sync
from causeway.errors import ConfigError
from tests.unit.client.fake_broker import FakeBroker


def test_sends_and_publishes_come_to_one_consumer(broker: FakeBroker) -> None:
    with causeway.sync.connect(broker.url, name="shop") as bus, bus.consumer(topics="news/#", order="causal") as both:
        both.ready()
        receipts = [bus.publish_nowait("news/a", b"1", order="causal"), bus.send_nowait("shop", b"2", order="causal")]
        found = [both.get(5) for _ in range(2)]
        assert [(message.body, message.topic, message.order) for message in found] == [
            (b"1", "news/a", "causal"),
            (b"2", None, "causal"),
        ]
        assert [receipt.wait().id for receipt in receipts] == [message.id for message in found]


def test_unreliable_is_not_waited_for(broker: FakeBroker) -> None:
    with causeway.sync.connect(broker.url, name="shop") as bus:
        bus.send("desk", b"1", service="express", reliable=False, order="causal")
        bus.flush(5)
        assert broker.stored("desk") == [b"1"]


def test_the_subscription_gets_what_has_its_order(broker: FakeBroker) -> None:
    with causeway.sync.connect(broker.url, name="shop") as bus, bus.subscribe("news/#", order="causal") as feed:
        feed.ready()
        bus.publish("news/a", b"1")
        bus.publish("news/a", b"2", order="causal")
        assert next(feed).body == b"2"
        with pytest.raises(ConfigError, match="priority=5"):
            bus.send("desk", b"x", priority=5, order="causal")
