"""Identity and time: the few types every other module speaks in.

Owns: keys and the one hash that makes them, broker addresses, service classes, id ranges.
Must not know: any protocol.
"""

from __future__ import annotations

import enum
import hashlib
from typing import Final, NewType

import msgspec

Key = NewType("Key", bytes)
"""128 bits, big-endian: a place on the ring. Brokers and mailboxes share this space (PBM section 2.1)."""

BrokerId = Key
"""The key of a broker, hashed from its name."""

Instant = int
"""Nanoseconds. Within one life of a broker it never goes back; its origin is the Unix epoch as first read."""

Duration = int
"""Nanoseconds."""

KEY_BYTES: Final = 16

MICROSECOND: Final[Duration] = 1_000
MILLISECOND: Final[Duration] = 1_000_000
SECOND: Final[Duration] = 1_000_000_000


SEAT_PREFIX: Final = "causeway/seats/"
"""Groups named so are seats: the part of a broker in causal traffic, named after the broker it belongs to."""

CRITICAL_ITEM_PREFIX: Final = "causeway/topics/critical/"
"""Groups named so are the items of critical topics, in pairs: `NN/0` and `NN/1`, one for each way."""

TWIN_PREFIX: Final = "twin/"
"""Begins the name of a subscription's second mailbox, for the other way of critical topics; its first one's follows."""

SHARD_PREFIX: Final = "causeway/shards/"
"""Groups named so are shards, which hold the mailboxes: `COUNT/NUMBER`, of so many in the cluster."""

_OWN: Final = "causeway/"
"""Begins the names of the brokers' own groups; all others are those of mailboxes and brokers."""

_PLACED: Final = (SEAT_PREFIX, CRITICAL_ITEM_PREFIX, TWIN_PREFIX, SHARD_PREFIX)
_OTHER_HALF: Final = 0x80
_DIGITS_MAX: Final = 6


def key_of(name: str) -> Key:
    """The one hash of the system: a broker's or a mailbox's name to its place on the ring.

    A seat lies beside its broker, so that nobody is closer to it while that one lives, and its neighbours hold copies.
    What belongs to the two ways of critical topics lies on opposite sides of the ring. Shards share it out evenly.
    The last bit tells what has a group of its own (`has_own_group`).
    """
    if name.startswith(_PLACED):
        return _placed(name)
    return _hashed(name)


def half_of(key: Key) -> int:
    """Which half of the ring a key lies in, 0 or 1. Each of the two ways of critical topics keeps to one half: who
    takes the batches, the items, the mailboxes. So whoever fails is on one of them."""
    return key[0] >> 7


def has_own_group(key: Key) -> bool:
    """Whether this is the key of one of the brokers' own groups, and not that of a mailbox, which lies in a shard."""
    return bool(key[-1] & 1)


def shard_name(number: int, count: int) -> str:
    """The group of one of `count` shards, which are a power of two."""
    return f"{SHARD_PREFIX}{count}/{number}"


def home_of(key: Key, shards: int) -> Key:
    """The replica group that a key's rows are in: its own, or one of so many shards, by the key's first bits."""
    if not shards or has_own_group(key):
        return key
    return key_of(shard_name(int.from_bytes(key[:2], "big") * shards >> 16, shards))


def hash_of(name: str) -> int:
    """A number for a name, every bit as likely as not: what is shared out by it is shared out evenly."""
    return int.from_bytes(_digest(name), "big")


def _digest(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=KEY_BYTES).digest()


def _hashed(name: str) -> Key:
    digest = _digest(name)
    return Key(digest[:-1] + bytes([(digest[-1] & 0xFE) | name.startswith(_OWN)]))


def _placed(name: str) -> Key:
    """Names whose place follows from another one's."""
    if name.startswith(SEAT_PREFIX):
        beside = key_of(name[len(SEAT_PREFIX) :])
        return Key(beside[:-1] + bytes([beside[-1] ^ 1]))
    if name.startswith(TWIN_PREFIX):
        first = key_of(name[len(TWIN_PREFIX) :])
        return Key(bytes([first[0] ^ _OTHER_HALF]) + first[1:])
    pair, _, way = name.rpartition("/")
    if name.startswith(SHARD_PREFIX):
        count = pair[len(SHARD_PREFIX) :]
        if not (way.isdecimal() and count.isdecimal() and len(count) < _DIGITS_MAX and int(way) < int(count)):
            return _hashed(name)
        place = (int(way) << 8 * KEY_BYTES) // int(count)
        return Key((place | 1).to_bytes(KEY_BYTES, "big"))
    first = _hashed(pair)
    # Well inside of its half, so that the neighbours with its copies lie there too.
    inside = (first[0] & 0x3F) + 0x20
    return Key(bytes([inside ^ _OTHER_HALF if way == "1" else inside]) + first[1:])


class Peer(msgspec.Struct, frozen=True, array_like=True):
    """How to reach a broker, and which storage it has now."""

    id: BrokerId
    name: str
    host: str
    port: int
    store: int
    """Drawn when the broker's storage was created: a broker that lost its memory is a new member everywhere."""


class ServiceClass(enum.IntEnum):
    """What an acknowledgement means (docs/guarantees.md). Each class numbers its messages on its own."""

    EXPRESS = 0
    RECOVERABLE = 1
    TRANSACTIONAL = 2
    COMMITTED = 3
    """Sent inside an atomic transaction; stored like TRANSACTIONAL, admitted by the transaction's number."""


class Flag(enum.IntFlag):
    """Properties of a whole batch; a producer starts a new batch where one of them changes."""

    RELIABLE = 1
    """The sender waits for an acknowledgement."""
    CONFIRM = 2
    """The sender wants to hear when the application has it."""
    HEADERS = 4
    """Each message starts with a header block (see `wire.body`); without it messages are bare bodies."""
    REDELIVERED = 8
    """The messages may have reached an application before."""
    RETAIN = 16
    """Published: the topic keeps the last of them for whoever subscribes later; an empty message ends that."""
    APART = 32
    """Set by the source broker on way 1 of a critical topic: perhaps somebody is served by way 0 alone, so that to have
    it here is not enough for an acknowledgement."""
    DELAYED = 64
    """Published with a delay: what comes after it may be before it."""


NORMAL_PRIORITY: Final = 4
"""Of messages whose sender chose none, and of all in causal order."""


class Overflow(enum.IntEnum):
    """What happens when a subscription's store is full."""

    BLOCK = 0
    """It takes nothing more until somebody reads; its topics wait, and in the end their publishers."""
    DROP_OLDEST = 1
    """Its oldest messages make room."""
    DISCONNECT = 2
    """It ends, and its readers are told."""


Span = tuple[int, int]
"""First and last id of a run, both included."""

VOLATILE_FROM: Final = 1 << 62
"""Numbers in a mailbox from here on belong to messages that are only in its owner's memory and die with it; numbers of
stored messages never get so far."""
