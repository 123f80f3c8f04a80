"""Where the rows of a mailbox stand among the rows of its shard:  kind (1)  name  NUL  the rest of the key.

The kind comes first, so that a shard's bulk is together (see `groups.loading`); the name stands in the key, so that
whoever copies rows blindly can still say whose they are. Names have no NUL (`names.check_name`).

    "n" name NUL   Birth        the mailbox has begun

Owns: the encoding. Must not know: what the rows of a mailbox mean.
"""

from __future__ import annotations

from typing import Final

import msgspec

from causeway.store.base import Delete, Put, Row, Write

BIRTH: Final = b"n"
NUL: Final = b"\0"
AFTER_NUL: Final = b"\1"
KINDS: Final = (b"b", b"d", b"m", BIRTH, b"s", b"t", b"u", b"w")
"""Every kind of row that a mailbox can have."""


class Birth(msgspec.Struct, frozen=True, array_like=True):
    """When a mailbox began."""

    born: int
    """The number its first operation took in the shard: a later life of the same name has a higher one."""


_decode = msgspec.msgpack.Decoder(Birth).decode


class RowPlace:
    """The rows of one mailbox in its shard."""

    __slots__ = ("_middle", "_shard")

    def __init__(self, shard: bytes, name: str) -> None:
        self._shard = shard
        self._middle = name.encode() + NUL

    def outer(self, key: bytes) -> bytes:
        """A key of the mailbox as a key of the shard."""
        return key[:1] + self._middle + key[1:]

    def end_of(self, kind: bytes) -> bytes:
        """A key of the shard above all of the mailbox's of this kind."""
        return kind + self._middle[:-1] + AFTER_NUL

    def write(self, write: Write) -> Write:
        """What a mailbox writes, as its shard writes it."""
        middle = self._middle
        if type(write) is Put:
            key = write.key
            return Put(self._shard, key[:1] + middle + key[1:], write.seq, write.value)
        assert isinstance(write, Delete)
        start, stop = write.start, write.stop
        return Delete(self._shard, start[:1] + middle + start[1:], stop[:1] + middle + stop[1:] if stop else b"")

    def birth(self, born: int) -> Put:
        """The row that says that the mailbox has begun."""
        return Put(self._shard, BIRTH + self._middle, born, msgspec.msgpack.encode(Birth(born)))

    def deletes(self) -> list[Write]:
        """What ends the mailbox: nothing of it stays."""
        return [Delete(self._shard, kind + self._middle, self.end_of(kind)) for kind in KINDS]


def split(key: bytes) -> tuple[str, bytes] | None:
    """Whose a row of a shard is, and its key among the mailbox's rows; None of a key that makes no sense."""
    name, found, rest = key[1:].partition(NUL)
    if not found or not name:
        return None
    try:
        return name.decode(), key[:1] + rest
    except UnicodeDecodeError:
        return None


def born_in(row: Row) -> int | None:
    """When a mailbox began, by its row; None of a row that makes no sense."""
    try:
        return _decode(row.value).born
    except msgspec.MsgspecError:
        return None
