"""Which change of a measured figure is news: every piece of it is a write on every agent of a domain.

A broker tells its landmark by this rule, and the landmark writes down by the same one: what is worth telling is worth
keeping. Owns: the rule. Must not know: what is measured.
"""

from __future__ import annotations

from typing import Final

NEWS_PERCENT: Final = 10
"""By so much of the larger one a figure must have changed."""


def is_news(*changes: tuple[int, int]) -> bool:
    """Whether one of the figures, each as it was told and as it is now, has changed notably."""
    return any(was != now and 100 * abs(now - was) >= NEWS_PERCENT * max(was, now) for was, now in changes)
