from __future__ import annotations

import pytest

from causeway.sim.checkers.base import Wrong
from causeway.sim.checkers.subscribing import Subscribing, wants
from causeway.sim.letters import PUBLISHED, Letter
from causeway.types import ServiceClass

BOX = "sub/board/all"
READER = ("board", 1)
TRANSACTIONAL, RECOVERABLE = ServiceClass.TRANSACTIONAL, ServiceClass.RECOVERABLE


def letter(
    number: int, topic: str = "roads/a1", stream: ServiceClass = TRANSACTIONAL, source: str = "p", life: int = 1
) -> Letter:
    return Letter(source, life, PUBLISHED + topic, stream, number)


def begun(pattern: str = "roads/#") -> Subscribing:
    checker = Subscribing()
    checker.subscribed(BOX, pattern)
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
    checker.subscribed(BOX, "roads/#")
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
    with pytest.raises(Wrong, match=r"which wants roads/\*"):
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
