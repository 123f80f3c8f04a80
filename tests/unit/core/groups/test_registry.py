"""What the parts of the group protocol share: hearsay, tokens, whom the ring wants, and writes with answers."""

from __future__ import annotations

import random

import pytest

from causeway.config import BrokerConfig
from causeway.core.events import PeerMessage
from causeway.core.groups.registry import ROOT, Registry
from causeway.core.groups.state import Group, Meta
from causeway.core.machine import Turn
from causeway.core.messages import Copied, Inquire
from causeway.limits import GROUPS_LEARNED_MAX
from causeway.types import Key, Peer
from tests.unit.core.groups.bench import KEY, A, B, C, D, E, FakeLinks, FakeRing, config, put


def registry(*ring: Peer) -> Registry:
    return Registry(BrokerConfig(name="a"), FakeLinks(A), FakeRing(ring), random.Random(1))


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


def test_fellow_member_is_pinned_once_and_we_are_not() -> None:
    r = registry()
    for broker in (A, B, B):
        r.pin(broker.id)
    assert r.links.pinned == [B.id]  # type: ignore[attr-defined]


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


def test_leaving_broker_wants_its_heirs_by_their_distance_and_not_itself() -> None:
    r = registry(A, B, C)
    r.leaving, r.heirs = True, [E, C, A, D]
    assert names(r.wanted(group(A, B, C))) == ["c", "d", "e"]


# Ways out --------------------------------------------------------------------------------------------------------
def test_message_to_ourselves_comes_back_within_the_turn() -> None:
    r, turn = registry(), Turn(1)
    r.send(turn, A.id, Inquire(KEY, 1), b"body")
    assert list(turn.inbox) == [PeerMessage(A, Inquire(KEY, 1), b"body")]
    assert not r.links.sent  # type: ignore[attr-defined]


def test_answer_to_another_broker_waits_inside_the_write() -> None:
    r, turn = registry(), Turn(1)
    r.persist(turn, [put(b"b1", b"x")], B.id, Copied(KEY, 7, 2))
    (persist,) = turn.effects.persists
    assert [(send.conn, send.head) for send in persist.then] == [(r.links.conn_of(B.id), Copied(KEY, 7, 2))]
    assert not turn.effects.sends


def test_write_happens_although_nobody_can_be_answered() -> None:
    r, turn = registry(), Turn(1)
    r.links.down.add(B.id)  # type: ignore[attr-defined]
    r.persist(turn, [put(b"b1", b"x")], B.id, Copied(KEY, 7, 2))
    (persist,) = turn.effects.persists
    assert (list(persist.writes), list(persist.then)) == ([put(b"b1", b"x")], [])


def test_answer_to_ourselves_comes_once_and_only_when_its_write_is_durable() -> None:
    r, turn = registry(), Turn(1)
    r.persist(turn, [put(b"b1", b"x")], A.id, Copied(KEY, 7, 2))
    (persist,) = turn.effects.persists
    assert not turn.inbox
    for _ in range(2):
        assert r.taken(turn, persist.token) is None
    assert list(turn.inbox) == [PeerMessage(A, Copied(KEY, 7, 2), b"")]


def test_own_operation_is_reported_by_its_end_once() -> None:
    r, turn = registry(), Turn(1)
    r.persist_own(turn, group(A), [put(b"b1", b"x")], 5)
    (persist,) = turn.effects.persists
    assert r.taken(turn, persist.token) == (KEY, 5)
    assert r.taken(turn, persist.token) is None
