"""Whatever a peer sends, reading it ends in messages or in RemoteProtocolError, never in anything else.

This is the fuzz target of the wire: `ACCEPTED` lists every exception that may come out.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Any, get_args

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from causeway.core.messages import Message
from causeway.errors import RemoteProtocolError
from causeway.limits import FRAME_BYTES_MAX
from causeway.wire.codec import decode_frame, decode_head, encode_frame, encode_head, in_frames
from causeway.wire.frame import FrameReader, pack

ACCEPTED = (RemoteProtocolError,)
PATIENT: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
"""A busy machine is not a failure."""

KINDS: tuple[type, ...] = get_args(Message)


def strategy(found: msgspec.inspect.Type) -> st.SearchStrategy[object]:
    """Values of a wire type."""
    match found:
        case msgspec.inspect.IntType():
            return st.one_of(st.integers(0, 5), st.integers(-(2**63), 2**64 - 1))
        case msgspec.inspect.BoolType():
            return st.booleans()
        case msgspec.inspect.StrType():
            return st.text(max_size=12)
        case msgspec.inspect.BytesType():
            return st.binary(max_size=20)
        case msgspec.inspect.NoneType():
            return st.none()
        case msgspec.inspect.TupleType(item_types=items):
            return st.tuples(*map(strategy, items))
        case msgspec.inspect.VarTupleType(item_type=item):
            return st.lists(strategy(item), max_size=3).map(tuple)
        case msgspec.inspect.UnionType(types=types):
            return st.one_of([strategy(one) for one in types])
        case msgspec.inspect.StructType(cls=kind, fields=fields):
            return st.builds(kind, *(strategy(field.type) for field in fields))
        case _:
            raise NotImplementedError(f"teach this test about {found}")


MESSAGES = st.one_of([strategy(msgspec.inspect.type_info(kind)) for kind in KINDS])
JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=9),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=20,
)


def read(stream: bytes, cuts: list[int]) -> list[tuple[object, bytes]]:
    """As a connection reads."""
    reader = FrameReader()
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    found: list[tuple[object, bytes]] = []
    for start, stop in pairwise(edges):
        for frame in reader.feed(stream[start:stop]):
            found += decode_frame(*frame)
    return found


CUTS = st.lists(st.integers(0, 10_000), max_size=6)


@settings(max_examples=300, **PATIENT)
@given(st.binary(max_size=400), CUTS)
def test_any_bytes_end_in_messages_or_a_protocol_error(stream: bytes, cuts: list[int]) -> None:
    with suppress(*ACCEPTED):
        read(stream, cuts)


@settings(max_examples=300, **PATIENT)
@given(st.binary(min_size=1, max_size=300), st.binary(max_size=20), CUTS)
def test_any_head_in_a_sound_frame_ends_in_a_message_or_a_protocol_error(
    head: bytes, body: bytes, cuts: list[int]
) -> None:
    with suppress(*ACCEPTED):
        read(pack(head, body), cuts)


@settings(max_examples=300, **PATIENT)
@given(st.integers(0, 100), st.lists(JUNK, max_size=12))
def test_any_values_under_any_tag_end_in_a_message_or_a_protocol_error(tag: int, values: list[object]) -> None:
    try:
        message = decode_head(msgspec.msgpack.encode([tag, *values]))
    except ACCEPTED:
        return
    # What was accepted can be passed on: brokers forward heads.
    assert decode_head(encode_head(message)) == message


@settings(max_examples=300, **PATIENT)
@given(st.lists(st.tuples(MESSAGES, st.binary(max_size=40)), max_size=4), CUTS)
def test_every_message_survives_the_wire_however_the_stream_is_cut(
    frames: list[tuple[Message, bytes]], cuts: list[int]
) -> None:
    stream = b"".join(encode_frame(head, body) for head, body in frames)
    assert read(stream, cuts) == frames


@settings(max_examples=200, **PATIENT)
@given(st.lists(st.tuples(MESSAGES, st.binary(max_size=40)), min_size=1, max_size=6), CUTS)
def test_messages_that_share_a_frame_come_out_of_it_in_order_each_with_its_body(
    messages: list[tuple[Message, bytes]], cuts: list[int]
) -> None:
    frames = in_frames([head for head, _ in messages], [body for _, body in messages])
    assert len(frames) == 1
    assert read(b"".join(frames[0][:2]), cuts) == messages


@settings(max_examples=400, **PATIENT)
@given(
    st.lists(st.tuples(MESSAGES, st.binary(max_size=40)), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(1, 255)), min_size=1, max_size=5),
    CUTS,
)
def test_damaged_stream_ends_in_messages_or_a_protocol_error(
    frames: list[tuple[Message, bytes]], damage: list[tuple[int, int]], cuts: list[int]
) -> None:
    stream = bytearray(b"".join(encode_frame(head, body) for head, body in frames))
    shared = in_frames([head for head, _ in frames], [body for _, body in frames])
    stream += b"".join(first + rest for first, rest, _ in shared)
    for at, mask in damage:
        stream[at % len(stream)] ^= mask
    with suppress(*ACCEPTED):
        read(bytes(stream), cuts)


@settings(max_examples=100, **PATIENT)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1))
def test_prefix_alone_never_makes_the_reader_wait_for_more_than_the_bound(size: int, head_size: int) -> None:
    reader = FrameReader()
    try:
        assert reader.feed(size.to_bytes(4, "big") + head_size.to_bytes(2, "big")) == []
    except ACCEPTED:
        return
    assert 0 < head_size <= size <= FRAME_BYTES_MAX
