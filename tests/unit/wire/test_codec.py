from __future__ import annotations

import sys

import msgspec
import pytest

from causeway.core.messages import Deposit, Goodbye, Hello, Message, Ping, Welcome
from causeway.errors import Code, RemoteProtocolError
from causeway.types import Peer, key_of
from causeway.wire.codec import decode_frame, decode_head, encode_frame, encode_head, in_frames
from causeway.wire.frame import PREFIX_BYTES, FrameReader

PEER = Peer(key_of("b"), "b", "127.0.0.1", 7400, 5)


@pytest.mark.parametrize(
    "message",
    [
        Ping(7),
        Goodbye(1, "why: \u00e4\u20ac\U0001f600"),
        Hello(1, "billing", 2**63 - 1),
        Hello(1, "", 0, PEER, "cluster"),
        Welcome(1, PEER, 3, others=(PEER, PEER)),
        Deposit("a", 1, "b", 2, 1, 64, 0, 3, 4, 0, b"\0\xff"),
    ],
)
def test_head_survives_the_wire(message: Ping) -> None:
    assert decode_head(encode_head(message)) == message


def test_frame_holds_the_encoded_head_and_the_body() -> None:
    ((head, body),) = FrameReader().feed(encode_frame(Ping(7), b"body"))
    assert (decode_head(head), body) == (Ping(7), b"body")


def test_head_of_a_later_version_with_more_fields_is_understood() -> None:
    """Fields are only ever appended (docs/wire.md)."""
    known = msgspec.msgpack.decode(encode_head(Ping(7)))
    assert decode_head(msgspec.msgpack.encode([*known, "from the future", [1, 2]])) == Ping(7)


def test_head_of_an_earlier_version_with_fewer_fields_gets_the_defaults() -> None:
    assert decode_head(msgspec.msgpack.encode([4, 7])) == Ping(7)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\xc1",
        b"not msgpack at all",
        msgspec.msgpack.encode({"type": 4}),
        msgspec.msgpack.encode(4),
        msgspec.msgpack.encode([]),
        msgspec.msgpack.encode([29_999, 1]),
        msgspec.msgpack.encode(["Ping", 1]),
        msgspec.msgpack.encode([4]),
        msgspec.msgpack.encode([4, "seven"]),
        msgspec.msgpack.encode([4, 7.5]),
        msgspec.msgpack.encode([4, None]),
        msgspec.msgpack.encode([4, 7]) + b"\0",
        b"\x92\x03\xa4\xff\xff\xff\xff",
        b"\x93\x03\x01\xa4\xff\xff\xff\xff",
        b"\xdd\xff\xff\xff\xff\x04",
        b"\x91" * 100_000,
        b"\xc7\x05\x01abcde",
    ],
)
def test_anything_else_is_refused_as_a_bad_frame(head: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match="not a Causeway message") as caught:
        decode_head(head)
    assert caught.value.code is Code.BAD_FRAME


def test_unknown_field_nested_without_end_does_no_harm() -> None:
    known = encode_head(Ping(7))
    deep = bytes([known[0] + 1]) + known[1:] + b"\x91" * 100_000 + b"\xc0"
    if sys.version_info >= (3, 14):  # it measures the stack instead of counting calls, and passes over the field
        assert decode_head(deep) == Ping(7)
        return
    with pytest.raises(RemoteProtocolError, match="not a Causeway message"):
        decode_head(deep)


def test_messages_share_a_frame_and_come_out_of_it_with_their_bodies() -> None:
    said: list[tuple[Message, bytes]] = [(Ping(1), b"one"), (Ping(2), b""), (Goodbye(0, ""), b"three")]
    ((first, rest, size),) = in_frames([head for head, _ in said], [body for _, body in said])
    assert len(first) + len(rest) == PREFIX_BYTES + size
    ((head, body),) = FrameReader().feed(first + rest)
    assert decode_frame(head, body) == said


def test_heads_over_the_bound_of_a_frame_make_several() -> None:
    heads: list[Message] = [Goodbye(number, "x" * 1000) for number in range(200)]
    frames = in_frames(heads, [b"y"] * 200)
    assert len(frames) == 4
    stream = b"".join(first + rest for first, rest, _ in frames)
    found = [one for head, body in FrameReader().feed(stream) for one in decode_frame(head, body)]
    assert found == [(head, b"y") for head in heads]


@pytest.mark.parametrize("sizes", [[1], [1, 1, 1], [3, 0], [-1, 3], [1 << 70, 0]])
def test_sizes_that_do_not_match_the_frame_end_in_a_protocol_error(sizes: list[int]) -> None:
    head = msgspec.msgpack.encode([0, [s if s < 1 << 63 else float(s) for s in sizes], [[4, 7, 0], [4, 8, 0]]])
    with pytest.raises(RemoteProtocolError):
        decode_frame(head, b"ab")


def test_frames_do_not_nest() -> None:
    inner = [0, [0], [[4, 7, 0]]]
    with pytest.raises(RemoteProtocolError):
        decode_frame(msgspec.msgpack.encode([0, [0], [inner]]), b"")
    with pytest.raises(RemoteProtocolError):
        decode_head(msgspec.msgpack.encode(inner))
