"""Looks that change nothing."""

from __future__ import annotations

import msgspec
import pytest

from causeway.client import pages
from causeway.client.inquiries import BrowseInquiry, Inquiry
from causeway.client.message import Delivery, MessageId
from causeway.client.outcomes import InquiryDone
from causeway.core.messages import (
    Browse,
    Browsed,
    BrowsedBatch,
    Find,
    Moved,
    Ping,
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


def shown(inquiry: Inquiry) -> list[bytes]:
    return [bytes(Delivery(lot, index).body) for lot in inquiry.result for index in range(lot.count)]


def browse_on(stage: Stage, page: BrowseInquiry) -> BrowseInquiry:
    following = stage.session.browse_on(page)
    assert following is not None
    stage.turn()
    return following


@pytest.fixture
def first_page(stage: Stage, home: str) -> BrowseInquiry:
    """Of the mailbox "orders", up to 10 messages: three that the broker b9 showed."""
    inquiry = stage.session.browse("orders", limit=10)
    stage.turn()
    stage.receive(home, Moved("orders", peer("b9")))
    stage.open("b9")
    (asked,) = stage.said(Browse, "b9")
    assert (asked.after, asked.limit) == (-1, 10)
    (one, first), (two, second) = page(0, [b"a", b"b"]), page(9, [b"c"])
    stage.receive("b9", Browsed("orders", asked.token, (one, two), False, -1, 8), first + second)
    stage.take_sent()
    return inquiry


def test_browsing_follows_the_mailbox_and_shows_a_page_as_it_comes(stage: Stage, first_page: BrowseInquiry) -> None:
    assert first_page.done
    assert shown(first_page) == [b"a", b"b", b"c"]
    assert stage.outcomes(InquiryDone)
    stage.sleep(SECOND)
    assert not stage.said(Browse)  # nobody wants more as yet


def test_the_next_page_is_asked_for_where_the_last_one_came_from(stage: Stage, first_page: BrowseInquiry) -> None:
    second_page = browse_on(stage, first_page)
    (asked,) = stage.said(Browse)
    assert stage.said(Browse, "b9") == [asked]
    assert (asked.after, asked.limit, asked.row) == (9, 7, 8)
    (again, early), (three, third) = page(9, [b"c"]), page(12, [b"d"])
    stage.receive("b9", Browsed("orders", asked.token, (again, three), True, 9), early + third)
    assert shown(second_page) == [b"d"]
    assert stage.session.browse_on(second_page) is None


def test_browsing_goes_on_when_the_mailbox_moved_between_two_pages(stage: Stage, first_page: BrowseInquiry) -> None:
    second_page = browse_on(stage, first_page)
    stage.receive("b9", Moved("orders", peer("b8")))
    stage.open("b8")
    (asked,) = stage.said(Browse, "b8")
    assert (asked.after, asked.limit, asked.row) == (9, 7, 8)
    three, third = page(12, [b"d"])
    stage.receive("b8", Browsed("orders", asked.token, (three,), True, 9), third)
    assert shown(second_page) == [b"d"]


def test_browsing_goes_on_at_home_when_the_owner_was_lost_between_two_pages(
    stage: Stage, home: str, first_page: BrowseInquiry
) -> None:
    stage.cut("b9")
    second_page = browse_on(stage, first_page)
    assert [(said.after, said.row) for said in stage.said(Browse, home)] == [(9, 8)]
    stage.receive(home, Browsed("orders", second_page.number, (), True, 9))
    assert second_page.done
    assert shown(second_page) == []


@pytest.mark.parametrize("texts", [[], [b"c"]])
def test_a_page_without_news_ends_the_look(stage: Stage, first_page: BrowseInquiry, texts: list[bytes]) -> None:
    """Else we would ask the same for ever."""
    second_page = browse_on(stage, first_page)
    found = [page(9, texts)] if texts else []
    batches, body = tuple(batch for batch, _ in found), b"".join(part for _, part in found)
    stage.receive("b9", Browsed("orders", second_page.number, batches, False, 9), body)
    assert second_page.done
    assert stage.session.browse_on(second_page) is None


def test_a_look_ends_at_its_limit(stage: Stage, home: str) -> None:
    inquiry = stage.session.browse("orders", limit=2)
    stage.turn()
    one, first = page(0, [b"a", b"b"])
    stage.receive(home, Browsed("orders", inquiry.number, (one,), False), first)
    assert stage.session.browse_on(inquiry) is None


def test_a_page_that_comes_twice_is_shown_once(stage: Stage, home: str) -> None:
    inquiry = stage.session.browse("orders", limit=10)
    stage.turn()
    (one, first), (again, second) = page(0, [b"a", b"b"]), page(1, [b"b", b"c"])
    stage.receive(home, Browsed("orders", inquiry.number, (one,), False), first)
    following = browse_on(stage, inquiry)
    stage.receive(home, Browsed("orders", inquiry.number, (again,), False), second)  # repeated after "a" was settled
    assert not following.done
    (rest, third) = page(2, [b"c"])
    stage.receive(home, Browsed("orders", following.number, (rest,), True, 1), third)
    assert shown(inquiry) + shown(following) == [b"a", b"b", b"c"]


def test_a_page_that_is_late_is_asked_for_again(stage: Stage, home: str) -> None:
    repeat_after = stage.session.config.repeat_after
    stage.session.browse("orders", limit=10, timeout=100 * repeat_after)
    stage.turn()
    for questions in (1, 2):
        assert [said.after for said in stage.said(Browse, home)] == [-1] * questions
        for _ in range(4):
            stage.sleep(repeat_after // 4)
            stage.receive(home, Ping(0))


def test_a_page_of_the_former_owner_is_good_although_we_are_on_our_way(stage: Stage, home: str) -> None:
    inquiry = stage.session.browse("orders", limit=10)
    stage.turn()
    stage.receive(home, Moved("orders", peer("b9")))
    (late, body) = page(0, [b"a"])
    stage.receive(home, Browsed("orders", inquiry.number, (late,), False), body)
    assert shown(inquiry) == [b"a"]
    browse_on(stage, inquiry)
    assert [said.after for said in stage.said(Browse, home)] == [-1, 0]


def test_status_comes_from_home(stage: Stage, home: str) -> None:
    inquiry = stage.session.status()
    stage.turn()
    (asked,) = stage.said(StatusRequest, home)
    stage.receive(home, StatusReply(asked.token), b'{"broker":"b1"}')
    assert inquiry.result == {"broker": "b1"}


@pytest.mark.parametrize("nonsense", [b"{", b"[]", b'{"groups":1}', b'{"mailboxes":null}'])
def test_status_that_is_nonsense_costs_the_link_and_is_asked_again(stage: Stage, home: str, nonsense: bytes) -> None:
    inquiry = stage.session.status()
    stage.turn()
    stage.receive(home, StatusReply(stage.said(StatusRequest)[0].token), nonsense)
    assert len(stage.closes) == 1
    other = stage.open()
    stage.receive(other, StatusReply(stage.said(StatusRequest, other)[0].token), b"{}")
    assert inquiry.result == {}


def status_page(names: list[str], left_out: int) -> bytes:
    entries = [{"name": name} for name in names]
    following = names[-1] if left_out else None
    page = {"broker": "b1", "groups": entries, "mailboxes": entries, "groups_truncated": left_out, "next": following}
    return msgspec.json.encode(page)


def names_of(inquiry: Inquiry) -> list[str]:
    assert inquiry.result["groups"] == inquiry.result["mailboxes"]
    return [entry["name"] for entry in inquiry.result["mailboxes"]]


def test_status_has_the_mailboxes_of_all_pages(stage: Stage, home: str) -> None:
    inquiry = stage.session.status()
    stage.turn()
    (asked,) = stage.said(StatusRequest, home)
    stage.receive(home, StatusReply(asked.token), status_page(["a", "b"], 1))
    assert not inquiry.done
    stage.receive(home, StatusReply(asked.token), status_page(["a", "b"], 1))  # it was asked twice
    assert [said.after for said in stage.said(StatusRequest, home)] == ["", "b"]
    stage.receive(home, StatusReply(asked.token, "b"), status_page(["c"], 0))
    assert names_of(inquiry) == ["a", "b", "c"]
    assert (inquiry.result["groups_truncated"], inquiry.result["next"]) == (0, None)


def test_status_is_of_one_broker_only(stage: Stage, home: str) -> None:
    inquiry = stage.session.status()
    stage.turn()
    (asked,) = stage.said(StatusRequest, home)
    stage.receive(home, StatusReply(asked.token), status_page(["a", "b"], 1))
    stage.cut(home)
    other = stage.open()
    assert [said.after for said in stage.said(StatusRequest, other)] == [""]
    stage.receive(other, StatusReply(asked.token), status_page(["b", "c"], 0))
    assert names_of(inquiry) == ["b", "c"]


def test_status_that_never_ends_is_cut_short_and_says_so(
    stage: Stage, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "STATUS_PAGES_MAX", 2)
    inquiry = stage.session.status()
    stage.turn()
    (asked,) = stage.said(StatusRequest, home)
    stage.receive(home, StatusReply(asked.token), status_page(["a"], 7))
    stage.receive(home, StatusReply(asked.token, "a"), status_page(["b"], 6))
    assert inquiry.done
    assert names_of(inquiry) == ["a", "b"]
    assert (inquiry.result["groups_truncated"], inquiry.result["next"]) == (6, "b")


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
