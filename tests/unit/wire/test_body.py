from __future__ import annotations

import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from causeway.errors import Code, RemoteProtocolError
from causeway.wire.body import check, cut, join, split

MESSAGES = st.lists(st.binary(max_size=50), min_size=1, max_size=30)
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@patient
@given(MESSAGES)
def test_joined_messages_split_into_themselves(messages: list[bytes]) -> None:
    body = join(messages)
    assert split(body, len(messages)) == messages
    assert check(body, len(messages))


@patient
@given(MESSAGES, st.data())
def test_cut_is_the_body_of_the_messages_between(messages: list[bytes], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(messages) - 1))
    stop = data.draw(st.integers(start + 1, len(messages)))
    assert cut(join(messages), len(messages), start, stop) == join(messages[start:stop])


def test_cut_of_everything_is_the_same_object() -> None:
    body = join([b"a", b"b"])
    assert cut(body, 2, 0, 2) is body


@patient
@given(MESSAGES, st.integers(-3, 40), st.binary(max_size=3), st.integers(0, 3))
def test_split_and_check_agree_on_what_is_sound(messages: list[bytes], count: int, more: bytes, less: int) -> None:
    body = join(messages) + more
    body = body[: len(body) - less]
    try:
        found = split(body, count)
    except RemoteProtocolError:
        assert not check(body, count)
    else:
        assert len(found) == count
        assert check(body, count) or count == 0


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (b"", 1),
        (b"\0\0\0", 1),
        (b"\0\0\0\x01", 1),
        (b"\0\0\0\0x", 1),
        (b"", 2),
        (b"\0\0\0\0\0\0\0\x05abcd", 2),
        (b"\xff\xff\xff\xff" * 2, 2),
        (b"abcd", -1),
        (b"abcd", -(2**62)),
        (b"abcd", 2**62),
        (b"abcd", 0),
    ],
)
def test_body_that_does_not_fit_its_count_is_refused(body: bytes, count: int) -> None:
    assert not check(body, count)
    with pytest.raises(RemoteProtocolError) as caught:
        split(body, count)
    assert caught.value.code is Code.BAD_FRAME


def test_many_equal_lengths_are_one_table() -> None:
    body = join([b"12345678"] * 1000)
    assert body[:8] == struct.pack(">2I", 8, 8)
    assert len(body) == 12 * 1000
