from __future__ import annotations

from typing import Any

from causeway.lake.meters import Meters
from causeway.lake.sketch import number_of
from causeway.topics import item_of
from causeway.trace import Step, TraceRecord
from causeway.types import MILLISECOND

ITEM = item_of("roads/a1")


def record(at_ms: int, step: Step, first: int = 1, last: int = 1, **other: Any) -> TraceRecord:
    known: dict[str, Any] = {"mailbox": "box", "service": 1, "reliable": True, "bytes": 10 * (last - first + 1)}
    known.update(other)
    broker = known.pop("broker", "b1")
    dest = known.pop("dest", "box")
    return TraceRecord(at_ms * MILLISECOND, broker, step, "shop", 1, dest, 1, first, last, **known)


def meters_of(*records: TraceRecord, **bounds: int) -> Meters:
    meters = Meters(**bounds)
    for one in records:
        meters.note(one)
    return meters


def hops(meters: Meters) -> dict[tuple[str, str], dict[int, int]]:
    return {(row[1], row[3]): dict(zip(row[4], row[5], strict=True)) for row in meters.latency(1 << 60)}


def test_messages_are_counted_by_mailbox_and_second_with_the_depth_at_its_end() -> None:
    meters = meters_of(
        record(1000, Step.STORED, 1, 10),
        record(1500, Step.DELIVERED, 1, 6),
        record(1999, Step.STORED, 11, 12),
        record(2500, Step.SETTLED, 1, 5, bytes=0),
        record(2600, Step.EXPIRED, 12, 12, bytes=0),
    )
    assert list(meters.telemetry(2)) == [(1, "box", "", 1, 12, 120, 6, 60, 12)]
    assert list(meters.telemetry(3)) == [(2, "box", "", 1, 0, 0, 0, 0, 6)]
    assert not list(meters.telemetry(3))


def test_topics_are_counted_at_their_item_and_where_they_are_read() -> None:
    published = {"topic": "roads/a1", "dest": ITEM}
    meters = meters_of(
        record(0, Step.STORED, 1, 4, mailbox=ITEM, **published),
        record(1, Step.STORED, 1, 4, mailbox="sub/x", **published),
        record(2, Step.SETTLED, 1, 4, mailbox=ITEM, bytes=0, **published),
        record(3, Step.DELIVERED, 1, 3, mailbox="sub/x", **published),
    )
    assert sorted(meters.telemetry(1)) == [
        (0, "roads/a1", ITEM, 1, 4, 40, 3, 30, 0),
        (0, "sub/x", "", 1, 4, 40, 3, 30, 4),
    ]


def test_what_passes_through_memory_is_counted_once() -> None:
    passing = [record(0, Step.TAKEN, 1, 3), record(1, Step.DELIVERED, 1, 3), record(2, Step.STORED, 1, 3)]
    relayed = [record(3, Step.DELIVERED, 1, 2, service=0, dest="other", mailbox="other")]
    rows = sorted(meters_of(*passing, *relayed).telemetry(1))
    assert rows == [(0, "box", "", 1, 3, 30, 3, 30, 3), (0, "other", "", 0, 2, 20, 2, 20, 2)]


def test_steps_of_one_writer_give_durations_by_hop() -> None:
    meters = meters_of(
        record(0, Step.SENT, 1, 8),
        record(2, Step.STORED, 1, 8),
        record(3, Step.ACKNOWLEDGED, 1, 8),
        record(12, Step.DELIVERED, 1, 5),
        record(22, Step.DELIVERED, 6, 8),
        record(32, Step.SETTLED, 4, 7),
    )
    assert hops(meters) == {
        ("box", "stored"): {number_of(3 * MILLISECOND): 8},
        ("box", "delivered"): {number_of(10 * MILLISECOND): 5, number_of(20 * MILLISECOND): 3},
        ("box", "settled"): {number_of(20 * MILLISECOND): 2, number_of(10 * MILLISECOND): 2},
    }


def test_applications_measure_acknowledgements_and_their_own_work() -> None:
    meters = meters_of(
        record(0, Step.SENT, 1, 2, broker=""),
        record(5, Step.ACKNOWLEDGED, 2, 2, broker=""),
        record(6, Step.RECEIVED, 1, 4, broker="", dest="mine", mailbox="mine"),
        record(7, Step.SETTLED, 1, 4, broker="", dest="mine", mailbox="mine"),
    )
    assert hops(meters) == {
        ("box", "acknowledged"): {number_of(5 * MILLISECOND): 1},
        ("mine", "settled"): {number_of(MILLISECOND): 4},
    }
    assert not list(meters.telemetry(1))


def test_held_time_is_from_held_to_released() -> None:
    how = {"dest": "causeway/seats", "seat": "b1", "topic": "news/a"}
    meters = meters_of(record(0, Step.HELD, 1, 2, **how), record(40, Step.RELEASED, 1, 2, **how))
    assert hops(meters) == {("news/a", "held"): {number_of(40 * MILLISECOND): 2}}


def test_rows_and_batches_are_bounded_and_what_is_left_out_is_counted() -> None:
    many = [record(0, Step.STORED, mailbox=f"box-{n}") for n in range(5)]
    meters = meters_of(*many, rows_max=3, tracked_max=3)
    assert meters.left_out == 2
    assert len(list(meters.telemetry(1))) == 3
    for n in range(5):
        meters.note(record(5, Step.DELIVERED, mailbox=f"box-{n}"))
    assert len(list(meters.latency(1))) == 3


def test_depth_ends_at_zero_whatever_was_left_out_or_forgotten() -> None:
    bounds = [{}, {"rows_max": 1}, {"tracked_max": 2}]
    for bound in bounds:
        meters = meters_of(*(record(0, Step.STORED, 1, 5, mailbox=f"box-{n}") for n in range(5)), **bound)
        for n in range(5):
            meters.note(record(1, Step.SETTLED, 1, 5, mailbox=f"box-{n}", bytes=0))
        list(meters.telemetry(1))
        for n in range(5):
            meters.note(record(2000, Step.STORED, 6, 6, mailbox=f"box-{n}"))
            (row,) = meters.telemetry(3)
            assert row[-1] == 1


def test_what_is_stored_after_a_part_of_it_was_taken_counts_once() -> None:
    meters = meters_of(record(0, Step.TAKEN, 3, 5), record(1, Step.STORED, 1, 10), record(2, Step.STORED, 1, 10))
    assert list(meters.telemetry(1)) == [(0, "box", "", 1, 10, 100, 0, 0, 10)]
    meters.note(record(1000, Step.SETTLED, 1, 10, bytes=0))
    assert list(meters.telemetry(2)) == [(1, "box", "", 1, 0, 0, 0, 0, 0)]


def test_steps_that_count_for_nothing_cost_nothing() -> None:
    meters = meters_of(*(record(0, step) for step in (Step.COPIED, Step.FORWARDED, Step.LANDMARK, Step.GAP)))
    assert not meters.pending
