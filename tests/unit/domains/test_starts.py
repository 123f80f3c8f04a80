"""First splits: trees within their bounds, whatever the traffic."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.domains.graph import DomainGraph
from causeway.domains.split import Split, Ways
from causeway.domains.starts import Circles, Problem, starts
from causeway.domains.steps import Effort, fits, improve_small
from causeway.domains.traffic import Prices, Traffic

TRAFFIC = st.integers(1, 24).flatmap(
    lambda units: st.lists(
        st.tuples(st.integers(0, units - 1), st.integers(0, units - 1), st.sampled_from((1.0, 2.0, 9.0))), max_size=50
    ).map(lambda pairs: Traffic.numbered(units, pairs))
)


def check(split: Split) -> None:
    graph = DomainGraph({str(unit): tuple(map(str, homes)) for unit, homes in enumerate(split.homes)})
    assert graph.find_cycle() is None
    assert Ways(split).whole
    assert all(len(homes) >= 1 for homes in split.homes)


@settings(max_examples=150, deadline=None)
@given(traffic=TRAFFIC, size_max=st.sampled_from((2, 3, 5, 64)), room=st.sampled_from((2, 3, 16)))
def test_every_start_is_a_tree_and_there_is_one(traffic: Traffic, size_max: int, room: int) -> None:
    problem = Problem(traffic, Prices(), size_max, (room,) * len(traffic.names))
    found = list(starts(problem))
    for split in found:
        check(split)
    usable = [split for split in found if fits(problem, split, list(split.members))]
    assert usable or room < 16


@settings(max_examples=25, deadline=None)
@given(traffic=TRAFFIC, size_max=st.sampled_from((2, 4, 64)), work=st.integers(1, 20_000))
def test_improving_keeps_a_tree_within_its_bounds_wherever_it_stops(traffic: Traffic, size_max: int, work: int) -> None:
    problem = Problem(traffic, Prices(), size_max, (16,) * len(traffic.names))
    split = next(split for split in starts(problem) if fits(problem, split, list(split.members)))
    cost, better = improve_small(problem, split, float("inf"), Effort(work))
    assert cost > 0 or not traffic.pairs
    check(better)
    assert fits(problem, better, list(better.members))


def test_circles_are_who_talks_most_up_to_the_bound() -> None:
    traffic = Traffic.numbered(5, [(0, 1, 9.0), (1, 2, 8.0), (3, 4, 7.0), (2, 3, 1.0)])
    circles = Circles(traffic, list(range(5)))
    circles.merge(2)
    assert circles.parts() == [[0, 1], [2], [3, 4]]
    circles.merge(3)
    assert circles.parts() == [[0, 1, 2], [3, 4]]


@pytest.mark.parametrize("units", [1, 2])
def test_one_or_two_are_one_domain(units: int) -> None:
    problem = Problem(Traffic.numbered(units, []), Prices(), 64, (16,) * units)
    assert next(iter(starts(problem))).described() == [tuple(range(units))]
