"""Clients hear who holds the items they use: once, again when it changes, and at once when they ask."""

from __future__ import annotations

import msgspec

from causeway.core.messages import AskInterest, AskPlaced, ItemPlaced, Summary
from causeway.core.topics.signposts import ASK_EVERY, DOUBT_AFTER, LOOK_EVERY, LOOK_SOON
from causeway.errors import Code
from causeway.topics import ALL_ITEMS
from causeway.types import SECOND, Peer, key_of
from tests.unit.core.mail.neighbours import ME, OTHER, THIRD, config_of
from tests.unit.core.topics.newsroom import APP, CONN, ITEM, WATCH, Newsroom, bodies, publication

ELSEWHERE = 4
"""The connection of another client."""


class Crossroads(Newsroom):
    """A newsroom that holds no copy of the item."""

    def __init__(self) -> None:
        super().__init__()
        self.links.clients[ELSEWHERE] = ("other", 3)

    def hold(self, owner: Peer, *others: Peer, epoch: int = 5, incomplete: tuple[bytes, ...] = ()) -> None:
        """This is what is known of the item from now on."""
        config = config_of(ITEM, owner, *others, epoch=epoch)
        self.groups.configs[key_of(ITEM)] = msgspec.structs.replace(config, incomplete=incomplete)

    def publishes(self, first: int = 1) -> list[ItemPlaced]:
        self.client(publication(first), bodies())
        return self.heard(ItemPlaced)

    def asked(self) -> int:
        """How often the directory was asked for the item."""
        found = self.groups.asked.count(("resolve", key_of(ITEM)))
        self.groups.asked.clear()
        return found


def test_client_hears_who_holds_an_item_with_its_first_batch_and_not_with_the_others() -> None:
    room = Crossroads()
    room.hold(OTHER, ME, THIRD)
    room.topics.name_domains({OTHER.id: "north"}.__getitem__)
    assert room.publishes(1) == [ItemPlaced(ITEM, 5, OTHER, ME, "north")]
    assert room.publishes(2) == []
    room.pass_time(10 * LOOK_EVERY)
    assert room.heard(ItemPlaced) == []


def test_mirror_is_the_first_whole_copy() -> None:
    room = Crossroads()
    room.hold(OTHER, ME, THIRD, incomplete=(ME.id,))
    (placed,) = room.publishes()
    assert placed.mirror == THIRD
    room.hold(OTHER, ME, epoch=6, incomplete=(ME.id,))
    room.pass_time(LOOK_EVERY)
    (placed,) = room.heard(ItemPlaced)
    assert (placed.mirror, placed.epoch) == (None, 6)


def test_everybody_who_uses_an_item_hears_that_it_moved_and_who_has_gone_does_not() -> None:
    room = Crossroads()
    room.hold(OTHER, ME)
    room.publishes()
    room.client(AskPlaced(ITEM, 7), conn=ELSEWHERE)
    assert room.heard(ItemPlaced, ELSEWHERE) == [ItemPlaced(ITEM, 5, OTHER, ME, token=7)]
    room.hold(ME, THIRD, epoch=6)
    room.pass_time(LOOK_EVERY)
    assert room.heard(ItemPlaced) == room.heard(ItemPlaced, ELSEWHERE) == [ItemPlaced(ITEM, 6, ME, THIRD)]
    room.topics.on_client_gone(CONN, APP)
    room.hold(OTHER, ME, epoch=7)
    room.pass_time(LOOK_EVERY)
    assert room.heard(ItemPlaced) == []
    assert room.heard(ItemPlaced, ELSEWHERE) != []


def test_subscriber_hears_of_every_item_that_its_pattern_may_match() -> None:
    room = Crossroads()
    for item in ALL_ITEMS:
        room.groups.know(item, OTHER, THIRD)
    room.own(WATCH)
    room.subscribe("#")
    assert sorted(placed.item for placed in room.heard(ItemPlaced)) == sorted(ALL_ITEMS)


def test_item_that_nobody_knows_is_asked_for_in_the_directory_but_not_before_it_can_have_begun() -> None:
    room = Crossroads()
    assert room.publishes() == []
    room.asked()
    room.pass_time(LOOK_EVERY)
    assert room.asked() >= 1
    room.hold(OTHER, THIRD)
    room.pass_time(LOOK_EVERY)
    assert [placed.owner for placed in room.heard(ItemPlaced)] == [OTHER]


def test_question_lets_an_item_begin_where_it_belongs_and_is_answered_when_it_has() -> None:
    room = Crossroads()
    room.ring.hop = OTHER.id
    room.client(AskPlaced(ITEM, 9))
    assert [head.item for head in room.sent(AskInterest)] == [ITEM]
    assert room.heard(ItemPlaced) == []
    room.hold(OTHER, THIRD)
    room.pass_time(LOOK_SOON)
    assert room.heard(ItemPlaced) == [ItemPlaced(ITEM, 5, OTHER, THIRD, token=9)]
    room.client(AskPlaced(ITEM, 10))
    assert [placed.token for placed in room.heard(ItemPlaced)] == [10]


def test_directory_is_asked_again_when_the_owner_is_thought_dead_or_names_a_later_epoch_and_seldom_otherwise() -> None:
    room = Crossroads()
    room.hold(OTHER, THIRD)
    room.client(AskPlaced(ITEM, 1))
    room.pass_time(DOUBT_AFTER - SECOND)
    assert room.asked() == 0
    room.pass_time(2 * SECOND)
    assert room.asked() == 1
    room.broker(Summary(ITEM, 6, 1, (), 0))
    room.pass_time(ASK_EVERY)
    room.broker(Summary(ITEM, 6, 1, (), 0))
    assert room.asked() == 1
    room.groups.suspected.add(OTHER.id)
    room.pass_time(3 * ASK_EVERY)
    assert 2 <= room.asked() <= 3
    room.hold(ME, THIRD, epoch=6)
    room.pass_time(2 * DOUBT_AFTER)
    assert room.asked() == 0, "of our own copies we hear by ourselves"


def test_question_for_something_else_is_refused_by_name() -> None:
    room = Crossroads()
    room.client(AskPlaced("orders", 1))
    ((conn, code, detail),) = room.links.refused
    assert (conn, code) == (CONN, Code.BAD_FIELD)
    assert "item='orders'" in detail


def test_nothing_is_looked_at_when_nobody_follows() -> None:
    room = Crossroads()
    room.hold(OTHER, ME)
    room.client(AskPlaced(ITEM, 1))
    room.topics.on_client_gone(CONN, APP)
    room.pass_time(LOOK_EVERY)
    assert room.desk.next_deadline() is None
