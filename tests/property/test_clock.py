"""The clock of a seat against one that always sends the whole matrix and decides by the book.

Random runs of unicast and multicast with any delays: both decide the same for every batch at every moment, also when
the clock was put together again from its rows. And the machinery finds what it is there to find: both errors that
stand in the appendix of AAA, planted.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causeway.core.causal.clock import Line, MatrixClock, Times

SEATS_MAX = 8

Stamp = tuple[int, ...]
Matrix = dict[tuple[int, int], int]


class WholeMatrix:
    """The oracle: a full matrix in every stamp (Raynal, Schiper and Toueg's rule)."""

    def __init__(self, me: int) -> None:
        self.me = me
        self.cells: Matrix = {}

    def send(self, receivers: tuple[int, ...], count: int) -> list[tuple[int, Matrix]]:
        firsts = [self.cells.get((self.me, receiver), 0) + 1 for receiver in receivers]
        for receiver in receivers:
            self.cells[self.me, receiver] = self.cells.get((self.me, receiver), 0) + count
        return [(first, dict(self.cells)) for first in firsts]

    def may_deliver(self, sender: int, first: int, matrix: Matrix) -> bool:
        if first != self.cells.get((sender, self.me), 0) + 1:
            return False
        others = [(row, value) for (row, column), value in matrix.items() if column == self.me and row != sender]
        return all(value <= self.cells.get((row, self.me), 0) for row, value in others)

    def deliver(self, matrix: Matrix) -> None:
        for cell, value in matrix.items():
            self.cells[cell] = max(value, self.cells.get(cell, 0))


class Batch(NamedTuple):
    """On its way to one seat, with the stamps of both clocks."""

    sender: int
    first: int
    count: int
    stamp: Stamp
    matrix: Matrix

    @property
    def last(self) -> int:
        return self.first + self.count - 1


def triples(stamp: Stamp) -> list[tuple[int, ...]]:
    return sorted(stamp[at : at + 3] for at in range(0, len(stamp), 3))


class Seat:
    """One seat: the clock, its rows, a twin that is never restored, and the oracle."""

    def __init__(self, me: int, make_clock: Callable[[int], MatrixClock]) -> None:
        self.me = me
        self.clock, self.twin = make_clock(me), make_clock(me)
        self.kind = type(self.clock)
        self.oracle = WholeMatrix(me)
        self.rows: dict[int, Line] = {}
        self.times: Times = self.clock.times()
        self.held: list[Batch] = []
        self.taught: dict[tuple[int, int], tuple[int, int]] = {}
        """The value of a cell, and the seat from which it came."""

    def store(self) -> None:
        for line in self.clock.changed():
            self.rows[line.row] = line
        self.times = self.clock.times()

    def restore(self) -> None:
        """All that was in memory is gone."""
        self.clock = self.kind.restored(self.me, self.rows.values(), self.times)
        assert not self.clock.changed()

    def send(self, receivers: tuple[int, ...], count: int) -> list[Batch]:
        sent = self.clock.send(receivers, count)
        twin = self.twin.send(receivers, count)
        whole = self.oracle.send(receivers, count)
        self.store()
        batches = []
        for receiver, (first, stamp), (_, other), (wanted, matrix) in zip(receivers, sent, twin, whole, strict=True):
            assert first == wanted
            assert triples(stamp) == triples(other), "restored from its rows, it stamps differently"
            for row, column, value in triples(stamp):
                assert matrix[row, column] == value, "a stamp says what is not so"
                assert (value, receiver) != self.taught.get((row, column)), "echoed to where it came from"
            batches.append(Batch(self.me, first, count, stamp, matrix))
        return batches

    def may_deliver(self, batch: Batch) -> bool:
        decision = not self.clock.missing(batch.sender, batch.first, batch.stamp)
        assert decision == (not self.twin.missing(batch.sender, batch.first, batch.stamp))
        assert decision == self.oracle.may_deliver(batch.sender, batch.first, batch.matrix), "not what the book says"
        return decision

    def take(self, batch: Batch) -> None:
        """A batch arrives: deliver all that can be, looking at everything that is held each time."""
        self.held.append(batch)
        while allowed := [held for held in self.held if self.may_deliver(held)]:
            self.deliver(allowed[0])

    def deliver(self, batch: Batch) -> None:
        self.held.remove(batch)
        for row, column, value in [(batch.sender, self.me, batch.last), *triples(batch.stamp)]:
            if value > self.clock.value(row, column):
                self.taught[row, column] = (value, batch.sender)
        for clock in (self.clock, self.twin):
            clock.deliver(batch.sender, batch.last, batch.stamp)
        self.oracle.deliver(batch.matrix)
        self.store()
        assert self.clock.received(batch.sender) == batch.last
        for (row, column), value in self.oracle.cells.items():
            if column == self.me:
                assert self.clock.value(row, column) == value, "what is delivered here is known for certain"


class Trial:
    """Seats, and batches on their way between them in no order."""

    def __init__(self, seats: int, make_clock: Callable[[int], MatrixClock] = MatrixClock) -> None:
        self.seats = [Seat(number, make_clock) for number in range(seats)]
        self.on_way: list[tuple[int, Batch]] = []
        self.stamped = 0

    def send(self, sender: int, picks: list[int], count: int) -> None:
        others = [number for number in range(len(self.seats)) if number != sender]
        receivers = tuple(dict.fromkeys(others[pick % len(others)] for pick in picks))
        for receiver, batch in zip(receivers, self.seats[sender].send(receivers, count), strict=True):
            self.stamped += len(batch.stamp) // 3
            self.on_way.append((receiver, batch))

    def arrive(self, pick: int) -> None:
        if self.on_way:
            receiver, batch = self.on_way.pop(pick % len(self.on_way))
            self.seats[receiver].take(batch)

    def play(self, script: list[tuple[str, int, list[int], int]]) -> None:
        for what, seat, picks, count in script:
            seat %= len(self.seats)
            if what == "send":
                self.send(seat, picks, count)
            elif what == "arrive":
                self.arrive(picks[0])
            else:
                self.seats[seat].restore()
        while self.on_way:
            self.arrive(script[len(self.on_way) % len(script)][2][0])
        assert not any(seat.held for seat in self.seats), "held for ever"


ACTIONS = st.tuples(
    st.sampled_from(("send", "send", "arrive", "arrive", "arrive", "restore")),
    st.integers(0, SEATS_MAX - 1),
    st.lists(st.integers(0, 63), min_size=1, max_size=SEATS_MAX - 1),
    st.integers(1, 3),
)


@settings(max_examples=300, deadline=None)
@given(st.integers(2, SEATS_MAX), st.lists(ACTIONS, min_size=1, max_size=80))
def test_clock_decides_as_the_whole_matrix_would(seats: int, script: list[tuple[str, int, list[int], int]]) -> None:
    Trial(seats).play(script)


# The machinery finds what it looks for --------------------------------------------------------------------------
def script_of(seed: int) -> list[tuple[str, int, list[int], int]]:
    rng = random.Random(seed)
    kinds = ("send", "send", "arrive", "arrive", "arrive", "restore")
    return [
        (
            rng.choice(kinds),
            rng.randrange(64),
            [rng.randrange(64) for _ in range(rng.choice((1, 1, 3)))],
            rng.randint(1, 3),
        )
        for _ in range(80)
    ]


def complaint(make_clock: Callable[[int], MatrixClock], seeds: int = 20) -> str:
    """What is found wrong with a clock in a few runs."""
    for seed in range(seeds):
        try:
            Trial(5, make_clock).play(script_of(seed))
        except AssertionError as error:
            return str(error).splitlines()[0]
    return ""


class NoteFirst(MatrixClock):
    """AAA, appendix A, sending, as printed: the receiver's state is noted before the updates are gathered."""

    def _stamp(self, receiver: int) -> Stamp:
        self._nodes[receiver] = self._state
        return super()._stamp(receiver)


class ForgetSource(MatrixClock):
    """AAA, appendix A, receiving, as printed: who told a cell is not recorded."""

    def _set(self, row: int, column: int, value: int, node: int) -> None:
        if row != self.me:  # our own row changes when we send
            known = self._recent.get((row, column))
            node = known[3] if known is not None else -1
        super()._set(row, column, value, node)


class OneByOne(MatrixClock):
    """A multicast as if it were so many unicasts: the first receivers do not know of the others."""

    def send(self, receivers: tuple[int, ...], count: int) -> list[tuple[int, Stamp]]:  # type: ignore[override]
        return [stamped for receiver in receivers for stamped in super(OneByOne, self).send([receiver], count)]


class ForgetTimes(MatrixClock):
    """Restored as if nothing had been stamped yet."""

    @classmethod
    def restored(cls, me: int, lines: object, times: Times) -> MatrixClock:
        return super().restored(me, lines, Times(0, times.nodes))  # type: ignore[arg-type]


class Eager(MatrixClock):
    """Waits only for what its sender sent."""

    def missing(self, sender: int, first: int, stamp: object) -> list:  # type: ignore[override, type-arg]
        return super().missing(sender, first, ())


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (NoteFirst, "not what the book says"),
        (ForgetSource, "echoed to where it came from"),
        (OneByOne, "a stamp says what is not so"),
        (ForgetTimes, "restored from its rows, it stamps differently"),
        (Eager, "not what the book says"),
        (MatrixClock, ""),
    ],
    ids=["note first", "forget source", "one by one", "forget times", "eager", "the real one"],
)
def test_planted_errors_are_found(kind: type[MatrixClock], found: str) -> None:
    assert complaint(kind) == found


def test_stamps_as_printed_are_always_empty_and_ours_are_not() -> None:
    stamps: dict[type[MatrixClock], list[list[tuple[int, ...]]]] = {}
    for kind in (NoteFirst, MatrixClock):
        first, second, _ = Trial(3, kind).seats
        (to_third,) = first.send((2,), 1)
        (to_second,) = first.send((1,), 1)
        second.take(to_second)
        (on,) = second.send((2,), 1)
        stamps[kind] = [triples(batch.stamp) for batch in (to_third, to_second, on)]
    assert stamps[NoteFirst] == [[], [], []]
    assert stamps[MatrixClock] == [[], [(0, 2, 1)], [(0, 1, 1), (0, 2, 1)]]


def test_a_conversation_of_two_carries_no_cells() -> None:
    trial = Trial(2)
    for turn in range(6):
        trial.send(turn % 2, [0], 1)
        trial.arrive(0)
    assert trial.stamped == 0
