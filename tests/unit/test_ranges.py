"""Sets of ids as runs, against a plain set."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from causeway.ranges import IdSet, disjoint, merged
from causeway.types import Span

spans = st.tuples(st.integers(1, 60), st.integers(0, 12)).map(lambda pair: (pair[0], pair[0] + pair[1]))
steps = st.lists(st.tuples(st.booleans(), spans), max_size=30)


def build(script: list[tuple[bool, tuple[int, int]]]) -> tuple[IdSet, set[int]]:
    runs, plain = IdSet(), set()
    for adding, (first, last) in script:
        if adding:
            runs.add(first, last)
            plain |= set(range(first, last + 1))
        else:
            runs.remove(first, last)
            plain -= set(range(first, last + 1))
    return runs, plain


def ids(found: list[tuple[int, int]]) -> list[int]:
    return [number for first, last in found for number in range(first, last + 1)]


@given(steps)
def test_id_set_holds_what_a_plain_set_holds(script: list[tuple[bool, tuple[int, int]]]) -> None:
    runs, plain = build(script)
    assert ids(runs.spans()) == sorted(plain)
    assert [number for number in range(80) if number in runs] == sorted(plain)
    assert runs.high == max(plain, default=0)
    assert bool(runs) == bool(plain)


@given(steps)
def test_id_set_keeps_the_fewest_runs(script: list[tuple[bool, tuple[int, int]]]) -> None:
    runs, plain = build(script)
    starts = [number for number in sorted(plain) if number - 1 not in plain]
    assert len(runs) == len(starts)


@given(steps, spans)
def test_missing_is_what_the_set_lacks(script: list[tuple[bool, tuple[int, int]]], span: tuple[int, int]) -> None:
    runs, plain = build(script)
    assert ids(runs.missing(*span)) == [number for number in range(span[0], span[1] + 1) if number not in plain]


def test_nothing_is_missing_of_no_ids() -> None:
    assert IdSet().missing(5, 4) == []
    assert IdSet([(1, 3)]).missing(5, 4) == []


@given(steps, st.integers(1, 80))
def test_end_of_run_is_the_last_consecutive_member(script: list[tuple[bool, tuple[int, int]]], number: int) -> None:
    runs, plain = build(script)
    end = number - 1
    while end + 1 in plain:
        end += 1
    assert runs.end_of(number) == (end if number in plain else number - 1)


def test_lowest_runs_are_forgotten_first() -> None:
    runs = IdSet([(1, 2), (5, 6), (9, 9)])
    runs.forget_lowest(2)
    assert runs.spans() == [(5, 6), (9, 9)]


@given(st.lists(spans, max_size=20))
def test_merged_spans_hold_the_same_ids(found: list[tuple[int, int]]) -> None:
    assert ids(merged(found)) == sorted({*ids(found)})


@pytest.mark.parametrize(
    ("given_spans", "same"),
    [
        ([], []),
        ([(1, 2), (3, 3), (9, 9)], [(1, 2), (3, 3), (9, 9)]),
        ([(5, 6), (1, 2)], [(1, 2), (5, 6)]),
        ([(1, 4), (2, 3), (4, 9), (1, 1)], [(1, 9)]),
    ],
)
def test_disjoint_spans_are_in_order_and_name_each_id_once(given_spans: list[Span], same: list[Span]) -> None:
    assert disjoint(given_spans) == same


def test_runs_below_a_number_are_forgotten() -> None:
    ids = IdSet([(1, 3), (5, 9), (12, 12)])
    ids.forget_below(9)
    assert ids.spans() == [(5, 9), (12, 12)]


@given(steps, spans)
def test_common_and_missing_make_up_the_whole(script: list[tuple[bool, Span]], asked: Span) -> None:
    runs, plain = build(script)
    common, missing = runs.common(*asked), runs.missing(*asked)
    assert [n for first, last in common for n in range(first, last + 1)] == sorted(
        n for n in range(asked[0], asked[1] + 1) if n in plain
    )
    assert merged([*common, *missing]) == [asked]
