"""What one operation on a mailbox changed, until its rows are written. Owns: nothing but the lists."""

from __future__ import annotations

from causeway.core.mail.answers import Piece
from causeway.core.mail.batches import Batch
from causeway.store.base import Write


class Tally:
    """What one operation changed, until its rows are written."""

    __slots__ = ("pieces", "touched", "writes")

    def __init__(self) -> None:
        self.touched: dict[int, Batch] = {}
        """By rank."""
        self.pieces: list[Piece] = []
        self.writes: list[Write] = []
