"""Where the cases of an experiment are measured. Owns: the processes. Must not know: what a case is.

An experiment has cases and a function that measures one. A `Spread` measures all of them: in processes of this machine
(here), on the executors of a Spark cluster, or only those that nobody measured before (both in pipeline/spread.py).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing.connection import wait

from causeway.pipeline.spread import Case, Found, Spread


class Processes:
    """So many processes of this machine; with one, this process."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def run(self, measure: Callable[[Case], Found], cases: Sequence[Case]) -> Iterator[tuple[int, Found]]:
        """See `Spread`."""
        if self.jobs == 1 or len(cases) < 2:
            for place, case in enumerate(cases):
                yield place, measure(case)
            return
        # A fresh interpreter each: what this process has imported or started is no part of an experiment.
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(self.jobs, mp_context=spawn, initializer=end_with_parent) as pool:
            futures = {pool.submit(measure, case): place for place, case in enumerate(cases)}
            try:
                for future in as_completed(futures):
                    yield futures[future], future.result()
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)  # the cases that nobody has begun are not waited for
                raise


def end_with_parent() -> None:
    """In a process that measures: nobody is left behind. An interruption from the keyboard ends it at once, without a
    word, and so does the end of the process that asked, however that came about."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    assert parent is not None, "is called in processes of a pool alone"

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def run_cases(
    measure: Callable[[Case], Found], cases: Sequence[Case], spread: Spread, tick: Callable[[Case], None]
) -> list[Found]:
    """Every case measured, in the order given; `tick` hears of each that is done."""
    found: dict[int, Found] = {}
    for place, one in spread.run(measure, cases):
        found[place] = one
        tick(cases[place])
    return [found[place] for place in range(len(cases))]
