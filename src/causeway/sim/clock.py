"""What a process believes the time is: true virtual time, shifted and stretched.

The claim (see the atlas in `faults`): within one life a clock never goes back and runs at most `drift` too fast or
too slow; between two lives it may jump either way. Integers only, so that a seed means the same everywhere.
"""

from __future__ import annotations

from typing import Final

from causeway.types import Instant

EPOCH: Final[Instant] = 1_700_000_000_000_000_000
"""Instant zero of the simulator as Unix time: product code sees realistic numbers."""

BILLION: Final = 1_000_000_000


class Clock:
    """Local time as a linear function of virtual time."""

    __slots__ = ("drift_ppb", "offset")

    def __init__(self, offset: int = 0, drift_ppb: int = 0) -> None:
        assert abs(drift_ppb) < BILLION // 2
        self.offset = offset
        self.drift_ppb = drift_ppb

    def read(self, virtual: Instant) -> Instant:
        """The local instant at a virtual one."""
        return EPOCH + self.offset + virtual + virtual * self.drift_ppb // BILLION

    def when(self, local: Instant) -> Instant:
        """The first virtual instant at which this clock shows `local` or later."""
        target = local - EPOCH - self.offset
        virtual = target * BILLION // (BILLION + self.drift_ppb) - 1
        while self.read(virtual) < local:
            virtual += 1
        return virtual
