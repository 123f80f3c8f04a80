from __future__ import annotations

import msgspec

from causeway.core.messages import StoryRequest
from causeway.drivers.aio.story import RecentTrace
from causeway.limits import STORY_RECORDS_MAX
from causeway.trace import Step, TraceRecord


def record(first: int, last: int, **other: object) -> TraceRecord:
    fields = {"source": "a", "incarnation": 7, "dest": "b", "stream": 2, "step": Step.SENT, "at": 1, **other}
    return TraceRecord(broker="x", first=first, last=last, **fields)  # type: ignore[arg-type]


def story(trace: RecentTrace, **other: object) -> list[TraceRecord]:
    fields = {"source": "a", "incarnation": 7, "dest": "b", "stream": 2, "id": 5, **other}
    body = trace.story(StoryRequest(token=1, **fields))  # type: ignore[arg-type]
    return msgspec.msgpack.decode(body, type=list[TraceRecord])


def test_story_holds_the_batches_that_contain_the_message() -> None:
    trace = RecentTrace()
    trace.add([record(1, 4), record(5, 9), record(3, 5, step=Step.STORED), record(6, 9)])
    assert [(found.first, found.last) for found in story(trace)] == [(5, 9), (3, 5)]


def test_story_leaves_out_other_senders_destinations_streams_and_lives() -> None:
    trace = RecentTrace()
    trace.add([record(5, 5, **other) for other in ({"source": "z"}, {"dest": "z"}, {"stream": 1}, {"incarnation": 8})])
    assert story(trace) == []
    assert len(story(trace, source="z")) == 1


def test_incarnation_zero_stands_for_any() -> None:
    trace = RecentTrace()
    trace.add([record(5, 5), record(5, 5, incarnation=8)])
    assert [found.incarnation for found in story(trace, incarnation=0)] == [7, 8]


def test_old_records_are_forgotten() -> None:
    trace = RecentTrace(records_max=3)
    trace.add(record(5, 5, at=at) for at in range(10))
    assert [found.at for found in story(trace)] == [7, 8, 9]


def test_long_story_is_cut_at_its_beginning() -> None:
    trace = RecentTrace()
    trace.add(record(5, 5, at=at) for at in range(STORY_RECORDS_MAX + 10))
    found = story(trace)
    assert (len(found), found[0].at, found[-1].at) == (STORY_RECORDS_MAX, 10, STORY_RECORDS_MAX + 9)
