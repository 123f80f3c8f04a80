"""Bursts on simulated brokers: what owners say they handled is what was published, and placement by risk overloads
least. Counts are printed (-s)."""

from __future__ import annotations

import msgspec
import pytest

from causeway.errors import ConfigError
from causeway.evaluate.burst_brokers import BurstCase, replayed_bursts
from causeway.placement.comparisons import BY_RISK, MEAN_LOAD, PLACEMENTS, ROUND_ROBIN


def test_bursts_on_simulated_brokers_overload_fewer_of_them_when_placed_by_risk() -> None:
    found = {one.placement: one for one in replayed_bursts(BurstCase(seconds=25, seed=4))}
    assert list(found) == list(PLACEMENTS)
    for one in found.values():
        print(f"{one.placement}: {one.overloaded_seconds} overloaded broker-seconds of {one.brokers * one.seconds}")
        assert one.published == one.handled == one.received > 0
        assert one.overloaded_seconds == one.computed_seconds == sum(one.overloaded_by_second)
        assert (one.messages_over > 0) == (one.overloaded_seconds > 0) == (one.brokers_overloaded > 0)
    by_risk = found[BY_RISK]
    for other in (found[ROUND_ROBIN], found[MEAN_LOAD]):
        assert by_risk.overloaded_seconds < other.overloaded_seconds
        assert by_risk.brokers_overloaded < other.brokers_overloaded


@pytest.mark.parametrize(("field", "value"), [("topics", 65), ("groups", 0), ("brokers", 1), ("seconds", 0)])
def test_what_cannot_be_replayed_is_refused_by_name(field: str, value: int) -> None:
    with pytest.raises(ConfigError, match=f"{field}={value}"):
        replayed_bursts(msgspec.structs.replace(BurstCase(), **{field: value}))
