"""Heads: message structs to bytes and back. Hostile bytes end in RemoteProtocolError, never in anything else."""

from __future__ import annotations

from typing import Final

import msgspec

from causeway.core.messages import Message
from causeway.errors import Code, RemoteProtocolError
from causeway.limits import FRAME_BYTES_MAX, HEAD_BYTES_MAX, KIB
from causeway.wire.frame import PREFIX, pack

WHOLE_BYTES_MAX: Final = KIB
"""Frames up to here are made in one piece."""

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)

encode_head = _encoder.encode


def decode_head(head: bytes) -> Message:
    """One head to its message."""
    try:
        return _decoder.decode(head)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RemoteProtocolError(Code.BAD_FRAME, f"head is not a Causeway message: {error}") from error


def in_parts(head: Message, body: bytes) -> tuple[bytes, bytes, int]:
    """A frame as (beginning, rest, size): without a rest when it is small. A size of 0: it is over its bounds."""
    try:
        encoded = _encoder.encode(head)
    except OverflowError:  # a number that no message holds: whoever let it in has a bug, and costs one frame
        return b"", b"", 0
    head_size = len(encoded)
    size = head_size + len(body)
    if head_size > HEAD_BYTES_MAX or size > FRAME_BYTES_MAX:
        return b"", b"", 0
    first = PREFIX.pack(size, head_size) + encoded
    return (first + body, b"", size) if size <= WHOLE_BYTES_MAX else (first, body, size)


def encode_frame(head: Message, body: bytes = b"") -> bytes:
    """A whole frame, ready for the connection."""
    return pack(_encoder.encode(head), body)
