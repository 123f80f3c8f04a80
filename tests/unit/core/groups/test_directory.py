"""The directory of births: asked by everybody, answered by the root's owner when an entry is on all its copies."""

from __future__ import annotations

import msgspec
import pytest

from causeway.config import BrokerConfig
from causeway.core.events import OwnershipGained
from causeway.core.groups.directory import EPOCHS_PER_BIRTH, LEAVING
from causeway.core.groups.registry import ROOT, ROOT_NAME
from causeway.core.messages import (
    Chosen,
    Config,
    Copied,
    Enter,
    Entered,
    Installed,
    Leave,
    Member,
    Outdated,
    Resolve,
    Resolved,
)
from causeway.errors import Code
from causeway.store.base import Row
from causeway.types import Peer, key_of
from tests.unit.core.groups.bench import KEY, A, B, Bench, C, D, config, members_of

RETRY = BrokerConfig(name="x").retry


def root(*peers: Peer, epoch: int = 1) -> Config:
    return Config(ROOT_NAME, epoch, peers[0].id, tuple(Member(p, p.store) for p in peers), (), 1)


ROOT_AB = root(A, B)


def directory(**settings: int) -> Bench:
    """A owns the root with B as its only copy."""
    bench = Bench(A, ring=(A, B), root_copies=2, **settings)
    bench.feed(B, Chosen(ROOT, root(A, B)))
    bench.settle()
    bench.feed(B, Installed(ROOT, 1, 1))
    bench.forget()
    return bench


def commit(bench: Bench) -> None:
    """All copies of the root have everything appended so far."""
    bench.durable()
    bench.feed(B, Copied(((ROOT, 1, bench.groups.position(ROOT)),)))


def born(bench: Bench, asker: Peer = C) -> Config:
    bench.feed(asker, Resolve(KEY, "orders", (C, D)))
    commit(bench)
    found = bench.said(Resolved, to=asker, group=KEY)[-1].config
    assert found is not None
    return found


# Answering -------------------------------------------------------------------------------------------------------
def test_group_is_born_with_the_offered_brokers_the_first_as_its_owner() -> None:
    found = born(directory())
    assert (found.name, found.owner, members_of(found), found.incomplete) == ("orders", C.id, ["c", "d"], ())
    assert found.born == found.epoch >= EPOCHS_PER_BIRTH
    assert [m.token for m in found.members] == [C.store, D.store]


def test_birth_is_answered_only_when_it_is_on_all_copies_of_the_root() -> None:
    bench = directory()
    bench.feed(C, Resolve(KEY, "orders", (C, D)))
    bench.durable()
    assert not bench.said(Resolved)
    bench.feed(B, Copied(((ROOT, 1, 2),)))
    assert bench.said(Resolved, to=C)


def test_concurrent_askers_are_told_the_same_birth_and_not_before_it_is_committed() -> None:
    bench = directory()
    bench.feed(C, Resolve(KEY, "orders", (C, D)))
    bench.feed(D, Resolve(KEY, "orders", (D, C)))
    bench.feed(C, Resolve(KEY, "orders", (C, D)))
    assert bench.groups.position(ROOT) == 2, "one operation"
    assert not bench.said(Resolved)
    commit(bench)
    assert {answer.config for answer in bench.said(Resolved)} == {bench.said(Resolved, to=D)[0].config}
    assert len(bench.said(Resolved)) == 3


def test_known_group_is_answered_at_once_whatever_is_offered() -> None:
    bench = directory()
    found = born(bench)
    bench.forget()
    bench.feed(D, Resolve(KEY, "orders", (D,)))
    assert bench.said(Resolved, to=D, config=found)
    assert not bench.writing


def test_question_without_candidates_begins_nothing() -> None:
    bench = directory()
    bench.feed(C, Resolve(KEY, "orders", ()))
    assert not bench.writing


def test_group_is_not_born_with_a_broker_that_is_leaving_or_has_left() -> None:
    bench = directory()
    bench.turn(lambda turn: bench.groups.on_parting(turn, C))
    bench.down(C)
    bench.feed(D, Resolve(KEY, "orders", (C,)))
    assert not bench.writing, "the asker hears of it, and asks again with others"
    assert members_of(born(bench, D)) == ["d"]


def test_entries_survive_a_restart_of_the_roots_owner() -> None:
    bench = directory()
    found = born(bench)
    later = bench.restarted()
    later.feed(B, Chosen(ROOT, root(A, epoch=2)))
    later.settle()
    later.feed(D, Resolve(KEY, "orders", (D,)))
    assert later.said(Resolved, to=D, config=found)


def test_birth_that_was_not_committed_is_not_answered_by_an_owner_that_lost_the_root() -> None:
    bench = directory()
    bench.feed(C, Resolve(KEY, "orders", (C, D)))
    bench.feed(B, Chosen(ROOT, root(B, A, epoch=2)))
    bench.settle()
    bench.feed(B, Copied(((ROOT, 1, 2),)))
    assert not bench.said(Resolved)
    bench.feed(D, Resolve(KEY, "orders", (D, C)))
    assert bench.said(Outdated, to=D, group=ROOT, config=root(B, A, epoch=2))


def test_broker_that_does_not_own_the_root_answers_with_the_root_it_knows() -> None:
    bench = Bench(D)
    bench.feed(C, Resolve(KEY, "orders", (C,)))
    assert not bench.links.sent, "it knows nothing"
    bench.groups.learn(ROOT, ROOT_AB)
    bench.feed(C, Resolve(KEY, "orders", (C,)))
    bench.feed(C, Enter(KEY, config(C, D)))
    assert bench.said(Outdated, to=C) == [Outdated(ROOT, ROOT_AB)] * 2
    assert not bench.writing


def test_reported_epoch_is_entered_and_confirmed_when_committed() -> None:
    bench = directory()
    first = born(bench)
    later = config(C, D, B, epoch=first.epoch + 1, born=first.born)
    bench.feed(C, Enter(KEY, later))
    assert not bench.said(Entered)
    commit(bench)
    assert bench.said(Entered, to=C, epoch=later.epoch)
    bench.feed(D, Resolve(KEY, "orders", (D,)))
    assert bench.said(Resolved, to=D, config=later)


def test_report_of_an_epoch_already_passed_changes_nothing_and_is_confirmed() -> None:
    bench = directory()
    first = born(bench)
    bench.feed(C, Enter(KEY, first))
    assert bench.said(Entered, to=C, epoch=first.epoch)
    assert not bench.writing


def test_reborn_group_begins_above_every_epoch_of_its_former_life() -> None:
    bench = directory()
    first = born(bench)
    last = config(epoch=first.epoch + 5, owner=C, born=first.born)
    bench.feed(C, Enter(KEY, last, True))
    bench.feed(D, Resolve(KEY, "orders", (D, C)))
    assert not bench.said(Resolved, to=D), "the end is not committed yet"
    commit(bench)
    assert bench.said(Entered, to=C, epoch=last.epoch)
    again = born(bench, D)
    assert again.epoch >= first.epoch + EPOCHS_PER_BIRTH
    assert again.born == again.epoch


def test_end_of_a_former_life_does_not_end_the_present_one() -> None:
    bench = directory()
    first = born(bench)
    end = Enter(KEY, config(epoch=first.epoch + 5, owner=C, born=first.born), True)
    bench.feed(C, end)
    commit(bench)
    again = born(bench, D)
    bench.feed(C, end)
    commit(bench)
    bench.forget()
    bench.feed(C, Resolve(KEY, "orders", (C,)))
    assert bench.said(Resolved, to=C, config=again)


def test_late_report_of_an_ended_group_does_not_enter_it_again() -> None:
    bench = directory()
    first = born(bench)
    bench.feed(C, Enter(KEY, config(epoch=first.epoch + 5, owner=C, born=first.born), True))
    commit(bench)
    bench.feed(C, Enter(KEY, config(C, D, epoch=first.epoch + 4, born=first.born)))
    commit(bench)
    assert born(bench, D).born > first.born


def test_group_above_the_bound_is_not_born_and_those_that_exist_are_still_found() -> None:
    bench = directory(mailboxes_max=1)
    found = born(bench)
    bench.feed(D, Resolve(key_of("more"), "more", (C, D)))
    bench.feed(D, Resolve(KEY, "orders", (C, D)))
    assert bench.said(Resolved, to=D) == [
        Resolved(key_of("more"), None, Code.CLUSTER_FULL),
        Resolved(KEY, found),
    ]
    assert not bench.writing


def test_groups_of_the_brokers_own_are_no_mailboxes() -> None:
    bench = directory(mailboxes_max=1)
    bench.feed(C, Resolve(key_of("causeway/domains"), "causeway/domains", (C, D)))
    commit(bench)
    born(bench)
    bench.feed(D, Resolve(key_of("causeway/seats/d"), "causeway/seats/d", (D, C)))
    commit(bench)
    bench.feed(D, Resolve(key_of("more"), "more", (C, D)))
    assert [(answer.config is None, answer.code) for answer in bench.said(Resolved, to=D)] == [
        (False, 0),
        (True, Code.CLUSTER_FULL),
    ]


def test_group_can_be_born_again_once_another_has_ended() -> None:
    bench = directory(mailboxes_max=1)
    found = born(bench)
    bench.feed(C, Enter(KEY, msgspec.structs.replace(found, epoch=found.epoch + 1, members=()), retired=True))
    commit(bench)
    bench.feed(D, Resolve(key_of("more"), "more", (C, D)))
    commit(bench)
    assert bench.said(Resolved, to=D)[-1].config is not None


def test_entries_that_a_broken_owner_wrote_are_left_out() -> None:
    bench = directory()
    good, key = config(C, D), b"e" + KEY
    rows = [
        Row(b"e", 1, b""),
        Row(b"e" + key_of("x"), 1, b"\xc1"),
        Row(b"e" + key_of("y"), 1, msgspec.msgpack.encode(good)),
        Row(key, 1, msgspec.msgpack.encode(good)),
    ]
    bench.groups.directory.on_ownership_gained(OwnershipGained(ROOT, ROOT_AB, rows, None))
    for name in ("orders", "x", "y"):
        bench.feed(D, Resolve(key_of(name), name, ()))
    assert bench.said(Resolved, to=D) == [Resolved(KEY, good)]


# Asking ----------------------------------------------------------------------------------------------------------
def asker(*, knows: bool = True) -> Bench:
    bench = Bench(D, ring=(D, C, B))
    if knows:
        bench.groups.learn(ROOT, ROOT_AB)
    bench.turn(lambda turn: bench.groups.resolve(turn, KEY, "orders"))
    return bench


def test_asker_offers_the_living_brokers_the_ring_wants() -> None:
    bench = Bench(D, ring=(D, C, B))
    bench.groups.learn(ROOT, ROOT_AB)
    bench.down(C)
    bench.turn(lambda turn: bench.groups.resolve(turn, KEY, "orders"))
    assert bench.said(Resolve, to=A) == [Resolve(KEY, "orders", (D, B))]


def test_asker_offers_others_when_one_has_left_since() -> None:
    bench = Bench(D, ring=(D, C, B), copies=2)
    bench.groups.learn(ROOT, ROOT_AB)
    bench.turn(lambda turn: bench.groups.resolve(turn, KEY, "orders"))
    bench.turn(lambda turn: bench.groups.on_parting(turn, C))
    bench.pass_time(2 * RETRY)
    assert [question.candidates for question in bench.said(Resolve)[:2]] == [(D, C), (D, B)]


def farewells(bench: Bench) -> list[Resolve]:
    return [question for question in bench.said(Resolve) if question.name == LEAVING + D.id.hex()]


def test_broker_that_leaves_asks_whether_something_was_born_with_it_and_stays_until_that_is_answered() -> None:
    bench = Bench(D, ring=(D, C))
    bench.groups.learn(ROOT, ROOT_AB)
    bench.turn(lambda turn: bench.groups.leave(turn, (A, B, C)))
    assert bench.said(Leave, to=A), "the root's owner begins no more with us"
    bench.pass_time(20 * RETRY)
    assert not bench.groups.empty
    question = farewells(bench)[-1]
    bench.feed(A, Resolved(question.group, None, Code.NO_MAILBOX))
    assert bench.groups.empty


def test_broker_that_leaves_hands_over_what_was_born_with_it_before_it_asks_again() -> None:
    bench = Bench(D, ring=(D, C))
    bench.groups.learn(ROOT, ROOT_AB)
    bench.turn(lambda turn: bench.groups.leave(turn, (A, B, C)))
    bench.feed(A, Chosen(KEY, config(C, D)))
    bench.settle()
    bench.forget()
    bench.pass_time(5 * RETRY)
    assert not farewells(bench)
    bench.feed(C, Chosen(KEY, config(C, B, epoch=8), 1))
    bench.pass_time(2 * RETRY)
    assert farewells(bench)


def test_broker_that_leaves_is_told_of_groups_born_with_it_until_others_hold_them() -> None:
    bench = directory()
    found = born(bench)
    farewell = LEAVING + D.id.hex()
    bench.forget()
    bench.feed(D, Resolve(key_of(farewell), farewell, (), existing=True))
    commit(bench)
    assert bench.said(Chosen, to=D) == [Chosen(KEY, found)]
    assert not bench.said(Resolved)
    bench.feed(C, Enter(KEY, msgspec.structs.replace(found, epoch=found.epoch + 1, members=found.members[:1])))
    commit(bench)
    bench.feed(D, Resolve(key_of(farewell), farewell, (), existing=True))
    assert not bench.said(Resolved), "who was superseded must not say so"
    commit(bench)
    assert bench.said(Resolved, to=D, config=None, code=Code.NO_MAILBOX)


def test_roots_owner_is_asked_now_and_then_although_it_seems_dead() -> None:
    bench = asker()
    bench.down(A)
    bench.forget()
    bench.pass_time(40 * RETRY)
    assert bench.said(Resolve, to=A)
    assert len(bench.said(Resolve, to=B)) > len(bench.said(Resolve, to=A))


def test_asker_learns_the_answer_and_stops_asking() -> None:
    bench = asker()
    found = config(C, D)
    bench.feed(A, Resolved(KEY, found))
    assert bench.groups.directory.answers == [(KEY, found, 0)]
    assert bench.groups.config(KEY) == found
    bench.forget()
    bench.pass_time(20 * RETRY)
    assert not bench.said(Resolve)


def test_answer_without_news_releases_nobody() -> None:
    bench = asker()
    bench.groups.learn(KEY, config(C, D))
    bench.feed(A, Resolved(KEY, config(C, D)))
    assert bench.groups.directory.answers == [], "who waits would ask the same question again at once"
    bench.forget()
    bench.pass_time(20 * RETRY)
    assert not bench.said(Resolve)


@pytest.mark.parametrize("restart", [False, True])
def test_former_member_does_not_believe_a_directory_that_still_calls_it_one(restart: bool) -> None:
    bench = Bench(D, ring=(D, C, B))
    stale, later = config(D, C, B), config(C, B, epoch=8)
    bench.own(stale)
    bench.feed(C, Chosen(KEY, later, 1))
    bench.settle()
    bench = bench.restarted() if restart else bench
    bench.groups.forget(KEY)
    bench.groups.learn(ROOT, ROOT_AB)
    bench.turn(lambda turn: bench.groups.resolve(turn, KEY, "orders"))
    bench.feed(A, Resolved(KEY, stale))
    assert bench.groups.config(KEY) is None, "we would wait for ourselves for good"
    bench.forget()
    bench.pass_time(RETRY)
    assert bench.said(Resolve, group=KEY), "until the new owner has reported"
    bench.feed(A, Resolved(KEY, later))
    assert bench.groups.directory.answers[-1] == (KEY, later, 0)


@pytest.mark.parametrize("restart", [False, True])
def test_directory_that_missed_the_end_of_a_group_hears_of_it_from_whoever_is_told_the_old(restart: bool) -> None:
    bench = Bench(A)
    old = config(B, A)
    bench.join(old)
    bench.feed(B, Chosen(KEY, msgspec.structs.replace(old, epoch=8, members=())))
    bench.settle()
    if restart:
        bench = bench.restarted()
    bench.groups.learn(ROOT, root(D))
    bench.turn(lambda turn: bench.groups.resolve(turn, KEY, "orders"))
    bench.forget()
    bench.feed(D, Resolved(KEY, old))
    assert bench.said(Enter, to=D, config=old, retired=True)
    assert bench.groups.directory.answers == []
    bench.forget()
    bench.pass_time(20 * RETRY)
    assert bench.said(Resolve, to=D), "once the directory knows, the group is born again"


def test_asker_is_told_that_no_group_will_be_born_and_stops_asking() -> None:
    bench = asker()
    bench.feed(A, Resolved(KEY, None, Code.CLUSTER_FULL))
    assert bench.groups.directory.answers == [(KEY, None, Code.CLUSTER_FULL)]
    bench.forget()
    bench.pass_time(20 * RETRY)
    assert not bench.said(Resolve)


def test_unanswered_question_goes_to_other_members_of_the_root_too() -> None:
    bench = asker()
    bench.pass_time(10 * RETRY)
    assert bench.said(Resolve, to=B)


def test_asker_follows_the_root_to_where_it_went() -> None:
    bench = asker()
    bench.feed(B, Outdated(ROOT, root(C, B, epoch=2)))
    bench.forget()
    bench.pass_time(10 * RETRY)
    assert bench.said(Resolve, to=C)
    assert not bench.said(Resolve, to=A)


def test_question_that_nobody_answers_is_reported_and_asked_on() -> None:
    bench = asker(knows=False)
    bench.pass_time(30 * RETRY)
    assert (KEY, None, Code.NO_DIRECTORY) in bench.groups.directory.answers
    bench.groups.learn(ROOT, ROOT_AB)
    bench.pass_time(10 * RETRY)
    assert bench.said(Resolve)


def test_owner_reports_its_epoch_until_the_directory_has_it() -> None:
    bench = Bench(A)
    bench.groups.learn(ROOT, root(D))
    bench.feed(B, Chosen(KEY, config(A, B, C)))
    bench.settle()
    assert bench.said(Enter, to=D, config=config(A, B, C), retired=False)
    bench.forget()
    bench.pass_time(6 * RETRY)
    assert bench.said(Enter, to=D)
    bench.feed(D, Entered(KEY, 7))
    bench.forget()
    bench.pass_time(20 * RETRY)
    assert not bench.said(Enter)
