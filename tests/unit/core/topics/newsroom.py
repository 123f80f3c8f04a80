"""A desk with the real topics, its clock, and the rows of what it owns, for tests."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from causeway.config import BrokerConfig
from causeway.core.agents.agents import BrokerAgents
from causeway.core.causal.causal import BrokerCausal
from causeway.core.deadlines import Alarm
from causeway.core.events import ClientMessage, OwnershipGained, OwnershipLost, PeerMessage
from causeway.core.machine import Turn
from causeway.core.mail.desk import Desk
from causeway.core.messages import (
    Accepted,
    AskInterest,
    Attach,
    Deposit,
    Interest,
    Message,
    Published,
    Register,
    Registered,
    Routed,
    Summary,
)
from causeway.core.topics.topics import BrokerTopics
from causeway.store.base import Put, Row
from causeway.topics import item_of
from causeway.types import SECOND, BrokerId, Duration, Flag, Key, Peer, ServiceClass, key_of
from causeway.wire.body import join
from tests.unit.core.mail.neighbours import ME, OTHER, FakeGroups, FakeLinks, FakeRing, config_of

CONN = 2
APP = ("app", 9)
TOPIC = "roads/a1/speed"
ITEM = item_of(TOPIC)
WATCH = "sub/app/watch"
AWAY = "sub/app/away"
"""A subscription whose mailbox another broker owns."""
RELIABLE, RETAIN = int(Flag.RELIABLE), int(Flag.RETAIN)
EXPRESS, RECOVERABLE, ORDERED = (
    int(kind) for kind in (ServiceClass.EXPRESS, ServiceClass.RECOVERABLE, ServiceClass.TRANSACTIONAL)
)

Kind = TypeVar("Kind")


class Links(FakeLinks):
    """Links that remember bodies as well."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies: list[bytes] = []

    def send(self, turn: Turn, to: BrokerId, head: Message, body: bytes = b"") -> None:
        self.sent.append((to, head.head if isinstance(head, Routed) else head))
        self.bodies.append(body)


def publication(first: int = 1, count: int = 1, *, topic: str = TOPIC, **fields: object) -> Deposit:
    """A batch as our client publishes it."""
    source, incarnation = APP
    head = Deposit(
        source, incarnation, item_of(topic), ORDERED, first, count, first - 1, RELIABLE, 4, 0, b"", Published(topic)
    )
    return msgspec.structs.replace(head, **fields)


def bodies(count: int = 1, size: int = 8) -> bytes:
    return join([bytes(size)] * count)


class Newsroom:
    """A broker's desk; what other brokers are told is in `sent`."""

    def __init__(self, **settings: object) -> None:
        self.now = 100 * SECOND
        self.links, self.ring, self.groups = Links(), FakeRing(), FakeGroups()
        self.links.clients[CONN] = APP
        config = BrokerConfig(name="b1", **settings)  # type: ignore[arg-type]
        self.topics, self.causal, alarm = BrokerTopics(), BrokerCausal(), Alarm()
        agents = BrokerAgents(config, self.links, self.groups, rng=random.Random(1), alarm=alarm)
        parts = {"topics": self.topics, "causal": self.causal, "management": agents}
        self.desk = Desk(config, 1, self.links, self.ring, self.groups, **parts, alarm=alarm)  # type: ignore[arg-type]
        self.topics.open(config, self.desk, self.groups, self.links, alarm)
        self.causal.open(config, self.desk, self.groups, self.links, alarm)
        self.rows: dict[Key, dict[bytes, Row]] = {}
        """What all copies have."""
        self.said: list[tuple[int, Message]] = []
        """To clients, since the last `heard`."""

    # Ownership -------------------------------------------------------------------------------------------------
    def own(self, name: str, *, epoch: int = 3, rows: Sequence[Row] = ()) -> Key:
        """We own a mailbox; in epoch 3 it was just born."""
        key = key_of(name)
        config = msgspec.structs.replace(config_of(name, ME, OTHER), epoch=epoch)
        self.groups.configs[key] = config
        self.groups.mine[key] = True
        self.rows.setdefault(key, {}).update({row.key: row for row in rows})
        turn = Turn(self.now)
        gained = sorted(self.rows[key].values(), key=lambda row: row.key)
        self.desk.on_ownership_gained(turn, OwnershipGained(key, config, gained, None))
        self.end(turn)
        return key

    def lose(self, name: str) -> None:
        """Another broker owns it; operations on their way are lost."""
        key = key_of(name)
        del self.groups.mine[key]
        self.groups.operations = [entry for entry in self.groups.operations if entry[1] != key]
        self.groups.know(name, OTHER)
        turn = Turn(self.now)
        self.desk.on_ownership_lost(turn, OwnershipLost(key, config_of(name, OTHER)))
        self.end(turn)

    def take_over(self, name: str) -> None:
        """As if another broker with nothing but the rows took it up."""
        epoch = self.groups.configs[key_of(name)].epoch
        self.lose(name)
        self.own(name, epoch=epoch + 1)

    # What happens ----------------------------------------------------------------------------------------------
    def client(self, head: Message, body: bytes = b"", *, conn: int = CONN) -> None:
        turn = Turn(self.now)
        self.desk.on_client_message(turn, ClientMessage(conn, head, body))
        self.end(turn)

    def broker(self, head: Message, body: bytes = b"", *, peer: Peer = OTHER) -> None:
        turn = Turn(self.now)
        self.desk.on_peer_message(turn, PeerMessage(peer, head, body))
        self.end(turn)

    def commit(self) -> None:
        """All operations on their way arrive, and those that follow from them."""
        while self.groups.operations:
            operations, self.groups.operations = self.groups.operations, []
            for then, group, writes in operations:
                rows = self.rows.setdefault(group, {})
                for write in writes:
                    if isinstance(write, Put):
                        rows[write.key] = Row(write.key, write.seq, write.value)
                    else:
                        stop = write.stop or write.start + b"\x00"
                        for key in [key for key in rows if write.start <= key < stop]:
                            del rows[key]
                turn = Turn(self.now)
                then(turn)
                self.end(turn)

    def pass_time(self, duration: Duration) -> None:
        """Let timers go off on the way."""
        stop = self.now + duration
        while (due := self.desk.next_deadline()) is not None and due <= stop:
            self.now = max(self.now, due)
            turn = Turn(self.now)
            self.desk.on_deadline(turn)
            self.end(turn)
        self.now = stop

    def end(self, turn: Turn) -> None:
        while turn.inbox:
            event = turn.inbox.popleft()
            if isinstance(event, ClientMessage):
                self.desk.on_client_message(turn, event)
            elif isinstance(event, PeerMessage):
                self.desk.on_peer_message(turn, event)
        self.desk.flush(turn)
        self.said += [(send.conn, send.head) for send in turn.effects.sends]

    # What was said ---------------------------------------------------------------------------------------------
    def heard(self, kind: type[Kind], conn: int = CONN) -> list[Kind]:
        """What a client was told of this kind."""
        found: list[Kind] = [head for to, head in self.said if to == conn and isinstance(head, kind)]
        self.said = [entry for entry in self.said if not (entry[0] == conn and isinstance(entry[1], kind))]
        return found

    def sent(self, kind: type[Kind]) -> list[Kind]:
        """What other brokers were told of this kind."""
        found: list[Kind] = [head for _, head in self.links.sent if isinstance(head, kind)]
        self.links.sent = [entry for entry in self.links.sent if not isinstance(entry[1], kind)]
        return found

    # In short --------------------------------------------------------------------------------------------------
    def register(
        self, interest: Interest | str | None = "roads/#", mailbox: str = AWAY, version: int = 1, *, item: str = ITEM
    ) -> list[Registered]:
        """A subscription of another broker registers with an item of ours; what it is answered."""
        self.groups.know(mailbox, OTHER)
        wanted = Interest(interest) if isinstance(interest, str) else interest
        self.broker(Register(item, mailbox, version, wanted, OTHER.id))
        self.commit()
        return self.sent(Registered)

    def publish(self, first: int = 1, count: int = 1, body: bytes | None = None, **fields: object) -> None:
        """A batch arrives at an item of ours from another broker, and is on all copies."""
        head = publication(first, count, origin=OTHER.id)
        self.broker(msgspec.structs.replace(head, **fields), bodies(count) if body is None else body)
        self.commit()

    def subscribe(self, interest: Interest | str = "roads/#", mailbox: str = WATCH, consumer: int = 1) -> None:
        wanted = Interest(interest) if isinstance(interest, str) else interest
        self.client(Attach(mailbox, consumer, 100, interest=wanted))

    def accept(self, *forwards: Deposit) -> None:
        """A subscription has what was forwarded to it."""
        for head in forwards:
            last = head.first + head.count - 1
            self.broker(Accepted(head.source, head.incarnation, head.dest, head.stream, head.first, last))
        self.commit()

    def ask(self, peer: Peer = OTHER, asked: int = 1) -> list[Summary]:
        """A source broker asks an item of ours for its interest; what it hears."""
        self.broker(AskInterest(ITEM, peer.id, asked), peer=peer)
        self.commit()
        return self.sent(Summary)

    def kept(self, name: str, kind: bytes) -> list[bytes]:
        """Keys of this kind that are on all copies of a mailbox."""
        return [key for key in self.rows[key_of(name)] if key[:1] == kind]

    def answer_all(self, registers: Sequence[Register], number: int = 7, history: str = "") -> None:
        """The items say yes."""
        for head in registers:
            self.broker(Registered(head.item, head.mailbox, head.version, number, history))
