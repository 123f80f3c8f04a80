"""Records of many brokers become one timeline."""

from __future__ import annotations

from causeway.cli.story import step_name, timeline
from causeway.trace import Step, TraceRecord


def _record(at: int, broker: str, step: Step) -> TraceRecord:
    return TraceRecord(at, broker, step, "orders", 1, "billing", 2, 1, 4)


def test_timeline_is_in_order_of_time_across_brokers() -> None:
    rows = timeline([_record(5_000_000, "b", Step.STORED), _record(1_000_000, "a", Step.SENT)])
    assert [(row["broker"], row["step"], row["after_ms"]) for row in rows] == [("a", "sent", 0.0), ("b", "stored", 4.0)]


def test_timeline_puts_equal_times_in_the_order_of_a_life() -> None:
    rows = timeline([_record(1, "b", Step.SETTLED), _record(1, "b", Step.DELIVERED), _record(1, "b", Step.STORED)])
    assert [row["step"] for row in rows] == ["stored", "delivered", "settled"]


def test_timeline_tells_a_record_once_that_two_brokers_gave() -> None:
    assert len(timeline([_record(1, "a", Step.SENT), _record(1, "a", Step.SENT)])) == 1


def test_timeline_of_nothing_is_empty() -> None:
    assert timeline([]) == []


def test_step_of_a_newer_release_has_a_name() -> None:
    assert step_name(99) == "step-99"
