"""What stands around agents and landmarks in tests: links that say who is up, and cards of brokers."""

from __future__ import annotations

from causeway.core.machine import Turn
from causeway.core.messages import AgentCard
from causeway.core.ports import Figures
from causeway.types import BrokerId, Duration, Peer, key_of
from tests.unit.core.mail.neighbours import ME, FakeLinks


def peer_of(name: str) -> Peer:
    return Peer(key_of(name), name, "127.0.0.1", 7000, 1)


def id_of(name: str) -> BrokerId:
    return key_of(name)


def card_of(
    name: str, *, spare: bool = False, capability: int = 1000, capacity: int = 0, fitness: int = 1000
) -> AgentCard:
    return AgentCard(ME if name == "b1" else peer_of(name), spare, capability, capacity, fitness)


class DomainLinks(FakeLinks):
    """Everybody is up who is not `down`."""

    def __init__(self) -> None:
        super().__init__()
        self.down: set[BrokerId] = set()
        self.pinned: list[BrokerId] = []
        self.trips: dict[BrokerId, Duration] = {}
        self.seats: tuple[str, ...] | None = None

    def up(self) -> list[Peer]:
        return [peer for peer in self.learned if peer.id not in self.down]

    def is_up(self, broker: BrokerId) -> bool:
        return broker not in self.down

    def pin(self, broker: BrokerId) -> None:
        self.pinned.append(broker)

    def unpin(self, broker: BrokerId) -> None:
        self.pinned.remove(broker)

    def round_trip(self, broker: BrokerId) -> Duration | None:
        return self.trips.get(broker)

    def hold_seats(self, turn: Turn, seats: tuple[str, ...]) -> None:
        self.seats = seats


class FakeGauge:
    """Reads what a test says."""

    def __init__(self) -> None:
        self.figures: list[Figures] = []

    def read(self, turn: Turn) -> list[Figures]:
        return self.figures
