"""The brokers around the seats that we hold for others.

A broker stands where its seats are, but its leaf set lies around its own id. So around each seat that it took over it
keeps one more: these brokers hear of us by our signs of life, and with them in view we choose the same members for a
group as they do. Who else holds seats there is told by whoever is closest, since a leaf set has only those whose own
ids are near.

Owns: these leaf sets, their links and when they are asked for anew. Must not know: who gives seats away.
"""

from __future__ import annotations

from typing import Final

from causeway.core.machine import Turn
from causeway.core.messages import JoinReply, JoinRequest
from causeway.core.overlay.leaves import LeafSet, distance, place
from causeway.core.overlay.roster import AROUND, EXCHANGE_SOON, Roster
from causeway.limits import LEAVES_MAX, NEIGHBOURS_MAX
from causeway.types import SECOND, BrokerId, Duration, Key, Peer, key_of

AROUND_EVERY: Final[Duration] = 5 * SECOND
"""A broker that joins there is known to us after so long; those that fail are noticed at once."""


class Vicinity:
    """Who is around one seat."""

    def __init__(self, seat: Key) -> None:
        self.leaves = LeafSet(BrokerId(seat))
        self.holders: dict[BrokerId, Peer] = {}
        """Of other seats there."""
        self.answered = False

    def peers(self) -> list[Peer]:
        """All of them."""
        return [*self.leaves.members(), *self.holders.values()]


class Vicinities:
    """Who is around the seats that we hold beside our own."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._around: dict[Key, Vicinity] = {}

    def present(self) -> list[Peer]:
        """Those that we can see."""
        is_up = self._roster.links.is_up
        return [peer for vicinity in self._around.values() for peer in vicinity.leaves.members() if is_up(peer.id)]

    def look(self, turn: Turn) -> None:
        """We may hold other seats than before: look around the new ones, and let go of those around the others."""
        roster = self._roster
        if not roster.active:
            return
        held = roster.links.places().get(roster.me.id, ())
        wanted = {key_of(seat): None for seat in held if seat != roster.me.name}
        for key in [key for key in self._around if key not in wanted]:
            for peer in self._around.pop(key).peers():
                roster.links.unpin(peer.id)
        for key in [key for key in wanted if key not in self._around]:
            self._around[key] = Vicinity(key)
            self._ask(turn, key)
            roster.timers.set_sooner(AROUND, turn.now + roster.config.retry)
        if not self._around:
            roster.timers.cancel(AROUND)

    def look_again(self, turn: Turn) -> None:
        """From time to time: forget whom we cannot reach, and ask who is there now."""
        for key, vicinity in self._around.items():
            for peer in vicinity.peers():
                if not self._roster.links.is_up(peer.id):
                    self._drop(vicinity, peer.id)
            self._ask(turn, key)
        if self._around:
            all_answered = all(vicinity.answered for vicinity in self._around.values())
            pause = AROUND_EVERY if all_answered else self._roster.config.retry
            self._roster.timers.set(AROUND, turn.now + self._roster.jittered(pause))

    def _ask(self, turn: Turn, key: Key) -> None:
        roster, vicinity = self._roster, self._around[key]
        for peer in roster.tables.leaves.members():
            self._take(turn, vicinity, peer)
        hop = roster.tables.next_hop(key, with_me=False)
        if hop is not None:
            roster.links.send(turn, hop, JoinRequest(roster.me, 0, place=key))

    def on_reply(self, turn: Turn, reply: JoinReply) -> None:
        """Whoever is closest to one of our seats says who is around it."""
        vicinity = self._around.get(Key(reply.place))
        if vicinity is None:
            return
        vicinity.answered = True
        for peer in reply.leaves[: LEAVES_MAX + 1]:
            self._take(turn, vicinity, peer)
        roster = self._roster
        told = {peer.id: peer for peer in reply.neighbours[:NEIGHBOURS_MAX] if roster.is_credible(turn, peer)}
        for peer in told.values():
            if peer.id not in vicinity.holders:
                self._meet(turn, peer)
        for broker in vicinity.holders:
            if broker not in told:
                roster.links.unpin(broker)
        vicinity.holders = told

    def _take(self, turn: Turn, vicinity: Vicinity, peer: Peer) -> None:
        roster, leaves = self._roster, vicinity.leaves
        if peer.id in leaves or not leaves.admits(peer.id) or not roster.is_credible(turn, peer):
            return
        displaced = leaves.add(peer)
        self._meet(turn, peer)
        if displaced is not None:
            roster.links.unpin(displaced.id)
        if roster.links.is_up(peer.id):
            roster.changed(turn)

    def _meet(self, turn: Turn, peer: Peer) -> None:
        """Have a link: what we say of ourselves, our seats, is heard with the first greeting."""
        roster = self._roster
        roster.links.learn(peer)
        roster.links.pin(peer.id)
        if not roster.links.is_up(peer.id):
            roster.hail(turn, peer)

    def on_peer_up(self, turn: Turn, peer: Peer) -> None:
        """Somebody can be seen, around a seat of ours or in the place of another: it should hold what lies there."""
        seen = any(peer.id in vicinity.leaves for vicinity in self._around.values())
        if seen or peer.id in self._roster.links.places():
            self._roster.changed(turn)

    def on_peer_down(self, turn: Turn, peer: Peer) -> None:
        """Somebody is gone: whoever closes the gap is asked for."""
        roster = self._roster
        for vicinity in self._around.values():
            if peer.id in vicinity.leaves:
                roster.changed(turn)
                roster.timers.set_sooner(AROUND, turn.now + roster.jittered(EXCHANGE_SOON))
            self._drop(vicinity, peer.id)

    def _drop(self, vicinity: Vicinity, broker: BrokerId) -> None:
        if vicinity.leaves.remove(broker) is not None:
            self._roster.links.unpin(broker)
        if vicinity.holders.pop(broker, None) is not None:
            self._roster.links.unpin(broker)

    # Those of others -------------------------------------------------------------------------------------------------
    def holders_near(self, key: Key) -> tuple[Peer, ...]:
        """Brokers that hold seats of others, those with seats closest to a key first; for one who asks."""
        links, found = self._roster.links, []
        for broker, seats in links.places().items():
            peer = links.peer(broker)
            if peer is not None and seats:
                found.append((min(distance(place(key_of(seat)), place(key)) for seat in seats), peer))
        found.sort(key=lambda pair: (pair[0], pair[1].id))
        return tuple(peer for _, peer in found[:NEIGHBOURS_MAX])
