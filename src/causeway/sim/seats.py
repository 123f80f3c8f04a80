"""A network of seats alone: the real Seat machines, without brokers around them, for as many seats as one likes.

Every seat has its rows and nothing else: an operation is on its copies after a while, and a seat that crashes goes on
from the rows that were. Batches travel with seeded delays, some twice; whoever sent one repeats it until it is
answered. Applications are bound to seats and do what a test or an evaluation tells them; every mailbox keeps what it
got, in order.

Owns: the network, disks and applications around the seats. Must not know: what a seat decides.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Mapping
from typing import NamedTuple

from causeway.core.causal.entry import SeatDecision
from causeway.core.causal.rows import encode
from causeway.core.causal.seat import Seat
from causeway.core.machine import Turn
from causeway.core.mail.tracer import Tracer
from causeway.core.messages import Accepted, AskMark, Causal, Deposit, Interest, Message, Published, Register, Resend
from causeway.domains import DomainGraph
from causeway.names import is_seat, seat_name
from causeway.store.base import Delete, Row, Write
from causeway.types import MILLISECOND, SEAT_PREFIX, SECOND, Duration, Flag, Instant
from causeway.wire.body import join, split

REPEAT: Duration = 300 * MILLISECOND
_ORDERED = 2
_RELIABLE = int(Flag.RELIABLE)


class Got(NamedTuple):
    """One message as a mailbox has it."""

    at: Instant
    source: str
    id: int
    topic: str
    body: bytes


class SeatWeather(NamedTuple):
    """What may happen to what is on its way."""

    delay: tuple[Duration, Duration] = (MILLISECOND, 20 * MILLISECOND)
    """Most are short and some are long: whole conversations pass while one batch is on its way."""
    commit: tuple[Duration, Duration] = (0, 3 * MILLISECOND)
    doubled: float = 0.0
    lost: float = 0.0


class StaticMap:
    """The map and all bindings, known to everybody from the beginning."""

    def __init__(self, domains: Mapping[str, tuple[str, ...]]) -> None:
        self.version = 1
        self.confirmed: Instant = 1 << 62
        self.graph = DomainGraph(domains)
        self.numbers = {name: number for number, name in enumerate(domains)}
        self.names = {number: name for name, number in self.numbers.items()}
        self.bindings: dict[str, str] = {}

    def seat_of(self, turn: Turn, name: str, hint: str) -> str | None:
        return self.bindings.setdefault(name, hint)

    def want(self, turn: Turn, version: int) -> None:
        """There is no later one."""


class Place:
    """One seat and its disk."""

    def __init__(self, network: SeatNetwork, name: str) -> None:
        self.network = network
        self.name = name
        self.me: bytes = seat_name(name).encode()
        self.rows: dict[bytes, Row] = {}
        self.written_bytes = 0
        """Keys and values of rows, ever: what one copy of this seat has cost its disk."""
        self.copies: dict[tuple[str, int], tuple[Deposit, bytes]] = {}
        """Sent and not answered."""
        self.stamp_bytes = 0
        """Of all stamps sent, each once."""
        self.life = 0
        self._on_way: list[tuple[list[Write], SeatDecision]] = []
        self.seat = Seat(name, 1, network.map, self, Tracer(name))

    # SeatPort --------------------------------------------------------------------------------------------------
    def forward(self, turn: Turn, head: Deposit, body: bytes) -> None:
        if head.causal is not None:
            self.stamp_bytes += len(encode(head.causal.stamp))
        self.copies[head.dest, head.first] = (head, body)
        self._send(head, body, self.life)

    def _send(self, head: Deposit, body: bytes, life: int) -> None:
        """Send, and again until it is answered, while we live."""
        if life != self.life or (head.dest, head.first) not in self.copies:
            return
        self.network.deliver(head, body)
        self.network.after(REPEAT, lambda: self._send(head, body, life))

    def forget(self, turn: Turn, seat: str, dest: str) -> None:
        for key in [key for key in self.copies if key[0] == dest]:
            del self.copies[key]

    def answer(self, turn: Turn, origin: bytes, head: Message) -> None:
        self.network.answer(origin.decode(), head)

    def ask(self, turn: Turn, head: AskMark) -> None:
        other = self.network.places[head.seat.removeprefix(SEAT_PREFIX)]
        self.network.travel(lambda: other.act(lambda turn: other.seat.on_ask_mark(turn, head)))

    def write(self, turn: Turn, seat: str) -> None:
        self._flush()

    # Steps -----------------------------------------------------------------------------------------------------
    def act(self, what: Callable[[Turn], None]) -> None:
        """Let something happen, and write what was decided."""
        what(Turn(self.network.now))
        self._flush()
        if self.seat.senders.asks:
            self.network.after(
                REPEAT, lambda: self.act(self.seat.senders.advance_all) if self.seat.senders.asks else None
            )

    def _flush(self) -> None:
        if self.seat.is_dirty:
            self._on_way.append(self.seat.collect(len(self.rows)))
            life = self.life
            self.network.after(self.network.between(self.network.weather.commit), lambda: self._commit(life))

    def _commit(self, life: int) -> None:
        if life != self.life:
            return
        writes, decision = self._on_way.pop(0)
        self._write(writes)
        self.seat.committed(Turn(self.network.now), decision)
        self._flush()

    def _write(self, writes: list[Write]) -> None:
        for write in writes:
            if isinstance(write, Delete):
                self.rows.pop(write.start, None)
            else:
                self.rows[write.key] = Row(write.key, write.seq, write.value)
                self.written_bytes += len(write.key) + len(write.value)

    def crash(self) -> None:
        """Memory is gone; of what was on its way to the disk a part may be there. Another holder goes on at once."""
        for writes, _ in self._on_way[: self.network.rng.randint(0, len(self._on_way))]:
            self._write(writes)
        self._on_way = []
        self.copies = {}
        self.life += 1
        self.seat = Seat(self.name, 1, self.network.map, self, Tracer(self.name))
        self.act(lambda turn: self.seat.restore(turn, sorted(self.rows.values(), key=lambda row: row.key)))


class SeatedApplication:
    """Sends through its seat by one ordered stream, and repeats what is not answered."""

    def __init__(self, network: SeatNetwork, name: str, seat: str, *, incarnation: int = 1) -> None:
        self.network, self.name, self.seat = network, name, seat
        self.incarnation = incarnation
        self.following = 1
        self.unanswered: dict[int, tuple[Deposit, bytes]] = {}

    def send(
        self,
        body: bytes,
        *,
        dest: str = "",
        topic: str = "",
        after: tuple[tuple[str, int], ...] = (),
        ttl: Duration = 0,
    ) -> int:
        """To a mailbox, or published; its id."""
        number = self.following
        self.following += 1
        head = Deposit(
            self.name,
            self.incarnation,
            seat_name(self.seat),
            _ORDERED,
            number,
            1,
            number - 1,
            _RELIABLE,
            4,
            ttl,
            self.name.encode(),
            Published(topic) if topic else None,
            0,
            Causal(dest, _ORDERED, after),
        )
        self.unanswered[number] = (head, join([body]))
        self._repeat(number)
        return number

    def _repeat(self, number: int) -> None:
        if number in self.unanswered:
            self.network.deliver(*self.unanswered[number])
            self.network.after(REPEAT, lambda: self._repeat(number))

    def answered(self, head: Message) -> None:
        if isinstance(head, Accepted):
            for number in range(head.first, head.last + 1):
                self.unanswered.pop(number, None)
        elif isinstance(head, Resend):
            for number in sorted(self.unanswered):
                if number > head.after:
                    self.network.deliver(*self.unanswered[number])


class SeatNetwork:
    """Seats, applications and mailboxes in one virtual time."""

    def __init__(
        self, domains: Mapping[str, tuple[str, ...]], seed: int = 0, weather: SeatWeather | None = None
    ) -> None:
        self.rng = random.Random(seed)
        self.weather = weather or SeatWeather()
        self.now: Instant = SECOND
        self.map = StaticMap(domains)
        self._queue: list[tuple[Instant, int, Callable[[], None]]] = []
        self._sequence = 0
        self.places = {name: Place(self, name) for name in domains}
        self.applications: dict[str, SeatedApplication] = {}
        self.mailboxes: dict[str, list[Got]] = {}
        self._have: dict[tuple[str, str], int] = {}
        """By mailbox and seat: the last number."""
        self.on_receive: Callable[[str, Got], None] = lambda mailbox, got: None

    def application(self, name: str, seat: str, topics: str = "") -> SeatedApplication:
        """An application bound to a seat, whose mailbox also gets what is published on a pattern."""
        self.map.bindings[name] = seat
        self.mailboxes[name] = []
        if topics:
            head = Register(seat_name(seat), name, 1, Interest(topics, seat=seat_name(seat)), b"")
            place = self.places[seat]
            place.act(lambda turn: place.seat.register(turn, head, 0))
        self.applications[name] = SeatedApplication(self, name, seat)
        return self.applications[name]

    # Time ------------------------------------------------------------------------------------------------------
    def between(self, bounds: tuple[Duration, Duration]) -> Duration:
        return self.rng.randint(*bounds)

    def after(self, wait: Duration, what: Callable[[], None]) -> None:
        """Let something happen later."""
        self._sequence += 1
        heapq.heappush(self._queue, (self.now + wait, self._sequence, what))

    def run(self, until: Instant | None = None) -> None:
        """Until that moment, or until nothing is left to do."""
        while self._queue and (until is None or self._queue[0][0] <= until):
            self.now, _, what = heapq.heappop(self._queue)
            what()

    # Travelling ------------------------------------------------------------------------------------------------
    def travel(self, what: Callable[[], None]) -> None:
        """Something is on its way; perhaps it is lost, perhaps it comes twice."""
        for _ in range(2 if self.rng.random() < self.weather.doubled else 1):
            if self.rng.random() >= self.weather.lost:
                least, most = self.weather.delay
                self.after(int(least * (most / least) ** self.rng.random()), what)

    def deliver(self, head: Deposit, body: bytes) -> None:
        """To a seat or a mailbox."""
        if is_seat(head.dest):
            place = self.places[head.dest.removeprefix(SEAT_PREFIX)]
            self.travel(lambda: place.act(lambda turn: place.seat.offer(turn, head, body)))
        else:
            self.travel(lambda: self._deposit(head, body))

    def _deposit(self, head: Deposit, body: bytes) -> None:
        key = (head.dest, head.source)
        have = self._have.get(key, 0)
        if head.follows > have:
            return  # it will come again, after what is before it
        if head.first > have:
            self._have[key] = head.first + head.count - 1
            was = head.published
            assert was is not None
            for at, message in enumerate(split(body, head.count)):
                got = Got(self.now, was.source, was.first + was.offset_of(at), was.topic, message)
                self.mailboxes.setdefault(head.dest, []).append(got)
                self.on_receive(head.dest, got)
        accepted = Accepted(
            head.source, head.incarnation, head.dest, head.stream, head.first, head.first + head.count - 1
        )
        self.answer(head.origin.decode(), accepted)

    def answer(self, origin: str, head: Message) -> None:
        """To whoever sent a batch."""
        if is_seat(origin):
            place = self.places[origin.removeprefix(SEAT_PREFIX)]
            if isinstance(head, Accepted):
                self.travel(lambda: place.act(lambda turn: _accepted(place, head)))
        elif origin in self.applications:
            self.travel(lambda: self.applications[origin].answered(head))


def _accepted(place: Place, head: Accepted) -> None:
    place.copies.pop((head.dest, head.first), None)
    place.seat.on_accepted(head.dest, head.first, head.last)
