"""Topics on the command line: what is printed, what is refused before anything happens."""

from __future__ import annotations

import json
import threading

import pytest

import causeway.sync
from causeway.cli.main import main
from causeway.cli.subscribe import _parse_start
from causeway.errors import ConfigError
from tests.unit.client.fake_broker import FakeBroker


def test_published_message_is_printed_with_its_topic(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeBroker.running() as broker, causeway.sync.connect(broker.url, name="radar") as bus:
        publisher = threading.Timer(0, lambda: _publish_when_heard(broker, bus))
        publisher.start()
        assert main(["subscribe", "roads/#", "--count", "2", "--timeout", "5", "--url", broker.url, "--json"]) == 0
        publisher.join()
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["topic"], line["offset"], line["body"]) for line in lines] == [
        ("roads/a1/speed", 0, "120"),
        ("roads/a3/speed", 1, "80"),
    ]


def _publish_when_heard(broker: FakeBroker, bus: causeway.sync.Bus) -> None:
    heard = threading.Event()
    while not broker.attaches:
        heard.wait(0.005)
    bus.publish("roads/a1/speed", b"120")
    bus.publish("roads/a3/speed", b"80")


def test_durable_subscription_is_published_to_read_and_ended(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeBroker.running() as broker:
        where = ["--url", broker.url]
        board = ["subscribe", "roads/#", "--durable", "board", "--timeout", "0.01", *where]
        assert main(board) == 0
        assert main(["publish", "road=a1, kind=speed", "120", "--naming", "roads/{road}/{kind}", "--json", *where]) == 0
        assert main([*board, "--count", "1"]) == 0
        assert main([*board, "--count", "1"]) == 1
        assert main(["unsubscribe", "board", "--json", *where]) == 0
        assert broker.ended == ["twin/sub/causeway-cli/board", "sub/causeway-cli/board"]
    printed = capsys.readouterr().out.splitlines()
    assert json.loads(printed[0])["topic"] == "roads/a1/speed"
    assert printed[1] == "roads/a1/speed: 120"
    assert json.loads(printed[2]) == {"subscription": "board", "mailbox": "sub/causeway-cli/board", "ended": True}


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("topic", ["publish", "roads/#", "x"]),
        ("body", ["publish", "roads/a1"]),
        ("delay", ["publish", "roads/a1", "x", "--ttl", "1", "--delay", "2"]),
        ("template", ["publish", "roads/a1", "x", "--naming", "roads/{"]),
        ("pattern", ["subscribe", "roads//a1"]),
        ("shared", ["subscribe", "roads/#", "--shared"]),
        ("name", ["subscribe", "roads/#", "--durable", "a/b"]),
        ("selector", ["subscribe", "roads/#", "--selector", "lane ="]),
        ("start", ["subscribe", "roads/#", "--start", "yesterday"]),
        ("start", ["subscribe", "#", "--start", "7"]),
        ("count", ["subscribe", "roads/#", "--count", "0"]),
        ("timeout", ["subscribe", "roads/#", "--timeout", "0"]),
        ("name", ["unsubscribe", "a/b"]),
        ("name", ["unsubscribe"]),
        ("mailbox", ["unsubscribe", "board", "--mailbox", "desk"]),
        ("mailbox", ["unsubscribe", "--mailbox", "sub/desk/board"]),
        ("shared", ["unsubscribe", "--mailbox", "desk", "--shared"]),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_mistakes_are_named_before_anybody_is_asked(
    field: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--url", "causeway://127.0.0.1:1", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["field"] == field


def test_start_is_an_offset_a_time_or_the_beginning() -> None:
    assert _parse_start("17", "roads/#") == 17
    assert _parse_start("earliest", "roads/#") == "earliest"
    assert str(_parse_start("2026-01-31T08:00", "roads/#")) == "2026-01-31 08:00:00"
    with pytest.raises(ConfigError, match="earliest"):
        _parse_start("soon", "roads/#")


def test_causal_order_is_sent_published_and_received(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeBroker.running() as broker:
        how = ["--order", "causal", "--url", broker.url, "--json"]
        assert main(["receive", "desk", "--topics", "roads/#", "--timeout", "0.01", *how]) == 0
        assert main(["send", "desk", "1", "--service", "express", *how]) == 0
        assert main(["publish", "roads/a1", "2", *how]) == 0
        assert main(["receive", "desk", "--url", broker.url, "--json", "--timeout", "0.01", "--count", "2"]) == 0
    sent, published, *received = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (sent["order"], published["order"]) == ("causal", "causal")
    assert [(one["order"], one["body"], one.get("topic")) for one in received] == [
        ("causal", "1", None),
        ("causal", "2", "roads/a1"),
    ]


def test_topics_of_a_mailbox_are_ended_and_the_mailbox_stays(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeBroker.running() as broker:
        where = ["--url", broker.url, "--json"]
        assert main(["receive", "desk", "--topics", "roads/#", "--order", "causal", "--timeout", "0.01", *where]) == 0
        assert main(["send", "desk", "1", *where]) == 0
        assert main(["unsubscribe", "--mailbox", "desk", *where]) == 0
        assert broker.box("desk").interest is None
        assert main(["receive", "desk", "--count", "1", "--timeout", "5", *where]) == 0
    _, ended, received = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert ended == {"subscription": None, "mailbox": "desk", "ended": True}
    assert received["body"] == "1"


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("order", ["send", "desk", "x", "--order", "total"]),
        ("priority", ["send", "desk", "x", "--order", "causal", "--priority", "5"]),
        ("retain", ["publish", "roads/a1", "x", "--order", "causal", "--retain"]),
        ("delay", ["publish", "roads/a1", "x", "--order", "causal", "--delay", "1"]),
        ("start", ["subscribe", "roads/#", "--order", "causal", "--start", "earliest"]),
        ("topics", ["receive", "desk", "--topics", "roads/#"]),
        ("topics", ["receive", "desk", "--order", "causal"]),
        ("topics", ["receive", "sub/a/b", "--topics", "roads/#", "--order", "causal"]),
    ],
    ids=["unknown", "priority", "retain", "delay", "start", "no-order", "no-topics", "subscription"],
)
def test_what_causal_order_cannot_keep_is_refused(
    capsys: pytest.CaptureFixture[str], field: str, arguments: list[str]
) -> None:
    assert main([*arguments, "--json", "--url", "causeway://127.0.0.1:1"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["field"] == field
