"""What a turn writes is one Persist, and what it has for a copy one frame, whatever the number of groups."""

from __future__ import annotations

import msgspec

from causeway.core.effects import Persist
from causeway.core.groups.output import GroupOutput
from causeway.core.machine import Turn
from causeway.core.messages import Copied, Installed, Replicate
from causeway.limits import HEAD_BYTES_MAX, OPERATIONS_PER_FRAME_MAX, REPLICATED_BYTES_MAX
from causeway.store.base import Put
from causeway.types import Key, key_of
from causeway.wire.codec import encode_head
from tests.unit.core.groups.bench import KEY, A, B, C, FakeLinks

OTHER = key_of("bills")


def output() -> tuple[GroupOutput, FakeLinks, Turn]:
    links = FakeLinks(A)
    return GroupOutput(links), links, Turn(1)  # type: ignore[arg-type]


def row(group: Key, number: int) -> Put:
    return Put(group, b"b%d" % number, number, b"x")


def body(*rows: Put) -> bytes:
    return msgspec.msgpack.encode(list(rows))


def one(turn: Turn) -> Persist:
    (persist,) = turn.effects.persists
    return persist


def test_writes_of_all_groups_are_one_persist_in_the_order_they_were_made() -> None:
    out, _, turn = output()
    out.writes += [row(KEY, 1)]
    out.own[KEY] = (2, 1)
    out.writes += [row(OTHER, 1)]
    out.copied(B.id).append((OTHER, 7, 2))
    out.writes += [row(KEY, 2)]
    out.own[KEY] = (3, 1)
    out.flush(turn, 9)
    persist = one(turn)
    assert list(persist.writes) == [row(KEY, 1), row(OTHER, 1), row(KEY, 2)]
    assert persist.token == 9
    written = out.written(9)
    assert written is not None
    assert written.own == {KEY: (3, 1)}


def test_confirmations_of_a_turn_to_one_owner_are_one_frame_behind_all_other_answers() -> None:
    out, links, turn = output()
    out.copied(B.id).append((KEY, 7, 2))
    out.copied(C.id).append((KEY, 7, 5))
    out.copied(B.id).append((OTHER, 3, 9))
    out.answer(B.id, Installed(OTHER, 3, 8))
    out.flush(turn, 1)
    persist = one(turn)
    assert [(send.conn, send.head) for send in persist.then] == [
        (links.conn_of(B.id), Installed(OTHER, 3, 8)),
        (links.conn_of(B.id), Copied(((KEY, 7, 2), (OTHER, 3, 9)))),
        (links.conn_of(C.id), Copied(((KEY, 7, 5),))),
    ]
    assert not links.sent


def test_what_waits_for_earlier_writes_waits_although_nothing_is_written_now() -> None:
    out, _, turn = output()
    out.copied(B.id).append((KEY, 7, 2))
    out.flush(turn, 1)
    persist = one(turn)
    assert (list(persist.writes), len(persist.then), persist.token) == ([], 1, 0)


def test_persist_that_nobody_waits_for_has_no_token_and_a_turn_without_writes_no_persist() -> None:
    out, _, turn = output()
    out.flush(turn, 1)
    assert not turn.effects.persists
    out.writes += [row(KEY, 1)]
    out.flush(turn, 2)
    assert one(turn).token == 0
    later = Turn(2)
    out.flush(later, 3)
    assert not later.effects.persists


def test_operations_of_a_turn_for_one_member_are_one_frame_at_once() -> None:
    out, links, turn = output()
    out.replicate(B.id, (KEY, 7, 1, 1, 1), body(row(KEY, 1)))
    out.replicate(C.id, (KEY, 7, 2, 1, 1), body(row(KEY, 1)))
    out.replicate(B.id, (OTHER, 3, 1, 5, 2), body(row(OTHER, 5), row(OTHER, 6)))
    assert not links.sent
    out.flush(turn, 1)
    assert [(sent.to, sent.head) for sent in links.sent] == [
        (B.id, Replicate(((KEY, 7, 1, 1, 1), (OTHER, 3, 1, 5, 2)))),
        (C.id, Replicate(((KEY, 7, 2, 1, 1),))),
    ]
    listed = msgspec.msgpack.decode(links.sent[0].body, type=list[list[Put]])
    assert listed == [[row(KEY, 1)], [row(OTHER, 5), row(OTHER, 6)]]
    assert not turn.effects.persists


def test_frames_stay_below_their_bounds() -> None:
    out, links, turn = output()
    most = OPERATIONS_PER_FRAME_MAX
    for number in range(2 * most + 1):
        out.replicate(B.id, (KEY, 2**62, 2**64 - 1, 2**62 + number, 2**62), b"\x90")
        out.copied(C.id).append((KEY, 2**62, 2**62 + number))
    out.flush(turn, 1)
    replicates = [sent.head for sent in links.sent if isinstance(sent.head, Replicate)]
    copied = [send.head for send in one(turn).then if isinstance(send.head, Copied)]
    assert [len(head.operations) for head in replicates] == [most, most, 1]
    assert [len(head.positions) for head in copied] == [most, most, 1]
    assert [seq for head in replicates for _, _, _, seq, _ in head.operations] == [
        2**62 + number for number in range(2 * most + 1)
    ]
    assert max(len(encode_head(head)) for head in (*replicates, *copied)) < HEAD_BYTES_MAX


def test_large_operations_go_in_frames_of_their_own() -> None:
    out, links, turn = output()
    sizes = [REPLICATED_BYTES_MAX // 2, REPLICATED_BYTES_MAX // 2, 3 * REPLICATED_BYTES_MAX, 99, 99]
    for number, size in enumerate(sizes):
        out.replicate(B.id, (KEY, 7, 1, number, 1), msgspec.msgpack.encode([Put(KEY, b"b", number, bytes(size - 40))]))
    out.flush(turn, 1)
    frames = [[seq for _, _, _, seq, _ in sent.head.operations] for sent in links.sent if type(sent.head) is Replicate]
    assert frames == [[0, 1], [2], [3, 4]]
