"""A network of seats, small enough to look at the theorem alone: real clocks and ways, no brokers.

Each seat has a clock per domain and one application with one mailbox. Links delay, duplicate and reorder as they like;
seats lose their memory and come back from their rows. What applications do and see is told to the checker of the
simulator, which knows nothing of clocks.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from causeway.core.causal.clock import Line, MatrixClock, Times
from causeway.domains import DomainGraph
from causeway.sim.checkers.causality import Causality
from causeway.sim.letters import PUBLISHED, Letter
from causeway.sim.random_layout import random_tree
from causeway.types import ServiceClass

TOPIC = "talk"
DELAY_MAX = 1_000
SLOW = 1_000_000


class Hop(NamedTuple):
    """A letter between two seats of a domain."""

    sender: str
    first: int
    stamp: tuple[int, ...]
    letter: Letter


class Door:
    """A seat in one of its domains."""

    def __init__(self, number: int, make_clock: Callable[[int], MatrixClock]) -> None:
        self.number = number
        self.clock = make_clock(number)
        self.held: dict[tuple[str, int], Hop] = {}
        self.rows: dict[int, Line] = {}
        self.times: Times = self.clock.times()

    def store(self) -> None:
        self.rows.update({line.row: line for line in self.clock.changed()})
        self.times = self.clock.times()

    def restore(self) -> None:
        self.clock = type(self.clock).restored(self.number, self.rows.values(), self.times)


class DomainNetwork:
    """Seats by name with their domains; the application of a seat has the seat's name."""

    def __init__(
        self,
        seats: Mapping[str, tuple[str, ...]],
        rng: random.Random,
        *,
        make_clock: Callable[[int], MatrixClock] = MatrixClock,
        duplicate: float = 0.2,
    ) -> None:
        self.rng = rng
        self.graph = DomainGraph(seats)
        self.numbers = {name: number for number, name in enumerate(seats)}
        self.doors = {(s, d): Door(self.numbers[s], make_clock) for s, domains in seats.items() for d in domains}
        self.checker = Causality()
        self.slow: dict[tuple[str, str], int] = {}
        """Between two seats, instead of a drawn delay."""
        self.on_read: Callable[[str, Letter], None] = lambda name, letter: None
        self.held_back = 0
        self._duplicate = duplicate
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._serial = 0
        self._written: dict[str, deque[Letter]] = {name: deque() for name in seats}
        """Sent by an application, not yet with its seat."""
        self._mailboxes: dict[str, deque[Letter]] = {name: deque() for name in seats}
        for name in seats:
            self.checker.subscribed(name, [TOPIC])
            self.checker.subscription_begun(name)

    # Applications ----------------------------------------------------------------------------------------------
    def send(self, source: str, dest: str) -> Letter:
        """To another application."""
        self._serial += 1
        letter = Letter(source, 1, dest, ServiceClass.TRANSACTIONAL, self._serial)
        self.checker.sent(letter)
        self.checker.acknowledged(letter)  # from now on it is owed
        self._written[source].append(letter)
        self.later(self._delay(), lambda: self._enter(source))
        return letter

    def broadcast(self, source: str) -> Letter:
        """To everybody."""
        return self.send(source, PUBLISHED + TOPIC)

    def _read(self, name: str) -> None:
        letter = self._mailboxes[name].popleft()
        self.checker.delivered(name, (name, 1), letter)
        self.on_read(name, letter)

    # Seats -----------------------------------------------------------------------------------------------------
    def _enter(self, seat: str) -> None:
        self._step(seat, self._written[seat].popleft(), "")

    def _step(self, seat: str, letter: Letter, came: str) -> None:
        """One step: the mailbox, and all seats it goes on to."""
        if letter.topic:
            self._put(seat, letter)
            onward = [d for d in self.graph.seats[seat] if d != came]
            ways = [(domain, self.graph.neighbours(seat, domain)) for domain in onward]
        elif letter.dest == seat:
            self._put(seat, letter)
            return
        else:
            hop = self.graph.next_hop(seat, letter.dest)
            assert hop is not None
            ways = [(hop[0], (hop[1],))]
        for domain, receivers in ways:
            door = self.doors[seat, domain]
            stamped = door.clock.send([self.numbers[receiver] for receiver in receivers], 1)
            door.store()
            for receiver, (first, stamp) in zip(receivers, stamped, strict=True):
                self._carry(domain, receiver, Hop(seat, first, stamp, letter))

    def _put(self, seat: str, letter: Letter) -> None:
        self._mailboxes[seat].append(letter)
        self.later(self._delay(), lambda: self._read(seat))

    def _carry(self, domain: str, receiver: str, hop: Hop) -> None:
        for _ in range(2 if self.rng.random() < self._duplicate else 1):
            delay = self.slow.get((hop.sender, receiver), 0) or self._delay()
            self.later(delay, lambda: self._arrive(domain, receiver, hop))

    def _arrive(self, domain: str, seat: str, hop: Hop) -> None:
        door = self.doors[seat, domain]
        if hop.first <= door.clock.received(self.numbers[hop.sender]):
            return
        door.held[hop.sender, hop.first] = hop
        delivered = 0
        while ready := [h for h in door.held.values() if not self._missing(door, h)]:
            next_hop = ready[0]
            del door.held[next_hop.sender, next_hop.first]
            door.clock.deliver(self.numbers[next_hop.sender], next_hop.first, next_hop.stamp)
            door.store()
            self._step(seat, next_hop.letter, domain)
            delivered += 1
        self.held_back += not delivered

    def _missing(self, door: Door, hop: Hop) -> bool:
        return bool(door.clock.missing(self.numbers[hop.sender], hop.first, hop.stamp))

    def forget(self, seat: str) -> None:
        """A seat comes back from its rows."""
        for domain in self.graph.seats[seat]:
            self.doors[seat, domain].restore()

    # Time ------------------------------------------------------------------------------------------------------
    def later(self, delay: int, act: Callable[[], None]) -> None:
        self._serial += 1
        heapq.heappush(self._agenda, (self.checker.now + delay, self._serial, act))

    def run(self) -> None:
        """Until nothing moves any more."""
        while self._agenda:
            self.checker.now, _, act = heapq.heappop(self._agenda)
            act()
        self.checker.finish()

    def _delay(self) -> int:
        """Mostly short, sometimes very long: overtaking needs both."""
        return 1 + int(DELAY_MAX * self.rng.random() ** 4)


def tree_of(rng: random.Random, seats: int) -> dict[str, tuple[str, ...]]:
    """A random tree, of about three seats per domain."""
    return random_tree(rng, [f"s{number}" for number in range(seats)], max(1, seats // 3))


def chatter(network: DomainNetwork, *, letters: int, broadcasts: float, answers: float = 0.4) -> None:
    """Random traffic: everybody writes to everybody, and answers some of what it reads."""
    rng, names = network.rng, list(network.graph.seats)
    left = letters

    def write(name: str) -> None:
        nonlocal left
        if left <= 0:
            return
        left -= 1
        if rng.random() < broadcasts:
            network.broadcast(name)
        else:
            network.send(name, rng.choice(names))

    def answer(name: str, letter: Letter) -> None:
        if rng.random() < answers / (len(names) if letter.topic else 1):
            write(name)
        elif rng.random() < 0.02:
            network.forget(name)

    network.on_read = answer
    for at in range(letters):
        network.later(at * 20, lambda: write(rng.choice(names)))
