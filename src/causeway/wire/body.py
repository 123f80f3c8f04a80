"""The body of a batch: lengths first, then the messages, so that a broker can cut a batch without parsing it.

    count x u32 length | message 0 | message 1 | ...

With Flag.HEADERS each message is itself  u16 header length | headers (msgpack map) | payload.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache

from causeway.errors import Code, RemoteProtocolError


@lru_cache(maxsize=256)
def _lengths(count: int) -> struct.Struct:
    return struct.Struct(f">{count}I")


def join(messages: Sequence[bytes]) -> bytes:
    """Messages to one body."""
    if len(messages) == 1:
        return len(messages[0]).to_bytes(4, "big") + messages[0]
    return b"".join((_lengths(len(messages)).pack(*map(len, messages)), *messages))


def split(body: bytes, count: int) -> list[bytes]:
    """One body to its messages. Raises RemoteProtocolError if lengths and size disagree."""
    if count == 1:
        payload = body[4:]
        if len(body) < 4 or int.from_bytes(body[:4], "big") != len(payload):
            raise RemoteProtocolError(Code.BAD_FRAME, "batch body does not match its length table")
        return [payload]
    at = 4 * count
    if not 0 <= at <= len(body):
        raise RemoteProtocolError(Code.BAD_FRAME, "batch body is shorter than its length table")
    messages: list[bytes] = []
    add = messages.append
    for length in _lengths(count).unpack_from(body):
        stop = at + length
        add(body[at:stop])
        at = stop
    if at != len(body):
        raise RemoteProtocolError(Code.BAD_FRAME, "batch body does not match its length table")
    return messages


def check(body: bytes, count: int) -> bool:
    """Whether the length table fits the body exactly. One C call per batch, none per message."""
    if count == 1:
        return int.from_bytes(body[:4], "big") + 4 == len(body)
    table = 4 * count
    return 0 < table <= len(body) and table + sum(_lengths(count).unpack_from(body)) == len(body)


def cut(body: bytes, count: int, start: int, stop: int) -> bytes:
    """The body of messages start..stop-1 of a batch of `count`."""
    if start == 0 and stop == count:
        return body
    lengths = _lengths(count).unpack_from(body)
    at = 4 * count + sum(lengths[:start])
    kept = lengths[start:stop]
    return _lengths(len(kept)).pack(*kept) + body[at : at + sum(kept)]
