"""Who is there: what a broker knows of the others, how it makes sure, and how it closes the gaps they leave.

Owns: the tables, candidates under examination ("probes"), brokers that are joining, missing or not believed in.
Must not know: how a broker gets in (see `entrance`), periodic work (see `upkeep`).

A broker enters a table only when we heard from it directly; what others say of it is only a reason to ask it.
"""

from __future__ import annotations

import enum
import random
from typing import Final, Protocol

from causeway.config import BrokerConfig
from causeway.core import ports
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.events import MembershipChanged
from causeway.core.machine import Turn
from causeway.core.messages import Hail, Leaves, RowRequest
from causeway.core.overlay.leaves import LeafSet
from causeway.core.overlay.missing import Missing
from causeway.core.overlay.tables import COLUMNS, Tables
from causeway.limits import FAILURES_REMEMBERED_MAX, HAILS_REMEMBERED_MAX, JOINING_MAX, UNMEASURED_MAX
from causeway.types import KEY_BYTES, MILLISECOND, SECOND, BrokerId, Duration, Instant, Peer

PROBE_TRIES_MAX: Final = 5
EXCHANGE_SOON: Final[Duration] = 100 * MILLISECOND
HAIL_AGAIN: Final[Duration] = 10 * SECOND
MEASURED_PER_ROW: Final = 2
"""Brokers hailed per row told, only to learn whether they are nearer than those we have."""

Timer = tuple[str, bytes]
"""("probe", broker), or one of those below."""
JOIN: Final[Timer] = ("join", b"")
ALONE: Final[Timer] = ("alone", b"")
EXCHANGE: Final[Timer] = ("exchange", b"")
EXCHANGE_EVERY: Final[Duration] = 5 * SECOND
"""So soon after a change leaf sets are compared, and so often while they keep changing."""
SOON: Final[Timer] = ("soon", b"")
MAINTAIN: Final[Timer] = ("maintain", b"")
LOOK: Final[Timer] = ("look", b"")
PART: Final[Timer] = ("part", b"")
AROUND: Final[Timer] = ("around", b"")


class RingLinks(ports.Links, Protocol):
    """What the ring needs of the links."""

    @property
    def cluster(self) -> str:
        """The cluster we belong to."""

    def set_cluster(self, turn: Turn, cluster: str) -> None:
        """We belong to this cluster now."""

    def is_member(self, broker: BrokerId) -> bool:
        """Whether a broker we are connected to said that it belongs to a cluster."""

    def places(self) -> dict[BrokerId, tuple[str, ...]]:
        """Brokers that hold other seats than their own, or none, with the seats."""

    def dial_address(self, turn: Turn, host: str, port: int) -> None:
        """Dial a broker of which only the address is known."""


class Phase(enum.IntEnum):
    """Where a broker is in its membership."""

    IDLE = 0
    SEEKING = 1
    PROBING = 2
    ACTIVE = 3
    LEFT = 4


class _Probe:
    __slots__ = ("hearsay", "peer", "token", "tries")

    def __init__(self, peer: Peer, token: int, *, hearsay: bool) -> None:
        self.peer = peer
        self.token = token
        self.hearsay = hearsay
        """We heard of it from somebody else: then others may not know it either."""
        self.tries = 0


class Roster:
    """The others, as seen from one broker."""

    def __init__(
        self, config: BrokerConfig, links: RingLinks, rng: random.Random, *, alarm: Alarm | None = None
    ) -> None:
        self.config = config
        self.links = links
        self.rng = rng
        self.me = links.me
        self.phase = Phase.IDLE
        self.tables = Tables(links.me, links.round_trip)
        self.timers: Deadlines[Timer] = Deadlines(alarm)
        self.joining: dict[BrokerId, Peer] = {}
        """Brokers that told us of their join: they are handed nothing, but others are told of them."""
        self.missing = Missing(rng)
        self.returned: list[Peer] = []
        """Missing brokers heard of in this turn (or, while we are alone, anybody), perhaps with a ring of their own."""
        self._probes: dict[BrokerId, _Probe] = {}
        self._token = 0
        self._wanted = LeafSet(links.me.id)
        """The leaf set as it would be if all candidates lived: whom it does not admit need not be asked."""
        self._failed: dict[BrokerId, tuple[Instant, int]] = {}
        """When a broker last failed and with which storage: hearsay about it is not believed for a while."""
        self._hailed: dict[BrokerId, Instant] = {}
        self._unmeasured: dict[BrokerId, Peer] = {}
        """Offered to the tables before their round trip was known: offered again when it is."""
        self._told: tuple[tuple[Peer, ...], tuple[Peer, ...]] | None = None
        """Leaf set and joining brokers as we tell them, until they change."""

    @property
    def active(self) -> bool:
        """Whether our join is complete."""
        return self.phase is Phase.ACTIVE

    @property
    def is_probing(self) -> bool:
        """Whether somebody still owes us an answer."""
        return bool(self._probes)

    # What a broker said itself -------------------------------------------------------------------------------------
    def on_leaves(self, turn: Turn, peer: Peer, leaves: Leaves) -> None:
        """A broker told us its leaf set, or answers with it."""
        if leaves.active:
            self.heard_active(turn, peer)
        else:
            self._heard_joining(peer)
        if leaves.wants_reply:
            self.send_leaves(turn, peer.id, wants_reply=False, token=leaves.token)
        for candidate in (*leaves.members, *leaves.joining):
            self.consider(turn, candidate)
        probe = self._probes.get(peer.id)
        if not leaves.wants_reply and probe is not None and probe.token == leaves.token:
            self._end_probe(peer.id)

    def heard_active(self, turn: Turn, peer: Peer) -> None:
        """A broker said that its join is complete: it may be handed keys."""
        tables, broker = self.tables, peer.id
        if self.missing.discard(broker) or (self.active and len(tables.leaves) == 0):
            self.returned.append(peer)
        self._failed.pop(broker, None)
        self._forget_joining(broker)
        if tables.leaves.get(broker) != peer and tables.leaves.admits(broker):
            if broker not in tables.leaves:
                self.links.pin(broker)
            displaced = tables.add_leaf(peer)
            if displaced is not None:
                self.links.unpin(displaced.id)
            self._wanted.add(peer)
            self.changed(turn)
            probe = self._probes.get(broker)
            if probe is not None and probe.hearsay:
                # It did not come to us by itself, so our neighbours may not know it either.
                self.timers.set_if_unset(SOON, turn.now + self.jittered(EXCHANGE_SOON))
        tables.offer(peer)
        if len(self._unmeasured) < UNMEASURED_MAX and self.links.round_trip(broker) is None:
            self._unmeasured[broker] = peer

    def offer_measured(self) -> None:
        """Compare again those whose round trip has become known."""
        for broker, peer in list(self._unmeasured.items()):
            if not self.links.is_up(broker):
                del self._unmeasured[broker]
            elif self.links.round_trip(broker) is not None:
                del self._unmeasured[broker]
                self.tables.offer(peer)

    def _heard_joining(self, peer: Peer) -> None:
        if peer.id in self.tables:
            return  # a late echo: nobody becomes inactive again in one life, and a new life begins with PeerDown
        if peer.id in self.joining or len(self.joining) < JOINING_MAX:
            self.joining[peer.id] = peer
            self._told = None

    def _forget_joining(self, broker: BrokerId) -> None:
        if self.joining.pop(broker, None) is not None:
            self._told = None

    # What others say of a broker -----------------------------------------------------------------------------------
    def consider(self, turn: Turn, peer: Peer) -> None:
        """Somebody told us of a broker: ask it, if it would belong to us."""
        broker = peer.id
        if broker in self.tables.leaves or broker in self.joining or broker in self._probes:
            return
        if not self.is_credible(turn, peer):
            return
        if self._wanted.admits(broker):
            self._wanted.add(peer)
            self.probe(turn, peer, hearsay=True)
        elif self.active:
            self.consider_for_table(turn, peer)

    def consider_for_table(self, turn: Turn, peer: Peer) -> None:
        """As `consider`, for the routing table and the neighbourhood only."""
        broker = peer.id
        if broker in self.tables or not self.is_credible(turn, peer) or not self.tables.has_room_for(broker):
            return
        if turn.now - self._hailed.get(broker, -HAIL_AGAIN) >= HAIL_AGAIN:
            self.hail(turn, peer)

    def on_row(self, turn: Turn, peers: tuple[Peer, ...]) -> None:
        """Somebody told us a row of its routing table: take what we lack, and look whether some are nearer."""
        curious = MEASURED_PER_ROW
        for peer in peers[:COLUMNS]:
            self.consider_for_table(turn, peer)
            stranger = curious > 0 and peer.id not in self.tables and self.links.round_trip(peer.id) is None
            if stranger and turn.now - self._hailed.get(peer.id, -HAIL_AGAIN) >= HAIL_AGAIN:
                if self.is_credible(turn, peer):
                    curious -= 1
                    self.hail(turn, peer)

    def is_credible(self, turn: Turn, peer: Peer) -> bool:
        """Whether somebody's word that this broker is there counts."""
        if len(peer.id) != KEY_BYTES or peer.id == self.me.id:
            return False
        failure = self._failed.get(peer.id)
        return failure is None or failure[1] != peer.store or turn.now - failure[0] >= 2 * self.config.silence

    def discredit(self, turn: Turn, peer: Peer) -> None:
        """A broker did not answer, failed, or has left: do not believe others that it is there, for a while."""
        self._failed.pop(peer.id, None)
        if len(self._failed) >= FAILURES_REMEMBERED_MAX:
            del self._failed[next(iter(self._failed))]
        self._failed[peer.id] = (turn.now, peer.store)

    # Asking ----------------------------------------------------------------------------------------------------------
    def hail(self, turn: Turn, peer: Peer) -> None:
        """Ask a broker whether it is there."""
        if len(self._hailed) >= HAILS_REMEMBERED_MAX:
            self._hailed.clear()
        self._hailed[peer.id] = turn.now
        self.links.learn(peer)
        self.links.send(turn, peer.id, Hail(self.active, wants_reply=True))

    def send_leaves(self, turn: Turn, to: BrokerId, *, wants_reply: bool, token: int = 0) -> None:
        """Tell a broker our leaf set."""
        if self._told is None:
            self._told = (tuple(self.tables.leaves.members()), tuple(self.joining.values()))
        self.links.send(turn, to, Leaves(self.active, wants_reply, *self._told, token))

    def probe(self, turn: Turn, peer: Peer, *, hearsay: bool) -> None:
        """Exchange leaf sets with a broker, and insist on its answer."""
        if peer.id in self._probes:
            return
        self._token += 1
        self._probes[peer.id] = _Probe(peer, self._token, hearsay=hearsay)
        self.links.learn(peer)
        self.send_leaves(turn, peer.id, wants_reply=True, token=self._token)
        self.timers.set(("probe", peer.id), turn.now + self.config.retry)

    def on_probe_due(self, turn: Turn, broker: BrokerId) -> None:
        """A probed broker did not answer in time."""
        probe = self._probes[broker]
        probe.tries += 1
        if probe.tries >= PROBE_TRIES_MAX:
            self.probe_failed(turn, broker)
            return
        self.send_leaves(turn, broker, wants_reply=True, token=probe.token)
        self.timers.set(("probe", broker), turn.now + (self.config.retry << min(probe.tries, 3)))

    def probe_failed(self, turn: Turn, broker: BrokerId) -> None:
        """A broker under examination will not answer (nothing happens if there is none)."""
        probe = self._probes.get(broker)
        if probe is not None:
            self.discredit(turn, probe.peer)
            self._wanted.remove(broker)
            self._end_probe(broker)

    def _end_probe(self, broker: BrokerId) -> None:
        del self._probes[broker]
        self.timers.cancel(("probe", broker))
        if not self._probes:
            self._wanted = LeafSet(self.me.id)
            for peer in (*self.tables.leaves.members(), *self.joining.values()):
                self._wanted.add(peer)

    # Going -----------------------------------------------------------------------------------------------------------
    def remove(self, turn: Turn, peer: Peer, *, failed: bool) -> None:
        """A broker is gone: no route leads over it from now on, and the gap is closed. A failed one is missed."""
        broker = peer.id
        self._forget_joining(broker)
        self._unmeasured.pop(broker, None)  # who leaves is still up for a while, and would be taken in again
        if broker in self.tables:
            leaf, slot = self.tables.remove(broker)
            if failed:
                self.discredit(turn, peer)
                self.miss(turn, peer)
            if leaf is not None:
                self.links.unpin(broker)
                self._wanted.remove(broker)
                self.changed(turn)
                self._repair_leaves(turn, clockwise=self.tables.leaves.is_clockwise(broker))
            if slot is not None and self.active:
                self._repair_row(turn, slot // COLUMNS)
        self.probe_failed(turn, broker)

    def miss(self, turn: Turn, peer: Peer) -> None:
        """Look for a broker from now on, until it is found."""
        self.missing.add(peer, turn.now)
        self.timers.set_if_unset(LOOK, self.missing.next_due(turn.now) or turn.now)

    def _repair_leaves(self, turn: Turn, *, clockwise: bool) -> None:
        farthest = self.tables.leaves.farthest(clockwise=clockwise)
        if farthest is not None:
            self.send_leaves(turn, farthest, wants_reply=True)
        for broker in self.tables.known_around(2):
            peer = self.links.peer(broker)
            if peer is not None:
                self.consider(turn, peer)

    def _repair_row(self, turn: Turn, row: int) -> None:
        """Others with the same prefix have had to fill the same place (Rowstron & Druschel, 2.5)."""
        candidates = self.tables.row(row) or self.tables.row(row + 1)
        for peer in self.rng.sample(candidates, min(2, len(candidates))):
            self.links.send(turn, peer.id, RowRequest(row))

    def forget(self, turn: Turn, broker: BrokerId, *, failed: bool) -> None:
        """After we left: a broker is gone, and the gap is no concern of ours. A failed one may come back."""
        self._forget_joining(broker)
        leaf, _ = self.tables.remove(broker)
        if leaf is not None:
            if failed:
                self.missing.add(leaf, turn.now)  # and stays pinned, so that links find it again
            else:
                self.links.unpin(broker)
            self.changed(turn)

    def become_left(self, turn: Turn) -> None:
        """From now on we ask nobody and look for nobody; the tables stay, to see who takes over."""
        self.phase = Phase.LEFT
        self.timers.clear()
        self.missing = Missing(self.rng)
        self.returned.clear()
        self._probes.clear()
        self._unmeasured.clear()
        self.changed(turn)

    def changed(self, turn: Turn) -> None:
        """Our leaf set has changed, and so perhaps who is responsible for a key."""
        self._told = None
        if EXCHANGE in self.timers:
            self.timers.set_sooner(EXCHANGE, turn.now + self.jittered(EXCHANGE_EVERY))
        self.tell_changed(turn)

    def tell_changed(self, turn: Turn) -> None:
        """Others should hold what lies somewhere than so far, though our leaf set is as it was."""
        if not turn.inbox or type(turn.inbox[-1]) is not MembershipChanged:
            turn.tell(MembershipChanged())

    def jittered(self, pause: Duration) -> Duration:
        """Around a pause, so that brokers do not act in step."""
        return pause - pause // 4 + self.rng.randrange(pause // 2)
