"""One broker's group protocol on a bench: the tests are its network, its disk and its clock.

What the broker sends is recorded, what it writes is in a MemoryStore at once but durable only when `durable` says so,
what it loads was read when it asked and arrives when `read` says so. Nothing here decides anything.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from causeway.config import BrokerConfig
from causeway.core.effects import Load, Persist
from causeway.core.events import Committed, InternalEvent, OwnershipGained, OwnershipLost, PeerMessage
from causeway.core.groups.groups import Groups
from causeway.core.groups.registry import ROOT
from causeway.core.machine import Turn
from causeway.core.messages import Adopted, Chosen, Config, Installed, Member, Message, Prepare, Promised, Replicate
from causeway.store.base import LOCAL, Delete, Page, Put, Row, Write
from causeway.store.memory import MemoryStore
from causeway.types import SECOND, BrokerId, Duration, Key, Peer, key_of

KEY = key_of("orders")
START = 1_000 * SECOND
ALL_BYTES = 1 << 40

Kind = TypeVar("Kind")


def broker(place: int, name: str) -> Peer:
    """Brokers stand right behind KEY on the ring, in the order of their names."""
    where = int.from_bytes(KEY, "big") + place
    return Peer(Key(where.to_bytes(16, "big")), name, "127.0.0.1", 7400 + place, 100 + place)


A, B, C, D, E = (broker(place, name) for place, name in enumerate("abcde", 1))


def config(
    *peers: Peer, epoch: int = 7, owner: Peer | None = None, incomplete: tuple[Peer, ...] = (), born: int = 7
) -> Config:
    members = tuple(Member(p, p.store) for p in peers)
    return Config("orders", epoch, (owner or peers[0]).id, members, tuple(p.id for p in incomplete), born)


def members_of(config: Config) -> list[str]:
    return [m.peer.name for m in config.members]


def incomplete_in(config: Config) -> list[str]:
    return [m.peer.name for m in config.members if m.peer.id in config.incomplete]


def put(key: bytes, value: bytes, seq: int = 1) -> Put:
    return Put(KEY, key, seq, value)


def encoded(items: Sequence[Any]) -> bytes:
    return msgspec.msgpack.encode(items)


def rows_in(body: bytes) -> dict[bytes, bytes]:
    """The rows of a Chunk or a Fetched."""
    return {row.key: row.value for row in msgspec.msgpack.decode(body, type=list[Row])}


class Sent(NamedTuple):
    to: BrokerId
    head: Message
    body: bytes


class FakeLinks:
    """Every link is up unless it is in `down`; connections are numbered by place."""

    def __init__(self, me: Peer) -> None:
        self.me = me
        self.sent: list[Sent] = []
        self.down: set[BrokerId] = set()
        self.known: dict[BrokerId, Peer] = {p.id: p for p in (A, B, C, D, E)}
        self.pinned: list[BrokerId] = []
        self.conns = {p.id: 2 * number for number, p in enumerate((A, B, C, D, E), 1)}

    def send(self, turn: Turn, to: BrokerId, head: Message, body: bytes = b"") -> None:
        self.sent.append(Sent(to, head, body))

    def conn_of(self, broker: BrokerId) -> int | None:
        return None if broker in self.down else self.conns[broker]

    def broker_on(self, conn: int) -> BrokerId:
        return next(broker for broker, number in self.conns.items() if number == conn)

    def learn(self, peer: Peer) -> None:
        self.known.setdefault(peer.id, peer)  # what the broker itself told us counts more

    def is_up(self, broker: BrokerId) -> bool:
        return broker not in self.down

    def pin(self, broker: BrokerId) -> None:
        self.pinned.append(broker)

    def unpin(self, broker: BrokerId) -> None:
        self.pinned.remove(broker)

    def peer(self, broker: BrokerId) -> Peer | None:
        return self.known.get(broker)

    def round_trip(self, broker: BrokerId) -> Duration | None:
        return None


class FakeRing:
    """Wants whatever the test put into `order`, for every key."""

    def __init__(self, order: Sequence[Peer]) -> None:
        self.active = True
        self.order = list(order)

    def next_hop(self, key: Key) -> BrokerId | None:
        return None

    def replica_group(self, key: Key, count: int) -> list[Peer]:
        return self.order[:count]


class Bench:
    """Feeds a broker's Groups; `sent` and `events` are what came out since the last `forget`."""

    def __init__(
        self, me: Peer = A, ring: Sequence[Peer] = (A, B, C), store: MemoryStore | None = None, **settings: Any
    ) -> None:
        self.me = me
        self.settings = settings
        self.links = FakeLinks(me)
        self.ring = FakeRing(ring)
        self.store = store or MemoryStore(lambda: me.store)
        self.store.open()
        self.broker_config = BrokerConfig(name=me.name, **settings)
        self.groups = Groups(self.broker_config, self.links, self.ring, random.Random(1))
        self.now = START
        self.events: list[InternalEvent] = []
        self.committed: list[int] = []
        """Operations that are on all members, since the last `forget`."""
        self._appended = 0
        self.persists: list[Persist] = []
        """Everything written since the last `forget`."""
        self.writing: list[Persist] = []
        self.reading: list[tuple[Load, Page]] = []
        self.damaged: dict[bytes, None] = {}
        """Keys of KEY's rows whose checksum fails until they are written again."""
        self.page_bytes = ALL_BYTES

    # Stimuli ---------------------------------------------------------------------------------------------------
    def turn(self, stimulus: Callable[[Turn], object]) -> object:
        turn = Turn(self.now)
        result = stimulus(turn)
        while turn.inbox:
            event = turn.inbox.popleft()
            if isinstance(event, PeerMessage):
                self.groups.on_message(turn, event.peer, event.head, event.body)
            elif isinstance(event, Committed):
                for then in event.thens:
                    then(turn)
            else:
                self.events.append(event)
                self._root_event(turn, event)
        self.groups.flush(turn)
        for persist in turn.effects.persists:
            self._write(persist)
        for load in turn.effects.loads:
            self.reading.append((load, self._scan(load)))
        return result

    def feed(self, peer: Peer, head: Message, body: bytes = b"") -> None:
        self.turn(lambda turn: self.groups.on_message(turn, peer, head, body))

    def replicate(self, owner: Peer, seq: int, *writes: Write, epoch: int = 7, token: int = 0) -> None:
        """An operation of an owner reaches us."""
        self.feed(owner, Replicate(((KEY, epoch, token or self.me.store, seq, 1),)), encoded([writes]))

    def append(self, *writes: Write) -> int:
        """An operation of ours; its number, which is in `committed` when it is on all members."""
        number = self._appended = self._appended + 1
        self.turn(lambda turn: self.groups.append(turn, KEY, writes, 1, lambda turn: self.committed.append(number)))
        return number

    def down(self, *peers: Peer) -> None:
        for peer in peers:
            self.links.down.add(peer.id)
            self.turn(lambda turn, peer=peer: self.groups.on_peer_down(turn, peer))

    def up(self, *peers: Peer) -> None:
        for peer in peers:
            self.links.down.discard(peer.id)
            self.turn(lambda turn, peer=peer: self.groups.on_peer_up(turn, peer))

    def want(self, *peers: Peer) -> None:
        """The ring changes its mind."""
        self.ring.order = list(peers)
        self.turn(self.groups.on_membership_changed)

    def pass_time(self, duration: Duration) -> None:
        end = self.now + duration
        while (due := self.groups.next_deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            self.turn(self.groups.on_deadline)
        self.now = end

    def durable(self) -> None:
        """Everything written so far is on the disk: what waited for it goes out."""
        while self.writing:
            persist = self.writing.pop(0)
            for send in persist.then:
                self.links.sent.append(Sent(self.links.broker_on(send.conn), send.head, send.body))
            if persist.token:
                self.turn(lambda turn, token=persist.token: self.groups.on_persisted(turn, token))

    def read(self) -> None:
        """The loads asked for so far arrive."""
        loads, self.reading = self.reading, []
        for load, page in loads:
            self.turn(lambda turn, load=load, page=page: self.groups.on_loaded(turn, load.token, page))

    def settle(self) -> None:
        while self.writing or self.reading:
            self.durable()
            self.read()

    # Where to begin --------------------------------------------------------------------------------------------
    def join(self, config: Config, base: int = -1) -> None:
        """Be a member of an epoch that another owns."""
        owner = next(m.peer for m in config.members if m.peer.id == config.owner)
        self.feed(owner, Chosen(KEY, config, base))
        self.settle()
        self.forget()

    def own(self, config: Config, *, seq: int = 1) -> None:
        """Own an epoch whose members have all installed it."""
        self.feed(B, Chosen(KEY, config))
        self.settle()
        for member in config.members:
            if member.peer.id != self.me.id:
                self.feed(member.peer, Installed(KEY, config.epoch, seq))
        self.forget()

    def elect(self, *others: Peer, seq: int) -> Config:
        """Our proposal (on its way) wins: the others promise from position `seq` and adopt."""
        self.durable()
        prepare = self.said(Prepare)[-1]
        epoch = prepare.config.epoch
        for peer in others:
            self.feed(peer, Promised(KEY, epoch + 1, prepare.ballot, epoch, seq))
        self.pass_time(SECOND // 10)
        self.durable()
        for peer in others:
            self.feed(peer, Adopted(KEY, epoch + 1, prepare.ballot))
        found = self.groups.config(KEY)
        assert found is not None
        return found

    def restarted(self) -> Bench:
        """The next life of the same broker on the same storage."""
        bench = Bench(self.me, self.ring.order, self.store, **self.settings)
        bench.now = self.now
        page = self.store.scan(LOCAL, b"", b"", ALL_BYTES)
        bench.turn(lambda turn: bench.groups.start(turn, page))
        return bench

    # What came out ---------------------------------------------------------------------------------------------
    def said(self, kind: type[Kind], to: Peer | None = None, **fields: object) -> list[Kind]:
        """Messages of a kind that went out, to that broker and with those fields."""
        return [
            sent.head
            for sent in self.links.sent
            if isinstance(sent.head, kind) and (to is None or sent.to == to.id) and _matches(sent.head, fields)
        ]

    def told(self, kind: type[Kind], **fields: object) -> list[Kind]:
        """Internal events of a kind."""
        return [event for event in self.events if isinstance(event, kind) and _matches(event, fields)]

    def body_of(self, kind: type[Message]) -> bytes:
        """The body of the last message of a kind."""
        return next(sent.body for sent in reversed(self.links.sent) if isinstance(sent.head, kind))

    def waiting(self, kind: type[Kind]) -> list[tuple[Kind, Sequence[Write]]]:
        """Messages of a kind that wait for the disk, each with the writes it waits for."""
        return [(send.head, p.writes) for p in self.writing for send in p.then if isinstance(send.head, kind)]

    def rows(self, group: Key = KEY) -> dict[bytes, bytes]:
        return {row.key: row.value for row in self.store.scan(group, b"", b"", ALL_BYTES).rows}

    def serving(self) -> bool:
        return self.groups.serving(KEY)

    def forget(self) -> None:
        self.links.sent.clear()
        self.events.clear()
        self.committed.clear()
        self.persists.clear()

    # Inside ----------------------------------------------------------------------------------------------------
    def _root_event(self, turn: Turn, event: InternalEvent) -> None:
        directory = self.groups.directory
        match event:
            case OwnershipGained(group=group) if group == ROOT:
                directory.on_ownership_gained(event)
            case OwnershipLost(group=group) if group == ROOT:
                directory.on_ownership_lost()
            case _:
                pass

    def _write(self, persist: Persist) -> None:
        for write in persist.writes:
            first = write.key if isinstance(write, Put) else write.start
            last = write.stop if isinstance(write, Delete) and write.stop else first + b"\0"
            for key in [k for k in self.damaged if write.group == KEY and first <= k < last]:
                del self.damaged[key]
        self.store.commit(persist.writes)
        self.persists.append(persist)
        self.writing.append(persist)

    def _scan(self, load: Load) -> Page:
        page = self.store.scan(load.group, load.start, load.stop, min(load.bytes_max, self.page_bytes))
        bad = [row.key for row in page.rows if load.group == KEY and row.key in self.damaged]
        return Page([row for row in page.rows if row.key not in bad], bad, page.next)


def _matches(found: object, fields: dict[str, object]) -> bool:
    return all(getattr(found, name) == value for name, value in fields.items())
