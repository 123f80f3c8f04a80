"""What every experiment gives back: tables of numbers, claims with what was found, figures, and words.

Owns: these records. Must not know: any experiment, how a figure is drawn, where files go.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from causeway.figures import Figure
from causeway.spread import Processes, Spread


class Extent(NamedTuple):
    """How an experiment is to be run. The same seed gives the same numbers, wherever its cases are measured."""

    quick: bool = False
    seed: int = 0
    spread: Spread = Processes(1)

    def command(self, name: str) -> str:
        """What runs this experiment again with the same numbers."""
        return f"causeway evaluate {name}{' --quick' if self.quick else ''} --seed {self.seed}"


class Conclusion(msgspec.Struct, frozen=True):
    """One thing that a paper says or that we set out to do, and what came out here."""

    claim: str
    found: str
    held: bool
    asserted: bool = True
    """Whether we stand by it: `causeway evaluate --strict` fails when it does not hold. False for what is known not to
    hold with our brokers; the report says why."""
    ours: bool = False
    """A goal of our own, or a question that goes past the paper: it is counted apart from what the paper says."""

    @property
    def verdict(self) -> str:
        """As it is shown: a claim that we stand by and that does not hold is written in capitals."""
        if self.held:
            return "yes"
        return "NO" if self.asserted else "no, as known"

    @property
    def outcome(self) -> str:
        """The same inside a sentence."""
        if self.held:
            return "it held"
        return "IT DID NOT HOLD" if self.asserted else "it did not hold, as is known"


class Evaluation(msgspec.Struct, frozen=True):
    """All that one experiment found."""

    experiment: str
    title: str
    command: str
    """What makes it again."""
    parameters: dict[str, Any]
    claims: tuple[Conclusion, ...]
    tables: dict[str, list[dict[str, Any]]]
    """Tidy: a name per table, a row per observation."""
    figures: tuple[Figure, ...]
    text: str
    """The report's body in Markdown; figures are linked by their names."""

    def as_json(self) -> dict[str, Any]:
        """Numbers and claims, without words and drawings."""
        return {
            "experiment": self.experiment,
            "command": self.command,
            "parameters": self.parameters,
            "claims": [msgspec.to_builtins(claim) for claim in self.claims],
            **self.tables,
        }
