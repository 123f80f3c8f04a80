"""Cases on the executors of a Spark session (`Spread` in spread.py), each reported when it is done.

Every case is a job of one task, and as many are under way as the session has places: nobody waits for the longest of a
wave, and what is done is known at once. Executors need this package and its dependencies installed.

Owns: the jobs. Must not know: what a case is, who opened the session.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Final

from causeway.spread import Case, Found

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLACES_MAX: Final = 256
"""Cases under way at once: each has a thread here that waits for it."""
PLACES_SECONDS: Final = 2.0
"""After so long somebody looks whether there are more places, though no case is done."""


class Executors:
    """The executors of a session. Cases and results are pickled."""

    def __init__(self, session: SparkSession) -> None:
        self._context = session.sparkContext

    def run(self, measure: Callable[[Case], Found], cases: Sequence[Case]) -> Iterator[tuple[int, Found]]:
        """See `Spread`."""
        context, tag = self._context, f"causeway-{uuid.uuid4().hex}"

        def one(case: Case) -> Found:
            context.addJobTag(tag)
            (found,) = context.parallelize([case], 1).map(measure).collect()
            return found

        with ThreadPoolExecutor(PLACES_MAX, thread_name_prefix="case") as pool:
            waiting = iter(enumerate(cases))
            running: dict[Future[Found], int] = {}
            try:
                while True:
                    # Executors of a cluster come after the session has begun: places are counted again and again.
                    places = min(context.defaultParallelism, PLACES_MAX)
                    while len(running) < places and (following := next(waiting, None)) is not None:
                        place, case = following
                        running[pool.submit(one, case)] = place
                    if not running:
                        return
                    done, _ = wait(running, PLACES_SECONDS, FIRST_COMPLETED)
                    for future in sorted(done, key=running.__getitem__):
                        yield running.pop(future), future.result()
            except BaseException:
                context.cancelJobsWithTag(tag)  # whoever stopped listening does not pay for the rest
                raise
