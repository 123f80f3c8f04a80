from __future__ import annotations

import random
import struct
import tracemalloc

import pytest

from causeway.errors import Code, RemoteProtocolError
from causeway.limits import FRAME_BYTES_MAX, HEAD_BYTES_MAX, MIB
from causeway.wire.frame import PREFIX_BYTES, FrameReader, pack

FRAMES = [(b"h", b""), (b"head", b"body"), (b"x" * 300, b"y" * 9000), (b"z", bytes(range(256)) * 500)]
STREAM = b"".join(pack(head, body) for head, body in FRAMES)


def test_packed_frame_is_prefix_head_and_body() -> None:
    assert pack(b"head", b"body!") == b"\0\0\0\x09\0\x04headbody!"


def test_frames_that_arrive_together_come_out_together_in_order() -> None:
    assert FrameReader().feed(STREAM) == FRAMES


@pytest.mark.parametrize("step", [1, 2, 3, 7, 100, 4095, 4096, 4097, 50_000])
def test_frames_come_out_the_same_however_the_stream_is_cut(step: int) -> None:
    reader = FrameReader()
    found = [frame for at in range(0, len(STREAM), step) for frame in reader.feed(STREAM[at : at + step])]
    assert found == FRAMES


def test_pieces_of_random_size_make_the_same_frames() -> None:
    rng = random.Random(7)
    for _ in range(50):
        reader, at, found = FrameReader(), 0, []
        while at < len(STREAM):
            size = rng.choice([1, 5, 100, 4000, 5000, 20_000])
            found += reader.feed(STREAM[at : at + size])
            at += size
        assert found == FRAMES
        assert all(type(part) is bytes for frame in found for part in frame)


def test_unfinished_frame_is_held_back_until_its_last_byte() -> None:
    reader = FrameReader()
    frame = pack(b"head", b"body")
    assert reader.feed(frame[:-1]) == []
    assert reader.feed(frame[-1:]) == [(b"head", b"body")]
    assert reader.feed(b"") == []


@pytest.mark.parametrize(
    ("size", "head_size", "word"),
    [
        (FRAME_BYTES_MAX + 1, 10, "exceeds"),
        (0xFFFFFFFF, 10, "exceeds"),
        (10, 11, "head length 11"),
        (10, 0, "head length 0"),
        (0, 0, "head length 0"),
        (100_000, HEAD_BYTES_MAX + 1, "head length"),
    ],
)
def test_frame_that_breaks_a_bound_is_refused_by_its_prefix_alone(size: int, head_size: int, word: str) -> None:
    with pytest.raises(RemoteProtocolError, match=word) as caught:
        FrameReader().feed(struct.pack(">IH", size, head_size))
    assert caught.value.code is Code.BAD_FRAME


def test_frame_at_its_bounds_passes() -> None:
    head, body = b"h" * HEAD_BYTES_MAX, bytes(FRAME_BYTES_MAX - HEAD_BYTES_MAX)
    assert FrameReader().feed(pack(head, body)) == [(head, body)]


def test_frame_that_comes_in_crumbs_costs_about_its_size() -> None:
    size = MIB // 4
    frame = pack(b"h", bytes(size))
    reader = FrameReader()
    crumbs = [frame[at : at + 2] for at in range(0, len(frame) - PREFIX_BYTES, 2)]
    tracemalloc.start()
    for crumb in crumbs:
        reader.feed(bytes(bytearray(crumb)))
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < 2 * size
