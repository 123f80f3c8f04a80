"""Entering, keeping and leaving groups: tokens, lost storages, and what a superseded member keeps."""

from __future__ import annotations

import msgspec
import pytest

from causeway.config import BrokerConfig
from causeway.core.events import OwnershipGained, OwnershipLost, OwnershipResumed
from causeway.core.groups.registry import ROOT
from causeway.core.messages import (
    Accept,
    Chosen,
    Config,
    Copied,
    Inquire,
    Installed,
    Member,
    NotMember,
    Outdated,
    Prepare,
    Promised,
)
from causeway.store.base import LOCAL, Page
from causeway.types import Key, Peer
from tests.unit.core.groups.bench import ALL_BYTES, KEY, A, B, Bench, C, D, config, incomplete_in, members_of, put

RETRY = BrokerConfig(name="x").retry
ABC_8 = config(B, C, D, epoch=8, owner=B)
"""What comes after an epoch of A, B and C: without A."""


def follower() -> Bench:
    """A follows B with one row."""
    bench = Bench(A)
    bench.join(config(A, B, C, owner=B))
    bench.replicate(B, 1, put(b"b1", b"one"))
    bench.settle()
    bench.forget()
    return bench


def other_storage(peer: Peer, store: int) -> Peer:
    return Peer(peer.id, peer.name, peer.host, peer.port, store)


# Installing ------------------------------------------------------------------------------------------------------
def test_member_says_installed_only_when_the_epoch_is_durable() -> None:
    bench = Bench(A)
    bench.feed(B, Chosen(KEY, config(A, B, C, owner=B)))
    assert not bench.said(Installed)
    bench.durable()
    assert bench.said(Installed, to=B, epoch=7)


def test_member_repeats_installed_with_its_position_when_its_owner_asks_again() -> None:
    bench = follower()
    bench.feed(B, Chosen(KEY, config(A, B, C, owner=B), 1))
    bench.durable()
    assert bench.said(Installed, to=B, epoch=7, seq=2)


def test_complete_member_keeps_its_position_into_the_next_epoch() -> None:
    bench = follower()
    bench.feed(B, Chosen(KEY, config(A, B, epoch=8, owner=B), 9))
    bench.durable()
    assert bench.said(Installed, to=B, epoch=8, seq=2)


def test_incomplete_member_waits_for_its_owner_to_say_where_the_epoch_begins() -> None:
    bench = Bench(D)
    epoch = config(A, B, D, epoch=8, incomplete=(D,))
    bench.feed(B, Chosen(KEY, epoch))
    assert not bench.writing
    bench.feed(A, Chosen(KEY, epoch, 5))
    bench.durable()
    assert bench.said(Installed, to=A, epoch=8, seq=5)


def test_later_epoch_lifts_the_promise_made_in_the_former() -> None:
    bench = follower()
    bench.feed(C, Prepare(KEY, config(A, B, C, owner=B), (5, C.id)))
    bench.join(config(A, B, C, epoch=8, owner=C))
    bench.replicate(C, 2, put(b"b2", b"two"), epoch=8)
    assert bench.rows() == {b"b1": b"one", b"b2": b"two"}


def test_news_of_an_older_epoch_is_answered_with_ours() -> None:
    bench = follower()
    later = config(A, B, epoch=8, owner=B)
    bench.join(later)
    bench.feed(C, Chosen(KEY, config(A, B, C, owner=B)))
    assert bench.said(Outdated, to=C, config=later)
    assert bench.groups.config(KEY) == later


def test_outdated_member_installs_what_it_is_told() -> None:
    bench = follower()
    bench.feed(C, Outdated(KEY, config(A, C, epoch=8, owner=C)))
    bench.durable()
    assert bench.said(Installed, to=C, epoch=8)


def test_rows_of_an_earlier_life_of_the_name_are_deleted() -> None:
    bench = follower()
    bench.feed(B, Chosen(KEY, config(A, B, epoch=2048, owner=B, born=2048)))
    bench.durable()
    assert bench.rows() == {}
    assert bench.said(Installed, to=B, epoch=2048, seq=1)


def test_owner_that_slept_through_the_end_of_its_group_owns_the_next_life_with_nothing_of_the_last_one() -> None:
    bench = Bench(A)
    bench.own(config(A, B))
    bench.append(put(b"x", b"old"))
    bench.forget()
    reborn = config(A, B, epoch=2048, born=2048)
    bench.feed(B, Chosen(KEY, reborn))
    assert bench.told(OwnershipLost) == [OwnershipLost(KEY, reborn)]
    assert not bench.groups.owned(KEY)
    bench.settle()
    bench.feed(B, Installed(KEY, 2048, 1))
    assert bench.told(OwnershipResumed) == bench.committed == []
    assert [(event.config, event.rows) for event in bench.told(OwnershipGained)] == [(reborn, [])]
    assert bench.rows() == {}
    assert bench.groups.position(KEY) == 1


def test_write_of_an_earlier_ownership_that_becomes_durable_says_nothing_about_ours() -> None:
    bench = Bench(A)
    bench.own(config(A, B))
    for number in range(5):
        bench.append(put(b"x", b"%d" % number))
    late, bench.writing = bench.writing, []
    bench.feed(B, Chosen(KEY, config(A, B, epoch=2048, born=2048)))
    bench.settle()
    bench.feed(B, Installed(KEY, 2048, 1))
    ours = bench.append(put(b"y", b"new"))
    bench.feed(B, Copied(((KEY, 2048, 2),)))
    written, bench.writing = bench.writing, late
    bench.durable()
    assert bench.committed == []
    bench.writing = written
    bench.durable()
    assert bench.committed == [ours]


def test_deposed_owner_stops_and_says_so() -> None:
    bench = Bench(A)
    bench.own(config(A, B, C))
    later = config(A, B, C, epoch=8, owner=B)
    bench.feed(B, Chosen(KEY, later))
    assert bench.told(OwnershipLost) == [OwnershipLost(KEY, later)]
    assert not bench.groups.owned(KEY)


def test_prepare_brings_a_member_to_the_epoch_it_has_not_heard_of() -> None:
    bench = follower()
    bench.feed(C, Prepare(KEY, config(A, B, C, epoch=8, owner=B), (1, C.id)))
    bench.durable()
    assert bench.said(Promised, to=C, epoch=9, last_seq=2)
    found = bench.groups.config(KEY)
    assert found is not None
    assert found.epoch == 8


def test_prepare_for_a_group_we_are_not_in_is_not_promised() -> None:
    bench = Bench(D)
    bench.feed(C, Prepare(KEY, config(A, B, C), (1, C.id)))
    bench.durable()
    assert not bench.said(Promised)


# Tokens and lost storages ----------------------------------------------------------------------------------------
STALE_A = other_storage(A, 66)
"""A as it was admitted before its storage was replaced."""


@pytest.mark.parametrize(
    "message", [Chosen(KEY, config(STALE_A, B, owner=B)), Prepare(KEY, config(STALE_A, B, owner=B), (1, B.id))]
)
def test_member_admitted_with_another_storage_denies_the_membership(message: Chosen | Prepare) -> None:
    bench = Bench(A)
    bench.feed(B, message)
    bench.durable()
    assert bench.said(NotMember, to=B, epoch=7, token=A.store)
    assert not bench.said(Installed)
    assert not bench.said(Promised)


@pytest.mark.parametrize("how", [Chosen, Prepare])
def test_member_said_to_hold_rows_that_knows_nothing_comes_in_under_another_token(how: type) -> None:
    """Its storage is the same, but the row that remembered the membership is gone: it must not vote from memory."""
    bench = Bench(A)
    epoch = config(A, B, C, owner=B, epoch=9)
    bench.feed(B, Chosen(KEY, epoch) if how is Chosen else Prepare(KEY, epoch, (1, B.id)))
    bench.settle()
    (denied,) = bench.said(NotMember, to=B, epoch=9)
    assert denied.token != A.store
    assert not bench.said(Promised)
    later = bench.restarted()
    later.feed(B, Chosen(KEY, epoch))
    assert later.said(NotMember, to=B, token=denied.token), "also after a restart"


def test_damaged_membership_row_makes_a_stranger_with_another_token() -> None:
    bench = follower()
    page = bench.store.scan(LOCAL, b"", b"", ALL_BYTES)
    damaged = Page([r for r in page.rows if r.key != b"g" + KEY], [b"g" + KEY], None)
    later = Bench(A, store=bench.store)
    later.turn(lambda turn: later.groups.start(turn, damaged))
    later.feed(C, Prepare(KEY, config(A, B, C, owner=B), (1, C.id)))
    later.durable()
    assert not later.said(Promised)
    (denied,) = later.said(NotMember, to=C)
    assert denied.token not in (A.store, 0)
    readmitted = config(other_storage(A, denied.token), B, epoch=8, owner=B, incomplete=(A,))
    later.feed(B, Chosen(KEY, readmitted, 4))
    later.durable()
    assert later.said(Installed, to=B, epoch=8, seq=4)


def owner_after(stimulus: str) -> Bench:
    bench = Bench(A)
    bench.own(config(A, B, C))
    if stimulus == "denied":
        bench.feed(C, NotMember(KEY, 7, 999))
    else:
        bench.up(other_storage(C, 999))
    return bench


@pytest.mark.parametrize("stimulus", ["denied", "came back with other storage"])
def test_member_without_its_storage_comes_in_anew_and_incomplete(stimulus: str) -> None:
    bench = owner_after(stimulus)
    assert bench.said(Prepare, to=B)
    if stimulus != "denied":
        bench.ring.order[2] = other_storage(C, 999)
    planned = bench.elect(B, seq=1)
    assert incomplete_in(planned) == ["c"]
    assert {m.peer.name: m.token for m in planned.members}["c"] == 999


def test_promise_of_a_member_without_its_storage_does_not_count() -> None:
    bench = owner_after("denied")
    bench.durable()
    ballot = bench.said(Prepare)[-1].ballot
    bench.feed(C, Promised(KEY, 8, ballot, 7, 1))
    bench.pass_time(RETRY)
    assert not bench.said(Accept)


def test_denial_of_another_epoch_or_by_a_newcomer_that_has_not_heard_changes_nothing() -> None:
    bench = Bench(A)
    bench.own(config(A, B, C, incomplete=(C,)))
    bench.feed(B, NotMember(KEY, 6, 999))
    bench.feed(D, NotMember(KEY, 7, 999))
    bench.feed(C, NotMember(KEY, 7, C.store))
    assert not bench.said(Prepare)
    assert bench.serving()


# Superseded ------------------------------------------------------------------------------------------------------
def local_keys(bench: Bench) -> set[bytes]:
    return {key[:1] for key in bench.rows(Key(LOCAL)) if key[1:] == KEY}


def test_superseded_member_keeps_its_rows_while_the_new_epoch_is_incomplete() -> None:
    bench = follower()
    bench.feed(B, Chosen(KEY, config(B, C, D, epoch=8, owner=B, incomplete=(D,))))
    bench.settle()
    assert bench.rows() == {b"b1": b"one"}
    assert not bench.restarted().groups.empty, "D lacks rows: these may be the last"
    bench.feed(B, Chosen(KEY, ABC_8, 1))
    assert bench.rows() == {}


def test_superseded_member_keeps_its_rows_until_the_owner_itself_has_spoken() -> None:
    """A proposer's word is not enough: if nobody else told the new owner of its epoch, nobody could elect one again."""
    bench = follower()
    bench.feed(C, Chosen(KEY, ABC_8))
    bench.settle()
    assert bench.rows() == {b"b1": b"one"}
    assert not bench.groups.empty
    assert bench.said(Inquire, to=B, epoch=8)
    bench.forget()
    bench.feed(B, Inquire(KEY, 7))
    assert bench.said(Outdated, to=B, config=ABC_8)
    bench.feed(B, Chosen(KEY, ABC_8, 2))
    assert bench.rows() == {}
    assert bench.groups.empty


def test_superseded_member_with_rows_asks_whether_they_are_still_needed() -> None:
    bench = follower()
    bench.feed(B, Chosen(KEY, config(B, C, D, epoch=8, owner=B, incomplete=(D,))))
    bench.pass_time(5 * RETRY)
    assert bench.said(Inquire, to=B, epoch=8)


def test_superseded_member_deletes_its_rows_and_remembers_that_it_left() -> None:
    bench = follower()
    bench.feed(B, Chosen(KEY, ABC_8, 1))
    assert bench.rows() == {}
    assert local_keys(bench) == {b"x"}


@pytest.mark.parametrize("restart", [False, True])
def test_member_that_left_ignores_everything_from_before(restart: bool) -> None:
    bench = follower()
    bench.feed(B, Chosen(KEY, ABC_8, 1))
    bench.settle()
    if restart:
        bench = bench.restarted()
    bench.forget()
    for stale in (config(A, B, C, owner=B), config(A, B, C, epoch=8, owner=B)):
        bench.feed(C, Chosen(KEY, stale))
        bench.feed(C, Outdated(KEY, stale))
        bench.feed(C, Prepare(KEY, stale, (9, C.id)))
        bench.turn(lambda turn, stale=stale: (bench.groups.learn(KEY, stale), bench.groups.wake(turn, KEY)))
    assert not bench.writing
    assert not bench.said(Promised)
    assert bench.groups.empty


def test_member_that_left_tells_one_that_slept_through_it_that_the_group_went_on() -> None:
    bench = follower()
    former = bench.groups.config(KEY)
    assert former is not None
    bench.feed(B, Chosen(KEY, ABC_8, 1))
    bench.settle()
    bench.feed(D, Prepare(KEY, former, (9, D.id)))
    assert bench.said(Outdated, to=D) == [Outdated(KEY, ABC_8)], "it may know nobody else who could tell"
    assert not bench.said(Promised)


@pytest.mark.parametrize("restart", [False, True])
def test_member_that_left_can_be_admitted_again_later(restart: bool) -> None:
    bench = follower()
    bench.feed(B, Chosen(KEY, ABC_8, 1))
    bench.settle()
    if restart:
        bench = bench.restarted()
    bench.feed(B, Chosen(KEY, config(B, C, A, epoch=9, owner=B, incomplete=(A,)), 5))
    bench.durable()
    assert bench.said(Installed, to=B, epoch=9, seq=5)


def test_superseded_owner_says_that_it_lost_the_group() -> None:
    bench = Bench(A)
    bench.own(config(A, B, C))
    bench.feed(B, Chosen(KEY, ABC_8))
    assert bench.told(OwnershipLost) == [OwnershipLost(KEY, ABC_8)]


# Inquire ---------------------------------------------------------------------------------------------------------
def answer_to(bench: Bench, epoch: int) -> list[Chosen | Outdated | NotMember | Inquire]:
    bench.forget()
    bench.feed(C, Inquire(KEY, epoch))
    return [sent.head for sent in bench.links.sent if sent.to == C.id]  # type: ignore[misc]


def test_owner_answers_an_inquiry_with_its_epoch_and_where_it_began() -> None:
    bench = Bench(A)
    bench.own(config(A, B, C))
    bench.append(put(b"b1", b"one"))
    assert answer_to(bench, 0) == [], "not before our own disk knows the epoch"
    bench.durable()
    assert bench.said(Chosen, to=C, config=config(A, B, C), base=1)


def test_member_answers_an_inquiry_of_one_that_is_behind_or_ahead() -> None:
    bench = follower()
    mine: Config = config(A, B, C, owner=B)
    assert answer_to(bench, 6) == [Outdated(KEY, mine)]
    assert answer_to(bench, 7) == []
    assert answer_to(bench, 8) == [Inquire(KEY, 7)]


def test_stranger_answers_an_inquiry_with_what_it_heard_or_denies() -> None:
    bench = Bench(A)
    assert answer_to(bench, 7) == [NotMember(KEY, 7, A.store)]
    heard = config(B, C, epoch=8)
    bench.groups.learn(KEY, heard)
    assert answer_to(bench, 7) == [Outdated(KEY, heard)]
    assert answer_to(bench, 8) == []


def test_founder_begins_the_root_alone() -> None:
    bench = Bench(A, ring=(A,))
    bench.turn(bench.groups.found)
    bench.settle()
    root = bench.groups.directory.root
    assert root is not None
    assert (root.epoch, members_of(root)) == (1, ["a"])
    assert bench.groups.serving(ROOT)


def test_owner_of_a_newborn_group_is_reminded_of_it_by_whoever_sends_somebody_there() -> None:
    bench = Bench(A)
    newborn, older = config(B, C), config(B, C, epoch=9)
    bench.turn(lambda turn: (bench.groups.learn(KEY, newborn), bench.groups.remind(turn, KEY, B.id)))
    assert bench.said(Chosen, to=B, config=newborn)
    bench.forget()
    bench.turn(lambda turn: (bench.groups.learn(KEY, older), bench.groups.remind(turn, KEY, B.id)))
    assert not bench.said(Chosen), "it has chosen an epoch since: it knows"
    assert not bench.said(Inquire), "and we are linked to it"


def test_broker_without_a_link_is_asked_whether_it_is_there_when_somebody_is_sent_to_it() -> None:
    bench = Bench(A)
    bench.links.down.add(B.id)
    bench.turn(lambda turn: bench.groups.remind(turn, KEY, B.id))
    assert bench.said(Inquire, to=B, epoch=0)
    bench.turn(lambda turn: (bench.groups.learn(KEY, config(B, C, epoch=9)), bench.groups.remind(turn, KEY, B.id)))
    assert bench.said(Inquire, to=B, epoch=9)


@pytest.mark.parametrize("restart", [False, True])
def test_member_that_slept_through_the_end_of_its_group_is_told(restart: bool) -> None:
    bench = Bench(A)
    old = config(B, A, C)
    bench.join(old)
    bench.feed(B, Chosen(KEY, msgspec.structs.replace(old, epoch=8, members=())))
    bench.settle()
    if restart:
        bench = bench.restarted()
    bench.forget()
    bench.feed(C, Prepare(KEY, old, (1, C.id)))
    bench.feed(D, Inquire(KEY, 7))  # a member until the epoch before: it keeps its rows until it hears
    for asker in (C, D):
        (told,) = bench.said(Outdated, to=asker)
        assert (told.config.epoch, told.config.members) == (8, ())
    assert not bench.said(Promised)


def test_owner_that_lost_its_storage_tells_the_others_of_a_birth_they_may_not_have_heard_of() -> None:
    bench = Bench(A)
    newborn = config(A, B, C)
    stranger = Member(A, A.store + 1)
    lost = msgspec.structs.replace(newborn, members=(stranger, *newborn.members[1:]))
    bench.turn(lambda turn: (bench.groups.learn(KEY, lost), bench.groups.wake(turn, KEY)))
    for peer in (B, C):
        assert bench.said(Chosen, to=peer, config=lost)
        assert bench.said(NotMember, to=peer, epoch=lost.epoch)


def test_owner_of_a_newborn_group_takes_it_up_and_tells_nobody_that_it_is_gone() -> None:
    bench = Bench(A)
    bench.turn(lambda turn: (bench.groups.learn(KEY, config(A, B)), bench.groups.wake(turn, KEY)))
    bench.settle()
    assert not bench.said(NotMember)
