"""Choosing the next epoch of a group: promises from a majority of this epoch, then one configuration accepted.

Single-decree Paxos per epoch, whose acceptors are the members of the epoch before (ADR 0002). Stimuli: a group
that should change (`propose`), the four messages, time (`on_grace`, `give_up`).
"""

from __future__ import annotations

import msgspec

from causeway.core.groups.registry import Registry
from causeway.core.groups.state import Attempt, Group, is_quorum, majority, plan_next, voters
from causeway.core.groups.witnesses import witnesses_of
from causeway.core.machine import Turn
from causeway.core.messages import (
    Accept,
    Adopted,
    Chosen,
    NotMember,
    Outbid,
    Outdated,
    Prepare,
    Promised,
)
from causeway.types import MILLISECOND, Peer

GRACE = 100 * MILLISECOND
"""How long a proposer that has a quorum waits for the other living members: who answers need not be copied anew."""


TRIES_DOUBLED = 3
"""The patience with an attempt doubles so often while attempts take too long."""


class Election:
    """Proposer and acceptor."""

    def __init__(self, registry: Registry) -> None:
        self._r = registry

    # Proposer --------------------------------------------------------------------------------------------------
    def propose(self, turn: Turn, group: Group) -> None:
        """Ask all members of this epoch to promise."""
        r = self._r
        number = max(group.meta.promised[0], group.ballot_seen) + 1
        group.attempt = Attempt((number, r.me.id))
        r.deadlines.cancel(("grace", group.key))
        # Brokers that are too busy to answer in time are not helped by more questions.
        wait = r.settings.retry * 2 + r.rng.randrange(r.settings.retry)
        r.deadlines.set(("attempt", group.key), turn.now + (wait << min(group.tries, TRIES_DOUBLED)))
        for voter in voters(group.config):
            r.send(turn, voter.peer.id, Prepare(group.key, group.config, group.attempt.ballot))

    def give_up(self, turn: Turn, group: Group) -> None:
        """The attempt took too long; whoever still wants a change tries again with a higher ballot."""
        group.attempt = None
        group.tries += 1
        self._r.touch(group.key)

    def on_promised(self, turn: Turn, peer: Peer, head: Promised) -> None:
        group = self._r.groups.get(head.group)
        if group is None or group.attempt is None or head.ballot != group.attempt.ballot:
            return
        if head.epoch != group.config.epoch + 1 or group.attempt.next is not None or group.voter(peer.id) is None:
            return
        group.attempt.promises[peer.id] = head
        self._maybe_accept(turn, group)

    def on_grace(self, turn: Turn, group: Group) -> None:
        """Enough waiting: go on with the promises at hand."""
        if group.attempt is not None and group.attempt.next is None:
            group.attempt.grace = turn.now
            self._maybe_accept(turn, group)

    def _maybe_accept(self, turn: Turn, group: Group) -> None:
        attempt, r = group.attempt, self._r
        assert attempt is not None
        if not is_quorum(group.config, [b for b in attempt.promises if b not in group.gone]):
            return
        missing = [
            m
            for m in group.config.members
            if m.peer.id not in attempt.promises and m.peer.id not in r.suspected and m.peer.id not in group.gone
        ]
        if missing and not attempt.grace:
            r.deadlines.set_if_unset(("grace", group.key), turn.now + GRACE)
            return
        bound = {p.accepted_ballot: p.accepted for p in attempt.promises.values() if p.accepted_ballot is not None}
        if bound:
            # Somebody may have chosen this already: the same value must be chosen again, whoever wished for what.
            attempt.next = bound[max(bound)]
        else:
            plan = plan_next(group, r.wanted(group), r.me.id, r.suspected)
            witnesses = witnesses_of(r, group.key, plan.members, group.config, attempt.promises, gone=group.gone)
            attempt.next = msgspec.structs.replace(plan, witnesses=witnesses)
        assert attempt.next is not None
        for voter in voters(group.config):
            r.send(turn, voter.peer.id, Accept(group.key, attempt.ballot, attempt.next))

    def on_adopted(self, turn: Turn, peer: Peer, head: Adopted) -> None:
        r = self._r
        group = r.groups.get(head.group)
        if group is None or group.attempt is None or head.ballot != group.attempt.ballot:
            return
        attempt = group.attempt
        if attempt.next is None or head.epoch != attempt.next.epoch or group.voter(peer.id) is None:
            return
        attempt.adopted[peer.id] = None
        if len(attempt.adopted) < majority(group.config):
            return
        chosen = Chosen(group.key, attempt.next)
        voted = [m for m in group.config.witnesses if m.peer.id in attempt.promises or m.peer.id in attempt.adopted]
        told = {m.peer.id: None for m in (*group.config.members, *attempt.next.members, *voted)}
        group.attempt = None
        r.deadlines.cancel(("attempt", group.key))
        r.deadlines.cancel(("grace", group.key))
        for broker in told:
            r.send(turn, broker, chosen)

    def on_outbid(self, turn: Turn, peer: Peer, head: Outbid) -> None:
        group = self._r.groups.get(head.group)
        if group is None or head.epoch != group.config.epoch + 1:
            return
        group.ballot_seen = max(group.ballot_seen, head.ballot[0])
        if group.attempt is None:
            # An owner learns that its copies promised to somebody else: it must win an epoch to go on.
            if group.tenure is not None:
                self._r.deadlines.set_if_unset(("fenced", group.key), turn.now + self._r.settings.retry)
            return
        if head.ballot > group.attempt.ballot:
            group.attempt = None
            wait = self._r.settings.retry + self._r.rng.randrange(self._r.settings.retry)
            self._r.deadlines.set(("attempt", group.key), turn.now + wait)

    # Acceptor --------------------------------------------------------------------------------------------------
    def on_prepare(self, turn: Turn, peer: Peer, head: Prepare, group: Group) -> None:
        """`group` is ours at least at the epoch of the request (Membership saw to that)."""
        r = self._r
        if group.config.epoch > head.config.epoch:
            r.send(turn, peer.id, Outdated(head.group, group.config))
            return
        if head.ballot < group.meta.promised:
            r.send(turn, peer.id, Outbid(head.group, group.config.epoch + 1, group.meta.promised))
            return
        meta = group.meta
        group.meta = msgspec.structs.replace(meta, promised=head.ballot)
        promise = Promised(
            head.group,
            group.config.epoch + 1,
            head.ballot,
            group.position[0],
            group.position[1],
            meta.accepted_ballot,
            meta.accepted,
        )
        # Operations were handed to the store before this write, so the position promised is durable with it.
        r.persist(turn, r.save(group), peer.id, promise)
        if group.tenure is not None:
            r.touch(group.key)  # fenced by somebody who may never finish

    def on_accept(self, turn: Turn, peer: Peer, head: Accept) -> None:
        r = self._r
        group = r.groups.get(head.group)
        if group is None or group.member(r.me.id) is None:
            r.send(turn, peer.id, NotMember(head.group, head.next.epoch - 1, r.token_for(head.group)))
            return
        if group.config.epoch >= head.next.epoch:
            r.send(turn, peer.id, Outdated(head.group, group.config))
            return
        if group.config.epoch + 1 != head.next.epoch:
            return
        if head.ballot < group.meta.promised:
            r.send(turn, peer.id, Outbid(head.group, head.next.epoch, group.meta.promised))
            return
        group.meta = msgspec.structs.replace(
            group.meta, promised=head.ballot, accepted_ballot=head.ballot, accepted=head.next
        )
        r.persist(turn, r.save(group), peer.id, Adopted(head.group, head.next.epoch, head.ballot))
