"""Prices by item: what they prove is true, and more than three prices for all items prove."""

from __future__ import annotations

import numpy as np
import pytest

from causeway.placement import bound, itemprices
from causeway.placement.bound import bound_of
from causeway.placement.itemprices import split_without_negatives
from tests.unit.placement.cases import every_placement, grouped_model, large_instance, small_instance


def by_item_always(monkeypatch: pytest.MonkeyPatch, tries: int) -> None:
    monkeypatch.setattr(bound, "BY_ITEM_LEAST", 1)
    monkeypatch.setattr(bound, "BY_ITEM_USE", 0.0)
    monkeypatch.setattr(itemprices, "TRIES", tries)


@pytest.mark.parametrize("seed", range(200, 212))
def test_no_placement_is_better_than_prices_by_item_allow(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    by_item_always(monkeypatch, 6)
    instance = small_instance(seed, items_max=6)
    proven = bound_of(instance)
    limit = instance.threshold if instance.threshold is not None else np.inf
    for loss, risk, _owner in every_placement(instance):
        if risk < limit:
            assert proven.feasible
            assert instance.model.total - loss <= proven.utility + 1e-9 * instance.model.total


def test_near_capacity_prices_by_item_prove_more_than_three_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = large_instance(200, 6, 1.0)
    by_three = bound_of(instance).utility
    by_item_always(monkeypatch, 20)
    assert bound_of(instance).utility < by_three - 0.005 * instance.model.total


def test_split_is_below_the_variance_of_every_set_and_near_it_where_items_of_a_set_share_one_pull() -> None:
    model = grouped_model(3, 80, 20)
    split = split_without_negatives(model.covariance)
    assert split is not None
    rng = np.random.default_rng(5)
    for count in (1, 2, 8, 40):
        chosen = rng.permutation(80)[:count]
        variance = float(model.covariance[np.ix_(chosen, chosen)].sum())
        assert float(split.pulls[chosen].sum()) ** 2 + float(split.noises[chosen].sum()) <= variance
    one = float(split.pulls[0] ** 2 + split.noises[0])
    assert one == pytest.approx(float(model.covariance[0, 0]), rel=1e-5)


def test_with_negative_covariances_there_is_no_such_split() -> None:
    assert split_without_negatives(np.array([[2.0, -0.1], [-0.1, 2.0]])) is None
    apart = split_without_negatives(np.array([[2.0, 0.0], [0.0, 3.0]]))
    assert apart is not None
    assert not apart.pulls.any()
