"""What is published to the items of a domain, as its landmark hears of it: one sample of them all per window of time.

Brokers' clocks have nothing to do with each other, so what counts is the window in which a report arrives.

Owns: the samples. Must not know: who asks for them, what is done with them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from causeway.types import SECOND, Duration

WINDOWS_KEPT: Final = 120
"""Samples that a landmark keeps: ten minutes, as brokers report by default."""

_FRESH: Final = 2
"""A report counts for so many windows: the next one may come just after the end of its own."""


class PublishedTold:
    """The side of an owner: what was published to its items since it last said so."""

    def __init__(self) -> None:
        self._totals: dict[str, int] = {}
        self._told: dict[str, int] = {}

    def take(self, published: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
        """Messages by item, from their numbers since we own each; silence is told once."""
        totals = dict(published)
        counts = {item: total - min(total, self._totals.get(item, 0)) for item, total in totals.items()}
        told = tuple((item, count) for item, count in counts.items() if count or self._told.get(item))
        self._totals, self._told = totals, dict(told)
        return told


class ItemLoad:
    """Rates of items, sampled."""

    def __init__(self) -> None:
        self._latest: dict[str, tuple[int, int]] = {}
        """Messages a second, and for how many more windows."""
        self._windows: deque[dict[str, int]] = deque(maxlen=WINDOWS_KEPT)

    def __len__(self) -> int:
        return len(self._windows)

    def report(self, counts: Iterable[tuple[str, int]], span: Duration) -> None:
        """What an owner has counted."""
        for item, count in counts:
            self._latest[item] = (round(count * SECOND / span), _FRESH)

    def close_window(self) -> None:
        """Take a sample."""
        self._windows.append({item: rate for item, (rate, _) in self._latest.items()})
        self._latest = {item: (rate, left - 1) for item, (rate, left) in self._latest.items() if left > 1}

    def samples(self, items: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """Messages a second of each item, one row per window, oldest first."""
        return tuple(tuple(window.get(item, 0) for item in items) for window in self._windows)

    def means(self, items: Sequence[str]) -> tuple[int, ...]:
        """Of each item over all windows, in thousandths of a message a second."""
        count = max(1, len(self._windows))
        return tuple(1000 * sum(window.get(item, 0) for window in self._windows) // count for item in items)
