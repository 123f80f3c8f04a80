"""How a loop was left: seen from the iterator that it lets go of."""

from __future__ import annotations

import asyncio
import gc
import itertools
from _thread import start_new_thread
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from threading import Event
from typing import Any

import pytest

from causeway.client.leaving import left_willingly, looping_frame, origin


class Numbers:
    """Every loop over it notes how it was left."""

    def __init__(self) -> None:
        self.left: list[bool] = []

    def __iter__(self) -> Loop:
        return Loop(self)

    def __aiter__(self) -> Loop:
        return Loop(self)


class Loop:
    def __init__(self, numbers: Numbers) -> None:
        self.numbers, self.looping, self.count = numbers, looping_frame(), 0

    def __iter__(self) -> Loop:
        return self

    __aiter__ = __iter__

    def __next__(self) -> int:
        self.count += 1
        return self.count

    async def __anext__(self) -> int:
        await asyncio.sleep(0)
        return next(self)

    def __del__(self) -> None:
        self.numbers.left.append(left_willingly(self.looping))


def by_break(numbers: Numbers) -> None:
    for number in numbers:
        if number == 3:
            break


def by_break_in_blocks(numbers: Numbers) -> None:
    for _ in numbers:
        with suppress(ValueError):
            try:
                raise KeyError
            except KeyError:
                break
            finally:
                print("left")


def by_break_while_an_exception_is_handled(numbers: Numbers) -> None:
    try:
        raise KeyError
    except KeyError:
        by_break(numbers)


def by_return(numbers: Numbers) -> int:
    for number in numbers:
        for other in (1, 2):
            return number + other
    return 0


def by_exception(numbers: Numbers) -> None:
    for number in numbers:
        if number == 3:
            raise ValueError


def by_exception_caught_in_the_function(numbers: Numbers) -> None:
    try:
        by_exception(numbers)
        for _ in numbers:
            int("x")
    except ValueError:
        pass


def by_interrupt(numbers: Numbers) -> None:
    for _ in numbers:
        raise KeyboardInterrupt


def by_closing_a_generator(numbers: Numbers) -> None:
    def through() -> Iterator[int]:
        yield from (number for number in numbers)

    generator = through()
    next(generator)
    generator.close()


def by_islice(numbers: Numbers) -> None:
    for number in itertools.islice(numbers, 1):
        assert number


def by_break_out_of_enumerate(numbers: Numbers) -> None:
    for _ in enumerate(numbers):
        break


@pytest.mark.parametrize(
    "leave",
    [
        by_break,
        by_break_in_blocks,
        by_break_while_an_exception_is_handled,
        by_break_out_of_enumerate,
        by_return,
    ],
)
def test_break_and_return_are_seen(leave: Callable[[Numbers], object]) -> None:
    numbers = Numbers()
    leave(numbers)
    assert numbers.left == [True]


@pytest.mark.parametrize(
    "leave", [by_exception, by_exception_caught_in_the_function, by_interrupt, by_closing_a_generator, by_islice]
)
def test_whatever_else_leaves_a_loop_is_not_taken_for_break(leave: Callable[[Numbers], object]) -> None:
    numbers = Numbers()
    with suppress(ValueError, KeyboardInterrupt):
        leave(numbers)
    assert numbers.left == [False]


def test_a_collected_loop_was_not_left_by_break() -> None:
    numbers = Numbers()
    knot: list[object] = [iter(numbers)]
    knot.append(knot)
    del knot
    gc.collect()
    assert numbers.left == [False]


def test_a_loop_that_no_function_lets_go_of_was_not_left_by_break() -> None:
    """As at the interpreter's exit: nothing is below `__del__` on the stack."""
    left: list[bool] = []
    done = Event()

    def finalize() -> None:
        try:
            left.append(left_willingly(0))
        finally:
            done.set()

    start_new_thread(finalize, ())
    assert done.wait(10)
    assert left == [False]


async def async_break(numbers: Numbers) -> None:
    async for _ in numbers:
        break


async def async_return(numbers: Numbers) -> int:
    async for number in numbers:
        return number
    return 0


async def async_exception(numbers: Numbers) -> None:
    async for _ in numbers:
        await asyncio.sleep(0)
        raise ValueError


async def async_cancellation(numbers: Numbers) -> None:
    async for _ in numbers:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("leave", "willingly"),
    [(async_break, True), (async_return, True), (async_exception, False), (async_cancellation, False)],
)
async def test_async_loops_are_seen_alike(
    leave: Callable[[Numbers], Coroutine[Any, Any, object]], willingly: bool
) -> None:
    numbers = Numbers()
    with suppress(ValueError, asyncio.CancelledError):
        await asyncio.create_task(leave(numbers))
    assert numbers.left == [willingly]


def test_origin_is_the_line_that_called() -> None:
    assert origin() == (__file__, test_origin_is_the_line_that_called.__code__.co_firstlineno + 1)
