"""What one operation of a replica group costs a broker's processor, at its owner and at a follower.

    python -m bench.operations [groups]

Whole brokers (`Node.handle`) joined in memory: frames are encoded and decoded as on a wire, the store forgets what it
is told. Every turn appends one operation to each group. What counts is the fastest tenth of the turns, in time of the
processor, which a busy machine disturbs little.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Sequence
from itertools import count

from causeway.config import BrokerConfig
from causeway.core.effects import Effects, Send
from causeway.core.events import DriverEvent, Loaded, Opened, Persisted, Received
from causeway.core.machine import Turn
from causeway.core.node import Node
from causeway.store.base import Page, Put
from causeway.types import MILLISECOND, SECOND, Key, Peer, key_of
from causeway.wire.codec import decode_frame, in_parts
from causeway.wire.frame import FrameReader

TURNS = 400
VALUE = bytes(160)
HOST = "127.0.0.1"


class BusyNode(Node):
    """A broker that appends an operation to each of its groups in every turn that it is asked to."""

    rows: Sequence[Put] = ()
    births: Sequence[tuple[Key, str]] = ()
    committed = 0

    def _finish(self, turn: Turn) -> None:
        for row in self.rows:
            self._groups.append(turn, Key(row.group), (row,), 1, self._count)
        for key, name in self.births:
            if self._groups.config(key) is None:
                self._groups.resolve(turn, key, name)
            else:
                self._groups.wake(turn, key)
        self.rows = self.births = ()
        super()._finish(turn)

    def _count(self, turn: Turn) -> None:
        self.committed += 1

    def serves(self, key: Key) -> bool:
        return self._groups.serving(key)


class Broker:
    """A node, with what a driver does around it; `spent` is the processor time of its turns."""

    def __init__(self, node: BusyNode, wires: Wires) -> None:
        self.node = node
        self._wires = wires
        self.waiting: list[tuple[int, bytes] | DriverEvent] = []
        self.spent = 0

    def turn(self, now: int) -> None:
        """Everything that waits for this broker."""
        waiting, self.waiting = self.waiting, []
        began = time.thread_time_ns()
        events: list[DriverEvent] = []
        for item in waiting:
            if isinstance(item, tuple):
                for head, body in FrameReader().feed(item[1]):
                    events.append(Received(item[0], decode_frame(head, body)))
            else:
                events.append(item)
        self._perform(self.node.handle(events, now))
        self.spent += time.thread_time_ns() - began

    def _perform(self, effects: Effects) -> None:
        for persist in effects.persists:
            self._send(persist.then)
            if persist.token:
                self.waiting.append(Persisted(persist.token))
        for load in effects.loads:
            self.waiting.append(Loaded(load.token, Page([], [], None)))
        for dial in effects.dials:
            self._wires.dial(self, dial.conn, dial.port)
        self._send(effects.sends)

    def _send(self, sends: Sequence[Send]) -> None:
        for send in sends:
            first, rest, _ = in_parts(send.head, send.body)
            self._wires.carry(self, send.conn, first + rest)


class Wires:
    """Connections that never fail, and the clock."""

    def __init__(self, copies: int) -> None:
        self.now = 1000 * SECOND
        self._ends: dict[tuple[Broker, int], tuple[Broker, int]] = {}
        self._inbound = count(2, 2)
        self.brokers: list[Broker] = []
        for n in range(copies):
            seeds = () if n == 0 else ((HOST, 7400),)
            config = BrokerConfig(name=f"b{n}", port=7400 + n, founder=n == 0, seeds=seeds, copies=copies)
            me = Peer(key_of(config.name), config.name, HOST, config.port, 100 + n)
            self.brokers.append(Broker(BusyNode(config, me, n + 1, random.Random(n)), self))
            self.run(2 * SECOND)

    def dial(self, broker: Broker, conn: int, port: int) -> None:
        other, theirs = self.brokers[port - 7400], next(self._inbound)
        self._ends[(broker, conn)], self._ends[(other, theirs)] = (other, theirs), (broker, conn)
        broker.waiting.append(Opened(conn))
        other.waiting.append(Opened(theirs, HOST))

    def carry(self, broker: Broker, conn: int, data: bytes) -> None:
        other, theirs = self._ends[(broker, conn)]
        other.waiting.append((theirs, data))

    def settle(self) -> None:
        """Until nothing is on its way."""
        while any(broker.waiting for broker in self.brokers):
            for broker in self.brokers:
                if broker.waiting:
                    broker.turn(self.now)

    def run(self, duration: int) -> None:
        end = self.now + duration
        while self.now < end:
            self.now += 20 * MILLISECOND
            for broker in self.brokers:
                broker.turn(self.now)
            self.settle()


def measure(groups: int, copies: int) -> tuple[float, float]:
    """Microseconds per operation, at the owner and at one follower."""
    wires = Wires(copies)
    owner = wires.brokers[0]
    ids = [key_of(broker.node.me.name) for broker in wires.brokers]
    names: list[str] = []
    for n in count():
        name = f"box{n}"
        if min(ids, key=lambda broker: _distance(broker, key_of(name))) == ids[0]:
            names.append(name)
        if len(names) == groups:
            break
    keys = [key_of(name) for name in names]
    for _ in range(4):
        owner.node.births = [(key, name) for key, name in zip(keys, names, strict=True)]
        wires.run(1 * SECOND)
    assert all(map(owner.node.serves, keys)), "the groups were not born"
    spent: list[tuple[int, int]] = []
    for number in range(TURNS):
        for broker in wires.brokers:
            broker.spent = 0
        owner.node.rows = [Put(key, b"c%08d" % (number % 100), number, VALUE) for key in keys]
        owner.turn(wires.now)
        wires.settle()
        spent.append((owner.spent, wires.brokers[-1].spent if copies > 1 else 0))
    assert owner.node.committed == groups * TURNS
    at_owner, at_follower = (
        statistics.quantiles(column, n=10)[0] / groups / 1000 for column in zip(*spent, strict=True)
    )
    return at_owner, at_follower


def _distance(a: Key, b: Key) -> int:
    gap = abs(int.from_bytes(a, "big") - int.from_bytes(b, "big"))
    return min(gap, (1 << 128) - gap)


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for copies in (1, 3):
        owner, follower = measure(number, copies)
        print(f"{number} groups, K={copies}: owner {owner:.2f} us, follower {follower:.2f} us per operation")
