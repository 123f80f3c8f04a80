"""Where the cases of an experiment are measured. Owns: the processes. Must not know: what a case is.

An experiment has cases and a function that measures one. A `Spread` measures all of them: in processes of this machine
(here), on the executors of a Spark cluster (executors.py), or only those that nobody measured before (keeping.py).
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Protocol, TypeVar

Case = TypeVar("Case")
Found = TypeVar("Found")


class Spread(Protocol):
    """Somebody who measures cases."""

    def run(
        self, measure: Callable[[Case], Found], cases: Sequence[Case], tick: Callable[[int, Found], None]
    ) -> list[Found]:
        """Every case measured, in the order given; `tick` hears the place and the result of each that is done.

        `measure` is a function of a module: other processes import it. Long cases should come first.
        """


class Processes:
    """So many processes of this machine; with one, this process."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def run(
        self, measure: Callable[[Case], Found], cases: Sequence[Case], tick: Callable[[int, Found], None]
    ) -> list[Found]:
        """See `Spread`."""
        if self.jobs == 1 or len(cases) < 2:
            found = []
            for place, case in enumerate(cases):
                found.append(measure(case))
                tick(place, found[-1])
            return found
        # A fresh interpreter each: what this process has imported or started is no part of an experiment.
        with ProcessPoolExecutor(self.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            futures = {pool.submit(measure, case): place for place, case in enumerate(cases)}
            try:
                for future in as_completed(futures):
                    tick(futures[future], future.result())
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)  # the cases that nobody has begun are not waited for
                raise
            return [future.result() for future in futures]


def run_cases(
    measure: Callable[[Case], Found], cases: Sequence[Case], spread: Spread, tick: Callable[[Case], None]
) -> list[Found]:
    """Every case measured, in the order given; `tick` hears of each that is done."""
    return spread.run(measure, cases, lambda place, found: tick(cases[place]))
