"""What falls behind is found after several looks, over after several more, and what comes and goes is nothing."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from causeway.core.agents.bottlenecks import (
    FORGET_AFTER,
    GROWN_LOOKS,
    HELD_LONG,
    HELD_OVER_LOOKS,
    LATENCY_LOOKS,
    LATENCY_OVER_LOOKS,
    LATENCY_SLOW,
    STEADY_LOOKS,
    BottleneckFinder,
    BottlenecksKnown,
)
from causeway.core.messages import Bottleneck, BottleneckKind, Bottlenecks
from causeway.core.ports import Figures, FullConsumer
from causeway.domains.limits import BOTTLENECKS_PER_BROKER_MAX, BOTTLENECKS_SHOWN_MAX
from causeway.types import MILLISECOND, SECOND
from tests.unit.core.agents.domain import id_of

QUEUE, LATENCY, CONSUMER = BottleneckKind


class Watch:
    """One mailbox, looked at once a second."""

    def __init__(self) -> None:
        self.finder = BottleneckFinder()
        self.now = 100 * SECOND

    def look(self, figures: Figures) -> list[tuple[BottleneckKind, bool]]:
        self.now += SECOND
        return [(change.kind, change.begun) for change in self.finder.look([figures], self.now)]

    def looks(self, counts: Iterable[int], **more: object) -> list[tuple[BottleneckKind, bool]]:
        """Of a queue with so many messages of 100 bytes."""
        figures = (Figures("box", count, 100 * count, **more) for count in counts)  # type: ignore[arg-type]
        return [change for one in figures for change in self.look(one)]

    def latencies(self, *taken: int | None) -> list[tuple[BottleneckKind, bool]]:
        return [change for one in taken for change in self.look(Figures("box", 1, 1, latency=one))]

    def held(self, *marks: int, unsettled: int = 10, waiting: int = 50) -> list[tuple[BottleneckKind, bool]]:
        """By one consumer."""
        ones = [(FullConsumer((2, 1), "app", unsettled, mark),) for mark in marks]
        return [change for held in ones for change in self.look(Figures("box", 1, 1, waiting=waiting, held=held))]


# Queues ---------------------------------------------------------------------------------------------------------
def test_queue_that_grows_at_every_look_is_found_once_with_its_figures() -> None:
    watch = Watch()
    assert watch.looks(range(0, 100 * GROWN_LOOKS, 100), readers=2) == []
    assert watch.looks(range(500, 3000, 100), readers=2) == [(QUEUE, True)]
    (found,) = watch.finder.found(watch.now)
    assert (found.about, found.kind) == ("box", QUEUE)
    assert "messages within" in found.note
    assert found.note.endswith("2900 messages, 290000 bytes, readers: 2")


def test_queue_that_holds_much_and_grows_by_little_is_not_found() -> None:
    watch = Watch()
    assert watch.looks(range(100_000, 120_000, 1000)) == []


def test_queue_that_few_messages_enter_is_not_found() -> None:
    assert Watch().looks(range(90)) == []


def test_queue_that_rises_and_falls_is_not_found() -> None:
    assert Watch().looks([1000, 2000, 3000, 4000, 10] * 10) == []


def test_queue_is_over_when_it_has_not_grown_for_a_while_and_does_not_flap_meanwhile() -> None:
    watch = Watch()
    watch.looks(range(0, 1000, 100))
    steady = [900, 901, 899, 900, 902] * 2
    assert watch.looks(steady[: STEADY_LOOKS - 1]) == []
    assert watch.looks(steady[:1]) == [(QUEUE, False)]
    assert watch.finder.found(watch.now) == ()
    assert watch.looks(steady * 3) == []


def test_full_queue_is_a_bottleneck_although_it_cannot_grow() -> None:
    watch = Watch()
    assert watch.looks([500] * 30, full=True) == [(QUEUE, True)]
    assert "near its bound" in watch.finder.found(watch.now)[0].note
    assert watch.looks([500] * STEADY_LOOKS) == [(QUEUE, False)]


def test_outbox_without_messages_to_count_is_judged_by_its_bytes() -> None:
    watch = Watch()
    read = [Figures("b1", 0, size) for size in range(1, 2_000_000, 100_000)]
    assert [change for one in read for change in watch.look(one)] == [(QUEUE, True)]


# Latency --------------------------------------------------------------------------------------------------------
def test_slow_operations_are_found_also_when_few_are_made() -> None:
    watch = Watch()
    assert watch.latencies(LATENCY_SLOW, None, LATENCY_SLOW, None) == []
    assert watch.latencies(700 * MILLISECOND) == [(LATENCY, True)]
    assert watch.finder.found(watch.now)[0].note == "700 ms until an operation is on all copies"


def test_one_fast_operation_takes_the_doubt_away() -> None:
    assert Watch().latencies(LATENCY_SLOW, LATENCY_SLOW, MILLISECOND, LATENCY_SLOW, LATENCY_SLOW) == []


def test_slow_operations_are_over_when_all_are_fast_or_there_are_none() -> None:
    for after in (MILLISECOND, None):
        watch = Watch()
        watch.latencies(*[LATENCY_SLOW] * LATENCY_LOOKS)
        half = LATENCY_SLOW // 2 + 1
        assert watch.latencies(*[after] * (LATENCY_OVER_LOOKS - 1), half) == []
        assert watch.latencies(*[after] * LATENCY_OVER_LOOKS) == [(LATENCY, False)]


# Consumers ------------------------------------------------------------------------------------------------------
def test_consumer_that_holds_the_same_for_long_while_others_wait_is_found() -> None:
    watch = Watch()
    assert watch.held(*[7] * (HELD_LONG // SECOND)) == []
    assert watch.held(7) == [(CONSUMER, True)]
    note = watch.finder.found(watch.now)[0].note
    assert note == "'app' holds 10 messages, the first for 5 s or more, and 50 wait"


def test_consumer_that_goes_on_is_not_found_however_full_it_is() -> None:
    assert Watch().held(*range(100)) == []


def test_slow_consumer_is_over_when_nobody_is_slow_for_a_while() -> None:
    watch = Watch()
    watch.held(*[7] * 10)
    nobody = Figures("box", 1, 1, waiting=50)
    assert [watch.look(nobody) for _ in range(HELD_OVER_LOOKS - 1)] == [[]] * (HELD_OVER_LOOKS - 1)
    assert watch.look(nobody) == [(CONSUMER, False)]


def test_of_many_consumers_the_slowest_is_named() -> None:
    finder = BottleneckFinder()
    for second in range(12):
        ones = [FullConsumer((2, 1), "late", 5, 1)] if second >= 3 else []
        ones += [FullConsumer((2, 2), "slow", 5, 1), FullConsumer((2, 3), "busy", 5, second)]
        finder.look([Figures("box", 1, 1, waiting=1, held=tuple(ones))], second * SECOND)
    (found,) = finder.found(12 * SECOND)
    assert found.note.startswith("'slow' holds 5 messages, the first for 11 s")


# All ------------------------------------------------------------------------------------------------------------
def test_what_lasts_longest_is_told_first_and_never_more_than_is_taken() -> None:
    finder = BottleneckFinder()
    for second in range(60):
        read = [Figures(f"box-{n:02}", 1, 1, full=True) for n in range(min(second, BOTTLENECKS_PER_BROKER_MAX + 5))]
        finder.look(read, second * SECOND)
    found = finder.found(60 * SECOND)
    assert len(found) == BOTTLENECKS_PER_BROKER_MAX
    assert (found[0].about, found[0].lasting) == ("box-00", 59 * SECOND)
    assert [one.lasting for one in found] == sorted((one.lasting for one in found), reverse=True)


def test_mailbox_that_went_away_has_no_bottleneck_and_idle_ones_are_not_remembered() -> None:
    watch = Watch()
    watch.looks([500] * 3, full=True)
    (change,) = watch.finder.forget("box")
    assert (change.about, change.kind, change.begun) == ("box", QUEUE, False)
    assert watch.finder.forget("box") == []
    watch.looks([5, 0])
    assert watch.finder._places == {}


# The landmark's side --------------------------------------------------------------------------------------------
def slow(about: str, lasting: int = 0) -> Bottleneck:
    return Bottleneck(about, CONSUMER, "slow", lasting)


def test_a_broker_s_word_replaces_its_former_one_and_grows_older() -> None:
    known = BottlenecksKnown()
    known.report(Bottlenecks("d", id_of("b2"), (slow("x", 5), slow("y", 9))), 100)
    known.report(Bottlenecks("d", id_of("b3"), (slow("z", 7),)), 101)
    assert [(one.about, one.lasting) for _, one in known.known(110)] == [("y", 19), ("z", 16), ("x", 15)]
    known.report(Bottlenecks("d", id_of("b2"), ()), 111)
    assert [(by, one.about) for by, one in known.known(112)] == [(id_of("b3"), "z")]


@pytest.mark.parametrize("after", [FORGET_AFTER - 1, FORGET_AFTER], ids=["repeated in time", "not repeated"])
def test_what_is_not_repeated_is_forgotten(after: int) -> None:
    known = BottlenecksKnown()
    known.report(Bottlenecks("d", id_of("b2"), (slow("x"),)), 100)
    assert len(known.known(100 + after)) == (after < FORGET_AFTER)


def test_no_more_than_a_screen_full_is_shown() -> None:
    known = BottlenecksKnown()
    for number in range(BOTTLENECKS_SHOWN_MAX):
        found = (slow(f"x{number}", number), slow(f"y{number}", number))
        known.report(Bottlenecks("d", id_of(f"b{number}"), found), 100)
    shown = known.known(100)
    assert len(shown) == BOTTLENECKS_SHOWN_MAX
    assert shown[0][1].about == f"x{BOTTLENECKS_SHOWN_MAX - 1}"
