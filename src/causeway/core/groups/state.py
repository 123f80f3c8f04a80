"""What a broker knows of one replica group: the durable part (Meta, position) and the volatile parts.

Owns: the data and the pure questions about it (majorities, completeness, the next configuration).
Must not know: messages on their way, timers, the directory. See ADR 0002 for why this is safe.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from causeway.core.machine import Then
from causeway.core.messages import Ballot, Config, Member, Promised
from causeway.names import may_end
from causeway.store.base import LOCAL, Delete, Put, Row, Write
from causeway.types import BrokerId, Instant, Key, Peer

NO_BALLOT: Ballot = (0, b"")
EPOCHS_PER_BIRTH = 1024
"""A reborn group starts above every epoch its former life can have reached unreported; so does a salvaged one."""
END = b"\xff"
"""Above every row key."""

Position = tuple[int, int]
"""Epoch in which the last operation was applied, and the sequence number after it."""


class Meta(msgspec.Struct, frozen=True, array_like=True):
    """What a member must never forget. One row per group, rewritten on every step of an epoch change."""

    config: Config
    token: int
    promised: Ballot = NO_BALLOT
    """Highest ballot promised for the epoch after `config`; while set, operations of `config` are refused."""
    accepted_ballot: Ballot | None = None
    accepted: Config | None = None


class Operation(msgspec.Struct, eq=False):
    """An append on its way to the copies."""

    seq: int
    end: int
    body: bytes
    then: Then | None


@dataclass(slots=True)
class Transfer:
    """Copying all rows to a member that lacks some, interval by interval."""

    start: bytes = b""
    loading: int = 0
    """Token of the load on its way, 0 when none is."""
    since: list[Write] = field(default_factory=list)
    """Writes appended after the load was asked for: the page is brought up to date with them."""
    since_bytes: int = 0
    sent_at: Instant = 0
    stop: bytes | None = None
    """End of the interval on its way; None when none is."""


@dataclass(slots=True)
class Tenure:
    """Our ownership in the current epoch, for as long as this process lives."""

    base: int
    lineage: int
    """Stays the same while we go on as owner from epoch to epoch: loads and writes of an earlier ownership are void."""
    take: int = 0
    """Attempts to load what a former owner left."""
    taken: tuple[list[Row], bytes | None] | None = None
    """What a former owner left, and where the next page begins, until all complete members have it too."""
    loaded: bool = False
    frozen: bool = False
    """Handing over: no more appends."""
    blocked: bool = False
    """Too few members can be reached to go on: nothing more is accepted."""
    pending: deque[Operation] = field(default_factory=deque)
    tokens: dict[BrokerId, int] = field(default_factory=dict)
    """The other members of the epoch, and what each was admitted with."""
    retries: int = 0
    """So often in a row something went unanswered, while nothing else was answered."""
    retrying: bool = False
    """A timer runs, after which what went unanswered is sent again."""
    local: int = 0
    """Our own storage has everything below this."""
    confirmed: dict[BrokerId, int] = field(default_factory=dict)
    """Members that installed the epoch, and how far they confirmed."""
    committed: int = 0
    transfers: dict[BrokerId, Transfer] = field(default_factory=dict)
    whole: dict[BrokerId, None] = field(default_factory=dict)
    """Incomplete members whose transfer has ended: the next epoch calls them complete."""
    behind: dict[BrokerId, None] = field(default_factory=dict)
    """Members called complete that lack operations nobody holds in memory any more."""
    entered: bool = False
    """The directory knows this epoch."""
    ending: bool = False
    """The next epoch shall have no members. Forgotten with the epoch: whoever owns the next one decides anew."""


@dataclass(slots=True)
class Attempt:
    """Our proposal for the next epoch."""

    ballot: Ballot
    promises: dict[BrokerId, Promised] = field(default_factory=dict)
    next: Config | None = None
    adopted: dict[BrokerId, None] = field(default_factory=dict)
    grace: Instant = 0


@dataclass(slots=True)
class Group:
    """One group, as this broker sees it."""

    key: Key
    meta: Meta
    position: Position
    tenure: Tenure | None = None
    attempt: Attempt | None = None
    gone: dict[BrokerId, int] = field(default_factory=dict)
    """Voters whose storage is another than they were admitted with, with the token they offer now."""
    ballot_seen: int = 0
    tries: int = 0
    """Attempts at the next epoch that took too long, since somebody else came or went."""
    previous: Config | None = None
    """The epoch before, as far as this life remembers: its members may still hold rows that are damaged here."""

    @property
    def config(self) -> Config:
        return self.meta.config

    def voter(self, broker: BrokerId) -> Member | None:
        """The broker's say, as a member or a witness, in what follows the current epoch."""
        return member_in(voters(self.meta.config), broker)

    def member(self, broker: BrokerId) -> Member | None:
        """The broker's membership in the current epoch."""
        return member_of(self.meta.config, broker)

    def is_level_with(self, broker: BrokerId) -> bool:
        """Whether we own the group and know that a complete member has all that we have."""
        tenure = self.tenure
        if tenure is None or tenure.pending or broker in self.config.incomplete or broker in tenure.behind:
            return False
        return tenure.confirmed.get(broker) == self.position[1]


def member_of(config: Config, broker: BrokerId) -> Member | None:
    """The broker's membership in a configuration."""
    return member_in(config.members, broker)


def member_in(members: Iterable[Member], broker: BrokerId) -> Member | None:
    """A broker among members or witnesses."""
    return next((member for member in members if member.peer.id == broker), None)


def voters(config: Config) -> tuple[Member, ...]:
    """Who decides what follows this epoch: members and witnesses."""
    return config.members + config.witnesses


def majority(config: Config) -> int:
    """How many of them must agree."""
    return len(voters(config)) // 2 + 1


def is_quorum(config: Config, brokers: Iterable[BrokerId]) -> bool:
    """A majority, one of them with all rows: whatever was acknowledged is among them."""
    present = dict.fromkeys(brokers)
    able = [m.peer.id for m in voters(config) if m.peer.id in present]
    complete = [m.peer.id for m in config.members if m.peer.id in present and m.peer.id not in config.incomplete]
    return len(able) >= majority(config) and bool(complete)


def bears_one_loss(config: Config, brokers: Sequence[BrokerId]) -> bool:
    """Whether these voters are a quorum whichever of them fails next."""
    complete = [m for m in config.members if m.peer.id in brokers and m.peer.id not in config.incomplete]
    return len(brokers) > majority(config) and len(complete) > 1


def shortage(config: Config, reachable: Sequence[BrokerId]) -> str:
    """Why those who can be reached are too few, for people."""
    missing = [m.peer.name for m in voters(config) if m.peer.id not in reachable]
    copies = sum(m.peer.id in reachable for m in config.members)
    voting = f", {len(reachable)} of {len(voters(config))} voters" if config.witnesses else ""
    return (
        f"{config.name!r}: {copies} of {len(config.members)} copies{voting} reachable, "
        f"{majority(config)} needed; unreachable: {', '.join(missing)}"
    )


def alone_in(config: Config, owner: BrokerId) -> Config:
    """The epoch in which one copy goes on: above any that others can have chosen, or will, among themselves."""
    members = tuple(member for member in config.members if member.peer.id == owner)
    epoch = config.epoch + EPOCHS_PER_BIRTH
    return msgspec.structs.replace(config, epoch=epoch, owner=owner, members=members, incomplete=(), witnesses=())


def plan_next(group: Group, wanted: Sequence[Peer], me: BrokerId, suspected: dict[BrokerId, None]) -> Config:
    """The configuration after a quorum promised: the best log leads, the wanted brokers come in, the lost go.

    Complete in the new epoch is who holds everything its owner holds, or will, because the owner still has the
    missing operations in memory. Everybody else takes part in writes from now on and gets older rows by transfer.
    """
    config, attempt, tenure = group.config, group.attempt, group.tenure
    assert attempt is not None
    if tenure is not None and tenure.ending and not tenure.pending:
        return Config(config.name, config.epoch + 1, me, (), (), config.born)
    promises = {b: p for b, p in attempt.promises.items() if b not in group.gone}
    places = {peer.id: place for place, peer in enumerate(wanted)}
    whole = tenure.whole if tenure is not None else {}
    able = [
        m.peer.id
        for m in config.members
        if m.peer.id in promises and (m.peer.id not in config.incomplete or m.peer.id in whole)
    ]

    def standing(broker: BrokerId) -> tuple[bool, int, int, int]:
        promise = promises[broker]
        truly = broker not in config.incomplete
        return truly, promise.last_epoch, promise.last_seq, -places.get(broker, len(places))

    owner = me if tenure is not None and me in promises else max(able, key=standing)
    lead = promises[owner]
    first_kept = lead.last_seq
    if tenure is not None and owner == me and tenure.pending:
        first_kept = tenure.pending[0].seq
    complete = [
        b
        for b in able
        if promises[b].last_epoch == lead.last_epoch
        and first_kept <= promises[b].last_seq <= lead.last_seq
        and (tenure is None or b not in tenure.behind)
    ]
    same = [b for b in complete if promises[b].last_seq == lead.last_seq]
    if wanted and all(peer.id in same for peer in wanted):
        kept = {m.peer.id: m for m in config.members}
        members = tuple(kept[peer.id] for peer in wanted)
        owner = wanted[0].id if wanted[0].id in same else owner
        return Config(config.name, config.epoch + 1, owner, members, (), config.born)
    members_next = [m for m in config.members if m.peer.id in complete]
    members_next += [
        m for m in config.members if m.peer.id in promises and m.peer.id not in complete and m.peer.id in places
    ]
    present = {m.peer.id for m in members_next}
    for peer in wanted:
        if peer.id not in present and peer.id not in suspected:
            members_next.append(Member(peer, group.gone.get(peer.id, peer.store)))
    incomplete = tuple(m.peer.id for m in members_next if m.peer.id not in complete)
    return Config(config.name, config.epoch + 1, owner, tuple(members_next), incomplete, config.born)


def described(group: Group, *, serving: bool, blocked: str | None, exposed: bool, lost: int) -> dict[str, object]:
    """A group as shown to people."""
    config = group.config
    return {
        "name": config.name,
        "epoch": config.epoch,
        "owner": next((m.peer.name for m in config.members if m.peer.id == config.owner), ""),
        "members": [m.peer.name for m in config.members],
        "incomplete": [m.peer.name for m in config.members if m.peer.id in config.incomplete],
        "serving": serving,
        "seq": group.position[1],
        "blocked": blocked,
        "exposed": exposed,
        "lost_rows": lost,
    }


# Durable rows --------------------------------------------------------------------------------------------------
_encode = msgspec.msgpack.Encoder().encode
_meta_decoder = msgspec.msgpack.Decoder(Meta)
_position_decoder: msgspec.msgpack.Decoder[tuple[int, int]] = msgspec.msgpack.Decoder(tuple[int, int])


class LeftRow(msgspec.Struct, frozen=True, array_like=True):
    """A group that went on without us."""

    born: int
    epoch: int
    name: str | None = None
    """Set when it went on without anybody: it has ended."""


_left_decoder = msgspec.msgpack.Decoder(LeftRow)


def meta_row(group: Group) -> Put:
    """The row that keeps a group's Meta."""
    return Put(LOCAL, b"g" + group.key, 0, _encode(group.meta))


def position_row(key: Key, position: Position) -> Put:
    """The row that keeps a group's position; written with every operation."""
    return Put(LOCAL, b"p" + key, 0, _encode(position))


def forget_rows(key: Key, config: Config) -> list[Write]:
    """Forget a group and its rows, but not that it went on without us in that epoch."""
    row = LeftRow(config.born, config.epoch, None if config.members else config.name)
    left = Put(LOCAL, (b"y" if may_end(config.name) else b"x") + key, 0, _encode(row))
    return [Delete(LOCAL, b"g" + key), Delete(LOCAL, b"p" + key), Delete(key, b"", END), left]


def decode_meta(value: bytes) -> Meta:
    """Meta from its row."""
    return _meta_decoder.decode(value)


def decode_left(value: bytes, me: BrokerId) -> tuple[Position, Config | None]:
    """In which epoch a group went on without us; and if without anybody, its last configuration."""
    row = _left_decoder.decode(value)
    last = None if row.name is None else Config(row.name, row.epoch, me, (), (), row.born)
    return (row.born, row.epoch), last


def decode_position(value: bytes) -> Position:
    """Position from its row."""
    return _position_decoder.decode(value)
