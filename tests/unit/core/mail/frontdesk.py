"""A desk with one client, for tests."""

from __future__ import annotations

import random

from causeway.config import BrokerConfig
from causeway.core.agents.agents import BrokerAgents
from causeway.core.causal.causal import BrokerCausal
from causeway.core.deadlines import Alarm
from causeway.core.events import ClientMessage, OwnershipGained, PeerMessage
from causeway.core.machine import Turn
from causeway.core.mail.desk import Desk
from causeway.core.messages import Deposit, Message
from causeway.core.topics.topics import BrokerTopics
from causeway.types import Key, Peer, key_of
from tests.unit.core.mail.neighbours import ME, OTHER, FakeGroups, FakeLinks, FakeRing, at, config_of, heads
from tests.unit.core.mail.postroom import NAME, deposit

KEY = key_of(NAME)
CONN = 2
APP = ("app", 9)


def ours(first: int, **fields: object) -> Deposit:
    """A batch as our client says it."""
    return deposit(first, source=APP[0], incarnation=APP[1], origin=b"", **fields)


class Stage:
    """A desk whose client `app` is on connection 2."""

    def __init__(self, **settings: object) -> None:
        self.links, self.ring, self.groups = FakeLinks(), FakeRing(), FakeGroups()
        self.links.clients[CONN] = APP
        config = BrokerConfig(name="b1", **settings)  # type: ignore[arg-type]
        topics, causal, alarm = BrokerTopics(), BrokerCausal(), Alarm()
        agents = BrokerAgents(config, self.links, self.groups, rng=random.Random(1), alarm=alarm)
        parts = {"topics": topics, "causal": causal, "management": agents}
        self.desk = Desk(config, 1, self.links, self.ring, self.groups, **parts, alarm=alarm)  # type: ignore[arg-type]
        topics.open(config, self.desk, self.groups, self.links, alarm)
        causal.open(config, self.desk, self.groups, self.links, alarm)

    def own(self, name: str, *, serving: bool = True) -> Key:
        key = self.groups.own(name)
        self.desk.on_ownership_gained(at(), OwnershipGained(key, config_of(name, ME, OTHER), [], None))
        self.groups.mine[key] = serving
        return key

    def hears(self, head: Message, body: bytes = b"", *, conn: int = CONN) -> list[Message]:
        """A client says something; what it is told in that turn."""
        turn = at()
        self.desk.on_client_message(turn, ClientMessage(conn, head, body))
        self.desk.flush(turn)
        return heads(turn, conn)

    def hears_broker(self, head: Message, body: bytes = b"", *, peer: Peer = OTHER) -> Turn:
        turn = at()
        self.desk.on_peer_message(turn, PeerMessage(peer, head, body))
        self.desk.flush(turn)
        return turn

    def commit(self) -> Turn:
        """All operations on their way arrive, and those that follow from them."""
        turn = at()
        while self.groups.operations:
            operations, self.groups.operations = self.groups.operations, []
            for then, _, _ in operations:
                then(turn)
            self.desk.flush(turn)
        return turn
