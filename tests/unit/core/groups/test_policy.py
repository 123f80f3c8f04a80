"""When an epoch changes: lost members, lost owners, other wishes of the ring, leaving."""

from __future__ import annotations

import pytest

from causeway.config import BrokerConfig
from causeway.core.events import OwnershipLost, OwnershipResumed
from causeway.core.groups.directory import LEAVING
from causeway.core.groups.registry import ROOT, ROOT_NAME
from causeway.core.messages import (
    Chosen,
    Config,
    Copied,
    Inquire,
    Installed,
    Leave,
    Member,
    Prepare,
    Resolve,
    Resolved,
)
from causeway.errors import Code
from causeway.types import MILLISECOND, Peer, key_of
from tests.unit.core.groups.bench import KEY, A, B, Bench, C, D, E, config, incomplete_in, members_of, put

SETTINGS = BrokerConfig(name="x")
RETRY, MIGRATE_AFTER, HEARTBEAT = SETTINGS.retry, SETTINGS.migrate_after, SETTINGS.heartbeat
ABC = config(A, B, C)


def owner() -> Bench:
    bench = Bench(A)
    bench.own(ABC)
    return bench


def commit(bench: Bench, *peers: Peer) -> None:
    bench.durable()
    for peer in peers:
        bench.feed(peer, Copied(((KEY, 7, bench.groups.position(KEY)),)))


# Lost members and owners -----------------------------------------------------------------------------------------
def test_owner_proposes_at_once_when_a_member_is_lost() -> None:
    bench = owner()
    bench.down(B)
    assert bench.said(Prepare, to=C)
    assert bench.elect(C, seq=1).owner == A.id


@pytest.mark.parametrize(("me", "rank"), [(A, 0), (B, 1), (D, 2)], ids=["first", "second", "third"])
def test_members_take_over_from_a_lost_owner_in_turn(me: Peer, rank: int) -> None:
    bench = Bench(me, ring=(A, B, C, D), copies=4)
    bench.join(config(A, B, C, D, owner=C))
    bench.down(C)
    if rank:
        bench.pass_time(rank * RETRY - 1)
        assert not bench.said(Prepare)
    bench.pass_time(1)
    assert bench.said(Prepare)


def test_member_without_all_rows_is_the_last_to_take_over() -> None:
    bench = Bench(A, ring=(A, B, C, D), copies=4)
    bench.join(config(A, B, C, D, owner=C, incomplete=(A,)), base=1)
    bench.down(C)
    bench.pass_time(2 * RETRY - 1)
    assert not bench.said(Prepare)
    bench.pass_time(1)
    assert bench.said(Prepare)


def test_member_does_not_take_over_when_the_owner_came_back_in_time() -> None:
    bench = Bench(B)
    bench.join(config(A, B, C, owner=C))
    bench.down(C)
    bench.pass_time(RETRY // 2)
    bench.up(C)
    assert bench.said(Inquire, to=C, epoch=7)
    bench.pass_time(3 * RETRY)
    assert not bench.said(Prepare)


def test_owner_that_restarted_begins_a_new_epoch_before_it_serves() -> None:
    bench = owner().restarted()
    assert not bench.serving()
    bench.pass_time(1)
    assert bench.said(Prepare, to=B)
    epoch = bench.elect(B, C, seq=1)
    bench.settle()
    assert (epoch.epoch, epoch.owner) == (8, A.id)
    for member in (B, C):
        assert not bench.serving()
        bench.feed(member, Installed(KEY, 8, 1))
    assert bench.serving()


def test_member_that_restarted_asks_its_owner_for_the_latest_epoch() -> None:
    bench = Bench(B)
    bench.join(ABC)
    later = bench.restarted()
    later.pass_time(1)
    assert later.said(Inquire, to=A, epoch=7)


def test_member_asks_its_owner_now_and_then() -> None:
    bench = Bench(B)
    bench.join(ABC)
    later = bench.restarted()
    later.pass_time(1)
    later.forget()
    later.pass_time(51 * HEARTBEAT)
    assert later.said(Inquire, to=A)


# No quorum -------------------------------------------------------------------------------------------------------
def test_owner_without_a_majority_accepts_nothing_and_proposes_nothing() -> None:
    bench = owner()
    bench.down(B, C)
    bench.forget()
    bench.pass_time(RETRY)
    assert not bench.serving()
    assert "1 of 3 copies reachable" in (bench.groups.blocked(KEY) or "")
    bench.pass_time(20 * RETRY)
    bench.forget()
    bench.pass_time(20 * RETRY)
    assert not bench.said(Prepare)
    assert not bench.told(OwnershipLost)


def test_owner_goes_on_by_itself_when_its_members_return() -> None:
    bench = Bench(A, ring=(A, B))
    bench.own(config(A, B))
    bench.down(B)
    assert not bench.serving()
    bench.up(B)
    assert bench.told(OwnershipResumed)
    assert bench.serving()
    assert not bench.said(Prepare)


def test_owner_with_a_majority_again_replaces_who_is_still_lost() -> None:
    bench = Bench(A, ring=(A, B, C, D))
    bench.own(ABC)
    bench.down(B, C)
    bench.pass_time(20 * RETRY)
    bench.forget()
    bench.up(B)
    bench.pass_time(4 * RETRY)
    assert bench.said(Prepare, to=B)
    epoch = bench.elect(B, seq=1)
    assert (members_of(epoch), incomplete_in(epoch)) == (["a", "b", "d"], ["d"])


def test_member_without_a_majority_does_not_take_over_and_tries_again_later() -> None:
    bench = Bench(B)
    bench.join(ABC)
    bench.down(A, C)
    bench.pass_time(10 * RETRY)
    assert not bench.said(Prepare)
    bench.up(C)
    bench.pass_time(4 * RETRY)
    assert bench.said(Prepare, to=C)


# Other wishes of the ring ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("owned", [False, True])
def test_who_has_no_majority_asks_the_directory_whether_its_group_went_on_elsewhere(owned: bool) -> None:
    bench = Bench(A)
    bench.groups.learn(ROOT, Config(ROOT_NAME, 1, D.id, (Member(D, D.store),), (), 1))
    if owned:
        bench.own(config(A, B, C))
    else:
        bench.join(config(A, B, C, owner=B))
    bench.down(B, C)
    bench.pass_time(20 * RETRY)
    asked = bench.said(Resolve, to=D)
    assert len(asked) > 2, "nobody else may be left who could tell"
    assert set(asked) == {Resolve(KEY, "orders", (), existing=True)}
    later = config(D, E, epoch=9)
    bench.forget()
    bench.feed(D, Resolved(KEY, later))
    assert bench.groups.config(KEY) == later
    assert bench.said(Inquire, to=D) == [Inquire(KEY, 9)], "its owner says whether our rows are needed"
    bench.feed(D, Chosen(KEY, later, 1))
    assert not bench.groups.fellows(), "we are no member any more"


def test_other_wish_of_the_ring_is_followed_only_after_it_held_for_a_while() -> None:
    bench = owner()
    bench.want(A, B, D, C)
    bench.pass_time(MIGRATE_AFTER - 1)
    assert not bench.said(Prepare)
    assert bench.serving()
    bench.pass_time(1)
    epoch = bench.elect(B, C, seq=1)
    assert (members_of(epoch), incomplete_in(epoch)) == (["a", "b", "c", "d"], ["d"])


def test_wish_that_passes_changes_nothing() -> None:
    bench = owner()
    bench.want(D, A, B, C)
    bench.pass_time(MIGRATE_AFTER // 2)
    bench.want(A, B, C, D)
    bench.pass_time(MIGRATE_AFTER // 2 + RETRY)
    bench.want(D, A, B, C)
    bench.pass_time(MIGRATE_AFTER - 1)
    assert not bench.said(Prepare)


def test_broker_that_has_not_joined_the_ring_follows_no_wish() -> None:
    bench = owner()
    bench.ring.active = False
    bench.want(D, B, C)
    bench.pass_time(3 * MIGRATE_AFTER)
    assert not bench.said(Prepare)


def test_group_is_not_reshaped_while_a_member_is_incomplete() -> None:
    bench = Bench(A)
    bench.own(config(A, B, C, incomplete=(C,)))
    bench.want(D, E, A)
    bench.pass_time(3 * MIGRATE_AFTER)
    assert not bench.said(Prepare)


def test_owner_freezes_and_lets_everybody_come_level_before_it_hands_over() -> None:
    bench = owner()
    bench.append(put(b"b1", b"one"))
    bench.want(B, A, C)
    bench.pass_time(MIGRATE_AFTER)
    assert not bench.serving(), "frozen"
    assert not bench.said(Prepare), "an operation is on its way"
    commit(bench, B, C)
    assert bench.said(Prepare, to=B)
    epoch = bench.elect(B, C, seq=2)
    assert (epoch.owner, members_of(epoch), epoch.incomplete) == (B.id, ["b", "a", "c"], ())
    assert bench.told(OwnershipLost)
    assert not bench.groups.owned(KEY)


def test_frozen_owner_goes_on_when_the_ring_wants_it_again() -> None:
    bench = owner()
    bench.append(put(b"b1", b"one"))
    bench.want(B, A, C)
    bench.pass_time(MIGRATE_AFTER)
    assert not bench.serving()
    bench.want(A, B, C)
    assert bench.serving()
    assert bench.told(OwnershipResumed)
    for peer in (B, C):
        bench.feed(peer, Installed(KEY, 7, 1))
    assert not bench.said(Prepare)


def test_member_too_many_goes_without_the_owner_changing() -> None:
    bench = Bench(A)
    bench.own(config(A, B, C, D))
    bench.pass_time(MIGRATE_AFTER + RETRY)
    epoch = bench.elect(B, C, D, seq=1)
    assert (epoch.owner, members_of(epoch)) == (A.id, ["a", "b", "c"])


# Leaving ---------------------------------------------------------------------------------------------------------
def leaving() -> Bench:
    bench = owner()
    bench.turn(lambda turn: bench.groups.leave(turn, (B, C, D)))
    bench.pass_time(RETRY)
    return bench


def test_leaving_owner_brings_its_heirs_in_and_then_hands_over_to_the_closest() -> None:
    bench = leaving()
    first = bench.elect(B, C, seq=1)
    assert (first.owner, members_of(first), incomplete_in(first)) == (A.id, ["a", "b", "c", "d"], ["d"])
    assert not bench.groups.empty
    after = config(A, B, C, D, epoch=9)
    bench.feed(B, Chosen(KEY, after))
    for peer in (B, C, D):
        bench.feed(peer, Installed(KEY, 9, 1))
    bench.settle()
    bench.forget()
    bench.pass_time(2 * RETRY)
    bench.settle()
    last = bench.elect(B, C, D, seq=1)
    bench.settle()
    assert (last.owner, members_of(last), last.incomplete) == (B.id, ["b", "c", "d"], ())
    assert not bench.groups.empty, "its new owner may not have heard of it"
    bench.feed(B, Chosen(KEY, last, 1))
    assert not bench.groups.empty, "the directory may know of more"
    bench.feed(B, Resolved(key_of(LEAVING + A.id.hex()), None, Code.NO_MAILBOX))
    assert bench.groups.empty


def test_leaving_member_tells_the_owners_of_its_groups() -> None:
    bench = Bench(B)
    bench.join(ABC)
    bench.turn(lambda turn: bench.groups.leave(turn, (A, C, D)))
    assert bench.said(Leave, to=A)
    assert not bench.groups.empty, "it stays until others hold what it holds"


def test_parting_member_is_replaced_and_stays_until_its_place_is_filled() -> None:
    bench = Bench(A, ring=(A, B, C, D))
    bench.own(ABC)
    bench.turn(lambda turn: bench.groups.on_parting(turn, B))
    bench.pass_time(MIGRATE_AFTER)
    first = bench.elect(B, C, seq=1)
    assert (members_of(first), incomplete_in(first)) == (["a", "b", "c", "d"], ["d"])
    bench.feed(B, Chosen(KEY, config(A, B, C, D, epoch=9)))
    for peer in (B, C, D):
        bench.feed(peer, Installed(KEY, 9, 1))
    bench.settle()
    bench.forget()
    bench.pass_time(MIGRATE_AFTER + RETRY)
    assert members_of(bench.elect(B, C, D, seq=1)) == ["a", "c", "d"]


def test_broker_that_parted_and_came_back_is_wanted_again() -> None:
    bench = Bench(A, ring=(A, C))
    bench.own(config(A, C))
    bench.turn(lambda turn: bench.groups.on_parting(turn, B))
    bench.want(A, B, C)
    bench.pass_time(2 * MIGRATE_AFTER)
    assert not bench.said(Prepare), "parting: wanted nowhere"
    bench.down(B)
    bench.up(B)
    bench.want(A, B, C)
    bench.pass_time(2 * MIGRATE_AFTER)
    assert incomplete_in(bench.elect(C, seq=1)) == ["b"]


# Ending ----------------------------------------------------------------------------------------------------------
def test_ended_group_has_no_members_and_its_rows_are_deleted() -> None:
    bench = owner()
    bench.append(put(b"b1", b"one"))
    commit(bench, B, C)
    bench.turn(lambda turn: bench.groups.retire(turn, KEY))
    bench.elect(B, C, seq=2)
    (lost,) = bench.told(OwnershipLost)
    assert (lost.config.epoch, lost.config.members) == (8, ())
    assert bench.rows() == {}
    assert all(bench.said(Chosen, to=peer, config=lost.config) for peer in (B, C))


def test_attempt_ends_when_time_is_up_not_before() -> None:
    bench = owner()
    bench.down(C)
    bench.forget()
    bench.pass_time(2 * RETRY - MILLISECOND)
    assert not bench.said(Prepare)
    bench.pass_time(RETRY + MILLISECOND)
    assert bench.said(Prepare)
