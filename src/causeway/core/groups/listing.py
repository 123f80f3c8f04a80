"""Names as shown to people, page by page. Owns: their order and how many are shown. Changes nothing.

By name: whoever asks on from the last name it saw misses none that was there all the time, whatever was born or ended
meanwhile.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import NamedTuple

from causeway.limits import STATUS_ENTRIES_MAX


class NamePage(NamedTuple):
    """One page."""

    shown: dict[str, None]
    left_out: int
    """How many come behind this page."""
    next: str | None
    """Ask for what comes after this name; None when nothing does."""


def page_of(names: Iterable[str], after: str) -> NamePage:
    """The names that come after `after`, as many as one status shows."""
    behind = dict.fromkeys(name for name in names if name > after)
    shown = dict.fromkeys(heapq.nsmallest(STATUS_ENTRIES_MAX, behind))
    left_out = len(behind) - len(shown)
    return NamePage(shown, left_out, next(reversed(shown)) if left_out else None)
