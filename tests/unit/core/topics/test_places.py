"""Where a subscription must be known, and what each place is told."""

from __future__ import annotations

import pytest

from causeway.core.messages import Interest
from causeway.core.topics.places import interest_at, places_of, serves
from causeway.names import twin_name
from causeway.topics import item_of, ordinary_items
from causeway.topics.critical import WAYS, critical_item
from causeway.types import half_of, key_of

WATCH = "sub/app/watch"
FIRE = Interest("critical/fire/*")
ITEMS = tuple(critical_item("critical/fire", way) for way in (0, 1))


def test_mailbox_and_twin_read_one_way_each() -> None:
    side = half_of(key_of(WATCH))
    assert places_of(WATCH, FIRE) == (ITEMS[side],)
    assert places_of(twin_name(WATCH), FIRE) == (ITEMS[1 - side],)
    assert FIRE.has_twin(WATCH)


def test_a_wildcard_wants_ordinary_items_by_its_mailbox_alone() -> None:
    side, all_topics = half_of(key_of(WATCH)), Interest("#", selector="a = 1")
    assert places_of(WATCH, all_topics) == (*ordinary_items("#"), *WAYS[side])
    assert places_of(twin_name(WATCH), all_topics) == WAYS[1 - side]
    assert interest_at(item_of("roads"), WATCH, all_topics) == all_topics
    assert interest_at(WAYS[0][0], WATCH, all_topics) == Interest("critical/#", selector="a = 1")


@pytest.mark.parametrize(
    ("mailbox", "interest"),
    [("shared/watch", FIRE), ("history/all", FIRE), (WATCH, Interest("critical/fire/*", replay=True))],
    ids=["shared", "history", "replay"],
)
def test_lone_subscriptions_are_served_by_way_0_and_known_to_way_1(mailbox: str, interest: Interest) -> None:
    assert not interest.has_twin(mailbox)
    assert places_of(mailbox, interest) == ITEMS
    assert [serves(item, mailbox, interest) for item in ITEMS] == [True, False]
    assert interest_at(ITEMS[1], mailbox, interest) == Interest("~critical/fire/*", retained=False)


def test_ordinary_topics_and_causal_order_have_one_way() -> None:
    assert not Interest("roads/#").has_twin(WATCH)
    seated = Interest("critical/#", seat="causeway/seats/b1")
    assert not seated.has_twin(WATCH)
    assert places_of(WATCH, seated) == ("causeway/seats/b1",)
