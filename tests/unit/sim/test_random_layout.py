from __future__ import annotations

import random

import pytest

from causeway.domains import DomainGraph
from causeway.sim.random_layout import random_tree, seat_for_newcomer


@pytest.mark.parametrize(("brokers", "domains"), [(1, 1), (2, 1), (5, 2), (9, 8), (60, 15)])
@pytest.mark.parametrize("seed", range(5))
def test_tree_has_all_brokers_and_domains_and_no_cycle(seed: int, brokers: int, domains: int) -> None:
    names = [f"b{number}" for number in range(brokers)]
    seating = random_tree(random.Random(seed), names, domains)
    graph = DomainGraph(seating)
    assert list(seating) == names
    assert all(seating.values())
    assert len(graph.domains) == domains
    assert graph.find_cycle() is None
    assert all(graph.path(names[0], name) is not None for name in names)
    assert brokers == 1 or min(len(seats) for seats in graph.domains.values()) >= 2


def test_there_are_never_more_domains_than_brokers_and_none_where_none_are_wanted() -> None:
    assert random_tree(random.Random(1), ["a", "b"], 9) == {"a": ("d0",), "b": ("d0",)}
    assert random_tree(random.Random(1), ["a", "b"], 0) == {"a": (), "b": ()}


def test_newcomers_sit_in_a_domain_that_is_there_or_in_none() -> None:
    seating = {"a": ("x", "y"), "b": ("y",)}
    rng = random.Random(1)
    assert {seat_for_newcomer(rng, seating) for _ in range(50)} == {(), ("x",), ("y",)}
    assert seat_for_newcomer(rng, {"a": ()}) == ()
