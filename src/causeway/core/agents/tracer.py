"""Writes what agents find out as trace records. Owns: the shape of the records, nothing else."""

from __future__ import annotations

from causeway.core.machine import Turn
from causeway.trace import Step, TraceRecord


class AgentTracer:
    """Trace of one broker about one domain."""

    __slots__ = ("_broker", "_domain")

    def __init__(self, broker: str, domain: str) -> None:
        self._broker = broker
        self._domain = domain

    def note(self, turn: Turn, step: Step, about: str, note: str = "", number: int = 0) -> None:
        """Something happened to a broker of the domain."""
        turn.effects.traces.append(
            TraceRecord(turn.now, self._broker, step, about, 0, self._domain, 0, number, number, note)
        )
