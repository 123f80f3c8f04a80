"""Items: what is published reaches every subscription that wants it, once and in order, whoever fails."""

from __future__ import annotations

import pytest

from causeway.client.message import with_headers
from causeway.core.messages import Accepted, Deposit, Interest, Published, Register, Registered, Rejected
from causeway.errors import Code
from causeway.topics.limits import GREETING_MAX
from causeway.types import SECOND, Flag, key_of
from causeway.wire.body import join
from tests.unit.core.mail.neighbours import ME, OTHER
from tests.unit.core.topics.newsroom import (
    APP,
    AWAY,
    EXPRESS,
    ITEM,
    ORDERED,
    RECOVERABLE,
    RELIABLE,
    RETAIN,
    TOPIC,
    WATCH,
    Newsroom,
)

SECONDS = 10 * SECOND
HEADERS = int(Flag.HEADERS)
SLOW = "sub/slow/1"


def owner() -> Newsroom:
    room = Newsroom()
    room.own(ITEM)
    return room


def places(forwards: list[Deposit]) -> list[tuple[str, int, int]]:
    """Where to, which id, after which."""
    return [(head.dest, head.first, head.follows) for head in forwards]


def batches(room: Newsroom) -> int:
    """Rows of batches that the item holds."""
    return len(room.kept(ITEM, b"b"))


def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little may be on its way at once."""
    monkeypatch.setattr("causeway.core.topics.items.FORWARDED_BYTES_PER_ITEM_MAX", 20)


# Registering ----------------------------------------------------------------------------------------------------
def test_registration_is_written_before_it_is_answered() -> None:
    room = owner()
    room.groups.know(AWAY, OTHER)
    room.broker(Register(ITEM, AWAY, 1, Interest("roads/#"), OTHER.id))
    assert room.sent(Registered) == []
    room.commit()
    assert len(room.sent(Registered)) == 1
    assert room.kept(ITEM, b"i") == [b"i" + AWAY.encode()]


def test_repeated_registration_changes_nothing_and_is_answered_alike() -> None:
    room = owner()
    (first,) = room.register()
    room.publish(1)
    (again,) = room.register()
    assert again == first
    assert len(room.kept(ITEM, b"i")) == 1


def test_late_registration_changes_nothing() -> None:
    room = owner()
    room.register("roads/#", version=5)
    assert room.register("rails/#", version=4) == []
    room.publish(1)
    assert len(room.sent(Deposit)) == 1


def test_replaced_pattern_counts_from_then_on() -> None:
    room = owner()
    (first,) = room.register("roads/b7", version=1)
    room.publish(1)
    (second,) = room.register("roads/a1/#", version=2)
    room.publish(2)
    assert second.number > first.number
    (head,) = room.sent(Deposit)
    assert head.published == Published(TOPIC, *APP, ORDERED, 2, head.first - 1, (), room.now)


def test_changed_selector_begins_anew() -> None:
    room = owner()
    (first,) = room.register(Interest("roads/#", "colour = 'red'"), version=1)
    (second,) = room.register(Interest("roads/#", "colour = 'blue'"), version=2)
    assert second.number > first.number


def test_changed_overflow_goes_on_from_the_same_number() -> None:
    room = owner()
    (first,) = room.register(Interest("roads/#"), version=1)
    (second,) = room.register(Interest("roads/#", overflow=1), version=2)
    assert second.number == first.number


def test_withdrawn_subscription_gets_nothing_more_and_its_batches_are_settled() -> None:
    room = owner()
    room.register()
    room.publish(1)
    assert batches(room) == 1
    (answer,) = room.register(None, version=2)
    assert answer.version == 2
    assert batches(room) == 0
    assert room.kept(ITEM, b"i") == []
    room.sent(Deposit)
    room.publish(2)
    room.pass_time(SECONDS)
    assert room.sent(Deposit) == []


def test_late_withdrawal_is_answered_and_changes_nothing() -> None:
    room = owner()
    room.register(version=5)
    assert len(room.register(None, version=3)) == 1
    room.publish(1)
    assert len(room.sent(Deposit)) == 1


def test_withdrawal_of_what_is_not_known_is_answered() -> None:
    room = owner()
    assert len(room.register(None, version=3)) == 1


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("taken_over", [True, False])
def test_registration_that_comes_after_its_withdrawal_changes_nothing_and_the_next_one_counts(
    known: bool, taken_over: bool
) -> None:
    room = owner()
    if known:
        room.register(version=1)
    room.register(None, version=2)
    if taken_over:
        room.take_over(ITEM)
    assert room.register(version=1) == []
    room.publish(1)
    assert room.sent(Deposit) == []
    assert room.kept(ITEM, b"i") == []
    room.pass_time(SECONDS)
    (begun,) = room.register(version=3)
    room.publish(2)
    assert [head.first > begun.number for head in room.sent(Deposit)] == [True]
    assert room.kept(ITEM, b"f") == []


def test_one_subscription_too_many_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.topics.items.REGISTRATIONS_PER_ITEM_MAX", 1)
    room = owner()
    room.register()
    (refusal,) = room.register(mailbox=SLOW)
    assert refusal.code == Code.OVERLOADED
    assert ITEM in refusal.detail
    assert len(room.register("roads/b7", version=2)) == 1, "one that is known may change"


@pytest.mark.parametrize(
    "head",
    [
        Register(ITEM, AWAY, 1, Interest(""), OTHER.id),
        Register(ITEM, AWAY, 1, Interest("roads//x"), OTHER.id),
        Register(ITEM, AWAY, 1, Interest("roads/#", "colour ="), OTHER.id),
        Register(ITEM, AWAY, 1, Interest("roads/#", overflow=9), OTHER.id),
        Register(ITEM, AWAY, 1, Interest("roads/#", keep=-1), OTHER.id),
        Register(ITEM, AWAY, 1, Interest("roads/#", bytes_max=-1), OTHER.id),
        Register(ITEM, AWAY, 1, Interest("roads/#", no_local="x" * 1000), OTHER.id),
        Register(ITEM, AWAY, 2**64 - 1, Interest("roads/#"), OTHER.id),
        Register(ITEM, "", 1, Interest("roads/#"), OTHER.id),
        Register(ITEM, "causeway/topics/01", 1, Interest("roads/#"), OTHER.id),
        Register("orders", AWAY, 1, Interest("roads/#"), OTHER.id),
        Register(ITEM, AWAY, 1, Interest("roads/#"), b"x"),
    ],
    ids=range(12),
)
def test_registration_that_makes_no_sense_is_left_out(head: Register) -> None:
    room = owner()
    room.own("orders")
    room.broker(head)
    room.commit()
    assert room.sent(Registered) == []
    assert room.kept(ITEM, b"i") == []


# Forwarding -----------------------------------------------------------------------------------------------------
def test_forwards_bear_the_numbers_of_the_item_and_say_who_published() -> None:
    room = owner()
    (answer,) = room.register(Interest("roads/#", retained=False))
    room.publish(1, 3, priority=7)
    room.publish(7, 1, stream=RECOVERABLE, source="other", incarnation=3)
    first, second = room.sent(Deposit)
    assert (first.source, first.incarnation, first.stream, first.count) == (ITEM, 3, ORDERED, 3)
    assert first.first == answer.number + 2, "ids are numbers plus one"
    assert (first.follows, second.follows) == (0, first.first + 2)
    assert second.first == first.first + 3
    assert (first.priority, first.flags, first.origin) == (7, RELIABLE, ME.id)
    assert first.published == Published(TOPIC, *APP, ORDERED, 1, first.first - 1, (), room.now)
    assert second.published == Published(TOPIC, "other", 3, RECOVERABLE, 7, second.first - 1, (), room.now)


def test_what_a_selector_picks_of_a_batch_travels_together() -> None:
    room = owner()
    room.register(Interest("roads/#", "colour = 'red'", retained=False))
    colours = ["red", "blue", "red", "red", "blue"]
    room.publish(1, 5, join([with_headers({"colour": name}, b"x") for name in colours]), flags=RELIABLE | HEADERS)
    (head,) = room.sent(Deposit)
    assert head.count == 3
    assert head.published == Published(TOPIC, *APP, ORDERED, 1, head.first - 1, ((0, 0), (2, 3)), room.now)
    assert batches(room) == 1
    room.accept(head)
    assert batches(room) == 0


def test_own_messages_are_left_out_if_so_wished() -> None:
    room = owner()
    room.register(Interest("roads/#", no_local=f"{APP[0]}:{APP[1]:x}", retained=False))
    room.publish(1)
    room.publish(1, source="other")
    assert [head.published.source for head in room.sent(Deposit) if head.published] == ["other"]
    assert batches(room) == 1


def test_time_to_live_goes_on_and_a_history_ends_it_earlier() -> None:
    room = owner()
    room.register(Interest("roads/#", retained=False))
    room.register(Interest("roads/#", keep=2 * SECOND, retained=False), mailbox="history/roads")
    room.publish(1, ttl=5 * SECOND)
    room.publish(2)
    assert [(head.dest, head.ttl) for head in room.sent(Deposit)] == [
        (AWAY, 5 * SECOND),
        ("history/roads", 2 * SECOND),
        (AWAY, 0),
        ("history/roads", 2 * SECOND),
    ]


def test_express_goes_as_express_and_nobody_waits_for_it() -> None:
    room = owner()
    room.register()
    room.publish(1, stream=EXPRESS, flags=0)
    (head,) = room.sent(Deposit)
    assert (head.source, head.stream, head.flags) == (ITEM, EXPRESS, 0)
    room.pass_time(SECONDS)
    assert room.sent(Deposit) == []


def test_express_message_that_waited_at_the_item_is_not_for_a_subscription_that_began_meanwhile() -> None:
    room = owner()
    room.register()
    room.groups.mine[key_of(ITEM)] = False
    room.publish(1, stream=EXPRESS, flags=0)
    assert room.sent(Deposit) == []
    room.now += 1
    room.groups.mine[key_of(ITEM)] = True
    room.register(mailbox=SLOW)
    assert [head.dest for head in room.sent(Deposit)] == [AWAY]
    room.publish(2, stream=EXPRESS, flags=0)
    assert [head.dest for head in room.sent(Deposit)] == [AWAY, SLOW]


def test_express_message_that_is_published_again_is_known_to_readers_whoever_owns_the_item() -> None:
    room = owner()
    room.register(Interest("roads/#", retained=False))
    room.publish(5, 2, stream=EXPRESS)
    room.publish(5, 2, stream=EXPRESS, source="other")
    room.take_over(ITEM)
    room.publish(5, 2, stream=EXPRESS)
    one, other, again = room.sent(Deposit)
    assert (one.first, one.incarnation) == (again.first, again.incarnation) == (5, one.incarnation)
    assert other.incarnation != one.incarnation


def test_reliable_express_messages_for_a_deaf_subscription_do_not_pile_up() -> None:
    room = owner()
    room.register()
    for first in range(1, 1000):
        room.publish(first, stream=EXPRESS, flags=RELIABLE)
    assert room.desk.outbox.statistics()["batches"] < 999
    assert room.topics._items.all[key_of(ITEM)].bytes == 0


def test_batch_is_settled_when_all_have_accepted() -> None:
    room = owner()
    room.register()
    room.register(mailbox=SLOW)
    room.publish(1)
    one, two = room.sent(Deposit)
    room.accept(one)
    assert batches(room) == 1
    room.accept(two)
    assert batches(room) == 0
    assert room.topics._items.all[key_of(ITEM)].bytes == 0


def test_batch_that_nobody_wants_is_settled_at_once() -> None:
    room = owner()
    room.register("roads/b7")
    room.publish(1)
    assert batches(room) == 0
    assert room.sent(Deposit) == []


def test_forward_is_repeated_until_it_is_accepted() -> None:
    room = owner()
    room.register()
    room.publish(1)
    (head,) = room.sent(Deposit)
    room.pass_time(SECOND)
    assert {again.first for again in room.sent(Deposit)} == {head.first}


def test_no_more_is_on_its_way_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow(monkeypatch)
    room = owner()
    room.register()
    for first in range(1, 6):
        room.publish(first)
    sent = room.sent(Deposit)
    assert len(sent) < 5
    while waiting := sent:
        room.accept(*waiting)
        sent = room.sent(Deposit)
    assert batches(room) == 0


def test_forward_whose_time_is_over_counts_as_accepted() -> None:
    room = owner()
    room.register()
    room.publish(1, ttl=SECOND)
    room.pass_time(SECONDS)
    room.commit()
    assert batches(room) == 0
    assert room.topics._items.all[key_of(ITEM)].bytes == 0


# Take-over ------------------------------------------------------------------------------------------------------
def test_new_owner_forwards_again_what_is_not_settled_under_the_same_numbers() -> None:
    room = owner()
    room.register()
    for first in (1, 2, 3):
        room.publish(first)
    before = room.sent(Deposit)
    room.accept(before[0])
    room.take_over(ITEM)
    again = room.sent(Deposit)
    assert places(again) == [(AWAY, before[1].first, 0), (AWAY, before[2].first, before[1].first)]
    assert {head.incarnation for head in again} == {before[0].incarnation}


def test_subscription_beside_the_item_that_has_a_batch_already_does_not_settle_it_for_others() -> None:
    room = owner()
    room.own(WATCH)
    room.broker(Register(ITEM, WATCH, 1, Interest("roads/#"), ME.id))
    room.commit()
    room.register(mailbox=AWAY)
    room.publish(1)
    assert len(room.sent(Deposit)) == 1
    room.take_over(ITEM)
    room.commit()
    assert len(room.sent(Deposit)) == 1
    assert batches(room) == 1, "the subscription on the other broker has not accepted it"
    assert room.topics._items.all[key_of(ITEM)].bytes > 0


def test_former_owner_forwards_nothing_more() -> None:
    room = owner()
    room.register()
    room.publish(1)
    room.lose(ITEM)
    room.sent(Deposit)
    room.pass_time(SECONDS)
    assert room.sent(Deposit) == []


# Mailboxes that are gone ----------------------------------------------------------------------------------------
def gone(head: Deposit) -> Rejected:
    last = head.first + head.count - 1
    whose = (head.source, head.incarnation, head.dest, head.stream)
    return Rejected(*whose, head.first, last, int(Code.NO_MAILBOX), "gone")


def test_subscription_whose_mailbox_is_gone_is_withdrawn() -> None:
    room = owner()
    room.register()
    room.publish(1)
    (head,) = room.sent(Deposit)
    room.broker(gone(head))
    room.commit()
    assert room.kept(ITEM, b"i") == []
    assert batches(room) == 0


def test_late_word_of_an_earlier_mailbox_does_not_end_the_subscription_that_began_again() -> None:
    room = owner()
    room.register(version=1)
    room.publish(1)
    (head,) = room.sent(Deposit)
    room.register(None, version=2)
    room.register(version=3)
    room.broker(gone(head))
    room.commit()
    room.publish(2)
    assert len(room.sent(Deposit)) == 1


def test_express_message_for_a_mailbox_that_is_gone_is_not_repeated() -> None:
    room = owner()
    room.register()
    room.publish(1, stream=EXPRESS, flags=RELIABLE)
    (head,) = room.sent(Deposit)
    room.broker(gone(head))
    room.pass_time(SECONDS)
    assert room.sent(Deposit) == []


def test_mailbox_that_is_full_is_not_gone() -> None:
    room = owner()
    room.register()
    room.publish(1)
    (head,) = room.sent(Deposit)
    full = Rejected(ITEM, head.incarnation, AWAY, ORDERED, head.first, head.first, int(Code.MAILBOX_FULL), "full")
    room.broker(full)
    room.pass_time(SECONDS)
    assert head.first in {again.first for again in room.sent(Deposit)}


# Retained messages ----------------------------------------------------------------------------------------------
def retained(room: Newsroom, first: int = 1, text: bytes = b"80", **fields: object) -> None:
    room.publish(first, 1, join([text]), **{"flags": RELIABLE | RETAIN, **fields})


def test_new_subscription_begins_with_what_is_retained() -> None:
    room = owner()
    retained(room, 1, b"old")
    retained(room, 2, b"new")
    (answer,) = room.register()
    room.publish(3)
    greeting, live = room.sent(Deposit)
    assert greeting.published == Published(TOPIC, *APP, ORDERED, 2, greeting.first - 1, (), room.now)
    assert (greeting.first, greeting.follows) == (answer.number + 1, 0)
    assert live.follows == greeting.first
    assert live.first > answer.number + GREETING_MAX, "numbers are set aside for the greeting"


def test_subscription_that_wants_nothing_retained_gets_nothing() -> None:
    room = owner()
    retained(room)
    room.register(Interest("roads/#", retained=False))
    assert room.sent(Deposit) == []


@pytest.mark.parametrize("restarted", [False, True])
def test_subscription_that_begins_to_want_what_is_retained_gets_it_and_goes_on_where_it_was(*, restarted: bool) -> None:
    room = owner()
    retained(room)
    room.register(Interest("roads/#", retained=False))
    room.publish(2)
    (live,) = room.sent(Deposit)
    room.register(Interest("roads/#", retained=True), version=2)
    (greeting,) = room.sent(Deposit)
    if restarted:
        room.take_over(ITEM)
        again = [head for head in room.sent(Deposit) if head.flags & RETAIN]
        assert [head.first for head in again] == [greeting.first], "under the same number"
    assert greeting.first > live.first
    assert greeting.flags & RETAIN
    room.publish(3)
    assert [head.first > greeting.first for head in room.sent(Deposit)] == [True]


@pytest.mark.parametrize(
    "interest",
    [
        Interest("roads/b7"),
        Interest("roads/#", "JMSPriority > 5"),
        Interest("roads/#", no_local=f"{APP[0]}:{APP[1]:x}"),
    ],
    ids=["pattern", "selector", "no_local"],
)
def test_retained_message_that_is_not_wanted_is_left_out(interest: Interest) -> None:
    room = owner()
    retained(room)
    room.register(interest)
    room.publish(2, priority=9, source="other")
    assert [head.priority for head in room.sent(Deposit)] in ([9], [])


def test_empty_message_ends_a_retained_one() -> None:
    room = owner()
    retained(room)
    assert room.kept(ITEM, b"r") == [b"r" + TOPIC.encode()]
    retained(room, 2, b"")
    assert room.kept(ITEM, b"r") == []
    room.register()
    assert room.sent(Deposit) == []


def test_message_of_headers_alone_ends_a_retained_one() -> None:
    room = owner()
    retained(room)
    retained(room, 2, with_headers({"a": 1}, b""), flags=RELIABLE | RETAIN | HEADERS)
    assert room.kept(ITEM, b"r") == []


@pytest.mark.parametrize(
    "message", [b"", b"x", b"\x00\x09x", b"\x00\x01\xc1y"], ids=["empty", "short", "cut", "nonsense"]
)
def test_retained_message_with_a_broken_header_block_ends_nothing_but_itself(message: bytes) -> None:
    room = owner()
    retained(room, 1, message, flags=RELIABLE | RETAIN | HEADERS)
    assert len(room.kept(ITEM, b"r")) == bool(message)


def test_last_message_of_a_batch_is_retained() -> None:
    room = owner()
    room.publish(1, 3, join([b"a", b"b", b"c"]), flags=RELIABLE | RETAIN)
    room.register()
    (head,) = room.sent(Deposit)
    assert (head.count, room.links.bodies[-1]) == (1, join([b"c"]))


def test_retained_message_outlives_its_owner() -> None:
    room = owner()
    retained(room)
    room.take_over(ITEM)
    room.register()
    room.commit()
    assert len(room.sent(Deposit)) == 1


def test_retained_message_whose_time_is_over_greets_nobody() -> None:
    room = owner()
    retained(room, ttl=SECOND)
    room.pass_time(2 * SECOND)
    room.register()
    assert room.sent(Deposit) == []


def test_greeting_that_was_not_accepted_is_repeated_by_the_new_owner_under_the_same_number() -> None:
    room = owner()
    retained(room)
    room.register()
    room.publish(2)
    before = places(room.sent(Deposit))
    room.take_over(ITEM)
    room.commit()
    assert places(room.sent(Deposit)) == before


def test_greeting_that_was_accepted_is_not_repeated() -> None:
    room = owner()
    retained(room)
    room.register()
    room.accept(*room.sent(Deposit))
    room.take_over(ITEM)
    room.commit()
    room.register(Interest("roads/#", overflow=1), version=2)
    assert room.sent(Deposit) == []


def test_change_of_the_overflow_during_a_greeting_does_not_greet_twice() -> None:
    room = owner()
    retained(room)
    room.register()
    (greeting,) = room.sent(Deposit)
    room.register(Interest("roads/#", overflow=1), version=2)
    room.accept(greeting)
    assert room.sent(Deposit) == []
    room.take_over(ITEM)
    assert room.sent(Deposit) == []


def test_greeting_keeps_its_place_before_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow(monkeypatch)
    room = owner()
    retained(room)
    room.register()
    for first in range(2, 6):
        room.publish(first)
    room.sent(Deposit)
    room.take_over(ITEM)
    seen: list[int] = []
    while sent := room.sent(Deposit):
        assert all(head.follows < head.first for head in sent)
        seen += [head.first for head in sent]
        room.accept(*sent)
    assert seen == sorted(seen)
    assert len(seen) == 5


def test_retained_message_that_waits_for_its_turn_greets_who_came_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow(monkeypatch)
    room = owner()
    room.register(mailbox=SLOW)
    for first in range(1, 5):
        room.publish(first)
    retained(room, 5)
    room.register(mailbox=AWAY)
    greeted: list[Deposit] = []
    while sent := room.sent(Deposit):
        greeted += [head for head in sent if head.dest == AWAY]
        room.accept(*sent)
    assert [head.published.first for head in greeted if head.published] == [5]


def test_withdrawal_before_the_greeting_leaves_nothing_behind() -> None:
    room = owner()
    retained(room)
    room.groups.know(AWAY, OTHER)
    room.broker(Register(ITEM, AWAY, 1, Interest("roads/#"), OTHER.id))
    room.broker(Register(ITEM, AWAY, 2, None, OTHER.id))
    room.commit()
    room.pass_time(SECONDS)
    assert room.sent(Deposit) == []
    assert room.desk.outbox.statistics()["batches"] == 0


def test_message_too_many_is_not_retained_nor_is_an_older_one_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.topics.item.RETAINED_BYTES_PER_ITEM_MAX", 1000)
    room = owner()
    retained(room, 1, b"small")
    retained(room, 2, bytes(2000))
    assert room.kept(ITEM, b"r") == []
    room.register()
    assert room.sent(Deposit) == []


# History --------------------------------------------------------------------------------------------------------
def test_replay_begins_when_the_history_has_all_that_is_older(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow(monkeypatch)
    room = owner()
    room.register(Interest("roads/#", keep=SECOND * 60), mailbox="history/roads")
    for first in range(1, 4):
        room.publish(first)
    wanted = Interest("roads/a1/#", replay=True, retained=False)
    answers = room.register(wanted)
    while not answers:
        sent = [head for head in room.sent(Deposit) if head.dest == "history/roads"]
        assert sent, "the history has everything, and nobody says so"
        room.accept(*sent)
        answers = room.register(wanted)
    (answer,) = answers
    assert answer.history == "history/roads"
    assert batches(room) == 0


def test_history_that_keeps_only_part_of_what_is_wanted_is_none() -> None:
    room = owner()
    room.register(Interest("roads/a1/#", keep=SECOND), mailbox="history/a1")
    (answer,) = room.register(Interest("roads/#", replay=True))
    assert answer.history == ""


def test_item_says_what_it_does() -> None:
    room = owner()
    retained(room)
    room.register()
    counted = room.topics.statistics()
    assert counted == {"items": 1, "subscriptions": 1, "retained": 1, "published": 1, "forwarded": 1, "unwanted": 0}


def test_acceptance_of_something_else_is_ignored() -> None:
    room = owner()
    room.register()
    room.publish(1)
    (head,) = room.sent(Deposit)
    for change in ((ITEM, 9, AWAY, ORDERED), (ITEM, 3, "nobody", ORDERED), (ITEM, 3, AWAY, EXPRESS)):
        room.broker(Accepted(*change, head.first, head.first))
    room.broker(Accepted(ITEM, 3, AWAY, ORDERED, head.first + 1, head.first + 9))
    room.commit()
    assert batches(room) == 1
