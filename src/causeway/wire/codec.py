"""Heads: message structs to bytes and back. Hostile bytes end in RemoteProtocolError, never in anything else."""

from __future__ import annotations

import msgspec

from causeway.core.messages import Message
from causeway.errors import Code, RemoteProtocolError
from causeway.wire.frame import pack

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)

encode_head = _encoder.encode


def decode_head(head: bytes) -> Message:
    """One head to its message."""
    try:
        return _decoder.decode(head)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RemoteProtocolError(Code.BAD_FRAME, f"head is not a Causeway message: {error}") from error


def encode_frame(head: Message, body: bytes = b"") -> bytes:
    """A whole frame, ready for the connection."""
    return pack(_encoder.encode(head), body)
