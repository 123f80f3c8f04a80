"""How much items carry at peak, and how they rise together: means and covariance, estimated or given.

An *item* is a set of topics that are placed as one. The rate of an item is the sum of its topics' rates, so its mean is
the sum of their means and its covariance with another item the sum of the covariances of their topics.

A matrix that is given need not be a covariance (that of the paper is not): if it has a negative eigenvalue, it is
replaced by the nearest positive semi-definite matrix in the Frobenius norm, which has the negative eigenvalues set to
zero. What that adds is positive semi-definite itself, so **no item and no set of items gets a smaller variance by the
repair**: it never makes a placement look safer than the numbers that were given. Variances may grow; `CovarianceRepair`
says by how much. Estimates from samples need no repair: they are covariances by construction.

Owns: what is allowed as rates. Must not know: brokers, placements, files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from causeway.errors import ConfigError
from causeway.names import check_name
from causeway.placement.arrays import Floats
from causeway.placement.limits import ITEMS_MAX, SAMPLES_MAX, TOPICS_MAX, TOPICS_WITH_COVARIANCE_MAX

ROUNDING: Final = 1e-10
"""Negative eigenvalues up to this part of the largest one are how floating point writes zero."""
ASYMMETRY: Final = 1e-6
"""Difference of two mirrored entries, as a part of the largest one, that is taken for rounding."""

PEAK_OF_LEAST: Final = 8
"""Samples from which on only the peak counts: half of fewer would tell nothing of variance."""


class CovarianceRepair(msgspec.Struct, frozen=True, kw_only=True):
    """What was wrong with a covariance matrix, and how far the repaired one is from it."""

    repaired: bool
    smallest_eigenvalue: float
    """Before the repair; 0 for a matrix without a negative one."""
    distance: float
    """Frobenius norm of what was added."""
    variance_added: float
    """The most that was added to the variance of one topic."""


SOUND: Final = CovarianceRepair(repaired=False, smallest_eigenvalue=0.0, distance=0.0, variance_added=0.0)


class LoadModel:
    """Peak rates of items: the one thing that risk is computed from. Made by `from_samples` and `from_moments`."""

    def __init__(
        self, topics: Mapping[str, tuple[str, ...]], means: Floats, covariance: Floats, samples: Floats | None
    ) -> None:
        self.topics = topics
        """Item -> its topics."""
        self.items = tuple(topics)
        self.sizes = np.array([len(mine) for mine in topics.values()], dtype=np.int64)
        self.means = means
        """Messages per second, by item."""
        self.covariance = covariance
        self.samples = samples
        """Joint samples (samples x items), if there are any: for a second opinion on risk."""
        self.repair = SOUND
        self.is_covariance = True
        """False: it was taken as it stands, and may have sets whose variance would be negative."""

    @property
    def total(self) -> float:
        """Mean rate of all items together."""
        return float(self.means.sum())


# Ways to get one ----------------------------------------------------------------------------------------------------
def from_samples(
    samples: npt.ArrayLike, topics: Sequence[str], items: Mapping[str, Sequence[str]] | None = None
) -> LoadModel:
    """A model estimated from rates (samples x topics) of peak periods; without `items` every topic is one."""
    names = _checked_topics(topics)
    rates = _numbers("samples", samples)
    if rates.ndim != 2 or rates.shape[1] != len(names):
        raise ConfigError("samples", list(rates.shape), f"must be samples x topics, here n x {len(names)}")
    if not 2 <= rates.shape[0] <= SAMPLES_MAX:
        raise ConfigError("samples", rates.shape[0], f"must be 2 to {SAMPLES_MAX}: one tells nothing of variance")
    if rates.size and rates.min() < 0:
        row, column = np.unravel_index(int(rates.argmin()), rates.shape)
        raise ConfigError(f"samples, row {row}, {names[column]}", float(rates.min()), "rates must be 0 or more")
    grouped = _checked_items(names, items)
    joint = _summed(rates, names, grouped)
    centred = joint - joint.mean(axis=0)
    covariance = centred.T @ centred / (len(joint) - 1)
    return LoadModel(grouped, joint.mean(axis=0), _mirrored(covariance), joint)


def peak_samples(samples: Floats) -> Floats:
    """The samples (rows) whose total is in the upper half; all of them if they are few."""
    if len(samples) < PEAK_OF_LEAST:
        return samples
    totals = samples.sum(axis=1)
    peak: Floats = samples[totals >= np.median(totals)]
    return peak


def from_moments(
    means: npt.ArrayLike,
    covariance: npt.ArrayLike,
    topics: Sequence[str],
    items: Mapping[str, Sequence[str]] | None = None,
    *,
    repair: bool = True,
) -> LoadModel:
    """A model from means and covariance of topics. Without `repair` a matrix that is none is taken as it stands, to
    recompute what others did with it; sets whose variance is negative then count as having none."""
    names = _checked_topics(topics)
    mean = _numbers("means", means)
    if mean.shape != (len(names),):
        raise ConfigError("means", list(mean.shape), f"must be one number per topic, {len(names)} of them")
    if mean.size and mean.min() < 0:
        raise ConfigError(f"means, {names[int(mean.argmin())]}", float(mean.min()), "rates must be 0 or more")
    given = _checked_covariance(covariance, names)
    report = SOUND
    if repair:
        given, report = nearest_covariance(given)
    grouped = _checked_items(names, items)
    summed = _summed(_summed(given, names, grouped).T.copy(), names, grouped)
    model = LoadModel(grouped, _summed(mean[None, :], names, grouped)[0], _mirrored(summed), None)
    model.repair = report
    model.is_covariance = repair
    return model


def nearest_covariance(matrix: Floats) -> tuple[Floats, CovarianceRepair]:
    """The nearest positive semi-definite matrix in the Frobenius norm, and what had to be done."""
    if not matrix.size:
        return matrix, SOUND
    scale = float(np.abs(matrix).max())
    if scale == 0:
        return matrix, SOUND
    values, vectors = np.linalg.eigh(matrix / scale)
    if values[0] >= -ROUNDING * max(float(values[-1]), 0.0):
        return matrix, SOUND
    missing = np.minimum(values, 0.0)
    added = _mirrored((vectors * -missing) @ vectors.T) * scale
    repaired = matrix + added
    # Rounding must not take away what the repair may only add.
    np.fill_diagonal(repaired, np.maximum(np.diag(repaired), np.maximum(np.diag(matrix), 0.0)))
    return repaired, CovarianceRepair(
        repaired=True,
        smallest_eigenvalue=float(values[0]) * scale,
        distance=float(np.linalg.norm(missing)) * scale,
        variance_added=float(np.diag(added).max()),
    )


# What is allowed ----------------------------------------------------------------------------------------------------
def _numbers(field: str, values: npt.ArrayLike) -> Floats:
    try:
        array: Floats = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ConfigError(field, _excerpt(values), f"must be a table of numbers ({error})") from error
    if not np.isfinite(array).all():
        place = np.argwhere(~np.isfinite(array))[0].tolist()
        value = float(array[tuple(place)])
        raise ConfigError(f"{field}, at {place}", value, "must be finite; leave out what was not measured")
    return array


def _excerpt(value: Any) -> str:
    return f"{value!r}"[:60]


def _checked_topics(topics: Sequence[str]) -> tuple[str, ...]:
    names = tuple(topics)
    if not 1 <= len(names) <= TOPICS_MAX:
        raise ConfigError("topics", len(names), f"must be 1 to {TOPICS_MAX}")
    seen: dict[str, None] = {}
    for name in names:
        check_name("topics", name)
        if name in seen:
            raise ConfigError("topics", name, "is there twice; name every column once")
        seen[name] = None
    return names


def _checked_items(names: tuple[str, ...], items: Mapping[str, Sequence[str]] | None) -> dict[str, tuple[str, ...]]:
    if items is None:
        grouped: dict[str, tuple[str, ...]] = {name: (name,) for name in names}
    else:
        grouped = {item: tuple(mine) for item, mine in items.items()}
    if not 1 <= len(grouped) <= ITEMS_MAX:
        raise ConfigError("items", len(grouped), f"must be 1 to {ITEMS_MAX}; put more topics into each")
    known = dict.fromkeys(names)
    owner: dict[str, str] = {}
    for item, mine in grouped.items():
        check_name("items", item)
        if not mine:
            raise ConfigError(f"items, {item}", [], "has no topics; leave it out, or name some")
        for topic in mine:
            if topic not in known:
                raise ConfigError(
                    f"items, {item}", topic, "there are no rates of this topic; measure it, or leave it out"
                )
            if topic in owner:
                raise ConfigError(
                    f"items, {item}", topic, f"is in the item {owner[topic]} already; a topic has one item"
                )
            owner[topic] = item
    for name in names:
        if name not in owner:
            raise ConfigError("items", name, "this topic is in no item; add it to one, or leave its rates out")
    return grouped


def _checked_covariance(covariance: npt.ArrayLike, names: tuple[str, ...]) -> Floats:
    if len(names) > TOPICS_WITH_COVARIANCE_MAX:
        remedy = f"at most {TOPICS_WITH_COVARIANCE_MAX} topics can have a covariance matrix; give samples instead"
        raise ConfigError("covariance", len(names), remedy)
    matrix = _numbers("covariance", covariance)
    if matrix.shape != (len(names), len(names)):
        raise ConfigError(
            "covariance", list(matrix.shape), f"must be topics x topics, here {len(names)} x {len(names)}"
        )
    apart = np.abs(matrix - matrix.T)
    if apart.max() > ASYMMETRY * max(float(np.abs(matrix).max()), 1e-300):
        row, column = (int(index) for index in np.unravel_index(int(apart.argmax()), apart.shape))
        value = [float(matrix[row, column]), float(matrix[column, row])]
        raise ConfigError(
            f"covariance, {names[row]} and {names[column]}", value, "must be symmetric: these must be equal"
        )
    negative = int(np.diag(matrix).argmin())
    if matrix[negative, negative] < 0:
        raise ConfigError(
            f"covariance, {names[negative]}", float(matrix[negative, negative]), "is a variance and must be 0 or more"
        )
    return _mirrored(matrix)


def _mirrored(matrix: Floats) -> Floats:
    """Exactly symmetric."""
    half: Floats = (matrix + matrix.T) / 2
    return half


def _summed(columns: Floats, names: tuple[str, ...], items: Mapping[str, tuple[str, ...]]) -> Floats:
    """Columns of topics summed to columns of items."""
    numbers = {name: number for number, name in enumerate(names)}
    order = [numbers[topic] for mine in items.values() for topic in mine]
    starts = np.cumsum([0, *(len(mine) for mine in items.values())])[:-1]
    summed: Floats = np.add.reduceat(columns[:, order], starts, axis=1)
    return summed
