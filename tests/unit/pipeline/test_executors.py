"""Many cases are under way at once, and who stops listening pays for no more."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from causeway.pipeline.executors import Executors


class Session:
    """A cluster that runs what it is given once so many cases are under way."""

    def __init__(self, together: int) -> None:
        self.together = together
        self.running = 0
        self.lock = threading.Lock()
        self.all_here = threading.Event()
        self.interrupted = ""

    def addTag(self, tag: str) -> None:  # noqa: N802
        self.tag = tag

    def interruptTag(self, tag: str) -> None:  # noqa: N802
        self.interrupted = tag

    def createDataFrame(self, rows: list[tuple[bytearray]], schema: str) -> Session.Frame:  # noqa: N802
        return Session.Frame(self, [bytes(row[0]) for row in rows])

    class Frame:
        def __init__(self, session: Session, cases: list[bytes]) -> None:
            self.session, self.cases = session, cases

        def coalesce(self, parts: int) -> Session.Frame:
            return self

        def mapInArrow(self, work: Callable[[Any], Any], schema: str) -> Session.Frame:  # noqa: N802
            self.work = work
            return self

        def collect(self) -> list[SimpleNamespace]:
            session = self.session
            with session.lock:
                session.running += 1
                if session.running == session.together:
                    session.all_here.set()
            assert session.all_here.wait(20), f"only {session.running} cases are under way"
            batches = self.work(iter([pa.RecordBatch.from_pydict({"case": self.cases})]))
            return [SimpleNamespace(found=found) for batch in batches for found in batch.column(0).to_pylist()]


def test_cases_do_not_wait_for_each_other() -> None:
    session: Any = Session(6)
    assert sorted(Executors(session).run(abs, [-1, -2, -3, -4, -5, -6])) == [(at, at + 1) for at in range(6)]


def test_who_stops_listening_pays_for_no_more() -> None:
    session: Any = Session(1)
    found = Executors(session).run(abs, [-1, -2, -3])
    assert next(found)[1] in (1, 2, 3)
    found.close()  # type: ignore[attr-defined]
    assert session.interrupted == session.tag
