"""Looks that change nothing."""

from __future__ import annotations

import msgspec
import pytest

from causeway.client.message import Delivery, MessageId
from causeway.client.outcomes import InquiryDone
from causeway.core.messages import (
    Browse,
    Browsed,
    BrowsedBatch,
    Find,
    Moved,
    StatusReply,
    StatusRequest,
    StoryReply,
    StoryRequest,
)
from causeway.errors import ConfigError, DeadlineExceeded
from causeway.trace import TraceRecord
from causeway.types import SECOND
from causeway.wire import body as bodies
from tests.unit.client.stage import Stage, peer


def page(seq: int, texts: list[bytes]) -> tuple[BrowsedBatch, bytes]:
    body = bodies.join(texts)
    return BrowsedBatch(seq, "shop", 1, 1, seq, len(texts), 0, 4, 0, len(body)), body


def test_browsing_follows_the_mailbox_and_gathers_pages(stage: Stage, home: str) -> None:
    inquiry = stage.session.browse("orders", limit=10)
    stage.turn()
    stage.receive(home, Moved("orders", peer("b9")))
    stage.open("b9")
    (asked,) = stage.said(Browse, "b9")
    assert (asked.after, asked.limit) == (-1, 10)
    (one, first), (two, second) = page(0, [b"a", b"b"]), page(9, [b"c"])
    stage.receive("b9", Browsed("orders", asked.token, (one, two), False), first + second)
    assert not inquiry.done
    again = stage.said(Browse, "b9")[-1]
    assert (again.after, again.limit) == (9, 7)
    three, third = page(12, [b"d"])
    stage.receive("b9", Browsed("orders", asked.token, (three,), True), third)
    assert inquiry.done
    assert inquiry.error is None
    shown = [Delivery(lot, index).body for lot in inquiry.result for index in range(lot.count)]
    assert shown == [b"a", b"b", b"c", b"d"]
    assert stage.outcomes(InquiryDone)


def test_status_comes_from_home(stage: Stage, home: str) -> None:
    inquiry = stage.session.status()
    stage.turn()
    (asked,) = stage.said(StatusRequest, home)
    stage.receive(home, StatusReply(asked.token), b'{"broker":"b1"}')
    assert inquiry.result == {"broker": "b1"}


def test_status_that_is_not_json_costs_the_link_and_is_asked_again(stage: Stage, home: str) -> None:
    inquiry = stage.session.status()
    stage.turn()
    stage.receive(home, StatusReply(stage.said(StatusRequest)[0].token), b"{")
    assert len(stage.closes) == 1
    other = stage.open()
    stage.receive(other, StatusReply(stage.said(StatusRequest, other)[0].token), b"{}")
    assert inquiry.result == {}


def test_story_is_asked_at_the_named_broker(stage: Stage, home: str) -> None:
    inquiry = stage.session.story(MessageId("shop", 1, "orders", 2, 7), ("b9", 7400))
    stage.turn()
    stage.open("b9")
    (asked,) = stage.said(StoryRequest, "b9")
    assert (asked.source, asked.dest, asked.stream, asked.id) == ("shop", "orders", 2, 7)
    record = TraceRecord(1, "b9", 3, "shop", 1, "orders", 2, 1, 9)
    stage.receive("b9", StoryReply(asked.token), msgspec.msgpack.encode([record]))
    assert inquiry.result == [record]


def test_mailbox_is_found_by_the_moved_that_names_its_broker(stage: Stage, home: str) -> None:
    inquiry = stage.session.find("orders")
    stage.turn()
    assert stage.said(Find, home) == [Find("orders")]
    stage.receive(home, Moved("orders", None))
    assert not inquiry.done
    stage.sleep(SECOND // 5)
    stage.receive(home, Moved("orders", peer("b9")))
    assert inquiry.result == peer("b9")


def test_question_nobody_answers_fails_in_time_and_says_why(stage: Stage, home: str) -> None:
    inquiry = stage.session.browse("orders", timeout=2 * SECOND)
    stage.turn()
    stage.receive(home, Moved("orders", None, 4, "no quorum here"))
    stage.sleep(3 * SECOND)
    assert isinstance(inquiry.error, DeadlineExceeded)
    assert "no quorum here" in str(inquiry.error)


def test_questions_fail_when_the_session_is_closed(stage: Stage, home: str) -> None:
    asked = stage.session.status()
    stage.turn()
    fresh = stage.session.status()
    stage.session.close()
    stage.turn()
    assert asked.done
    assert fresh.done
    assert asked.error is not None
    assert fresh.error is not None


@pytest.mark.parametrize(("field", "options"), [("mailbox", {"mailbox": ""}), ("limit", {"limit": 0})])
def test_bad_questions_are_refused_by_name(stage: Stage, field: str, options: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as caught:
        stage.session.browse(**{"mailbox": "orders", **options})  # type: ignore[arg-type]
    assert caught.value.field == field
