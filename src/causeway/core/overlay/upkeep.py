"""What an active broker does from time to time, slowly: compare leaf sets, fill its routing table, look for brokers
that are missing, and grow together with a ring it was cut off from.
"""

from __future__ import annotations

from typing import Final

from causeway.core.machine import Turn
from causeway.core.messages import JoinRequest, Leave, RowRequest
from causeway.core.overlay.roster import EXCHANGE, EXCHANGE_EVERY, LOOK, MAINTAIN, PART, Phase, Roster
from causeway.types import MILLISECOND, SECOND, BrokerId, Duration, Instant, Peer

EXCHANGE_SELDOM: Final[Duration] = 40 * SECOND
"""The pause between two comparisons doubles from EXCHANGE_EVERY to this while nothing changes: leaf sets are long."""
MAINTAIN_FIRST: Final[Duration] = 1 * SECOND
MAINTAIN_EVERY: Final[Duration] = 128 * SECOND
"""The pause between two rounds doubles from one to the other: a young table has more to learn. To open a link and see
after an entry costs as much as a minute of watching one."""
MAINTAIN_HAILS: Final = 4
PART_AGAIN: Final[Duration] = 250 * MILLISECOND
PART_AGAIN_MAX: Final[Duration] = 4 * SECOND
"""A leaving broker repeats that it leaves, ever more seldom, for as long as it is there: its word may be lost."""
MERGE_EVERY: Final[Duration] = 500 * MILLISECOND


class Upkeep:
    """Periodic work of an active broker."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._maintain_pause = MAINTAIN_FIRST
        self._exchange_pause = EXCHANGE_EVERY
        self._compared: list[BrokerId] = []
        """The leaf set when it was last compared."""
        self._merged_at: Instant = 0
        self._part_pause = PART_AGAIN

    def exchange(self, turn: Turn, *, widely: bool) -> None:
        """Compare leaf sets with the next brokers on the ring; `widely`: also with the outermost leaves."""
        roster, leaves = self._roster, self._roster.tables.leaves
        asked: dict[BrokerId, None] = dict.fromkeys(leaves.neighbours())
        if widely:
            for outermost in (leaves.farthest(clockwise=True), leaves.farthest(clockwise=False)):
                if outermost is not None:
                    asked[outermost] = None
        for broker in leaves.ids():
            if not roster.links.is_up(broker):
                asked[broker] = None
        for broker in asked:
            roster.send_leaves(turn, broker, wants_reply=True)
        for peer in list(roster.joining.values()):
            roster.probe(turn, peer, hearsay=True)  # its word that it is active may have been lost
        if widely:
            return
        if len(leaves) == 0:
            for host, port in roster.config.seeds:
                roster.links.dial_address(turn, host, port)
        before, self._compared = self._compared, list(leaves.ids())
        if before != self._compared or not before or roster.joining:
            self._exchange_pause = EXCHANGE_EVERY
        else:
            self._exchange_pause = min(2 * self._exchange_pause, EXCHANGE_SELDOM)
        roster.timers.set(EXCHANGE, turn.now + roster.jittered(self._exchange_pause))

    def maintain(self, turn: Turn) -> None:
        """Fill one row from a broker in it, and see after entries whose link was closed as idle."""
        roster, tables = self._roster, self._roster.tables
        roster.offer_measured()
        rows = tables.rows()
        if rows:
            row = roster.rng.choice(rows)
            peer = roster.rng.choice(tables.row(row))
            roster.links.send(turn, peer.id, RowRequest(row))
        asleep = [peer for peer in tables.entries() if not roster.links.is_up(peer.id)]
        for peer in roster.rng.sample(asleep, min(MAINTAIN_HAILS, len(asleep))):
            roster.hail(turn, peer)
        roster.timers.set(MAINTAIN, turn.now + roster.jittered(self._maintain_pause))
        self._maintain_pause = min(2 * self._maintain_pause, MAINTAIN_EVERY)

    def look_for_missing(self, turn: Turn) -> None:
        """Ask some of the missing brokers whether they are back."""
        roster = self._roster
        for peer in roster.missing.pop_due(turn.now):
            roster.hail(turn, peer)
        due = roster.missing.next_due(turn.now)
        if due is not None:
            roster.timers.set(LOOK, due)

    def merge(self, turn: Turn) -> None:
        """Lost brokers are back, perhaps with a ring of their own: find our neighbours there and be known to them."""
        roster = self._roster
        returned, roster.returned = roster.returned, []
        for peer in returned:
            if not roster.active:
                continue
            roster.send_leaves(turn, peer.id, wants_reply=True)
            if turn.now - self._merged_at >= MERGE_EVERY:
                self._merged_at = turn.now
                self._ask_for_neighbours(turn, peer)

    def _ask_for_neighbours(self, turn: Turn, peer: Peer) -> None:
        self._roster.links.send(turn, peer.id, JoinRequest(self._roster.me, 0))

    def part(self, turn: Turn) -> None:
        """Tell everybody who may count on us that we leave, with our leaf set for the gap."""
        roster = self._roster
        if roster.phase is not Phase.LEFT:
            roster.become_left(turn)
        parting = Leave(tuple(roster.tables.leaves.members()))
        # Owners of groups that we are in may lie anywhere on the ring: they have links to us.
        known = dict.fromkeys(peer.id for peer in (*roster.tables.everybody(), *roster.links.up()))
        for broker in (*known, *(joiner for joiner in roster.joining if joiner not in known)):
            roster.links.send(turn, broker, parting)
        roster.timers.set(PART, turn.now + roster.jittered(self._part_pause))
        self._part_pause = min(2 * self._part_pause, PART_AGAIN_MAX)
