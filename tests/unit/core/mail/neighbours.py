"""What stands around the parts of `core/mail` in a broker, for tests: the ports, each saying what a test told it to."""

from __future__ import annotations

from collections.abc import Sequence

from causeway.core.machine import Then, Turn
from causeway.core.messages import (
    AskInterest,
    Attach,
    Config,
    Deposit,
    EndMailbox,
    Member,
    Message,
    Postable,
    Register,
    SummaryHeld,
)
from causeway.errors import Code
from causeway.store.base import Row, Write
from causeway.types import BrokerId, Duration, Instant, Key, Peer, key_of

ME = Peer(key_of("b1"), "b1", "127.0.0.1", 7001, 1)
OTHER = Peer(key_of("b2"), "b2", "127.0.0.1", 7002, 2)
THIRD = Peer(key_of("b3"), "b3", "127.0.0.1", 7003, 3)


def config_of(name: str, owner: Peer, *others: Peer, epoch: int = 5) -> Config:
    members = tuple(Member(peer, peer.store) for peer in (owner, *others))
    return Config(name, epoch, owner.id, members, (), 3)


class FakeGroups:
    """Replica groups: `own` makes one ours; an operation is committed by whoever calls what follows from it."""

    def __init__(self) -> None:
        self.configs: dict[Key, Config] = {}
        self.mine: dict[Key, bool] = {}
        """Owned groups, and whether they may be written."""
        self.suspected: set[BrokerId] = set()
        self.obstacles: dict[Key, str] = {}
        self.operations: list[tuple[Then, Key, list[Write]]] = []
        """What follows from each, its group, and what it writes."""
        self.loads: list[tuple[Key, bytes]] = []
        """Pages asked for; their tokens count from 1."""
        self.asked: list[tuple[str, Key]] = []
        """resolve, wake, retire, forget: in order."""
        self._next = 1

    def own(self, name: str, *, serving: bool = True) -> Key:
        key = key_of(name)
        self.configs[key] = config_of(name, ME, OTHER)
        self.mine[key] = serving
        return key

    def know(self, name: str, owner: Peer, *others: Peer) -> Key:
        key = key_of(name)
        self.configs[key] = config_of(name, owner, *others)
        return key

    def take(self) -> list[Then]:
        """What follows from the operations since the last call."""
        operations, self.operations = self.operations, []
        return [then for then, _, _ in operations]

    # ports.Groups
    def home(self, key: Key) -> Key:
        return key

    def hosts(self, key: Key) -> bool:
        return False

    def begin(self, turn: Turn, key: Key, name: str) -> None:
        raise AssertionError("no shard is ours")

    def config(self, group: Key) -> Config | None:
        return self.configs.get(group)

    def owned(self, group: Key) -> bool:
        return group in self.mine

    def serving(self, group: Key) -> bool:
        return self.mine.get(group, False)

    def blocked(self, group: Key) -> str | None:
        return self.obstacles.get(group)

    def suspects(self, broker: BrokerId) -> bool:
        return broker in self.suspected

    def position(self, group: Key) -> int:
        return self._next

    def append(self, turn: Turn, group: Key, writes: Sequence[Write], span: int, then: Then | None = None) -> None:
        assert self.serving(group), "nothing is appended to a group that may not be written"
        self._next += span
        self.operations.append((then or _nothing, group, list(writes)))

    def load_page(self, turn: Turn, group: Key, start: bytes, bytes_max: int, stop: bytes = b"") -> int:
        self.loads.append((group, start))
        return len(self.loads)

    def resolve(self, turn: Turn, group: Key, name: str, *, birth: bool = True) -> None:
        self.asked.append(("resolve", group))

    def wake(self, turn: Turn, group: Key) -> None:
        self.asked.append(("wake", group))

    def retire(self, turn: Turn, group: Key) -> None:
        self.asked.append(("retire", group))

    def remind(self, turn: Turn, group: Key, broker: BrokerId) -> None:
        self.asked.append(("remind", group))

    def forget(self, group: Key) -> None:
        self.asked.append(("forget", group))
        del self.configs[group]


def _nothing(turn: Turn) -> None:
    """Nobody waits for an operation."""


class FakeCourier:
    """Records what is said to whom."""

    def __init__(self) -> None:
        self.answers: list[tuple[bytes, Message]] = []
        self.posted: list[tuple[str, Postable]] = []
        self.full: set[int] = set()
        """Connections that take nothing more."""

    def answer(self, turn: Turn, origin: bytes, head: Message) -> None:
        self.answers.append((origin, head))

    def post(self, turn: Turn, mailbox: str, head: Postable, body: bytes = b"") -> None:
        self.posted.append((mailbox, head))

    def clogged(self, conn: int) -> bool:
        return conn in self.full

    def said(self) -> list[Message]:
        """What was answered since the last call."""
        answers, self.answers = self.answers, []
        return [head for _, head in answers]


class NoTopics:
    """Topics where there are none: no mailbox is an item or a subscription."""

    def gain(self, turn: Turn, group: Key, rows: Sequence[Row]) -> None: ...
    def lose(self, turn: Turn, group: Key) -> None: ...
    def hand_out(self, turn: Turn, group: Key) -> None: ...
    def publish(self, turn: Turn, conn: int, head: Deposit, body: bytes) -> None: ...
    def arrived(self, turn: Turn, group: Key, head: Register | AskInterest | SummaryHeld) -> None: ...
    def answered(self, turn: Turn, head: Message) -> None: ...
    def subscribe(self, turn: Turn, conn: int, head: Attach) -> None: ...
    def end(self, turn: Turn, conn: int, head: EndMailbox) -> None: ...
    def overflow(self, turn: Turn, group: Key) -> None: ...
    def on_client_gone(self, conn: int, identity: tuple[str, int] | None) -> None: ...
    def flush(self, turn: Turn) -> None: ...
    def on_deadline(self, turn: Turn) -> None: ...

    def withdrawn(self, turn: Turn, group: Key) -> bool:
        return True

    def next_deadline(self) -> Instant | None:
        return None

    def statistics(self) -> dict[str, int]:
        return {}


class FakeLinks:
    """Connections to brokers and of clients."""

    def __init__(self) -> None:
        self.me = ME
        self.sent: list[tuple[BrokerId, Message]] = []
        self.clients: dict[int, tuple[str, int]] = {}
        self.refused: list[tuple[int, Code, str]] = []
        self.full: set[int] = set()
        self.learned: list[Peer] = []

    def send(self, turn: Turn, to: BrokerId, head: Message, body: bytes = b"") -> None:
        self.sent.append((to, head))

    def take(self) -> list[tuple[BrokerId, Message]]:
        sent, self.sent = self.sent, []
        return sent

    def conn_of(self, broker: BrokerId) -> int | None:
        return None

    def learn(self, peer: Peer) -> None:
        self.learned.append(peer)

    def is_up(self, broker: BrokerId) -> bool:
        return True

    def pin(self, broker: BrokerId) -> None: ...

    def unpin(self, broker: BrokerId) -> None: ...

    def peer(self, broker: BrokerId) -> Peer | None:
        return next((peer for peer in (ME, OTHER, THIRD) if peer.id == broker), None)

    def round_trip(self, broker: BrokerId) -> Duration | None:
        return None

    def client(self, conn: int) -> tuple[str, int] | None:
        return self.clients.get(conn)

    def clogged(self, conn: int) -> bool:
        return conn in self.full

    def refuse(self, turn: Turn, conn: int, code: Code, detail: str) -> None:
        self.refused.append((conn, code, detail))


class FakeRing:
    """The ring: `hop` is the next broker for every key."""

    def __init__(self) -> None:
        self.active = True
        self.hop: BrokerId | None = None

    def next_hop(self, key: Key) -> BrokerId | None:
        return self.hop

    def replica_group(self, key: Key, count: int) -> list[Peer]:
        return [ME]


def heads(turn: Turn, conn: int) -> list[Message]:
    """What a turn put on a connection."""
    return [send.head for send in turn.effects.sends if send.conn == conn]


def at(now: Instant = 0) -> Turn:
    return Turn(now)
