"""Branch and bound: the best of all placements, beside a solver that tries every one."""

from __future__ import annotations

import numpy as np
import pytest

from causeway.placement.exact import Tree
from causeway.placement.loads import Loads
from tests.unit.placement.cases import every_placement, small_instance
from tests.unit.placement.paper import OPTIMUM, SOLUTION_1, paper_instance


@pytest.mark.parametrize("seed", range(40))
def test_tree_finds_what_trying_everything_finds(seed: int) -> None:
    instance = small_instance(seed, items_max=10 if seed % 10 == 0 else 7)
    tried = every_placement(instance)
    limit = instance.threshold if instance.threshold is not None else np.inf
    losses = [loss for loss, risk, _owner in tried if risk < limit]
    items, targets = np.arange(instance.item_count), np.ones(instance.broker_count, dtype=np.bool_)
    best = Tree(Loads(instance), items, targets).solve()
    safest = Tree(Loads(instance), items, targets, least_risk=True).solve()
    assert best.proven
    assert safest.proven
    assert (best.owner is None) == (not losses)
    if best.owner is not None:
        assert best.value == pytest.approx(min(losses), abs=1e-9 * instance.model.total)
        assert Loads(instance, best.owner).loss() == pytest.approx(best.value)
    assert (safest.owner is None) == (not tried)
    if safest.owner is not None:
        assert safest.value == pytest.approx(min(risk for _loss, risk, _owner in tried), abs=1e-12)


@pytest.mark.parametrize("repair", [False, True])
def test_optimum_of_the_papers_example(repair: bool) -> None:
    """The figures that were recomputed from the paper's tables are those of the table as it stands. The repair adds
    variance: the same placements are first and second, and both are worth a little less."""
    instance = paper_instance(repair=repair)
    tried = sorted(every_placement(instance))
    assert len(tried) == 729
    total = instance.model.total
    assert [list(owner) for _loss, _risk, owner in tried[:2]] == [OPTIMUM, SOLUTION_1]
    worth = [total - loss for loss, _risk, _owner in tried[:2]]
    assert worth == pytest.approx([1215.857, 1215.691] if repair else [1216.707, 1216.294], abs=5e-4)
    proof = Tree(Loads(instance), np.arange(6), np.ones(3, dtype=np.bool_)).solve()
    assert proof.owner is not None
    assert proof.owner.tolist() == OPTIMUM
    assert proof.proven


def test_tree_that_is_cut_short_says_so_and_bounds_what_it_did_not_see() -> None:
    instance = paper_instance(repair=False)
    proof = Tree(Loads(instance), np.arange(6), np.ones(3, dtype=np.bool_)).solve(np.array(SOLUTION_1), nodes_max=10)
    assert not proof.proven
    assert proof.owner is not None
    assert proof.bound <= 1230 - 1216.707 + 5e-4 <= proof.value + 1e-3


def test_what_is_fixed_stays_and_counts() -> None:
    instance = paper_instance(repair=False)
    fixed = Loads(instance, np.array([1, 0, -1, -1, -1, -1]))
    only = np.array([True, False, True])
    proof = Tree(fixed, np.array([2, 3, 4, 5]), only).solve()
    ways = [one for one in every_placement(instance) if one[2][:2] == (1, 0) and 1 not in one[2][2:]]
    assert proof.owner is not None
    assert tuple(proof.owner.tolist()) == min(ways)[2]
    assert proof.value == pytest.approx(min(ways)[0] - _loss_of_broker(instance, min(ways)[2], 1))


def _loss_of_broker(instance: object, owner: tuple[int, ...], broker: int) -> float:
    loads = Loads(instance, np.array(owner))  # type: ignore[arg-type]
    return float(loads.mean[broker] * loads.risks()[broker])
