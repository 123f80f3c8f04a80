"""Any words in any order: links and ring never raise for what a peer says, and keep their own rules."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from causeway.config import BrokerConfig
from causeway.core.events import ClientGone, PeerDown, PeerMessage, PeerUp
from causeway.core.links import Links
from causeway.core.machine import Turn
from causeway.core.messages import (
    PROTOCOL_VERSION,
    Config,
    Goodbye,
    Hail,
    Hello,
    JoinDenied,
    JoinReply,
    JoinRequest,
    Leave,
    Leaves,
    Message,
    Ping,
    Pong,
    RowReply,
    RowRequest,
    StatusRequest,
    Welcome,
)
from causeway.core.overlay import Overlay
from causeway.types import MILLISECOND, SECOND, Peer, key_of

NAMES = ("me", "ash", "beech", "cedar", "")
PEERS = st.builds(
    lambda name, store, cut: Peer(key_of(name)[: 16 - cut], name, name or "x", 7000, store),
    st.sampled_from(NAMES),
    st.integers(1, 2),
    st.sampled_from([0, 0, 0, 0, 1]),
)
MANY = st.lists(PEERS, max_size=4).map(tuple)
SMALL = st.integers(-1, 3)
ROOTS = st.none() | st.builds(lambda epoch: Config("root", epoch, key_of("ash"), ()), st.integers(0, 3))
CLUSTERS = st.sampled_from(["", "red", "blue"])
VERSIONS = st.sampled_from([PROTOCOL_VERSION, PROTOCOL_VERSION, PROTOCOL_VERSION, 0])
WORDS: st.SearchStrategy[Message] = st.one_of(
    st.builds(Hello, VERSIONS, st.sampled_from(NAMES), SMALL, st.none() | PEERS, CLUSTERS, ROOTS),
    st.builds(Welcome, VERSIONS, PEERS, SMALL, CLUSTERS, ROOTS),
    st.builds(Goodbye, st.integers(0, 1), st.just("x" * 1000)),
    st.builds(Ping, SMALL, SMALL, st.booleans()),
    st.builds(Pong, SMALL, ROOTS),
    st.builds(JoinRequest, PEERS, SMALL, st.integers(-1, 70), MANY, MANY),
    st.builds(JoinReply, SMALL, CLUSTERS, MANY, MANY, MANY, MANY),
    st.builds(JoinDenied, SMALL),
    st.builds(Leaves, st.booleans(), st.booleans(), MANY, MANY, SMALL),
    st.builds(Hail, st.booleans(), st.booleans()),
    st.builds(Leave, MANY),
    st.builds(RowRequest, st.integers(-1, 40)),
    st.builds(RowReply, SMALL, MANY),
    st.builds(StatusRequest, SMALL),
)
STIMULI = st.one_of(
    st.tuples(st.just("open"), st.just(0)),
    st.tuples(st.just("opened"), st.integers(0, 9)),
    st.tuples(st.just("closed"), st.integers(0, 9)),
    st.tuples(st.just("word"), st.tuples(st.integers(0, 9), WORDS)),
    st.tuples(st.just("word"), st.tuples(st.integers(0, 9), WORDS)),
    st.tuples(st.just("word"), st.tuples(st.integers(0, 9), WORDS)),
    st.tuples(st.just("greet"), st.sampled_from(["ash", "beech", "cedar"])),
    st.tuples(st.just("time"), st.sampled_from([MILLISECOND, SECOND // 4, 2 * SECOND, 40 * SECOND])),
    st.tuples(st.just("leave"), st.just(0)),
)


class Alone:
    """Links and ring of one broker; the rest of the world is whatever the test says."""

    def __init__(self, *, founder: bool) -> None:
        config = BrokerConfig(name="me", host="me", port=7000, founder=founder, seeds=(("ash", 7000),))
        me = Peer(key_of("me"), "me", "me", 7000, 1)
        self.links = Links(config, me, 1, random.Random(1))
        self.overlay = Overlay(config, self.links, random.Random(2))
        self.now = 1000 * SECOND
        self.dialled: list[int] = []
        self.inbound: list[int] = []
        self.closed: dict[int, None] = {}
        self.up: dict[bytes, None] = {}
        self.clients: dict[int, None] = {}

    def conns(self) -> list[int]:
        return [conn for conn in (*self.dialled, *self.inbound) if conn not in self.closed]

    def turn(self, action: Any) -> None:
        turn = Turn(self.now)
        action(turn)
        hops = 0
        while turn.inbox:
            hops += 1
            assert hops < 1000
            event = turn.inbox.popleft()
            if isinstance(event, PeerUp):
                assert event.peer.id not in self.up, "up is told once"
                self.up[event.peer.id] = None
                self.overlay.on_peer_up(turn, event.peer)
            elif isinstance(event, PeerDown):
                self.up.pop(event.peer.id, None)
                self.overlay.on_peer_down(turn, event.peer)
                assert self.overlay.next_hop(event.peer.id) != event.peer.id
            elif isinstance(event, PeerMessage):
                assert event.peer.id in self.up
                self.overlay.on_message(turn, event.peer, event.head, event.body)
            elif isinstance(event, ClientGone):
                del self.clients[event.conn]
        for conn in self.links.clients():
            self.clients[conn] = None
        effects = turn.effects
        self.dialled += [dial.conn for dial in effects.dials]
        for send in effects.sends:
            assert send.conn not in self.closed, "nothing is sent on a closed connection"
        for close in effects.closes:
            assert close.conn not in self.closed, "a connection is closed once"
            self.closed[close.conn] = None

    def feel(self, what: str, detail: Any) -> None:
        conns = self.conns()
        conn = conns[detail % len(conns)] if conns and isinstance(detail, int) else 0
        if what == "open":
            self.inbound.append(2 * len(self.inbound) + 2)
            self.turn(lambda turn: self.links.on_opened(turn, self.inbound[-1]))
        elif what == "opened" and conn % 2 == 1:
            self.turn(lambda turn: self.links.on_opened(turn, conn))
        elif what == "closed" and conn:
            self.closed[conn] = None
            self.turn(lambda turn: self.links.on_closed(turn, conn, "reset"))
        elif what == "word" and conns:
            number, word = detail
            at = conns[number % len(conns)]
            self.turn(lambda turn: self.links.on_received(turn, at, word, b""))
        elif what == "greet":
            self.feel("open", 0)
            peer, at = Peer(key_of(detail), detail, detail, 7000, 1), self.inbound[-1]
            hello = Hello(PROTOCOL_VERSION, detail, 1, peer, self.links.cluster)
            self.turn(lambda turn: self.links.on_received(turn, at, hello, b""))
        elif what == "time":
            self.pass_time(detail)
        elif what == "leave":
            self.turn(self.overlay.leave)

    def pass_time(self, duration: int) -> None:
        stop = self.now + duration
        for _ in range(2000):
            due = [at for at in (self.links.next_deadline(), self.overlay.next_deadline()) if at is not None]
            if not due or min(due) > stop:
                break
            self.now = max(self.now, min(due))
            for part in (self.links, self.overlay):
                at = part.next_deadline()
                if at is not None and at <= self.now:
                    self.turn(part.on_deadline)
        else:
            raise AssertionError("deadlines without end")
        self.now = stop


@given(stimuli=st.lists(STIMULI, max_size=60), founder=st.booleans())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_words_in_any_order_break_a_broker(stimuli: list[tuple[str, Any]], founder: bool) -> None:
    alone = Alone(founder=founder)
    alone.turn(lambda turn: alone.overlay.start(turn, [], ""))
    for what, detail in stimuli:
        alone.feel(what, detail)
        assert alone.links.me.id not in {peer.id for peer in alone.overlay.leaf_set()}
        assert {peer.id for peer in alone.overlay.leaf_set()} <= alone.up.keys(), "who is not up is no leaf"
        assert all(len(peer.id) == 16 for peer in alone.overlay.known())
