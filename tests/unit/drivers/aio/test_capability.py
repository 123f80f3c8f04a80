"""What a machine can compute."""

from __future__ import annotations

import pytest

from causeway.drivers.aio import capability
from causeway.limits import CAPABILITY_MAX, CAPABILITY_USUAL


@pytest.mark.parametrize(
    ("pieces", "measured"),
    [
        ([capability.PIECE_USUAL], CAPABILITY_USUAL),
        ([4 * capability.PIECE_USUAL, capability.PIECE_USUAL // 2, capability.PIECE_USUAL], 2 * CAPABILITY_USUAL),
        ([0], CAPABILITY_MAX),
        ([10_000 * capability.PIECE_USUAL], 1),
    ],
    ids=["usual", "the fastest piece counts", "no time at all", "for ever"],
)
def test_capability_is_the_speed_of_the_fastest_piece(
    monkeypatch: pytest.MonkeyPatch, pieces: list[int], measured: int
) -> None:
    left = list(pieces)
    monkeypatch.setattr(capability, "_piece", lambda: left.pop(0) if len(left) > 1 else left[0])
    assert capability.measure() == measured


def test_this_machine_has_a_capability() -> None:
    assert 1 <= capability.measure() <= CAPABILITY_MAX
