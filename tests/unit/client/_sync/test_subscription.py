"""Topics with the sync client, against a broker of its own."""

from __future__ import annotations

import pytest

import causeway.sync
from causeway.errors import ConfigError
from tests.unit.client.fake_broker import FakeBroker


def test_subscriber_hears_what_is_published(broker: FakeBroker) -> None:
    with causeway.sync.connect(broker.url, name="shop", naming="roads/{road}/{kind}") as bus:
        feed = bus.subscribe("road=*, kind=speed", timeout=5)
        feed.ready()
        bus.publish("roads/a1/speed", b"120")
        for message in feed:
            assert (message.body, message.topic) == (b"120", "road=a1, kind=speed")
            break


def test_replay_shows_the_past_before_the_present(broker: FakeBroker) -> None:
    with causeway.sync.connect(broker.url, name="shop") as bus:
        bus.keep_history("roads/#", seconds=60)
        bus.publish("roads/a1/speed", b"old")
        board = bus.subscription("roads/#", start="earliest")
        board.ready()
        bus.publish("roads/a1/speed", b"new")
        assert [board.get(5).body for _ in range(2)] == [b"old", b"new"]
        board.unsubscribe()
        bus.forget_history("roads/#")
        assert broker.ended[-1] == "history/roads/#"


def test_temporary_destinations_are_for_their_own_bus(broker: FakeBroker) -> None:
    with causeway.sync.connect(broker.url, name="shop") as bus:
        mailbox = bus.temporary_mailbox()
        bus.send(mailbox, b"x")
        with bus.consumer(mailbox) as consumer:
            assert consumer.get(5).body == b"x"
        with causeway.sync.connect(broker.url, name="desk") as desk, pytest.raises(ConfigError):
            desk.subscribe(bus.temporary_topic())
    assert mailbox in broker.ended
