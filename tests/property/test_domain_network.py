"""The theorem of AAA on real clocks: order in each domain is order everywhere if, and only if, domains are a tree."""

from __future__ import annotations

import random

import pytest

from causeway.core.causal.clock import MatrixClock
from causeway.domains import DomainGraph
from causeway.sim.checkers.base import Wrong
from causeway.sim.letters import Letter
from tests.property.domain_network import SLOW, DomainNetwork, chatter, tree_of


@pytest.mark.parametrize(("seed", "seats"), [(seed, seats) for seats in (2, 5, 12, 30) for seed in range(4)])
def test_a_tree_of_domains_keeps_causal_order(seed: int, seats: int) -> None:
    rng = random.Random(f"{seed}/{seats}")
    network = DomainNetwork(tree_of(rng, seats), rng)
    assert network.graph.find_cycle() is None
    chatter(network, letters=400, broadcasts=0.2)
    network.run()
    assert network.held_back or seats == 2, "nothing was ever early: the run proves nothing"


def test_a_tree_of_sixty_seats_keeps_causal_order() -> None:
    rng = random.Random(60)
    network = DomainNetwork(tree_of(rng, 60), rng)
    chatter(network, letters=1_000, broadcasts=0.1)
    network.run()
    assert network.held_back > 100


def verdict(network: DomainNetwork) -> str:
    """What the checker says in the end."""
    try:
        network.run()
    except Wrong as wrong:
        return wrong.evidence
    return ""


def ring(seats: int, *, closed: bool) -> dict[str, tuple[str, ...]]:
    """Each seat shares a domain with the next; the last one with the first, if closed."""
    last = seats - 1
    return {
        f"s{at}": tuple(f"d{domain % seats}" for domain in (at - 1, at) if closed or 0 <= domain < last)
        for at in range(seats)
    }


def test_a_cycle_of_domains_breaks_causal_order() -> None:
    verdicts = []
    for seed in range(10):
        network = DomainNetwork(ring(5, closed=True), random.Random(seed))
        assert network.graph.find_cycle() is not None
        chatter(network, letters=600, broadcasts=0.0)
        verdicts.append(verdict(network))
    assert sum("which happened before it" in found for found in verdicts) >= 5


@pytest.mark.parametrize("seed", range(5))
def test_the_same_ring_cut_open_keeps_it(seed: int) -> None:
    network = DomainNetwork(ring(5, closed=False), random.Random(seed))
    chatter(network, letters=600, broadcasts=0.0)
    network.run()


# Fig. 4 ---------------------------------------------------------------------------------------------------------
def play_figure_4(seats: dict[str, tuple[str, ...]]) -> DomainNetwork:
    """AAA, 4.3, part 1: p sends n to q, then writes along a path that ends at q, and n is slow."""
    network = DomainNetwork(seats, random.Random(4), duplicate=0.0)
    path = list(seats)
    p, q = path[0], path[-1]
    network.slow[p, q] = SLOW

    def pass_on(name: str, letter: Letter) -> None:
        if name != q:
            network.send(name, path[path.index(name) + 1])

    network.on_read = pass_on
    network.send(p, q)
    network.send(p, path[1])
    return network


@pytest.mark.parametrize("length", range(3, 8))
def test_figure_4_each_domain_keeps_its_order_and_the_cycle_breaks_it(length: int) -> None:
    network = play_figure_4(ring(length, closed=True))
    with pytest.raises(Wrong) as caught:
        network.run()
    assert network.held_back == 0, "no clock saw anything wrong: the order in each domain is right"
    q = f"s{length - 1}"
    assert caught.value.evidence.startswith(f"{q} got s{length - 2}/1->{q} transactional")
    assert caught.value.evidence.count(" got ") == 1 + (length - 2)  # all of the path is told


@pytest.mark.parametrize("length", range(3, 8))
def test_figure_4_without_the_domain_of_p_and_q_keeps_the_order(length: int) -> None:
    play_figure_4(ring(length, closed=False)).run()


@pytest.mark.parametrize("length", range(3, 8))
def test_figure_4_in_one_domain_holds_the_end_of_the_path_back(length: int) -> None:
    network = play_figure_4(dict.fromkeys(ring(length, closed=True), ("all",)))
    network.run()
    assert network.held_back == 1


def test_a_domain_inside_another_is_a_cycle_too() -> None:
    """Two domains with two seats in common: neither clock knows what the other's saw."""
    seats = {"p": ("inner", "outer"), "r": ("outer",), "q": ("inner", "outer")}
    assert DomainGraph(seats).find_cycle() is not None
    with pytest.raises(Wrong, match="q got r/1->q"):
        play_figure_4(seats).run()


# The checker needs no clock to see what a clock does wrong -------------------------------------------------------
class Careless(MatrixClock):
    """Delivers whatever is next of its sender."""

    def missing(self, sender: int, first: int, stamp: object) -> list:  # type: ignore[override, type-arg]
        return super().missing(sender, first, ())


class Scattering(MatrixClock):
    """Stamps the receivers of one batch one after the other."""

    def send(self, receivers: list[int], count: int) -> list[tuple[int, tuple[int, ...]]]:  # type: ignore[override]
        return [stamped for receiver in receivers for stamped in super(Scattering, self).send([receiver], count)]


@pytest.mark.parametrize("kind", [Careless, Scattering])
def test_a_clock_that_does_wrong_is_found(kind: type[MatrixClock]) -> None:
    verdicts = []
    for seed in range(10):
        rng = random.Random(seed)
        network = DomainNetwork(tree_of(rng, 8), rng, make_clock=kind)
        chatter(network, letters=400, broadcasts=0.3, answers=1.0)
        verdicts.append(verdict(network))
    assert any("which happened before it" in found for found in verdicts)
