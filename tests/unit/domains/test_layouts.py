"""Layouts are trees of the shape they are named after, for every number of brokers and domains that can be had."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.domains.graph import DomainGraph
from causeway.domains.layouts import (
    BACKBONE,
    Layout,
    bus,
    daisy,
    domains_for,
    fixed_tree,
    flat,
    grown,
    lay_out,
    seats_of_tree,
    smallest_tree,
    tree,
)
from causeway.domains.limits import SEATS_PER_DOMAIN_MAX
from causeway.errors import ConfigError


def names(count: int) -> list[str]:
    return [f"b{number}" for number in range(1, count + 1)]


def check_tree(layout: Layout) -> DomainGraph:
    graph = DomainGraph(layout)
    assert graph.find_cycle() is None
    first = next(iter(layout))
    assert all(graph.path(first, name) is not None for name in layout), "connected"
    assert max(map(len, graph.domains.values())) <= SEATS_PER_DOMAIN_MAX
    return graph


def sizes(graph: DomainGraph) -> dict[str, int]:
    return {domain: len(seats) for domain, seats in graph.domains.items()}


# Shapes -------------------------------------------------------------------------------------------------------------
@settings(deadline=None)
@given(brokers=st.integers(1, 200), domains=st.integers(1, 80), kind=st.sampled_from(("bus", "daisy", "tree")))
def test_every_layout_is_a_tree_or_says_what_would_do(brokers: int, domains: int, kind: str) -> None:
    try:
        layout = lay_out(kind, names(brokers), domains)
    except ConfigError:
        with pytest.raises(ConfigError, match=rf"^domains={domains}: .*at (least|most) \d+"):
            lay_out(kind, names(brokers), domains)
        return
    graph = check_tree(layout)
    assert list(layout) == names(brokers)
    assert len(graph.domains) == domains + (kind == "bus" and domains > 1)
    assert all(size > 1 for size in sizes(graph).values()) or brokers == 1


@settings(deadline=None)
@given(data=st.data(), domains=st.integers(2, 64))
def test_bus_is_one_backbone_of_one_router_per_domain(data: st.DataObject, domains: int) -> None:
    brokers = data.draw(st.integers(2 * domains, 6 * domains))
    graph = DomainGraph(bus(names(brokers), domains))
    routers = [name for name, where in graph.seats.items() if len(where) > 1]
    assert list(graph.domains[BACKBONE]) == routers
    assert [graph.seats[name] for name in routers] == [(f"d{at}", BACKBONE) for at in range(1, domains + 1)]
    own = [size for domain, size in sizes(graph).items() if domain != BACKBONE]
    assert max(own) - min(own) <= 1


@settings(deadline=None)
@given(data=st.data(), domains=st.integers(2, 50))
def test_daisy_is_a_chain(data: st.DataObject, domains: int) -> None:
    graph = DomainGraph(daisy(names(data.draw(st.integers(domains + 1, 5 * domains))), domains))
    routers = [where for where in graph.seats.values() if len(where) > 1]
    assert routers == [(f"d{at}", f"d{at + 1}") for at in range(1, domains)]
    assert max(sizes(graph).values()) - min(sizes(graph).values()) <= 1


@settings(deadline=None)
@given(data=st.data(), domains=st.integers(2, 40), children=st.integers(1, 5))
def test_tree_shares_one_router_with_each_child(data: st.DataObject, domains: int, children: int) -> None:
    brokers = data.draw(st.integers(2 * domains, 6 * domains))
    graph = check_tree(tree(names(brokers), domains, children))
    routers = [where for where in graph.seats.values() if len(where) > 1]
    expected = [(f"d{(at - 2) // children + 1}", f"d{at}") for at in range(2, domains + 1)]
    assert sorted(routers) == sorted(expected)
    if brokers >= (children + 1) * domains:
        assert max(sizes(graph).values()) - min(sizes(graph).values()) <= 1


@pytest.mark.parametrize("kind", ["flat", "bus", "daisy", "tree"])
@pytest.mark.parametrize("brokers", [1, 2, 3, 64])
def test_one_domain_is_flat_whatever_the_layout(kind: str, brokers: int) -> None:
    assert lay_out(kind, names(brokers), 1) == dict.fromkeys(names(brokers), ("main",))


@pytest.mark.parametrize("kind", ["bus", "daisy", "tree"])
@settings(deadline=None)
@given(brokers=st.integers(1, 64))
def test_about_the_square_root_is_always_possible(kind: str, brokers: int) -> None:
    check_tree(lay_out(kind, names(brokers), domains_for(brokers)))


# Fixed trees --------------------------------------------------------------------------------------------------------
@settings(deadline=None)
@given(children=st.integers(1, 4), more=st.integers(1, 4), depth=st.integers(0, 3))
def test_fixed_tree_has_the_seats_of_the_formula_and_equal_domains(children: int, more: int, depth: int) -> None:
    size = children + more
    layout = fixed_tree(children, size, depth)
    graph = check_tree(layout)
    assert len(layout) == seats_of_tree(children, size, depth)
    assert {*sizes(graph).values()} == {size}
    longest = max(len(graph.path(seat, last) or ()) - 1 for seat in layout for last in [[*layout][-1]])
    assert longest <= 2 * depth + 1


@pytest.mark.parametrize(
    ("children", "size", "depth", "seats"), [(2, 3, 0, 3), (2, 3, 1, 7), (2, 3, 2, 15), (3, 5, 2, 53), (1, 4, 3, 13)]
)
def test_formula(children: int, size: int, depth: int, seats: int) -> None:
    assert seats_of_tree(children, size, depth) == seats


@settings(deadline=None)
@given(seats=st.integers(1, 300), children=st.integers(1, 3), more=st.integers(1, 4))
def test_smallest_tree_has_enough_seats_and_one_level_less_has_not(seats: int, children: int, more: int) -> None:
    size = children + more
    layout = smallest_tree(seats, children, size)
    assert len(layout) >= seats
    depths = [depth for depth in range(310) if seats_of_tree(children, size, depth) == len(layout)]
    assert depths == [0] or seats_of_tree(children, size, depths[0] - 1) < seats


# Growing ------------------------------------------------------------------------------------------------------------
@settings(deadline=None)
@given(data=st.data(), kind=st.sampled_from(("bus", "daisy", "tree")), domains=st.integers(1, 8))
def test_brokers_that_come_later_make_ends_even_and_change_nobody(data: st.DataObject, kind: str, domains: int) -> None:
    brokers = data.draw(st.integers(2 * domains, 40))
    layout = lay_out(kind, names(brokers), domains)
    larger = grown(layout, ["x", "y"])
    graph = check_tree(larger)
    assert {name: larger[name] for name in layout} == layout
    assert list(larger)[-2:] == ["x", "y"]
    assert BACKBONE not in larger["x"] + larger["y"]
    assert len(graph.domains) == len(DomainGraph(layout).domains)


def test_no_broker_comes_into_a_full_domain() -> None:
    with pytest.raises(ConfigError, match="brokers=65: every domain is full"):
        grown(flat(names(64)), ["x"])


# Refusals -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("kind", "brokers", "domains", "field", "said"),
    [
        ("bus", 5, 3, "domains", "needs 6 brokers, two in each; with 5 brokers give at most 2 domains"),
        ("bus", 200, 65, "domains", "one router per domain, at most 64"),
        ("bus", 200, 3, "domains", "at least 4"),
        ("daisy", 3, 3, "domains", "a daisy of 3 domains needs 4 brokers; with 3 brokers give at most 2"),
        ("tree", 3, 3, "domains", "a tree of 3 domains needs 4 brokers"),
        ("tree", 128, 2, "domains", "at least 3"),
        ("flat", 65, 1, "domains", "65 brokers need at least 2 (bus, daisy or tree)"),
        ("flat", 5, 2, "domains", "choose bus, daisy or tree"),
        ("daisy", 3, 4, "domains", "give at least 4 brokers"),
        ("daisy", 3, 0, "domains", "at least 1"),
        ("ring", 3, 1, "layout", "must be one of flat, bus, daisy, tree"),
    ],
)
def test_impossible_wishes_name_the_least_that_would_do(
    kind: str, brokers: int, domains: int, field: str, said: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        lay_out(kind, names(brokers), domains)
    assert refused.value.field == field
    assert said in refused.value.remedy


@settings(deadline=None)
@given(brokers=st.integers(2, 60), domains=st.integers(2, 60), children=st.integers(1, 5))
def test_most_domains_that_a_refusal_names_are_possible(brokers: int, domains: int, children: int) -> None:
    try:
        tree(names(brokers), domains, children)
    except ConfigError as refused:
        if "at most" in refused.remedy:
            most = int(refused.remedy.split("at most ")[1].split()[0])
            tree(names(brokers), most, children)
            with pytest.raises(ConfigError):
                tree(names(brokers), most + 1, children)


@pytest.mark.parametrize(
    ("given_names", "said"), [([], "1..4096"), (["a", "b", "a"], "is there twice"), ([""], "must not be empty")]
)
def test_bad_brokers_are_refused(given_names: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=r"brokers=") as refused:
        flat(given_names)
    assert said in refused.value.remedy


@pytest.mark.parametrize(
    ("wanted", "field"),
    [((0, 3, 1), "children"), ((2, 2, 1), "size"), ((2, 65, 1), "size"), ((2, 3, -1), "depth"), ((2, 3, 12), "depth")],
)
def test_impossible_fixed_trees_are_refused_by_name(wanted: tuple[int, int, int], field: str) -> None:
    with pytest.raises(ConfigError) as refused:
        fixed_tree(*wanted)
    assert refused.value.field == field
