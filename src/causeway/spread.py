"""Many cases of one function: measured in processes of this machine, and kept, so that a run can be resumed.

Whoever has cases and a function that measures one gives both to a `Spread`: processes of this machine (here), only what
nobody measured before (here), or the executors of a Spark cluster (pipeline/executors.py).

Owns: the processes, files of finished cases. Must not know: what a case is, Spark.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import threading
import typing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import msgspec

Case = TypeVar("Case")
Found = TypeVar("Found")

_PARTS: Final = 100
"""Weights are added in hundredths: whole numbers, so that in whatever order cases end, all of them are the total."""


class Spread(Protocol):
    """Somebody who measures cases."""

    def run(self, measure: Callable[[Case], Found], cases: Sequence[Case]) -> Iterator[tuple[int, Found]]:
        """Place and result of every case, in the order they finish.

        `measure` is a function of a module: other processes import it. Long cases should come first.
        """


def run_cases(
    measure: Callable[[Case], Found],
    cases: Sequence[Case],
    spread: Spread,
    tick: Callable[[int, int], None] = lambda done, total: None,
) -> list[Found]:
    """Every case measured, in the order given; `tick` hears how much of the work is done, and how much there is.

    A case may say by `weight` how much work it is; others count as one.
    """
    weights = [round(_PARTS * getattr(case, "weight", 1)) for case in cases]
    done, total = 0, sum(weights)
    found: dict[int, Found] = {}
    for place, one in spread.run(measure, cases):
        found[place] = one
        done += weights[place]
        tick(done // _PARTS, total // _PARTS)
    return [found[place] for place in range(len(cases))]


# Processes ----------------------------------------------------------------------------------------------------------
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


# Finished cases -----------------------------------------------------------------------------------------------------
class Keeping:
    """Measures what is not in its folder yet, and keeps it there: a run that was interrupted goes on where it was.

    A case is known by what is measured, its own fields and the code of this package: after a change of the code
    everything is measured again. The function that measures says by its annotation what it gives back, and that must
    be what msgspec reads and writes.
    """

    def __init__(self, spread: Spread, folder: Path) -> None:
        self._spread = spread
        self._folder = folder
        self.skipped = 0
        """Cases that were there."""

    def run(self, measure: Callable[[Case], Found], cases: Sequence[Case]) -> Iterator[tuple[int, Found]]:
        """See `Spread`; those that were there come first."""
        self._folder.mkdir(parents=True, exist_ok=True)
        decoder = msgspec.json.Decoder(typing.get_type_hints(measure)["return"])
        paths = [self._folder / f"{key_of_case(measure, case)}.json" for case in cases]
        missing: list[int] = []
        for place, path in enumerate(paths):
            found = _kept(path, decoder)
            if found is None:
                missing.append(place)
            else:
                self.skipped += 1
                yield place, found
        for number, fresh in self._spread.run(measure, [cases[place] for place in missing]):
            _keep(paths[missing[number]], fresh)
            yield missing[number], fresh

    def forget(self) -> None:
        """Remove all that was kept."""
        for path in self._folder.glob("*.json"):
            path.unlink()


def _kept(path: Path, decoder: msgspec.json.Decoder[Any]) -> Any:
    """What was found; None if nothing is there, or it was damaged."""
    try:
        return decoder.decode(path.read_bytes())
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _keep(path: Path, found: object) -> None:
    """Written whole or not at all."""
    part = path.with_name(f".{path.stem}.part")
    part.write_bytes(msgspec.json.encode(found))
    part.replace(path)


def key_of_case(measure: Callable[[Case], Found], case: Case) -> str:
    """The name under which a case is kept."""
    what = (measure.__module__, measure.__qualname__, type(case).__qualname__, case, code_digest())
    return hashlib.sha256(msgspec.json.encode(what, order="deterministic")).hexdigest()[:32]


@cache
def code_digest() -> str:
    """Of all modules of this package: numbers are those of the code that made them."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
