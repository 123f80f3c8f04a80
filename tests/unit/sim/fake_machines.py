"""Machines of the same contract as the product's, small enough to see what the simulator did to them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from causeway.core.effects import Close, Dial, Effects, Load, Persist, Send
from causeway.core.events import DriverEvent, Opened, Received
from causeway.core.messages import Message, Ping, Pong
from causeway.sim.clock import Clock
from causeway.sim.disk import Disk, RottingStore
from causeway.sim.network import Network, Weather
from causeway.sim.run_log import RunLog
from causeway.sim.world import Process, World
from causeway.store.memory import MemoryStore


class Recorder:
    """Remembers every turn; does what the test puts into `todo`, once."""

    def __init__(self) -> None:
        self.turns: list[tuple[int, list[DriverEvent]]] = []
        self.todo: Effects | None = None
        self.deadline: int | None = None

    def handle(self, events: Sequence[DriverEvent], now: int) -> Effects:
        self.turns.append((now, list(events)))
        if self.deadline is not None and self.deadline <= now:
            self.deadline = None
        effects, self.todo = self.todo, None
        return effects or Effects()

    def next_deadline(self) -> int | None:
        return self.deadline

    @property
    def events(self) -> list[DriverEvent]:
        return [event for _, events in self.turns for event in events]

    def heads(self) -> list[Message]:
        return [head for event in self.events if isinstance(event, Received) for head, _ in event.messages]

    def nonces(self) -> list[int]:
        return [head.nonce for head in self.heads() if isinstance(head, (Ping, Pong))]


class Chatter:
    """Dials everybody and keeps `window` pings going on each connection: load for measurements."""

    def __init__(self, targets: Sequence[tuple[str, int]], window: int) -> None:
        self.targets = targets
        self.window = window
        self.started = False
        self.nonce = 0

    def handle(self, events: Sequence[DriverEvent], now: int) -> Effects:
        effects = Effects()
        if not self.started:
            self.started = True
            effects.dials += [Dial(2 * n + 1, *address) for n, address in enumerate(self.targets)]
        for event in events:
            if isinstance(event, Opened) and event.conn % 2:
                effects.sends += [Send(event.conn, Ping(n)) for n in range(self.window)]
            elif isinstance(event, Received):
                for head, _ in event.messages:
                    if isinstance(head, Ping):
                        effects.sends.append(Send(event.conn, Pong(head.nonce)))
                    else:
                        self.nonce += 1
                        effects.sends.append(Send(event.conn, Ping(self.nonce)))
        return effects

    def next_deadline(self) -> int | None:
        return None


def make_world(
    seed: int = 1, *, wire: bool = False, write: Callable[[str], None] | None = None, **weather: float
) -> World:
    network = Network(random.Random(seed), Weather(**weather), wire=wire)  # type: ignore[arg-type]
    return World(RunLog(write), network)


def start(world: World, name: str, *, broker: bool = True, disk: Disk | None = None) -> tuple[Process, Recorder]:
    index = len(world.processes)
    process = world.process(name, (f"h{index}", 1) if broker else None)
    machine = Recorder()
    process.start(machine, Clock(), disk)
    return process, machine


def make_disk(seed: int = 1, *, commit_ns: int = 1000, instant: bool = False) -> Disk:
    rng = random.Random(seed)
    disk = Disk(RottingStore(MemoryStore(lambda: rng.getrandbits(60))), rng, instant=instant)
    disk.commit_ns = commit_ns
    return disk


def act(process: Process, **lists: Sequence[object]) -> None:
    """Let the machine ask for these effects at its next turn."""
    machine = process.machine
    assert isinstance(machine, Recorder)
    effects = Effects()
    for name, values in lists.items():
        getattr(effects, name).extend(values)
    machine.todo = effects
    process.poke()


def connect(world: World, dialler: Process, target: Process, conn: int = 1) -> None:
    """Open a connection and wait until both ends know."""
    assert target.address is not None
    act(dialler, dials=[Dial(conn, *target.address)])
    world.run(world.now + 100_000_000)


def say(world: World, process: Process, conn: int, *nonces: int) -> None:
    """Send numbered pings."""
    act(process, sends=[Send(conn, Ping(nonce)) for nonce in nonces])
    flush(world, process)


def flush(world: World, process: Process) -> None:
    """Let time pass until the machine has had its turn."""
    machine = process.machine
    assert isinstance(machine, Recorder)
    for _ in range(1_000_000):
        if machine.todo is None:
            return
        world.run(world.now + 1000)
    raise AssertionError("the process never had its turn")


__all__ = [
    "Chatter",
    "Close",
    "Load",
    "Persist",
    "Recorder",
    "act",
    "connect",
    "flush",
    "make_disk",
    "make_world",
    "say",
    "start",
]
