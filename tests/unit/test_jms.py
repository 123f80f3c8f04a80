"""Every name of the package can be written as in Python and as in JMS, and the two are one thing."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from causeway import jms, sync

WORDS = {"jms": "JMS", "jmsx": "JMSX", "id": "ID", "utf": "UTF"}
OURS = {
    "MessageListener": {"on_message"},
    "ExceptionListener": {"on_exception"},
    "Message": {"encoded_body", "fill", "fix_properties", "on_acknowledge"},
    "MessageConsumer": {"begin_again"},
    "AnySession": {"check_receive", "hand_out"},
    "JMSContext": {"message_of"},
    "Connection": {
        "check_client_id",
        "check_reader",
        "check_unsubscribed",
        "make_temporary_queue",
        "make_temporary_topic",
    },
}
"""Names with an underscore that are not of JMS: what the parts of the package say to each other."""

CLASSES = [value for name in jms.__all__ if inspect.isclass(value := getattr(jms, name))]


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(WORDS.get(word, word.capitalize()) for word in rest)


def snake_names(cls: type) -> list[str]:
    ours = {name for base in cls.__mro__ for name in OURS.get(base.__name__, ())}
    return [
        name
        for name, value in inspect.getmembers(cls, inspect.isfunction)
        if "_" in name and not name.startswith("_") and name not in ours
    ]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_each_method_has_its_name_in_jms(cls: type) -> None:
    for name in snake_names(cls):
        assert hasattr(cls, camel(name)), f"{cls.__name__}.{name} lacks its alias {camel(name)}"
        assert getattr(cls, camel(name)) is getattr(cls, name), f"{cls.__name__}.{camel(name)} is another method"


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_each_name_of_jms_has_its_spelling_in_python(cls: type) -> None:
    spelled = {camel(name) for name in snake_names(cls)}
    for name, _ in inspect.getmembers(cls, inspect.isfunction):
        if name != name.lower():
            assert name in spelled or name == "createDurableSubscriber", f"{cls.__name__}.{name} is JMS only"


# The table of docs/jms.md -----------------------------------------------------------------------------------------
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "jms.md"
CAUSEWAY: dict[str, object] = {
    "bus": sync.Bus,
    "consumer": sync.MailboxConsumer,
    "message": sync.Message,
    "receipt": sync.Receipt,
    "tx": sync.Transaction,
}
TOLD_APART = [
    jms.ConnectionFactory,
    jms.Connection,
    jms.Session,
    jms.MessageProducer,
    jms.MessageConsumer,
    jms.QueueBrowser,
    jms.TemporaryQueue,
    jms.TemporaryTopic,
]
"""Classes of which the table names every call; messages have too many."""
UNTOLD = {
    "show",
    "end",
    "adopt",
    "forget",
    "failed",
    "dispatch",
    "reads",
    "report",
    "subscribes",
    "tell",
    "getQueueName",
    "getTopicName",
}
"""What the parts of the package say to each other, and what needs no telling."""


def rows() -> list[tuple[list[str], list[str]]]:
    """Of each row the names in its first and second column."""
    section = GUIDE.read_text().split("## Which call is which", 1)[1].split("\n## ", 1)[0]
    lines = [line.split("|") for line in section.splitlines() if line.startswith("| ") and not line.startswith("| JMS")]
    return [(re.findall(r"`([^`]+)`", cells[1]), re.findall(r"`([^`]+)`", cells[2])) for cells in lines]


def test_table_names_only_what_there_is() -> None:
    found = rows()
    assert len(found) > 40
    for ours, theirs in found:
        for name in ours:
            cls, _, method = name.partition(".")
            assert callable(getattr(getattr(jms, cls), method)), name
        for name in theirs:
            owner, _, attribute = name.partition(".")
            assert hasattr(CAUSEWAY[owner], attribute) if attribute else callable(getattr(sync, owner)), name


def test_table_names_every_call() -> None:
    told = {name for ours, _ in rows() for name in ours}
    for cls in TOLD_APART:
        for name, _ in inspect.getmembers(cls, inspect.isfunction):
            if "_" not in name and name not in UNTOLD:
                assert f"{cls.__name__}.{name}" in told, f"docs/jms.md does not say what {cls.__name__}.{name} is here"
