"""What an application did and saw, written down at once in a file of its own: the only evidence that verdicts rest on.

Owns: the lines of a diary and how diaries are read. A line is in the file before the application goes on, so a killed
one has told everything that it can have done; what it meant to do is written before it is done, what it was told after.
"""

from __future__ import annotations

import enum
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from causeway.sim.letters import Letter
from causeway.types import Instant


class Did(enum.StrEnum):
    """What is written down."""

    BORN = "born"
    READY = "ready"
    """Connected, and served by every mailbox and subscription it reads."""
    SENT = "sent"
    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"
    GOT = "got"
    SETTLED = "settled"
    """It will acknowledge; written before."""
    KEPT = "kept"
    """Its acknowledgement returned, and it keeps its state."""
    RETURNED = "returned"
    BEGUN = "begun"
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"
    WANTED = "wanted"
    """It asks for topics in causal order in its mailbox."""
    PROMISED = "promised"
    """It was told that they come from now on."""
    QUIET = "quiet"
    """Sends nothing more, and knows the fate of everything sent."""
    TROUBLE = "trouble"
    """An exception that it did not expect, and goes on after."""
    ENDED = "ended"


class Line(msgspec.Struct, frozen=True, array_like=True):
    """One thing that an application did or saw."""

    at: Instant
    """Of the clock that all processes of a machine share."""
    who: str
    life: int
    did: Did
    place: str = ""
    """A mailbox or a subscription."""
    letters: tuple[Letter, ...] = ()
    """Of a transaction: what it sends."""
    settles: tuple[Letter, ...] = ()
    number: int = 0
    """Of a transaction."""
    detail: str = ""


class Diary:
    """Of one life of one application."""

    def __init__(self, path: Path, who: str, life: int) -> None:
        self.who, self.life = who, life
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._encoder = msgspec.json.Encoder()

    def note(
        self,
        did: Did,
        place: str = "",
        *letters: Letter,
        settles: tuple[Letter, ...] = (),
        number: int = 0,
        detail: str = "",
    ) -> None:
        """Write it down now."""
        line = Line(time.monotonic_ns(), self.who, self.life, did, place, letters, settles, number, detail)
        os.write(self._file, self._encoder.encode(line) + b"\n")


class Diaries:
    """All of a folder, read on while they are written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}
        self._decoder = msgspec.json.Decoder(Line)

    def news(self) -> Iterator[Line]:
        """What was written since the last call; each diary in its own order, whatever that of the others."""
        for path in sorted(self._folder.glob("*.diary")):
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._read[path] = self._read.get(path, 0) + len(line)
                    yield self._decoder.decode(line)
