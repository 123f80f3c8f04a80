"""What agents find out is traced with the broker that found it and the domain it is about."""

from __future__ import annotations

from causeway.core.agents.tracer import AgentTracer
from causeway.core.machine import Turn
from causeway.trace import Step


def test_record_says_who_found_what_about_whom_and_where() -> None:
    turn = Turn(77)
    AgentTracer("b1", "north").note(turn, Step.SEAT_TAKEN, "b9", "the seat of b2", number=3)
    (record,) = turn.effects.traces
    assert (record.at, record.broker, record.step) == (77, "b1", Step.SEAT_TAKEN)
    assert (record.source, record.dest, record.first, record.note) == ("b9", "north", 3, "the seat of b2")
