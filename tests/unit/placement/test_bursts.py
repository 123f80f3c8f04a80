"""Correlated bursts replayed: placement by risk overloads less than the others. Counts are printed (-s)."""

from __future__ import annotations

import numpy as np
import pytest

from causeway.errors import ConfigError
from causeway.placement import BrokerCapacity, Instance, from_samples, place
from causeway.placement.bursts import Bursts, burst_trace, replay
from causeway.placement.comparisons import by_mean_load, round_robin

TOPICS, GROUPS, BROKERS, USED = 96, 8, 6, 0.55


def test_topics_of_one_group_rise_together_and_others_do_not() -> None:
    group = np.arange(20) % 2
    trace = burst_trace(np.full(20, 100.0), group, seed=1, bursts=Bursts(seconds=5_000))
    correlation = np.corrcoef(trace.T)
    assert correlation[0, 2] > 0.8
    assert abs(correlation[0, 1]) < 0.3
    assert trace.min() >= 0
    assert (burst_trace(np.full(20, 100.0), group, seed=1, bursts=Bursts(seconds=5_000)) == trace).all()


def test_replay_counts_seconds_brokers_and_messages() -> None:
    trace = np.array([[5.0, 5.0, 1.0], [9.0, 5.0, 1.0], [9.0, 9.0, 1.0]])
    told = replay(trace, np.array([0, 0, 1]), np.array([12.0, 1.0]))
    assert (told.overloaded_seconds, told.brokers_overloaded, told.messages_over) == (2, 1, 8.0)


def test_nonsense_is_refused() -> None:
    with pytest.raises(ConfigError, match="bursts"):
        burst_trace(np.ones(2), np.array([0, 1]), seed=1, bursts=Bursts(seconds=0))


def test_placement_by_risk_is_overloaded_less_often_than_round_robin_and_mean_load() -> None:
    """Each placement is computed from one hour and replayed against another one."""
    names = ("by risk", "round robin", "mean load")
    seconds, brokers = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for seed in range(5):
        chance = np.random.default_rng(100 + seed)
        usual, group = chance.lognormal(4.0, 0.7, TOPICS), chance.permutation(np.arange(TOPICS) % GROUPS)
        model = from_samples(burst_trace(usual, group, 2 * seed), [f"t{number}" for number in range(TOPICS)])
        each = model.total / USED / BROKERS
        instance = Instance(model, [BrokerCapacity(f"b{number}", each) for number in range(BROKERS)], mirrors=False)
        owners = (place(instance, seed=1).owner, round_robin(instance), by_mean_load(instance))
        later = burst_trace(usual, group, 2 * seed + 1)
        for name, owner in zip(names, owners, strict=True):
            told = replay(later, owner, instance.capacity)
            seconds[name] += told.overloaded_seconds
            brokers[name] += told.brokers_overloaded
    for name in names:
        print(f"{name}: {seconds[name]} overloaded broker-seconds, {brokers[name]} of 30 brokers ever overloaded")
    assert seconds["by risk"] < 0.5 * min(seconds["round robin"], seconds["mean load"])
    assert brokers["by risk"] < min(brokers["round robin"], brokers["mean load"])
