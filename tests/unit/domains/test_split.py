"""What a split costs, against the sum over every path of the graph."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.domains.graph import DomainGraph
from causeway.domains.layouts import lay_out
from causeway.domains.split import Split, Ways, cost_of
from causeway.domains.traffic import Prices, Traffic
from tests.unit.domains.hypertrees import Domains, hypertrees


def graph_of(units: int, domains: Domains) -> DomainGraph:
    return DomainGraph({str(u): tuple(str(d) for d, m in enumerate(domains) if u in m) for u in range(units)})


def summed(graph: DomainGraph, traffic: Traffic, prices: Prices) -> float:
    """The obvious: every pair's rate times the price of each hop of its path."""
    total = 0.0
    for left, right, rate in traffic.pairs:
        path = graph.path(traffic.names[left], traffic.names[right])
        assert path is not None
        for here, there in itertools.pairwise(path):
            hop = graph.next_hop(here, there)
            assert hop is not None
            total += rate * prices.of(len(graph.domains[hop[0]]))
    return total


PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 9)), max_size=12)


@settings(max_examples=200, deadline=None)
@given(domains=st.sampled_from(hypertrees(5)), pairs=PAIRS, root=st.integers(0, 4))
def test_cost_is_the_sum_over_all_paths_wherever_the_tree_is_hung_up(domains: Domains, pairs: list, root: int) -> None:  # type: ignore[type-arg]
    traffic = Traffic.numbered(5, pairs)
    prices = Prices(1.0, 7.0)
    split = Split.of(5, domains)
    expected = summed(graph_of(5, domains), traffic, prices)
    assert cost_of(split, traffic, prices) == pytest.approx(expected)
    loads = Ways(split, root).loads(traffic.pairs)
    assert sum(load * prices.of(len(split.members[d])) for d, load in loads.items()) == pytest.approx(expected)


@settings(max_examples=200, deadline=None)
@given(domains=st.sampled_from(hypertrees(5)), pairs=PAIRS, data=st.data())
def test_inside_of_a_region_is_a_problem_of_its_own(domains: Domains, pairs: list, data: st.DataObject) -> None:  # type: ignore[type-arg]
    """Whatever replaces some connected domains changes the cost by what it costs for what passes there."""
    traffic = Traffic.numbered(5, pairs)
    prices = Prices()
    split = Split.of(5, domains)
    region = {data.draw(st.integers(0, len(domains) - 1)): None}
    for domain in range(len(domains)):
        if any({*domains[domain]} & {*domains[inside]} for inside in region) and data.draw(st.booleans()):
            region[domain] = None
    units = sorted({unit for domain in region for unit in domains[domain]})
    through = Ways(split).through(traffic, region)
    local = Traffic.numbered(len(units), ((units.index(a), units.index(b), r) for (a, b), r in through.items()))
    inside = data.draw(st.sampled_from(hypertrees(len(units))))
    replaced = [m for d, m in enumerate(domains) if d not in region]
    replaced += [tuple(units[u] for u in members) for members in inside]
    before = cost_of(Split.of(len(units), [[units.index(u) for u in domains[d]] for d in region]), local, prices)
    after = cost_of(Split.of(len(units), inside), local, prices)
    change = cost_of(Split.of(5, replaced), traffic, prices) - cost_of(split, traffic, prices)
    assert change == pytest.approx(after - before)


@pytest.mark.parametrize("units", [2, 3, 4, 5])
def test_trying_everything_tries_everything(units: int) -> None:
    assert len(hypertrees(units)) == {2: 1, 3: 4, 4: 29, 5: 311}[units]
    assert all(graph_of(units, domains).find_cycle() is None for domains in hypertrees(units))


def test_split_without_a_way_costs_more_than_anything() -> None:
    assert cost_of(Split.of(4, [(0, 1), (2, 3)]), Traffic.numbered(4, [(0, 2, 1)]), Prices()) == float("inf")


def test_domain_of_one_seat_goes_unless_it_is_the_only_one() -> None:
    split = Split.of(3, [(0, 1), (1, 2), (2,)])
    split.tidy()
    assert split.described() == [(0, 1), (1, 2)]
    alone = Split.of(1, [(0,)])
    alone.tidy()
    assert alone.described() == [(0,)]


def test_copy_is_changed_alone() -> None:
    split = Split.of(3, [(0, 1, 2)])
    other = split.copy()
    other.part(2, 0)
    other.found((1, 2))
    assert split.described() == [(0, 1, 2)]
    assert other.described() == [(0, 1), (1, 2)]


def test_bus_is_linear_and_one_domain_is_quadratic() -> None:
    """The figures of the paper: unicast between the two ends, by the number of servers."""
    cost: dict[str, list[float]] = {"flat": [], "bus": []}
    for servers in (16, 36, 64):
        names = [f"b{number}" for number in range(servers)]
        for kind, domains in (("flat", 1), ("bus", round(servers**0.5))):
            layout = lay_out(kind, names, domains)
            ids = {domain: number for number, domain in enumerate(DomainGraph(layout).domains)}
            split = Split.of(servers, [[names.index(n) for n in layout if d in layout[n]] for d in ids])
            traffic = Traffic(names, [(names[1], names[-1], 1.0)])
            cost[kind].append(cost_of(split, traffic, Prices(1.0, 0.0)))
    assert cost["flat"] == [16**2, 36**2, 64**2]
    assert cost["bus"] == [3 * 16, 3 * 36, 3 * 64]


def test_traffic_counts_both_directions_together_and_what_stays_apart() -> None:
    traffic = Traffic(["a", "b", "c"], [("a", "b", 1.0), ("b", "a", 2.0), ("c", "c", 9.0), ("a", "c", 0.0)])
    assert traffic.pairs == [(0, 1, 3.0)]
    assert (traffic.rate, traffic.within) == (3.0, 9.0)
