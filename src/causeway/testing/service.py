"""How long applications were without service, seen from outside: from their own successful operations alone. Pure."""

from __future__ import annotations

import msgspec

from causeway.types import Duration, Instant


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """The longest time one application got nothing done around some moment."""

    application: str
    gap: Duration
    """Between two successful operations of one lane (sends acknowledged, messages received)."""
    wait: Duration
    """Of the send that waited longest for its acknowledgement."""


class ServiceLog:
    """Successful operations per application, reduced to the gaps between them."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], Instant] = {}
        self._gaps: dict[str, list[tuple[Instant, Instant]]] = {}
        self._waits: dict[str, list[tuple[Instant, Instant]]] = {}

    def succeeded(self, application: str, lane: str, at: Instant) -> None:
        """An operation of a lane ("send", "receive") succeeded."""
        before = self._last.get((application, lane))
        self._last[(application, lane)] = at
        if before is not None:
            _remember(self._gaps.setdefault(application, []), before, at)

    def waited(self, application: str, since: Instant, until: Instant) -> None:
        """A send was acknowledged after this wait."""
        _remember(self._waits.setdefault(application, []), since, until)

    def paused(self, application: str) -> None:
        """The application stopped by its own will: the time until its next operation is nobody's fault."""
        for lane in [name for name in self._last if name[0] == application]:
            del self._last[lane]

    def outages(self, since: Instant, until: Instant) -> list[Outage]:
        """Per application, the longest gap and the longest wait that touch the time from `since` to `until`."""
        names = sorted({*self._gaps, *self._waits})
        return [
            Outage(
                application=name,
                gap=_longest(self._gaps.get(name, []), since, until),
                wait=_longest(self._waits.get(name, []), since, until),
            )
            for name in names
        ]


_SHORTEST: Duration = 5_000_000
"""Gaps below 5 ms are the rhythm of the traffic; dropping them keeps the log small."""


def _remember(intervals: list[tuple[Instant, Instant]], since: Instant, until: Instant) -> None:
    if until - since >= _SHORTEST:
        intervals.append((since, until))


def _longest(intervals: list[tuple[Instant, Instant]], since: Instant, until: Instant) -> Duration:
    return max((stop - start for start, stop in intervals if stop >= since and start <= until), default=0)
