"""What the conformance suite needs of a driver: places where machines live, time that passes, crashes.

One interface, two worlds behind it (`world_aio`, `world_sim`), so that every case is written once. A place keeps its
address and its storage over the lives of its machines; a crash ends a life without a farewell.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from causeway.config import BrokerConfig
from causeway.core.machine import Machine
from causeway.drivers.aio.broker import NodeFactory
from causeway.store.base import Write
from causeway.store.memory import MemoryStore

Address = tuple[str, int]

SECONDS_MAX = 20.0
"""How long anything may take, in the time of its world; on a busy machine real time is slow."""


class Place:
    """Where a machine lives: its name, its address (once it listens), its present machine."""

    def __init__(self, name: str, durability: str = "disk") -> None:
        self.name = name
        self.durability = durability
        self.address: Address = ("", 0)
        self.machine: Machine | None = None
        self.commit_seconds = 0.0
        """What a commit takes at least, beside what the storage itself needs; read when a life begins."""
        self.on_commit: Callable[[Sequence[Write]], None] | None = None
        """Told when a commit is durable, before anybody else is. Called from whatever thread writes."""

    def committed(self, writes: Sequence[Write]) -> None:
        """For the storage."""
        if self.on_commit is not None:
            self.on_commit(writes)


class ObservedMemory(MemoryStore):
    """Says when it has committed."""

    def __init__(self, place: Place, draw: Callable[[], int]) -> None:
        super().__init__(draw)
        self._place = place

    def commit(self, writes: Sequence[Write]) -> None:
        super().commit(writes)
        self._place.committed(writes)


class World(ABC):
    """One driver with everything around it."""

    @abstractmethod
    def place(self, name: str, durability: str = "disk") -> Place:
        """A place where nothing lives yet."""

    @abstractmethod
    def start(self, place: Place, make: NodeFactory, config: BrokerConfig | None = None) -> None:
        """Begin a life that listens and has storage; on return the place's address can be dialled."""

    @abstractmethod
    def start_client(self, place: Place, machine: Machine, on_turn: Callable[[], None]) -> None:
        """Begin a life that only dials; `on_turn` is called after every turn."""

    @abstractmethod
    def crash(self, place: Place) -> None:
        """End a life at once. What was written survives, as far as it had got; connections break."""

    @abstractmethod
    def leave(self, place: Place) -> None:
        """Ask a machine to go; its life is over when it says that it has left."""

    @abstractmethod
    def poke(self, place: Place) -> None:
        """Call the machine soon, though nothing happened."""

    @abstractmethod
    def nowhere(self) -> Address:
        """An address where nobody listens."""

    @abstractmethod
    def run_until(self, what: Callable[[], object], seconds_max: float = SECONDS_MAX) -> None:
        """Let time pass until something is true; fail when it does not come true in time."""

    @abstractmethod
    def close(self) -> None:
        """End everything."""
