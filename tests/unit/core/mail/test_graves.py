"""A message is settled or a dead letter, never both."""

from __future__ import annotations

import pytest

from causeway.core.mail import graves
from tests.unit.core.mail.postroom import EXPRESS, Postroom, deposit, transaction


def condemned(**settings: object) -> tuple[Postroom, int]:
    """Three messages, the second given back too often."""
    room = Postroom(deliveries_max=1, **settings)
    room.attach()
    seq = room.stored(1, 3)
    room.pump()
    room.give_back((seq + 1, seq + 1))
    room.commit()
    return room, seq


def bury(room: Postroom, *numbers: int) -> None:
    room.append(room.mailbox.settle_numbers([(number, number) for number in numbers]).writes)
    room.commit()


@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.parametrize("window", [1 << 20, 1])
@pytest.mark.parametrize("buried", [False, True])
def test_settlement_of_a_condemned_message_is_not_confirmed_during_its_burial_nor_after_it(
    *, crash: bool, window: int, buried: bool
) -> None:
    room, seq = condemned(window_bytes=window)
    if buried:
        bury(room, seq + 1)
    if crash:
        room.crash()
    settled = room.settle((seq, seq + 2))
    assert list(settled.dead) == [(seq + 1, seq + 1)]
    assert settled.locked == []
    room.commit()
    assert list(room.settle((seq, seq + 2)).dead) == [(seq + 1, seq + 1)]


def test_condemned_message_behind_the_window_is_still_buried_after_a_settlement_of_it() -> None:
    room = Postroom(deliveries_max=1, window_bytes=1)
    first = room.stored(1)
    seq = room.stored(2)
    room.attach()
    room.pump()
    room.page()
    room.pump()
    assert len(room.give_back((seq, seq)).dead) == 1
    room.commit()
    room.crash()
    assert room.mailbox.condemned() == [], "it lies behind the window"
    settled = room.settle((first, seq))
    assert list(settled.dead) == [(seq, seq)]
    room.commit()
    wanted = room.mailbox.page_wanted()
    assert wanted is not None
    dead = room.mailbox.page_in([room.disk[key] for key in sorted(room.disk) if key[:1] == b"b"], None)
    assert [batch.first for batch in dead] == [2]


def test_settlement_of_a_locked_message_is_left_open() -> None:
    room = Postroom()
    seq = room.stored(1, 3)
    room.prepare(transaction(settles=[(seq + 1, seq + 1)]))
    settled = room.settle((seq, seq + 2))
    assert (settled.dead, settled.locked) == ([], [(seq + 1, seq + 1)])


def test_express_message_that_was_buried_leaves_no_row() -> None:
    room = Postroom(deliveries_max=1)
    room.attach()
    number = room.hold(deposit(1, stream=EXPRESS))
    assert number is not None
    room.pump()
    room.give_back((number, number))
    assert list(room.settle((number, number)).dead) == [(number, number)]
    bury(room, number)
    assert room.rows == {}
    assert room.settle((number, number)).dead == []


def test_buried_numbers_are_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graves, "BURIED_RANGES_MAX", 2)
    room = Postroom(deliveries_max=1)
    room.attach()
    seq = room.stored(1, 7)
    room.pump()
    numbers = [seq, seq + 2, seq + 4]
    for number in numbers:
        room.give_back((number, number))
        bury(room, number)
    room.crash()
    assert list(room.settle((seq, seq + 6)).dead) == [(number, number) for number in numbers[1:]]
