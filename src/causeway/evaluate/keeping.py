"""Finished cases on disk, so that a run that was interrupted goes on where it was.

A case is known by what is measured, its own fields and the code of this package: after a change of the code everything
is measured again. One small file per case, written whole or not at all.

Owns: these files. Must not know: what a case is, where it is measured.
"""

from __future__ import annotations

import hashlib
import os
import typing
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

import causeway
from causeway.evaluate.spreading import Case, Found, Spread


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
        self._folder.mkdir(parents=True, exist_ok=True)
        decoder = msgspec.json.Decoder(typing.get_type_hints(measure)["return"])
        paths = [self._folder / f"{key_of_case(measure, case)}.json" for case in cases]
        found: dict[int, Found] = {}
        for place, path in enumerate(paths):
            kept = _read(path, decoder)
            if kept is not None:
                found[place] = kept
                self.skipped += 1
                tick(place, kept)
        missing = [place for place in range(len(cases)) if place not in found]

        def keep(number: int, one: Found) -> None:
            place = missing[number]
            _write(paths[place], one)
            tick(place, one)

        fresh = self._spread.run(measure, [cases[place] for place in missing], keep)
        found.update(zip(missing, fresh, strict=True))
        return [found[place] for place in range(len(cases))]


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


def _read(path: Path, decoder: msgspec.json.Decoder[Any]) -> Any:
    """What was found, or None if nothing (or nothing whole) is there."""
    try:
        return decoder.decode(path.read_bytes())
    except FileNotFoundError:
        return None
    except msgspec.DecodeError:
        return None  # damaged on the way: measured again


def _write(path: Path, found: object) -> None:
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_bytes(msgspec.json.encode(found))
    part.replace(path)
