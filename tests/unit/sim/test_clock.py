from __future__ import annotations

import pytest

from causeway.sim.clock import EPOCH, Clock


@pytest.mark.parametrize("drift_ppb", [-5_000_000, -1, 0, 1, 333, 5_000_000])
@pytest.mark.parametrize("offset", [-(10**15), 0, 7])
def test_clock_names_the_first_virtual_instant_that_shows_a_local_one(drift_ppb: int, offset: int) -> None:
    clock = Clock(offset, drift_ppb)
    for local in (EPOCH + offset + 1, EPOCH + offset + 999_999_937, EPOCH + offset + 10**13 + 1):
        virtual = clock.when(local)
        assert clock.read(virtual) >= local
        assert clock.read(virtual - 1) < local


def test_clock_never_goes_back() -> None:
    clock = Clock(0, -400_000_000)
    shown = [clock.read(virtual) for virtual in range(0, 5000, 1)]
    assert shown == sorted(shown)
