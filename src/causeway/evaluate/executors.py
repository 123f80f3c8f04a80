"""Cases of an experiment on the executors of a Spark cluster (`--master URL`).

Every case is a job of one task, and as many are under way as the cluster has places: so a case is reported, and kept,
when it is done, and nobody waits for the longest of a wave. Executors need this package and its dependencies installed.

Owns: the jobs. Must not know: what a case is, how a session is set up (pipeline/session.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from causeway.evaluate.spreading import Case, Found
from causeway.pipeline.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOBS_MAX: Final = 256
"""Cases under way at once: each has a thread here that waits for it."""


class Executors:
    """The executors of a session."""

    def __init__(self, session: SparkSession) -> None:
        self._context = session.sparkContext

    def run(
        self, measure: Callable[[Case], Found], cases: Sequence[Case], tick: Callable[[int, Found], None]
    ) -> list[Found]:
        """See `Spread`."""

        def one(case: Case) -> Found:
            (found,) = self._context.parallelize([case], 1).map(measure).collect()
            return found

        with ThreadPoolExecutor(min(self._context.defaultParallelism, JOBS_MAX)) as pool:
            futures = {pool.submit(one, case): place for place, case in enumerate(cases)}
            try:
                for future in as_completed(futures):
                    tick(futures[future], future.result())
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self._context.cancelAllJobs()
                raise
            return [future.result() for future in futures]


@contextmanager
def executors(master: str) -> Iterator[Executors]:
    """The executors of a cluster, for as long as the experiment takes."""
    session = open_session("evaluate", master=master)
    try:
        yield Executors(session)
    finally:
        session.stop()
