"""Bounds of placement, with their reasons."""

from __future__ import annotations

from typing import Final

ITEMS_MAX: Final = 10_000
"""Items that are placed at once: their covariance is a square matrix of 800 MB then. Put more topics into an item."""

TOPICS_WITH_COVARIANCE_MAX: Final = 10_000
"""Topics with a covariance matrix of their own; samples of more topics are summed per item first and need none."""

TOPICS_MAX: Final = 1_000_000
"""Topics of all items: what a cluster's directory may name."""

BROKERS_MAX: Final = 1_000
"""Brokers of one placement: a search keeps a number for every item and broker."""

SAMPLES_MAX: Final = 1_000_000
"""Samples of rates: eleven days of seconds, far more than a covariance gains from."""

CAPACITY_NOMINAL: Final = 10_000.0
"""Messages per second that brokers are taken to sustain where no capacity is known at all. With the same for everybody
items are balanced whatever it is; the risks that are told mean little then."""
