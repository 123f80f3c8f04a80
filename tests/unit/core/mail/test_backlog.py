"""The stretch behind the window."""

from __future__ import annotations

from causeway.core.mail.backlog import Backlog
from causeway.core.mail.rows import SETTLED, Mark, StoredBatch, batch_key
from causeway.types import VOLATILE_FROM


def info(seq: int, count: int = 1, before: int = 0) -> StoredBatch:
    return StoredBatch(seq, "a", 1, 1, 1, count, 0, 4, 0, 0, b"", b"x" * count, before, before)


def test_dropped_batches_open_the_stretch_and_are_counted() -> None:
    backlog = Backlog()
    assert not backlog.is_open
    assert backlog.ask(None) is None
    backlog.drop(info(10, 5, 100))
    backlog.drop(info(16, 2, 105))
    assert backlog.is_open
    assert (backlog.count, backlog.size) == (7, 7)
    assert backlog.ask(None) == (batch_key(10), batch_key(18))
    assert backlog.ask(None) is None
    backlog.loaded(info(10, 5, 100))
    assert backlog.count == 2
    backlog.advance(16)
    assert backlog.ask(None) == (batch_key(16), batch_key(18))
    backlog.advance(None)
    assert not backlog.is_open
    assert backlog.count == 0


def test_a_page_stops_below_the_first_uncommitted_number() -> None:
    backlog = Backlog()
    backlog.drop(info(10))
    assert backlog.ask(11) == (batch_key(10), batch_key(11))
    backlog.drop(info(11, before=1))
    assert backlog.ignores(11)
    assert not backlog.ignores(10)
    backlog.advance(None)
    assert backlog.is_open
    assert backlog.start == 11


def test_a_number_taken_while_an_endless_page_is_loaded_is_not_taken_from_it() -> None:
    backlog = Backlog()
    backlog.open(10, 12, (5, 5))
    assert backlog.ask(None) == (batch_key(10), batch_key(VOLATILE_FROM))
    backlog.taken(20)
    backlog.taken(21)
    assert backlog.ignores(20)
    assert not backlog.ignores(19)
    backlog.drop(info(20, before=5))
    backlog.advance(None)
    assert backlog.is_open
    assert backlog.start == 20
    assert backlog.ask(None) == (batch_key(20), batch_key(21))


def test_a_batch_that_ended_while_its_row_was_loaded_is_ignored_once() -> None:
    backlog = Backlog()
    backlog.gone(10)
    backlog.drop(info(10))
    backlog.drop(info(11, before=1))
    assert not backlog.ignores(10)
    backlog.ask(None)
    backlog.gone(10)
    assert backlog.ignores(10)
    backlog.advance(11)
    assert not backlog.ignores(10)


def test_a_failed_load_is_asked_for_again() -> None:
    backlog = Backlog()
    backlog.drop(info(10))
    asked = backlog.ask(None)
    backlog.advance(10)
    assert backlog.ask(None) == asked


def test_settling_ahead_is_bounded_to_the_stretch_and_claimed_by_the_batch() -> None:
    backlog = Backlog()
    backlog.drop(info(10, 5))
    backlog.drop(info(16, 4, 5))
    assert backlog.settle(0, 9) == []
    assert backlog.settle(12, 1 << 60) == [(12, (Mark(12, 19, SETTLED),))]
    assert backlog.claim(10, 14) == ((Mark(12, 14, SETTLED),), (Mark(15, 19, SETTLED),), [])
    assert backlog.claim(16, 19) == ((Mark(16, 19, SETTLED),), (), [15])
    assert backlog.claim(20, 29) == ((), (), [])


def test_marks_of_one_row_add_up() -> None:
    backlog = Backlog()
    backlog.drop(info(10, 5))
    backlog.mark(10, (Mark(10, 12, 2),))
    found = backlog.settle(10, 10)
    assert found == [(10, (Mark(10, 12, 2), Mark(10, 10, SETTLED)))]


def test_what_is_settled_already_is_not_marked_again() -> None:
    backlog = Backlog()
    backlog.mark(14, (Mark(14, 15, SETTLED),))
    backlog.drop(info(10, 10))
    assert backlog.settle(11, 11) == [(11, (Mark(11, 11, SETTLED),))]
    assert backlog.settle(11, 16) == [(12, (Mark(12, 13, SETTLED),)), (16, (Mark(16, 16, SETTLED),))]
    assert backlog.settle(11, 16) == []


def test_a_batch_claims_every_row_within_it_and_what_reaches_behind_joins_the_next_row() -> None:
    backlog = Backlog()
    backlog.open(10, 30, (20, 20))
    backlog.mark(10, (Mark(10, 11, 2),))
    backlog.mark(15, (Mark(15, 19, 1),))
    backlog.settle(13, 16)
    claim = backlog.claim(10, 14)
    assert claim.marks == (Mark(10, 11, 2), Mark(13, 14, SETTLED))
    assert claim.behind == (Mark(15, 16, SETTLED), Mark(15, 19, 1))
    assert backlog.claim(15, 19).marks == claim.behind


def test_marks_that_no_batch_claimed_are_handed_out_as_stale() -> None:
    backlog = Backlog()
    backlog.mark(3, (Mark(3, 3, 1),))
    backlog.mark(5, (Mark(5, 11, 1),))
    backlog.mark(12, (Mark(12, 12, 1),))
    backlog.open(10, 20, (9, 9))
    assert backlog.advance(None) == [3]
    assert backlog.claim(10, 11) == ((Mark(10, 11, 1),), (), [5])
    backlog.ask(None)
    assert backlog.advance(None) == [12]
