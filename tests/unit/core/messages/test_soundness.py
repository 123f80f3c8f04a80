"""What one broker believes of another's words about groups."""

from __future__ import annotations

import msgspec
import pytest

from causeway.core.messages import (
    Accept,
    Chosen,
    Chunk,
    Config,
    Copied,
    Enter,
    Fetch,
    Inquire,
    Installed,
    Member,
    Message,
    NotMember,
    Outbid,
    Prepare,
    Promised,
    Replicate,
    Resolve,
    Resolved,
)
from causeway.core.messages.soundness import config_fault, group_fault, rows_fault, writes_fault
from causeway.limits import EPOCH_MAX, FETCHED_ROWS_MAX, GROUP_MEMBERS_MAX, ROW_KEY_BYTES_MAX
from causeway.store.base import LOCAL, Delete, Put, Row
from causeway.types import Key, Peer, key_of

KEY = key_of("orders")


def peer(name: str) -> Peer:
    return Peer(key_of(name), name, "127.0.0.1", 7400, 7)


A, B = peer("a"), peer("b")
CONFIG = Config("orders", 9, A.id, (Member(A, 1), Member(B, 2)), (B.id,), 7)
BALLOT = (3, A.id)


def changed(**fields: object) -> Config:
    return msgspec.structs.replace(CONFIG, **fields)


@pytest.mark.parametrize(
    "config",
    [
        changed(name=""),
        changed(name="other"),
        changed(epoch=EPOCH_MAX + 1),
        changed(epoch=-1, born=-1),
        changed(born=10),
        changed(owner=key_of("c")),
        changed(owner=b"short", members=(), incomplete=()),
        changed(members=(Member(A, 1), Member(A, 2)), incomplete=()),
        changed(members=tuple(Member(peer(f"{n}"), 1) for n in range(GROUP_MEMBERS_MAX + 1)), incomplete=()),
        changed(members=(Member(msgspec.structs.replace(A, id=b"short"), 1),), owner=b"short", incomplete=()),
        changed(members=(Member(A, 1), Member(msgspec.structs.replace(B, port=65536), 2))),
        changed(members=(Member(A, 1), Member(msgspec.structs.replace(B, host=""), 2))),
        changed(members=(Member(A, 1), Member(msgspec.structs.replace(B, name="n" * 300), 2))),
        changed(incomplete=(B.id, B.id)),
        changed(incomplete=(key_of("c"),)),
    ],
)
def test_configuration_that_makes_no_sense_is_not_believed(config: Config) -> None:
    assert config_fault(CONFIG, KEY) is None
    assert config_fault(config, KEY) is not None
    about: list[Message] = [Chosen(KEY, config), Prepare(KEY, config, BALLOT), Accept(KEY, BALLOT, config)]
    about += [Resolved(KEY, config), Enter(KEY, config), Promised(KEY, config.epoch, BALLOT, 1, 1, BALLOT, config)]
    assert all(group_fault(head) is not None for head in about)


SOUND: list[Message] = [
    Chosen(KEY, CONFIG),
    Chosen(KEY, changed(members=(), incomplete=())),
    Promised(KEY, 9, BALLOT, 8, 1, BALLOT, CONFIG),
    Promised(KEY, 9, (0, b""), 8, 1),
    Replicate(((KEY, 9, 2**64 - 1, 1, 1),)),
    Replicate(((KEY, 9, 1, 1, 1), (key_of("bills"), 3, 1, 7, 2))),
    Copied(((KEY, 9, 1), (key_of("bills"), 3, 9))),
    Resolve(KEY, "orders", (A, B)),
    Resolved(KEY, None, 13),
    NotMember(KEY, 9, 2**64 - 1),
    Fetch(KEY, 9, (b"k",) * FETCHED_ROWS_MAX),
]
ABSURD: list[Message] = [
    Inquire(Key(b""), 1),
    Chosen(KEY, CONFIG, -2),
    Promised(KEY, 9, BALLOT, 8, 1, BALLOT, None),
    Promised(KEY, 9, BALLOT, 8, 1, None, CONFIG),
    Promised(KEY, 8, BALLOT, 8, 1, BALLOT, CONFIG),
    Promised(KEY, 9, BALLOT, 8, 2**64 - 1),
    Outbid(KEY, 9, (2**64 - 1, A.id)),
    Outbid(KEY, 9, (1, b"short")),
    Installed(KEY, 9, -1),
    Copied(((KEY, 2**64 - 1, 1),)),
    Copied(((KEY, 9, 1), (Key(b"short"), 9, 1))),
    Copied(((KEY, 9, 1), (KEY, 9, -1))),
    Replicate(((KEY, 9, 1, 1, 1), (Key(b""), 9, 1, 1, 1))),
    Replicate(((KEY, 9, 1, 1, 0),)),
    Replicate(((KEY, 9, 1, EPOCH_MAX, 1),)),
    Replicate(((KEY, 9, 1, -1, 5),)),
    Chunk(KEY, 9, 1, 1, b"k" * (ROW_KEY_BYTES_MAX + 1), b""),
    Fetch(KEY, 9, (b"k",) * (FETCHED_ROWS_MAX + 1)),
    Resolve(KEY, "other", (A, B)),
    Resolve(KEY, "orders", (A, A)),
]


@pytest.mark.parametrize("head", SOUND, ids=lambda head: type(head).__name__)
def test_sensible_message_is_believed(head: Message) -> None:
    assert group_fault(head) is None


@pytest.mark.parametrize("head", ABSURD, ids=lambda head: type(head).__name__)
def test_absurd_message_is_not_believed(head: Message) -> None:
    assert group_fault(head) is not None


def test_rows_are_believed_if_a_store_can_keep_them_and_they_are_the_group_s_own() -> None:
    put = Put(KEY, b"k", 1, b"v")
    assert writes_fault([put, Delete(KEY, b"a", b"b")], KEY) is None
    for change in ({"group": LOCAL}, {"key": b"k" * (ROW_KEY_BYTES_MAX + 1)}, {"seq": 2**63}, {"seq": -1}):
        assert writes_fault([put, msgspec.structs.replace(put, **change)], KEY) is not None
    assert writes_fault([Delete(LOCAL, b"a")], KEY) is not None
    assert rows_fault([Row(b"k", 1, b"v")]) is None
    assert rows_fault([Row(b"k", 2**63, b"v")]) is not None
