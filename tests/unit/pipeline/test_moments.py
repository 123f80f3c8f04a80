"""Moments in parts are those of the whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.pipeline.moments import merged_moments, moments_of, no_moments, sparse_moments, zero_moments


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    series=st.integers(1, 5),
    samples=st.integers(2, 40),
    offset=st.sampled_from([0.0, 1e3, 1e8]),
    parts=st.integers(1, 6),
    block=st.sampled_from([1, 100, 10_000]),
)
def test_sparse_samples_in_any_parts_are_those_of_numpy(
    seed: int, series: int, samples: int, offset: float, parts: int, block: int
) -> None:
    rng = np.random.default_rng(seed)
    dense = rng.poisson(2, (samples, series)) * (rng.random((samples, series)) < 0.5) * 1.0
    dense[:, 0] += offset * (dense[:, 0] > 0)
    rows, columns = np.nonzero(dense)
    half = np.floor(dense[rows, columns] / 2)
    cells = np.concatenate([rows, rows]), np.concatenate([columns, columns])
    values = np.concatenate([half, dense[rows, columns] - half])  # two values of each cell
    seen = no_moments(series)
    part_of = rng.integers(0, parts, samples)  # a sample is in one part; within it, cells are in any order
    for part in range(parts):
        mine = rng.permutation(np.flatnonzero(part_of[cells[0]] == part))
        seen = merged_moments(seen, sparse_moments(cells[0][mine], cells[1][mine], values[mine], series, block))
    assert seen.size == len(np.unique(rows))
    found = merged_moments(seen, zero_moments(samples - seen.size, series))
    assert found.size == samples
    np.testing.assert_allclose(found.mean, dense.mean(axis=0), rtol=1e-12)
    expected = np.atleast_2d(np.cov(dense, rowvar=False))
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert (np.abs(found.covariance() - expected) <= 1e-9 * scale + 1e-300).all()


def test_deviations_survive_a_large_mean() -> None:
    """Where the sum of squares minus the square of the sum would be nothing but rounding."""
    rng = np.random.default_rng(1)
    values = 1e9 + rng.normal(0, 1, (1000, 2))
    found = merged_moments(moments_of(values[:300]), moments_of(values[300:]))
    np.testing.assert_allclose(found.covariance(), np.cov(values, rowvar=False), rtol=1e-6)


def test_one_sample_has_no_variance() -> None:
    assert moments_of(np.array([[3.0]])).covariance() == pytest.approx(0.0)
