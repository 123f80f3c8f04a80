"""When should an epoch change? The one place that knows why a group proposes, waits, hands over or takes over.

Owns: the decisions. Must not know: how an epoch is chosen (Election), how rows travel (Replication, Loading).
Stimuli: a group that something happened to (`consider`), time.
"""

from __future__ import annotations

import enum

import msgspec

from causeway.core.events import OwnershipResumed
from causeway.core.groups.directory import Directory
from causeway.core.groups.election import Election
from causeway.core.groups.loading import Loading
from causeway.core.groups.registry import ROOT, Registry
from causeway.core.groups.replication import Replication
from causeway.core.groups.state import Group, bears_one_loss, is_quorum, voters
from causeway.core.groups.witnesses import witnesses_of
from causeway.core.machine import Turn
from causeway.core.messages import Inquire, Member

AUDIT_EVERY = 25
"""Heartbeats between two questions of a member to its group's owner."""

WITNESS_PATIENCE = 4
"""So many times the patience of a migration, and up to twice that, a group goes on with fewer witnesses than it could,
unless their votes are lost for good.
A broker is witness of many groups, on both ways of critical topics too: they shall not all stand still at once."""


class Unlike(enum.Enum):
    """What about a group is not as it is wanted."""

    MEMBERS = enum.auto()
    """Its members, or which of them owns it."""
    WITNESSES = enum.auto()
    """Some of them alone."""


class Policy:
    """Looks at one group at a time."""

    def __init__(
        self,
        registry: Registry,
        election: Election,
        replication: Replication,
        loading: Loading,
        directory: Directory,
    ) -> None:
        self._r = registry
        self._election = election
        self._replication = replication
        self._loading = loading
        self._directory = directory

    def consider(self, turn: Turn, group: Group) -> None:
        """Something happened to the group: is another epoch due, now or later?"""
        r = self._r
        if group.member(r.me.id) is None:
            return
        tenure = group.tenure
        if tenure is None:
            if self.leaderless(group):
                self._schedule_takeover(turn, group)
            return
        if self._loading.repairing(group.key):
            return  # whoever is silent now may hold what is damaged here: nobody goes before it is mended
        lost = [m for m in group.config.members if m.peer.id in r.suspected or m.peer.id in group.gone]
        if lost or tenure.behind or tenure.ending:
            self.propose(turn, group)
            return
        if group.meta.promised[0]:
            # Promised, to ourselves perhaps, and never chosen: nothing can be appended before some epoch is.
            wait = r.settings.retry * 2 + r.rng.randrange(r.settings.retry)
            r.deadlines.set_if_unset(("fenced", group.key), turn.now + wait)
            return
        if tenure.blocked:
            tenure.blocked = False
            turn.tell(OwnershipResumed(group.key))
        if group.config.incomplete:
            if all(b in tenure.whole for b in group.config.incomplete):
                self.propose(turn, group)
            return
        if self._unlike(group) is None:
            r.deadlines.cancel(("migrate", group.key))
            if tenure.frozen and not group.meta.promised[0]:
                tenure.frozen = False
                self._replication.begin(turn, group)
        elif tenure.frozen:
            self.migrate(turn, group)
        else:
            self._schedule_migration(turn, group)
        self._directory.report(turn, group)

    def _schedule_migration(self, turn: Turn, group: Group) -> None:
        r = self._r
        if r.leaving:
            r.deadlines.set_if_unset(("migrate", group.key), turn.now + r.settings.retry)
        elif self._unlike(group) is Unlike.WITNESSES:
            # A vote that is lost with its storage never counts again, and without disks every restart loses one.
            void = any(m.peer.id in group.gone for m in group.config.witnesses)
            wait = r.settings.migrate_after * (1 if void else WITNESS_PATIENCE)
            if self.exposed(group):
                wait = min(wait, r.settings.retry)
            r.deadlines.set_sooner(("migrate", group.key), turn.now + wait + r.rng.randrange(wait))
        else:
            r.deadlines.set_sooner(("migrate", group.key), turn.now + r.settings.migrate_after)

    def _unlike(self, group: Group) -> Unlike | None:
        """What is not as it is wanted, if anything."""
        wanted = self._r.wanted(group)
        placed = self._r.placed(group.config.name) is not None
        if not wanted or not (self._r.ring.active or self._r.leaving or placed):
            return None
        present = {m.peer.id for m in group.config.members}
        if present != {p.id for p in wanted} or (group.key != ROOT and group.config.owner != wanted[0].id):
            return Unlike.MEMBERS
        able = [m.peer for m in group.config.witnesses if m.peer.id not in group.gone]
        living = [peer.id for peer in able if self._r.is_eligible(peer)]
        could = witnesses_of(self._r, group.key, group.config.members, group.config, living, gone=group.gone)
        return Unlike.WITNESSES if len(living) < len(could) or self.exposed(group) else None

    def exposed(self, group: Group) -> bool:
        """Whether the next broker that fails may stop a group we own, though there are brokers enough to prevent it."""
        if group.tenure is None:
            return False
        gone = {**self._r.suspected, **group.gone}
        able = [m.peer.id for m in voters(group.config) if m.peer.id not in gone]
        if bears_one_loss(group.config, able):
            return False
        members = [Member(peer, peer.store) for peer in self._r.wanted(group)]
        beside = witnesses_of(self._r, group.key, members, None)
        wanted = msgspec.structs.replace(group.config, members=tuple(members), incomplete=(), witnesses=beside)
        return bears_one_loss(wanted, [m.peer.id for m in voters(wanted)])

    def migrate(self, turn: Turn, group: Group) -> None:
        """The ring has wanted other members for long enough: bring newcomers in, then hand over."""
        tenure = group.tenure
        if tenure is None or group.config.incomplete or self._unlike(group) is None:
            return
        present = {m.peer.id for m in group.config.members}
        if all(p.id in present for p in self._r.wanted(group)):
            # Nobody new is needed, so the owner or the number of members changes: let everybody come level first.
            tenure.frozen = True
            if tenure.pending:
                return
        self.propose(turn, group)

    def leaderless(self, group: Group) -> bool:
        """Whether the epoch has no acting owner, as far as we can see."""
        owner = group.config.owner
        if owner == self._r.me.id:
            return group.tenure is None
        return owner in self._r.suspected or owner in group.gone

    def _schedule_takeover(self, turn: Turn, group: Group) -> None:
        """The member closest to the key goes first, the others only if it does not manage."""
        able = [m.peer.id for m in group.config.members if m.peer.id not in self._r.suspected]
        able = [b for b in able if b not in group.config.incomplete and b != group.config.owner] or able
        rank = able.index(self._r.me.id) if self._r.me.id in able else len(able)
        wait = rank * self._r.settings.retry
        self._r.deadlines.set_if_unset(("takeover", group.key), turn.now + wait)

    def propose(self, turn: Turn, group: Group) -> None:
        """Begin an election, or (too few can be reached) stop accepting and try again later."""
        gone = {**self._r.suspected, **group.gone}
        reachable = [m.peer.id for m in voters(group.config) if m.peer.id not in gone]
        if is_quorum(group.config, reachable):
            if group.tenure is None and group.previous is None:
                # Taken up from our storage: people may have let it go on without us while we were away.
                self._directory.look_up(turn, group)
            self._election.propose(turn, group)
        else:
            if group.tenure is not None:
                group.tenure.blocked = True
            wait = self._r.settings.retry * 2 + self._r.rng.randrange(self._r.settings.retry)
            timer = ("takeover" if group.tenure is None else "fenced", group.key)
            if timer not in self._r.deadlines:
                # Perhaps the group went on without us, and nobody we know of is left in it to say so.
                self._directory.look_up(turn, group)
            self._r.deadlines.set(timer, turn.now + wait)

    def audit(self, turn: Turn, group: Group) -> None:
        """A member asks its owner now and then whether its epoch is still the latest; a former one asks them all."""
        r = self._r
        wait = AUDIT_EVERY * r.settings.heartbeat
        if group.member(r.me.id) is None:
            for member in group.config.members:
                r.send(turn, member.peer.id, Inquire(group.key, group.config.epoch))
            wait = 4 * r.settings.retry  # we only keep its rows, or its epoch, until its owner needs neither
        elif group.tenure is None and group.config.owner != r.me.id:
            if self.leaderless(group):
                r.touch(group.key)
            else:
                r.send(turn, group.config.owner, Inquire(group.key, group.config.epoch))
        r.deadlines.set(("audit", group.key), turn.now + wait + r.rng.randrange(wait))
