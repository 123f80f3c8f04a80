"""When something expires on disk, roughly and never too late."""

from __future__ import annotations

from causeway.core.mail.rows import StoredBatch
from causeway.core.mail.stretches import Stretch, Stretches
from causeway.limits import LOOK_BYTES
from causeway.types import VOLATILE_FROM


def info(seq: int, expires: int, before: int = 0, count: int = 1) -> StoredBatch:
    return StoredBatch(seq, "a", 1, 1, 1, count, 0, 4, expires, 0, b"", b"", 0, before)


def test_neighbours_form_one_stretch_that_is_due_with_the_first_of_them() -> None:
    stretches = Stretches()
    assert stretches.due is None
    stretches.add(info(10, 70))
    stretches.add(info(11, 50, 100, 5))
    stretches.add(info(20, 90, 200))
    assert stretches.due == 50
    assert stretches.take(49, 0) is None
    assert stretches.take(50, 0) == Stretch(10, 21, 50, 0)
    assert stretches.due is None


def test_what_comes_a_look_later_is_a_stretch_of_its_own() -> None:
    stretches = Stretches()
    stretches.add(info(10, 70))
    stretches.add(info(11, 60, LOOK_BYTES))
    stretches.add(info(12, 50, LOOK_BYTES + 1))
    assert stretches.take(50, 0) == Stretch(11, 13, 50, LOOK_BYTES)
    assert stretches.due == 70


def test_what_was_consumed_is_forgotten() -> None:
    stretches = Stretches()
    stretches.add(info(10, 50))
    stretches.add(info(20, 60, LOOK_BYTES))
    assert stretches.take(55, 11) is None
    assert stretches.due == 60
    assert stretches.take(60, 21) is None
    assert stretches.due is None


def test_after_a_takeover_everything_is_due_and_newer_batches_are_not_part_of_it() -> None:
    stretches = Stretches()
    stretches.open(10, ((5, 50), (9, 90)))
    assert stretches.due == 0
    stretches.add(info(30, 50))
    stretches.add(info(31, 40))
    assert stretches.take(1, 10) == Stretch(10, VOLATILE_FROM, 0, unread=((5, 50), (9, 90)))
    assert stretches.take(50, 10) == Stretch(30, 32, 40, 0)


def test_a_stretch_that_is_put_back_takes_its_place() -> None:
    stretches = Stretches()
    stretches.add(info(30, 20))
    stretches.put(Stretch(10, 15, 30))
    assert stretches.due == 20
    first, second = stretches.take(30, 0), stretches.take(30, 0)
    assert first is not None
    assert second is not None
    assert (first.start, second.start) == (10, 30)
