"""What a stream counts as seen, what of it is safe to write, and the bound of incarnations."""

from __future__ import annotations

from causeway.core.mail.rows import SeenRow, seen_key
from causeway.core.mail.seen import ORDERED, AdmittedStream, Seen
from causeway.limits import SEEN_INCARNATIONS_MAX, SEEN_RANGES_MAX
from causeway.types import VOLATILE_FROM


def test_unordered_stream_keeps_a_bounded_number_of_runs_and_never_invents_an_id() -> None:
    stream = AdmittedStream("a", 1, 1)
    for n in range(SEEN_RANGES_MAX + 10):
        stream.admit(2 * n + 1, 2 * n + 1)
    assert len(stream.ids) == SEEN_RANGES_MAX
    assert stream.missing(2, 2) == [(2, 2)]
    assert stream.missing(2 * SEEN_RANGES_MAX + 1, 2 * SEEN_RANGES_MAX + 1) == []


def test_ordered_stream_counts_everything_below_as_seen() -> None:
    stream = AdmittedStream("a", 1, ORDERED)
    stream.admit(10, 12)
    assert stream.ids.spans() == [(1, 12)]


def test_row_leaves_out_what_is_passing() -> None:
    stream = AdmittedStream("a", 1, 1)
    stream.admit(1, 20)
    stream.pending = {7: (1, 4), VOLATILE_FROM: (5, 9), VOLATILE_FROM + 5: (15, 20)}
    assert stream.safe_row((0, 0)).spans == [(1, 4), (10, 14)]


def test_row_of_an_ordered_stream_stops_below_the_first_passing_id() -> None:
    stream = AdmittedStream("a", 1, ORDERED)
    stream.admit(1, 30)
    stream.pending = {VOLATILE_FROM: (11, 20)}
    assert stream.safe_row((0, 0)).spans == [(1, 10)]
    stream.pending = {VOLATILE_FROM: (1, 20)}
    assert stream.safe_row((0, 0)).spans == []


def test_waits_for_the_latest_unsafe_batch_that_overlaps() -> None:
    stream = AdmittedStream("a", 1, 1)
    stream.pending = {10: (1, 5), 15: (6, 9), 19: (10, 12)}
    assert stream.waits_for(4, 7) == 15
    assert stream.waits_for(13, 20) is None


def test_seen_forgets_the_least_recently_used_incarnation_but_none_that_is_busy() -> None:
    seen = Seen()
    for incarnation in range(SEEN_INCARNATIONS_MAX):
        seen.use("a", incarnation, 1)[0].written = True
    seen.use("b", 0, 1)
    seen.use("a", 0, 1)
    _, new = seen.use("a", 1_000, 1)
    assert new
    assert seen.forget("a", lambda stream: stream.incarnation == 1) == [seen_key("a", 2, 1)]
    assert seen.find("a", 2, 1) is None
    assert all(seen.find("a", kept, 1) is not None for kept in (0, 1, 3, 1_000))
    assert seen.find("b", 0, 1) is not None
    assert seen.forget("a", lambda stream: False) == []


def test_seen_never_forgets_the_incarnation_just_used() -> None:
    seen = Seen()
    for incarnation in range(SEEN_INCARNATIONS_MAX + 1):
        seen.use("a", incarnation, 1)
    assert seen.forget("a", lambda stream: stream.incarnation != SEEN_INCARNATIONS_MAX) == []
    assert seen.find("a", SEEN_INCARNATIONS_MAX, 1) is not None


def test_seen_restores_the_order_of_use() -> None:
    seen = Seen()
    rows = [(seen_key("a", n, 1), SeenRow([(1, n)], SEEN_INCARNATIONS_MAX - n, n, 0, 0)) for n in range(1, 65)]
    seen.restore(rows)
    seen.use("a", 99, 1)
    assert seen.forget("a", lambda stream: False) == [seen_key("a", 64, 1)]
    found = seen.find("a", 5, 1)
    assert found is not None
    assert found.ids.spans() == [(1, 5)]
    assert found.last == 5
