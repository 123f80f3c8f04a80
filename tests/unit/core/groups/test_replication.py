"""Operations from the owner to all members, and the follower's side of it (ADR 0002)."""

from __future__ import annotations

import msgspec
import pytest

from causeway.config import BrokerConfig
from causeway.core.events import OwnershipGained, OwnershipLost, OwnershipResumed
from causeway.core.machine import Then, Turn
from causeway.core.messages import (
    Chosen,
    Copied,
    Inquire,
    Installed,
    NotMember,
    Outbid,
    Outdated,
    Prepare,
    Promised,
    Replicate,
)
from causeway.limits import GROUP_PENDING_MAX
from causeway.store.base import LOCAL, Delete, Put, Write
from causeway.types import Key, Peer, key_of
from tests.unit.core.groups.bench import KEY, A, B, Bench, C, D, config, encoded, put

RETRY = BrokerConfig(name="x").retry
ABC = config(A, B, C)


def owner(*, incomplete: bool = False) -> Bench:
    bench = Bench(A)
    bench.own(config(A, B, C, incomplete=(C,) if incomplete else ()))
    return bench


def follower() -> Bench:
    """A follows B, at position 1."""
    bench = Bench(A)
    bench.join(config(A, B, C, owner=B))
    return bench


def copied(bench: Bench, peer: Peer, seq: int, epoch: int = 7) -> None:
    bench.feed(peer, Copied(((KEY, epoch, seq),)))


def replicated(bench: Bench, to: Peer) -> list[tuple[int, int]]:
    """Epoch and position of every operation that went to a member."""
    return [(epoch, seq) for head in bench.said(Replicate, to=to) for _, epoch, _, seq, _ in head.operations]


def confirmed(bench: Bench) -> list[int]:
    """Positions whose confirmations wait for the disk."""
    return [seq for head, _ in bench.waiting(Copied) for _, _, seq in head.positions]


def decoded(body: bytes) -> list[list[Write]]:
    return msgspec.msgpack.decode(body, type=list[list[Write]])


# Owner: committing -----------------------------------------------------------------------------------------------
def test_append_goes_to_all_other_members_with_their_tokens() -> None:
    bench = owner()
    bench.append(put(b"b1", b"one"))
    assert bench.said(Replicate, to=B) == [Replicate(((KEY, 7, B.store, 1, 1),))]
    assert bench.said(Replicate, to=C) == [Replicate(((KEY, 7, C.store, 1, 1),))]
    assert decoded(bench.body_of(Replicate)) == [[put(b"b1", b"one")]]
    assert bench.rows() == {b"b1": b"one"}


def test_operations_of_one_turn_are_one_write_and_one_frame_for_each_member() -> None:
    bench = owner()
    done: list[int] = []

    def twice(turn: Turn) -> None:
        for number in (1, 2):
            bench.groups.append(turn, KEY, [put(b"b%d" % number, b"x", number)], 1, lambda turn: done.append(1))

    bench.turn(twice)
    (persist,) = bench.persists
    assert [w.key for w in persist.writes if isinstance(w, Put) and w.group == KEY] == [b"b1", b"b2"]
    assert bench.said(Replicate, to=B) == [Replicate(((KEY, 7, B.store, 1, 1), (KEY, 7, B.store, 2, 1)))]
    assert len(bench.said(Replicate, to=C)) == 1
    bench.durable()
    copied(bench, B, 3)
    copied(bench, C, 3)
    assert len(done) == 2


@pytest.mark.parametrize("last", ["a", "b", "c"])
@pytest.mark.parametrize("incomplete", [False, True])
def test_operation_is_committed_only_when_every_member_has_it(last: str, incomplete: bool) -> None:
    bench = owner(incomplete=incomplete)
    number = bench.append(put(b"b1", b"one"))
    steps = {"a": bench.durable, "b": lambda: copied(bench, B, 2), "c": lambda: copied(bench, C, 2)}
    for name, step in steps.items():
        if name != last:
            step()
    assert not bench.committed
    steps[last]()
    assert bench.committed == [number]


def test_confirmation_of_a_later_operation_commits_the_earlier_ones_in_order() -> None:
    bench = owner()
    numbers = [bench.append(put(b"b%d" % n, b"x")) for n in range(3)]
    bench.durable()
    copied(bench, B, 4)
    copied(bench, C, 3)
    assert bench.committed == numbers[:2]


def test_repeated_confirmation_commits_nothing_twice() -> None:
    bench = owner()
    bench.append(put(b"b1", b"one"))
    bench.durable()
    for _ in range(2):
        copied(bench, B, 2)
        copied(bench, C, 2)
    assert len(bench.committed) == 1


def test_confirmations_of_strangers_and_other_epochs_do_not_count() -> None:
    bench = owner()
    bench.append(put(b"b1", b"one"))
    bench.durable()
    copied(bench, B, 2)
    copied(bench, D, 2)
    copied(bench, C, 2, epoch=6)
    copied(bench, C, 2, epoch=8)
    assert not bench.committed


def test_member_that_has_not_installed_the_epoch_holds_everything_up() -> None:
    bench = Bench(A)
    bench.feed(B, Chosen(KEY, ABC))
    bench.settle()
    bench.feed(B, Installed(KEY, 7, 1))
    bench.append(put(b"b1", b"one"))
    bench.durable()
    copied(bench, B, 2)
    copied(bench, C, 2)
    assert not bench.committed, "c never said that it installed the epoch"
    bench.feed(C, Installed(KEY, 7, 1))
    assert replicated(bench, C) == [(7, 1)], "it gets what was appended before"
    copied(bench, C, 2)
    assert bench.committed


def test_owner_alone_commits_when_its_own_storage_has_it() -> None:
    bench = Bench(A, ring=(A,))
    bench.own(config(A))
    bench.append(put(b"b1", b"one"))
    assert not bench.committed
    bench.durable()
    assert len(bench.committed) == 1


def test_unconfirmed_operations_are_sent_again() -> None:
    bench = owner()
    bench.append(put(b"b1", b"one"))
    copied(bench, B, 2)
    bench.forget()
    bench.pass_time(RETRY)
    assert replicated(bench, C) == [(7, 1)]
    assert not bench.said(Replicate, to=B)


def test_what_follows_from_operations_runs_once_in_their_order_and_never_within_an_append() -> None:
    bench = Bench(A, ring=(A,))
    bench.own(config(A))
    ran: list[str] = []

    def then(name: str) -> Then:
        def run(turn: Turn) -> None:
            ran.append(name)
            if name == "a":
                bench.groups.append(turn, KEY, [put(b"d", b"")], 1, then("d"))
                assert ran == ["a"]

        return run

    def three(turn: Turn) -> None:
        for name in "abc":
            bench.groups.append(turn, KEY, [put(name.encode(), b"")], 1, then(name))
        assert ran == []

    bench.turn(three)
    assert ran == []
    bench.durable()
    assert ran == ["a", "b", "c", "d"]


def test_nothing_follows_from_an_operation_after_the_group_is_lost() -> None:
    bench = owner()
    bench.append(put(b"b1", b"one"))
    late, bench.writing = bench.writing, []
    bench.feed(B, Chosen(KEY, config(A, B, C, epoch=8, owner=B)))
    assert bench.told(OwnershipLost)
    bench.writing = late
    bench.durable()
    for epoch in (7, 8):
        copied(bench, B, 2, epoch)
        copied(bench, C, 2, epoch)
    bench.feed(C, Chosen(KEY, config(A, B, C, epoch=9)))
    bench.settle()
    for peer in (B, C):
        bench.feed(peer, Installed(KEY, 9, 2))
    assert bench.told(OwnershipGained)
    assert bench.committed == []


# Owner: accepting ------------------------------------------------------------------------------------------------
def test_owner_accepts_nothing_while_it_has_promised_an_epoch() -> None:
    bench = owner()
    assert bench.serving()
    bench.feed(C, Prepare(KEY, ABC, (5, C.id)))
    assert not bench.serving()
    assert bench.groups.owned(KEY)


def test_owner_accepts_a_bounded_number_of_operations_on_their_way() -> None:
    bench = owner()
    for _ in range(GROUP_PENDING_MAX):
        assert bench.serving()
        bench.append(put(b"b1", b"x"))
    assert not bench.serving()
    bench.durable()
    copied(bench, B, 2)
    copied(bench, C, 2)
    assert bench.serving()


def test_new_owner_loads_its_rows_before_it_serves() -> None:
    bench = follower()
    bench.replicate(B, 1, put(b"b1", b"one"), put(b"s", b"state"))
    bench.settle()
    bench.forget()
    bench.feed(C, Chosen(KEY, config(A, C, epoch=8)))
    bench.durable()
    bench.feed(C, Installed(KEY, 8, 2))
    assert not bench.serving()
    assert not bench.told(OwnershipGained)
    bench.settle()
    (gained,) = bench.told(OwnershipGained)
    assert {row.key: row.value for row in gained.rows} == {b"b1": b"one", b"s": b"state"}
    assert (gained.config.epoch, gained.next) == (8, None)
    assert bench.serving()


def test_rows_loaded_for_an_earlier_ownership_are_not_taken_for_the_next() -> None:
    bench = follower()
    bench.feed(C, Chosen(KEY, config(A, B, C, epoch=8)))
    stale, bench.reading = bench.reading, []
    bench.join(config(A, B, C, epoch=9, owner=B))
    bench.replicate(B, 1, put(b"b1", b"one"), epoch=9)
    bench.feed(C, Chosen(KEY, config(A, B, C, epoch=10)))
    fresh, bench.reading = bench.reading, stale
    bench.settle()
    assert not bench.told(OwnershipGained)
    bench.reading = fresh
    bench.settle()
    bench.feed(B, Installed(KEY, 10, 2))
    bench.feed(C, Installed(KEY, 10, 2))
    (gained,) = bench.told(OwnershipGained)
    assert [row.key for row in gained.rows] == [b"b1"]


def test_new_owner_serves_only_when_every_complete_member_has_its_rows() -> None:
    bench = follower()
    bench.replicate(B, 1, put(b"b1", b"one"))
    bench.settle()
    bench.feed(C, Chosen(KEY, config(A, B, C, D, epoch=8, incomplete=(D,))))
    bench.settle()
    bench.feed(B, Installed(KEY, 8, 2))
    bench.feed(C, Installed(KEY, 8, 1))  # called complete by an owner that died with what it lacks in its memory
    assert not bench.told(OwnershipGained), "c could be elected without the row"
    assert bench.said(Prepare, to=B), "the next epoch calls it incomplete"
    epoch = bench.elect(B, D, seq=2)  # c does not answer this time
    assert C.id not in [m.peer.id for m in epoch.members if m.peer.id not in epoch.incomplete]
    bench.feed(B, Installed(KEY, 9, 2))
    bench.settle()
    assert bench.told(OwnershipGained)


def test_continuing_owner_keeps_operations_on_their_way_and_sends_them_to_the_new_epoch() -> None:
    bench = owner()
    number = bench.append(put(b"b1", b"one"))
    bench.durable()
    copied(bench, B, 2)
    bench.down(C)
    bench.ring.order = [A, B]
    bench.forget()
    bench.feed(B, Chosen(KEY, config(A, B, epoch=8)))
    assert bench.told(OwnershipResumed)
    assert not bench.told(OwnershipGained)
    assert not bench.committed, "b has not confirmed it in this epoch"
    bench.feed(B, Installed(KEY, 8, 1))
    assert replicated(bench, B) == [(8, 1)]
    copied(bench, B, 2, epoch=8)
    assert bench.committed == [number]
    assert bench.serving()


def test_member_that_lacks_operations_nobody_holds_in_memory_must_come_in_anew() -> None:
    bench = owner()
    bench.append(put(b"b1", b"one"))
    bench.durable()
    copied(bench, B, 2)
    copied(bench, C, 2)
    bench.forget()
    bench.feed(C, Installed(KEY, 7, 1))
    assert bench.said(Prepare, to=B)


def test_owner_told_of_an_epoch_it_never_heard_of_inquires() -> None:
    bench = owner()
    bench.feed(B, Installed(KEY, 9, 1))
    assert bench.said(Inquire, to=B, epoch=7)


# Follower --------------------------------------------------------------------------------------------------------
def test_confirmation_waits_inside_the_write_of_the_operation() -> None:
    bench = follower()
    bench.replicate(B, 1, put(b"b1", b"one"))
    assert not bench.said(Copied)
    ((confirmation, writes),) = bench.waiting(Copied)
    assert confirmation == Copied(((KEY, 7, 2),))
    assert put(b"b1", b"one") in writes
    assert any(isinstance(w, Put) and w.group == LOCAL for w in writes), "its position is written with it"
    bench.durable()
    assert bench.said(Copied, to=B) == [confirmation]


def test_follower_applies_in_order_and_without_gaps() -> None:
    bench = follower()
    bench.replicate(B, 2, put(b"b2", b"two"))
    assert bench.rows() == {}
    assert confirmed(bench) == [1]
    bench.replicate(B, 1, put(b"b1", b"one"))
    bench.replicate(B, 2, put(b"b2", b"two"))
    assert bench.rows() == {b"b1": b"one", b"b2": b"two"}
    assert confirmed(bench) == [1, 2, 3]


def test_repeated_operation_is_not_applied_again_and_confirms_no_more() -> None:
    bench = follower()
    bench.replicate(B, 1, put(b"b1", b"one"))
    bench.replicate(B, 2, Delete(KEY, b"b1"))
    bench.replicate(B, 1, put(b"b1", b"one"))
    assert bench.rows() == {}
    assert confirmed(bench) == [2, 3, 3]
    assert bench.waiting(Copied)[-1][1] in ([], ()), "it waits behind the writes before it"


def test_operations_of_many_groups_in_one_frame_are_judged_one_by_one() -> None:
    bench = follower()
    strange = key_of("never heard of")
    mine = [(KEY, 7, A.store, 1, 1), (KEY, 7, A.store, 2, 1)]
    bodies = [[put(b"b1", b"one")], [Put(strange, b"b1", 1, b"x")], [put(b"b2", b"two")]]
    bench.feed(B, Replicate((mine[0], (strange, 7, A.store, 1, 1), mine[1])), encoded(bodies))
    assert bench.rows() == {b"b1": b"one", b"b2": b"two"}
    assert bench.rows(strange) == {}
    assert bench.said(Inquire, to=B, group=strange)
    assert len(bench.persists) == 1
    bench.durable()
    assert bench.said(Copied, to=B) == [Copied(((KEY, 7, 2), (KEY, 7, 3)))]


def test_position_survives_a_restart() -> None:
    bench = follower()
    bench.replicate(B, 1, put(b"b1", b"one"))
    bench.settle()
    later = bench.restarted()
    later.replicate(B, 1, put(b"b1", b"other"))
    later.replicate(B, 2, put(b"b2", b"two"))
    assert later.rows() == {b"b1": b"one", b"b2": b"two"}


def test_follower_applies_nothing_after_it_promised_and_says_outbid() -> None:
    bench = follower()
    bench.feed(C, Prepare(KEY, config(A, B, C, owner=B), (5, C.id)))
    bench.replicate(B, 1, put(b"b1", b"one"))
    bench.durable()
    assert bench.rows() == {}
    assert not bench.said(Copied)
    assert bench.said(Outbid, to=B, epoch=8, ballot=(5, C.id))


def test_copy_and_promise_of_one_turn_are_durable_together_and_nothing_passes_the_promise() -> None:
    bench = follower()
    operations = [Replicate(((KEY, 7, A.store, seq, 1),)) for seq in (1, 2)]
    bodies = [encoded([[put(b"b%d" % seq, b"x", seq)]]) for seq in (1, 2)]

    def all_at_once(turn: Turn) -> None:
        bench.groups.on_message(turn, B, operations[0], bodies[0])
        bench.groups.on_message(turn, C, Prepare(KEY, config(A, B, C, owner=B), (5, C.id)), b"")
        bench.groups.on_message(turn, B, operations[1], bodies[1])

    bench.turn(all_at_once)
    (persist,) = bench.persists
    assert [send.head for send in persist.then] == [
        Promised(KEY, 8, (5, C.id), 7, 2),
        Copied(((KEY, 7, 2),)),
    ]
    assert bench.rows() == {b"b1": b"x"}
    assert put(b"b1", b"x") in persist.writes
    assert bench.said(Outbid, to=B)


def test_follower_takes_operations_from_the_owner_of_its_epoch_only() -> None:
    bench = follower()
    bench.replicate(C, 1, put(b"b1", b"one"))
    bench.durable()
    assert bench.rows() == {}
    assert not bench.said(Copied)


def test_operation_of_a_former_epoch_is_answered_with_the_latest() -> None:
    bench = follower()
    later = config(A, B, C, epoch=8, owner=C)
    bench.join(later)
    bench.replicate(B, 1, put(b"b1", b"one"), epoch=7)
    assert bench.said(Outdated, to=B, config=later)
    assert bench.rows() == {}


def test_operation_of_an_epoch_or_group_not_heard_of_makes_the_follower_inquire() -> None:
    bench = follower()
    bench.replicate(B, 1, put(b"b1", b"one"), epoch=9)
    assert bench.said(Inquire, to=B, epoch=7)
    stranger = Bench(D)
    stranger.replicate(B, 1, put(b"b1", b"one"))
    assert stranger.said(Inquire, to=B, epoch=0)
    assert bench.rows() == stranger.rows() == {}


def test_operation_for_another_token_is_denied() -> None:
    bench = follower()
    bench.replicate(B, 1, put(b"b1", b"one"), token=66)
    assert bench.said(NotMember, to=B, epoch=7, token=A.store)
    assert bench.rows() == {}


@pytest.mark.parametrize(
    ("body", "span"),
    [
        (b"\xc1", 1),
        (encoded([[Put(key_of("another"), b"b1", 1, b"x")]]), 1),
        (encoded([[Put(LOCAL, b"g" + KEY, 1, b"x")]]), 1),
        (encoded([[put(b"b1", b"x")]]), 0),
        (encoded([[put(b"b1", b"x")]]), -1),
        (encoded([]), 1),
        (encoded([[put(b"b1", b"x")], [put(b"b2", b"x")]]), 1),
    ],
    ids=["garbage", "another group", "our own rows", "no span", "negative span", "too few", "too many"],
)
def test_nonsense_of_an_owner_is_neither_applied_nor_confirmed(body: bytes, span: int) -> None:
    bench = follower()
    before = bench.rows(Key(LOCAL))
    bench.feed(B, Replicate(((KEY, 7, A.store, 1, span),)), body)
    assert bench.rows() == {}
    assert bench.rows(Key(LOCAL)) == before
    assert not confirmed(bench)
