"""The brokers around the seats that we hold for others.

A broker stands where its seats are, but its leaf set lies around its own id. So around each seat that it took over it
keeps one more: these brokers hear of us by our signs of life, and with them in view we choose the same members for a
group as they do. Whoever is closest to the seat names them, and who else holds seats there, since a leaf set has only
those whose own ids are near. As with all tables, who is named counts when it has said itself that it is there.

Owns: who is around, their links, and when that is asked anew. Must not know: who gives seats away.
"""

from __future__ import annotations

from typing import Final

from causeway.core.machine import Turn
from causeway.core.messages import JoinReply, JoinRequest
from causeway.core.overlay.leaves import distance, place
from causeway.core.overlay.roster import AROUND, EXCHANGE_SOON, Roster
from causeway.limits import LEAVES_MAX, NEIGHBOURS_MAX
from causeway.types import SECOND, BrokerId, Duration, Key, Peer, key_of

AROUND_EVERY: Final[Duration] = 5 * SECOND
"""A broker that joins there is known to us after so long; those that fail are noticed at once."""


class Vicinity:
    """Who is around one seat."""

    def __init__(self) -> None:
        self.asked = 0
        """The number of our last question; answers to earlier ones are late."""
        self.answered = False
        self.named: dict[BrokerId, Peer] = {}
        """Those whose own ids are near, and those who hold seats there: all with a link that is kept."""
        self.near: dict[BrokerId, None] = {}
        """The former of them."""
        self.seen: dict[BrokerId, None] = {}
        """Those that said themselves that they are there."""


class Vicinities:
    """Who is around the seats that we hold beside our own."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._around: dict[Key, Vicinity] = {}
        self._asked = 0

    def __len__(self) -> int:
        """Links that are kept for it."""
        return sum(len(vicinity.named) for vicinity in self._around.values())

    def present(self) -> list[Peer]:
        """Those that we can see, by their own ids."""
        is_up = self._roster.links.is_up
        return [
            vicinity.named[broker]
            for vicinity in self._around.values()
            for broker in vicinity.near
            if broker in vicinity.seen and is_up(broker)
        ]

    # Asking ------------------------------------------------------------------------------------------------------
    def look(self, turn: Turn) -> None:
        """We may hold other seats than before: look around the new ones, and let go of those around the others."""
        roster = self._roster
        if not roster.active:
            return
        held = roster.links.places().get(roster.me.id, ())
        wanted = {key_of(seat): None for seat in held if seat != roster.me.name}
        for key in [key for key in self._around if key not in wanted]:
            for broker in self._around.pop(key).named:
                roster.links.unpin(broker)
        for key in [key for key in wanted if key not in self._around]:
            self._around[key] = Vicinity()
            self._ask(turn, key)
            roster.timers.set_sooner(AROUND, turn.now + roster.config.retry)
        if not self._around:
            roster.timers.cancel(AROUND)

    def look_again(self, turn: Turn) -> None:
        """From time to time: who is there now? Who was named and has not said a word is asked once more."""
        roster = self._roster
        for key, vicinity in self._around.items():
            for broker, peer in vicinity.named.items():
                if broker not in vicinity.seen:
                    roster.hail(turn, peer)
            self._ask(turn, key)
        if self._around:
            all_answered = all(vicinity.answered for vicinity in self._around.values())
            pause = AROUND_EVERY if all_answered else roster.config.retry
            roster.timers.set(AROUND, turn.now + roster.jittered(pause))

    def _ask(self, turn: Turn, key: Key) -> None:
        roster = self._roster
        hop = roster.tables.next_hop(key, with_me=False)
        if hop is not None:
            self._asked += 1
            self._around[key].asked = self._asked
            roster.links.send(turn, hop, JoinRequest(roster.me, self._asked, place=key))

    def on_reply(self, turn: Turn, reply: JoinReply) -> None:
        """Whoever is closest to one of our seats says who is around it."""
        roster, vicinity = self._roster, self._around.get(Key(reply.place))
        if vicinity is None or reply.attempt != vicinity.asked:
            return
        vicinity.answered = True
        near = {peer.id: peer for peer in reply.leaves[: LEAVES_MAX + 1] if roster.is_credible(turn, peer)}
        holders = {peer.id: peer for peer in reply.neighbours[:NEIGHBOURS_MAX] if roster.is_credible(turn, peer)}
        before, vicinity.named = vicinity.named, {**holders, **near}
        vicinity.near = dict.fromkeys(near)
        for broker, peer in vicinity.named.items():
            if broker not in before:
                roster.links.learn(peer)
                roster.links.pin(broker)
                # What it hears of us with the greeting are our seats; what we want to hear is that it is active.
                roster.hail(turn, peer)
        for broker in before:
            if broker not in vicinity.named:
                roster.links.unpin(broker)
                if broker in vicinity.seen:
                    del vicinity.seen[broker]
                    roster.tell_changed(turn)

    # What happens ------------------------------------------------------------------------------------------------
    def on_active(self, turn: Turn, peer: Peer) -> None:
        """A broker said that it is there: around a seat of ours it should hold what lies there."""
        for vicinity in self._around.values():
            if peer.id in vicinity.named and peer.id not in vicinity.seen:
                vicinity.seen[peer.id] = None
                self._roster.tell_changed(turn)

    def on_peer_up(self, turn: Turn, peer: Peer) -> None:
        """A link came up: to a broker that stands in the place of another, it should hold what lies there."""
        if peer.id in self._roster.links.places():
            self._roster.tell_changed(turn)

    def on_gone(self, turn: Turn, peer: Peer) -> None:
        """A broker failed or leaves: whoever closes the gap is asked for."""
        roster = self._roster
        for vicinity in self._around.values():
            if vicinity.named.pop(peer.id, None) is not None:
                roster.links.unpin(peer.id)
                roster.discredit(turn, peer)  # others may see it still, and would name it again and again
                vicinity.near.pop(peer.id, None)
                vicinity.seen.pop(peer.id, None)
                roster.tell_changed(turn)
                roster.timers.set_sooner(AROUND, turn.now + roster.jittered(EXCHANGE_SOON))

    # Those of others ---------------------------------------------------------------------------------------------
    def holders_near(self, key: Key) -> tuple[Peer, ...]:
        """Brokers that hold seats of others, those with seats closest to a key first; for one who asks."""
        found = self.distances(self._roster.links.places(), key)
        found.sort(key=lambda pair: (pair[0], pair[1].id))
        return tuple(peer for _, peer in found[:NEIGHBOURS_MAX])

    def distances(self, places: dict[BrokerId, tuple[str, ...]], key: Key) -> list[tuple[int, Peer]]:
        """How far from a key brokers stand with the nearest of their seats; who has none stands nowhere."""
        found = []
        for broker, seats in places.items():
            peer = self._roster.links.peer(broker)
            if peer is not None and seats:
                found.append((min(distance(place(key_of(seat)), place(key)) for seat in seats), peer))
        return found
