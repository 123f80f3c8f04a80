"""A broker reduced to links and replica groups, so that the group protocol can be tortured on its own.

The ring is a plain list of everybody whose link is up. The application is a register per group: whoever owns a group
appends letters to it and remembers which were committed. At every take-over, everything committed before must be in
the rows the new owner found.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from causeway.config import BrokerConfig
from causeway.core.deadlines import Deadlines
from causeway.core.effects import Effects, Load
from causeway.core.events import (
    Clogged,
    Closed,
    Committed,
    Drained,
    DriverEvent,
    InternalEvent,
    LeaveRequested,
    Loaded,
    Opened,
    OwnershipGained,
    OwnershipLost,
    OwnershipResumed,
    PageLoaded,
    PeerDown,
    PeerMessage,
    PeerUp,
    Persisted,
    Received,
    RootLearned,
)
from causeway.core.groups.groups import Groups
from causeway.core.groups.registry import ROOT
from causeway.core.links import Links
from causeway.core.machine import Turn
from causeway.store.base import LOCAL, Put
from causeway.types import MILLISECOND, BrokerId, Key, Peer, key_of

LOAD_LOCAL = 1 << 40


class Book:
    """What the outside saw: letters committed per group, and whether they are there when a new owner begins."""

    def __init__(self) -> None:
        self.committed: dict[Key, dict[bytes, int]] = {}
        self.takeovers = 0
        self.complaints: list[str] = []
        self.clock: Callable[[], int] = lambda: 0

    def commit(self, group: Key, letter: bytes) -> None:
        self.committed.setdefault(group, {})[letter] = self.clock()

    def gained(self, who: str, group: Key, epoch: int, letters: dict[bytes, None]) -> None:
        self.takeovers += 1
        missing = [letter for letter in self.committed.get(group, {}) if letter not in letters]
        if missing:
            self.complaints.append(
                f"{self.clock() / 1e9:.6f} {who} took {group.hex()} over in epoch {epoch} without "
                f"{len(missing)} committed letters, first {missing[0]!r}"
            )


class ListRing:
    """Everybody whose link is up, by distance."""

    def __init__(self, me: Peer, links: Links) -> None:
        self.me = me
        self.links = links
        self.active = False
        self.known: dict[BrokerId, Peer] = {me.id: me}

    def next_hop(self, key: Key) -> BrokerId | None:
        first = self.replica_group(key, 1)[0]
        return None if first.id == self.me.id else first.id

    def replica_group(self, key: Key, count: int) -> list[Peer]:
        living = [peer for peer in self.known.values() if self.links.is_up(peer.id)]
        return sorted(living, key=lambda peer: distance(peer.id, key))[:count]


def distance(a: bytes, b: bytes) -> int:
    gap = abs(int.from_bytes(a, "big") - int.from_bytes(b, "big"))
    return min(gap, (1 << 128) - gap)


class GroupMachine:
    """Links and groups; appends to the groups it owns every few milliseconds."""

    def __init__(self, config: BrokerConfig, me: Peer, incarnation: int, rng: random.Random) -> None:
        self.config, self.me, self.incarnation, self.rng = config, me, incarnation, rng
        self.links = Links(config, me, incarnation, rng)
        self.ring = ListRing(me, self.links)
        self.groups = Groups(config, self.links, self.ring, rng)
        self.book: Book
        self.names: list[str] = []
        self.rate = 50 * MILLISECOND
        self.left = False
        self.first_life = False
        self._started = False
        self._timers: Deadlines[str] = Deadlines()
        self._letters: dict[Key, dict[bytes, None]] = {}
        self._number = 0
        self._recovered = False

    # Machine ---------------------------------------------------------------------------------------------------
    def handle(self, events: Sequence[DriverEvent], now: int) -> Effects:
        turn = Turn(now)
        if not self._started:
            self._started = True
            turn.effects.loads.append(Load(LOAD_LOCAL, LOCAL, b"", b"", 1 << 40))
            self._timers.set("work", now + self.rate)
            self._timers.set("seed", now)
        for event in events:
            self._on_event(turn, event)
            self._drain(turn)
        self._fire(turn)
        self._drain(turn)
        self.groups.flush(turn)
        return turn.effects

    def next_deadline(self) -> int | None:
        if not self._recovered:
            return None
        found = [self._timers.next(), self.links.next_deadline(), self.groups.next_deadline()]
        return min((at for at in found if at is not None), default=None)

    def statistics(self) -> dict[str, object]:
        return {"groups": self.groups.listing().entries}

    def _on_event(self, turn: Turn, event: DriverEvent) -> None:
        links = self.links
        match event:
            case Opened():
                links.on_opened(turn, event.conn)
            case Received():
                for head, body in event.messages:
                    links.on_received(turn, event.conn, head, body)
            case Closed():
                links.on_closed(turn, event.conn, event.reason)
            case Clogged():
                links.on_clogged(event.conn)
            case Drained():
                links.on_drained(event.conn)
            case Persisted():
                self.groups.on_persisted(turn, event.token)
            case Loaded() if event.token == LOAD_LOCAL:
                self._recovered = True
                self.groups.start(turn, event.page)
                if self.config.founder and not event.page.rows and self.first_life:
                    self.groups.found(turn)
                    self.ring.active = True
                    links.set_cluster(turn, "c")
            case Loaded():
                self.groups.on_loaded(turn, event.token, event.page)
            case LeaveRequested():
                self.groups.leave()

    def _drain(self, turn: Turn) -> None:
        for _ in range(1_000_000):
            if not turn.inbox:
                return
            self._on_internal(turn, turn.inbox.popleft())
        raise AssertionError("internal events never end")

    def _on_internal(self, turn: Turn, event: InternalEvent) -> None:
        groups = self.groups
        match event:
            case PeerUp():
                self.ring.known[event.peer.id] = event.peer
                self.ring.active = True
                self.links.pin(event.peer.id)
                groups.on_peer_up(turn, event.peer)
                groups.on_membership_changed(turn)
            case PeerDown():
                groups.on_peer_down(turn, event.peer)
                groups.on_membership_changed(turn)
            case PeerMessage():
                groups.on_message(turn, event.peer, event.head, event.body)
            case RootLearned():
                groups.learn(ROOT, event.config)
            case Committed():
                for then in event.thens:
                    then(turn)
            case OwnershipGained() if event.group == ROOT:
                groups.directory.on_ownership_gained(event)
                self.links.learn_root(event.config)
            case OwnershipGained():
                assert event.next is None
                letters = {row.value: None for row in event.rows}
                self._letters[event.group] = letters
                self.book.gained(self.me.name, event.group, event.config.epoch, letters)
            case OwnershipLost() if event.group == ROOT:
                groups.directory.on_ownership_lost()
            case OwnershipLost():
                self._letters.pop(event.group, None)
            case OwnershipResumed() | PageLoaded():
                pass
            case _:
                raise AssertionError(event)

    def _fire(self, turn: Turn) -> None:
        if not self._recovered:
            return
        if (due := self.links.next_deadline()) is not None and due <= turn.now:
            self.links.on_deadline(turn)
            self._drain(turn)
        if (due := self.groups.next_deadline()) is not None and due <= turn.now:
            self.groups.on_deadline(turn)
            self._drain(turn)
        for what in self._timers.pop_due(turn.now):
            if what == "work":
                self._work(turn)
                self._timers.set("work", turn.now + self.rate)
            else:
                for host, port in self.config.seeds:
                    self.links.dial_address(turn, host, port)
                self._timers.set("seed", turn.now + 1000 * MILLISECOND)

    def _work(self, turn: Turn) -> None:
        for name in self.names:
            key = key_of(name)
            if self.groups.config(key) is None:
                candidates = tuple(self.ring.replica_group(key, self.config.copies))
                if self.ring.active and candidates[0].id == self.me.id:
                    self.groups.directory.resolve(turn, key, name, candidates)
            elif self.groups.serving(key):
                self._append(turn, key)
            else:
                self.groups.wake(turn, key)
        for key, config, _ in self.groups.directory.answers:
            if config is not None:
                self.groups.wake(turn, key)
        self.groups.directory.answers.clear()

    def _append(self, turn: Turn, key: Key) -> None:
        self._number += 1
        letter = f"{self.me.name}/{self.incarnation}/{self._number}".encode()
        seq = self.groups.position(key)
        row = Put(key, b"b" + seq.to_bytes(8, "big"), seq, letter)
        self.groups.append(turn, key, [row], 1, lambda turn: self.book.commit(key, letter))
        self._letters[key][letter] = None
