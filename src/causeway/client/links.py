"""A client's connections: finding a broker that takes us, greeting, staying alive, and finding another one.

Owns: dialling, Hello/Welcome/Goodbye, Ping/Pong, which link is home. Does not know what travels on a link. One link
per broker is shared by everything that needs that broker. Stimuli: connections opening, closing and greeting us, and
time.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import islice

from causeway.client.settings import Address, SessionConfig
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.effects import Close, Dial
from causeway.core.machine import Turn
from causeway.core.messages import PROTOCOL_VERSION, Goodbye, Hello, Message, Ping, Pong, Welcome
from causeway.errors import CausewayError, Code, Refused
from causeway.limits import ADDRESSES_LEARNED_MAX, REFUGES_MAX
from causeway.types import BrokerId, Duration, Instant, Peer

FATAL_CODES = frozenset({Code.BAD_VERSION, Code.BAD_FIELD})
"""A broker that says so would say so for ever, and so would every other one."""


class Uplink:
    """One connection to one broker."""

    __slots__ = (
        "address",
        "clogged",
        "conn",
        "crowded",
        "greeted_in",
        "heard_at",
        "idle_since",
        "opened_at",
        "parting",
        "peer",
        "up",
    )

    def __init__(self, conn: int, address: Address, now: Instant) -> None:
        self.conn = conn
        self.address = address
        self.peer: Peer | None = None
        self.up = False
        self.clogged = False
        self.crowded = False
        """The broker has no room for us."""
        self.heard_at = now
        self.idle_since: Instant | None = None
        self.opened_at = now
        self.greeted_in: Duration = 0
        """From our Hello to the Welcome: a round trip with nothing else on the link."""
        self.parting = False
        """It was our home: kept only for what may still be said on it."""


class Uplinks:
    """All links of a session. `ups`, `downs` and `fatal` collect what happened for the session to pass on."""

    def __init__(self, config: SessionConfig, rng: random.Random, *, alarm: Alarm | None = None) -> None:
        self._config = config
        self._rng = rng
        self._hello: Hello | None = None
        self._seeds = list(config.addresses)
        rng.shuffle(self._seeds)
        self._learned: list[Address] = []
        self.peers: dict[BrokerId, Peer] = {}
        """The same as far as their ids are known, those named last first."""
        self.second: Uplink | None = None
        """Kept beside our home for critical topics (see `ways`)."""
        self._untried: list[Address] = []
        self._tried: dict[Address, None] = {}
        """In this round of attempts: two brokers that are full must not send us to and fro."""
        self._rounds = 0
        self._seeking: Uplink | None = None
        self._next_conn = 1
        self._nonce = 0
        self._by_conn: dict[int, Uplink] = {}
        self._by_address: dict[Address, Uplink] = {}
        self._by_broker: dict[BrokerId, Uplink] = {}
        self.deadlines: Deadlines[int] = Deadlines(alarm)
        """By connection; 0 is the next attempt to find a home."""
        self.home: Uplink | None = None
        self.ups: list[Uplink] = []
        self.downs: list[tuple[Uplink, str]] = []
        self.fatal: CausewayError | None = None
        self.last_trouble = "no broker was reached yet"

    # Asked by the session --------------------------------------------------------------------------------------
    def start(self, turn: Turn, incarnation: int) -> None:
        """Begin to look for a broker."""
        self._hello = Hello(PROTOCOL_VERSION, self._config.name, incarnation)
        self._untried = self.addresses()
        self.seek(turn)

    def find(self, conn: int) -> Uplink | None:
        """The link of a connection, None for one that is gone."""
        return self._by_conn.get(conn)

    def reach(self, turn: Turn, peer: Peer) -> Uplink:
        """The link to a broker, dialled now if there is none; it may not be up yet."""
        return self.known(peer) or self._dial(turn, (peer.host, peer.port))

    def known(self, peer: Peer) -> Uplink | None:
        """The link to a broker, up or not, if there is one."""
        return self._by_broker.get(peer.id) or self._by_address.get((peer.host, peer.port))

    def at(self, turn: Turn, address: Address) -> Uplink:
        """As `reach`, by address."""
        return self._by_address.get(address) or self._dial(turn, address)

    def all_up(self) -> list[Uplink]:
        """Every established link."""
        return [link for link in self._by_conn.values() if link.up]

    def addresses(self) -> list[Address]:
        """Every broker known, those of the URL first."""
        return list(dict.fromkeys((*self._seeds, *self._learned)))

    def brokers(self) -> list[Address]:
        """One address per broker as far as known: what brokers told us, or the URL before that."""
        return list(self._learned) or list(self._seeds)

    def break_off(self, turn: Turn, link: Uplink, reason: str) -> None:
        """Close a link that misbehaves; whatever used it goes elsewhere."""
        if link.conn in self._by_conn:
            turn.effects.closes.append(Close(link.conn, reason))
            self._drop(turn, link, reason)

    def release(self, turn: Turn, link: Uplink) -> None:
        """Close a link that was only looked at, unless it has become our home or our hope of one."""
        if link.conn in self._by_conn and link not in (self.home, self._seeking, self.second):
            trouble = self.last_trouble
            if link.up:
                turn.send(link.conn, Goodbye(0, "only looking"))
            self.break_off(turn, link, "only looking")
            self.last_trouble = trouble

    def move(self, link: Uplink) -> None:
        """Make an established link our home. The old one stays until nothing more can be said on it."""
        assert link.up and link is not self.home
        if self.home is not None:
            self.home.parting = True
        self._become_home(link)

    def parting(self) -> int:
        """Homes that we have left and still listen to."""
        return sum(link.parting for link in self._by_conn.values())

    def close_all(self, turn: Turn) -> None:
        """End every link; nothing is reported."""
        for link in self._by_conn.values():
            if link.up:
                turn.send(link.conn, Goodbye(0, "the application has left"))
            turn.effects.closes.append(Close(link.conn, "session closed"))
        self._by_conn.clear()
        self._by_address.clear()
        self._by_broker.clear()
        self.deadlines.clear()
        self.home = self._seeking = None

    def sweep(self, turn: Turn, used: dict[int, None], idle: int) -> None:
        """Close links that nothing has used for `idle`."""
        for link in list(self._by_conn.values()):
            if link in (self.home, self._seeking, self.second) or link.conn in used:
                link.idle_since = None
            elif link.idle_since is None:
                link.idle_since = turn.now
            elif link.parting or turn.now - link.idle_since >= idle:
                self.break_off(turn, link, "not needed any more")

    # What happened ---------------------------------------------------------------------------------------------
    def on_opened(self, turn: Turn, conn: int) -> None:
        """Say hello."""
        link = self._by_conn.get(conn)
        if link is not None and self._hello is not None:
            link.opened_at = turn.now
            turn.send(conn, self._hello)

    def on_closed(self, turn: Turn, conn: int, reason: str) -> None:
        """The connection is gone, or could not be made."""
        link = self._by_conn.get(conn)
        if link is not None:
            self._drop(turn, link, reason)

    def on_received(self, turn: Turn, link: Uplink, head: Message) -> bool:
        """Whether the frame was for us."""
        match head:
            case Ping():
                turn.send(link.conn, Pong(head.nonce))
            case Pong():
                pass
            case Welcome():
                self._on_welcome(turn, link, head)
            case Goodbye():
                self._on_goodbye(turn, link, head)
            case _:
                return False
        return True

    def on_deadlines(self, turn: Turn) -> None:
        """Fire what is due: a silent link, a greeting that did not come, the next attempt."""
        for conn in self.deadlines.pop_due(turn.now):
            if conn == 0:
                self._untried = self.addresses()
                self._tried.clear()
                self.seek(turn)
                continue
            link = self._by_conn.get(conn)
            if link is None:
                continue
            if not link.up:
                self.break_off(turn, link, "no broker's greeting in time; is it a broker's port?")
            elif turn.now - link.heard_at >= self._config.silence:
                self.break_off(turn, link, "silent")
            else:
                self._beat(turn, link)

    def _beat(self, turn: Turn, link: Uplink) -> None:
        quiet = turn.now - link.heard_at
        if quiet >= self._config.heartbeat:
            self._nonce += 1
            turn.send(link.conn, Ping(self._nonce))
            next_look = min(turn.now + self._config.heartbeat, link.heard_at + self._config.silence)
        else:
            next_look = link.heard_at + self._config.heartbeat
        self.deadlines.set(link.conn, next_look)

    def _on_welcome(self, turn: Turn, link: Uplink, welcome: Welcome) -> None:
        if link.up:
            return
        self.learn((welcome.peer, *welcome.others))
        if welcome.version != PROTOCOL_VERSION:
            detail = f"the broker speaks {welcome.version}, we speak {PROTOCOL_VERSION}"
            self._fail(Refused(Code.BAD_VERSION, detail))
            self.break_off(turn, link, detail)
            return
        if not welcome.ready:
            self.break_off(turn, link, f"broker {welcome.peer.name} is still joining")
            return
        link.up = True
        link.peer = welcome.peer
        link.greeted_in = turn.now - link.opened_at
        self._by_broker.setdefault(welcome.peer.id, link)
        self.deadlines.set(link.conn, turn.now + self._config.heartbeat)
        self.ups.append(link)
        if link is self._seeking:
            self._seeking = None
        if self.home is None:
            self._become_home(link)

    def _fail(self, error: CausewayError) -> None:
        """No broker takes us as we are; unless one does, and this is another one's opinion."""
        if self.home is None:
            self.fatal = error

    def _on_goodbye(self, turn: Turn, link: Uplink, goodbye: Goodbye) -> None:
        if goodbye.code in FATAL_CODES:
            self._fail(Refused(Code.of(goodbye.code), goodbye.detail))
        link.crowded = goodbye.code == Code.OVERLOADED
        if goodbye.others:
            # It has no room, and knows who has: those first, in an order of our own (others are refused there too).
            self.learn(goodbye.others)
            named = [(peer.host, peer.port) for peer in goodbye.others[:REFUGES_MAX]]
            named = [address for address in named if address not in self._tried]
            self._rng.shuffle(named)
            self._untried = list(dict.fromkeys((*named, *self._untried)))
        self.break_off(turn, link, f"the broker said goodbye: {goodbye.detail}")

    def learn(self, peers: Sequence[Peer]) -> None:
        """Brokers that somebody has named: where to turn when our home is lost."""
        newest = [(peer.host, peer.port) for peer in peers]
        self._learned = list(dict.fromkeys((*newest, *self._learned)))[:ADDRESSES_LEARNED_MAX]
        known = {**{peer.id: peer for peer in peers}, **self.peers, **{peer.id: peer for peer in peers}}
        self.peers = dict(islice(known.items(), ADDRESSES_LEARNED_MAX))

    # Finding a home --------------------------------------------------------------------------------------------
    def seek(self, turn: Turn) -> None:
        """Make sure there is a home, or that one is being looked for."""
        if self.home is not None or self._hello is None or self.fatal is not None:
            return
        established = self.all_up()
        if established:
            self._become_home(established[0])
            return
        if self._seeking is not None or 0 in self.deadlines:
            return
        if self._untried:
            address = self._untried.pop(0)
            self._tried[address] = None
            self._seeking = self.at(turn, address)
            return
        whole = min(self._config.retry_max, self._config.retry_min << min(self._rounds, 10))
        self._rounds += 1
        self.deadlines.set(0, turn.now + self._rng.randint(whole // 2, whole))

    def _become_home(self, link: Uplink) -> None:
        self.home = link
        link.parting = False
        self._untried = []
        self._tried.clear()
        self._rounds = 0
        self.deadlines.cancel(0)

    def _dial(self, turn: Turn, address: Address) -> Uplink:
        link = Uplink(self._next_conn, address, turn.now)
        self._next_conn += 2
        self._by_conn[link.conn] = link
        self._by_address[address] = link
        turn.effects.dials.append(Dial(link.conn, *address))
        self.deadlines.set(link.conn, turn.now + self._config.greeting)
        return link

    def _drop(self, turn: Turn, link: Uplink, reason: str) -> None:
        del self._by_conn[link.conn]
        if self._by_address.get(link.address) is link:
            del self._by_address[link.address]
        if link.peer is not None and self._by_broker.get(link.peer.id) is link:
            del self._by_broker[link.peer.id]
        self.deadlines.cancel(link.conn)
        self.last_trouble = f"{link.address[0]}:{link.address[1]}: {reason}"
        link.up = False
        self.downs.append((link, reason))
        if link is self.home:
            self.home = None
            # First another broker, at once; in an order of our own, so that not all clients of a lost broker meet.
            lost = (link.address, (link.peer.host, link.peer.port) if link.peer else link.address)
            self._untried = [address for address in self.addresses() if address not in lost]
            self._rng.shuffle(self._untried)
            self._untried = self._untried or [link.address]
        if link is self._seeking:
            self._seeking = None
        self.seek(turn)
