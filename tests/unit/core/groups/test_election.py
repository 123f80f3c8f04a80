"""Choosing the next epoch: what an acceptor promises, what a proposer makes of it (ADR 0002)."""

from __future__ import annotations

from causeway.config import BrokerConfig
from causeway.core.groups.election import GRACE
from causeway.core.messages import (
    Accept,
    Adopted,
    Chosen,
    Installed,
    NotMember,
    Outbid,
    Outdated,
    Prepare,
    Promised,
)
from tests.unit.core.groups.bench import KEY, A, B, Bench, C, D, E, config, incomplete_in, members_of, put

RETRY = BrokerConfig(name="x").retry
EPOCH_7 = config(A, B, C, owner=B)


def acceptor() -> Bench:
    """A follows B, with operations up to position 3."""
    bench = Bench(A)
    bench.join(EPOCH_7)
    bench.replicate(B, 1, put(b"b1", b"one"))
    bench.replicate(B, 2, put(b"b2", b"two"))
    bench.settle()
    bench.forget()
    return bench


def proposer() -> Bench:
    """A owns the group of A, B and C and proposes, because C is lost; B has not answered yet."""
    bench = Bench(A, ring=(A, B, D))
    bench.own(config(A, B, C))
    bench.down(C)
    bench.durable()
    return bench


def ballot_of(bench: Bench) -> tuple[int, bytes]:
    return bench.said(Prepare)[-1].ballot


# Acceptor --------------------------------------------------------------------------------------------------------
def test_acceptor_promises_with_its_position_and_only_when_the_promise_is_durable() -> None:
    bench = acceptor()
    bench.feed(C, Prepare(KEY, EPOCH_7, (1, C.id)))
    assert not bench.said(Promised)
    ((promise, writes),) = bench.waiting(Promised)
    assert writes
    assert (promise.epoch, promise.ballot, promise.last_epoch, promise.last_seq) == (8, (1, C.id), 7, 3)
    assert (promise.accepted_ballot, promise.accepted) == (None, None)
    bench.durable()
    assert bench.said(Promised, to=C) == [promise]


def test_acceptor_refuses_a_lower_ballot_and_names_the_promised_one() -> None:
    bench = acceptor()
    bench.feed(C, Prepare(KEY, EPOCH_7, (5, C.id)))
    bench.feed(B, Prepare(KEY, EPOCH_7, (4, B.id)))
    bench.durable()
    assert not bench.said(Promised, to=B)
    assert bench.said(Outbid, to=B, epoch=8, ballot=(5, C.id))


def test_acceptor_remembers_its_promise_after_a_restart() -> None:
    bench = acceptor()
    bench.feed(C, Prepare(KEY, EPOCH_7, (5, C.id)))
    bench.settle()
    later = bench.restarted()
    later.feed(B, Prepare(KEY, EPOCH_7, (4, B.id)))
    later.durable()
    assert later.said(Outbid, to=B, ballot=(5, C.id))
    assert not later.said(Promised)


def test_acceptor_repeats_its_promise_to_the_same_ballot() -> None:
    bench = acceptor()
    for _ in range(2):
        bench.feed(C, Prepare(KEY, EPOCH_7, (5, C.id)))
    bench.durable()
    assert len(bench.said(Promised, to=C, ballot=(5, C.id))) == 2


def test_acceptor_reports_the_configuration_it_accepted_to_a_higher_ballot() -> None:
    bench = acceptor()
    accepted = config(A, C, epoch=8, owner=C)
    bench.feed(C, Prepare(KEY, EPOCH_7, (1, C.id)))
    bench.feed(C, Accept(KEY, (1, C.id), accepted))
    bench.settle()
    later = bench.restarted()
    for survivor in (bench, later):
        survivor.feed(B, Prepare(KEY, EPOCH_7, (2, B.id)))
        survivor.durable()
        assert survivor.said(Promised, to=B, accepted_ballot=(1, C.id), accepted=accepted)


def test_acceptor_refuses_to_accept_below_its_promise() -> None:
    bench = acceptor()
    bench.feed(C, Prepare(KEY, EPOCH_7, (5, C.id)))
    bench.feed(B, Accept(KEY, (4, B.id), config(A, B, epoch=8, owner=B)))
    bench.durable()
    assert not bench.said(Adopted)
    assert bench.said(Outbid, to=B, epoch=8, ballot=(5, C.id))
    bench.feed(D, Prepare(KEY, EPOCH_7, (6, D.id)))
    bench.durable()
    assert bench.said(Promised, to=D, accepted=None)


def test_acceptor_accepts_at_or_above_its_promise_and_says_so_when_durable() -> None:
    bench = acceptor()
    bench.feed(C, Prepare(KEY, EPOCH_7, (5, C.id)))
    bench.durable()
    bench.feed(C, Accept(KEY, (5, C.id), config(A, C, epoch=8, owner=C)))
    assert not bench.said(Adopted)
    bench.durable()
    assert bench.said(Adopted, to=C, epoch=8, ballot=(5, C.id))
    bench.feed(B, Prepare(KEY, EPOCH_7, (4, B.id)))
    assert bench.said(Outbid, to=B, ballot=(5, C.id)), "accepting a ballot promises it"


def test_acceptor_that_never_promised_accepts_and_is_fenced_by_it() -> None:
    bench = acceptor()
    bench.feed(C, Accept(KEY, (5, C.id), config(A, C, epoch=8, owner=C)))
    bench.replicate(B, 3, put(b"b3", b"three"))
    bench.durable()
    assert bench.said(Adopted, to=C)
    assert b"b3" not in bench.rows()
    assert bench.said(Outbid, to=B)


def test_acceptor_in_a_later_epoch_answers_with_it() -> None:
    bench = acceptor()
    later = config(A, C, epoch=8, owner=C)
    bench.join(later)
    bench.feed(B, Prepare(KEY, EPOCH_7, (9, B.id)))
    bench.feed(B, Accept(KEY, (9, B.id), config(B, C, epoch=8)))
    bench.durable()
    assert bench.said(Outdated, to=B) == [Outdated(KEY, later)] * 2
    assert not bench.said(Promised)
    assert not bench.said(Adopted)


def test_stranger_asked_to_accept_denies_its_membership() -> None:
    bench = Bench(D)
    bench.feed(C, Accept(KEY, (5, C.id), config(A, C, epoch=8, owner=C)))
    assert bench.said(NotMember, to=C, epoch=7, token=D.store)
    assert not bench.writing


def test_accept_for_an_epoch_further_ahead_is_not_adopted() -> None:
    bench = acceptor()
    bench.feed(C, Accept(KEY, (5, C.id), config(A, C, epoch=9, owner=C)))
    bench.durable()
    assert not bench.said(Adopted)


# Proposer --------------------------------------------------------------------------------------------------------
def test_owner_that_lost_a_member_asks_all_members_of_its_epoch() -> None:
    bench = proposer()
    assert [bench.said(Prepare, to=peer, config=config(A, B, C)) != [] for peer in (B, C, D)] == [True, True, False]


def test_proposer_accepts_nothing_without_a_majority() -> None:
    bench = proposer()
    bench.pass_time(2 * GRACE)
    bench.durable()
    assert not bench.said(Accept)


def test_majority_without_a_complete_member_is_none() -> None:
    bench = Bench(B, ring=(A, B, C))
    bench.join(config(A, B, C, D, incomplete=(B, C, D)), base=1)
    bench.down(A)
    bench.pass_time(4 * RETRY)
    bench.durable()
    for peer in (C, D):
        for ballot in {p.ballot for p in bench.said(Prepare)}:
            bench.feed(peer, Promised(KEY, 8, ballot, 7, 1))
    bench.pass_time(GRACE)
    assert not bench.said(Accept)


def test_proposer_plans_from_the_promises_of_a_quorum() -> None:
    bench = proposer()
    bench.feed(B, Promised(KEY, 8, ballot_of(bench), 7, 1))
    (planned,) = {accept.next for accept in bench.said(Accept, to=B)}
    assert (planned.epoch, planned.owner, planned.born) == (8, A.id, 7)
    assert (members_of(planned), incomplete_in(planned)) == (["a", "b", "d"], ["d"])


def test_proposer_waits_for_living_members_but_not_longer_than_grace() -> None:
    bench = Bench(A, ring=(A, B, C, D), copies=4)
    bench.own(config(A, B, C, D))
    bench.down(D)
    bench.durable()
    bench.feed(B, Promised(KEY, 8, ballot_of(bench), 7, 1))
    assert not bench.said(Accept), "three of four promise a majority, and c lives"
    bench.pass_time(GRACE - 1)
    assert not bench.said(Accept)
    bench.feed(C, Promised(KEY, 8, ballot_of(bench), 7, 1))
    assert members_of(bench.said(Accept, to=B)[0].next) == ["a", "b", "c"]


def test_proposer_goes_on_without_a_silent_member_after_grace() -> None:
    bench = Bench(A, ring=(A, B, C, D, E), copies=5)
    bench.own(config(A, B, C, D, E))
    bench.down(E)
    bench.durable()
    for peer in (B, C):
        bench.feed(peer, Promised(KEY, 8, ballot_of(bench), 7, 1))
    assert not bench.said(Accept)
    bench.pass_time(GRACE)
    planned = bench.said(Accept, to=B)[0].next
    assert (members_of(planned), incomplete_in(planned)) == (["a", "b", "c", "d"], ["d"])


def test_proposer_takes_the_configuration_accepted_under_the_highest_ballot() -> None:
    bench = Bench(A, ring=(A, B, C, D), copies=4)
    bench.own(config(A, B, C, D))
    bench.down(D)
    bench.durable()
    low, high = config(A, B, epoch=8), config(A, C, epoch=8, owner=C)
    mine = ballot_of(bench)
    bench.feed(B, Promised(KEY, 8, mine, 7, 1, (2, D.id), low))
    bench.feed(C, Promised(KEY, 8, mine, 7, 1, (3, B.id), high))
    assert {accept.next for accept in bench.said(Accept)} == {high}
    assert {accept.ballot for accept in bench.said(Accept)} == {mine}


def test_promises_to_another_ballot_or_epoch_do_not_count() -> None:
    bench = proposer()
    number, _ = ballot_of(bench)
    bench.feed(B, Promised(KEY, 8, (number, B.id), 7, 1))
    bench.feed(B, Promised(KEY, 9, ballot_of(bench), 7, 1))
    bench.feed(D, Promised(KEY, 8, ballot_of(bench), 7, 1))
    bench.pass_time(GRACE)
    assert not bench.said(Accept)


def test_plan_is_chosen_by_a_majority_and_told_to_old_and_new_members() -> None:
    bench = proposer()
    bench.feed(B, Promised(KEY, 8, ballot_of(bench), 7, 1))
    bench.durable()
    assert not bench.said(Chosen), "a alone is no majority"
    bench.feed(D, Adopted(KEY, 8, ballot_of(bench)))
    assert not bench.said(Chosen), "d is no member of the epoch that chooses"
    bench.feed(B, Adopted(KEY, 8, ballot_of(bench)))
    bench.durable()
    assert all(bench.said(Chosen, to=peer, base=-1) for peer in (B, C, D)), "by the proposer, whoever owns the epoch"
    found = bench.groups.config(KEY)
    assert found is not None
    assert (found.epoch, members_of(found)) == (8, ["a", "b", "d"])


def test_adoption_of_another_ballot_does_not_count() -> None:
    bench = proposer()
    bench.feed(B, Promised(KEY, 8, ballot_of(bench), 7, 1))
    bench.durable()
    bench.feed(B, Adopted(KEY, 8, (99, B.id)))
    bench.feed(B, Adopted(KEY, 9, ballot_of(bench)))
    assert not bench.said(Chosen)


def test_late_promise_does_not_change_a_plan_that_was_sent() -> None:
    bench = proposer()
    bench.feed(B, Promised(KEY, 8, ballot_of(bench), 7, 1))
    sent = bench.said(Accept)
    bench.feed(C, Promised(KEY, 8, ballot_of(bench), 7, 1, (9, C.id), config(A, C, epoch=8, owner=C)))
    assert bench.said(Accept) == sent


def test_outbid_proposer_comes_back_above_the_ballot_it_heard_of() -> None:
    bench = proposer()
    bench.feed(B, Outbid(KEY, 8, (40, B.id)))
    bench.feed(B, Promised(KEY, 8, ballot_of(bench), 7, 1))
    assert not bench.said(Accept), "the attempt is over"
    bench.forget()
    bench.pass_time(3 * RETRY)
    assert ballot_of(bench) == (41, A.id)


def test_unanswered_proposal_is_made_again_with_a_higher_ballot() -> None:
    bench = proposer()
    first = ballot_of(bench)
    bench.pass_time(4 * RETRY)
    assert ballot_of(bench) > first


def test_owner_fenced_by_a_proposer_that_never_finishes_wins_an_epoch_itself() -> None:
    bench = Bench(A)
    bench.own(config(A, B, C))
    bench.feed(B, Prepare(KEY, config(A, B, C), (5, B.id)))
    bench.durable()
    assert bench.said(Promised, to=B)
    assert not bench.serving()
    bench.pass_time(4 * RETRY)
    assert ballot_of(bench) > (5, B.id)
    found = bench.elect(B, C, seq=1)
    for peer in (B, C):
        bench.feed(peer, Installed(KEY, found.epoch, 1))
    assert (found.epoch, found.owner) == (8, A.id)
    assert bench.serving()


def test_owner_whose_copies_promised_to_somebody_else_proposes() -> None:
    bench = Bench(A)
    bench.own(config(A, B, C))
    bench.append(put(b"b1", b"one"))
    bench.feed(B, Outbid(KEY, 8, (5, C.id)))
    bench.pass_time(2 * RETRY)
    assert ballot_of(bench) > (5, C.id)
