"""Reading by number: what a page holds, where it ends, and settling what was read."""

from __future__ import annotations

import pytest

from causeway.client.message import with_headers
from causeway.client.outcomes import InquiryDone
from causeway.client.stretches import MailboxExtent, ReadFilter, ReadStretch, StretchInquiry
from causeway.core.messages import Browse, Browsed, BrowsedBatch, Published, Settle, Settled
from causeway.errors import ConfigError
from causeway.types import SECOND, VOLATILE_FROM, Flag
from causeway.wire import body as bodies
from tests.unit.client.stage import Stage


def batch(seq: int, texts: list[bytes], before: int = 0, flags: int = 0) -> tuple[BrowsedBatch, bytes]:
    body = bodies.join(texts)
    return BrowsedBatch(seq, "shop", 1, 1, seq, len(texts), flags, 4, 0, len(body), before=before), body


def test_a_range_is_shown_in_stretches_and_nothing_behind_its_end(stage: Stage, home: str) -> None:
    question = stage.session.read("orders", 3, 8, row=-1)
    stage.turn()
    (asked,) = stage.said(Browse, home)
    assert (asked.after, asked.limit, asked.row) == (2, 5, -1)
    (one, first), (two, second), (three, third) = batch(3, [b"a", b"b"], 2), batch(6, [b"c"] * 4, 4), batch(20, [b"z"])
    head = Browsed("orders", asked.token, (one, two, three), False, 2, 21, 20, 30, 25, 7)
    stage.receive(home, head, first + second + third)
    assert [(s.number, s.count, s.before) for s in question.result.stretches] == [(3, 2, 2), (6, 2, 4)]
    assert [body for s in question.result.stretches for _, body in s.messages()] == [b"a", b"b", b"c", b"c"]
    assert question.extent == MailboxExtent(30, 25, 7)
    assert stage.session.browse_on(question) is None  # the range is over, the mailbox is not


def test_a_page_that_did_not_hold_the_range_is_followed_by_the_next(stage: Stage, home: str) -> None:
    question = stage.session.read("orders", 0, 10, row=-1, limit=6)
    stage.turn()
    (asked,) = stage.said(Browse, home)
    one, first = batch(0, [b"a"] * 4)
    stage.receive(home, Browsed("orders", asked.token, (one,), False, -1, 0, 3, 30, 25, 7), first)
    stage.take_sent()
    following = stage.session.browse_on(question)
    assert following is not None
    stage.turn()
    (asked,) = stage.said(Browse, home)
    assert (asked.after, asked.limit, asked.row) == (3, 2, 0)


def test_a_page_says_what_was_passed_over(stage: Stage, home: str) -> None:
    wanted = ReadFilter(topics=("roads/*/speed",), since=5)
    question = stage.session.read("orders", 0, 10, row=-1, wanted=wanted)
    stage.turn()
    (asked,) = stage.said(Browse, home)
    assert (asked.topics, asked.since, asked.until, asked.stop) == (("roads/*/speed",), 5, 0, 10)
    one, first = batch(2, [b"a"] * 2, 12)
    head = Browsed("orders", asked.token, (one,), False, -1, 0, 6, 30, 25, 7, passed=5, ever_through=17)
    stage.receive(home, head, first)
    page = question.result
    assert (page.count, page.passed, page.through) == (7, 5, 17)
    following = stage.session.browse_on(question)
    assert isinstance(following, StretchInquiry)
    assert (following.after, following.wanted) == (6, wanted)


@pytest.mark.parametrize("wanted", [ReadFilter(topics=("a//b",)), ReadFilter(topics=("a",) * 33), ReadFilter(since=-1)])
def test_what_cannot_be_wanted_is_refused_here(stage: Stage, wanted: ReadFilter) -> None:
    with pytest.raises(ConfigError):
        stage.session.read("orders", 0, 10, row=-1, wanted=wanted)


def test_a_stretch_knows_ids_headers_topic_and_offset() -> None:
    body = bodies.join([with_headers({"lane": n}, b"120") for n in range(3)])
    published = Published("roads/a1", "radar", 9, 2, 40, 100, at=5 * SECOND)
    head = BrowsedBatch(7, "causeway/topics/01", 1, 1, 100, 3, int(Flag.HEADERS), 4, 0, len(body), 0, 0, published, 6)
    stretch = ReadStretch.of("history/roads/#", head, body)
    assert (stretch.topic, stretch.sender, stretch.offset, stretch.at) == ("roads/a1", ("radar", 9), 100, 5 * SECOND)
    assert stretch.messages() == [({"lane": n}, b"120") for n in range(3)]
    assert [stretch.id_of(n).number for n in range(3)] == [40, 41, 42]
    assert stretch.head(2).messages() == [({"lane": n}, b"120") for n in range(2)]


def test_what_was_read_is_settled_by_number_and_once_it_is_on_all_copies_that_is_told(stage: Stage, home: str) -> None:
    inquiry = stage.session.settle_below("orders", 8)
    stage.turn()
    (asked,) = stage.said(Settle, home)
    assert (asked.mailbox, asked.spans) == ("orders", ((0, 7),))
    stage.receive(home, Settled("other", asked.consumer, asked.spans))
    assert not inquiry.done
    stage.receive(home, Settled("orders", asked.consumer, asked.spans))
    assert inquiry.done
    assert inquiry.error is None
    assert stage.outcomes(InquiryDone)


@pytest.mark.parametrize(("start", "stop"), [(-1, 5), (0, -1), ("1", 5)])
def test_numbers_are_checked(stage: Stage, home: str, start: int, stop: int) -> None:
    with pytest.raises(ConfigError, match="a number in a mailbox"):
        stage.session.read("orders", start, stop, row=-1)


@pytest.mark.parametrize("below", [0, VOLATILE_FROM + 1, 1.5])
def test_only_stored_messages_of_plain_mailboxes_are_settled(stage: Stage, home: str, below: int) -> None:
    with pytest.raises(ConfigError, match="below"):
        stage.session.settle_below("orders", below)
    with pytest.raises(ConfigError, match="subscription"):
        stage.session.settle_below("history/roads/#", 5)
