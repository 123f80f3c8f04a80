"""What brokers say of where topics are: the highest epoch counts, and is asked for only where nobody would tell."""

from __future__ import annotations

import pytest

from causeway.client.inquiries import Inquiry
from causeway.client.placements import Placed, placed
from causeway.core.messages import AskPlaced, ItemPlaced
from causeway.topics import ALL_ITEMS, item_of
from causeway.types import SECOND
from tests.unit.client.stage import Stage, peer

TOPIC = "roads/a1/speed"
ITEM = item_of(TOPIC)


def place(owner: str, epoch: int, *, item: str = ITEM, token: int = 0) -> ItemPlaced:
    return ItemPlaced(item, epoch, peer(owner), peer("b9"), "north", token)


def test_what_was_pushed_is_known_without_a_question_and_later_epochs_win(stage: Stage, home: str) -> None:
    for owner, epoch in (("b3", 5), ("b4", 7), ("b5", 6)):
        stage.receive(home, place(owner, epoch))
    found = stage.session.where(TOPIC)
    assert isinstance(found, ItemPlaced)
    assert placed(found) == Placed("b4", "b4:7400", "b9", "b9:7400", 7, "north")
    assert stage.said(AskPlaced) == []


def test_topic_that_nobody_spoke_of_is_asked_for(stage: Stage, home: str) -> None:
    inquiry = stage.session.where(TOPIC)
    assert isinstance(inquiry, Inquiry)
    stage.turn()
    (asked,) = stage.said(AskPlaced)
    assert asked.item == ITEM
    stage.receive(home, place("b3", 5))
    assert not inquiry.done, "that was told to all; the answer bears the question's number"
    stage.receive(home, place("b3", 5, token=asked.token))
    assert inquiry.done
    assert inquiry.result.owner == peer("b3")


def test_word_of_a_broker_that_is_gone_is_asked_for_again_and_kept_meanwhile(stage: Stage, home: str) -> None:
    stage.receive(home, place("b3", 5))
    stage.cut(home)
    assert isinstance(stage.session.where(TOPIC), Inquiry)
    known = stage.session._placements.of(ITEM)
    assert known is not None
    assert known.epoch == 5


@pytest.mark.parametrize("item", ["orders", ""])
def test_what_is_no_item_is_not_kept(stage: Stage, home: str, item: str) -> None:
    stage.receive(home, place("b3", 5, item=item))
    assert stage.session._placements.of(item) is None


def test_topic_without_a_mirror_says_so() -> None:
    found = placed(ItemPlaced(ALL_ITEMS[0], 5, peer("b3")))
    assert (found.mirror, found.mirror_address, found.domain) == ("", "", "")


def test_question_that_nobody_answers_fails_in_time(stage: Stage, home: str) -> None:
    inquiry = stage.session.where(TOPIC, timeout=SECOND)
    assert isinstance(inquiry, Inquiry)
    stage.turn()
    stage.sleep(2 * SECOND)
    assert inquiry.error is not None
