"""What the parts of the group protocol share: the groups known here, whom we suspect, and the ways out.

Owns: bookkeeping, durable writes with what must wait for them, sending (also to ourselves).
Must not know: when an epoch should change or what an operation means.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Sequence

from causeway.config import BrokerConfig
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.events import PeerMessage
from causeway.core.groups.output import GroupOutput
from causeway.core.groups.state import Group, Position, forget_rows, meta_row, position_row, voters
from causeway.core.machine import Turn
from causeway.core.messages import Config, Message
from causeway.core.ports import Links, Ring
from causeway.limits import GROUPS_LEARNED_MAX, GROUPS_LEFT_MAX
from causeway.names import may_end
from causeway.store.base import LOCAL, Delete, Write
from causeway.trace import TraceRecord
from causeway.types import KEY_BYTES, BrokerId, Instant, Key, Peer, key_of

ROOT_NAME = "causeway/root"
ROOT = key_of(ROOT_NAME)
"""The group that holds the directory: every other group is born through it."""

Timer = tuple[str, bytes]

TraceCopies = Callable[[Instant, Config, Sequence[Write]], Sequence[TraceRecord]]


class Registry:
    """The shared state of Groups, Election, Membership, Replication and Loading."""

    def __init__(
        self, config: BrokerConfig, links: Links, ring: Ring, rng: random.Random, *, alarm: Alarm | None = None
    ) -> None:
        self.settings = config
        self.links = links
        self.ring = ring
        self.rng = rng
        self.me = links.me
        self.groups: dict[Key, Group] = {}
        self.learned: OrderedDict[Key, Config] = OrderedDict()
        self.suspected: dict[BrokerId, None] = {}
        self.void: dict[Key, int] = {}
        """Groups whose Meta was lost here: the token under which we may be admitted again."""
        self.left: dict[Key, Position] = {}
        """Groups that went on without us, by birth and epoch: what we hear from before that is stale."""
        self.ended: dict[Key, Config] = {}
        """Those of them that went on without anybody: their last configurations."""
        self.left_private: dict[Key, None] = {}
        """Those of them whose mailboxes end some day, oldest first."""
        self.deadlines: Deadlines[Timer] = Deadlines(alarm)
        self.touched: dict[Key, None] = {}
        self.placed: Callable[[str], list[Peer] | None] = _by_the_ring
        """Who should hold a group by its name, the owner first; None: the ring says."""
        self.parting: dict[BrokerId, None] = {}
        """Brokers that are leaving, perhaps still members here and there, or have left: wanted nowhere."""
        self.leaving = False
        self.heirs: list[Peer] = []
        """When leaving: our neighbours on the ring at that moment, who take our groups."""
        self._fellows: dict[BrokerId, int] = {}
        """Brokers by how many groups they hold with us."""
        self._pinned: dict[BrokerId, None] = {}
        self.copied: TraceCopies | None = None
        """Whoever knows what rows mean says what the trace should have of those that are on our storage."""
        self.out = GroupOutput(links)
        """What this turn writes, and what goes to other members at its end."""
        self._token = 0

    # Groups ----------------------------------------------------------------------------------------------------
    def touch(self, key: Key) -> None:
        """Have the group reconsidered at the end of this stimulus."""
        self.touched[key] = None

    def learn(self, key: Key, config: Config) -> bool:
        """Remember the latest configuration of a group, member or not; whether it is later than what we knew."""
        known = self.learned.get(key)
        later = known is None or (config.born, config.epoch) > (known.born, known.epoch)
        if later:
            self.learned[key] = config
            for member in voters(config):
                self.links.learn(member.peer)
            if len(self.learned) > GROUPS_LEARNED_MAX:
                self.learned.popitem(last=False)
        return later

    def watch(self, before: Config | None, after: Config | None) -> None:
        """A group has another configuration, or its first or last: keep links to those who vote on it with us.

        Their loss must be noticed, and that of their storage, which only they themselves can tell. Whoever is lost
        stays looked for, since it may be wanted again, until it is back.
        """
        for member in voters(after) if after is not None else ():
            if member.peer.id != self.me.id:
                self.links.learn(member.peer)
                self._fellows[member.peer.id] = self._fellows.get(member.peer.id, 0) + 1
                if member.peer.id not in self._pinned:
                    self._pinned[member.peer.id] = None
                    self.links.pin(member.peer.id)
        for member in voters(before) if before is not None else ():
            if member.peer.id != self.me.id:
                self._fellows[member.peer.id] -= 1
                self.release(member.peer.id)

    def release(self, broker: BrokerId) -> None:
        """Let go of a link if nothing is held together with that broker any more, and it lives or left for good."""
        if not self._fellows.get(broker) and (broker not in self.suspected or broker in self.parting):
            self._fellows.pop(broker, None)
            if broker in self._pinned:
                del self._pinned[broker]
                self.links.unpin(broker)

    def config_of(self, key: Key) -> Config | None:
        """The latest configuration known, from our own membership or from hearsay."""
        group = self.groups.get(key)
        heard = self.learned.get(key)
        if group is None:
            return heard or self.ended.get(key)
        if heard is not None and (heard.born, heard.epoch) > (group.config.born, group.config.epoch):
            return heard
        return group.config

    def has_left(self, key: Key, config: Config) -> bool:
        """Whether a configuration is from before the group went on without us."""
        left = self.left.get(key)
        return left is not None and (config.born, config.epoch) <= left

    def is_stale(self, key: Key, config: Config) -> bool:
        """Whether a configuration calls us a member of a group that has gone on without us since."""
        return self.has_left(key, config) and any(m.peer.id == self.me.id for m in config.members)

    def has_ended(self, key: Key, config: Config) -> bool:
        """Whether a group has no members any more since the birth that a configuration is of."""
        last = self.ended.get(key)
        return last is not None and last.born == config.born

    def leave(self, key: Key, config: Config) -> list[Write]:
        """The group went on without us: forget it and its rows, but not that it did.

        A mailbox that may end is remembered for a while only. At worst a copy that slept through its end brings it to
        life again: without a reader, and so it ends again. Any other one never ends, so its row is always of use.
        """
        self.left[key] = (config.born, config.epoch)
        self.ended.pop(key, None)
        if not config.members:
            self.ended[key] = config
        writes = forget_rows(key, config)
        if may_end(config.name):
            self.left_private.pop(key, None)
            self.left_private[key] = None
            if len(self.left_private) > GROUPS_LEFT_MAX:
                oldest = next(iter(self.left_private))
                del self.left_private[oldest], self.left[oldest]
                self.ended.pop(oldest, None)
                writes.append(Delete(LOCAL, b"y" + oldest))
        return writes

    def token_for(self, key: Key) -> int:
        """The token our storage answers to."""
        return self.void.get(key, self.me.store)

    def wanted(self, group: Group) -> list[Peer]:
        """Who should hold the group: whom a policy names, or the ring's choice; the root stays as long as it can."""
        placed = self.placed(group.config.name)
        if placed == []:
            return placed
        count = self.settings.root_copies if group.key == ROOT else self.settings.copies
        stay = placed or []
        if group.key == ROOT:
            stay = [m.peer for m in group.config.members if m.peer.id not in group.gone]
            stay.sort(key=lambda p: p.id != group.config.owner)  # if there are too many, the owner is not the one to go
        stay = list(filter(self.is_eligible, stay))
        wanted = {p.id: p for p in (stay[:count] if placed is None else stay)}
        candidates = self.near(group.key, count)
        if self.leaving and not any(map(self.is_eligible, candidates)):
            # They are gone as well: then whoever holds it already.
            candidates = [m.peer for m in group.config.members if m.peer.id not in group.gone]
        for peer in candidates:
            if len(wanted) < count and self.is_eligible(peer):
                wanted.setdefault(peer.id, peer)
        return list(wanted.values())

    def founders(self, key: Key, name: str) -> tuple[Peer, ...] | None:
        """Who should hold a group that is to be born, its owner first; None when it is not ours to begin."""
        placed = self.placed(name)
        if placed == []:
            return None
        wanted = {p.id: p for p in (*(placed or ()), *self.near(key, self.settings.copies)) if self.is_eligible(p)}
        return tuple(wanted.values())[: self.settings.copies]

    def near(self, key: Key, count: int) -> list[Peer]:
        """Brokers by their distance to a key; our heirs, when we are leaving."""
        if self.leaving:
            return sorted(self.heirs, key=lambda p: _distance(p.id, key))
        # Who leaves and holds seats of others stands there until it is gone: then the next ones count.
        return self.ring.replica_group(key, count + 1 + len(self.parting))

    def is_eligible(self, peer: Peer) -> bool:
        """Whether a broker may come into a group, as far as we can see: it lives, and is not leaving."""
        if peer.id in self.suspected or peer.id in self.parting:
            return False
        return not (self.leaving and peer.id == self.me.id)

    # Ways out --------------------------------------------------------------------------------------------------
    def send(self, turn: Turn, to: BrokerId, head: Message, body: bytes = b"") -> None:
        """To a broker, or to ourselves within this turn."""
        if to == self.me.id:
            turn.tell(PeerMessage(self.me, head, body))
        else:
            self.links.send(turn, to, head, body)

    def new_token(self) -> int:
        """A token for a Persist or a Load."""
        self._token += 1
        return self._token

    def persist(
        self, turn: Turn, writes: Sequence[Write], to: BrokerId, reply: Message, *, config: Config | None = None
    ) -> None:
        """Write, and answer when it is durable; of rows of a group, `config` is its configuration."""
        self.write(turn, writes, config)
        if to == self.me.id:
            self.out.answers.append(reply)
        else:
            self.out.answer(to, reply)

    def persist_silently(self, turn: Turn, writes: Sequence[Write]) -> None:
        """Write; nobody waits for it."""
        self.out.writes += writes

    def persist_own(self, turn: Turn, group: Group, writes: Sequence[Write], end: int) -> None:
        """Write what makes a group we own durable up to `end`; Replication hears when it is."""
        assert group.tenure is not None
        self.write(turn, writes, group.meta.config)
        self.out.own[group.key] = (end, group.tenure.lineage)

    def write(self, turn: Turn, writes: Sequence[Write], config: Config | None) -> None:
        """Write with this turn; of rows of a group, `config` is its configuration."""
        self.out.writes += writes
        if self.copied is not None and config is not None:
            self.out.traces += self.copied(turn.now, config, writes)

    def save(self, group: Group) -> list[Write]:
        """The writes that keep a group's durable part."""
        return [meta_row(group), position_row(group.key, group.position)]


def _by_the_ring(name: str) -> None:
    """No group is placed by a policy."""
    return


def _distance(a: bytes, b: bytes) -> int:
    """How far two keys are apart on the ring."""
    apart = abs(int.from_bytes(a, "big") - int.from_bytes(b, "big"))
    return min(apart, (1 << 8 * KEY_BYTES) - apart)
