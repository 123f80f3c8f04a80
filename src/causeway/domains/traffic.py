"""Who talks to whom how often, and what a message costs on its way.

A message pays for every hop from seat to seat: a fixed price, and the price of one cell for each cell of that domain's
clock, which are the square of its seats (AAA, section 6.2). Units are what gets a seat of its own: seats if they are
known, else applications. What a unit sends to itself passes no domain and costs nothing.

Must not know: domains, where the numbers come from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from causeway.errors import ConfigError

CELL_COST: Final = 1.0
"""The unit in which costs are told: what one cell of a clock costs per message and hop."""
HOP_COST: Final = 100.0
"""What else a hop costs, in cells: as much as the clock of a domain of ten seats."""


class Prices:
    """What one hop costs, by the seats of its domain."""

    def __init__(self, cell: float = CELL_COST, hop: float = HOP_COST) -> None:
        for field, value in (("cell-cost", cell), ("hop-cost", hop)):
            if not (math.isfinite(value) and value >= 0):
                raise ConfigError(field, value, "must be a number, 0 or more")
        if cell == hop == 0:
            raise ConfigError("cell-cost", cell, "is 0, and hop-cost too: then every split costs the same; give one")
        self.cell = cell
        self.hop = hop

    def of(self, seats: int) -> float:
        """A hop in a domain of so many seats."""
        return self.hop + self.cell * seats * seats


class Traffic:
    """Units by number, and messages per second between two of them, both directions together."""

    def __init__(self, units: Iterable[str], rates: Iterable[tuple[str, str, float]]) -> None:
        self.names = list(dict.fromkeys(units))
        numbers = {name: number for number, name in enumerate(self.names)}
        between: dict[tuple[int, int], float] = {}
        self.within = 0.0
        """Messages per second that a unit sends to itself."""
        for source, dest, rate in rates:
            left, right = sorted((numbers[source], numbers[dest]))
            if left == right:
                self.within += rate
            elif rate > 0:
                between[left, right] = between.get((left, right), 0.0) + rate
        self.pairs = [(left, right, rate) for (left, right), rate in between.items()]
        self.partners: list[dict[int, float]] = [{} for _ in self.names]
        for left, right, rate in self.pairs:
            self.partners[left][right] = self.partners[right][left] = rate

    @property
    def rate(self) -> float:
        """Messages per second that go from unit to unit."""
        return sum(rate for _left, _right, rate in self.pairs)

    @classmethod
    def numbered(cls, count: int, pairs: Iterable[tuple[int, int, float]]) -> Traffic:
        """A part of another one, whose names do not matter."""
        return cls(map(str, range(count)), ((str(left), str(right), rate) for left, right, rate in pairs))
