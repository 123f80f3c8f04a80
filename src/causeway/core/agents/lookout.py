"""Looks for bottlenecks at this broker: reads figures, lets them be judged, traces and reports what changed.

Owns: when to look, and when the landmarks are told. Must not know: what the figures mean (`bottlenecks`).
Where no domain is configured nobody looks: there is no landmark to tell.
"""

from __future__ import annotations

from collections.abc import Sequence

from causeway.core.agents.bottlenecks import LOOK_EVERY, REPEAT_AFTER, BottleneckChange, BottleneckFinder
from causeway.core.agents.tracer import AgentTracer
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.machine import Turn
from causeway.core.messages import Bottlenecks
from causeway.core.ports import Courier, Gauge
from causeway.names import agents_name
from causeway.trace import Step
from causeway.types import BrokerId, Instant

_LOOK = "look"


class Lookout:
    """One broker, for all of its domains."""

    def __init__(
        self, name: str, me: BrokerId, domains: Sequence[str], *, gauge: Gauge, courier: Courier, alarm: Alarm
    ) -> None:
        self._me = me
        self._tracers = {domain: AgentTracer(name, domain) for domain in domains}
        self._gauge = gauge
        self._courier = courier
        self._finder = BottleneckFinder()
        self._deadlines: Deadlines[str] = Deadlines(alarm)
        self._told_at: Instant | None = None
        """When landmarks last heard of any; None while there is nothing that they would have to forget."""

    def start(self, turn: Turn) -> None:
        """We are in the ring."""
        if self._tracers:
            self._deadlines.set_if_unset(_LOOK, turn.now + LOOK_EVERY)

    def forget(self, turn: Turn, name: str) -> None:
        """We own a mailbox no longer."""
        self._tell(turn, self._finder.forget(name))

    def next_deadline(self) -> Instant | None:
        return self._deadlines.next()

    def on_deadline(self, turn: Turn) -> None:
        """Look, if it is time."""
        if self._deadlines.pop_due(turn.now):
            self._deadlines.set(_LOOK, turn.now + LOOK_EVERY)
            self._tell(turn, self._finder.look(self._gauge.read(turn), turn.now))

    def _tell(self, turn: Turn, changes: list[BottleneckChange]) -> None:
        for change in changes:
            note = f"{change.kind.name.lower()}: {'' if change.begun else 'over; it was '}{change.note}"
            for tracer in self._tracers.values():
                tracer.note(turn, Step.BOTTLENECK, change.about, note, number=int(change.begun))
        is_due = self._told_at is not None and turn.now - self._told_at >= REPEAT_AFTER
        if not changes and not is_due:
            return
        found = self._finder.found(turn.now)
        for domain in self._tracers:
            self._courier.post(turn, agents_name(domain), Bottlenecks(domain, self._me, found))
        self._told_at = turn.now if found else None
