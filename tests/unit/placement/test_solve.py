"""The door: proven where it can be, bounded where not, and honest where there is no answer."""

from __future__ import annotations

import time

import numpy as np
import pytest

from causeway.errors import ConfigError
from causeway.placement import BrokerCapacity, Instance, from_moments, place
from tests.unit.placement.cases import large_instance
from tests.unit.placement.paper import OPTIMUM, SOLUTION_1, paper_instance


def test_paper_without_threshold_is_solved_and_proven() -> None:
    found = place(paper_instance(repair=False))
    assert found.owner.tolist() == OPTIMUM
    assert found.utility == pytest.approx(1216.707, abs=5e-4)
    assert (found.proven, found.feasible, found.gap, found.method) == (True, True, 0.0, "exact")


@pytest.mark.parametrize(("repair", "risk"), [(False, 0.017974), (True, 0.017982)])
def test_paper_with_its_threshold_is_infeasible_and_the_least_risky_is_named(repair: bool, risk: float) -> None:
    found = place(paper_instance(repair=repair, threshold=0.007))
    assert (found.feasible, found.hopeless, found.proven) == (False, True, True)
    assert found.owner.tolist() == SOLUTION_1
    assert found.largest_risk == pytest.approx(risk, abs=1e-6)
    assert found.risk_bound == pytest.approx(found.largest_risk)


def test_search_on_the_papers_example_finds_the_same() -> None:
    found = place(paper_instance(), method="search")
    assert found.owner.tolist() == OPTIMUM
    assert (found.proven, found.method) == (False, "search")
    assert 0 <= found.gap < 0.015
    assert found.bound >= found.utility
    hopeless = place(paper_instance(threshold=0.007), method="search")
    assert not hopeless.feasible
    assert hopeless.owner.tolist() == SOLUTION_1


def test_topics_that_do_not_fit_together_are_named() -> None:
    names = list("abcdefghi")
    model = from_moments([1.0] * 9, np.zeros((9, 9)), names, {"x": names[:3], "y": names[3:6], "z": names[6:]})
    with pytest.raises(ConfigError, match="topics_max=5"):
        place(Instance(model, [BrokerCapacity("p", 9.0), BrokerCapacity("q", 9.0)], topics_max=5))


def test_without_mirrors_there_are_none() -> None:
    model = from_moments([5.0, 6.0], np.eye(2), ["a", "b"])
    found = place(Instance(model, [BrokerCapacity("p", 90.0)], mirrors=False))
    assert found.mirror.tolist() == [-1, -1]
    assert found.gap == 0


def test_two_thousand_items_on_fifty_brokers_within_one_percent_of_the_bound() -> None:
    """Where brokers are used to 80 %, so that bursts matter; in seconds of a processor, whatever else runs."""
    instance = large_instance(2_000, 50, 0.8)
    began = time.process_time()
    found = place(instance, seed=1)
    took = time.process_time() - began
    print(f"placed 2,000 items on 50 brokers in {took:.1f} s, gap {100 * found.gap:.2f} %")
    assert took < 20
    assert found.gap < 0.01
    assert (found.mirror != found.owner).all()
