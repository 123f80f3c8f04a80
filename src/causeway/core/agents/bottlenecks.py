"""What falls behind: judged from figures that are read about once a second. Pure.

A judgement needs several looks in a row to begin and several to end, so that it does not flap: what comes and goes is
no bottleneck. `BottleneckFinder` is the side of a broker, `BottlenecksKnown` that of a landmark.

Owns: when something is a bottleneck, and since when. Must not know: mailboxes, messages, who is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from causeway.core.messages import Bottleneck, BottleneckKind, Bottlenecks
from causeway.core.ports import Figures, FullConsumer
from causeway.domains.limits import BOTTLENECKS_PER_BROKER_MAX, BOTTLENECKS_SHOWN_MAX
from causeway.limits import KIB
from causeway.types import MILLISECOND, SECOND, BrokerId, Duration, Instant

LOOK_EVERY: Final[Duration] = 1 * SECOND
"""Between two looks."""

GROWN_LOOKS: Final = 5
"""A queue must have grown at so many looks in a row,"""
GROWN_SHARE: Final = 4
"""by at least one part in so many of what it was,"""
GROWN_MIN: Final = 100 * KIB
"""and by so much: a mailbox that was empty grows by any number of times with its first messages."""
MESSAGE_COST: Final = 1 * KIB
"""Each message counts as so many bytes beside its own."""
STEADY_SHARE: Final = 16
"""A queue that was found and has not grown by one part in so many of its greatest size is steady."""
STEADY_LOOKS: Final = 10
"""So many looks in a row it must be steady to be over."""

LATENCY_SLOW: Final[Duration] = 250 * MILLISECOND
"""Operations that take as long to be on all copies are slow: a link across the world and its disk need less."""
LATENCY_LOOKS: Final = 3
"""At so many looks with an operation under way, none of them fast."""
LATENCY_OVER_LOOKS: Final = 5
"""So many looks in a row without a slow one, half as long or none at all, and it is over."""

HELD_LONG: Final[Duration] = 5 * SECOND
"""A consumer is slow that holds as much as it may, has not come to an end with the first of it for so long, and lets
others wait."""
HELD_OVER_LOOKS: Final = 3
"""Looks in a row without a slow consumer until it is over."""

NAME_SHOWN_MAX: Final = 64
"""Characters of a client's name in a note."""

REPEAT_AFTER: Final[Duration] = 5 * SECOND
"""An agent repeats what it found as often: a report may be lost, a landmark be a new one."""
FORGET_AFTER: Final[Duration] = 3 * REPEAT_AFTER + LOOK_EVERY
"""A landmark forgets what was not repeated for so long."""


class BottleneckChange(NamedTuple):
    """A bottleneck was found, or is over."""

    about: str
    kind: BottleneckKind
    begun: bool
    note: str


class _Trial:
    """One kind of bottleneck at one place: since when, if it is one."""

    __slots__ = ("calm", "found_at", "note")

    def __init__(self) -> None:
        self.found_at: Instant | None = None
        self.calm = 0
        """Looks in a row without a sign of it."""
        self.note = ""

    def judge(self, now: Instant, *, is_bad: bool, is_calm: bool, over_after: int) -> bool | None:
        """Whether it begins (True) or ends (False) with this look; None: nothing has changed."""
        self.calm = self.calm + 1 if is_calm else 0
        if self.found_at is None and is_bad:
            self.found_at = now
            return True
        if self.found_at is not None and self.calm >= over_after:
            self.found_at = None
            return False
        return None


class _Queue(_Trial):
    """Does it grow?"""

    __slots__ = ("_grown", "_last", "_low", "_low_stored", "_peak", "_since")

    def __init__(self) -> None:
        super().__init__()
        self._last: int | None = None
        self._grown = self._low = self._low_stored = self._peak = 0
        self._since: Instant = 0

    def look(self, figures: Figures, now: Instant) -> bool | None:
        size = figures.bytes + MESSAGE_COST * figures.stored
        if self._last is not None and size > self._last:
            self._grown += 1
        else:
            self._grown, self._low, self._low_stored, self._since = 0, size, figures.stored, now
        self._last = size
        gained = size - self._low
        is_bad = self._grown >= GROWN_LOOKS and gained >= max(GROWN_MIN, self._low // GROWN_SHARE)
        is_calm = size <= self._peak + self._peak // STEADY_SHARE and not figures.full
        if not is_calm:
            self._peak = size
        if is_bad or figures.full:
            more, seconds = figures.stored - self._low_stored, (now - self._since) // SECOND
            grown = f"{more:+} messages within {seconds} s, " if is_bad and figures.stored else ""
            full = "near its bound, " if figures.full else ""
            self.note = f"{grown}{full}{figures.stored} messages, {figures.bytes} bytes, readers: {figures.readers}"
        changed = self.judge(now, is_bad=is_bad or figures.full, is_calm=is_calm, over_after=STEADY_LOOKS)
        if changed is not None:
            self._grown, self._low, self._low_stored, self._since = 0, size, figures.stored, now
            self._peak = size if changed else 0
        return changed

    @property
    def idle(self) -> bool:
        return self.found_at is None and not self._last


class _Latency(_Trial):
    """Do its operations take long?"""

    __slots__ = ("_slow",)

    def __init__(self) -> None:
        super().__init__()
        self._slow = 0

    def look(self, figures: Figures, now: Instant) -> bool | None:
        taken = figures.latency
        if taken is not None and taken >= LATENCY_SLOW:
            self._slow += 1
            self.note = f"{taken // MILLISECOND} ms until an operation is on all copies"
        elif taken is not None or self.calm >= LATENCY_OVER_LOOKS:
            self._slow = 0  # no operation under way says neither
        is_calm = taken is None or 2 * taken <= LATENCY_SLOW
        is_bad = self._slow >= LATENCY_LOOKS
        return self.judge(now, is_bad=is_bad, is_calm=is_calm, over_after=LATENCY_OVER_LOOKS)

    @property
    def idle(self) -> bool:
        return self.found_at is None and not self._slow


class _Held(_Trial):
    """Does a consumer let others wait?"""

    __slots__ = ("_since",)

    def __init__(self) -> None:
        super().__init__()
        self._since: dict[tuple[int, int], tuple[int, Instant]] = {}
        """Of consumers that take nothing more: what they hold first, and since when as far as was seen."""

    def look(self, figures: Figures, now: Instant) -> bool | None:
        before, self._since = self._since, {}
        slow: tuple[Duration, FullConsumer] | None = None
        for one in figures.held:
            mark, since = before.get(one.who, (one.mark, now))
            if mark != one.mark:
                since = now
            self._since[one.who] = (one.mark, since)
            if now - since >= HELD_LONG and (slow is None or now - since > slow[0]):
                slow = (now - since, one)
        if slow is not None:
            lasting, worst = slow
            held = f"{worst.client[:NAME_SHOWN_MAX]!r} holds {worst.unsettled} messages"
            self.note = f"{held}, the first for {lasting // SECOND} s or more, and {figures.waiting} wait"
        return self.judge(now, is_bad=slow is not None, is_calm=slow is None, over_after=HELD_OVER_LOOKS)

    @property
    def idle(self) -> bool:
        return self.found_at is None and not self._since


_Trials = dict[BottleneckKind, _Queue | _Latency | _Held]


def _trials() -> _Trials:
    return {
        BottleneckKind.QUEUE: _Queue(),
        BottleneckKind.LATENCY: _Latency(),
        BottleneckKind.CONSUMER: _Held(),
    }


class BottleneckFinder:
    """All bottlenecks of one broker."""

    def __init__(self) -> None:
        self._places: dict[str, _Trials] = {}
        """Places with something to remember; as many as the broker has mailboxes at most."""

    def look(self, read: Iterable[Figures], now: Instant) -> list[BottleneckChange]:
        """These figures were read; what has changed by them."""
        changes = []
        for figures in read:
            trials = self._places.get(figures.name) or _trials()
            for kind, trial in trials.items():
                changed = trial.look(figures, now)
                if changed is not None:
                    changes.append(BottleneckChange(figures.name, kind, changed, trial.note))
            if all(trial.idle for trial in trials.values()):
                self._places.pop(figures.name, None)  # as nearly all mailboxes are
            else:
                self._places[figures.name] = trials
        return changes

    def forget(self, about: str) -> list[BottleneckChange]:
        """We do not own it any more: whatever was found there is over for us."""
        trials = self._places.pop(about, {})
        return [
            BottleneckChange(about, kind, False, one.note) for kind, one in trials.items() if one.found_at is not None
        ]

    def found(self, now: Instant) -> tuple[Bottleneck, ...]:
        """All there are, those that last longest first, as far as they are to be told."""
        all_found = [
            Bottleneck(about, kind, trial.note, now - trial.found_at)
            for about, trials in self._places.items()
            for kind, trial in trials.items()
            if trial.found_at is not None
        ]
        return tuple(sorted(all_found, key=_longest))[:BOTTLENECKS_PER_BROKER_MAX]


class BottlenecksKnown:
    """What the agents of a domain have found, each broker's as it said last."""

    def __init__(self) -> None:
        self._of: dict[BrokerId, tuple[Instant, Sequence[Bottleneck]]] = {}

    def report(self, head: Bottlenecks, now: Instant) -> None:
        """A broker's word replaces its former one."""
        self._of = {by: said for by, said in self._of.items() if now - said[0] < FORGET_AFTER}
        self._of.pop(head.by, None)
        if head.found:
            self._of[head.by] = (now, head.found)

    def known(self, now: Instant) -> list[tuple[BrokerId, Bottleneck]]:
        """Who finds what, as old as it is now; those that last longest first."""
        found = [
            (by, Bottleneck(one.about, one.kind, one.note, one.lasting + now - at))
            for by, (at, said) in self._of.items()
            if now - at < FORGET_AFTER
            for one in said
        ]
        return sorted(found, key=lambda pair: _longest(pair[1]))[:BOTTLENECKS_SHOWN_MAX]


def _longest(one: Bottleneck) -> tuple[int, str, int]:
    return -one.lasting, one.about, one.kind
