"""As many cases are under way as there are places, also when executors come late."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from causeway.pipeline import executors
from causeway.pipeline.executors import Executors


class LateContext:
    """A cluster whose executors register when the first two cases are under way already."""

    def __init__(self, late: int) -> None:
        self.late = late
        self.running = 0
        self.lock = threading.Lock()
        self.all_here = threading.Event()
        self.cancelled = False

    @property
    def defaultParallelism(self) -> int:  # noqa: N802
        return self.late if self.running else 2

    def addJobTag(self, tag: str) -> None:  # noqa: N802
        pass

    def cancelJobsWithTag(self, tag: str) -> None:  # noqa: N802
        self.cancelled = True

    def parallelize(self, cases: list[int], slices: int) -> LateContext.Task:
        return LateContext.Task(self, cases)

    class Task:
        def __init__(self, context: LateContext, cases: list[int]) -> None:
            self.context, self.cases = context, cases

        def map(self, measure: Callable[[int], int]) -> LateContext.Task:
            self.measure = measure
            return self

        def collect(self) -> list[int]:
            context = self.context
            with context.lock:
                context.running += 1
                if context.running == context.late:
                    context.all_here.set()
            assert context.all_here.wait(20), f"only {context.running} cases are under way"
            return [self.measure(case) for case in self.cases]


def test_executors_that_come_late_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "PLACES_SECONDS", 0.01)
    session: Any = SimpleNamespace(sparkContext=LateContext(6))
    assert sorted(Executors(session).run(abs, [-1, -2, -3, -4, -5, -6])) == [(at, at + 1) for at in range(6)]


def test_who_stops_listening_pays_for_no_more() -> None:
    context = LateContext(1)
    session: Any = SimpleNamespace(sparkContext=context)
    found = Executors(session).run(abs, [-1, -2, -3])
    assert next(found) == (0, 1)
    found.close()  # type: ignore[attr-defined]
    assert context.cancelled
