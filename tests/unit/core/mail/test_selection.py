"""Consumers with selectors: they get what they want, the rest stays for others, and nobody looks twice."""

from __future__ import annotations

import pytest

from causeway.core.mail import matching, selection
from causeway.core.mail.rows import StoredBatch
from causeway.core.messages import Attach, Deliver, Moved
from causeway.errors import Code
from causeway.limits import SELECTED_MESSAGES_MAX
from causeway.selectors import Selector
from causeway.types import SECOND, Span
from tests.unit.core.mail import frontdesk, owned
from tests.unit.core.mail.postroom import (
    EXPRESS,
    HEADERS,
    RELIABLE,
    Postroom,
    body_of,
    deposit,
    ids,
    never,
    transaction,
)

FLAGS = HEADERS | RELIABLE


def stored(room: Postroom, first: int, count: int = 1, **fields: object) -> int:
    return room.stored(first, count, flags=FLAGS, **fields)


def got(room: Postroom) -> dict[int, list[int]]:
    """Ids by connection, of one turn."""
    found: dict[int, list[int]] = {}
    for conn, head in room.pump_to():
        found.setdefault(conn, []).extend(range(head.first, head.first + head.count))
    return found


def drain(room: Postroom) -> list[Deliver]:
    """As many turns as it takes."""
    heads = room.pump()
    while room.mailbox.next_delivery() == 0:
        heads += room.pump()
    return heads


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many messages were looked at, each time something was."""
    counts: list[int] = []

    def counted(selector: Selector, batch: StoredBatch) -> list[Span]:
        counts.append(batch.count)
        return matching.matching(selector, batch)

    monkeypatch.setattr(selection, "matching", counted)
    return counts


# What they get ---------------------------------------------------------------------------------------------------
def test_a_consumer_gets_what_it_selects_and_the_rest_stays_in_order() -> None:
    room = Postroom()
    room.attach(2, selector="third")
    stored(room, 1, 5)
    stored(room, 6, 5)
    assert got(room) == {2: [3, 6, 9]}
    room.attach(4)
    assert got(room) == {4: [1, 2, 4, 5, 7, 8, 10]}


def test_a_message_without_the_header_is_not_selected() -> None:
    room = Postroom()
    room.attach(selector="n < 100")
    room.stored(1)
    assert room.pump() == []


def test_the_properties_of_jms_can_be_asked() -> None:
    room = Postroom()
    room.attach(selector="JMSPriority > 4 AND JMSDeliveryMode = 'PERSISTENT'")
    stored(room, 1)
    stored(room, 2, priority=9)
    assert ids(room.pump()) == [2]


def test_what_nobody_wanted_goes_to_a_selector_that_comes_later() -> None:
    room = Postroom()
    room.attach(2, selector="third")
    stored(room, 1, 10)
    assert got(room) == {2: [3, 6, 9]}
    room.attach(4, selector="n > 4")
    assert got(room) == {4: [5, 7, 8, 10]}
    room.attach(6, selector="n > 1")
    assert got(room) == {6: [2, 4]}


def test_what_is_left_of_a_part_is_shown_to_a_selector_that_has_not_looked_yet() -> None:
    room = Postroom()
    room.attach(2, selector="n < 0")
    stored(room, 1, 10)
    assert got(room) == {}
    room.attach(4, credit=3)
    room.attach(6, selector="n > 5")
    assert got(room) == {4: [1, 2, 3], 6: [6, 7, 8, 9, 10]}


def test_what_one_selector_cuts_out_of_a_part_is_shown_to_another_that_has_not_looked_yet() -> None:
    room = Postroom()
    room.attach(2, selector="n < 0")
    stored(room, 1, 10)
    assert got(room) == {}
    room.attach(4, credit=1, selector="third")
    room.attach(6, selector="n > 1")
    found = got(room)
    assert sorted(found[4] + found[6]) == list(range(2, 11))


def test_when_the_last_selector_goes_all_is_as_before() -> None:
    room = Postroom()
    room.attach(2, selector="n > 4")
    stored(room, 1, 6)
    assert got(room) == {2: [5, 6]}
    room.detach(2)
    room.attach(4)
    stored(room, 7)
    assert got(room) == {4: [1, 2, 3, 4, 5, 6, 7]}
    assert room.mailbox.statistics().unsettled == 7


def test_priority_and_place_decide_also_for_what_waited() -> None:
    room = Postroom()
    room.attach(2, credit=1, selector="third")
    first = stored(room, 3)
    stored(room, 6)
    assert got(room) == {2: [3]}
    stored(room, 9, priority=9)
    room.settle((first, first))
    assert got(room) == {2: [9]}


def test_what_comes_back_is_looked_at_again_and_comes_first() -> None:
    room = Postroom()
    room.attach(2, credit=1, selector="third")
    room.attach(4, selector="NOT third")
    seq = stored(room, 1, 9)
    assert got(room) == {2: [3], 4: [1, 2, 4, 5, 7, 8]}
    room.give_back((seq + 2, seq + 3), conn=4)
    room.give_back((seq + 2, seq + 2), conn=2)
    assert got(room) == {2: [3], 4: [4]}


def test_consumers_with_one_selector_share_what_it_wants() -> None:
    room = Postroom()
    room.attach(2, selector="n > 0")
    room.attach(4, selector="n > 0")
    stored(room, 1, 10)
    assert sorted(map(len, got(room).values())) == [4, 6]


def test_settling_and_locking_reach_what_was_looked_at() -> None:
    room = Postroom()
    room.attach(selector="n > 100")
    seq = stored(room, 1, 10)
    room.pump()
    room.settle((seq + 2, seq + 4))
    room.detach()
    room.attach(4)
    assert got(room) == {4: [1, 2, 6, 7, 8, 9, 10]}


def test_what_was_looked_at_expires_and_is_not_kept() -> None:
    room = Postroom()
    room.attach(selector="n > 100")
    for first in range(1, 11):
        stored(room, first, ttl=SECOND)
    room.pump()
    assert len(room.mailbox._contents.lanes.parked) == 10
    room.now += SECOND
    assert len(room.expire().pieces) == 10
    assert room.mailbox._contents.lanes.parked == {}
    assert room.mailbox.empty()


def test_a_delayed_message_is_looked_at_when_its_time_has_come() -> None:
    room = Postroom()
    room.attach(selector="third")
    stored(room, 1, 3, delay=SECOND)
    assert room.pump() == []
    room.now += SECOND
    assert ids(room.pump()) == [3]


# Short ways ------------------------------------------------------------------------------------------------------
def test_express_messages_do_not_go_round_a_selector() -> None:
    room = Postroom()
    room.attach(selector="JMSPriority = 9")
    room.hold(deposit(1, stream=EXPRESS, flags=0, priority=9))
    assert ids(room.pump()) == [1]
    assert room.relay(deposit(2, stream=EXPRESS, flags=0)) is None
    room.hold(deposit(2, stream=EXPRESS, flags=0))
    assert room.pump() == []


def test_batches_pass_only_to_who_takes_everything() -> None:
    room = Postroom()
    room.attach(2, selector="third")
    assert not room.mailbox.can_pass()
    room.attach(4, credit=1)
    assert room.mailbox.can_pass()
    room.hold(deposit(1, flags=FLAGS))
    assert got(room) == {4: [1]}
    assert not room.mailbox.can_pass()


# Work ------------------------------------------------------------------------------------------------------------
def test_nobody_looks_while_no_consumer_has_a_selector(looks: list[int]) -> None:
    room = Postroom()
    room.attach()
    stored(room, 1, 10)
    assert len(ids(room.pump())) == 10
    assert looks == []


def test_every_message_is_looked_at_once(looks: list[int]) -> None:
    room = Postroom()
    room.attach(credit=1, selector="third")
    for first in range(1, 101):
        stored(room, first)
        for head in room.pump():
            room.settle((head.seq, head.seq))
    heads = drain(room)
    while heads:
        room.settle(*((head.seq, head.seq) for head in heads))
        heads = drain(room)
    assert sum(looks) == 100


def test_a_slow_consumer_does_not_make_the_mailbox_look_again(looks: list[int]) -> None:
    room = Postroom()
    room.attach(credit=1, selector="n > 0")
    stored(room, 1, 100)
    for number in range(1, 101):
        (head,) = room.pump()
        assert ids([head]) == [number]
        room.settle((head.seq, head.seq))
    assert sum(looks) == 100


def test_one_turn_looks_at_a_bounded_number_of_messages(looks: list[int]) -> None:
    room = Postroom()
    room.attach(2, selector="third")
    room.attach(4, selector="n = 1000")
    stored(room, 1, 1000)
    turns, heads = 0, []
    while not turns or room.mailbox.next_delivery() == 0:
        before = sum(looks)
        heads += room.pump()
        assert sum(looks) - before <= SELECTED_MESSAGES_MAX
        turns += 1
    assert turns == 2 * 1000 // SELECTED_MESSAGES_MAX
    assert sorted(ids(heads)) == sorted([*range(3, 1000, 3), 1000])
    assert not room.mailbox.timed


def test_one_turn_looks_at_a_bounded_number_of_bytes(looks: list[int]) -> None:
    room = Postroom()
    room.attach(selector="third")
    assert room.send(deposit(1, 9, flags=FLAGS), size=60_000).verdict == 0
    room.commit()
    assert ids(drain(room)) == [3, 6, 9]
    assert sum(looks) == 9
    assert max(looks) == 2


def test_places_of_what_others_took_are_not_kept() -> None:
    room = Postroom()
    room.attach(2, credit=1, selector="n > 0")
    room.attach(4, selector="n > 1")
    for first in range(1, 2001):
        seq = stored(room, first)
        room.pump()
        if first > 1:
            room.settle((seq, seq))
    choices = room.mailbox._selection.choices
    assert all(len(choice.wishes) < 200 for choice in choices.values())


# Windows ---------------------------------------------------------------------------------------------------------
def test_what_lies_behind_a_window_of_unwanted_messages_is_reached_up_to_a_bound() -> None:
    room = Postroom(window_bytes=4000)
    room.attach(selector="n > 90")
    for first in range(1, 8):
        stored(room, first)
    stored(room, 91)
    found = []
    while room.pump() == [] and room.page():
        found += room.pump()
    assert ids(found) == [91]
    assert not room.mailbox.statistics().starved
    for first in range(10, 50):
        stored(room, first)
    stored(room, 92)
    while room.page():
        assert room.pump() == []
    assert room.mailbox.statistics().starved, "so that somebody can see why"
    assert room.mailbox.statistics().memory_bytes < 6 * 4000
    room.attach(4)
    reached = []
    for _ in range(100):
        heads = room.pump()
        reached += ids(heads)
        room.settle(*((head.seq, head.seq) for head in heads))
        room.page()
    assert 92 in reached
    assert not room.mailbox.statistics().starved


# At the office and the desk --------------------------------------------------------------------------------------
def test_an_office_goes_on_looking_in_the_next_turn() -> None:
    stage = owned.Stage()
    stage.office.attach(owned.at(), owned.CONN, ("app", 1), Attach("orders", 1, 1000, "n = 900"))
    stage.deposit(deposit(1, 900, flags=FLAGS), now=5)
    turn = stage.commit(5)
    while stage.office.next_deadline() == 5:
        assert owned.delivered(turn) == []
        turn = stage.fire()
    assert owned.delivered(turn) == [900]


def test_a_bad_selector_is_refused_with_its_column() -> None:
    stage = frontdesk.Stage()
    stage.own("orders")
    (moved,) = stage.hears(Attach("orders", 1, 10, "n >"))
    assert isinstance(moved, Moved)
    assert (moved.peer, moved.code) == (None, Code.BAD_FIELD)
    assert "column" in moved.detail


def test_mailboxes_share_what_one_turn_may_look_at_and_none_waits_for_another(looks: list[int]) -> None:
    first, second = Postroom(), Postroom()
    for room in (first, second):
        room.attach(selector="third")
        stored(room, 1, SELECTED_MESSAGES_MAX)
    sight = selection.Sight()
    assert len(first.mailbox.pump(0, never, sight)) == SELECTED_MESSAGES_MAX // 3
    assert second.mailbox.pump(0, never, sight) == []
    assert looks == [SELECTED_MESSAGES_MAX, 1]
    assert second.mailbox.next_delivery() == 0


def test_looking_on_does_not_ask_about_transactions_in_every_turn() -> None:
    stage = owned.Stage()
    stage.office.on_prepare(owned.at(), stage.key, transaction(sends=[deposit(1)]), body_of(deposit(1)))
    stage.commit()
    stage.office.attach(owned.at(), owned.CONN, ("app", 1), Attach("orders", 1, 1000, "n = 900"))
    stage.deposit(deposit(1, 900, flags=FLAGS), now=5)
    stage.commit(5)
    stage.courier.posted.clear()
    while stage.office.next_deadline() == 5:
        stage.fire()
    assert len(stage.courier.posted) == 1
