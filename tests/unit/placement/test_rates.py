"""Rates: estimated, summed per item, repaired where they are no covariance, refused where they are nonsense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from causeway.errors import ConfigError
from causeway.placement.rates import SOUND, from_moments, from_samples, nearest_covariance
from tests.unit.placement.paper import COVARIANCE, MEANS, paper_model

TOPICS = ["a", "b", "c"]
SAMPLES = [[1.0, 2.0, 3.0], [2.0, 2.0, 1.0], [3.0, 5.0, 2.0], [0.0, 1.0, 9.0]]


def test_estimate_is_the_sample_mean_and_covariance() -> None:
    model = from_samples(SAMPLES, TOPICS)
    assert model.means == pytest.approx(np.mean(SAMPLES, axis=0))
    assert model.covariance == pytest.approx(np.cov(np.array(SAMPLES).T))
    assert model.repair is SOUND
    assert model.items == ("a", "b", "c")


def test_items_add_up_their_topics_in_samples_as_in_moments() -> None:
    items = {"x": ["c", "a"], "y": ["b"]}
    sampled = from_samples(SAMPLES, TOPICS, items)
    topics = from_samples(SAMPLES, TOPICS)
    summed = from_moments(topics.means, topics.covariance, TOPICS, items)
    assert sampled.means == pytest.approx(summed.means)
    assert sampled.covariance == pytest.approx(summed.covariance)
    assert sampled.sizes.tolist() == [2, 1]
    assert sampled.samples is not None
    assert sampled.samples[0].tolist() == [4.0, 2.0]
    assert sampled.covariance[0, 0] == pytest.approx(np.var([4, 3, 5, 9], ddof=1))


def test_table_of_the_paper_is_no_covariance_and_is_repaired() -> None:
    model = paper_model()
    assert model.repair.repaired
    assert model.repair.smallest_eigenvalue == pytest.approx(-707.045, abs=0.001)
    assert model.repair.distance == pytest.approx(707.045, abs=0.001)
    assert model.repair.variance_added == pytest.approx(415.120, abs=0.001)
    assert np.linalg.eigvalsh(model.covariance)[0] > -1e-8
    assert np.linalg.norm(model.covariance - np.array(COVARIANCE)) == pytest.approx(model.repair.distance)


def test_repair_gives_no_set_of_items_a_smaller_variance() -> None:
    before, after = np.array(COVARIANCE), paper_model().covariance
    for number in range(1, 64):
        chosen = np.array([number >> bit & 1 for bit in range(6)], dtype=float)
        assert chosen @ after @ chosen >= chosen @ before @ chosen - 1e-9


def test_covariance_that_is_one_stays_as_it_is() -> None:
    whole = np.array([[4.0, 2.0], [2.0, 1.0]])  # singular
    same, report = nearest_covariance(whole)
    assert same is whole
    assert report is SOUND
    assert nearest_covariance(np.zeros((2, 2)))[1] is SOUND


def test_without_repair_the_table_is_taken_as_it_stands() -> None:
    model = paper_model(repair=False)
    assert model.covariance.tolist() == COVARIANCE
    assert not model.is_covariance


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: from_samples(SAMPLES, ["a", "b"]), "samples"),
        (lambda: from_samples([[1.0, 2.0, 3.0]], TOPICS), "samples"),
        (lambda: from_samples([[1.0, -2.0, 3.0]] * 2, TOPICS), "samples, row 0, b"),
        (lambda: from_samples([[1.0, np.nan, 3.0]] * 2, TOPICS), "samples, at [0, 1]"),
        (lambda: from_samples([["x"] * 3] * 2, TOPICS), "samples"),
        (lambda: from_samples([[1.0], [1.0, 2.0]], TOPICS), "samples"),
        (lambda: from_samples(SAMPLES, ["a", "b", "a"]), "topics"),
        (lambda: from_samples([[], []], []), "topics"),
        (lambda: from_samples(SAMPLES, TOPICS, {"x": ["a", "b"]}), "items"),
        (lambda: from_samples(SAMPLES, TOPICS, {"x": ["a", "b", "c", "d"]}), "items, x"),
        (lambda: from_samples(SAMPLES, TOPICS, {"x": ["a", "b"], "y": ["b", "c"]}), "items, y"),
        (lambda: from_samples(SAMPLES, TOPICS, {"x": TOPICS, "y": []}), "items, y"),
        (lambda: from_samples(SAMPLES, TOPICS, {}), "items"),
        (lambda: from_moments([1.0, 2.0], [[1.0]], ["a", "b"]), "covariance"),
        (lambda: from_moments([1.0], [[1.0]], ["a", "b"]), "means"),
        (lambda: from_moments([1.0, -1.0], np.eye(2), ["a", "b"]), "means, b"),
        (lambda: from_moments([1.0, np.inf], np.eye(2), ["a", "b"]), "means, at [1]"),
        (lambda: from_moments([1.0, 1.0], [[1.0, 2.0], [3.0, 9.0]], ["a", "b"]), "covariance, a and b"),
        (lambda: from_moments([1.0, 1.0], [[1.0, 0.0], [0.0, -9.0]], ["a", "b"]), "covariance, b"),
        (lambda: from_moments(MEANS, np.ones((6, 5)), list("abcdef")), "covariance"),
    ],
)
def test_nonsense_is_named(call: Any, field: str) -> None:
    with pytest.raises(ConfigError) as caught:
        call()
    assert caught.value.field == field
    assert caught.value.remedy
