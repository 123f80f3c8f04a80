"""Messages to frames and back: what a turn says on a connection travels in one frame.

A frame's head is one message, or `Several` of them; then its body is all their bodies, one behind the other. Hostile
bytes end in RemoteProtocolError, never in anything else.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Final

import msgspec

from causeway.core.messages import Message
from causeway.errors import Code, RemoteProtocolError
from causeway.limits import FRAME_BYTES_MAX, HEAD_BYTES_MAX, KIB
from causeway.wire.frame import PREFIX, pack

WHOLE_BYTES_MAX: Final = KIB
"""Frames up to here are made in one piece."""

SHARED_HEAD_BYTES_MAX: Final = HEAD_BYTES_MAX - KIB
SHARED_COUNT_MAX: Final = 512
SHARED_BODY_BYTES_MAX: Final = 128 * KIB
"""Messages share a frame up to here; larger ones have one of their own."""


class Several(msgspec.Struct, frozen=True, array_like=True, tag=0, gc=False):
    """The head of a frame with several messages: how long each one's body is, and the messages."""

    sizes: list[int]
    heads: list[Message]


_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Message | Several] = msgspec.msgpack.Decoder(Message | Several)

encode_head = _encoder.encode


def decode_head(head: bytes) -> Message:
    """One message, alone in its frame."""
    found = _decode(head)
    if isinstance(found, Several):
        raise RemoteProtocolError(Code.BAD_FRAME, "head is not a Causeway message: several, where there is one")
    return found


def decode_frame(head: bytes, body: bytes) -> list[tuple[Message, bytes]]:
    """All messages of a frame, each with its body."""
    found = _decode(head)
    if not isinstance(found, Several):
        return [(found, body)]
    heads, sizes = found.heads, found.sizes
    if len(heads) != len(sizes) or sum(sizes) != len(body) or (sizes and min(sizes) < 0):
        raise RemoteProtocolError(Code.BAD_FRAME, "sizes: do not match the messages of the frame, or its body")
    if not body:
        return [(one, b"") for one in heads]
    stops = accumulate(sizes)
    return [(one, body[stop - size : stop]) for one, size, stop in zip(heads, sizes, stops, strict=True)]


def _decode(head: bytes) -> Message | Several:
    try:
        return _decoder.decode(head)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RemoteProtocolError(Code.BAD_FRAME, f"head is not a Causeway message: {error}") from error


def in_parts(head: Message | Several, body: bytes) -> tuple[bytes, bytes, int]:
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


def in_frames(heads: list[Message], bodies: list[bytes]) -> list[tuple[bytes, bytes, int]]:
    """Messages in as few frames as hold them, each as `in_parts` has it; a size of 0 stands for one over its bounds."""
    if len(heads) == 1:
        return [in_parts(heads[0], bodies[0])]
    found = in_parts(Several([len(body) for body in bodies], heads), b"".join(bodies))
    if found[2]:
        return [found]
    half = len(heads) // 2
    return in_frames(heads[:half], bodies[:half]) + in_frames(heads[half:], bodies[half:])


def encode_frame(head: Message, body: bytes = b"") -> bytes:
    """A whole frame, ready for the connection."""
    return pack(_encoder.encode(head), body)
