"""What the groups of a broker write and send in one turn, gathered: one Persist for all writes, one frame per peer.

Owns: the writes of the turn and what waits for them, the operations and confirmations on their way to each peer.
Must not know: what an operation means, or who may write.

Nothing here leaves before `flush`. What must wait for the disk sits in the Persist that it waits for, or behind its
token; operations go to the copies at once, while our own disk writes.
"""

from __future__ import annotations

from typing import NamedTuple

from causeway.core.effects import Persist, Send
from causeway.core.machine import Turn
from causeway.core.messages import Appended, Copied, Message, Replicate
from causeway.core.ports import Links
from causeway.limits import OPERATIONS_PER_FRAME_MAX, REPLICATED_BYTES_MAX
from causeway.store.base import Write
from causeway.trace import TraceRecord
from causeway.types import BrokerId, Key


class TurnWritten(NamedTuple):
    """What follows in the core when a turn's writes are durable."""

    own: dict[Key, tuple[int, int]]
    """Of groups we own: the position that is durable, and the lineage of our ownership then."""
    answers: list[Message]
    """To ourselves."""


class GroupOutput:
    """The turn's writes and frames; one for all groups of a broker."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self.writes: list[Write] = []
        self.traces: list[TraceRecord] = []
        """Recorded when the writes are durable."""
        self.own: dict[Key, tuple[int, int]] = {}
        """See TurnWritten."""
        self.answers: list[Message] = []
        """To ourselves, when the writes are durable."""
        self._then: list[Send] = []
        self._copied: dict[BrokerId, list[tuple[Key, int, int]]] = {}
        self._operations: dict[BrokerId, tuple[list[Appended], list[bytes]]] = {}
        self._waits = False
        """Something waits for the disk, if only for what was written before."""
        self._durable: dict[int, TurnWritten] = {}

    # Gathering -------------------------------------------------------------------------------------------------
    def answer(self, to: BrokerId, reply: Message) -> None:
        """To another broker when the writes are durable; lost if there is no link to it now."""
        self._waits = True
        conn = self._links.conn_of(to)
        if conn is not None:
            self._then.append(Send(conn, reply))

    def copied(self, to: BrokerId) -> list[tuple[Key, int, int]]:
        """Where to add how far the groups of an owner are on our storage (`Copied`); goes as `answer` does."""
        positions = self._copied.get(to)
        if positions is None:
            positions = self._copied[to] = []
        return positions

    def replicate(self, to: BrokerId, operation: Appended, body: bytes) -> None:
        """An operation to a copy; `body` is what it writes."""
        frame = self._operations.get(to)
        if frame is None:
            frame = self._operations[to] = ([], [])
        frame[0].append(operation)
        frame[1].append(body)

    # Leaving ---------------------------------------------------------------------------------------------------
    def flush(self, turn: Turn, token: int) -> None:
        """The end of a turn; `token` is that of its Persist, if anything of ours follows."""
        if self._operations:
            self._flush_operations(turn)
        if self._copied:
            self._flush_copied()
        if not self.writes and not self._waits:
            return
        if self.own or self.answers:
            self._durable[token] = TurnWritten(self.own, self.answers)
            self.own, self.answers = {}, []
        else:
            token = 0
        turn.effects.persists.append(Persist(self.writes, self._then, token, self.traces))
        self.writes, self._then, self.traces = [], [], []
        self._waits = False

    def written(self, token: int) -> TurnWritten | None:
        """What follows now that a Persist is durable; once."""
        return self._durable.pop(token, None)

    def _flush_copied(self) -> None:
        """Behind all other answers: an owner that hears of them all knows then that we are in its epoch."""
        for to, positions in self._copied.items():
            for start in range(0, len(positions), OPERATIONS_PER_FRAME_MAX):
                self.answer(to, Copied(tuple(positions[start : start + OPERATIONS_PER_FRAME_MAX])))
        self._copied = {}

    def _flush_operations(self, turn: Turn) -> None:
        for to, (operations, bodies) in self._operations.items():
            start = size = 0
            for number, body in enumerate(bodies):
                size += len(body)
                if number > start and (size > REPLICATED_BYTES_MAX or number - start == OPERATIONS_PER_FRAME_MAX):
                    self._send(turn, to, operations[start:number], bodies[start:number])
                    start, size = number, len(body)
            self._send(turn, to, operations[start:], bodies[start:])
        self._operations = {}

    def _send(self, turn: Turn, to: BrokerId, operations: list[Appended], bodies: list[bytes]) -> None:
        # A list in msgpack of what was encoded before, operation by operation.
        body = b"".join((b"\xdd", len(bodies).to_bytes(4, "big"), *bodies))
        self._links.send(turn, to, Replicate(tuple(operations)), body)
