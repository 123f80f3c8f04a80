"""Placement of anything: no NaN, no crash, and what is claimed to be proven holds."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from causeway.placement import BrokerCapacity, Instance, from_moments, place
from causeway.placement.cases import CaseBase, build_cases
from causeway.placement.loads import Loads
from causeway.placement.policy import policy_of
from causeway.placement.risk import overload

SIZES = st.integers(1, 6)
RATES = st.floats(0, 1e6, allow_nan=False)
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
"""A placement takes a tenth of a second: making a failing case smaller would take minutes."""
ENTRIES = st.floats(-1e6, 1e6, allow_nan=False)


@st.composite
def symmetric(draw: st.DrawFn) -> npt.NDArray[np.float64]:
    """Any symmetric matrix whose diagonal is not negative: mostly no covariance."""
    size = draw(SIZES)
    half = np.array(draw(st.lists(ENTRIES, min_size=size * size, max_size=size * size))).reshape(size, size)
    whole = np.triu(half) + np.triu(half, 1).T
    np.fill_diagonal(whole, np.abs(np.diag(whole)))
    return whole


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    matrix = draw(symmetric())
    means = draw(st.lists(RATES, min_size=len(matrix), max_size=len(matrix)))
    capacities = draw(st.lists(st.floats(1e-3, 3e6), min_size=2, max_size=3))
    return Instance(
        from_moments(means, matrix, [f"t{number}" for number in range(len(matrix))], repair=draw(st.booleans())),
        [BrokerCapacity(f"b{number}", capacity) for number, capacity in enumerate(capacities)],
        threshold=draw(st.sampled_from([None, 0.9, 0.2, 1e-3])),
        topics_max=draw(st.sampled_from([None, 3, 4])),
    )


def at_the_edge(means: list[float], matrix: list[list[float]], *capacities: float) -> Instance:
    """No repair, so that the matrix counts as it is."""
    model = from_moments(means, np.array(matrix), [f"t{number}" for number in range(len(means))], repair=False)
    return Instance(model, [BrokerCapacity(f"b{number}", capacity) for number, capacity in enumerate(capacities)])


@given(symmetric())
def test_repaired_matrix_is_a_covariance_and_no_set_varies_less(matrix: npt.NDArray[np.float64]) -> None:
    size = len(matrix)
    model = from_moments([1.0] * size, matrix, [f"t{number}" for number in range(size)])
    largest = max(1.0, float(np.abs(model.covariance).max()))
    assert np.linalg.eigvalsh(model.covariance)[0] >= -1e-8 * size * largest
    for number in range(1, 2**size):
        chosen = np.array([number >> bit & 1 for bit in range(size)], dtype=float)
        assert chosen @ model.covariance @ chosen >= chosen @ matrix @ chosen - 1e-8 * size * largest


@given(RATES, ENTRIES, st.floats(1e-3, 1e6))
def test_risk_is_a_probability(mean: float, variance: float, capacity: float) -> None:
    risk = float(overload(np.array(mean), np.array(variance), np.array(capacity)))
    assert 0 <= risk <= 1


@settings(max_examples=20, deadline=None, phases=UNSHRUNK)
@given(instances(), st.integers(0, 3))
@example(at_the_edge([0.001, 0.0], [[1.0, -1.0], [-1.0, 1.0]], 0.001, 0.001), 0)  # at its capacity, varying alone only
@example(at_the_edge([0.0, 0.0, 1.0], [[1.0, 0.0, 0.0], [0.0, 0.0, 9.0], [0.0, 9.0, 1.0]], 0.001, 0.001), 0)
def test_search_is_never_better_than_what_is_proven(instance: Instance, seed: int) -> None:
    proven, found = place(instance, method="exact"), place(instance, method="search", seed=seed)
    slack = 1e-6 * (1 + instance.model.total)
    for one in (proven, found):
        assert math.isfinite(one.utility)
        assert (one.mirror != one.owner).all()
        assert 0 <= one.gap <= 1
        assert Loads(instance, one.owner).utility() == one.utility
        assert instance.topics_max is None or Loads(instance, one.owner).topics.max() <= instance.topics_max
    assert proven.proven
    assert found.largest_risk >= found.risk_bound - 1e-9
    if found.feasible:
        assert proven.feasible
        assert found.utility <= proven.utility + slack
    if proven.feasible:
        assert not found.hopeless
        assert proven.utility <= found.bound + slack
    else:
        assert proven.largest_risk <= found.largest_risk + 1e-9


@settings(max_examples=20, deadline=None, phases=UNSHRUNK)
@given(instances())
def test_every_state_has_an_owner_and_a_mirror_that_live(instance: Instance) -> None:
    found = place(instance)
    base = build_cases(instance, policy_of(instance, found.owner, found.mirror))
    again = CaseBase.from_builtins(base.to_builtins())
    for broken in ({"b0"}, {"b1"}):
        policy = again.policy(frozenset(broken))
        alive = set(instance.names) - broken
        assert set(policy.owners) == set(instance.model.items)
        assert set(policy.owners.values()) <= alive
        assert len(policy.mirrors) == (len(policy.owners) if len(alive) > 1 else 0)
        assert all(policy.owners[item] != mirror in alive for item, mirror in policy.mirrors.items())
