"""Frames: the unit on every connection, between brokers and to clients.

    0        4        6                6+H                  6+H+B
    +--------+--------+----------------+---------------------+
    | H+B u32| H  u16 | head, H bytes  | body, B bytes       |
    +--------+--------+----------------+---------------------+

The head is one message struct (see `codec`); the body is opaque here. Big-endian. Pure: bytes in, frames out.
"""

from __future__ import annotations

import struct
from typing import Final

from causeway.errors import Code, RemoteProtocolError
from causeway.limits import FRAME_BYTES_MAX, HEAD_BYTES_MAX

PREFIX: Final = struct.Struct(">IH")
PREFIX_BYTES: Final = PREFIX.size

SMALL_BYTES_MAX: Final = 4096
"""Pieces below this are gathered in one buffer: a frame that comes byte by byte costs its size, not an object each."""


def pack(head: bytes, body: bytes = b"") -> bytes:
    """One frame as bytes."""
    return b"".join((PREFIX.pack(len(head) + len(body), len(head)), head, body))


class FrameReader:
    """Cuts a stream of bytes into (head, body) pairs; holds at most one unfinished frame."""

    __slots__ = ("_parts", "_size", "_wanted")

    def __init__(self) -> None:
        self._parts: list[bytes | bytearray] = []
        self._size = 0
        self._wanted = PREFIX_BYTES

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """All frames completed by `data`. Raises RemoteProtocolError on a frame that breaks the bounds."""
        if self._parts:
            self._keep(data)
            self._size += len(data)
            if self._size < self._wanted:
                return []
            data = b"".join(self._parts)
            self._parts.clear()
            self._size = 0
        end = len(data)
        unpack = PREFIX.unpack_from
        if end > PREFIX_BYTES:
            # Most reads of a quiet conversation are exactly one frame.
            size, head_size = unpack(data)
            if size == end - PREFIX_BYTES and 0 < head_size <= size <= FRAME_BYTES_MAX and head_size <= HEAD_BYTES_MAX:
                split = PREFIX_BYTES + head_size
                return [(data[PREFIX_BYTES:split], data[split:])]
        frames: list[tuple[bytes, bytes]] = []
        position = 0
        wanted = PREFIX_BYTES
        while end - position >= PREFIX_BYTES:
            size, head_size = unpack(data, position)
            if size > FRAME_BYTES_MAX:
                raise RemoteProtocolError(Code.BAD_FRAME, f"frame length {size} exceeds {FRAME_BYTES_MAX} bytes")
            if head_size > size or head_size > HEAD_BYTES_MAX or head_size == 0:
                raise RemoteProtocolError(Code.BAD_FRAME, f"head length {head_size} does not fit frame length {size}")
            start = position + PREFIX_BYTES
            stop = start + size
            if stop > end:
                wanted = PREFIX_BYTES + size
                break
            split = start + head_size
            frames.append((data[start:split], data[split:stop]))
            position = stop
        if position < end:
            rest = data[position:]
            self._parts.append(rest)
            self._size = len(rest)
            self._wanted = wanted
        return frames

    def _keep(self, data: bytes) -> None:
        """Add a piece of an unfinished frame."""
        if len(data) >= SMALL_BYTES_MAX:
            self._parts.append(data)
        elif isinstance(last := self._parts[-1], bytearray):
            last += data
        else:
            self._parts.append(bytearray(data))
