"""Fits find what was put in."""

from __future__ import annotations

import math

import pytest

from causeway.evaluate.fits import (
    another,
    confidence,
    least_squares,
    logarithm_fit,
    power_between,
    power_fit,
    prediction,
    relative_spread,
)

SIZES = [10, 30, 100, 300]


def test_power_law_is_found_exactly() -> None:
    fit = power_fit(SIZES, [2.5 * n**1.7 for n in SIZES])
    assert fit.slope == pytest.approx(1.7)
    assert math.exp(fit.intercept) == pytest.approx(2.5)
    assert fit.r2 == pytest.approx(1.0)


def test_logarithm_is_found_exactly_and_is_no_power() -> None:
    values = [4 + 3 * math.log(n) for n in SIZES]
    fit = logarithm_fit(SIZES, values)
    assert (fit.slope, fit.intercept, fit.r2) == pytest.approx((3, 4, 1))
    assert power_fit(SIZES, values).r2 < 0.999


def test_what_does_not_grow_has_no_slope() -> None:
    assert least_squares(SIZES, [7.0] * 4).slope == 0
    assert least_squares(SIZES, [7.0] * 4).r2 == 1


def test_power_between_two_points() -> None:
    assert power_between(10, 5, 1000, 50) == pytest.approx(0.5)


def test_interval_is_students_and_infinite_for_one_value() -> None:
    mean, width = confidence([1.0, 2.0, 3.0])
    assert mean == 2
    assert width == pytest.approx(4.303 / math.sqrt(3))
    assert confidence([5.0]) == (5.0, math.inf)


def test_spread_is_pooled_over_what_varies_alike_whatever_its_size() -> None:
    assert relative_spread([[9.0, 11.0], [90.0, 110.0], [5.0]]) == pytest.approx(math.sqrt(0.04 / 2))
    assert math.isinf(relative_spread([[1.0]]))


def test_one_more_repetition_is_less_certain_than_the_mean_and_with_few_seeds_more_so() -> None:
    assert prediction(0.1, 3, 3) == pytest.approx(4.303 * 0.1 * math.sqrt(4 / 3))
    assert prediction(0.1, 50, 3) < prediction(0.1, 3, 3)
    assert math.isinf(prediction(0.1, 1, 1))


def test_more_repetitions_lie_in_a_wider_interval_than_the_mean_does() -> None:
    mean, width = confidence([1.0, 2.0, 3.0])
    assert another([1.0, 2.0, 3.0]) == pytest.approx((mean, 2 * width))
    assert another([1.0, 2.0, 3.0], 3) == pytest.approx((mean, math.sqrt(2) * width))
    assert math.isinf(another([5.0])[1])
