"""The ring: which brokers there are, who is responsible for a key, and the way there (Pastry, with the consistency
of MSPastry: Castro, Costa & Rowstron, "Performance and dependability of structured peer-to-peer overlays").

The door of this package: sorts stimuli to `entrance` (getting in), `roster` (who is there) and `upkeep` (slow work),
and answers questions from the tables. Must not know: connections (links say who is up), what is routed (others send
messages on), who may acknowledge for a key.

Nobody is handed a key before its join is complete, and a join is complete when all neighbours know of it. A failed
broker leaves all tables at once and is looked for, so that the rings of a partition grow together again.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec

from causeway.config import BrokerConfig
from causeway.core.deadlines import Alarm
from causeway.core.machine import Turn
from causeway.core.messages import (
    Hail,
    JoinDenied,
    JoinReply,
    JoinRequest,
    Leave,
    Leaves,
    Message,
    RowReply,
    RowRequest,
)
from causeway.core.overlay.entrance import Entrance
from causeway.core.overlay.leaves import distance, place
from causeway.core.overlay.roster import (
    ALONE,
    AROUND,
    EXCHANGE,
    JOIN,
    LOOK,
    MAINTAIN,
    PART,
    SOON,
    Phase,
    RingLinks,
    Roster,
)
from causeway.core.overlay.tables import DIGITS
from causeway.core.overlay.upkeep import Upkeep
from causeway.core.overlay.vicinity import Vicinities
from causeway.limits import CONTACTS_MAX
from causeway.types import BrokerId, Instant, Key, Peer


class OverlayStatistics(msgspec.Struct, frozen=True):
    """What `causeway status` shows of the ring."""

    phase: str
    cluster: str
    leaves: int
    table: int
    neighbours: int
    joining: int
    missing: int
    around: int
    """Brokers around seats that we hold for others."""


class Overlay:
    """One broker's view of the ring. Stimuli: messages, PeerUp, PeerDown, its deadlines, `start` and `leave`."""

    def __init__(
        self, config: BrokerConfig, links: RingLinks, rng: random.Random, *, alarm: Alarm | None = None
    ) -> None:
        self.active = False
        """Whether our join is complete; before that we answer for no key."""
        self._links = links
        self._roster = Roster(config, links, rng, alarm=alarm)
        self._vicinities = Vicinities(self._roster)
        self._entrance = Entrance(self._roster, self._vicinities)
        self._upkeep = Upkeep(self._roster)

    # Questions ---------------------------------------------------------------------------------------------------
    @property
    def cluster(self) -> str:
        """The cluster we belong to; empty before the first join."""
        return self._links.cluster

    @property
    def founded(self) -> bool:
        """Whether we began our cluster, in this life."""
        return self._entrance.founded

    def next_hop(self, key: Key) -> BrokerId | None:
        """The next broker towards the one responsible for the key; None when that is us (or nobody is known)."""
        return self._roster.tables.next_hop(key, with_me=self.active)

    def responsible(self, key: Key) -> Peer:
        """The broker closest to the key, as far as we can see: exact when the key lies among our leaves."""
        hop = self.next_hop(key)
        return self._links.me if hop is None else self._links.peer(hop) or self._links.me

    def replica_group(self, key: Key, count: int) -> list[Peer]:
        """The living brokers closest to the key, closest first: exact at the broker responsible and its copies.

        A broker is where its seats are: who took the seat of another one stands in its place, who has none in no place.
        (Those around see it there because it looks for them, see `vicinity`.)
        """
        tables = self._roster.tables
        elsewhere = self._links.places()
        if not elsewhere:
            return tables.nearest(key, count, with_me=self.active)
        near = {peer.id: peer for peer in tables.nearest(key, count + len(elsewhere), with_me=self.active)}
        near.update((peer.id, peer) for peer in self._vicinities.present())
        found = [(distance(place(peer.id), place(key)), peer) for peer in near.values() if peer.id not in elsewhere]
        found += self._vicinities.distances(elsewhere, key)
        found.sort(key=lambda pair: (pair[0], pair[1].id))
        return [peer for _, peer in found[:count]] or tables.nearest(key, count, with_me=self.active)

    def leaf_set(self) -> list[Peer]:
        """The living brokers next to us on the ring, clockwise."""
        return self._roster.tables.leaves.members()

    def known(self) -> list[Peer]:
        """Brokers to remember for the next start."""
        found = {peer.id: peer for peer in self._roster.tables.everybody()}
        for peer in (*self._roster.missing.peers(), *self._entrance.contacts.peers()):
            found.setdefault(peer.id, peer)
        return list(found.values())[:CONTACTS_MAX]

    def statistics(self) -> OverlayStatistics:
        """Counts, for people."""
        roster = self._roster
        return OverlayStatistics(
            phase=roster.phase.name.lower(),
            cluster=self.cluster,
            leaves=len(roster.tables.leaves),
            table=len(roster.tables.entries()),
            neighbours=len(roster.tables.neighbours()),
            joining=len(roster.joining),
            missing=len(roster.missing),
            around=len(self._vicinities),
        )

    # Life --------------------------------------------------------------------------------------------------------
    def start(self, turn: Turn, known: Sequence[Peer], cluster: str) -> None:
        """Begin: found a cluster, come back to ours, or ask to be let in."""
        self._entrance.start(turn, known, cluster)
        self._settle(turn)

    def leave(self, turn: Turn) -> None:
        """Go for good: everybody who knows us is told, and closes the gap.

        We hold no key any more, but still see the others, so that what we have can be handed over to them.
        """
        self._upkeep.part(turn)
        self._settle(turn)

    # Stimuli -----------------------------------------------------------------------------------------------------
    def on_message(self, turn: Turn, peer: Peer, head: Message, body: bytes = b"") -> None:
        """A message of the overlay from another broker."""
        roster = self._roster
        if roster.phase is Phase.LEFT:
            if isinstance(head, Leave):
                roster.forget(turn, peer.id, failed=False)
            elif isinstance(head, JoinRequest) or (isinstance(head, Leaves | Hail) and head.wants_reply):
                self._links.send(turn, peer.id, Leave())
            return
        if isinstance(head, Leaves):
            roster.on_leaves(turn, peer, head)
        elif isinstance(head, Hail):
            self._on_hail(turn, peer, head)
        elif isinstance(head, JoinRequest):
            self._entrance.on_join_request(turn, head)
        elif isinstance(head, JoinReply):
            self._entrance.on_join_reply(turn, head)
        elif isinstance(head, JoinDenied):
            self._entrance.on_join_denied(turn, head)
        elif isinstance(head, Leave):
            self._on_leave(turn, peer, head)
        elif isinstance(head, RowRequest):
            if 0 <= head.row < DIGITS:
                self._links.send(turn, peer.id, RowReply(head.row, tuple(roster.tables.row(head.row))))
        elif isinstance(head, RowReply):
            roster.on_row(turn, head.peers)
        self._settle(turn)

    def _on_hail(self, turn: Turn, peer: Peer, hail: Hail) -> None:
        if hail.wants_reply:
            self._links.send(turn, peer.id, Hail(self.active, wants_reply=False))
        if not hail.active:
            return
        if self._roster.phase is Phase.SEEKING:
            self._entrance.met(turn, peer)
        else:
            self._roster.heard_active(turn, peer)
            self._vicinities.on_active(turn, peer)

    def _on_leave(self, turn: Turn, peer: Peer, parting: Leave) -> None:
        roster = self._roster
        roster.missing.discard(peer.id)
        roster.remove(turn, peer, failed=False)
        roster.discredit(turn, peer)
        self._vicinities.on_gone(turn, peer)
        for candidate in parting.leaves:
            roster.consider(turn, candidate)

    def on_peer_up(self, turn: Turn, peer: Peer) -> None:
        """A link came up: somebody to ask, or somebody back."""
        roster = self._roster
        self._vicinities.on_peer_up(turn, peer)
        if roster.phase is Phase.SEEKING:
            self._entrance.met(turn, peer)
        elif roster.phase is Phase.LEFT:
            if peer.id in roster.missing:
                roster.heard_active(turn, peer)  # nobody tells us any more; it was, and may take over from us
        elif self.active and peer.id in roster.tables:
            roster.tables.offer(peer)  # its round trip may be known only now
        elif self.active and (peer.id in roster.missing or len(roster.tables.leaves) == 0):
            roster.hail(turn, peer)

    def on_membership_changed(self, turn: Turn) -> None:
        """Our seats may be others than before."""
        self._vicinities.look(turn)

    def on_peer_down(self, turn: Turn, peer: Peer) -> None:
        """A broker failed: no route leads over it from now on."""
        if self._roster.phase is Phase.LEFT:
            self._roster.forget(turn, peer.id, failed=True)
        else:
            self._roster.remove(turn, peer, failed=True)
            self._vicinities.on_gone(turn, peer)
            self._settle(turn)

    def next_deadline(self) -> Instant | None:
        """When `on_deadline` has something to do."""
        return self._roster.timers.next()

    def on_deadline(self, turn: Turn) -> None:
        """Fire what is due."""
        for timer in self._roster.timers.pop_due(turn.now):
            if timer == JOIN:
                self._entrance.seek(turn)
            elif timer == ALONE:
                self._entrance.begin_alone(turn)
            elif timer == EXCHANGE:
                self._upkeep.exchange(turn, widely=False)
            elif timer == SOON:
                self._upkeep.exchange(turn, widely=True)
            elif timer == MAINTAIN:
                self._upkeep.maintain(turn)
            elif timer == LOOK:
                self._upkeep.look_for_missing(turn)
            elif timer == PART:
                self._upkeep.part(turn)
            elif timer == AROUND:
                self._vicinities.look_again(turn)
            else:
                self._roster.on_probe_due(turn, BrokerId(timer[1]))
        self._settle(turn)

    def _settle(self, turn: Turn) -> None:
        """After every stimulus: what follows from it for our own membership."""
        self._entrance.finish(turn)
        self.active = self._roster.active
        if self._roster.returned:
            self._upkeep.merge(turn)
