"""The matrix clock of one seat in one domain, and its Updates algorithm (AAA, appendix A, its two errors
corrected).

Cell (k, l) is the last id that seat k is known to have sent to seat l. A batch may be delivered when it is the next one
of its sender, and everything anybody had sent here, as far as its sender knew, has been delivered here. A stamp holds
only cells that changed since the last stamp for the same receiver and that the receiver did not tell us itself; that is
enough because batches between two seats are delivered in the order of their ids.

Owns: the cells. Must not know: batches, rows' places, who holds a seat.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from causeway.errors import LocalProtocolError

Cell = tuple[int, int, int, int]
"""Column, value, state (the moment of our own time when it changed), node (who told us; the receiver, if we sent)."""


class Line(msgspec.Struct, frozen=True, array_like=True):
    """All cells of one row, as they are stored."""

    row: int
    cells: tuple[Cell, ...]


class Times(msgspec.Struct, frozen=True, array_like=True):
    """What a clock knows besides its cells, as it is stored."""

    state: int
    nodes: tuple[tuple[int, int], ...]
    """For each receiver: the state when we last sent to it."""


class Predecessor(msgspec.Struct, frozen=True, array_like=True):
    """Something that must be delivered first: batches of `sender` to us up to the id `until`; we have `have`."""

    sender: int
    until: int
    have: int


class MatrixClock:
    """The clock of seat number `me`."""

    def __init__(self, me: int) -> None:
        self.me = me
        self._rows: dict[int, dict[int, Cell]] = {}
        self._recent: dict[tuple[int, int], Cell] = {}
        """The same cells by row and column, in the order of their last change."""
        self._state = 0
        self._nodes: dict[int, int] = {}
        self._changed: dict[int, None] = {}
        self.operations = 0
        """Cells looked at or changed, ever: what a clock costs."""
        self.stamped = 0
        """Cells put into stamps, ever."""

    @property
    def size(self) -> int:
        """Cells that are not 0."""
        return len(self._recent)

    def value(self, row: int, column: int) -> int:
        """The last id that one seat is known to have sent to another."""
        cell = self._recent.get((row, column))
        return cell[1] if cell is not None else 0

    def received(self, sender: int) -> int:
        """The last id delivered here of those a seat sent."""
        return self.value(sender, self.me)

    def send(self, receivers: Sequence[int], count: int) -> list[tuple[int, tuple[int, ...]]]:
        """One batch of `count` messages to all of them at once: for each its first id there, and its stamp.

        All cells rise before the first stamp is made: who gets the batch knows who else does, so that an answer to it
        does not overtake it there.
        """
        self._state += 1
        me = self.me
        firsts: list[int] = []
        for receiver in receivers:
            if receiver == me:
                raise LocalProtocolError("a seat sends nothing to itself")
            value = self.value(me, receiver)
            firsts.append(value + 1)
            self._set(me, receiver, value + count, receiver)
        return [(first, self._stamp(receiver)) for first, receiver in zip(firsts, receivers, strict=True)]

    def _stamp(self, receiver: int) -> tuple[int, ...]:
        since = self._nodes.get(receiver, 0)
        cells: list[int] = []
        looked_at = 0
        for (row, column), (_, value, state, node) in reversed(self._recent.items()):
            if state <= since:
                break
            looked_at += 1
            if node != receiver:
                cells += (row, column, value)
        self.operations += looked_at
        self._nodes[receiver] = self._state
        self.stamped += len(cells) // 3
        return tuple(cells)

    def missing(self, sender: int, first: int, stamp: Sequence[int]) -> list[Predecessor]:
        """What must come before a batch; empty when it can be delivered (its first id must not be known yet)."""
        me = self.me
        found: list[Predecessor] = []
        have = self.received(sender)
        if first > have + 1:
            found.append(Predecessor(sender, first - 1, have))
        self.operations += len(stamp) // 3
        for row, column, value in zip(stamp[::3], stamp[1::3], stamp[2::3], strict=False):
            if column == me and row != sender and value > (have := self.value(row, me)):
                found.append(Predecessor(row, value, have))
        return found

    def deliver(self, sender: int, last: int, stamp: Sequence[int]) -> None:
        """A batch is delivered: what its sender knew, we know."""
        self._state += 1
        self._set(sender, self.me, last, sender)
        recent = self._recent
        for row, column, value in zip(stamp[::3], stamp[1::3], stamp[2::3], strict=False):
            cell = recent.get((row, column))  # most of a stamp is known already: nothing else is done for each cell
            if cell is None or value > cell[1]:
                self._set(row, column, value, sender)

    def _set(self, row: int, column: int, value: int, node: int) -> None:
        self.operations += 1
        cell = (column, value, self._state, node)
        self._recent.pop((row, column), None)  # the newest come last
        self._recent[row, column] = cell
        self._rows.setdefault(row, {})[column] = cell
        self._changed[row] = None

    # Rows ------------------------------------------------------------------------------------------------------
    def changed(self) -> list[Line]:
        """The rows that changed since this was last asked."""
        rows, self._changed = self._changed, {}
        return [Line(row, tuple(self._rows[row].values())) for row in rows]

    def times(self) -> Times:
        """The rest of it."""
        return Times(self._state, tuple(self._nodes.items()))

    @classmethod
    def restored(cls, me: int, lines: Iterable[Line], times: Times) -> MatrixClock:
        """A clock as it was when these were written."""
        clock = cls(me)
        cells = [(cell[2], line.row, cell) for line in lines for cell in line.cells]
        for _, row, cell in sorted(cells):
            clock._rows.setdefault(row, {})[cell[0]] = cell
            clock._recent[row, cell[0]] = cell
        clock._state = times.state
        clock._nodes = dict(times.nodes)
        return clock
