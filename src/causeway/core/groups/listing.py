"""A broker's groups as shown to people, page by page. Owns: their order and how many are shown. Changes nothing.

The directory's group comes first, then all others by name: whoever asks on from the last name it saw misses none that
was there all the time, whatever was born or ended meanwhile.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import NamedTuple

from causeway.core.groups.registry import ROOT
from causeway.core.groups.state import Group
from causeway.limits import STATUS_ENTRIES_MAX
from causeway.types import Key


class Listing(NamedTuple):
    """One page."""

    entries: list[dict[str, object]]
    keys: list[Key]
    left_out: int
    """How many come behind this page."""
    next: str | None
    """Ask for what comes after this name; None when nothing does."""


def listing(groups: Iterable[Group], after: str, describe: Callable[[Group], dict[str, object]]) -> Listing:
    """The groups whose names come after `after`, as many as one status shows."""
    behind = [g for g in groups if g.key != ROOT and g.config.name > after]
    shown = heapq.nsmallest(STATUS_ENTRIES_MAX, behind, key=lambda g: g.config.name)
    left_out = len(behind) - len(shown)
    next_name = shown[-1].config.name if left_out else None
    if not after:
        shown = [*(g for g in groups if g.key == ROOT), *shown]
    return Listing([describe(g) for g in shown], [g.key for g in shown], left_out, next_name)
