"""Which agents of a domain have failed, as its landmark judges: its own link is down, and it is not the only one.

A broker that dies loses all its links at once, so the first report of another agent settles it. One that only we cannot
reach is a failed link, not a failed broker. Who dies again and again is flapping: it gets no seat for a while, not even
of the next landmark. That one is told how often, not when: clocks are not compared, so it counts from its beginning.

Owns: what was seen and said. Must not know: seats, messages.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from causeway.types import MILLISECOND, SECOND, BrokerId, Duration, Instant

SETTLE: Duration = 200 * MILLISECOND
"""So long a broker must be gone before its seat is given away: a connection that only broke is back by then."""

TOGETHER: Duration = 50 * MILLISECOND
"""Who was lost so soon after a broker that is given up is given up with it: what fails together is one decision."""

ALONE: Duration = 2 * SECOND
"""So long when nobody else is there to confirm it."""

FLAP_SPAN: Duration = 60 * SECOND
FLAP_DEATHS = 2
"""Who failed so often within this span gets no seat until the span is over."""

DEATHS_KEPT = 16


@dataclass(slots=True)
class Watch:
    """One agent."""

    down_since: Instant = -1
    """Our link to it broke then; -1 while it is up."""
    reports: dict[BrokerId, None] = field(default_factory=dict)
    """Agents that lost their link to it."""
    failed: bool = False
    deaths: deque[Instant] = field(default_factory=lambda: deque(maxlen=DEATHS_KEPT))


class AgentFailures:
    """All agents of one domain."""

    def __init__(self, me: BrokerId) -> None:
        self._me = me
        self._watches: dict[BrokerId, Watch] = {}
        self._alone = True
        """Whether nobody else was there when we last judged."""
        self._written: dict[BrokerId, int] = {}
        """How often brokers failed lately, as the next landmark would know."""

    def _watch(self, broker: BrokerId) -> Watch:
        return self._watches.setdefault(broker, Watch())

    def restore(self, deaths: dict[BrokerId, int], now: Instant) -> None:
        """Go on with what the last landmark knew."""
        self._written = dict(deaths)
        for broker, count in deaths.items():
            self._watch(broker).deaths.extend([now] * count)

    def take_unwritten(self, now: Instant) -> list[tuple[BrokerId, int]]:
        """What the next landmark would not know: who failed, or has not failed again for long, and how often lately."""
        counts = {broker: self.deaths(broker, now) for broker in {**self._written, **self._watches}}
        changed = [(broker, count) for broker, count in counts.items() if count != self._written.get(broker, 0)]
        self._written = {broker: count for broker, count in counts.items() if count}
        return changed

    def lost_ones(self) -> list[BrokerId]:
        """Those to whom our link is broken, as far as we were told."""
        return [broker for broker, watch in self._watches.items() if watch.down_since >= 0]

    def lost(self, broker: BrokerId, now: Instant) -> None:
        """Our link broke."""
        watch = self._watch(broker)
        if watch.down_since < 0:
            watch.down_since = now

    def found(self, broker: BrokerId, now: Instant) -> bool:
        """Our link is up; whether the broker had been taken for failed."""
        watch = self._watch(broker)
        was, watch.failed = watch.failed, False
        watch.down_since = -1
        watch.reports.clear()
        return was

    def forget(self, broker: BrokerId) -> None:
        """An agent no longer: if it comes again it begins anew, and what it said of others is void."""
        self._watches.pop(broker, None)
        for watch in self._watches.values():
            watch.reports.pop(broker, None)

    def reported(self, broker: BrokerId, by: BrokerId) -> bool:
        """Another agent lost its link to a broker; whether that is news."""
        watch = self._watch(broker)
        news = by not in watch.reports
        watch.reports[by] = None
        return news

    def withdrawn(self, broker: BrokerId, by: BrokerId) -> None:
        """That link is up again."""
        self._watch(broker).reports.pop(by, None)

    def judge(self, now: Instant, *, alone: bool) -> list[BrokerId]:
        """Those that are now taken for failed and were not before."""
        self._alone = alone
        first = self.next_look()
        if first is None or first > now:
            return []
        found = [broker for broker, watch in self._watches.items() if 0 <= self._due(watch) <= now + TOGETHER]
        for broker in found:
            self._watches[broker].failed = True
            self._watches[broker].deaths.append(now)
        return found

    def _due(self, watch: Watch) -> Instant:
        """When it is to be taken for failed; -1 for never, as things are."""
        if watch.failed or watch.down_since < 0:
            return -1
        if watch.reports:
            return watch.down_since + SETTLE
        return watch.down_since + ALONE if self._alone else -1

    def next_look(self) -> Instant | None:
        """When `judge` may find something."""
        due = [self._due(watch) for watch in self._watches.values()]
        return min((at for at in due if at >= 0), default=None)

    def has_failed(self, broker: BrokerId) -> bool:
        """Whether a broker is taken for failed."""
        watch = self._watches.get(broker)
        return watch is not None and watch.failed

    def failed(self) -> list[BrokerId]:
        """All that are."""
        return [broker for broker, watch in self._watches.items() if watch.failed]

    def gone(self) -> list[BrokerId]:
        """All that are, gone longest first."""
        return sorted(self.failed(), key=lambda broker: self._watches[broker].down_since)

    def witnesses(self, broker: BrokerId) -> list[BrokerId]:
        """Who lost a link to it: they worked with it."""
        watch = self._watches.get(broker)
        return [] if watch is None else list(watch.reports)

    def deaths(self, broker: BrokerId, now: Instant) -> int:
        """How often it failed lately."""
        watch = self._watches.get(broker)
        return 0 if watch is None else sum(now - at < FLAP_SPAN for at in watch.deaths)

    def flaps(self, broker: BrokerId, now: Instant) -> bool:
        """Whether it fails too often to be given a seat."""
        return self.deaths(broker, now) >= FLAP_DEATHS
