"""Runs of ids that wait for their next step: what began when, found again by the ids that go on.

Owns: the runs of many streams within a bound. Must not know: which steps these are.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, NamedTuple

from causeway.types import Instant

LOOKED_AT_MAX: Final = 256
"""A step about a part of a run is looked for among so many runs of its stream; in a longer one it is not found."""


class IdRun(NamedTuple):
    """Ids with one past."""

    first: int
    last: int
    at: Instant
    """When they came."""
    handed: Instant = 0
    """When they were handed on; 0 when they were not."""
    counted: tuple[str, str, int] | None = None
    """Where they count as long as they wait."""


class Runs:
    """All that waits, by stream."""

    def __init__(self, runs_max: int) -> None:
        self._runs_max = runs_max
        self._streams: dict[Hashable, dict[int, IdRun]] = {}
        """Runs by first id; streams with the least recent news first."""
        self.count = 0

    def put(self, stream: Hashable, run: IdRun) -> list[IdRun]:
        """A run waits; at the bound, what waits in the stream that was quiet longest is forgotten. What that is."""
        runs = self._streams.pop(stream, None)
        self._streams[stream] = runs = {} if runs is None else runs
        if run.first not in runs:
            self.count += 1
        runs[run.first] = run
        forgotten: list[IdRun] = []
        while self.count > self._runs_max:
            oldest = next(iter(self._streams))
            if oldest == stream:
                forgotten.append(runs.pop(next(iter(runs))))
                self.count -= 1
            else:
                forgotten += self._streams[oldest].values()
                self.count -= len(self._streams.pop(oldest))
        return forgotten

    def take(self, stream: Hashable, first: int, last: int) -> list[IdRun]:
        """What waits of these ids, which waits no longer."""
        runs = self._streams.get(stream)
        found: list[IdRun] = []
        while runs and first <= last:
            run = runs.get(first) or _covering(runs, first, last)
            if run is None:
                break
            del runs[run.first]
            self.count -= 1
            if run.first < first:
                self._keep(runs, run._replace(last=first - 1))
            if run.last > last:
                self._keep(runs, run._replace(first=last + 1))
            found.append(run._replace(first=max(run.first, first), last=min(run.last, last)))
            first = run.last + 1
        if runs is not None and not runs:
            del self._streams[stream]
        return found

    def _keep(self, runs: dict[int, IdRun], run: IdRun) -> None:
        runs[run.first] = run
        self.count += 1


def _covering(runs: dict[int, IdRun], first: int, last: int) -> IdRun | None:
    """The first run with some of these ids."""
    if len(runs) > LOOKED_AT_MAX:
        return None
    return min((run for run in runs.values() if run.first <= last and run.last >= first), default=None)
