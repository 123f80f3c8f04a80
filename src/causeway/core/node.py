"""One broker: composes links, overlay, groups and mail, and routes every event to the part that owns it.

The only file that knows all parts. Stimuli: connections, the store, time (see `machine`). The life of a batch:
Received -> links -> outbox -> courier -> (another broker's courier ->) office -> groups -> office.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import chain, islice
from typing import get_args

import msgspec

from causeway.config import BrokerConfig
from causeway.core.agents.agents import BrokerAgents
from causeway.core.causal.causal import BrokerCausal
from causeway.core.custody import Custody
from causeway.core.deadlines import NEVER, Alarm
from causeway.core.effects import Effects, Load
from causeway.core.events import (
    ClientGone,
    ClientMessage,
    Clogged,
    Closed,
    Committed,
    Drained,
    DriverEvent,
    InternalEvent,
    Lagged,
    LeaveRequested,
    Loaded,
    Measured,
    MembershipChanged,
    Opened,
    OwnershipGained,
    OwnershipLost,
    OwnershipResumed,
    PageLoaded,
    PeerDown,
    PeerMessage,
    PeerUp,
    Persisted,
    Planned,
    Received,
    WayChanged,
)
from causeway.core.groups.groups import Groups
from causeway.core.groups.listing import page_of
from causeway.core.groups.registry import ROOT, ROOT_NAME
from causeway.core.links.links import Links
from causeway.core.machine import Turn
from causeway.core.mail.courier import NO_MAILBOX
from causeway.core.mail.desk import Desk
from causeway.core.mail.gauge import MailGauge
from causeway.core.mail.tracer import Tracer
from causeway.core.messages import (
    AgentMessage,
    CausalMessage,
    GroupMessage,
    Leave,
    MailMessage,
    Message,
    OverlayMessage,
    Salvage,
    StatusReply,
    StatusRequest,
    ToLandmark,
    TopicMessage,
    TransactionMessage,
)
from causeway.core.overlay.overlay import Overlay
from causeway.core.shards.shards import Shards
from causeway.core.topics.topics import BrokerTopics
from causeway.errors import Code
from causeway.limits import INTERNAL_HOPS_MAX, STATUS_ENTRIES_MAX
from causeway.store.base import LOCAL, Page, Put
from causeway.types import Instant, Peer

START_TOKEN = -1
_NO_DIRECTORY = "the directory's brokers cannot be reached"
_WHY_NOT_FOUND: dict[int, str] = {
    Code.CLUSTER_FULL: "mailbox: there is none of this name, and the cluster has as many as it may; use one that is",
    Code.NO_MAILBOX: NO_MAILBOX,
}
_DESK_MESSAGES = MailMessage | TransactionMessage | TopicMessage | CausalMessage | ToLandmark
_ME = b"n"
"""LOCAL row: what this broker knows of its cluster."""


class Remembered(msgspec.Struct, frozen=True, array_like=True):
    """What a broker needs to find its cluster again after a restart."""

    cluster: str
    peers: list[Peer]


class Node:
    """The broker machine."""

    def __init__(self, config: BrokerConfig, me: Peer, incarnation: int, rng: random.Random) -> None:
        self.config = config.check()
        self.me = me
        self.left = False
        self._started = False
        self._recovered = False
        self._leaving = False
        self._departing = False
        self._blank = False
        """Our store held nothing when we started: if we found a cluster, its directory begins with us."""
        self._page = Page([], [], None)
        self._early: list[DriverEvent] = []
        self._remembered = Remembered("", [])
        self._now: Instant = 0
        self._news = True
        """Something was heard from other brokers, or of our groups, since the last turn."""
        self._alarm = alarm = Alarm()
        self._links = Links(config, me, incarnation, rng, alarm=alarm)
        self._overlay = Overlay(config, self._links, rng, alarm=alarm)
        self._groups = Groups(config, self._links, self._overlay, rng, alarm=alarm)
        self._shards = shards = Shards(self._groups, config.shards)
        topics, self._causal = BrokerTopics(), BrokerCausal()
        self._agents = BrokerAgents(config, self._links, self._groups, rng=rng, alarm=alarm)
        self._desk = Desk(
            config,
            incarnation,
            self._links,
            self._overlay,
            shards,
            topics=topics,
            causal=self._causal,
            management=self._agents,
            alarm=alarm,
        )
        shards.open(self._desk)
        topics.open(config, self._desk, shards, self._links, alarm)
        self._causal.open(config, self._desk, self._groups, self._links, alarm)
        gauge = MailGauge(config.name, self._desk.office, self._desk.outbox, self._links.clogged)
        self._agents.open(self._desk.courier, topics.published, gauge)
        topics.name_domains(self._agents.domain_of)
        self._groups.place_by(self._agents.wanted)
        if config.lake:
            self._groups.trace_copies(Tracer(config.name).copied)
        self._custody = Custody(self._groups, shards, self._desk, self._causal, self._agents)
        self._timed = (self._links, self._overlay, self._groups, self._desk, self._agents)
        self._routes: dict[type[Message], Callable[[Turn, PeerMessage], None]] = {
            **dict.fromkeys(get_args(OverlayMessage), self._on_overlay_message),
            **dict.fromkeys(get_args(GroupMessage), self._on_group_message),
            **dict.fromkeys(get_args(_DESK_MESSAGES), self._desk.on_peer_message),
            **dict.fromkeys(get_args(AgentMessage), self._agents.on_peer_message),
        }
        """Whose a message of another broker is; those of the links never get here."""

    @property
    def refusal(self) -> str:
        """Why we are not seated in the domains of our configuration; empty when we are, or nobody has answered yet."""
        return self._causal.refusal

    @property
    def handled(self) -> int:
        """Messages so far, each once: from our clients, or from other brokers for mailboxes of ours."""
        return self._desk.outbox.messages + self._desk.office.messages

    # The one door ----------------------------------------------------------------------------------------------
    def handle(self, events: Sequence[DriverEvent], now: Instant) -> Effects:
        """Let `events` happen at `now`, fire what is due, say what is to be done."""
        if now < self._now:
            now = self._now
        self._now = now
        turn = Turn(now)
        if not self._started:
            self._started = True
            turn.effects.loads.append(Load(START_TOKEN, LOCAL, b"", b"", 1 << 40))
        inbox = turn.inbox
        for event in events:
            if self._recovered or isinstance(event, Loaded):
                self._on_event(turn, event)
                if inbox:
                    self._drain(turn)
            else:
                # Before our store has spoken we would take our own groups for strangers.
                self._early.append(event)
        if now >= self._alarm.at and self._recovered:
            self._news = True
            for part in self._timed:
                due = part.next_deadline()
                if due is not None and due <= now:
                    self._shards.flush(turn)
                    part.on_deadline(turn)
                    self._drain(turn)
            self._alarm.renew()
        self._finish(turn)
        return turn.effects

    def next_deadline(self) -> Instant | None:
        """When to be called again if nothing happens before."""
        if not self._recovered:
            return None if self._started else 0
        at = self._alarm.at
        return at if at != NEVER else None

    # Routing ---------------------------------------------------------------------------------------------------
    def _on_event(self, turn: Turn, event: DriverEvent) -> None:
        inbox = turn.inbox
        match event:
            case Received():
                for head, body in event.messages:
                    self._links.on_received(turn, event.conn, head, body)
                    if inbox:
                        self._on_internal(turn, inbox.popleft())
                        if inbox:
                            self._drain(turn)
            case Persisted():
                self._groups.on_persisted(turn, event.token)
            case Loaded():
                if event.token == START_TOKEN:
                    self._recover(turn, event.page)
                else:
                    self._groups.on_loaded(turn, event.token, event.page)
            case Opened():
                self._links.on_opened(turn, event.conn, event.remote)
            case Closed():
                self._links.on_closed(turn, event.conn, event.reason)
            case Clogged():
                self._links.on_clogged(event.conn)
            case Drained():
                self._links.on_drained(event.conn)
                self._desk.on_drained(event.conn)
            case Lagged():
                self._links.on_lagged(event.duration)
            case LeaveRequested():
                self._leaving = not self._departing
            case Measured():
                self._agents.on_fitness(turn, event)
            case Planned():
                self._agents.on_planned(turn, event)

    def _drain(self, turn: Turn) -> None:
        """Route internal events, in order, until none is left."""
        inbox = turn.inbox
        hops = 0
        while inbox:
            hops += 1
            assert hops < INTERNAL_HOPS_MAX, "internal events go round in circles"
            self._on_internal(turn, inbox.popleft())

    def _on_internal(self, turn: Turn, event: InternalEvent) -> None:
        if type(event) is ClientMessage:
            if type(event.head) is StatusRequest:
                report = msgspec.json.encode(self.statistics(event.head.after))
                turn.send(event.conn, StatusReply(event.head.token, event.head.after), report)
            elif type(event.head) is Salvage:
                self._shards.flush(turn)
                self._groups.salvage(turn, event.conn, event.head)
            else:
                self._desk.on_client_message(turn, event)
            return
        if type(event) is Committed:
            for then in event.thens:
                then(turn)
            return
        self._news = True
        match event:
            case PeerMessage():
                self._routes[type(event.head)](turn, event)
            case PeerUp():
                self._shards.flush(turn)
                self._overlay.on_peer_up(turn, event.peer)
                self._groups.on_peer_up(turn, event.peer)
                self._agents.on_link(turn, event.peer, up=True)
            case PeerDown():
                self._shards.flush(turn)
                self._overlay.on_peer_down(turn, event.peer)
                self._groups.on_peer_down(turn, event.peer)
                self._desk.on_ways_changed(turn)
                self._agents.on_link(turn, event.peer, up=False)
            case WayChanged():
                self._desk.on_ways_changed(turn)
            case ClientGone():
                self._desk.on_client_gone(turn, event.conn)
            case MembershipChanged():
                self._shards.flush(turn)
                self._links.ready = self._overlay.active
                self._overlay.on_membership_changed(turn)
                self._groups.on_membership_changed(turn)
                self._remember(turn)
                if self._blank and self._overlay.founded:
                    self._blank = False
                    self._groups.found(turn)
                if self._overlay.active:
                    self._causal.on_joined(turn)
                    self._agents.on_joined(turn)
            case OwnershipGained():
                self._custody.gained(turn, event)
            case OwnershipResumed():
                self._custody.resumed(turn, event)
            case OwnershipLost():
                self._custody.lost(turn, event)
            case PageLoaded():
                self._shards.page_loaded(turn, event)
            case _:
                pass

    def _on_overlay_message(self, turn: Turn, event: PeerMessage) -> None:
        self._overlay.on_message(turn, event.peer, event.head, event.body)
        if isinstance(event.head, Leave):
            self._groups.on_parting(turn, event.peer)

    def _on_group_message(self, turn: Turn, event: PeerMessage) -> None:
        self._shards.flush(turn)
        self._groups.on_message(turn, event.peer, event.head, event.body)
        self._desk.on_group_hearsay(turn, event)

    def _finish(self, turn: Turn) -> None:
        """What is done once per turn, after everything else."""
        if not self._recovered:
            return
        directory = self._groups.directory
        # Once per turn: an answer may lead to the same question again, which then waits for the courier's timer.
        if directory.answers:
            answers, directory.answers = directory.answers, []
            for key, config, code in answers:
                if config is not None:
                    self._desk.courier.release(turn, key)
                else:
                    self._desk.courier.refuse(turn, key, Code.of(code), _WHY_NOT_FOUND.get(code, _NO_DIRECTORY))
                self._drain(turn)
        self._desk.flush(turn)
        if turn.inbox:
            self._drain(turn)
        if self._news:
            self._news = False
            self._share_root()
        self._shards.flush(turn)
        if self._leaving and self._overlay.active:
            self._leave(turn)  # not before we are in the ring: only then do we know who takes what we hold
            self._drain(turn)
        self._groups.flush(turn)
        self._links.enclose(turn)
        if self._departing and self._groups.empty and not (self._agents.lingering or self._causal.lingering):
            self.left = True

    def _share_root(self) -> None:
        """Where the directory is: what the links heard and what the groups know, whichever is later."""
        heard, known = self._links.root, self._groups.directory.root
        if heard is not None and (known is None or heard.epoch > known.epoch):
            self._groups.learn(ROOT, heard)
        elif known is not None and known is not heard:
            self._links.learn_root(known)

    def _leave(self, turn: Turn) -> None:
        """Out of the ring at once, so that nobody wants us any more; out of our groups when others hold them."""
        heirs = self._overlay.leaf_set()
        if not heirs:
            # Nobody to hand over to: what we have stays on our storage. If others share it, wait until they are back.
            self.left = self._groups.alone
            return
        self._leaving = False
        self._departing = True
        self._agents.leave(turn)
        self._causal.leave(turn)
        self._groups.leave(turn, heirs)
        self._overlay.leave(turn)

    # Beginning -------------------------------------------------------------------------------------------------
    def _recover(self, turn: Turn, page: Page) -> None:
        """Our store has spoken, page by page: take up our groups, and find the others."""
        self._page.rows.extend(page.rows)
        self._page.corrupt.extend(page.corrupt)
        if page.next is not None:
            turn.effects.loads.append(Load(START_TOKEN, LOCAL, page.next, b"", 1 << 40))
            return
        page = self._page
        self._recovered = True
        for row in page.rows:
            if row.key == _ME:
                self._remembered = msgspec.msgpack.decode(row.value, type=Remembered)
        known = self._remembered
        self._blank = not page.rows and not page.corrupt
        self._groups.start(turn, page)
        self._drain(turn)
        # Without that row (it may be damaged) our groups still name brokers of the cluster.
        self._overlay.start(turn, known.peers or self._groups.fellows(), known.cluster)
        self._drain(turn)
        early, self._early = self._early, []
        for event in early:
            self._on_event(turn, event)
            self._drain(turn)

    def _remember(self, turn: Turn) -> None:
        """Keep the way back to the cluster."""
        if not self._overlay.cluster:
            return
        now = Remembered(self._overlay.cluster, self._overlay.known())
        if now != self._remembered:
            self._remembered = now
            self._groups.keep(turn, Put(LOCAL, _ME, 0, msgspec.msgpack.encode(now)))

    def statistics(self, after: str = "") -> dict[str, object]:
        """What is going on, as plain data for people and programs; mailboxes from the name after `after` on."""
        names = page_of(chain(self._groups.names(), self._desk.office.names()), after)
        groups = self._groups.described(names.shown if after else {ROOT_NAME: None, **names.shown})
        peers = sorted(p.name for p in self._links.up())
        return {
            "broker": self.config.name,
            "id": self.me.id.hex(),
            "host": self.me.host,
            "port": self.me.port,
            "active": self._overlay.active,
            "cluster": self._overlay.cluster,
            "durability": self.config.durability,
            "connections": len(self._links.clients()),
            "connections_max": self.config.connections_max,
            "peers": peers[:STATUS_ENTRIES_MAX],
            "peers_truncated": max(0, len(peers) - STATUS_ENTRIES_MAX),
            "bypassed": dict(islice(sorted(self._links.bypassed().items()), STATUS_ENTRIES_MAX)),
            "leaves": len(self._overlay.leaf_set()),
            "root": self._groups.directory.described(),
            "agents": self._agents.statistics(self._now),
            "groups": groups,
            "groups_truncated": names.left_out,
            "next": names.next,
            **self._desk.statistics(names.shown),
        }
