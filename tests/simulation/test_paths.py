"""Two ways between two seats: when the link of one breaks, no message is late by more than the other takes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import pytest

from causeway.client.settings import SessionConfig
from causeway.core.node import Node
from causeway.names import seat_name
from causeway.sim.application import Application
from causeway.sim.cluster import Broker
from causeway.sim.faults import options_calm, stream
from causeway.sim.held import Held
from causeway.sim.letters import CAUSAL, Letter
from causeway.sim.run import SimRun
from causeway.types import MILLISECOND, SECOND, Duration, Instant, ServiceClass, key_of

BROKERS = 10
LATENCY = 2 * MILLISECOND
READER = f"{CAUSAL}-reader"


class Pair:
    """A writer at one broker, a reader at another; nobody but these two needs the link between them."""

    def __init__(self, paths: int) -> None:
        self.run = SimRun(options_calm(7, brokers=BROKERS, workloads=[], latency=LATENCY, jitter=0, paths=paths))
        self.run.cluster.seating = {f"broker-{number}": ("main",) for number in range(BROKERS)}
        self.run._setup()
        self.run._pass(12 * SECOND)
        self.sent: dict[Letter, Instant] = {}
        self.took: dict[Letter, Duration] = {}
        self.reader_home, self.writer_home = self._choose()
        self.reader = self._start(READER, self.reader_home)
        self.writer = self._start(f"{CAUSAL}-writer", self.writer_home)
        self.reader.on_letter = self._read
        self.reader.read(READER, 64)
        # Whoever takes part first does so at the seat of its own broker.
        assert self.reader.send(f"{CAUSAL}-other", ServiceClass.RECOVERABLE, 40) is not None
        self.run._pass(2 * SECOND)

    def _choose(self) -> tuple[Broker, Broker]:
        mailbox = set(self.members(READER))
        for reader, writer in permutations(self.run.cluster.brokers, 2):
            theirs = {*self.members(seat_name(reader.name)), *mailbox}
            if writer.name not in theirs and reader.name not in self.members(seat_name(writer.name)):
                return reader, writer
        raise AssertionError("every two brokers share a group")

    def members(self, group: str) -> list[str]:
        """Brokers that hold a group, or would."""
        key = key_of(group)
        for broker in self.run.cluster.brokers:
            node = broker.machine
            assert isinstance(node, Node)
            if node._groups.owned(key):
                config = node._groups.config(key)
                assert config is not None
                return [member.peer.name for member in config.members]
        near = sorted(self.run.cluster.brokers, key=lambda b: abs(int.from_bytes(b.id) - int.from_bytes(key)))
        return [broker.name for broker in near[:5]]

    def _start(self, name: str, home: Broker) -> Application:
        application = self.run.application(name)
        assert home.process.address is not None
        config = SessionConfig(name=name, addresses=(home.process.address,))
        application.start(config, stream(7, f"session/{name}"), self.run.cluster.clock(), None)
        return application

    def _read(self, held: Held) -> None:
        self.took[held.letter] = self.run.world.now - self.sent[held.letter]
        self.reader.settle(held)

    def write(self, letters: int) -> Iterator[Letter]:
        for _ in range(letters):
            letter = self.writer.send(READER, ServiceClass.RECOVERABLE, 40)
            assert letter is not None
            self.sent[letter] = self.run.world.now
            yield letter
            self.run._pass(20 * MILLISECOND)

    def cut(self) -> None:
        network = self.run.world.network
        for source, target in permutations((self.reader_home.process, self.writer_home.process), 2):
            network.cut(source, target)

    def slowest(self, letters: list[Letter]) -> Duration:
        self.run._pass(5 * SECOND)
        assert all(letter in self.took for letter in letters), "something never came"
        return max(self.took[letter] for letter in letters)


@pytest.mark.parametrize("paths", [1, 2])
def test_a_broken_link_makes_nothing_late_if_there_is_another_way(paths: int) -> None:
    pair = Pair(paths)
    usual = pair.slowest(list(pair.write(20))[5:])
    pair.cut()
    late = pair.slowest(list(pair.write(60)))
    if paths == 1:
        assert late > 5 * (usual + 2 * LATENCY), "the link was not needed: the test shows nothing"
    else:
        assert late <= usual + 2 * LATENCY
