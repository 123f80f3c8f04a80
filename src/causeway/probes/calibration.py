"""What a broker sustains on this machine, before it has served anybody: a real one, alone, on memory, without sockets.

Owns: a broker's work for a message, done and timed: frames are cut and decoded, the broker machine handles them, rows
go to a store, answers and deliveries are encoded; then the same for the settlement. What the other ends do is done
between the timed stretches. Must not know: event loops, configurations.

What is missing is the system's part (sockets, disk) and the copies on other brokers, so a broker does less than this:
the figures compare machines, and give the meter (`capacity`) a start until it has seen traffic.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from functools import cache
from statistics import median
from typing import Final

import msgspec

from causeway.config import BrokerConfig
from causeway.core.effects import Effects, Send
from causeway.core.events import DriverEvent, Loaded, Opened, Persisted, Received
from causeway.core.messages import PROTOCOL_VERSION, Attach, Deliver, Deposit, Hello, Message, Settle
from causeway.core.node import Node
from causeway.errors import LocalProtocolError
from causeway.store.memory import MemoryStore
from causeway.types import (
    MICROSECOND,
    MILLISECOND,
    NORMAL_PRIORITY,
    SECOND,
    Duration,
    Flag,
    Peer,
    ServiceClass,
    Span,
    key_of,
)
from causeway.wire.body import join
from causeway.wire.codec import decode_frame, encode_frame, in_parts
from causeway.wire.frame import FrameReader

MESSAGE_BYTES: Final = 128
BATCH_MESSAGES: Final = 64
"""What a busy client has ready in one turn of its event loop."""

BUDGET: Final[Duration] = 30 * MILLISECOND
"""Processor time for both figures together. A broker pays it whenever it starts; more makes it no truer."""

BATCHES_MIN: Final = 3
"""Sent at least, whatever they take."""
WARM_UP: Final = 4
"""The first ones are not counted: they fill caches and meet a mailbox that is being born."""
DEADLINES_MAX: Final = 10
"""Timers let fire before the application comes: the broker founds its cluster."""

_CLIENT: Final = "calibration"
_MAILBOX: Final = "calibration/mailbox"
_CONN: Final = 2


class Calibration(msgspec.Struct, frozen=True):
    """Messages of 128 bytes per second of processor time: sent, stored, delivered and settled."""

    batched: float
    """In batches of 64."""
    single: float
    """One by one, each in a turn of its own."""

    @property
    def start(self) -> float:
        """What a broker without experience says of itself: what it can do however its clients send."""
        return min(self.single, self.batched)


@cache
def calibrate(budget: Duration = BUDGET) -> Calibration:
    """Measure this machine, once per process."""
    return Calibration(_rate(BATCH_MESSAGES, budget // 2), _rate(1, budget // 2))


def _rate(count: int, budget: Duration) -> float:
    """By the median batch: a pause of the garbage collector or of the machine is no measure of either."""
    broker = LoneBroker(count)
    for _ in range(WARM_UP):
        broker.send()
    begun = broker.spent
    taken: list[Duration] = []
    while broker.spent - begun < budget or len(taken) < BATCHES_MIN:
        before = broker.spent
        broker.send()
        taken.append(broker.spent - before)
    return count * SECOND / max(1.0, median(taken))


class LoneBroker:
    """A broker, and the one application that sends to itself through it, always a batch behind.

    Its credit is one batch, which it holds until the next one has come: so none goes straight to the consumer, each is
    stored first, as behind a slow reader.
    """

    def __init__(self, count: int) -> None:
        me = Peer(key_of(_CLIENT), _CLIENT, "127.0.0.1", 1, 1)
        self.spent: Duration = 0
        """Processor time of the broker's part."""
        self._store = MemoryStore(lambda: me.store)
        self._store.open()
        config = BrokerConfig(name=me.name, founder=True, durability="memory", copies=1, root_copies=1)
        self._node = Node(config, me, 1, random.Random(1))
        self._reader = FrameReader()
        self._now = SECOND
        self._waiting: list[DriverEvent] = []
        self._delivered: list[Deliver] = []
        self._written: list[bytes] = []
        self._count = count
        self._body = join([b"m" * MESSAGE_BYTES] * count)
        self._next = 1
        for _ in range(DEADLINES_MAX):
            self._now = max(self._now, self._node.next_deadline() or 0)
            self._happen([])
        self._happen([Opened(_CONN, "127.0.0.1")])
        self._arrive(Hello(PROTOCOL_VERSION, _CLIENT, 1))
        self._arrive(Attach(_MAILBOX, 1, count))
        self._deposit()

    def send(self) -> None:
        """Store a batch, settle the one before, deliver this one."""
        held, self._delivered = self._delivered, []
        self._deposit()
        spans: tuple[Span, ...] = tuple((one.seq, one.seq + one.count - 1) for one in held)
        self._arrive(Settle(_MAILBOX, 1, spans))
        self._written.clear()
        came = sum(one.count for one in self._delivered)
        if came != self._count:
            raise LocalProtocolError(f"{came} of {self._count} messages of a batch were delivered by a broker alone")

    def _deposit(self) -> None:
        first, self._next = self._next, self._next + self._count
        stream, flags = int(ServiceClass.TRANSACTIONAL), int(Flag.RELIABLE)
        how = (flags, NORMAL_PRIORITY, 0)
        self._arrive(Deposit(_CLIENT, 1, _MAILBOX, stream, first, self._count, first - 1, *how), self._body)

    def _arrive(self, message: Message, body: bytes = b"") -> None:
        """What a connection and a driver do with a read, timed."""
        data = encode_frame(message, body)
        begun = time.thread_time_ns()
        self._happen([Received(_CONN, decode_frame(head, rest)) for head, rest in self._reader.feed(data)])
        self.spent += time.thread_time_ns() - begun

    def _happen(self, events: Sequence[DriverEvent]) -> None:
        self._now += MICROSECOND
        self._perform(self._node.handle(events, self._now))
        while self._waiting:
            gathered, self._waiting = self._waiting, []
            self._perform(self._node.handle(gathered, self._now))

    def _perform(self, effects: Effects) -> None:
        for persist in effects.persists:
            self._store.commit(persist.writes)
            self._send(persist.then)
            if persist.token:
                self._waiting.append(Persisted(persist.token))
        for load in effects.loads:
            page = self._store.scan(load.group, load.start, load.stop, load.bytes_max)
            self._waiting.append(Loaded(load.token, page))
        self._send(effects.sends)

    def _send(self, sends: Sequence[Send]) -> None:
        for send in sends:
            self._written.append(b"".join(in_parts(send.head, send.body)[:2]))
            if isinstance(send.head, Deliver):
                self._delivered.append(send.head)
