"""What a mailbox must do, said slowly: one entry per message, plain sets, no batches, no windows.

The oracle keeps two books. `durable` has what every copy has: an operation's effect enters it when the operation
arrives. `memory` has what the living owner knows; a crash replaces it by the durable one.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from causeway.core.mail.rows import TxId
from causeway.core.messages import Deliver
from causeway.types import VOLATILE_FROM, Flag
from tests.unit.core.mail.postroom import EXPRESS, TRANSACTIONAL

StreamKey = tuple[str, int]
Identity = tuple[str, int, int]
Holder = tuple[int, int]
InFlight = tuple[StreamKey, list[int], list[int]]
"""Stream, ids and numbers of a batch."""


@dataclass(frozen=True)
class Message:
    """One message, as its sender meant it."""

    source: str
    stream: int
    id: int
    priority: int
    expires: int
    deliveries: int = 0
    ready: int = 0
    """Nobody gets it before."""

    @property
    def identity(self) -> Identity:
        return self.source, self.stream, self.id


WANTS: dict[str, Callable[[Message], bool]] = {
    "": lambda _: True,
    "third": lambda message: message.stream != EXPRESS and message.id % 3 == 0,
    "NOT third": lambda message: message.stream != EXPRESS and message.id % 3 > 0,
    "n > 8": lambda message: message.stream != EXPRESS and message.id > 8,
    "JMSPriority <> 4": lambda message: message.priority != 4,
    "n < 0": lambda _: False,
}
"""Selectors, and what they mean. Express messages have no headers here."""


@dataclass
class Book:
    """Messages by mailbox number, and what was seen of each stream."""

    messages: dict[int, Message] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)
    seen: dict[StreamKey, set[int]] = field(default_factory=dict)
    prepared: dict[TxId, tuple[list[Message], list[int]]] = field(default_factory=dict)

    def locked(self) -> set[int]:
        return {number for _, locks in self.prepared.values() for number in locks}


Effect = Callable[[Book], None]


class Oracle:
    """The obvious mailbox."""

    def __init__(self) -> None:
        self.durable = Book()
        self.memory = Book()
        self.effects: deque[tuple[Effect, Effect | None]] = deque()
        """Per operation on its way: what it does to the durable book, and to memory when it arrives."""
        self.held: dict[int, Holder] = {}
        self.credit: dict[Holder, int] = {}
        self.selectors: dict[Holder, str] = {}
        self.divided = False
        """Whether any consumer of this life chose: then a stream's order holds for each consumer, not among them."""
        self.unsafe: set[int] = set()
        """Stored after passing, not committed."""
        self.alias: dict[int, int] = {}
        self.passing: dict[int, InFlight] = {}
        """Batches that pass, by their number, until every message is settled."""
        self.on_their_way: dict[int, InFlight] = {}
        """Stored batches that are not committed, with the numbers that are not in memory's book yet."""
        self.highest: dict[tuple[StreamKey, Holder | None], int] = {}
        """The last id of each ordered stream that was delivered for the first time in this life."""
        self.once_locked: set[int] = set()
        self.again: set[int] = set()
        """Held in this life by consumers that are gone."""
        self.buried = False
        """Whether stored messages ever went to the dead letters: their numbers are remembered."""
        self.acknowledged: set[Identity] = set()
        self.resolved: set[Identity] = set()
        """Settled, expired or buried: need not be delivered any more."""

    # Operations ------------------------------------------------------------------------------------------------
    def append(self, effect: Effect, on_arrival: Effect | None = None) -> None:
        self.effects.append((effect, on_arrival))

    def arrive(self, count: int) -> None:
        for _ in range(min(count, len(self.effects))):
            effect, on_arrival = self.effects.popleft()
            effect(self.durable)
            if on_arrival is not None:
                on_arrival(self.memory)

    def crash(self, arrived: int) -> None:
        for _ in range(min(arrived, len(self.effects))):
            self.effects.popleft()[0](self.durable)
        self.effects.clear()
        for _, locks in self.durable.prepared.values():
            locks[:] = [number for number in locks if number < VOLATILE_FROM]
        self.memory = copy.deepcopy(self.durable)
        self.held.clear()
        self.credit.clear()
        self.selectors.clear()
        self.divided = False
        self.unsafe.clear()
        self.alias.clear()
        self.passing.clear()
        self.on_their_way.clear()
        self.highest.clear()
        self.once_locked = self.memory.locked()
        self.again = set()

    # Admission -------------------------------------------------------------------------------------------------
    def seen(self, key: StreamKey) -> set[int]:
        return self.memory.seen.setdefault(key, set())

    def expected(self, key: StreamKey, first: int, count: int, follows: int) -> tuple[str, int]:
        """The verdict, with `skip` or `after`."""
        seen = self.seen(key)
        wanted = range(first, first + count)
        if key[1] == TRANSACTIONAL:
            high = max(seen, default=0)
            if wanted[-1] <= high:
                return "DUPLICATE", 0
            if follows > high:
                return "GAP", high
            return "NEW", max(0, high + 1 - first)
        if all(one in seen for one in wanted):
            return "DUPLICATE", 0
        return "NEW", next(at for at, one in enumerate(wanted) if one not in seen)

    def admit(self, key: StreamKey, wanted: Iterable[int]) -> None:
        seen = self.seen(key)
        seen.update(wanted)
        if key[1] == TRANSACTIONAL:
            seen.update(range(1, max(seen, default=0) + 1))

    def safe_seen(self, key: StreamKey) -> set[int]:
        """What may be written of a stream: nothing that only passes, nor, when ordered, anything behind that."""
        unsafe = {one for stream, wanted, _ in self.passing.values() if stream == key for one in wanted}
        limit = min(unsafe, default=1 << 62) if key[1] == TRANSACTIONAL else 1 << 62
        return {one for one in self.seen(key) if one not in unsafe and one < limit}

    def is_unsafe(self, key: StreamKey, wanted: Iterable[int]) -> bool:
        """Whether some of these ids were admitted but are not safe."""
        batches = [*self.passing.values(), *self.on_their_way.values()]
        unsafe = {one for stream, ids, _ in batches if stream == key for one in ids}
        return any(one in unsafe for one in wanted)

    # Consumers -------------------------------------------------------------------------------------------------
    def holds(self, holder: Holder) -> list[int]:
        return [number for number, who in self.held.items() if who == holder]

    def resolve(self, number: int) -> int:
        return self.alias.get(number, number)

    def deliverable(self, now: int) -> list[int]:
        """Numbers that may go out now."""
        book, locked = self.memory, self.memory.locked()
        return [
            number
            for number, message in book.messages.items()
            if number not in self.held
            and number not in locked
            and number not in book.dead
            and number not in self.unsafe
            and not 0 < message.expires <= now
            and message.ready <= now
        ]

    def visible(self, after: int, now: int) -> list[int]:
        """Numbers above `after` that a look may show: all that is not settled, but for what waits and has expired."""
        taken = self.memory.locked() | self.memory.dead | set(self.held)
        return sorted(
            number
            for number, message in self.memory.messages.items()
            if number > after and number not in self.unsafe and (not 0 < message.expires <= now or number in taken)
        )

    def delivered(self, conn: int, head: Deliver, now: int) -> None:
        """Check one delivery, message by message."""
        holder = (conn, head.consumer)
        allowed = set(self.deliverable(now))
        for at in range(head.count):
            number = head.seq + at
            assert number in allowed, f"{number} is not to be delivered"
            message = self.memory.messages[number]
            assert self.wants(holder, message), f"{number} is not what {holder} wants"
            assert message.identity == (head.source, head.stream, head.first + at)
            assert message.priority == head.priority
            assert message.deliveries == head.deliveries
            again = {self.resolve(one) for one in self.again}
            assert not (message.deliveries or number in again) or head.flags & Flag.REDELIVERED
            ordered = message.stream == TRANSACTIONAL and not message.ready
            first_time = not message.deliveries and number not in again
            if ordered and first_time and number not in self.once_locked:
                key = (message.source, message.stream)
                for reader in (holder,) if self.divided else (holder, None):
                    assert message.id > self.highest.get((key, reader), 0), "an ordered stream is out of order"
                    self.highest[key, reader] = message.id
            self.held[number] = holder
        assert len(self.holds(holder)) <= self.credit[holder]

    def wants(self, holder: Holder, message: Message) -> bool:
        return WANTS[self.selectors.get(holder, "")](message)

    def leave(self, holder: Holder) -> None:
        """A consumer goes; one that takes its place begins anew."""
        self.credit.pop(holder, None)
        self.selectors.pop(holder, None)
        self.highest = {key: high for key, high in self.highest.items() if key[1] != holder}

    def missed(self, now: int) -> list[int]:
        """Numbers that somebody with credit should have got by now."""
        free = [one for one, credit in self.credit.items() if len(self.holds(one)) < credit]
        messages = self.memory.messages
        missed = [number for number in self.deliverable(now) if any(self.wants(one, messages[number]) for one in free)]
        return [] if self.is_barred() else missed

    def is_barred(self) -> bool:
        """What a transaction has and nobody holds may come back: to one reader alone, what came later does not come
        before."""
        messages, numbers = self.memory.messages, self.memory.locked() - set(self.held)
        orphans = [messages[number] for number in numbers if number in messages]
        return len(self.credit) == 1 and any(message.stream >= TRANSACTIONAL for message in orphans)

    def settle(self, numbers: Iterable[int]) -> list[int]:
        """Settle in memory; which numbers that ends."""
        locked = self.memory.locked()
        ended = []
        for number in map(self.resolve, numbers):
            if number in self.memory.messages and number not in locked and number not in self.memory.dead:
                ended.append(number)
                self.end(number)
        return ended

    def end(self, number: int) -> None:
        self.resolved.add(self.memory.messages.pop(number).identity)
        self.memory.dead.discard(number)
        self.held.pop(number, None)
        self.unsafe.discard(number)
        self.passing = {
            at: entry for at, entry in self.passing.items() if any(n in self.memory.messages for n in entry[2])
        }

    def come_back(self, number: int) -> None:
        """Its consumer is gone: it will come again, and nothing is counted."""
        self.held.pop(number, None)
        self.again.add(number)

    def count_return(self, number: int, deliveries_max: int) -> bool:
        """A message comes back; whether that condemns it."""
        message = self.memory.messages[number]
        self.memory.messages[number] = message = replace(message, deliveries=message.deliveries + 1)
        self.held.pop(number, None)
        if 0 < deliveries_max <= message.deliveries:
            self.memory.dead.add(number)
            return True
        return False

    def record(self, numbers: Iterable[int]) -> Effect:
        """The effect of an operation that writes what memory says about some numbers now."""
        state = {n: (self.memory.messages.get(n), n in self.memory.dead) for n in numbers if n < VOLATILE_FROM}

        def effect(book: Book) -> None:
            for number, (message, dead) in state.items():
                book.messages.pop(number, None)
                book.dead.discard(number)
                if message is not None:
                    book.messages[number] = message
                if dead:
                    book.dead.add(number)

        return effect
