"""What the members of a replica group say to each other (ADR 0002). Tags 30 to 49."""

from __future__ import annotations

import msgspec

from causeway.types import BrokerId, Key, Peer

Ballot = tuple[int, bytes]
"""Attempt and proposer: totally ordered, so that of two proposals one wins."""

Appended = tuple[Key, int, int, int, int]
"""One operation: group, epoch, the member's token, position before it, and its span, the numbers that it takes."""


class Member(msgspec.Struct, frozen=True, array_like=True):
    """A broker's membership in one group. The token ties it to the storage it had when it was admitted."""

    peer: Peer
    token: int


class Config(msgspec.Struct, frozen=True, array_like=True):
    """Who holds a group in one epoch. Chosen once per epoch, by a majority of the epoch before."""

    name: str
    epoch: int
    owner: BrokerId
    members: tuple[Member, ...]
    incomplete: tuple[BrokerId, ...] = ()
    """Members that take part in every write but still lack older rows."""
    born: int = 0
    """The group's first epoch. A name that was retired and used again has another birth: its old rows are void."""
    witnesses: tuple[Member, ...] = ()
    """Brokers without a copy that vote on the next epoch."""


class Prepare(msgspec.Struct, frozen=True, array_like=True, tag=30):
    """Asks a member of `config` to promise that no lower ballot will choose the epoch after it."""

    group: Key
    config: Config
    ballot: Ballot


class Promised(msgspec.Struct, frozen=True, array_like=True, tag=31):
    """The promise, with the member's position and the configuration it accepted already, if any."""

    group: Key
    epoch: int
    ballot: Ballot
    last_epoch: int
    last_seq: int
    accepted_ballot: Ballot | None = None
    accepted: Config | None = None


class Outbid(msgspec.Struct, frozen=True, array_like=True, tag=32):
    """No: a higher ballot was promised."""

    group: Key
    epoch: int
    ballot: Ballot


class Outdated(msgspec.Struct, frozen=True, array_like=True, tag=33):
    """No: a later epoch was chosen, here it is."""

    group: Key
    config: Config


class Accept(msgspec.Struct, frozen=True, array_like=True, tag=34):
    """Asks a member of epoch next.epoch - 1 to accept `next` under a ballot it promised."""

    group: Key
    ballot: Ballot
    next: Config


class Adopted(msgspec.Struct, frozen=True, array_like=True, tag=35):
    """Accepted; with a majority of these the configuration is chosen."""

    group: Key
    epoch: int
    ballot: Ballot


class Chosen(msgspec.Struct, frozen=True, array_like=True, tag=36):
    """The configuration is chosen: whoever is in it installs it, whoever is not forgets the group."""

    group: Key
    config: Config
    base: int = -1
    """Where the epoch begins; only its owner knows, and a member that lacks rows waits to hear it."""


class Installed(msgspec.Struct, frozen=True, array_like=True, tag=37):
    """A member has installed the epoch; its rows go to `seq`."""

    group: Key
    epoch: int
    seq: int


class Replicate(msgspec.Struct, frozen=True, array_like=True, tag=38, gc=False):
    """Operations of the owner, of as many groups as a turn wrote to. Those of one group are in order, without gaps.

    The body holds for each operation, in the same order, the rows it writes.
    """

    operations: tuple[Appended, ...]


class Copied(msgspec.Struct, frozen=True, array_like=True, tag=39, gc=False):
    """Everything of these groups up to these positions is on this member's storage."""

    positions: tuple[tuple[Key, int, int], ...]
    """Group, epoch, and the position after the last operation."""


class NotMember(msgspec.Struct, frozen=True, array_like=True, tag=40):
    """This storage was never admitted under that token, or has lost it; `token` is what it would be admitted with."""

    group: Key
    epoch: int
    token: int


class Chunk(msgspec.Struct, frozen=True, array_like=True, tag=41):
    """All rows with start <= key < stop, exactly as of position `at`: replaces what the newcomer has there."""

    group: Key
    epoch: int
    token: int
    at: int
    start: bytes
    stop: bytes
    """Empty: to the end; the newcomer then lacks nothing."""


class Chunked(msgspec.Struct, frozen=True, array_like=True, tag=42):
    """The chunk from `start` is stored, or (not ok) came out of order and must be read again."""

    group: Key
    epoch: int
    start: bytes
    ok: bool


class Fetch(msgspec.Struct, frozen=True, array_like=True, tag=43):
    """Asks a member for rows that failed their checksum here."""

    group: Key
    epoch: int
    keys: tuple[bytes, ...]


class Fetched(msgspec.Struct, frozen=True, array_like=True, tag=44):
    """The rows asked for, as body; those it does not have are missing."""

    group: Key
    epoch: int
    more: bool = False
    """Not all that it has did fit: ask for the rest again."""
    keys: tuple[bytes, ...] = ()
    """What was asked for."""


class Inquire(msgspec.Struct, frozen=True, array_like=True, tag=45):
    """A member that has heard nothing of its group for a while: is my epoch still the latest?"""

    group: Key
    epoch: int


# The directory: one group, the root, that every birth of another group goes through -----------------------------
class Resolve(msgspec.Struct, frozen=True, array_like=True, tag=46):
    """Who holds this group? If nobody yet, it is born with `candidates`, the first as its owner."""

    group: Key
    name: str
    candidates: tuple[Peer, ...]
    existing: bool = False
    """It must exist already: nothing is born."""
    witnesses: tuple[Peer, ...] = ()
    """And with these."""


class Resolved(msgspec.Struct, frozen=True, array_like=True, tag=47):
    """The latest configuration the directory knows; None means it cannot say now (`code`)."""

    group: Key
    config: Config | None
    code: int = 0


class Enter(msgspec.Struct, frozen=True, array_like=True, tag=48):
    """An owner reports its epoch to the directory; `retired` when the group has ended for good."""

    group: Key
    config: Config
    retired: bool = False
    salvaged: bool = False
    """People decided that it goes on from the sender's copy alone: the directory answers with the epoch for that."""


class Entered(msgspec.Struct, frozen=True, array_like=True, tag=49):
    """The directory holds that epoch or a later one."""

    group: Key
    epoch: int


# People --------------------------------------------------------------------------------------------------------
class Salvage(msgspec.Struct, frozen=True, array_like=True, tag=50):
    """A client to the broker with the most complete copy left: its majority is lost for good, go on from this one."""

    token: int
    mailbox: str
    epoch: int
    seq: int
    """Where the copy stood when it was decided; a copy that stands elsewhere is to be looked at again."""


class Salvaged(msgspec.Struct, frozen=True, array_like=True, tag=51):
    """The group goes on from that copy, in this epoch; or it does not, and why."""

    token: int
    mailbox: str
    epoch: int = 0
    code: int = 0
    detail: str = ""


GroupMessage = (
    Prepare
    | Promised
    | Outbid
    | Outdated
    | Accept
    | Adopted
    | Chosen
    | Installed
    | Replicate
    | Copied
    | NotMember
    | Chunk
    | Chunked
    | Fetch
    | Fetched
    | Inquire
    | Resolve
    | Resolved
    | Enter
    | Entered
    | Salvage
    | Salvaged
)
"""About replica groups."""
