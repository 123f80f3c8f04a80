"""What the parts of the group protocol share: hearsay, tokens, whom the ring wants, and writes with answers."""

from __future__ import annotations

import random

import msgspec
import pytest

from causeway.config import BrokerConfig
from causeway.core.effects import Persist
from causeway.core.events import PeerMessage
from causeway.core.groups import membership
from causeway.core.groups import registry as registry_module
from causeway.core.groups.registry import ROOT, Registry
from causeway.core.groups.state import Group, Meta, Tenure
from causeway.core.machine import Turn
from causeway.core.messages import Chosen, Config, Inquire, Installed, NotMember, Prepare, Promised
from causeway.limits import GROUPS_LEARNED_MAX
from causeway.store.base import LOCAL, Page
from causeway.types import Key, Peer, key_of
from tests.unit.core.groups.bench import KEY, A, B, Bench, C, D, E, FakeLinks, FakeRing, config, put


def registry(*ring: Peer, root_copies: int = 5) -> Registry:
    return Registry(BrokerConfig(name="a", root_copies=root_copies), FakeLinks(A), FakeRing(ring), random.Random(1))


def group(*peers: Peer, key: Key = KEY) -> Group:
    return Group(key, Meta(config(*peers), 1), (7, 1))


def names(peers: list[Peer]) -> list[str]:
    return [peer.name for peer in peers]


# Hearsay ---------------------------------------------------------------------------------------------------------
def test_later_epochs_and_births_replace_what_was_heard_and_earlier_ones_do_not() -> None:
    r = registry()
    second, reborn = config(A, epoch=9), config(A, epoch=2048, born=2048)
    for heard in (config(A), second, config(A, epoch=8)):
        r.learn(KEY, heard)
    assert r.config_of(KEY) == second
    for heard in (reborn, second):
        r.learn(KEY, heard)
    assert r.config_of(KEY) == reborn


def test_later_of_membership_and_hearsay_counts() -> None:
    r = registry()
    r.groups[KEY] = group(A, B)
    r.learn(KEY, config(A, epoch=6))
    assert r.config_of(KEY) == config(A, B)
    r.learn(KEY, config(B, epoch=8))
    assert r.config_of(KEY) == config(B, epoch=8)


def test_hearsay_is_bounded_and_the_oldest_is_forgotten() -> None:
    r = registry()
    keys = [Key(number.to_bytes(16, "big")) for number in range(GROUPS_LEARNED_MAX + 1)]
    for key in keys:
        r.learn(key, config(A))
    assert len(r.learned) == GROUPS_LEARNED_MAX
    assert r.config_of(keys[0]) is None
    assert r.config_of(keys[-1]) is not None


@pytest.mark.parametrize(("epoch", "born", "before"), [(7, 7, True), (8, 7, True), (9, 7, False), (2048, 2048, False)])
def test_only_what_is_not_later_than_our_leaving_is_from_before(epoch: int, born: int, before: bool) -> None:
    r = registry()
    assert not r.has_left(KEY, config(A, epoch=epoch, born=born))
    r.left[KEY] = (7, 8)
    assert r.has_left(KEY, config(A, epoch=epoch, born=born)) is before


def test_storage_answers_to_its_own_id_unless_a_membership_was_lost() -> None:
    r = registry()
    r.void[ROOT] = 999
    assert (r.token_for(KEY), r.token_for(ROOT)) == (A.store, 999)


def pinned(r: Registry) -> list[str]:
    assert isinstance(r.links, FakeLinks)
    return [names([r.links.known[broker]])[0] for broker in r.links.pinned]


def test_fellow_member_is_pinned_once_and_we_are_not() -> None:
    r = registry()
    r.watch(None, config(A, B))
    r.watch(None, config(A, B, C))
    assert pinned(r) == ["b", "c"]


def test_link_is_let_go_with_the_last_group_held_together() -> None:
    r = registry()
    r.watch(None, config(A, B))
    r.watch(None, config(A, B, C))
    r.watch(config(A, B, C), config(A, D, C, epoch=8))
    assert pinned(r) == ["b", "c", "d"]
    r.watch(config(A, B), None)
    assert pinned(r) == ["c", "d"]


def test_lost_broker_is_looked_for_until_it_is_back_though_nothing_is_held_with_it() -> None:
    r = registry()
    r.watch(None, config(A, B, C))
    r.suspected[B.id] = None
    r.watch(config(A, B, C), config(A, C, D, epoch=8))
    assert pinned(r) == ["b", "c", "d"]
    del r.suspected[B.id]
    for broker in (B, C):
        r.release(broker.id)
    assert pinned(r) == ["c", "d"]


def test_broker_that_left_for_good_is_not_looked_for() -> None:
    r = registry()
    r.watch(None, config(A, B, C))
    r.suspected[B.id] = r.parting[B.id] = None
    r.watch(config(A, B, C), config(A, C, D, epoch=8))
    assert pinned(r) == ["c", "d"]


def test_others_are_wanted_in_place_of_all_that_leave() -> None:
    r = registry(A, B, C, D, E)
    r.parting |= dict.fromkeys((B.id, C.id))
    assert names(r.wanted(group(A, B, C))) == ["a", "d", "e"]


# Whom the ring wants ---------------------------------------------------------------------------------------------
def test_closest_brokers_are_wanted_without_the_suspected_and_the_parting() -> None:
    r = registry(A, B, C, D, E)
    assert names(r.wanted(group(A, B, C))) == ["a", "b", "c"]
    r.suspected[A.id] = None
    assert names(r.wanted(group(A, B, C))) == ["b", "c", "d"]
    r.suspected.clear()
    r.parting[B.id] = None
    assert names(r.wanted(group(A, B, C))) == ["a", "c", "d"]


def test_root_stays_with_its_living_members_wherever_the_ring_points() -> None:
    r = registry(C, D, E, A, B)
    held = group(A, B, C, key=ROOT)
    held.gone[B.id] = 9
    assert names(r.wanted(held))[:2] == ["a", "c"]
    assert len(r.wanted(held)) == 5, "b may come in again, as a newcomer"


def test_root_with_too_many_members_keeps_its_owner_and_no_more_than_it_should_have() -> None:
    r = registry(A, B, C, D, E, root_copies=3)
    held = group(A, B, C, D, key=ROOT)
    held.meta = msgspec.structs.replace(held.meta, config=msgspec.structs.replace(held.config, owner=D.id))
    assert names(r.wanted(held)) == ["d", "a", "b"]


def test_leaving_broker_wants_its_heirs_by_their_distance_and_not_itself() -> None:
    r = registry(A, B, C)
    r.leaving, r.heirs = True, [E, C, A, D]
    assert names(r.wanted(group(A, B, C))) == ["c", "d", "e"]


def test_leaving_broker_whose_heirs_are_gone_wants_those_who_hold_the_group() -> None:
    r = registry(A, B, C)
    r.leaving, r.heirs = True, [D]
    r.suspected[D.id] = None
    held = group(A, B, C)
    held.gone[B.id] = 9
    assert names(r.wanted(held)) == ["c"]


# Ways out --------------------------------------------------------------------------------------------------------
def test_message_to_ourselves_comes_back_within_the_turn() -> None:
    r, turn = registry(), Turn(1)
    r.send(turn, A.id, Inquire(KEY, 1), b"body")
    assert list(turn.inbox) == [PeerMessage(A, Inquire(KEY, 1), b"body")]
    assert not r.links.sent  # type: ignore[attr-defined]


def test_answer_to_another_broker_waits_inside_the_write() -> None:
    r, turn = registry(), Turn(1)
    r.persist(turn, [put(b"b1", b"x")], B.id, Installed(KEY, 7, 2))
    persist = flushed(r, turn)
    assert [(send.conn, send.head) for send in persist.then] == [(r.links.conn_of(B.id), Installed(KEY, 7, 2))]
    assert not turn.effects.sends


def test_write_happens_although_nobody_can_be_answered() -> None:
    r, turn = registry(), Turn(1)
    r.links.down.add(B.id)  # type: ignore[attr-defined]
    r.persist(turn, [put(b"b1", b"x")], B.id, Installed(KEY, 7, 2))
    persist = flushed(r, turn)
    assert (list(persist.writes), list(persist.then)) == ([put(b"b1", b"x")], [])


def test_answer_to_ourselves_comes_once_and_only_when_its_write_is_durable() -> None:
    r, turn = registry(), Turn(1)
    r.persist(turn, [put(b"b1", b"x")], A.id, Installed(KEY, 7, 2))
    persist = flushed(r, turn)
    assert not persist.then
    assert not turn.inbox
    written = r.out.written(persist.token)
    assert written is not None
    assert (written.own, written.answers) == ({}, [Installed(KEY, 7, 2)])
    assert r.out.written(persist.token) is None


def test_own_operation_is_reported_by_its_end_once() -> None:
    r, turn, ours = registry(), Turn(1), group(A)
    ours.tenure = Tenure(1, lineage=3)
    r.persist_own(turn, ours, [put(b"b1", b"x")], 5)
    persist = flushed(r, turn)
    written = r.out.written(persist.token)
    assert written is not None
    assert (written.own, written.answers) == ({KEY: (5, 3)}, [])
    assert r.out.written(persist.token) is None


def flushed(r: Registry, turn: Turn) -> Persist:
    """The one Persist of a turn that ends."""
    r.out.flush(turn, r.new_token())
    (persist,) = turn.effects.persists
    return persist


# Groups left long ago ------------------------------------------------------------------------------------------
def gone_on(bench: Bench, number: int, mark: str) -> tuple[Key, Config]:
    """A group was ours and went on without us: its key and its first configuration."""
    name, born = f"box{mark}{number:016x}", 1024 * number
    first = msgspec.structs.replace(config(B, C, A, epoch=born, born=born), name=name)
    bench.feed(B, Chosen(key_of(name), first, 1))
    later = msgspec.structs.replace(config(B, C, epoch=born + 1, born=born), name=name)
    bench.feed(B, Chosen(key_of(name), later, 1))
    bench.durable()
    return key_of(name), first


def remembered(bench: Bench) -> int:
    rows = bench.store.scan(LOCAL, b"", b"", 1 << 20).rows
    return sum(1 for row in rows if row.key[:1] in b"xy")


@pytest.mark.parametrize("restart", [False, True])
def test_private_mailboxes_left_are_remembered_up_to_a_bound_and_others_always(
    monkeypatch: pytest.MonkeyPatch, *, restart: bool
) -> None:
    monkeypatch.setattr(registry_module, "GROUPS_LEFT_MAX", 4)
    bench = Bench(A)
    others = [gone_on(bench, number, "-") for number in range(1, 8)]
    private = [gone_on(bench, number, "~") for number in range(1, 8)]
    assert remembered(bench) == 7 + 4
    if restart:
        bench = bench.restarted()
        private.append(gone_on(bench, 8, "~"))
        assert remembered(bench) == 7 + 4
    bench.forget()
    for key, first in (*others, *private[-4:]):
        bench.feed(C, Prepare(key, first, (9, C.id)))
        bench.feed(C, Chosen(key, first, 1))
    bench.durable()
    assert not bench.said(Promised)
    assert not bench.said(Installed)
    assert bench.groups.empty
    bench.feed(C, Chosen(*private[0], 1))
    assert not bench.groups.empty, "the oldest is forgotten"


@pytest.mark.parametrize("damaged", [b"x", b"y", b"v"])
def test_damaged_memory_of_groups_left_lets_no_old_configuration_in(damaged: bytes) -> None:
    bench = Bench(A)
    left = [gone_on(bench, number, mark) for number, mark in enumerate("--~~", 1)]
    bench.feed(B, Chosen(KEY, config(B, C, A, epoch=8), 1))  # we are said to hold its rows, and do not
    left.append((KEY, config(B, C, A)))
    rows = bench.store.scan(LOCAL, b"", b"", 1 << 20).rows
    lost = [row.key for row in rows if row.key[:1] == damaged]
    assert lost
    again = Bench(A)
    again.turn(lambda turn: again.groups.start(turn, Page([row for row in rows if row.key not in lost], lost, None)))
    for key, first in left:
        again.feed(C, Chosen(key, first, 1))
    assert not again.said(Installed)
    assert again.groups.empty


def test_claims_about_groups_never_heard_of_are_answered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "GROUPS_VOID_MAX", 3)
    bench = Bench(A)
    for number in range(9):
        claim = msgspec.structs.replace(config(B, C, A, epoch=8), name=f"box-{number}")
        bench.feed(B, Chosen(key_of(claim.name), claim, 1))
    assert len(bench.said(NotMember)) == 3
