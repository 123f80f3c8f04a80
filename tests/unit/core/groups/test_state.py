"""The pure questions of a group: quorums, and what the next epoch looks like (ADR 0002)."""

from __future__ import annotations

from causeway.core.groups.state import Attempt, Group, Meta, Operation, Tenure, is_quorum, majority, plan_next
from causeway.core.messages import Config, Member, Promised
from causeway.types import BrokerId, Peer, key_of

KEY = key_of("orders")


def peer(name: str, store: int = 1) -> Peer:
    return Peer(key_of(name), name, "127.0.0.1", 7400, store)


A, B, C, D = (peer(name) for name in "abcd")


def config(*peers: Peer, owner: Peer = A, incomplete: tuple[Peer, ...] = ()) -> Config:
    members = tuple(Member(p, p.store) for p in peers)
    return Config("orders", 7, owner.id, members, tuple(p.id for p in incomplete), 1)


def group_with(config: Config, promises: dict[Peer, tuple[int, int]], tenure: Tenure | None = None) -> Group:
    group = Group(KEY, Meta(config, 1), (7, 0), tenure)
    attempt = group.attempt = Attempt((1, A.id))
    for who, (epoch, seq) in promises.items():
        attempt.promises[who.id] = Promised(KEY, 8, (1, A.id), epoch, seq)
    return group


def names(config: Config) -> list[str]:
    return [m.peer.name for m in config.members]


def missing(config: Config) -> list[str]:
    return [m.peer.name for m in config.members if m.peer.id in config.incomplete]


def test_majority_counts_all_members() -> None:
    assert [majority(config(*ps)) for ps in ((A,), (A, B), (A, B, C), (A, B, C, D))] == [1, 2, 2, 3]


def test_is_quorum_needs_a_member_with_all_rows() -> None:
    half = config(A, B, C, incomplete=(B, C))
    assert not is_quorum(half, [B.id, C.id])
    assert is_quorum(half, [A.id, C.id])
    assert not is_quorum(half, [A.id])


def test_is_quorum_ignores_strangers() -> None:
    assert not is_quorum(config(A, B, C), [A.id, D.id])


def test_plan_next_brings_in_a_wanted_broker_as_incomplete_when_a_member_is_lost() -> None:
    group = group_with(config(A, B, C), {A: (7, 5), B: (7, 5)})
    nxt = plan_next(group, [A, B, D], A.id, {C.id: None})
    assert (nxt.epoch, nxt.owner, names(nxt), missing(nxt)) == (8, A.id, ["a", "b", "d"], ["d"])


def test_plan_next_lets_the_longest_log_lead_when_the_owner_is_lost() -> None:
    group = group_with(config(A, B, C), {B: (7, 5), C: (7, 6)})
    nxt = plan_next(group, [B, C, D], B.id, {A.id: None})
    assert nxt.owner == C.id
    assert missing(nxt) == ["b", "d"], "b lacks an operation that c has and nobody holds in memory"


def test_plan_next_prefers_a_later_epoch_to_a_higher_number() -> None:
    group = group_with(config(A, B, C), {B: (6, 9), C: (7, 2)})
    assert plan_next(group, [B, C, D], B.id, {A.id: None}).owner == C.id


def test_plan_next_never_lets_an_incomplete_member_lead() -> None:
    group = group_with(config(A, B, C, incomplete=(C,)), {B: (7, 1), C: (7, 9)})
    nxt = plan_next(group, [B, C, D], C.id, {A.id: None})
    assert nxt.owner == B.id
    assert "c" in missing(nxt)


def test_plan_next_keeps_a_lagging_member_complete_when_the_owner_still_has_its_operations() -> None:
    tenure = Tenure(0, 1, loaded=True)
    tenure.pending.append(Operation(3, 5, 1, b""))
    group = group_with(config(A, B, C), {A: (7, 5), B: (7, 3)}, tenure)
    assert missing(plan_next(group, [A, B, D], A.id, {C.id: None})) == ["d"]
    tenure.pending[0] = Operation(4, 5, 1, b"")
    assert missing(plan_next(group, [A, B, D], A.id, {C.id: None})) == ["b", "d"]


def test_plan_next_hands_over_only_when_all_wanted_are_level() -> None:
    level = group_with(config(A, B, C), {A: (7, 5), B: (7, 5), C: (7, 5)}, Tenure(0, 1, loaded=True))
    assert plan_next(level, [B, C], A.id, {}).owner == B.id
    uneven = group_with(config(A, B, C), {A: (7, 5), B: (7, 4), C: (7, 5)}, Tenure(0, 1, loaded=True))
    assert plan_next(uneven, [B, C], A.id, {}).owner == A.id


def test_plan_next_admits_a_member_that_lost_its_storage_under_its_new_token() -> None:
    group = group_with(config(A, B, C), {A: (7, 5), B: (7, 5)})
    group.gone[C.id] = 99
    nxt = plan_next(group, [A, B, C], A.id, {})
    assert {m.peer.name: m.token for m in nxt.members}["c"] == 99
    assert missing(nxt) == ["c"]


def test_plan_next_calls_a_filled_member_complete() -> None:
    tenure = Tenure(0, 1, loaded=True)
    filled: dict[BrokerId, None] = {C.id: None}
    tenure.whole = filled
    group = group_with(config(A, B, C, incomplete=(C,)), {A: (7, 5), B: (7, 5), C: (7, 5)}, tenure)
    nxt = plan_next(group, [A, B, C], A.id, {})
    assert missing(nxt) == []


def test_plan_next_of_an_ending_group_has_no_members() -> None:
    tenure = Tenure(0, 1, loaded=True, ending=True)
    group = group_with(config(A, B), {A: (7, 5), B: (7, 5)}, tenure)
    assert plan_next(group, [A, B], A.id, {}).members == ()
    tenure.pending.append(Operation(4, 5, 1, b""))
    assert plan_next(group, [A, B], A.id, {}).members, "what is on its way is not thrown away"


def test_plan_next_by_another_member_does_not_end_the_group() -> None:
    group = group_with(config(A, B), {A: (7, 5), B: (7, 5)})
    assert plan_next(group, [A, B], B.id, {}).members
