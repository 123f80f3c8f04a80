"""How far sites are from each other, as PBM section 4 has it: a random number per pair, without triangle inequality.

The paper fills a matrix. Here each number is computed from the seed and the pair when it is asked for, so that 16,384
sites need no table of 268 million entries; one pair always gets the same number.

Owns: distances. Must not know: who is at a site, and what is sent.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np

from causeway.types import MILLISECOND, Duration

LEAST: Final[Duration] = MILLISECOND
"""The paper's smallest distance between two sites."""

_MASK: Final = (1 << 64) - 1
_GOLDEN: Final = 0x9E3779B97F4A7C15
_FIRST: Final = 0xBF58476D1CE4E5B9
_SECOND: Final = 0x94D049BB133111EB
"""The constants of SplitMix64 (Steele, Lea & Flood, 2014)."""

Row = np.ndarray[Any, np.dtype[np.int64]]


class SiteDistances(msgspec.Struct, frozen=True):
    """One way delays between sites, from LEAST to `most`, evenly drawn; none inside a site."""

    seed: int
    most: Duration
    directed: bool = False
    """Each direction of a pair has a number of its own. Otherwise both have the same."""

    def between(self, source: int, target: int) -> Duration:
        """The way from one site to another."""
        if source == target:
            return 0
        if not self.directed and source > target:
            source, target = target, source
        drawn = _mixed(_mixed(self.seed + 1) ^ ((source << 32) | target))
        return LEAST + ((drawn >> 32) * (self.most - LEAST) >> 32)

    def row(self, source: int, sites: int) -> Row:
        """As `between`, to each of the sites."""
        targets = np.arange(sites, dtype=np.uint64)
        here = np.full(sites, source, dtype=np.uint64)
        low, high = (here, targets) if self.directed else (np.minimum(here, targets), np.maximum(here, targets))
        drawn = _mixed_all(np.uint64(_mixed(self.seed + 1)) ^ ((low << np.uint64(32)) | high))
        span = np.uint64(self.most - LEAST)
        found = LEAST + ((drawn >> np.uint64(32)) * span >> np.uint64(32)).astype(np.int64)
        found[source] = 0
        return found


def _mixed(number: int) -> int:
    number = (number + _GOLDEN) & _MASK
    number = ((number ^ (number >> 30)) * _FIRST) & _MASK
    number = ((number ^ (number >> 27)) * _SECOND) & _MASK
    return number ^ (number >> 31)


def _mixed_all(numbers: np.ndarray[Any, np.dtype[np.uint64]]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    numbers = numbers + np.uint64(_GOLDEN)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(_FIRST)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(_SECOND)
    return numbers ^ (numbers >> np.uint64(31))
