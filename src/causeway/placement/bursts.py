"""Correlated bursts: rates second by second in which groups of topics rise together, and what they do to a placement.

All chance comes from the seed. Must not know: how a placement was found.
"""

from __future__ import annotations

import msgspec
import numpy as np

from causeway.errors import ConfigError
from causeway.placement.arrays import Floats, Ints


class Bursts(msgspec.Struct, frozen=True, kw_only=True):
    """What a trace looks like."""

    seconds: int = 3_600
    starts: float = 0.004
    """Probability per second that a quiet group begins to burst."""
    lasts: float = 25.0
    """Seconds that a burst lasts on average."""
    factor: float = 3.0
    """Times the usual rate that topics of a bursting group have."""
    noise: float = 0.1
    """Deviation of each topic's own rate, as a part of it."""


class OverloadCount(msgspec.Struct, frozen=True, kw_only=True):
    """What a trace did to the brokers of a placement."""

    overloaded_seconds: int
    """Broker-seconds above capacity."""
    brokers_overloaded: int
    """Brokers that were ever above it."""
    messages_over: float
    """Messages above capacity, all brokers and seconds together."""


def burst_trace(usual: Floats, group: Ints, seed: int, bursts: Bursts | None = None) -> Floats:
    """Rates (seconds x topics) of topics with these usual rates, of which those of one group burst together."""
    shape = bursts if bursts is not None else Bursts()
    if not (
        shape.seconds >= 1 and 0 <= shape.starts <= 1 and shape.lasts >= 1 and shape.factor >= 0 and shape.noise >= 0
    ):
        raise ConfigError("bursts", repr(shape), "must have a second or more, a probability, and nothing negative")
    chance = np.random.default_rng(seed)
    groups = int(group.max()) + 1
    draws = chance.random((shape.seconds, groups))
    active = np.zeros((shape.seconds, groups), dtype=np.bool_)
    quiet = shape.starts / (shape.starts + 1 / shape.lasts) if shape.starts else 0.0
    state = chance.random(groups) < quiet  # as it would be after a long time
    for second in range(shape.seconds):
        state = np.where(state, draws[second] >= 1 / shape.lasts, draws[second] < shape.starts)
        active[second] = state
    own = 1 + shape.noise * chance.standard_normal((shape.seconds, len(usual)))
    rates: Floats = usual * np.maximum(own, 0.0) * np.where(active[:, group], shape.factor, 1.0)
    return rates


def replay(trace: Floats, owner: Ints, capacity: Floats) -> OverloadCount:
    """Count what a trace (seconds x items) puts above the capacities of the brokers that own the items."""
    placed = np.zeros((trace.shape[1], len(capacity)))
    placed[np.arange(trace.shape[1]), owner] = 1.0
    over = np.maximum(trace @ placed - capacity, 0.0)
    return OverloadCount(
        overloaded_seconds=int((over > 0).sum()),
        brokers_overloaded=int((over > 0).any(axis=0).sum()),
        messages_over=float(over.sum()),
    )
