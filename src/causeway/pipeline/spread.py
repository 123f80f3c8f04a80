"""Cases over the executors of a Spark session, each reported when it is done, and kept, so that a run can be resumed.

Every case is a job of one task, and as many are under way as the session has places: nobody waits for the longest of a
wave, and what is done is known at once. Executors need this package and its dependencies installed.

Owns: the jobs, files of finished cases. Must not know: what a case is.
"""

from __future__ import annotations

import hashlib
import typing
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import msgspec

import causeway

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Case = TypeVar("Case")
Found = TypeVar("Found")

PLACES_MAX: Final = 256
"""Cases under way at once: each has a thread here that waits for it."""


class Spread(Protocol):
    """Somebody who measures cases."""

    def run(self, measure: Callable[[Case], Found], cases: Sequence[Case]) -> Iterator[tuple[int, Found]]:
        """Place and result of every case, in the order they finish.

        `measure` is a function of a module: other processes import it. Long cases should come first.
        """


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

        places = min(context.defaultParallelism, PLACES_MAX)
        with ThreadPoolExecutor(places, thread_name_prefix="case") as pool:
            waiting = iter(enumerate(cases))
            running: dict[Future[Found], int] = {}
            try:
                while True:
                    while len(running) < places and (following := next(waiting, None)) is not None:
                        place, case = following
                        running[pool.submit(one, case)] = place
                    if not running:
                        return
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in sorted(done, key=running.__getitem__):
                        yield running.pop(future), future.result()
            except BaseException:
                context.cancelJobsWithTag(tag)  # whoever stopped listening does not pay for the rest
                raise


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
    root = Path(causeway.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
