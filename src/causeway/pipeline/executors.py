"""Cases on the executors of a Spark session (`Spread` in spread.py), each reported when it is done.

Every case is a job of one task, and many are under way: Spark gives them to whichever executor is free, also to one
that comes later, and nobody waits for the longest of a wave. Executors need what this package depends on.

Owns: the jobs. Must not know: what a case is, who opened the session.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Final

from causeway.spread import Case, Found

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

CASES_UNDER_WAY_MAX: Final = 64
"""Each has a thread here that waits for it."""


class Executors:
    """The executors of a session. Cases and results are pickled."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def run(self, measure: Callable[[Case], Found], cases: Sequence[Case]) -> Iterator[tuple[int, Found]]:
        """See `Spread`."""
        session, tag = self._session, f"causeway-{uuid.uuid4().hex}"

        def one(case: Case) -> Found:
            session.addTag(tag)
            rows = session.createDataFrame([(bytearray(pickle.dumps(case)),)], "case binary")
            (row,) = rows.coalesce(1).mapInArrow(measuring(measure), "found binary").collect()
            found: Found = pickle.loads(bytes(row.found))
            return found

        with ThreadPoolExecutor(CASES_UNDER_WAY_MAX, thread_name_prefix="case") as pool:
            waiting = iter(enumerate(cases))
            running: dict[Future[Found], int] = {}
            try:
                while True:
                    while len(running) < CASES_UNDER_WAY_MAX and (following := next(waiting, None)) is not None:
                        place, case = following
                        running[pool.submit(one, case)] = place
                    if not running:
                        return
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in sorted(done, key=running.__getitem__):
                        yield running.pop(future), future.result()
            except BaseException:
                for future in running:
                    future.cancel()
                session.interruptTag(tag)  # whoever stopped listening does not pay for the rest
                raise


def measuring(
    measure: Callable[[Case], Found],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """On an executor: the results of the cases that come in."""

    def found(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            results = [pickle.dumps(measure(pickle.loads(case))) for case in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_pydict({"found": pa.array(results, pa.binary())})

    return found
