"""Cases of an experiment on the executors of a Spark cluster (`--master URL`).

Owns: the session, for as long as an experiment takes. Must not know: what a case is, how cases are spread over
executors (pipeline/spread.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from causeway.evaluate.spreading import Case, Found
from causeway.pipeline.session import open_session
from causeway.pipeline.spread import spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Executors:
    """The executors of a session."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def run(
        self, measure: Callable[[Case], Found], cases: Sequence[Case], tick: Callable[[int, Found], None]
    ) -> list[Found]:
        """See `Spread`."""
        found: dict[int, Found] = {}
        for place, one in spread(self._session, measure, cases):
            found[place] = one
            tick(place, one)
        return [found[place] for place in range(len(cases))]


@contextmanager
def executors(master: str) -> Iterator[Executors]:
    """The executors of a cluster."""
    session = open_session("evaluate", master=master)
    try:
        yield Executors(session)
    finally:
        session.stop()
