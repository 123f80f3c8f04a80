"""Entering, keeping and leaving groups: what a broker does with a chosen configuration.

Owns: installing an epoch, giving up a group that went on without us, proving a membership by its token.
Must not know: how an epoch is chosen (Election) or how rows travel (Replication).
"""

from __future__ import annotations

from causeway.core.events import OwnershipLost
from causeway.core.groups.registry import Registry
from causeway.core.groups.replication import Replication
from causeway.core.groups.state import END, Group, Meta, member_of, voters
from causeway.core.machine import Turn
from causeway.core.messages import Chosen, Config, Inquire, Installed, Member, NotMember, Outdated, Prepare
from causeway.limits import GROUPS_VOID_MAX
from causeway.store.base import LOCAL, Delete, Put, Write
from causeway.types import BrokerId, Key, Peer

FIRST_SEQ = 1
"""Numbers start at 1, like ids: 0 is free to mean "before everything"."""


class Membership:
    """Installs what was chosen."""

    def __init__(self, registry: Registry, replication: Replication) -> None:
        self._r = registry
        self._replication = replication

    def found(self, turn: Turn, key: Key, name: str) -> None:
        """Begin a group of our own: only the root, only by the founder of a cluster."""
        config = Config(name, 1, self._r.me.id, (Member(self._r.me, self._r.me.store),), (), 1)
        self._install(turn, key, config, config.members[0], FIRST_SEQ)

    def admit(self, turn: Turn, peer: Peer, head: Prepare) -> Group | None:
        """The group of a Prepare, brought to its epoch; None (answered) when we are not the member it means."""
        r = self._r
        mine = member_of(head.config, r.me.id)
        if mine is None or r.has_left(head.group, head.config):
            # It was away when the group went on, or ended; perhaps nobody it knows is a member any more.
            ended = r.has_ended(head.group, head.config)
            later = r.ended[head.group] if ended else r.learned.get(head.group)
            if later is not None and (later.born, later.epoch) > (head.config.born, head.config.epoch):
                r.send(turn, peer.id, Outdated(head.group, later))
            return None
        group = r.groups.get(head.group)
        if group is not None and group.config.epoch > head.config.epoch:
            return group
        if not self._is_mine(turn, peer, head.group, head.config, mine):
            return None
        if group is None or group.config.epoch < head.config.epoch:
            fresh = head.config.born == head.config.epoch
            if group is None and not fresh and r.me.id not in head.config.incomplete:
                # We are said to hold rows and know nothing of the group: whatever we had is lost.
                self._renounce(turn, peer, head.group, head.config)
                return None
            base = group.position[1] if group is not None else FIRST_SEQ
            self._install(turn, head.group, head.config, mine, base)
        return r.groups[head.group]

    def on_chosen(self, turn: Turn, peer: Peer, head: Chosen) -> None:
        r = self._r
        if r.has_left(head.group, head.config):
            return
        r.learn(head.group, head.config)
        group = r.groups.get(head.group)
        mine = member_of(head.config, r.me.id)
        if group is not None and group.config.epoch > head.config.epoch:
            r.send(turn, peer.id, Outdated(head.group, group.config))
            return
        if mine is None:
            if group is not None:
                self._superseded(turn, group, peer, head)
            return
        if not self._is_mine(turn, peer, head.group, head.config, mine):
            return
        if group is not None and group.config.epoch == head.config.epoch:
            if head.config.owner == peer.id and peer.id != r.me.id:
                r.persist(turn, (), peer.id, Installed(head.group, head.config.epoch, group.position[1]))
            return
        if r.me.id in head.config.incomplete:
            if head.base < 0:
                return  # its owner will say where the epoch begins
        elif group is None and head.config.born != head.config.epoch:
            self._renounce(turn, peer, head.group, head.config)
            return
        self._install(turn, head.group, head.config, mine, head.base)

    def take_up(self, turn: Turn, key: Key, config: Config) -> None:
        """Be the member that a configuration from elsewhere calls us.

        If we owned it from its birth and our storage was lost since, perhaps nobody else has heard of it.
        """
        r = self._r
        self.on_chosen(turn, r.me, Chosen(key, config))
        if key not in r.groups and config.owner == r.me.id and config.born == config.epoch:
            for member in config.members:
                if member.peer.id != r.me.id:
                    r.send(turn, member.peer.id, Chosen(key, config))
                    r.send(turn, member.peer.id, NotMember(key, config.epoch, r.token_for(key)))

    def remind(self, turn: Turn, key: Key, broker: BrokerId) -> None:
        """The owner of a newborn group may not have heard of it yet. A broker without a link to us may be gone: whoever
        we send there comes back to us, and by then we shall know."""
        r = self._r
        config = r.config_of(key)
        if config is not None and config.epoch == config.born and config.owner == broker:
            r.send(turn, broker, Chosen(key, config))
        elif not r.links.is_up(broker):
            r.send(turn, broker, Inquire(key, config.epoch if config is not None else 0))

    def on_outdated(self, turn: Turn, peer: Peer, head: Outdated) -> None:
        """Somebody knows a later epoch."""
        self.on_chosen(turn, peer, Chosen(head.group, head.config))

    def on_resolved(self, turn: Turn, peer: Peer, key: Key, config: Config) -> None:
        """The directory knows an epoch: of a group that we are a member of, perhaps a later one than we do."""
        group = self._r.groups.get(key)
        if group is not None and (config.born, config.epoch) > (group.config.born, group.config.epoch):
            self.on_chosen(turn, peer, Chosen(key, config))

    def on_inquire(self, turn: Turn, peer: Peer, head: Inquire) -> None:
        """A member asks where its group is."""
        r = self._r
        group = r.groups.get(head.group)
        if group is None:
            heard = r.config_of(head.group)
            if heard is not None and heard.epoch > head.epoch:
                r.send(turn, peer.id, Outdated(head.group, heard))
            elif heard is None or member_of(heard, r.me.id) is not None:
                r.send(turn, peer.id, NotMember(head.group, head.epoch, r.token_for(head.group)))
            return
        if group.tenure is not None and group.config.epoch >= head.epoch:
            if group.config.epoch == head.epoch and group.is_level_with(peer.id):
                return  # it has what we have, and we know it: as nearly always
            # After our own write of that epoch: who asks may forget its rows on this word.
            r.persist(turn, (), peer.id, Chosen(head.group, group.config, group.tenure.base))
        elif group.config.epoch > head.epoch:
            r.send(turn, peer.id, Outdated(head.group, group.config))
        elif group.config.epoch < head.epoch:
            r.send(turn, peer.id, Inquire(head.group, group.config.epoch))  # the news never reached us

    def on_not_member(self, turn: Turn, peer: Peer, head: NotMember) -> None:
        """A voter's storage does not know the group any more: it must come in anew."""
        group = self._r.groups.get(head.group)
        voter = None if group is None else group.voter(peer.id)
        if group is None or voter is None or head.epoch != group.config.epoch:
            return
        if voter.token == head.token and (group.member(peer.id) is None or peer.id in group.config.incomplete):
            return  # it merely has not heard of this epoch yet
        group.gone[peer.id] = head.token
        self._r.touch(head.group)

    def lost_storage(self, group: Group, peer: Peer) -> None:
        """Take note if a voter has other storage than it was admitted with: its promises and rows are lost."""
        voter = group.voter(peer.id)
        if voter is not None and peer.store not in (voter.peer.store, voter.token):
            group.gone[peer.id] = peer.store
            self._r.touch(group.key)

    # Inside ----------------------------------------------------------------------------------------------------
    def _is_mine(self, turn: Turn, peer: Peer, key: Key, config: Config, mine: Member) -> bool:
        """Whether a membership is that of our storage as it is now; if not, the peer is told what would be."""
        r = self._r
        group = r.groups.get(key)
        stands = group is not None and member_of(group.config, r.me.id) is not None
        token = group.meta.token if group is not None and stands else r.token_for(key)
        if mine.token != token:
            r.send(turn, peer.id, NotMember(key, config.epoch, r.token_for(key)))
        return mine.token == token

    def _renounce(self, turn: Turn, peer: Peer, key: Key, config: Config) -> None:
        """Draw another token for the group, and say so: the old one stood for rows that are gone."""
        r = self._r
        if len(r.void) >= GROUPS_VOID_MAX and key not in r.void:
            return
        token = r.rng.getrandbits(62) + 1
        r.void[key] = token
        r.persist_silently(turn, [void_row(key, token)])
        r.send(turn, peer.id, NotMember(key, config.epoch, token))

    def _install(self, turn: Turn, key: Key, config: Config, mine: Member, base: int) -> None:
        r = self._r
        group = r.groups.get(key)
        writes: list[Write] = []
        seq = FIRST_SEQ
        reborn = group is not None and group.config.born != config.born
        if reborn:
            writes.append(Delete(key, b"", END))  # rows of an earlier life of the same name
        elif group is not None:
            seq = group.position[1]
        if r.me.id in config.incomplete:
            seq = base
        meta = Meta(config, mine.token)
        owned = None
        r.watch(None if group is None else group.config, config)
        if group is None:
            group = r.groups[key] = Group(key, meta, (config.epoch, seq))
        else:
            owned = group.tenure
            group.previous = None if reborn else group.config
            group.meta, group.position = meta, (config.epoch, seq)
            if reborn and owned is not None:  # its end passed us by: nothing we answered for belongs to the next life
                owned = group.tenure = None
                turn.tell(OwnershipLost(key, config))
        group.attempt = None
        group.gone.clear()
        group.ballot_seen = group.tries = 0
        for timer in ("attempt", "grace", "fenced", "takeover"):
            r.deadlines.cancel((timer, key))
        r.learn(key, config)
        for voter in voters(config):
            known = r.links.peer(voter.peer.id) if r.links.is_up(voter.peer.id) else None
            if known is not None:
                self.lost_storage(group, known)  # since it was named; its return passed whoever did not know the group
        writes += r.save(group)
        if config.owner == r.me.id:
            self._replication.begin(turn, group)
            r.persist_own(turn, group, writes, seq)
        else:
            r.persist(turn, writes, config.owner, Installed(key, config.epoch, seq))
            group.tenure = None
            if owned is not None:
                turn.tell(OwnershipLost(key, config))
            r.deadlines.set_if_unset(("audit", key), turn.now + 4 * r.settings.retry)
        r.touch(key)

    def _superseded(self, turn: Turn, group: Group, peer: Peer, head: Chosen) -> None:
        """The group went on without us. Our rows, or our word of its epoch, may be the last till its owner has both."""
        r, config = self._r, head.config
        owned = group.tenure is not None
        told_by_owner = peer.id == config.owner and head.base >= 0
        if not config.members or (told_by_owner and not config.incomplete):
            del r.groups[group.key]
            r.watch(group.config, None)
            r.persist_silently(turn, r.leave(group.key, config))
            for timer in ("attempt", "grace", "fenced", "takeover", "audit", "doubt", "retry", "migrate"):
                r.deadlines.cancel((timer, group.key))
        else:
            if config.epoch > group.config.epoch:
                r.watch(group.config, config)
                group.meta = Meta(config, group.meta.token)
                group.tenure = group.attempt = None
                r.persist_silently(turn, r.save(group))
            if not told_by_owner:
                r.send(turn, config.owner, Inquire(group.key, config.epoch))
            r.deadlines.set(("audit", group.key), turn.now + 4 * r.settings.retry)
        if owned:
            turn.tell(OwnershipLost(group.key, config))


def void_row(key: Key, token: int) -> Write:
    """Remembers that our membership in a group was lost."""
    return Put(LOCAL, b"v" + key, 0, token.to_bytes(8, "big"))
