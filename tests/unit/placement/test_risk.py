"""Risk: the normal model with its edges, and the count of samples with its interval."""

from __future__ import annotations

import numpy as np
import pytest

from causeway.placement.loads import Loads
from causeway.placement.risk import margin, overload, sampled_overload, wilson
from tests.unit.placement.paper import SOLUTION_1, SOLUTION_2, paper_instance


def one(mean: float, variance: float, capacity: float) -> float:
    return float(overload(np.array([mean]), np.array([variance]), np.array([capacity]))[0])


def test_risk_is_the_tail_of_the_normal_distribution() -> None:
    assert one(100, 25, 100) == pytest.approx(0.5)
    assert one(100, 25, 105) == pytest.approx(0.15865525)
    assert one(100, 25, 95) == pytest.approx(0.84134475)
    assert one(0, 1, 1e9) == 0.0


@pytest.mark.parametrize(("mean", "risk"), [(99.0, 0.0), (100.0, 0.0), (101.0, 1.0), (0.0, 0.0)])
@pytest.mark.parametrize("variance", [0.0, -1e-9, -500.0])
def test_what_does_not_vary_is_over_or_not(mean: float, risk: float, variance: float) -> None:
    assert one(mean, variance, 100.0) == risk


def test_margin_orders_as_risk_does() -> None:
    mean, variance = np.array([50.0, 90.0, 100.0, 120.0]), np.array([1.0, 25.0, 4.0, 9.0])
    capacity = np.full(4, 100.0)
    assert np.argsort(-margin(mean, variance, capacity)).tolist() == [0, 1, 2, 3]
    assert margin(mean, variance, capacity)[2] == 0


def test_risks_of_the_papers_solutions_recomputed() -> None:
    """Table III prints 0.0018 0.0016 0.0010 and 0.0068 0.0054 0.0170; Tables I and II give these."""
    raw = paper_instance(repair=False)
    assert Loads(raw, np.array(SOLUTION_1)).risks() == pytest.approx([0.0086, 0.0180, 0.0034], abs=5e-5)
    assert Loads(raw, np.array(SOLUTION_2)).risks() == pytest.approx([0.0304, 0.0143, 0.0290], abs=5e-5)


def test_samples_over_capacity_are_counted_with_an_interval() -> None:
    samples = np.array([[1.0, 5.0, 2.0], [2.0, 5.0, 2.0], [9.0, 5.0, 2.0], [3.0, 5.0, 2.0]])
    first, second, third = sampled_overload(samples, np.array([0, 1, -1]), np.array([2.0, 5.0, 1.0]))
    assert (first.over, first.samples, first.share) == (2, 4, 0.5)
    assert 0 < first.low < 0.5 < first.high < 1
    assert (second.over, second.low) == (0, 0.0)
    assert 0.4 < second.high < 0.6
    assert third.over == 0, "the broker without items is idle"


def test_wilsons_interval_as_printed_in_textbooks() -> None:
    assert wilson(10, 100) == pytest.approx((0.0552, 0.1744), abs=1e-4)
    assert wilson(100, 100)[1] == 1.0
