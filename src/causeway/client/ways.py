"""The two links over which critical topics are published: our home, and one more at another broker.

Each way keeps to one half of the ring (`types.half_of`): what goes by way 0 enters the network at a broker of the one
half, what goes by way 1 at one of the other, as far as such brokers are known. While there is no second link both ways
use our home.

Owns: which link is the second one, and which way uses which. Must not know: what travels on them. Stimuli: links coming
and going, and time.
"""

from __future__ import annotations

from typing import Final

from causeway.client.links import Uplink, Uplinks
from causeway.client.placements import Placements
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.machine import Turn
from causeway.types import SECOND, BrokerId, Duration, Peer, half_of

TRY_AGAIN: Final[Duration] = 2 * SECOND
"""When all other brokers were tried in vain, they are tried again after this."""

WayLinks = tuple[Uplink | None, Uplink | None]
"""Which link each way uses."""


class TwoWays:
    """Of one session that publishes on critical topics."""

    def __init__(self, links: Uplinks, placements: Placements, *, alarm: Alarm | None = None) -> None:
        self._links = links
        self._placements = placements
        self._hope: Uplink | None = None
        """May become the second link when its broker has greeted us."""
        self._home: Uplink | None = None
        """As it was last time: a broker that was lost is not the first to try."""
        self._tried: dict[BrokerId, None] = {}
        """Brokers that could not be reached lately."""
        self._deadlines: Deadlines[int] = Deadlines(alarm)

    def tend(self, turn: Turn) -> WayLinks:
        """Have a second link if one is to be had; which link each way uses now."""
        links = self._links
        if links.second is not None and self._is_gone(links.second):
            self._leave_out(turn, links.second)
            links.second = None
        hope = self._hope
        if hope is not None and (hope.up or self._is_gone(hope)):
            self._hope = None
            if hope.up:
                links.second = hope
            else:
                self._leave_out(turn, hope)
        home = links.home
        if self._home is not home:
            if self._home is not None and self._is_gone(self._home):
                self._leave_out(turn, self._home)
            self._home = home
        if links.second is home:
            links.second = None
        if home is not None and home.peer is not None and self._hope is None and not self._is_good(home):
            self._choose(turn, home, half_of(home.peer.id))
        return self._split(home, links.second)

    def on_deadlines(self, turn: Turn) -> None:
        """Brokers that could not be reached may be back."""
        if self._deadlines.pop_due(turn.now):
            self._tried.clear()

    def _is_gone(self, link: Uplink) -> bool:
        return self._links.find(link.conn) is not link

    def _is_good(self, home: Uplink) -> bool:
        second = self._links.second
        return second is not None and _side(second) != _side(home)

    def _leave_out(self, turn: Turn, link: Uplink) -> None:
        for broker, peer in self._links.peers.items():
            if (peer.host, peer.port) == link.address or (link.peer is not None and link.peer.id == broker):
                self._tried[broker] = None
        self._deadlines.set_if_unset(0, turn.now + TRY_AGAIN)

    def _choose(self, turn: Turn, home: Uplink, side: int) -> None:
        """Best is a broker on the other side, whether we have a link to it already or not; else any other one."""
        links = self._links
        others = [link for link in links.all_up() if link is not home and not link.parting]
        across = [link for link in others if _side(link) != side]
        if across:
            links.second = across[0]
            return
        known = [peer for peer in links.peers.values() if peer.id not in self._tried and links.known(peer) is not home]
        owners = self._placements.critical()
        known.sort(key=lambda peer: peer.id not in owners)  # what goes to the owner itself has no way to go from there
        self._hope = self._reach(turn, [peer for peer in known if half_of(peer.id) != side])
        if links.second is None and others:
            links.second = others[0]
        if links.second is None and self._hope is None:
            self._hope = self._reach(turn, known)

    def _reach(self, turn: Turn, peers: list[Peer]) -> Uplink | None:
        return self._links.reach(turn, peers[0]) if peers else None

    @staticmethod
    def _split(home: Uplink | None, second: Uplink | None) -> WayLinks:
        if home is None or second is None:
            return (home or second, home or second)
        return (second, home) if _side(home) == 1 and _side(second) == 0 else (home, second)


def _side(link: Uplink) -> int:
    return half_of(link.peer.id) if link.peer is not None else 0
