"""Many mailboxes in one replica group, a shard. To mail, each of them looks like a group of its own.

Owns: which mailboxes the shards of this broker have, when one begins and ends, and the one operation that a turn makes
of everything they write. Must not know: what their rows mean, who holds a shard (groups do).

A name leads to its shard by the first bits of its key, so nobody needs to be asked, and a mailbox begins and ends
without a vote. The brokers' own groups (seats, topics' items, agents, the map) pass through unchanged.
What mailboxes append in a turn is one operation per shard, made by `flush`: at the end of the turn, and before anything
that could change who owns a shard, so that nothing is appended which a later promise forbids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import msgspec

from causeway.core.events import OwnershipGained, OwnershipLost, OwnershipResumed, PageLoaded
from causeway.core.machine import Then, Turn
from causeway.core.messages import Config
from causeway.core.ports import ReplicaGroups
from causeway.core.shards.rows import BIRTH, RowPlace, born_in, split
from causeway.limits import SHARD_OPERATION_BYTES_MAX
from causeway.store.base import Put, Row, Write
from causeway.types import BrokerId, Key, has_own_group, key_of, shard_name

BULK = b"b"
"""The kind of row that is read page by page (`groups.loading`)."""


class Mailboxes(Protocol):
    """What a shard tells mail about its mailboxes."""

    def on_ownership_gained(self, turn: Turn, event: OwnershipGained) -> None: ...
    def on_ownership_resumed(self, turn: Turn, event: OwnershipResumed) -> None: ...
    def on_ownership_lost(self, turn: Turn, event: OwnershipLost) -> None: ...
    def on_page(self, turn: Turn, event: PageLoaded) -> None: ...


@dataclass(slots=True)
class Hosted:
    """A mailbox in a shard that we own."""

    key: Key
    name: str
    shard: Shard
    place: RowPlace
    born: int
    kept: bool
    """Whether the shard has the row of its birth."""
    ending: bool = False
    """Whether the operation that ends it is on its way to the copies."""


@dataclass(slots=True)
class Shard:
    """A shard that we own and have loaded."""

    key: Key
    boxes: dict[Key, Hosted] = field(default_factory=dict)
    writes: list[Write] = field(default_factory=list)
    """Of this turn, and below how many numbers they take and how long they are."""
    span: int = 0
    bytes: int = 0
    thens: list[Then] = field(default_factory=list)
    """What follows from them."""


class Shards:
    """The mailboxes of this broker as groups (ports.Groups)."""

    def __init__(self, groups: ReplicaGroups, count: int) -> None:
        self._groups = groups
        self._count = count
        self._names = [shard_name(number, count) for number in range(count)]
        self._keys = [key_of(name) for name in self._names]
        self._numbers = {key: number for number, key in enumerate(self._keys)}
        self._shards: dict[Key, Shard] = {}
        self._boxes: dict[Key, Hosted] = {}
        self._dirty: dict[Key, Shard] = {}
        self._pages: dict[int, Key] = {}
        self._mail: Mailboxes | None = None
        self.suspects = groups.suspects

    def open(self, mail: Mailboxes) -> None:
        """Say who looks after mailboxes."""
        self._mail = mail

    # Where a mailbox is ----------------------------------------------------------------------------------------
    def home(self, key: Key) -> Key:
        """The replica group that a mailbox is in (`types.home_of`, from a table)."""
        if not self._count or has_own_group(key):
            return key
        return self._keys[int.from_bytes(key[:2], "big") * self._count >> 16]

    def config(self, group: Key) -> Config | None:
        return self._groups.config(self.home(group))

    def owned(self, group: Key) -> bool:
        return group in self._boxes or (self.home(group) is group and self._groups.owned(group))

    def hosts(self, key: Key) -> bool:
        """Whether a mailbox of this key begins here, or nowhere: its shard is ours, and has no such mailbox."""
        return key not in self._boxes and self.home(key) in self._shards

    def serving(self, group: Key) -> bool:
        box = self._boxes.get(group)
        if box is not None:
            return not box.ending and self._groups.serving(box.shard.key)
        return self.home(group) is group and self._groups.serving(group)

    def blocked(self, group: Key) -> str | None:
        return self._groups.blocked(self.home(group))

    def wake(self, turn: Turn, group: Key) -> None:
        self._groups.wake(turn, self.home(group))

    def forget(self, group: Key) -> None:
        self._groups.forget(self.home(group))

    def remind(self, turn: Turn, group: Key, broker: BrokerId) -> None:
        self._groups.remind(turn, self.home(group), broker)

    def resolve(self, turn: Turn, group: Key, name: str, *, birth: bool = True) -> None:
        """Ask who holds a mailbox's shard, or a group. A shard that nobody has begins."""
        home = self.home(group)
        if home is group:
            self._groups.resolve(turn, group, name, birth=birth)
        else:
            self._groups.resolve(turn, home, self._names[self._numbers[home]])

    # Writing ---------------------------------------------------------------------------------------------------
    def position(self, group: Key) -> int:
        box = self._boxes.get(group)
        return self._groups.position(group) if box is None else self._next(box.shard)

    def _next(self, shard: Shard) -> int:
        return self._groups.position(shard.key) + shard.span

    def append(self, turn: Turn, group: Key, writes: Sequence[Write], span: int, then: Then | None = None) -> None:
        box = self._boxes.get(group)
        if box is None:
            self._groups.append(turn, group, writes, span, then)
            return
        if not box.kept:
            box.kept = True
            self._add(box, [box.place.birth(box.born)])
        write = box.place.write
        self._add_last(turn, box, [write(one) for one in writes], span, then)

    def _add(self, box: Hosted, writes: Sequence[Write]) -> None:
        shard = box.shard
        shard.writes += writes
        shard.bytes += sum(len(one.value) for one in writes if type(one) is Put)

    def _add_last(self, turn: Turn, box: Hosted, writes: Sequence[Write], span: int, then: Then | None) -> None:
        shard = box.shard
        self._add(box, writes)
        shard.span += span
        if then is not None:
            shard.thens.append(then)
        self._dirty[shard.key] = shard
        if shard.bytes >= SHARD_OPERATION_BYTES_MAX:
            self._flush(turn, shard)

    def flush(self, turn: Turn) -> None:
        """Make one operation per shard of what its mailboxes appended."""
        if self._dirty:
            dirty, self._dirty = self._dirty, {}
            for shard in dirty.values():
                self._flush(turn, shard)

    def _flush(self, turn: Turn, shard: Shard) -> None:
        if shard.span:
            self._groups.append(turn, shard.key, shard.writes, shard.span, partial(_run_all, shard.thens))
            shard.writes, shard.thens, shard.span, shard.bytes = [], [], 0, 0

    def load_page(self, turn: Turn, group: Key, start: bytes, bytes_max: int, stop: bytes = b"") -> int:
        box = self._boxes.get(group)
        if box is None:
            return self._groups.load_page(turn, group, start, bytes_max, stop)
        place = box.place
        token = self._groups.load_page(turn, box.shard.key, place.outer(start), bytes_max, place.end_of(BULK))
        self._pages[token] = group
        return token

    # Beginning and ending --------------------------------------------------------------------------------------
    def begin(self, turn: Turn, key: Key, name: str) -> None:
        """A mailbox begins (`hosts` says that it may)."""
        shard = self._shards[self.home(key)]
        born = self._next(shard)
        box = self._boxes[key] = shard.boxes[key] = Hosted(
            key, name, shard, RowPlace(shard.key, name), born, kept=False
        )
        if self._groups.serving(shard.key):
            self.append(turn, key, (), 1)
        self._tell_gained(turn, box, [], None)

    def retire(self, turn: Turn, group: Key) -> None:
        """End a mailbox, rows and all; OwnershipLost with a memberless configuration follows."""
        box = self._boxes.get(group)
        if box is None:
            self._groups.retire(turn, group)
        elif not box.ending and self._groups.serving(box.shard.key):
            box.ending = True
            self._add_last(turn, box, box.place.deletes(), 1, lambda turn: self._ended(turn, box))

    # From the groups -------------------------------------------------------------------------------------------
    def is_shard(self, group: Key) -> bool:
        """Whether a group is a shard."""
        return group in self._numbers

    def gain(self, turn: Turn, event: OwnershipGained) -> None:
        """A shard is ours: so are its mailboxes."""
        shard = self._shards[event.group] = Shard(event.group)
        found: dict[str, list[Row]] = {}
        births: dict[str, int] = {}
        for row in event.rows:
            parts = split(row.key)
            if parts is None:
                continue
            name, key = parts
            rows = found.setdefault(name, [])
            if row.key[:1] != BIRTH:
                rows.append(Row(key, row.seq, row.value))
            elif (born := born_in(row)) is not None:
                births[name] = born
        opened = []
        for name, rows in found.items():
            key = key_of(name)
            place = RowPlace(event.group, name)
            box = Hosted(key, name, shard, place, births.get(name, 0), kept=name in births)
            self._boxes[key] = shard.boxes[key] = box
            opened.append((box, rows, _rest(place, event.next)))
        for each in opened:
            self._tell_gained(turn, *each)

    def _tell_gained(self, turn: Turn, box: Hosted, rows: list[Row], following: bytes | None) -> None:
        assert self._mail is not None
        config = self._groups.config(box.shard.key)
        assert config is not None
        own = msgspec.structs.replace(config, name=box.name, born=box.born)
        self._mail.on_ownership_gained(turn, OwnershipGained(box.key, own, rows, following))

    def resume(self, turn: Turn, group: Key) -> None:
        """A shard is still ours, in a new epoch; or was, when this was said, and has been lost since."""
        assert self._mail is not None
        shard = self._shards.get(group)
        for key in list(shard.boxes) if shard is not None else ():
            self._mail.on_ownership_resumed(turn, OwnershipResumed(key))

    def lose(self, turn: Turn, event: OwnershipLost) -> None:
        """A shard is another broker's: so are its mailboxes."""
        shard = self._shards.pop(event.group, None)
        if shard is None:
            return
        self._dirty.pop(event.group, None)
        for token in [token for token, key in self._pages.items() if key in shard.boxes]:
            del self._pages[token]
        for key in list(shard.boxes):
            self._end(turn, key, event.config)

    def _end(self, turn: Turn, key: Key, config: Config) -> None:
        assert self._mail is not None
        box = self._boxes.pop(key)
        del box.shard.boxes[key]
        self._mail.on_ownership_lost(turn, OwnershipLost(key, config))

    def _ended(self, turn: Turn, box: Hosted) -> None:
        """The end of a mailbox is on all copies."""
        config = self._groups.config(box.shard.key)
        assert config is not None
        self._end(turn, box.key, msgspec.structs.replace(config, members=()))

    def page_loaded(self, turn: Turn, event: PageLoaded) -> None:
        """Rows of a mailbox, asked for by `load_page`; or of a group that passes through."""
        assert self._mail is not None
        key = self._pages.pop(event.token, None)
        if key is None:
            self._mail.on_page(turn, event)
            return
        rows = [Row(parts[1], row.seq, row.value) for row in event.rows if (parts := split(row.key)) is not None]
        parts = split(event.next) if event.next is not None else None
        self._mail.on_page(turn, PageLoaded(key, event.token, rows, parts[1] if parts is not None else None))


def _run_all(thens: list[Then], turn: Turn) -> None:
    """What follows from all that mailboxes of a shard appended to one operation, in order."""
    for then in thens:
        then(turn)


def _rest(place: RowPlace, following: bytes | None) -> bytes | None:
    """Where the bulk of a mailbox goes on that is not in memory, when that of its shard goes on at `following`."""
    if following is None or following >= place.end_of(BULK):
        return None
    first = place.outer(BULK)
    return BULK + (following[len(first) :] if following > first else b"").ljust(8, b"\0")
