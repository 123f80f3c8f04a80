"""The graph of domains against a search through everything: cycles as the paper has them, ways as trees have them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.domains.graph import DomainGraph, check_domain, described_cycle
from causeway.domains.layouts import bus
from causeway.errors import ConfigError

Seats = dict[str, tuple[str, ...]]

SEATS = ("a", "b", "c", "d", "e")
DOMAINS = ("north", "east", "south", "west")
ANY: st.SearchStrategy[Seats] = st.dictionaries(
    st.sampled_from(SEATS), st.lists(st.sampled_from(DOMAINS), max_size=3, unique=True).map(tuple), max_size=5
)


@st.composite
def forests(draw: st.DrawFn) -> Seats:
    """Seats come one by one into domains of different trees, or into new ones: no cycle can arise."""
    trees: dict[str, int] = {}
    seats: Seats = {}
    for at in range(draw(st.integers(0, 12))):
        chosen = {trees[d]: d for d in draw(st.lists(st.sampled_from([*trees]), max_size=3)) if trees} if trees else {}
        mine = list(chosen.values())
        if not mine or draw(st.booleans()):
            mine.append(f"d{at}")
        for domain, number in [*trees.items()]:
            if number in chosen:
                trees[domain] = at
        trees.update(dict.fromkeys(mine, at))
        seats[f"s{at}"] = tuple(mine)
    return seats


# The paper's definition, word by word -------------------------------------------------------------------------------
def shared(seats: Seats, left: str, right: str) -> set[str]:
    return {*seats[left]} & {*seats[right]}


def paths(seats: Seats) -> Iterator[tuple[str, ...]]:
    """Different seats of which each shares a domain with the next."""
    for length in range(2, len(seats) + 1):
        for path in itertools.permutations(seats, length):
            if all(shared(seats, left, right) for left, right in itertools.pairwise(path)):
                yield path


def is_direct(seats: Seats, path: tuple[str, ...]) -> bool:
    """No shortcut inside it, but perhaps between its ends: only neighbours share a domain."""
    return not any(
        shared(seats, path[i], path[j])
        for i in range(len(path))
        for j in range(i + 2, len(path))
        if (i, j) != (0, len(path) - 1)
    )


def has_cycle_of_the_paper(seats: Seats) -> bool:
    """A path of seats whose ends share a domain while no domain holds all of them."""
    return any(
        is_direct(seats, path)
        and shared(seats, path[0], path[-1])
        and not set.intersection(*({*seats[seat]} for seat in path))
        for path in paths(seats)
        if len(path) > 2
    )


def shares_two_seats(seats: Seats) -> bool:
    """Two domains with two seats in common: also one inside the other, which the paper does not mind."""
    return any(len(shared(seats, left, right)) > 1 for left, right in itertools.combinations(seats, 2))


@settings(max_examples=400, deadline=None)
@given(seats=ANY)
def test_cycles_are_those_of_the_paper_and_two_domains_that_share_two_seats(seats: Seats) -> None:
    assert (DomainGraph(seats).find_cycle() is not None) == (has_cycle_of_the_paper(seats) or shares_two_seats(seats))


@settings(max_examples=400, deadline=None)
@given(seats=forests(), seat=st.sampled_from(("s0", "s1", "s2", "new")), wanted=st.lists(st.sampled_from(range(12))))
def test_what_would_close_is_what_then_is_closed(seats: Seats, seat: str, wanted: list[int]) -> None:
    graph = DomainGraph(seats)
    assert graph.find_cycle() is None
    domains = [f"d{at}" for at in wanted]
    cycle = graph.cycle_with(seat, domains)
    grown = graph.with_seat(seat, domains)
    assert (cycle is not None) == (grown.find_cycle() is not None)
    if cycle is not None:
        check_cycle(grown, cycle)
        assert cycle[0] == seat


def check_cycle(graph: DomainGraph, cycle: list[str]) -> None:
    """Seat, domain, seat, ..., the same seat: every step is a seat in that domain, and nothing comes twice."""
    assert cycle[0] == cycle[-1]
    assert len(cycle) >= 5
    assert len(cycle) % 2 == 1
    seats, domains = cycle[:-1:2], cycle[1::2]
    assert len({*seats}) == len(seats)
    assert len({*domains}) == len(domains)
    for at, domain in enumerate(domains):
        assert domain in graph.seats[cycle[2 * at]]
        assert domain in graph.seats[cycle[2 * at + 2]]


@settings(max_examples=400, deadline=None)
@given(seats=ANY)
def test_named_cycles_are_real(seats: Seats) -> None:
    graph = DomainGraph(seats)
    cycle = graph.find_cycle()
    if cycle is not None:
        check_cycle(graph, cycle)
        assert [word.strip("[]") for word in described_cycle(cycle).split()] == cycle


# Ways ---------------------------------------------------------------------------------------------------------------
def simple_paths(seats: Seats, start: str, end: str) -> list[tuple[str, ...]]:
    """All ways that never enter a domain twice nor a seat twice."""
    found: list[tuple[str, ...]] = []

    def go(path: tuple[str, ...], used: tuple[str, ...]) -> None:
        if path[-1] == end:
            found.append(path)
            return
        for seat in seats:
            for domain in shared(seats, path[-1], seat):
                if seat not in path and domain not in used:
                    go((*path, seat), (*used, domain))

    go((start,), ())
    return found


@settings(max_examples=150, deadline=None)
@given(seats=forests())
def test_way_is_the_only_one_and_every_hop_is_within_the_named_domain(seats: Seats) -> None:
    graph = DomainGraph(seats)
    for start, end in itertools.permutations(seats, 2):
        ways = simple_paths(seats, start, end)
        path = graph.path(start, end)
        assert [tuple(path)] == ways if path is not None else ways == []
        hop = graph.next_hop(start, end)
        assert (hop is None) == (path is None)
        if hop is not None and path is not None:
            domain, following = hop
            assert following == path[1]
            assert domain in seats[start]
            assert domain in seats[following]


@settings(max_examples=100, deadline=None)
@given(seats=forests(), more=st.booleans())
def test_way_never_changes_when_seats_come(seats: Seats, *, more: bool) -> None:
    """What was sent by an old map takes the same way."""
    graph = DomainGraph(seats)
    first = next(iter(graph.domains), "d0")
    larger = graph.with_seat("late", (first, "far") if more else (first,))
    for start, end in itertools.permutations(seats, 2):
        if (path := graph.path(start, end)) is not None:
            assert larger.path(start, end) == path


@settings(deadline=None)
@given(seats=ANY)
def test_seats_and_domains_are_two_views_of_one_thing(seats: Seats) -> None:
    graph = DomainGraph(seats)
    pairs = {(seat, domain) for seat, domains in seats.items() for domain in domains}
    assert {(seat, domain) for domain, members in graph.domains.items() for seat in members} == pairs
    for seat, domain in pairs:
        assert graph.neighbours(seat, domain) == tuple(s for s in graph.domains[domain] if s != seat)


def test_seat_keeps_its_domains_when_it_gets_more() -> None:
    graph = DomainGraph({"a": ("north",)}).with_seat("a", ("south", "north", "south")).with_seat("b", ("south",))
    assert graph.seats == {"a": ("north", "south"), "b": ("south",)}
    assert graph.path("b", "b") == ["b"]
    assert graph.path("b", "nobody") is None


def test_cycle_of_a_large_network_is_found_at_once() -> None:
    """One look at each seat: a map of thousands is checked when it is loaded."""
    seats = bus([f"b{number}" for number in range(3000)], 60)
    assert DomainGraph(seats).find_cycle() is None
    cycle = DomainGraph({**seats, "late": ("d1", "d7")}).find_cycle()
    assert cycle == ["late", "d1", "b0", "backbone", "b300", "d7", "late"]


@pytest.mark.parametrize("name", ["", "a,b", "a/b", "x" * 256, "a\n"])
def test_bad_name_of_a_domain_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="domain="):
        check_domain("domain", name)


def test_routers_are_in_several_domains() -> None:
    graph = DomainGraph({"a": ("north",), "r": ("north", "south"), "b": ("south", "east"), "c": ()})
    assert graph.routers() == ("r", "b")
    assert graph.routers("north") == ("r",)
    assert graph.routers("nowhere") == ()
