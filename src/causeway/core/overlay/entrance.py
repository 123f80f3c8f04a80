"""How a broker gets in: finding somebody to ask, being known by all its neighbours, and only then serving.

    IDLE -> SEEKING -> PROBING -> ACTIVE

SEEKING asks known brokers to route our JoinRequest to the broker closest to us. PROBING tells every broker that
belongs into our leaf set that we are joining, and learns more such brokers from their answers, until all that live
have answered. Everything is asked again until it is answered, by somebody else if need be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from causeway.core.machine import Turn
from causeway.core.messages import JoinDenied, JoinReply, JoinRequest
from causeway.core.overlay.contacts import Contacts
from causeway.core.overlay.roster import ALONE, EXCHANGE, EXCHANGE_EVERY, JOIN, MAINTAIN, Phase, Roster
from causeway.core.overlay.tables import COLUMNS
from causeway.core.overlay.upkeep import MAINTAIN_FIRST
from causeway.core.overlay.vicinity import Vicinities
from causeway.limits import NEIGHBOURS_MAX, ROUTE_HOPS_MAX, ROWS_TOLD_MAX
from causeway.types import KEY_BYTES, SECOND, BrokerId, Duration, Key, Peer

ALONE_AFTER: Final[Duration] = 1 * SECOND
"""A member that restarts looks for the others for so long, then serves alone and merges later."""
SILENCES_BEFORE_FOUNDING: Final = 2
"""A founder that has seeds looks for members for ALONE_AFTER and so many times `silence`, then founds: it may be the
founder of old that lost its storage."""
CONTACTS_AT_ONCE: Final = 3
JOIN_PATIENCE: Final[Duration] = 15 * SECOND
"""A join whose probes do not come to an end by then begins anew."""


class Entrance:
    """Our own join, and what we do for the joins of others."""

    def __init__(self, roster: Roster, vicinities: Vicinities) -> None:
        self._roster = roster
        self._vicinities = vicinities
        self.contacts = Contacts()
        self._returning = False
        """We were a member before: if nobody answers, we serve alone."""
        self._founding = False
        """We may begin a cluster if no member of one turns up."""
        self.founded = False
        """We began a cluster."""
        self._attempt = 0
        self._candidates: dict[BrokerId, Peer] = {}
        """For routing table and neighbourhood, gathered while joining; hailed once we are active."""

    @property
    def found_after(self) -> Duration:
        """How long a founder looks for members among its seeds."""
        return ALONE_AFTER + SILENCES_BEFORE_FOUNDING * self._roster.config.silence

    # Ours ------------------------------------------------------------------------------------------------------------
    def start(self, turn: Turn, known: Sequence[Peer], cluster: str) -> None:
        """Begin: found a cluster, come back to ours, or ask to be let in."""
        roster = self._roster
        assert roster.phase is Phase.IDLE, "a broker starts once"
        if cluster:
            roster.links.set_cluster(turn, cluster)
        self.contacts.add([peer for peer in known if peer.id != roster.me.id])
        nobody = len(self.contacts) == 0
        if nobody and not roster.config.seeds and (cluster or roster.config.founder):
            self.begin_alone(turn)
            return
        self._returning = bool(cluster)
        self._founding = nobody and not cluster and roster.config.founder
        self.seek(turn)

    def begin_alone(self, turn: Turn) -> None:
        """Serve alone: as the founder, or as a member that finds nobody (and keeps looking)."""
        roster = self._roster
        if not roster.links.cluster:
            roster.links.set_cluster(turn, f"{roster.rng.getrandbits(64):016x}")
            self.founded = True
        self._become_active(turn)
        for peer in self.contacts.peers():
            roster.miss(turn, peer)
            roster.hail(turn, peer)

    def seek(self, turn: Turn) -> None:
        """Ask some of those we know to let us in, and ask again if that leads nowhere."""
        roster = self._roster
        roster.phase = Phase.SEEKING
        if self._returning:
            roster.timers.set_if_unset(ALONE, turn.now + ALONE_AFTER)
        elif self._founding:
            roster.timers.set_if_unset(ALONE, turn.now + self.found_after)
        self._attempt += 1
        for host, port in roster.config.seeds:
            roster.links.dial_address(turn, host, port)
        for peer in self.contacts.take(CONTACTS_AT_ONCE):
            self.ask(turn, peer)
        pause = roster.config.retry << min(self._attempt - 1, 3)
        roster.timers.set(JOIN, turn.now + pause // 2 + roster.rng.randrange(pause))

    def met(self, turn: Turn, peer: Peer) -> None:
        """While we seek, somebody turned up: ask at once."""
        if self._founding and self._roster.links.is_member(peer.id):
            self._do_not_found()
        self.contacts.add([peer])
        self.ask(turn, peer)

    def _do_not_found(self) -> None:
        """There is a cluster: a second one would never merge with it, however long it takes to get in."""
        self._founding = False
        self._roster.timers.cancel(ALONE)

    def ask(self, turn: Turn, peer: Peer) -> None:
        """Ask one broker for the way to our neighbours."""
        self._roster.links.learn(peer)
        self._roster.links.send(turn, peer.id, JoinRequest(self._roster.me, self._attempt))

    def on_join_denied(self, turn: Turn, denied: JoinDenied) -> None:
        """That one has not joined itself: ask another, unless all we know have been asked."""
        seeking = self._roster.phase is Phase.SEEKING and denied.attempt == self._attempt
        if seeking and len(self.contacts) > CONTACTS_AT_ONCE:
            for peer in self.contacts.take(1):
                self.ask(turn, peer)

    def on_join_reply(self, turn: Turn, reply: JoinReply) -> None:
        """Here are our neighbours: make ourselves known to them. Or those of a seat of ours."""
        roster = self._roster
        if reply.place:
            self._vicinities.on_reply(turn, reply)
            return
        if roster.phase is Phase.SEEKING:
            if not reply.cluster or roster.links.cluster not in ("", reply.cluster):
                return
            roster.links.set_cluster(turn, reply.cluster)
            roster.phase = Phase.PROBING
            self._founding = False
            roster.timers.cancel(ALONE)
            roster.timers.set(JOIN, turn.now + JOIN_PATIENCE)
            for peer in (*reply.rows, *reply.neighbours):
                if len(peer.id) == KEY_BYTES and peer.id != roster.me.id:
                    self._candidates.setdefault(peer.id, peer)
        for peer in (*reply.leaves, *reply.joining):
            roster.consider(turn, peer)

    def finish(self, turn: Turn) -> None:
        """Called after every stimulus: when nobody owes us an answer, everybody around us knows us."""
        roster = self._roster
        if roster.phase is not Phase.PROBING or roster.is_probing:
            return
        if len(roster.tables.leaves):
            self._become_active(turn)
        else:
            roster.phase = Phase.SEEKING
            roster.timers.set(JOIN, turn.now + roster.config.retry)

    def _become_active(self, turn: Turn) -> None:
        roster = self._roster
        roster.phase = Phase.ACTIVE
        roster.timers.cancel(JOIN)
        roster.timers.cancel(ALONE)
        roster.timers.set(EXCHANGE, turn.now + roster.jittered(EXCHANGE_EVERY))
        roster.timers.set(MAINTAIN, turn.now + roster.jittered(MAINTAIN_FIRST))
        roster.changed(turn)
        for peer in (*roster.tables.leaves.members(), *roster.joining.values()):
            roster.probe(turn, peer, hearsay=False)
        slots: dict[int, None] = {}
        for peer in self._candidates.values():
            slot = roster.tables.slot(peer.id)
            if slot not in slots:
                slots[slot] = None
                roster.consider_for_table(turn, peer)
        self._candidates = {}

    # Those of others -------------------------------------------------------------------------------------------------
    def on_join_request(self, turn: Turn, request: JoinRequest) -> None:
        """Somebody looks for its place: add what we know, and send it on to whoever is closer, or answer."""
        roster, joiner = self._roster, request.joiner
        if joiner.id == roster.me.id or len(joiner.id) != KEY_BYTES or request.hops > ROUTE_HOPS_MAX:
            return
        if request.place and len(request.place) != KEY_BYTES:
            return
        if not roster.active:
            roster.links.learn(joiner)
            roster.links.send(turn, joiner.id, JoinDenied(request.attempt))
            return
        tables = roster.tables
        if request.place:
            self._lead_to_place(turn, request)
            return
        row = tables.slot(joiner.id) // COLUMNS
        # The joiner shares its first `row` digits with us: these rows of ours are rows of its own table.
        mine = [entry for i in range(row if request.hops else 0, row + 1) for entry in tables.row(i)]
        gathered = {entry.id: entry for entry in (*request.rows, *mine, roster.me) if entry.id != joiner.id}
        rows = tuple(gathered.values())[:ROWS_TOLD_MAX]
        near = (request.neighbours if request.hops else tuple(tables.neighbours()))[:NEIGHBOURS_MAX]
        hop = tables.detour(joiner.id, joiner.id)
        if hop is not None:
            roster.links.send(turn, hop, JoinRequest(joiner, request.attempt, request.hops + 1, rows, near))
            return
        self._answer(turn, request, rows, near)

    def _lead_to_place(self, turn: Turn, request: JoinRequest) -> None:
        """Somebody looks for those around a seat it holds: send it on to whoever is closer, or answer."""
        key = Key(request.place)
        hop = self._roster.tables.detour(key, request.joiner.id)
        if hop is not None:
            onward = JoinRequest(request.joiner, request.attempt, request.hops + 1, place=key)
            self._roster.links.send(turn, hop, onward)
        else:
            self._answer(turn, request, (), self._vicinities.holders_near(key))

    def _answer(self, turn: Turn, request: JoinRequest, rows: tuple[Peer, ...], near: tuple[Peer, ...]) -> None:
        roster, joiner = self._roster, request.joiner
        leaves = (roster.me, *(leaf for leaf in roster.tables.leaves.members() if leaf.id != joiner.id))
        joining = tuple(roster.joining.values())
        reply = JoinReply(request.attempt, roster.links.cluster, leaves, joining, rows, near, request.place)
        roster.links.learn(joiner)
        roster.links.send(turn, joiner.id, reply)
