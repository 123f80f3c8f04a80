"""Witnesses: brokers without a copy of a group that vote on its next epoch.

With three copies alone, two that die at once leave nobody who may decide, although the third one has everything that
was acknowledged. Witnesses make the majority larger than the copies: one complete copy and enough of them go on (ADR
0017).

A witness keeps nothing of a group until it is asked to promise, so they cost nothing while nobody fails.

Owns: the acceptor's side at a witness, its rows (LOCAL, "w" + key), and who should be one.
Must not know: members, rows of a group, when an epoch changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

from causeway.core.groups.registry import Registry
from causeway.core.groups.state import Meta, decode_meta, member_in
from causeway.core.machine import Turn
from causeway.core.messages import (
    Accept,
    Adopted,
    Chosen,
    Config,
    Member,
    NotMember,
    Outbid,
    Outdated,
    Prepare,
    Promised,
)
from causeway.store.base import LOCAL, Delete, Put, Row
from causeway.types import BrokerId, Key, Peer

ROW = b"w"
EMPTY: Mapping[BrokerId, int] = MappingProxyType({})
_encode = msgspec.msgpack.encode


class Witnesses:
    """The groups that this broker has voted on without being a member."""

    def __init__(self, registry: Registry) -> None:
        self._r = registry
        self._votes: dict[Key, Meta] = {}

    def recover(self, rows: Iterable[Row]) -> None:
        """What we promised in former lives."""
        for row in rows:
            if row.key[:1] == ROW:
                self._votes[Key(row.key[1:])] = decode_meta(row.value)

    # Acceptor --------------------------------------------------------------------------------------------------
    def on_prepare(self, turn: Turn, peer: Peer, head: Prepare) -> bool:
        """Promise, if it is as a witness that we are asked; whether it is."""
        r, known = self._r, self._votes.get(head.group)
        mine = member_in(head.config.witnesses, r.me.id)
        if mine is None:
            return False
        if known is not None and _age(known.config) > _age(head.config):
            r.send(turn, peer.id, Outdated(head.group, known.config))
            return True
        if known is None or _age(known.config) < _age(head.config):
            # A former member may be witness of the epoch in which it was let go: of that one it has forgotten nothing.
            if _age(head.config) < r.left.get(head.group, (0, 0)):
                later = r.learned.get(head.group)
                if later is not None and _age(later) > _age(head.config):
                    r.send(turn, peer.id, Outdated(head.group, later))
                return True
            known = Meta(head.config, mine.token)
        if known.token != r.token_for(head.group):
            # What we promised is lost with the storage we had: we do not count before an epoch names the new one.
            r.send(turn, peer.id, NotMember(head.group, head.config.epoch, r.token_for(head.group)))
            return True
        if head.ballot < known.promised:
            r.send(turn, peer.id, Outbid(head.group, head.config.epoch + 1, known.promised))
            return True
        promise = Promised(head.group, head.config.epoch + 1, head.ballot, 0, 0, known.accepted_ballot, known.accepted)
        self._keep(turn, head.group, msgspec.structs.replace(known, promised=head.ballot), peer, promise)
        return True

    def on_accept(self, turn: Turn, peer: Peer, head: Accept) -> bool:
        """Adopt, if it is as a witness that we promised; whether it is."""
        r, known = self._r, self._votes.get(head.group)
        if known is None or head.group in r.groups:
            return False
        if known.config.epoch >= head.next.epoch:
            r.send(turn, peer.id, Outdated(head.group, known.config))
        elif known.config.epoch + 1 == head.next.epoch and known.token == r.token_for(head.group):
            if head.ballot < known.promised:
                r.send(turn, peer.id, Outbid(head.group, head.next.epoch, known.promised))
            else:
                vote = msgspec.structs.replace(
                    known, promised=head.ballot, accepted_ballot=head.ballot, accepted=head.next
                )
                self._keep(turn, head.group, vote, peer, Adopted(head.group, head.next.epoch, head.ballot))
        return True

    def on_chosen(self, turn: Turn, head: Chosen) -> None:
        """What we voted on is decided: stand by for the next epoch, or remember only that it went on."""
        r, known = self._r, self._votes.get(head.group)
        if known is None or _age(known.config) >= _age(head.config):
            return
        mine = member_in(head.config.witnesses, r.me.id)
        if mine is not None and mine.token == r.token_for(head.group):
            vote = self._votes[head.group] = Meta(head.config, mine.token)
            r.persist_silently(turn, [Put(LOCAL, ROW + head.group, 0, _encode(vote))])
            return
        del self._votes[head.group]
        forget = [Delete(LOCAL, ROW + head.group)]
        if head.group not in r.groups and member_in(head.config.members, r.me.id) is None:
            r.persist_silently(turn, [*forget, *r.leave(head.group, head.config)])
        else:
            r.persist_silently(turn, forget)  # as a member we remember it better

    def _keep(self, turn: Turn, key: Key, vote: Meta, to: Peer, reply: Promised | Adopted) -> None:
        self._votes[key] = vote
        self._r.persist(turn, [Put(LOCAL, ROW + key, 0, _encode(vote))], to.id, reply)


def _age(config: Config) -> tuple[int, int]:
    return config.born, config.epoch


def witnesses_of(
    registry: Registry,
    key: Key,
    members: Iterable[Member],
    was: Config | None,
    promised: Iterable[BrokerId] = (),
    *,
    gone: Mapping[BrokerId, int] = EMPTY,
) -> tuple[Member, ...]:
    """Who should vote beside these members: those that just promised first, then the nearest on the ring.

    Of those in `gone` another storage than they voted with is known: they come in anew, under the token given there.

    All together are an odd number, for an even one tolerates no more failures. Who was a member until now is none, so
    that nobody is asked in two parts for the same epoch. A group of more members than any that the ring makes, as the
    agents of a domain are, has voters enough: there a majority of members decides.
    """
    held = [member.peer.id for member in members]
    taken = dict.fromkeys([*held, *(m.peer.id for m in (was.members if was is not None else ()))])
    settings = registry.settings
    most = settings.witnesses if 1 < len(held) <= max(settings.copies, settings.root_copies) else 0
    able = dict.fromkeys(promised)
    kept = [m for m in (was.witnesses if was is not None else ()) if m.peer.id in able]
    found = {m.peer.id: m for m in kept if m.peer.id not in taken}
    for peer in registry.near(key, len(taken) + most) if most else []:
        if peer.id not in taken and registry.is_eligible(peer):
            found.setdefault(peer.id, Member(peer, gone.get(peer.id, peer.store)))
    count = min(most, len(found))
    count -= (len(held) + count + 1) % 2
    return tuple(found.values())[: max(0, count)]
