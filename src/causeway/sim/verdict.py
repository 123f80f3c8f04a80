"""How a run ended, and what the process that ran it exits with."""

from __future__ import annotations

import enum
import subprocess
from pathlib import Path

import msgspec


class Ending(enum.IntEnum):
    """Exit codes: a script can tell a crash, a wrong answer and none from each other, and from a wrong flag (2)."""

    OK = 0
    WRONG = 3
    """A checker complained."""
    STUCK = 4
    """Everything was healed, and it did not converge in time."""
    CRASH = 5
    """Product code raised."""


class SimVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one run, as data."""

    seed: int
    ending: str
    code: int
    evidence: str
    digest: str
    events: int
    turns: int
    virtual_seconds: float
    observations: dict[str, int]
    faults: dict[str, int]
    options: dict[str, object]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return self.code == Ending.OK

    def failure_line(self) -> str:
        """What a person needs to see it again."""
        return f"seed={self.seed} commit={commit()} {self.ending}: {self.evidence}"


def commit() -> str:
    """The source's version, as far as it is known here."""
    try:
        found = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return found.stdout.strip() or "unknown"
