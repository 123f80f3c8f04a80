"""Answers to Browse: what fits a page, what a selector wants of it, and where to go on."""

from __future__ import annotations

import pytest

from causeway.client.message import with_headers
from causeway.core.mail.browser import BrowseRange, Glance, Shown
from causeway.core.mail.matching import matching, selector_of
from causeway.core.mail.rows import StoredBatch
from causeway.core.mail.views import browsed, question_of
from causeway.core.messages import Browse, Browsed, Published
from causeway.limits import BROWSED_BODY_BYTES_MAX, SELECTED_BYTES_MAX, SELECTED_MESSAGES_MAX
from causeway.types import MILLISECOND, Flag, ServiceClass
from causeway.wire.body import join, split

EXTENT = (9, 8, 7)
"""Where the mailbox ends, how much it ever held, and which life of it this is."""


def batch(seq: int, *amounts: int, priority: int = 4, padding: int = 0) -> StoredBatch:
    """Messages that say an amount in their headers."""
    body = join([with_headers({"amount": amount}, b"x" * padding) for amount in amounts])
    stream, at = int(ServiceClass.RECOVERABLE), 5 * MILLISECOND
    return StoredBatch(seq, "a", 1, stream, seq, len(amounts), int(Flag.HEADERS), priority, 0, at, b"", body)


def ask(
    *batches: StoredBatch, selector: str = "", limit: int = 100, hidden: int | None = None
) -> tuple[Browsed, list[int]]:
    """The answer, and the numbers in it."""
    head = Browse("orders", 1, -1, limit, -1, selector)
    shown = [Shown(one, 0, one.seq + one.count, one.seq, one.count_before) for one in batches]
    answer, body = browsed(head, question_of(head), Glance(shown, hidden), EXTENT)
    assert sum(found.size for found in answer.batches) == len(body)
    at = 0
    for found in answer.batches:
        assert len(split(body[at : at + found.size], found.count)) == found.count
        at += found.size
    return answer, [found.seq + n for found in answer.batches for n in range(found.count)]


def test_without_a_selector_everything_is_shown() -> None:
    answer, numbers = ask(batch(1, 10, 20), batch(3, 30))
    assert numbers == [1, 2, 3]
    assert (answer.done, answer.row, answer.through) == (True, 4, 3)


def test_only_what_matches_is_shown_and_all_of_it_was_looked_at() -> None:
    answer, numbers = ask(batch(1, 10, 20, 30, 5), batch(5, 40, 1), selector="amount >= 20")
    assert numbers == [2, 3, 5]
    assert [found.count for found in answer.batches] == [2, 1]
    assert (answer.done, answer.row, answer.through) == (True, 7, 6)


def test_a_page_without_a_match_says_how_far_it_looked() -> None:
    answer, numbers = ask(batch(1, 10, 20), selector="amount > 99", hidden=3)
    assert numbers == []
    assert (answer.done, answer.row, answer.through) == (False, 3, 2)


def test_the_limit_counts_matches_and_a_cut_run_goes_on_where_it_was_cut() -> None:
    answer, numbers = ask(batch(1, 1, 20, 20, 20), batch(5, 20), selector="amount = 20", limit=2)
    assert numbers == [2, 3]
    assert (answer.done, answer.row, answer.through) == (False, 1, 3)


def test_a_page_that_is_full_goes_on_behind_what_it_holds() -> None:
    big = BROWSED_BODY_BYTES_MAX // 2 + 1
    answer, numbers = ask(batch(1, 20, padding=big), batch(2, 20, 1, 20, padding=big), selector="amount = 20")
    assert numbers == [1]
    assert (answer.done, answer.row, answer.through) == (False, 2, 1)
    answer, numbers = ask(batch(2, 20, 1, 20, padding=big), selector="amount = 20")
    assert numbers == [2]
    assert (answer.done, answer.row, answer.through) == (False, 2, 2)


def test_a_page_looks_at_so_much_and_no_more() -> None:
    third = SELECTED_BYTES_MAX // 3
    long = batch(1, 1, 2, 3, 4, 5, padding=third)
    answer, numbers = ask(long, batch(6, 1), selector="amount = 4")
    assert numbers == []
    assert (answer.done, answer.row, answer.through) == (False, 1, 2)
    answer, numbers = ask(batch(1, 1, 1, padding=third), batch(3, 1, 1, padding=third), selector="amount = 4")
    assert (answer.done, answer.row, answer.through) == (False, 3, 2)
    huge = batch(1, 4, padding=2 * SELECTED_BYTES_MAX)
    answer, numbers = ask(huge, batch(2, 4), selector="amount = 4")
    assert numbers == [1]
    assert (answer.done, answer.row, answer.through) == (False, 2, 1)


def test_with_a_selector_a_whole_page_is_looked_at() -> None:
    assert question_of(Browse("orders", 1, -1, 3)) == BrowseRange(-1, 3)
    assert question_of(Browse("orders", 1, -1, 3, -1, "TRUE")).limit == SELECTED_MESSAGES_MAX


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("JMSPriority = 7", [(0, 2)]),
        ("JMSPriority = 4", []),
        ("JMSTimestamp = 5", [(0, 2)]),
        ("JMSDeliveryMode = 'PERSISTENT'", [(0, 2)]),
        ("amount IN ('1')", []),
        ("amount <> 2", [(0, 0), (2, 2)]),
        ("amount IS NULL", []),
    ],
)
def test_what_can_be_asked_about_a_message(text: str, runs: list[tuple[int, int]]) -> None:
    assert matching(selector_of(text), batch(1, 1, 2, 3, priority=7)) == runs


def test_messages_without_headers_or_with_broken_ones_have_none() -> None:
    plain = StoredBatch(1, "a", 1, 0, 1, 2, 0, 4, 0, 0, b"", join([b"x", b"y"]))
    deep, wide = b"\x81\xa1a" + b"\x91" * 1500 + b"\xc0", b"\x81\xa6amount\x90"
    blocks = [len(block).to_bytes(2, "big") + block for block in (deep, wide)]
    broken = StoredBatch(1, "a", 1, 0, 1, 2, int(Flag.HEADERS), 4, 0, 0, b"", join([b"\xff\xff", b"\x00\x01\xc1"]))
    hostile = StoredBatch(1, "a", 1, 0, 1, 2, int(Flag.HEADERS), 4, 0, 0, b"", join(blocks))
    for one in (plain, broken, hostile):
        assert matching(selector_of("amount IS NULL AND JMSDeliveryMode = 'NON_PERSISTENT'"), one) == [(0, 1)]


# Topics, times and ends -----------------------------------------------------------------------------------------
def published(seq: int, topic: str, count: int, at: int = 0) -> StoredBatch:
    """Messages as a history keeps them; so many were stored before as their number says, and twenty have ended."""
    body, it = join([b"x"] * count), Published(topic, "radar", 9, 1, seq, 100 + seq, at=at)
    return StoredBatch(seq, "causeway/topics/01", 1, 1, seq, count, 0, 4, 0, 7, b"", body, 20 + seq, published=it)


def look(*batches: StoredBatch, limit: int = 100, hidden: int | None = None, **wanted: object) -> Browsed:
    """The answer to a question for some of these."""
    head = Browse("history/roads/#", 1, -1, limit, **wanted)  # type: ignore[arg-type]
    shown = [Shown(one, 0, one.seq + one.count, one.seq, one.count_before) for one in batches]
    return browsed(head, question_of(head), Glance(shown, hidden), EXTENT)[0]


def told(answer: Browsed) -> tuple[list[tuple[int, int]], int, int, int, bool]:
    """Which are here, how many are not, and how far it looked."""
    here = [(found.seq, found.count) for found in answer.batches]
    return here, answer.passed, answer.through, answer.ever_through, answer.done


ROADS = [published(0, "roads/a1", 5), published(5, "roads/a2", 3), published(8, "roads/a1", 2)]


def test_only_topics_that_are_asked_for_are_shown_and_the_others_are_counted() -> None:
    assert told(look(*ROADS, topics=("roads/a2", "rails/#"))) == ([(5, 3)], 7, 9, 30, True)
    assert told(look(*ROADS, topics=("rails/#",), hidden=10)) == ([], 10, 9, 30, False)
    assert told(look(*ROADS)) == ([(0, 5), (5, 3), (8, 2)], 0, 9, 30, True)


def test_what_does_not_fit_is_neither_shown_nor_passed_over() -> None:
    answer = look(*ROADS, topics=("roads/a1",), limit=6)
    assert told(answer) == ([(0, 5), (8, 1)], 3, 8, 29, False)
    assert answer.row == 8


def test_times_are_those_at_which_a_message_was_published() -> None:
    days = [published(0, "roads/a1", 2, at=50), published(2, "roads/a1", 2, at=60), published(4, "roads/a1", 1, at=70)]
    assert told(look(*days, since=60, until=70))[:2] == ([(2, 2)], 3)
    assert told(look(*days, since=61))[:2] == ([(4, 1)], 4)


def test_nothing_behind_the_end_of_a_question_is_looked_at() -> None:
    assert told(look(*ROADS, stop=7)) == ([(0, 5), (5, 2)], 0, 6, 27, True)
    assert told(look(*ROADS, topics=("roads/a1",), stop=7)) == ([(0, 5)], 2, 6, 27, True)
    assert told(look(*ROADS, topics=("roads/a1",), stop=5)) == ([(0, 5)], 0, 4, 25, True)


def test_each_topic_is_in_one_part_of_a_mailbox() -> None:
    many = [published(number, f"roads/a{number % 7}", 1) for number in range(70)]
    parts = [told(look(*many, part=part, parts=3))[0] for part in range(3)]
    assert sorted(number for part in parts for number, _ in part) == list(range(70))
    assert len(dict.fromkeys(map(len, parts))) > 1
    for part in parts:
        assert len(part) == 10 * len({number % 7 for number, _ in part})
