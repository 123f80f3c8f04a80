"""Vigils: they last as long as they are rewarded, and end where nothing follows or the core is wanted."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable

import pytest

from causeway.drivers.aio import alertness
from causeway.drivers.aio.alertness import RETRY_AFTER, TRUST_AT_FIRST, Alertness
from causeway.types import MILLISECOND

SPAN = 5 * MILLISECOND


class Loop:
    """Remembers what was to be called soon."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def turn(self) -> bool:
        """One round; whether the loop would not have slept."""
        soon, self.soon = self.soon, []
        for callback in soon:
            callback()
        return bool(soon)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The time, and what giving way adds to it."""
    state = [0, 0]

    def give_way() -> None:
        state[0] += state[1]

    monkeypatch.setattr(time, "monotonic_ns", lambda: state[0])
    monkeypatch.setattr(os, "sched_yield", give_way)
    return state


def vigil(loop: Loop, watch: Alertness, clock: list[int], *, answer: bool) -> int:
    """One arrival, perhaps another one soon after; how many rounds the loop stayed awake."""
    watch.heard()
    rounds = 0
    while loop.turn():
        rounds += 1
        clock[0] += MILLISECOND
        if answer and rounds == 1:
            watch.heard()
        assert rounds < 100
    return rounds


def test_stays_awake_until_the_span_is_over(clock: list[int]) -> None:
    loop = Loop()
    watch = Alertness(loop, SPAN)  # type: ignore[arg-type]
    assert vigil(loop, watch, clock, answer=False) == 6
    assert vigil(loop, watch, clock, answer=True) == 7, "an answer prolongs it"


def test_gives_up_where_nothing_follows_and_tries_again_once_in_a_while(clock: list[int]) -> None:
    loop = Loop()
    watch = Alertness(loop, SPAN)  # type: ignore[arg-type]
    vain = [vigil(loop, watch, clock, answer=False) for _ in range(TRUST_AT_FIRST + RETRY_AFTER + 2)]
    assert vain == [6] * TRUST_AT_FIRST + [0] * RETRY_AFTER + [6] + [0]
    later = [vigil(loop, watch, clock, answer=True) for _ in range(RETRY_AFTER + 5)]
    assert later == [0] * (RETRY_AFTER - 1) + [7] * 6, "it tried again, and trusts what it found"


def test_a_wanted_core_is_left_alone(clock: list[int]) -> None:
    loop = Loop()
    watch = Alertness(loop, SPAN)  # type: ignore[arg-type]
    clock[1] = alertness.WANTED
    assert vigil(loop, watch, clock, answer=False) == 1


def test_only_rounds_in_which_nothing_came_count_as_watched(clock: list[int]) -> None:
    loop = Loop()
    watch = Alertness(loop, SPAN)  # type: ignore[arg-type]
    vigil(loop, watch, clock, answer=False)
    assert watch.watched == SPAN
    clock[0] += 100 * MILLISECOND
    vigil(loop, watch, clock, answer=True)
    assert watch.watched == 2 * SPAN, "neither the sleep between nor the round of the answer"


async def test_a_real_loop_is_not_kept_busy_for_ever() -> None:
    loop, rounds = asyncio.get_running_loop(), 0
    watch = Alertness(loop, MILLISECOND)
    watch.heard()
    while watch.awake:
        rounds += 1
        assert rounds < 1_000_000
        await asyncio.sleep(0)
    assert rounds >= 1
