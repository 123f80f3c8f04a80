"""Subscriptions as applications ask for them: mailboxes, interests, and where a replay begins and ends."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from causeway.client.lots import Lot
from causeway.client.subscriptions import (
    Replay,
    Start,
    SubscriptionTerms,
    check_pattern,
    history_interest,
    history_mailbox,
    start_of,
)
from causeway.core.messages import BrowsedBatch, Interest, Published
from causeway.errors import Code, ConfigError, Refused, TopicError
from causeway.names import is_private
from causeway.topics import Naming, item_of, temporary_prefix
from causeway.types import SECOND, Overflow, key_of
from causeway.wire import body as bodies

SPEED, NOISE = "roads/a1/speed", "roads/a1/noise"
ITEM = item_of(SPEED)


def terms(**fields: Any) -> SubscriptionTerms:
    return SubscriptionTerms(pattern="roads/*/speed", **fields)


@pytest.mark.parametrize(
    ("fields", "mailbox"),
    [
        ({}, None),
        ({"durable": True, "name": "board"}, "sub/billing/board"),
        ({"durable": True, "shared": True, "name": "board"}, "shared/board"),
        ({"shared": True, "name": "board"}, f"shared/board~{key_of('board').hex()[:16]}"),
    ],
    ids=["private", "durable", "shared durable", "shared"],
)
def test_subscription_is_a_mailbox(fields: dict[str, Any], mailbox: str | None) -> None:
    assert terms(**fields).mailbox("billing") == mailbox


def test_shared_subscription_that_is_not_durable_is_private() -> None:
    mailbox = terms(shared=True, name="board").mailbox("billing")
    assert mailbox is not None
    assert is_private(mailbox)


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("name", {"durable": True}),
        ("name", {"shared": True}),
        ("name", {"name": "board"}),
        ("name", {"durable": True, "name": "a/b"}),
        ("name", {"durable": True, "name": "a~b"}),
        ("name", {"durable": True, "name": ""}),
        ("name", {"durable": True, "name": 7}),
        ("name", {"durable": True, "name": "n" * 250}),
        ("overflow", {"overflow": "explode"}),
        ("overflow", {"overflow": 0}),
        ("bytes_max", {"bytes_max": 0}),
        ("bytes_max", {"bytes_max": 1.5}),
        ("selector", {"selector": "a >"}),
        ("selector", {"selector": 7}),
        ("start", {"shared": True, "name": "board", "start": "earliest"}),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value),
)
def test_terms_that_make_no_sense_are_refused_by_name(field: str, fields: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        terms(**fields).interest("billing:1f")
        terms(**fields).mailbox("billing")
    assert caught.value.field == field


def test_interest_says_what_was_asked_for() -> None:
    assert terms().interest("billing:1f") == Interest("roads/*/speed")
    asked = terms(selector="a > 1", no_local=True, overflow="drop_oldest", bytes_max=99, retained=False)
    wanted = Interest("roads/*/speed", "a > 1", "billing:1f", int(Overflow.DROP_OLDEST), 99, 0, False)
    assert asked.interest("billing:1f") == wanted
    assert terms(start=3).interest("").replay


def test_history_makes_room_for_what_is_new() -> None:
    wanted = Interest("roads/#", "", "", int(Overflow.DROP_OLDEST), 1000, 60 * SECOND, False)
    assert history_interest("roads/#", 60, 1000) == wanted
    assert history_mailbox("roads/#") == "history/roads/#"
    with pytest.raises(ConfigError, match="seconds"):
        history_interest("roads/#", 0, None)


def test_temporary_topic_belongs_to_the_bus_that_made_it() -> None:
    mine = temporary_prefix("billing", 7)
    assert check_pattern(f"{mine}/1", Naming(), mine) == f"{mine}/1"
    with pytest.raises(ConfigError, match="only the bus"):
        check_pattern(f"{temporary_prefix('shop', 7)}/1", Naming(), mine)
    with pytest.raises(TopicError):
        check_pattern("roads//speed", Naming(), mine)
    with pytest.raises(ConfigError, match="must be str"):
        check_pattern(b"roads", Naming(), mine)


@pytest.mark.parametrize(
    ("start", "wanted"),
    [
        ("earliest", Start()),
        (17, Start(offset=17)),
        (1.5, Start(since=1_500_000_000)),
        (datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC), Start(since=2 * SECOND)),
    ],
    ids=["earliest", "offset", "seconds", "datetime"],
)
def test_replay_begins_at_the_beginning_an_offset_or_a_time(start: object, wanted: Start) -> None:
    assert start_of(start, "roads/*/speed") == wanted


@pytest.mark.parametrize("start", ["latest", -1, True, b"", None, -2.0])
def test_replay_begins_nowhere_else(start: object) -> None:
    with pytest.raises(ConfigError, match="earliest"):
        start_of(start, "roads/*/speed")


def test_offset_needs_one_first_level() -> None:
    with pytest.raises(ConfigError, match="first level"):
        start_of(3, "*/a1/speed")


# Replay ---------------------------------------------------------------------------------------------------------
def lot(offset: int, count: int = 1, *, topic: str = SPEED, at: int = 0, source: str = "radar") -> Lot:
    """Messages of a history, the first of which has this offset."""
    body = bodies.join([b"x"] * count)
    published = Published(topic, source, 0x1F, 1, 1, offset, (), at)
    head = BrowsedBatch(1, ITEM, 1, 2, offset + 1, count, 1, 4, 0, len(body), at, 0, published)
    return Lot.browsed("history/roads/#", head, body)


def replay(numbers: dict[str, int], start: Start | None = None, no_local: str = "") -> Replay:
    begun = Replay(start or Start(), Interest("roads/*/speed", no_local=no_local, replay=True))
    begun.begin(numbers, "history/roads/#")
    return begun


def test_history_ends_where_live_messages_begin() -> None:
    past = replay({ITEM: 5})
    assert past.wanted(lot(0, 3)) == [0, 1, 2]
    assert not past.over
    assert past.wanted(lot(3, 4)) == [0, 1]
    assert past.over
    assert past.wanted(lot(7)) == []


def test_nothing_is_replayed_of_an_item_that_had_nothing() -> None:
    assert replay({ITEM: 0}).over
    assert replay({}).wanted(lot(0)) == []


def test_replay_begins_within_a_batch() -> None:
    assert replay({ITEM: 9}, Start(offset=2)).wanted(lot(0, 4)) == [2, 3]
    assert replay({ITEM: 9}, Start(offset=2)).wanted(lot(0, 2)) == []


def test_replay_shows_only_what_the_subscription_wants() -> None:
    assert replay({ITEM: 9}, Start(since=2)).wanted(lot(0, at=1)) == []
    assert replay({ITEM: 9}, Start(since=2)).wanted(lot(0, at=2)) == [0]
    assert replay({ITEM: 9}).wanted(lot(0, topic=NOISE)) == []
    assert replay({ITEM: 9}, no_local="radar:1f").wanted(lot(0)) == []
    assert replay({ITEM: 9}, no_local="radar:1e").wanted(lot(0)) == [0]


def test_what_is_not_wanted_brings_the_end_nearer_all_the_same() -> None:
    past = replay({ITEM: 2})
    assert past.wanted(lot(1, topic=NOISE)) == []
    assert past.over


def test_without_a_history_there_is_no_replay() -> None:
    with pytest.raises(Refused, match="keep_history") as caught:
        Replay(Start(), Interest("roads/*/speed", replay=True)).begin({ITEM: 4}, "")
    assert caught.value.code == Code.NO_MAILBOX
