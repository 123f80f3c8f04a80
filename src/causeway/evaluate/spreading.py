"""Cases of an experiment over processes. Owns: the processes. Must not know: what a case is."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

Case = TypeVar("Case")
Found = TypeVar("Found")


def run_cases(
    measure: Callable[[Case], Found], cases: Sequence[Case], jobs: int, tick: Callable[[Case], None]
) -> list[Found]:
    """Every case measured, in the order given; `tick` hears of each that is done. Long ones should come first."""
    if jobs == 1:
        found = []
        for case in cases:
            found.append(measure(case))
            tick(case)
        return found
    # A fresh interpreter each: what this process has imported or started is no part of an experiment.
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(measure, case): case for case in cases}
        for future in as_completed(futures):
            future.result()
            tick(futures[future])
        return [future.result() for future in futures]
