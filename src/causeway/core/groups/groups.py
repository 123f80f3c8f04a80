"""Replica groups: who may acknowledge for a key, and the one way to write for it (ports.Groups).

Owns: routing of the protocol's messages and timers to its parts.
Stimuli: messages of members, our store, links that come and go, the ring, time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Final

from causeway.config import BrokerConfig
from causeway.core.deadlines import Alarm
from causeway.core.events import PageLoaded, PeerMessage
from causeway.core.groups.directory import Directory
from causeway.core.groups.election import Election
from causeway.core.groups.loading import Loading, Purpose, bulk_interval, other_interval
from causeway.core.groups.membership import Membership
from causeway.core.groups.policy import Policy
from causeway.core.groups.recovery import recover
from causeway.core.groups.registry import ROOT, ROOT_NAME, Registry, Timer, TraceCopies
from causeway.core.groups.replication import Replication
from causeway.core.groups.salvage import Salvages
from causeway.core.groups.state import Tenure, described, is_quorum, member_of, shortage, voters
from causeway.core.groups.witnesses import Witnesses
from causeway.core.machine import Then, Turn
from causeway.core.messages import (
    Accept,
    Adopted,
    Chosen,
    Chunk,
    Chunked,
    Config,
    Copied,
    Enter,
    Entered,
    Fetch,
    Fetched,
    Inquire,
    Installed,
    Leave,
    Message,
    NotMember,
    Outbid,
    Outdated,
    Prepare,
    Promised,
    Replicate,
    Resolve,
    Resolved,
    Salvage,
)
from causeway.core.messages.soundness import group_fault
from causeway.core.ports import Links, Ring
from causeway.limits import CHUNK_BYTES_MAX, GROUPS_SETTLED_MAX
from causeway.store.base import Page, Put, Row, Write
from causeway.types import BrokerId, Instant, Key, Peer, key_of

SETTLE: Final[Timer] = ("settle", b"")
"""More groups were touched than one turn reconsiders."""


class Groups:
    """All groups this broker has to do with."""

    def __init__(
        self, config: BrokerConfig, links: Links, ring: Ring, rng: random.Random, *, alarm: Alarm | None = None
    ) -> None:
        self._r = Registry(config, links, ring, rng, alarm=alarm)
        self._replication = Replication(self._r)
        self._membership = Membership(self._r, self._replication)
        self._election = Election(self._r)
        self._witnesses = Witnesses(self._r)
        self._loading = Loading(self._r)
        self.directory = Directory(self._r, self)
        self._salvages = Salvages(self._r, self._membership, self.directory)
        self._policy = Policy(self._r, self._election, self._replication, self._loading, self.directory)
        self._taking: dict[Key, list[Row]] = {}
        self._settled = 0
        """Groups that this turn has reconsidered."""

    # ports.Groups ----------------------------------------------------------------------------------------------
    def config(self, group: Key) -> Config | None:
        return self._r.config_of(group)

    def owned(self, group: Key) -> bool:
        known = self._r.groups.get(group)
        return known is not None and known.tenure is not None and known.tenure.loaded

    def serving(self, group: Key) -> bool:
        known = self._r.groups.get(group)
        return known is not None and self._replication.may_append(known)

    def position(self, group: Key) -> int:
        return self._r.groups[group].position[1]

    def append(self, turn: Turn, group: Key, writes: Sequence[Write], span: int, then: Then | None = None) -> None:
        self._replication.append(turn, self._r.groups[group], writes, span, then)
        if self._loading.repairing(group):
            self._loading.supersede(turn, group, writes)
            self._settle(turn)

    def blocked(self, group: Key) -> str | None:
        """Why nobody can acknowledge for the group now, as far as can be seen from here; None if somebody may."""
        config = self._r.config_of(group)
        if config is None or not config.members:
            return None  # never heard of, or ended: the directory lets it be born
        gone = {**self._r.suspected, **(self._r.groups[group].gone if group in self._r.groups else {})}
        reachable = [m.peer.id for m in voters(config) if m.peer.id not in gone]
        return None if is_quorum(config, reachable) else shortage(config, reachable)

    def load_page(self, turn: Turn, group: Key, start: bytes, bytes_max: int, stop: bytes = b"") -> int:
        """Read bulk rows of a group we own; PageLoaded with the token follows, unless we lose it before."""
        tenure = self._r.groups[group].tenure
        assert tenure is not None
        return self._loading.load(turn, ("page", group, _mark(tenure)), start, stop or bulk_interval()[1], bytes_max)

    def keep(self, turn: Turn, row: Put) -> None:
        """Write a row of the broker's own."""
        self._r.persist_silently(turn, [row])

    def learn(self, group: Key, config: Config) -> None:
        """Take note of a group's configuration heard from elsewhere."""
        self._r.learn(group, config)

    def remind(self, turn: Turn, group: Key, broker: BrokerId) -> None:
        """We sent somebody to a broker that should know more of a group: see that it does, and that it is there."""
        self._membership.remind(turn, group, broker)

    def forget(self, group: Key) -> None:
        """What we heard of a group was wrong: ask again when it is needed."""
        if group not in self._r.groups:
            self._r.learned.pop(group, None)

    def suspects(self, broker: BrokerId) -> bool:
        """Whether we take a broker for dead."""
        return broker in self._r.suspected

    def resolve(self, turn: Turn, group: Key, name: str, *, birth: bool = True) -> None:
        """Ask the directory who holds a group; if nobody, it is born (or not) with the brokers closest to its key."""
        self.directory.resolve(turn, group, name, self._r.founders(group, name) if birth else None)

    def place_by(self, placed: Callable[[str], list[Peer] | None]) -> None:
        """Let a policy say who should hold groups of some names, the owner first."""
        self._r.placed = placed

    def trace_copies(self, copied: TraceCopies) -> None:
        """Let somebody who knows what rows mean write into the trace what is on our storage."""
        self._r.copied = copied

    def wake(self, turn: Turn, group: Key) -> None:
        """Traffic for a group reached us as one of its members although its owner is another: is that one alive?"""
        config = self._r.config_of(group)
        mine = member_of(config, self._r.me.id) if config is not None else None
        if config is None or mine is None:
            return
        if group not in self._r.groups and not self._r.has_left(group, config):
            self._membership.take_up(turn, group, config)
        # Perhaps the news that a later epoch is ours was lost: ask whom we take for the owner.
        self._r.deadlines.set_if_unset(("doubt", group), turn.now + self._r.settings.retry // 4)
        self._r.touch(group)
        self._settle(turn)

    def retire(self, turn: Turn, group: Key) -> None:
        """End a group we own, rows and all; OwnershipLost with a memberless configuration follows."""
        known = self._r.groups.get(group)
        if known is not None and known.tenure is not None:
            known.tenure.ending = True
            self._r.touch(group)
            self._settle(turn)

    def salvage(self, turn: Turn, conn: int, head: Salvage) -> None:
        """People decide that a group goes on from our copy; Salvaged follows on that connection."""
        blocked = self.blocked(key_of(head.mailbox))
        self._salvages.ask(turn, conn, head, blocked=blocked, lost=self.blocked(ROOT))
        self._settle(turn)

    def leave(self, turn: Turn, heirs: Sequence[Peer]) -> None:
        """Want no group for ourselves any more; our neighbours on the ring take them."""
        self._r.leaving = True
        self._r.heirs = list(heirs)
        for group in self._r.groups.values():
            if group.config.owner != self._r.me.id:
                self._r.send(turn, group.config.owner, Leave())
        self.directory.leave(turn)
        self.on_membership_changed(turn)

    def on_parting(self, turn: Turn, peer: Peer) -> None:
        """Another broker is leaving: it stays a member until others hold what it holds."""
        if peer.id not in self._r.parting:
            self._r.parting[peer.id] = None
            self._r.release(peer.id)
            self.on_membership_changed(turn)

    @property
    def empty(self) -> bool:
        """Whether no group depends on us (any more): not as a member, nor for what a new owner has yet to hear, nor
        because it was born with us and we have not heard of it."""
        return not self._r.groups and not self.directory.lingering

    def fellows(self) -> list[Peer]:
        """Brokers that share a group with us."""
        found = {m.peer.id: m.peer for g in self._r.groups.values() for m in g.config.members}
        return [peer for peer in found.values() if peer.id != self._r.me.id]

    @property
    def alone(self) -> bool:  # whether every group is ours alone
        return all(len(g.config.members) == 1 for g in self._r.groups.values())

    # Beginning -------------------------------------------------------------------------------------------------
    def start(self, turn: Turn, page: Page) -> None:
        """Take up the groups our store remembers; `page` holds all LOCAL rows."""
        recover(turn, self._r, page)
        self._witnesses.recover(page.rows)
        self._settle(turn)

    def found(self, turn: Turn) -> None:
        """The founder of a cluster begins the directory's group, alone; others come in as they join."""
        if ROOT not in self._r.groups:
            self._membership.found(turn, ROOT, ROOT_NAME)
            self._settle(turn)

    # Stimuli ---------------------------------------------------------------------------------------------------
    def on_message(self, turn: Turn, peer: Peer, head: Message, body: bytes) -> None:
        """A frame of this protocol. Absurd ones are not answered: their sender is broken, and nobody waits for it."""
        if peer.id != self._r.me.id and group_fault(head) is not None:
            return
        match head:
            case Replicate():
                self._replication.on_replicate(turn, peer, head, body)
            case Copied():
                self._replication.on_copied(turn, peer, head)
            case Installed():
                self._replication.on_installed(turn, peer, head)
            case Chunk():
                self._replication.on_chunk(turn, peer, head, body)
            case Chunked():
                self._replication.on_chunked(turn, peer, head)
            case Prepare():
                if not self._witnesses.on_prepare(turn, peer, head):
                    group = self._membership.admit(turn, peer, head)
                    if group is not None:
                        self._election.on_prepare(turn, peer, head, group)
            case Promised():
                self._election.on_promised(turn, peer, head)
            case Accept():
                if not self._witnesses.on_accept(turn, peer, head):
                    self._election.on_accept(turn, peer, head)
            case Adopted():
                self._election.on_adopted(turn, peer, head)
            case Outbid():
                self._election.on_outbid(turn, peer, head)
            case Outdated():
                self._membership.on_outdated(turn, peer, head)
            case Chosen():
                self._witnesses.on_chosen(turn, head)
                self._membership.on_chosen(turn, peer, head)
            case NotMember():
                self._membership.on_not_member(turn, peer, head)
            case Inquire():
                self._membership.on_inquire(turn, peer, head)
            case Fetch():
                self._loading.on_fetch(turn, peer, head)
            case Fetched():
                self._loading.on_fetched(turn, peer, head, body)
            case Resolve() | Resolved() | Enter() | Entered():
                self.directory.on_message(turn, peer, head)
                if isinstance(head, Resolved):
                    if head.config is not None:
                        self._membership.on_resolved(turn, peer, head.group, head.config)
                    self._salvages.chosen(turn, head.group, head.config)
            case _:
                return
        if self._r.touched or self._replication.loads_wanted or self._loading.done:
            self._settle(turn)

    def on_persisted(self, turn: Turn, token: int) -> None:
        """The writes of one of our turns are durable."""
        written = self._r.out.written(token)
        if written is None:
            return
        for key, (end, lineage) in written.own.items():
            self._replication.on_persisted(turn, key, end, lineage)
        for answer in written.answers:
            turn.tell(PeerMessage(self._r.me, answer, b""))
        if self._r.touched:
            self._settle(turn)

    def flush(self, turn: Turn) -> None:
        """The end of a turn: all that it wrote is one Persist, all that it has for a copy one frame."""
        self._settled = 0
        self._r.out.flush(turn, self._r.new_token())

    def on_loaded(self, turn: Turn, token: int, page: Page) -> None:
        """One of our loads is there."""
        self._loading.on_loaded(turn, token, page)
        self._settle(turn)

    def on_peer_up(self, turn: Turn, peer: Peer) -> None:
        self._r.suspected.pop(peer.id, None)
        self._r.release(peer.id)
        self._r.parting.pop(peer.id, None)  # it says so again if it still is
        for group in self._r.groups.values():
            self._membership.lost_storage(group, peer)
            group.tries = 0
            if group.member(peer.id) is not None:
                if group.config.owner == peer.id:
                    self._r.send(turn, peer.id, Inquire(group.key, group.config.epoch))
                elif group.tenure is not None:
                    self._r.touch(group.key)
        self._settle(turn)

    def on_peer_down(self, turn: Turn, peer: Peer) -> None:
        self._r.suspected[peer.id] = None
        for group in self._r.groups.values():
            group.tries = 0
            if group.member(peer.id) is not None:
                self._r.touch(group.key)
        self.directory.on_peer_down(turn, peer)
        self._settle(turn)

    def on_membership_changed(self, turn: Turn) -> None:
        """The ring may want other members for groups we own."""
        for group in self._r.groups.values():
            if group.tenure is not None:
                self._r.touch(group.key)
        self._settle(turn)

    def next_deadline(self) -> Instant | None:
        return self._r.deadlines.next()

    def on_deadline(self, turn: Turn) -> None:
        """Fire what is due."""
        for what, raw in self._r.deadlines.pop_due(turn.now):
            key = Key(raw)
            if what in ("enter", "resolve"):
                self.directory.on_deadline(turn, what, key)
                continue
            group = self._r.groups.get(key)
            if group is None:
                continue
            if what == "attempt":
                self._election.give_up(turn, group)
            elif what == "grace":
                self._election.on_grace(turn, group)
            elif what == "retry":
                self._replication.retry(turn, group)
            elif what == "salvage":
                self._salvages.again(turn, key)
            elif what == "repair":
                self._loading.on_repair_deadline(turn, key)
            elif what in ("audit", "doubt"):
                self._policy.audit(turn, group)
            elif group.attempt is None:  # takeover, fenced, migrate
                if what == "migrate":
                    self._policy.migrate(turn, group)
                elif what == "fenced" or self._policy.leaderless(group):
                    self._policy.propose(turn, group)
        self._settle(turn)

    # After every stimulus --------------------------------------------------------------------------------------
    def _settle(self, turn: Turn) -> None:
        """Reconsider the groups this stimulus touched, then start the loads it asked for."""
        while self._r.touched:
            if self._settled >= GROUPS_SETTLED_MAX:
                self._r.deadlines.set_if_unset(SETTLE, turn.now)
                break
            self._settled += 1
            key = next(iter(self._r.touched))
            del self._r.touched[key]
            group = self._r.groups.get(key)
            if group is not None and group.attempt is None:
                self._policy.consider(turn, group)
        for key, broker in self._replication.loads_wanted:
            self._start_load(turn, key, broker)
        self._replication.loads_wanted.clear()
        while self._loading.done:
            self._use(turn, *self._loading.done.pop(0))

    # Loads -----------------------------------------------------------------------------------------------------
    def _start_load(self, turn: Turn, key: Key, broker: BrokerId | None) -> None:
        group = self._r.groups.get(key)
        if group is None or group.tenure is None:
            return
        if broker is None:
            self._taking.pop(key, None)
            group.tenure.take += 1  # pages of an earlier attempt must not mix with those of this one
            self._loading.load(turn, ("take", key, _mark(group.tenure)), *other_interval(), 1 << 40)
            return
        transfer = group.tenure.transfers.get(broker)
        if transfer is not None and not transfer.loading:
            transfer.since.clear()
            transfer.since_bytes = 0
            transfer.loading = self._loading.load(turn, ("chunk", key, broker), transfer.start, b"", CHUNK_BYTES_MAX)

    def _use(self, turn: Turn, purpose: Purpose, token: int, page: Page) -> None:
        what, key, whose = purpose
        group = self._r.groups.get(key)
        if group is None or group.tenure is None:
            return
        if what == "chunk":
            self._replication.chunk(turn, group, Key(whose), token, page)
            return
        if whose != _mark(group.tenure):
            return
        if what == "take":
            self._taking.setdefault(key, []).extend(page.rows)
            if page.next is not None:
                # A store answers in pages of its own; an owner that misses a row would answer wrongly.
                self._loading.load(turn, purpose, page.next, other_interval()[1], 1 << 40)
                return
            self._loading.load(turn, ("bulk", key, whose), *bulk_interval(), self._r.settings.window_bytes)
        elif what == "bulk" and not group.tenure.loaded:
            self._replication.loaded(turn, group, page.rows + self._taking.pop(key, []), page.next)
        elif what == "page":
            turn.tell(PageLoaded(key, token, page.rows, page.next))

    def names(self) -> Iterator[str]:
        """Of the groups we are a member of, but for the directory's."""
        return (g.config.name for g in self._r.groups.values() if g.key != ROOT)

    def described(self, names: Container[str]) -> list[dict[str, object]]:
        """Those of these groups that we are a member of, in the order of their names; for people."""
        found = sorted(
            (g for g in self._r.groups.values() if g.config.name in names), key=lambda g: (g.key != ROOT, g.config.name)
        )
        return [
            described(
                g,
                serving=self._replication.may_append(g),
                blocked=self.blocked(g.key),
                exposed=self._policy.exposed(g),
                lost=self._loading.lost.get(g.key, 0),
            )
            for g in found
        ]


def _mark(tenure: Tenure) -> bytes:
    """Which ownership, and which attempt to take it up, a load belongs to."""
    return tenure.lineage.to_bytes(8, "big") + tenure.take.to_bytes(8, "big")
