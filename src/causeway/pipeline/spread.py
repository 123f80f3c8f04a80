"""Cases over the executors of a Spark session, each reported when it is done, and kept, so that a run can be resumed.

Every case is a job of one task, and as many are under way as the session has places: nobody waits for the longest of a
wave, and what is done is known at once. Executors need this package and its dependencies installed.

Owns: the jobs, files of finished cases. Must not know: what a case is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

import causeway

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Case = TypeVar("Case")
Found = TypeVar("Found")

PLACES_MAX: Final = 256
"""Cases under way at once: each has a thread here that waits for it."""


def spread(spark: SparkSession, measure: Callable[[Case], Found], cases: Sequence[Case]) -> Iterator[tuple[int, Found]]:
    """Place and result of every case, in the order they finish. Cases and results are pickled; long ones go first."""
    context = spark.sparkContext

    def one(case: Case) -> Found:
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
            context.cancelAllJobs()  # whoever stopped listening does not pay for the rest
            raise


class KeptCases:
    """Results on disk by key, one small file each, written whole or not at all."""

    def __init__(self, folder: Path, kind: Any) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._decoder = msgspec.json.Decoder(kind)

    def get(self, key: str) -> Any:
        """What was found for a key; None if nothing is there, or it was damaged."""
        try:
            return self._decoder.decode(self._path(key).read_bytes())
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def put(self, key: str, found: object) -> None:
        """Keep a result."""
        part = self._folder / f".{key}.part"
        part.write_bytes(msgspec.json.encode(found))
        part.replace(self._path(key))

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"


@cache
def code_digest() -> str:
    """Of all modules of this package: numbers are those of the code that made them."""
    digest = hashlib.sha256()
    root = Path(causeway.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
