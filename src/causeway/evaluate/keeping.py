"""Finished cases on disk, so that a run that was interrupted goes on where it was.

A case is known by what is measured, its own fields and the code of this package: after a change of the code everything
is measured again. The files are those of `pipeline.spread.KeptCases`.

Owns: the names of cases. Must not know: what a case is, where it is measured.
"""

from __future__ import annotations

import hashlib
import typing
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from causeway.evaluate.spreading import Case, Found, Spread
from causeway.pipeline.spread import KeptCases, code_digest


class Keeping:
    """Measures what is not in the folder yet, and keeps it there.

    The function that measures says by its annotation what it gives back, and that must be what msgspec reads and
    writes.
    """

    def __init__(self, spread: Spread, folder: Path) -> None:
        self._spread = spread
        self._folder = folder
        self.skipped = 0
        """Cases that were there."""

    def run(
        self, measure: Callable[[Case], Found], cases: Sequence[Case], tick: Callable[[int, Found], None]
    ) -> list[Found]:
        """See `Spread`."""
        files = KeptCases(self._folder, typing.get_type_hints(measure)["return"])
        keys = [key_of_case(measure, case) for case in cases]
        found: dict[int, Found] = {}
        for place, key in enumerate(keys):
            kept = files.get(key)
            if kept is not None:
                found[place] = kept
                self.skipped += 1
                tick(place, kept)
        missing = [place for place in range(len(cases)) if place not in found]

        def keep(number: int, one: Found) -> None:
            place = missing[number]
            files.put(keys[place], one)
            tick(place, one)

        fresh = self._spread.run(measure, [cases[place] for place in missing], keep)
        found.update(zip(missing, fresh, strict=True))
        return [found[place] for place in range(len(cases))]


def key_of_case(measure: Callable[[Case], Found], case: Case) -> str:
    """The name under which a case is kept."""
    what = (measure.__module__, measure.__qualname__, type(case).__qualname__, case, code_digest())
    return hashlib.sha256(msgspec.json.encode(what, order="deterministic")).hexdigest()[:32]
