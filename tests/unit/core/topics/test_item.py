"""One item's record: what all have accepted is done, and what is retained stays within its bound."""

from __future__ import annotations

import pytest

from causeway.config import BrokerConfig
from causeway.core.mail.box import Box
from causeway.core.mail.mailbox import Mailbox
from causeway.core.mail.rows import StoredBatch
from causeway.core.messages import Interest, Published
from causeway.core.topics.item import HandedBatch, Item, Registration
from causeway.types import key_of
from tests.unit.core.mail.neighbours import ME, config_of
from tests.unit.core.topics.newsroom import ITEM, TOPIC

ONE, TWO = "sub/a/1", "sub/a/2"


def make(*mailboxes: str) -> Item:
    item = Item(Box(Mailbox(ITEM, key_of(ITEM), BrokerConfig(name="b1")), config_of(ITEM, ME)))
    for mailbox in mailboxes:
        item.register(registration(mailbox))
    return item


def registration(mailbox: str = ONE, pattern: str = "roads/#", version: int = 1) -> Registration:
    return Registration(mailbox, version, Interest(pattern), 5, greeted=True)


def hand(item: Item, first: int, last: int, *mailboxes: str, size: int = 10) -> HandedBatch:
    """Numbers first-1 .. last-1 go to these subscriptions."""
    handed = item.open[first - 1] = HandedBatch((first - 1, last - 1))
    handed.size = size
    item.bytes += size
    for mailbox in mailboxes:
        item.registrations[mailbox].sent[first] = (last, handed)
        handed.left += 1
    item.arrived(handed)
    return handed


def test_numbers_are_done_when_the_last_has_accepted() -> None:
    item = make(ONE, TWO)
    hand(item, 1, 3, ONE, TWO)
    item.accepted(ONE, 1, 3)
    assert (item.done, item.bytes) == ([], 10)
    item.accepted(TWO, 1, 3)
    assert (item.done, item.bytes) == ([(0, 2)], 0)


def test_numbers_that_nobody_wants_are_done_at_once() -> None:
    item = make(ONE)
    hand(item, 1, 3)
    assert (item.done, item.bytes) == ([(0, 2)], 0)


def test_one_answer_may_cover_several_forwards_with_gaps() -> None:
    item = make(ONE)
    for first in (1, 4, 9):
        hand(item, first, first + 1, ONE)
    item.accepted(ONE, 1, 9)
    assert item.done == [(0, 1), (3, 4)], "of the third only a part"


def test_answer_is_counted_once() -> None:
    item = make(ONE, TWO)
    hand(item, 1, 1, ONE, TWO)
    item.accepted(ONE, 1, 1)
    item.accepted(ONE, 1, 1)
    assert item.done == []


def test_answer_of_a_stranger_is_ignored() -> None:
    item = make(ONE)
    hand(item, 1, 1, ONE)
    item.accepted("nobody", 1, 1)
    item.accepted(ONE, 2, 1)
    assert item.done == []


def test_what_is_on_its_way_to_a_removed_subscription_counts_as_arrived() -> None:
    item = make(ONE, TWO)
    hand(item, 1, 1, ONE, TWO)
    assert item.remove(ONE) is not None
    item.accepted(TWO, 1, 1)
    assert item.done == [(0, 0)]
    assert item.remove(ONE) is None


def test_replaced_registration_goes_on_with_what_is_on_its_way() -> None:
    item = make(ONE)
    hand(item, 1, 1, ONE)
    item.register(registration(ONE, "roads/b7", version=2))
    assert [r.mailbox for r in item.matching(TOPIC)] == []
    assert [r.version for r in item.matching("roads/b7")] == [2]
    item.accepted(ONE, 1, 1)
    assert item.done == [(0, 0)]


def test_what_lies_below_a_number_has_arrived_when_everybody_has_it() -> None:
    item = make(ONE, TWO)
    item.handed = 9
    assert item.has_arrived(9)
    hand(item, 2, 2, TWO)
    hand(item, 4, 4, ONE)
    assert item.has_arrived(1)
    assert not item.has_arrived(2)
    item.accepted(TWO, 2, 2)
    assert item.has_arrived(3)


def retained(body: bytes, topic: str = TOPIC) -> StoredBatch:
    return StoredBatch(1, "a", 1, 2, 1, 1, 0, 4, 0, 0, b"", body, published=Published(topic))


def test_newer_retained_message_takes_the_place_of_the_older() -> None:
    item = make()
    item.retain(retained(b"old"))
    held = item.retained_bytes
    assert item.retain(retained(b"new"))
    assert item.retained[TOPIC].body == b"new"
    assert item.retained_bytes == held
    assert not item.retain(retained(b""))
    assert (item.retained, item.retained_bytes) == ({}, 0)


def test_many_small_retained_messages_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.topics.item.RETAINED_BYTES_PER_ITEM_MAX", 10_000)
    item = make()
    kept = [item.retain(retained(b"x", f"roads/{number}")) for number in range(1000)]
    assert 0 < sum(kept) < 200
