from __future__ import annotations

import pytest

from causeway.sim.checkers.base import Wrong
from causeway.sim.checkers.subscribing import REMEMBERED_AFTER, Subscribing, Wish, wants
from causeway.sim.letters import PUBLISHED, Letter
from causeway.types import ServiceClass

BOX = "sub/board/all"
READER = ("board", 1)
TRANSACTIONAL, RECOVERABLE = ServiceClass.TRANSACTIONAL, ServiceClass.RECOVERABLE


def letter(
    number: int, topic: str = "roads/a1", stream: ServiceClass = TRANSACTIONAL, source: str = "p", life: int = 1
) -> Letter:
    return Letter(source, life, PUBLISHED + topic, stream, number)


def begun(pattern: str = "roads/#", colour: str = "", *, retained: bool = False) -> Subscribing:
    checker = Subscribing()
    checker.subscribed(BOX, Wish(pattern, colour, retained))
    checker.now = 5
    checker.subscription_begun(BOX)
    return checker


def send(checker: Subscribing, *letters: Letter) -> None:
    for one in letters:
        checker.sent(one)
        checker.acknowledged(one)


def test_subscribing_is_content_with_everything_once_and_in_order() -> None:
    checker = begun()
    letters = [letter(1), letter(2), letter(1, "roads/b7"), letter(1, source="q"), letter(9, stream=RECOVERABLE)]
    send(checker, *letters, letter(1, "rails/x"), letter(4, stream=ServiceClass.EXPRESS))
    for one in letters:
        checker.delivered(BOX, READER, one)
    checker.finish()


def test_subscribing_asks_nothing_of_what_was_published_before_it_began() -> None:
    checker = Subscribing()
    checker.subscribed(BOX, Wish("roads/#"))
    early, between = letter(1), letter(2)
    send(checker, early)
    checker.sent(between)
    checker.now = 5
    checker.subscription_begun(BOX)
    checker.acknowledged(between)
    checker.now = 9
    checker.subscription_begun(BOX)
    assert checker.owed() == []
    checker.finish()


@pytest.mark.parametrize("late", [False, True])
def test_subscribing_allows_what_a_publisher_forgot_that_it_was_acknowledged(late: bool) -> None:
    checker = Subscribing()
    send(checker, letter(1))
    checker.now = REMEMBERED_AFTER + late
    checker.reader_ended(("q", 1))
    checker.reader_ended(("p", 1))
    checker.now += 1
    checker.subscribed(BOX, Wish("roads/#"))
    if not late:
        checker.delivered(BOX, READER, letter(1))
        return
    with pytest.raises(Wrong, match="wants all of roads/#"):
        checker.delivered(BOX, READER, letter(1))


def test_subscribing_catches_a_letter_that_never_came() -> None:
    checker = begun()
    send(checker, letter(1), letter(2))
    checker.delivered(BOX, READER, letter(2))
    with pytest.raises(Wrong, match=r"1 acknowledged letters never reached a subscription: .*#1 at sub/board/all"):
        checker.finish()


def test_subscribing_catches_a_letter_that_nobody_published() -> None:
    checker = begun()
    with pytest.raises(Wrong, match="never published"):
        checker.delivered(BOX, READER, letter(1))


def test_subscribing_catches_a_letter_that_is_not_wanted() -> None:
    checker = begun("roads/*")
    send(checker, letter(1, "roads/a1/speed"))
    with pytest.raises(Wrong, match=r"which wants all of roads/\*"):
        checker.delivered(BOX, READER, letter(1, "roads/a1/speed"))


def test_subscribing_catches_a_letter_that_comes_twice() -> None:
    checker = begun()
    send(checker, letter(1))
    checker.delivered(BOX, READER, letter(1))
    with pytest.raises(Wrong, match="delivered twice"):
        checker.delivered(BOX, READER, letter(1))


def test_subscribing_allows_the_next_reader_what_the_last_one_did_not_finish() -> None:
    checker = begun()
    send(checker, letter(1))
    checker.delivered(BOX, READER, letter(1))
    checker.reader_ended(READER)
    checker.delivered(BOX, ("board", 2), letter(1))


def test_subscribing_catches_a_letter_that_was_done() -> None:
    checker = begun()
    send(checker, letter(1))
    checker.delivered(BOX, READER, letter(1))
    checker.settlement_confirmed(BOX, READER, letter(1))
    checker.reader_ended(READER)
    with pytest.raises(Wrong, match="was done"):
        checker.delivered(BOX, ("board", 2), letter(1))


def test_subscribing_catches_disorder_of_one_publisher() -> None:
    checker = begun()
    send(checker, letter(1), letter(2))
    checker.delivered(BOX, READER, letter(2))
    with pytest.raises(Wrong, match="after"):
        checker.delivered(BOX, READER, letter(1))


def test_subscribing_catches_disorder_behind_letters_of_other_topics() -> None:
    checker = begun()
    send(checker, letter(1), letter(2), letter(1, "roads/b7"))
    checker.delivered(BOX, READER, letter(2))
    checker.delivered(BOX, READER, letter(1, "roads/b7"))
    with pytest.raises(Wrong, match="after"):
        checker.delivered(BOX, READER, letter(1))


def test_subscribing_allows_any_order_of_recoverable_letters_and_other_lives() -> None:
    checker = begun()
    letters = [letter(2, stream=RECOVERABLE), letter(1, stream=RECOVERABLE), letter(2), letter(1, life=2)]
    send(checker, *letters)
    for one in letters:
        checker.delivered(BOX, READER, one)


# Colours --------------------------------------------------------------------------------------------------------
def test_subscribing_owes_only_letters_of_the_colour_that_is_wanted() -> None:
    checker = begun(colour="red")
    red, blue, plain = letter(2), letter(1), letter(4)
    assert [one.colour for one in (red, blue, plain)] == ["red", "blue", ""]
    send(checker, red, blue, plain)
    assert checker.owed() == [(BOX, red)]
    checker.delivered(BOX, READER, red)
    checker.finish()


@pytest.mark.parametrize("number", [1, 4])
def test_subscribing_catches_a_letter_of_another_colour_or_none(number: int) -> None:
    checker = begun(colour="red")
    send(checker, letter(number))
    with pytest.raises(Wrong, match=r"which wants red of roads/#"):
        checker.delivered(BOX, READER, letter(number))


# Changes --------------------------------------------------------------------------------------------------------
def changed() -> Subscribing:
    """Wanted roads from 5 on, asks for rails at 10, was told of it at 15; letters 1 and 2 before, 3 between."""
    checker = begun()
    checker.now = 7
    send(checker, letter(1), letter(2))
    checker.now = 10
    assert checker.subscribed(BOX, Wish("rails/#"))
    checker.now = 12
    send(checker, letter(3), letter(1, "rails/x"))
    checker.now = 15
    checker.subscription_begun(BOX)
    return checker


def test_subscribing_owes_nothing_of_the_former_wish_and_allows_what_was_sent_under_it() -> None:
    checker = changed()
    assert checker.owed() == []
    checker.delivered(BOX, READER, letter(2))
    checker.delivered(BOX, READER, letter(3))
    checker.finish()


def test_subscribing_owes_what_is_sent_after_a_change_was_confirmed() -> None:
    checker = changed()
    checker.now = 20
    send(checker, letter(2, "rails/x"))
    assert checker.owed() == [(BOX, letter(2, "rails/x"))]


def test_subscribing_catches_what_only_the_former_wish_wants_and_was_sent_after_the_change() -> None:
    checker = begun()
    checker.now = 10
    checker.subscribed(BOX, Wish("roads/b7"))
    checker.now = 15
    checker.subscription_begun(BOX)
    checker.now = 20
    send(checker, letter(4))
    with pytest.raises(Wrong, match=r"wants all of roads/b7 .*; before it: all of roads/#"):
        checker.delivered(BOX, READER, letter(4))


def test_subscribing_allows_that_items_without_anything_wanted_now_hear_of_a_change_later() -> None:
    checker = changed()
    checker.now = 20
    send(checker, letter(4))
    checker.delivered(BOX, READER, letter(4))


def test_subscribing_catches_what_was_acknowledged_before_anybody_asked_for_it() -> None:
    checker = begun()
    send(checker, letter(1, "rails/x"))
    checker.now = 10
    checker.subscribed(BOX, Wish("rails/#"))
    with pytest.raises(Wrong, match="acknowledged"):
        checker.delivered(BOX, READER, letter(1, "rails/x"))


def test_subscribing_goes_on_when_the_next_life_wants_the_same() -> None:
    checker = begun()
    send(checker, letter(1))
    checker.now = 10
    assert not checker.subscribed(BOX, Wish("roads/#"))
    assert checker.owed() == [(BOX, letter(1))]


def test_subscribing_catches_that_a_reader_is_not_served() -> None:
    checker = begun()
    with pytest.raises(Wrong, match=r"not served.*IN_USE"):
        checker.subscription_refused(BOX, "IN_USE")


# Endings --------------------------------------------------------------------------------------------------------
def test_subscribing_owes_nothing_to_a_subscription_that_ends() -> None:
    checker = begun()
    send(checker, letter(1))
    checker.subscription_ending(BOX)
    send(checker, letter(2))
    checker.subscription_begun(BOX)
    checker.subscription_ended(BOX)
    send(checker, letter(3))
    checker.finish()


def test_subscribing_catches_a_letter_for_a_subscription_that_has_ended() -> None:
    checker = begun()
    send(checker, letter(1))
    checker.subscription_ending(BOX)
    checker.subscription_ended(BOX)
    with pytest.raises(Wrong, match="wants nothing any more"):
        checker.delivered(BOX, READER, letter(1))


def test_subscribing_catches_a_letter_of_a_former_life() -> None:
    checker = begun()
    send(checker, letter(1))
    checker.subscription_ending(BOX)
    checker.subscription_ended(BOX)
    checker.now = 10
    assert not checker.subscribed(BOX, Wish("roads/#"))
    checker.now = 11
    checker.subscription_begun(BOX)
    send(checker, letter(2))
    assert checker.owed() == [(BOX, letter(2))]
    with pytest.raises(Wrong, match="acknowledged"):
        checker.delivered(BOX, READER, letter(1))


@pytest.mark.parametrize(("pattern", "expected"), [("roads/#", 1), ("critical/x", 2), ("*/x", 66), ("#", 96)])
def test_subscribing_knows_how_many_items_know(pattern: str, expected: int) -> None:
    checker = begun(pattern)
    checker.registrations = expected
    checker.finish()
    checker.subscription_ending(BOX)
    with pytest.raises(Wrong, match=rf"items know {expected} subscriptions instead of 0"):
        checker.finish()


# Retained -------------------------------------------------------------------------------------------------------
def notice(number: int, source: str = "p") -> Letter:
    found = letter(number, "notices/a", source=source)
    assert found.retained
    return found


def greeted() -> Subscribing:
    """Asks at 20 for notices, of which 1 was replaced by 2, or perhaps by that of another publisher."""
    checker = Subscribing()
    for now, letters in ((1, [notice(1)]), (5, [notice(2)])):
        checker.now = now
        checker.sent(letters[0])
        if now == 5:
            checker.sent(notice(1, source="q"))
        checker.now = now + 2
        for one in letters:
            checker.acknowledged(one)
    checker.acknowledged(notice(1, source="q"))
    checker.now = 20
    checker.subscribed(BOX, Wish("notices/*", retained=True))
    return checker


@pytest.mark.parametrize("source", ["p", "q"])
def test_subscribing_is_content_with_either_of_two_that_were_retained_at_one_time(source: str) -> None:
    checker = greeted()
    assert len(checker.owed()) == 1
    checker.delivered(BOX, READER, notice(2 if source == "p" else 1, source))
    checker.finish()


def test_subscribing_catches_that_nothing_retained_came() -> None:
    checker = greeted()
    checker.subscription_begun(BOX)
    with pytest.raises(Wrong, match="1 acknowledged letters never reached"):
        checker.finish()


def test_subscribing_does_not_take_what_is_published_later_for_what_was_retained() -> None:
    checker = greeted()
    checker.subscription_begun(BOX)
    checker.now = 25
    send(checker, notice(4))
    checker.delivered(BOX, READER, notice(4))
    assert len(checker.owed()) == 1


def test_subscribing_catches_a_retained_letter_that_was_replaced() -> None:
    checker = greeted()
    with pytest.raises(Wrong, match="and what is retained"):
        checker.delivered(BOX, READER, notice(1))


def test_subscribing_catches_a_retained_letter_that_was_not_asked_for() -> None:
    checker = Subscribing()
    send(checker, notice(1))
    checker.now = 5
    checker.subscribed(BOX, Wish("notices/*"))
    with pytest.raises(Wrong, match="wants all of notices"):
        checker.delivered(BOX, READER, notice(1))


def test_subscribing_allows_a_retained_letter_again_when_it_begins_anew() -> None:
    checker = greeted()
    checker.delivered(BOX, READER, notice(2))
    checker.settlement_confirmed(BOX, READER, notice(2))
    checker.subscription_ending(BOX)
    checker.subscription_ended(BOX)
    checker.now = 30
    checker.subscribed(BOX, Wish("notices/*", retained=True))
    checker.delivered(BOX, READER, notice(2))
    checker.finish()


def test_subscribing_owes_nothing_retained_when_nobody_knows_whether_it_begins_anew() -> None:
    checker = greeted()
    checker.subscribed(BOX, Wish("roads/#"))
    checker.subscribed(BOX, Wish("notices/*", retained=True))
    assert checker.owed() == []


def test_subscribing_owes_nothing_retained_of_a_colour_because_another_colour_may_take_its_place() -> None:
    checker = Subscribing()
    send(checker, notice(2))
    checker.now = 5
    checker.subscribed(BOX, Wish("notices/*", notice(2).colour, retained=True))
    assert checker.owed() == []
    checker.delivered(BOX, READER, notice(2))


@pytest.mark.parametrize(
    ("pattern", "topic", "expected"),
    [
        ("roads/a1", "roads/a1", True),
        ("roads/a1", "roads/a1/x", False),
        ("roads/*", "roads/a1", True),
        ("roads/*", "roads", False),
        ("roads/#", "roads", True),
        ("roads/#", "roads/a1/x", True),
        ("#", "anything/at/all", True),
        ("roads/*/speed", "roads/a1/noise", False),
    ],
)
def test_wants_compares_level_by_level(pattern: str, topic: str, expected: bool) -> None:
    assert wants(pattern, topic) is expected
