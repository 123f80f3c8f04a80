"""Brokers without a copy that vote: what they promise, what they forget, and who is one."""

from __future__ import annotations

import msgspec
import pytest

from causeway.config import BrokerConfig
from causeway.core.groups.policy import WITNESS_PATIENCE
from causeway.core.groups.state import is_quorum, majority
from causeway.core.groups.witnesses import ROW, witnesses_of
from causeway.core.messages import (
    Accept,
    Adopted,
    Chosen,
    Config,
    Installed,
    Member,
    NotMember,
    Outbid,
    Outdated,
    Prepare,
    Promised,
)
from causeway.store.base import LOCAL
from causeway.types import Peer
from tests.unit.core.groups.bench import KEY, A, B, Bench, C, D, E, broker, config, put

RETRY, MIGRATE_AFTER = BrokerConfig(name="x").retry, BrokerConfig(name="x").migrate_after
F = broker(6, "f")
LOW, HIGH = (1, B.id), (2, C.id)


def watched(epoch: int = 7, witnesses: tuple[Peer, ...] = (A,)) -> Config:
    """B, C and D hold the group; A is a witness."""
    beside = tuple(Member(peer, peer.store) for peer in witnesses)
    return msgspec.structs.replace(config(B, C, D, epoch=epoch), witnesses=beside)


def votes(bench: Bench) -> int:
    rows = bench.store.scan(LOCAL, b"", b"", 1 << 40).rows
    return sum(row.key == ROW + KEY for row in rows)


def asked(bench: Bench, ballot: tuple[int, bytes] = LOW, epoch: int = 7) -> None:
    bench.feed(B, Prepare(KEY, watched(epoch), ballot))
    bench.durable()


# Voting ----------------------------------------------------------------------------------------------------------
def test_witness_that_never_heard_of_a_group_promises_and_remembers_it_over_a_restart() -> None:
    bench = Bench(A)
    bench.feed(B, Prepare(KEY, watched(), HIGH))
    assert not bench.said(Promised), "not before it is durable"
    bench.durable()
    assert bench.said(Promised) == [Promised(KEY, 8, HIGH, 0, 0)]
    assert votes(bench) == 1
    later = bench.restarted()
    later.feed(C, Prepare(KEY, watched(), LOW))
    assert later.said(Outbid) == [Outbid(KEY, 8, HIGH)]


def test_witness_says_what_it_has_adopted() -> None:
    bench = Bench(A)
    asked(bench)
    bench.feed(B, Accept(KEY, LOW, watched(8)))
    bench.durable()
    assert bench.said(Adopted) == [Adopted(KEY, 8, LOW)]
    later = bench.restarted()
    later.feed(C, Prepare(KEY, watched(), HIGH))
    later.durable()
    assert later.said(Promised) == [Promised(KEY, 8, HIGH, 0, 0, LOW, watched(8))]


def test_lower_ballot_is_not_adopted() -> None:
    bench = Bench(A)
    asked(bench, HIGH)
    bench.feed(B, Accept(KEY, LOW, watched(8)))
    bench.durable()
    assert not bench.said(Adopted)
    assert bench.said(Outbid) == [Outbid(KEY, 8, HIGH)]


def test_who_promised_nothing_adopts_nothing() -> None:
    bench = Bench(A)
    bench.feed(B, Accept(KEY, LOW, watched(8)))
    bench.durable()
    assert not bench.said(Adopted)


def test_witness_whose_storage_is_another_does_not_count() -> None:
    bench = Bench(A)
    lost = Member(msgspec.structs.replace(A, store=A.store + 1), A.store + 1)
    bench.feed(B, Prepare(KEY, msgspec.structs.replace(watched(), witnesses=(lost,)), LOW))
    bench.durable()
    assert not bench.said(Promised)
    assert bench.said(NotMember, to=B) == [NotMember(KEY, 7, A.store)], "who asks must know that it will never count"


# Afterwards ------------------------------------------------------------------------------------------------------
def test_witness_of_the_next_epoch_starts_anew_and_answers_nobody_who_slept() -> None:
    bench = Bench(A)
    asked(bench)
    bench.feed(B, Chosen(KEY, watched(8)))
    bench.forget()
    asked(bench, HIGH)
    assert bench.said(Outdated) == [Outdated(KEY, watched(8))]
    asked(bench, LOW, epoch=8)
    assert bench.said(Promised) == [Promised(KEY, 9, LOW, 0, 0)]


def test_witness_no_longer_forgets_its_vote_but_not_that_the_group_went_on() -> None:
    bench = Bench(A)
    asked(bench)
    without = watched(8, witnesses=(E,))
    bench.feed(B, Chosen(KEY, without))
    bench.durable()
    assert votes(bench) == 0
    for one in (bench, bench.restarted()):
        one.forget()
        asked(one, HIGH)
        assert not one.said(Promised), "it would choose a second epoch 8"
    asked(bench, LOW, epoch=9)
    assert bench.said(Promised), "in a later epoch it may be witness again"


def test_witness_that_becomes_a_member_votes_as_one() -> None:
    bench = Bench(A)
    asked(bench)
    bench.feed(B, Chosen(KEY, config(B, C, A, epoch=8, incomplete=(A,)), 5))
    bench.durable()
    assert votes(bench) == 0
    assert bench.said(Installed)


def test_former_member_that_is_let_go_in_an_epoch_of_which_it_is_witness_votes_on_the_next() -> None:
    bench = Bench(A)
    bench.join(config(B, C, A, epoch=6))
    bench.feed(B, Chosen(KEY, config(B, C, D, epoch=7, incomplete=(D,)), 5))
    bench.feed(B, Chosen(KEY, watched(8), 5))
    bench.settle()
    assert bench.rows() == {}, "it holds nothing any more"
    for one in (bench, bench.restarted()):
        one.forget()
        asked(one, HIGH, epoch=8)
        assert one.said(Promised) == [Promised(KEY, 9, HIGH, 0, 0)]
        one.forget()
        asked(one, HIGH, epoch=7)
        assert not one.said(Promised), "of what came before it has forgotten what it promised"


# Quorums ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("present", "enough"),
    [((B, A, E), True), ((C, A, E), True), ((A, E), False), ((B, C), False), ((B, C, D), True), ((B, A), False)],
)
def test_quorum_is_a_majority_with_a_complete_member(present: tuple[Peer, ...], enough: bool) -> None:
    found = watched(witnesses=(A, E))
    assert majority(found) == 3
    assert is_quorum(found, [peer.id for peer in present]) is enough


def test_witnesses_without_a_complete_member_are_none() -> None:
    found = msgspec.structs.replace(watched(witnesses=(A, E)), incomplete=(D.id,))
    assert not is_quorum(found, [D.id, A.id, E.id])


def test_last_copy_and_two_witnesses_go_on_without_the_other_two() -> None:
    bench = Bench(B, [B, C, D, A, E])
    bench.join(msgspec.structs.replace(watched(witnesses=(A, E)), owner=C.id))
    bench.replicate(C, 1, put(b"b1", b"one"))
    bench.settle()
    bench.down(C)
    bench.down(D)
    bench.pass_time(RETRY)
    (prepare,) = bench.said(Prepare, to=A)
    for peer in (A, E):
        bench.feed(peer, Promised(KEY, 8, prepare.ballot, 0, 0))
    bench.pass_time(RETRY)
    bench.durable()
    (accept,) = bench.said(Accept, to=A)
    assert (accept.next.owner, [m.peer for m in accept.next.members if m.peer.id not in accept.next.incomplete]) == (
        B.id,
        [B],
    )
    for peer in (A, E):
        bench.feed(peer, Adopted(KEY, 8, prepare.ballot))
    found = bench.groups.config(KEY)
    assert found is not None
    assert (found.epoch, found.owner) == (8, B.id)


# Who is one ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("members", "found"),
    [((A,), []), ((A, B), ["c", "d", "e"]), ((A, B, C), ["d", "e"]), ((A, B, C, D), [])],
    ids=["no-copies", "odd-together", "as-usual", "more-than-the-ring-makes"],
)
def test_witnesses_are_the_nearest_unless_there_are_more_members_than_the_ring_makes(
    members: tuple[Peer, ...], found: list[str]
) -> None:
    bench = Bench(A, [A, B, C, D, E], copies=3, root_copies=3, witnesses=4)
    chosen = witnesses_of(bench.groups._r, KEY, [Member(peer, peer.store) for peer in members], None)
    assert [one.peer.name for one in chosen] == found


def lacking_a_witness(*members: Peer, witnesses: tuple[Peer, ...], spare: Peer) -> Bench:
    """A owns a group with these; the first of its witnesses has just died, and the spare broker could be one."""
    bench = Bench(A, [A, B, C, D, E, F], copies=len(members), witnesses=len(witnesses))
    voters = tuple(Member(peer, peer.store) for peer in witnesses)
    bench.own(msgspec.structs.replace(config(*members), witnesses=voters))
    bench.forget()
    bench.down(witnesses[0])
    bench.want(*members, *witnesses[1:], spare)
    return bench


def test_group_that_lacks_a_witness_waits_longer_than_for_a_migration() -> None:
    bench = lacking_a_witness(A, B, C, witnesses=(D, E), spare=F)
    bench.pass_time(WITNESS_PATIENCE * MIGRATE_AFTER - 1)
    assert not bench.said(Prepare)
    bench.pass_time(WITNESS_PATIENCE * MIGRATE_AFTER)
    assert bench.said(Prepare, to=B)


def test_group_that_the_next_failure_would_stop_gets_another_witness_at_once() -> None:
    bench = lacking_a_witness(A, B, witnesses=(C,), spare=D)
    bench.pass_time(2 * bench.groups._r.settings.retry)
    assert bench.said(Prepare, to=B)


# Lost storages ---------------------------------------------------------------------------------------------------
def other_storage(peer: Peer) -> Peer:
    return msgspec.structs.replace(peer, store=peer.store + 1000)


def watched_by_two() -> Bench:
    """A owns a group with B and C; D and E are its witnesses."""
    bench = Bench(A, [A, B, C, D, E], copies=3, witnesses=2)
    beside = tuple(Member(peer, peer.store) for peer in (D, E))
    bench.own(msgspec.structs.replace(config(A, B, C), witnesses=beside))
    bench.forget()
    return bench


def replaced(bench: Bench, *peers: Peer) -> None:
    """They come back without their data."""
    for peer in peers:
        bench.down(peer)
        bench.up(other_storage(peer))


def until_asked(bench: Bench) -> None:
    """Until the owner has another epoch chosen, in time."""
    stop = bench.now + 2 * WITNESS_PATIENCE * MIGRATE_AFTER
    while bench.now < stop and not bench.said(Prepare):
        bench.pass_time(RETRY // 4)
    assert bench.said(Prepare)


def exposed(bench: Bench) -> object:
    return bench.groups.described(["orders"])[0]["exposed"]


def test_witness_that_lost_its_storage_is_named_anew_with_the_storage_it_has() -> None:
    bench = watched_by_two()
    replaced(bench, D)
    until_asked(bench)
    found = bench.elect(B, C, E, seq=1)
    assert {(m.peer.name, m.token) for m in found.witnesses} == {("d", D.store + 1000), ("e", E.store)}


def test_witness_that_says_it_lost_its_storage_is_named_anew_also_if_its_return_passed_us_by() -> None:
    bench = watched_by_two()
    bench.feed(D, NotMember(KEY, 7, 77))
    until_asked(bench)
    found = bench.elect(B, C, E, seq=1)
    assert {(m.peer.name, m.token) for m in found.witnesses} == {("d", 77), ("e", E.store)}


def test_witness_that_was_not_asked_to_promise_and_denies_to_be_a_member_is_kept() -> None:
    bench = watched_by_two()
    bench.feed(D, NotMember(KEY, 7, D.store))
    bench.pass_time(2 * WITNESS_PATIENCE * MIGRATE_AFTER)
    assert not bench.said(Prepare)


def test_who_takes_over_knows_which_witnesses_have_lost_their_storage_before() -> None:
    bench = Bench(A, [A, B, C, D, E], copies=3, witnesses=2)
    bench.links.known[D.id] = other_storage(D)
    beside = tuple(Member(peer, peer.store) for peer in (D, E))
    bench.own(msgspec.structs.replace(config(A, B, C), witnesses=beside))
    until_asked(bench)


def test_group_is_exposed_while_the_next_failure_would_stop_it() -> None:
    bench = watched_by_two()
    assert exposed(bench) is False
    replaced(bench, D)
    assert exposed(bench) is False, "four of five voters count"
    replaced(bench, E)
    assert exposed(bench) is True, "three of five: one more and nobody may decide"
    until_asked(bench)
    bench.elect(B, C, seq=1)
    for peer in (B, C):
        bench.feed(peer, Installed(KEY, 8, 1))
    assert exposed(bench) is False


def test_group_whose_witnesses_are_gone_for_good_does_not_wait_for_them() -> None:
    bench = watched_by_two()
    bench.down(D, E)
    bench.want(A, B, C)
    assert exposed(bench) is True
    until_asked(bench)
    assert bench.elect(B, C, seq=1).witnesses == ()


def test_group_in_a_cluster_too_small_for_better_is_not_called_exposed() -> None:
    bench = Bench(A, [A, B], copies=3, witnesses=2)
    bench.own(config(A, B))
    assert exposed(bench) is False
