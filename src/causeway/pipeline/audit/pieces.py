"""Messages of which the same rows speak, and what a rule says of them. Owns: these records. Must not know: any rule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from causeway.pipeline.audit.words import AuditRow

Stream = tuple[str, int, str, int]
Steps = dict[int, list[AuditRow]]


class JudgedPiece(NamedTuple):
    """Messages first..last of a stream."""

    stream: Stream
    first: int
    last: int
    rows: list[AuditRow]
    """All that is known of them."""
    places: dict[str, Steps]
    """The same by mailbox and step."""

    def having(self, *steps: int, broker: bool | None = None) -> list[AuditRow]:
        """Rows of these steps; of brokers alone, of applications alone, or of both."""
        return [row for row in self.rows if row.step in steps and broker in (None, row.broker)]


class Said(NamedTuple):
    """What a rule says of a piece."""

    guarantee: str
    reason: str = ""
    """What is wrong; empty if it held."""
    shown: Iterable[AuditRow] = ()
    mailbox: str = ""
    tellers: tuple[str, ...] = ()
    everywhere: bool = False
    """Whether records of any broker could explain it: no broker tells of it, so its domain is not known."""
    outcome: str = ""
    """Another outcome than that it held, or did not."""


def place_of(row: AuditRow) -> tuple[str, int, int]:
    """Where a row stands in its writer's order."""
    return row.writer, row.life, row.sequence
