"""Frames between sites, event by event: each takes its size on its sender's line, travels, takes it again on arrival.

Owns: the order of events, what a message has cost so far. Must not know: what is sent and why.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final

from causeway.evaluate.closed_forms import BITS_PER_SECOND
from causeway.evaluate.site_distances import SiteDistances
from causeway.sim.bandwidth import Lines, time_on_line
from causeway.sim.network import Network, Weather
from causeway.sim.run_log import RunLog
from causeway.sim.world import World
from causeway.types import SECOND, Duration, Instant

PATIENCE: Final[Duration] = 100 * SECOND
"""No message takes so long."""

Then = Callable[[], None]


class Trip:
    """One message and everything that is sent on its account."""

    __slots__ = (
        "begun",
        "bytes",
        "frames",
        "hops",
        "one_way",
        "out",
        "round_trip",
        "sent",
        "there_and_back",
        "travelled",
        "way",
    )

    def __init__(self, begun: Instant, hops: int) -> None:
        self.begun = begun
        self.hops = hops
        """Between brokers, of the message itself."""
        self.frames = 0
        self.bytes = 0
        self.travelled: Duration = 0
        """How long its frames travelled, without their time on lines."""
        self.one_way: Duration | None = None
        self.round_trip: Duration | None = None
        self.way = (0, 0)
        """Frames that led to what happens now, one because of the other, and how long they travelled."""
        self.out = self.there_and_back = (0, 0)
        """The way when it had arrived, and when that was known; frames beside it, as to other copies, are not in it."""
        self.sent = (0, 0)
        """All frames until that was known, and how long they travelled."""

    def arrived(self, now: Instant) -> None:
        """Its receiver has it, or its receiver's broker if nobody is there."""
        self.one_way = now - self.begun
        self.out = self.way

    def answered(self, now: Instant) -> None:
        """Its sender knows."""
        self.round_trip = now - self.begun
        self.there_and_back = self.way
        self.sent = (self.frames, self.travelled)


def _on_way(trip: Trip, way: tuple[int, int], then: Then) -> Then:
    """What comes then goes on from this way, whatever else has happened to the message."""

    def go_on() -> None:
        trip.way = way
        then()

    return go_on


class SiteLines:
    """The sites of an experiment, and virtual time."""

    def __init__(self, distances: SiteDistances) -> None:
        self._distances = distances
        self._lines = Lines()
        self.world = World(RunLog(), Network(random.Random(0), Weather()))

    @property
    def now(self) -> Instant:
        """Virtual time."""
        return self.world.now

    def carry(self, trip: Trip, source: int, target: int, size: int, then: Then) -> None:
        """One frame from site to site."""
        distance = self._distances.between(source, target)
        trip.frames += 1
        trip.bytes += size
        trip.travelled += distance
        duration = time_on_line(size, BITS_PER_SECOND)
        at = self._lines.leave(source, self.now, duration) + distance
        frames, travelled = trip.way
        arrived = _on_way(trip, (frames + 1, travelled + distance), then)
        self.world.at(at, self._arrive, target, duration, arrived)

    def _arrive(self, target: int, duration: Duration, then: Then) -> None:
        self.world.at(self._lines.enter(target, self.now, duration), then)

    def along(self, trip: Trip, path: Sequence[int], size: int, then: Then) -> None:
        """A frame that every site on the way sends on."""
        if len(path) < 2:
            then()
            return
        self.carry(trip, path[0], path[1], size, lambda: self.along(trip, path[1:], size, then))

    def after(self, trip: Trip, delay: Duration, then: Then) -> None:
        """Later."""
        self.world.after(delay, _on_way(trip, trip.way, then))

    def run_until_quiet(self) -> None:
        """Let everything happen that is under way."""
        self.world.run(self.now + PATIENCE)
