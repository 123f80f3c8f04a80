"""What a broker believes: what it heard itself, never what others say; and nothing that is malformed."""

from __future__ import annotations

import pytest

from causeway.core.machine import Turn
from causeway.core.messages import (
    Hail,
    JoinDenied,
    JoinReply,
    JoinRequest,
    Leave,
    Leaves,
    Message,
    RowReply,
    RowRequest,
)
from causeway.types import SECOND, BrokerId, Key, Peer, key_of
from tests.unit.core.overlay.ringworld import Broker, World


def ghost(name: str, *, store: int = 1) -> Peer:
    """A broker that somebody talks about and that does not exist."""
    return Peer(key_of(name), name, f"nowhere-{name}", 7000, store)


def settled(count: int = 5, seed: int = 1) -> World:
    world = World(seed)
    world.grow(count)
    world.run_until(world.leaf_sets_are_right, 5 * SECOND)
    return world


def tell(broker: Broker, sender: Peer, head: Message) -> None:
    broker.turn(lambda turn: broker.overlay.on_message(turn, sender, head))


def leaf_names(broker: Broker) -> set[str]:
    return {peer.name for peer in broker.overlay.leaf_set()}


def test_broker_that_only_others_talk_about_never_enters_a_table() -> None:
    world = settled()
    target, sender = world.brokers["broker-0"], world.brokers["broker-1"]
    before = leaf_names(target)
    gossip = tuple(ghost(f"ghost-{number}") for number in range(10))
    tell(target, sender.peer, Leaves(True, False, gossip, gossip))
    tell(target, sender.peer, RowReply(0, gossip))
    tell(target, sender.peer, JoinReply(0, target.overlay.cluster, gossip, gossip, gossip, gossip))
    for _ in range(20):
        world.run(SECOND // 4)
        assert leaf_names(target) == before
        assert not any(target.overlay.next_hop(Key(peer.id)) == peer.id for peer in gossip)
    assert target.overlay.statistics().missing == 0, "who was never there is not missed"


BAD = Peer(BrokerId(b"short"), "bad", "bad", 1, 1)


@pytest.mark.parametrize(
    "head",
    [
        Leaves(False, True, (BAD,), (BAD,)),
        RowReply(0, (BAD,) * 100),
        RowRequest(-1),
        RowRequest(10**9),
        JoinRequest(BAD, 1),
        JoinRequest(ghost("far"), 1, hops=10**6),
        JoinReply(0, "", (BAD,), (BAD,), (BAD,), (BAD,)),
        JoinDenied(10**9),
        Leave((BAD,)),
        Hail(active=False, wants_reply=True),
    ],
)
@pytest.mark.parametrize("active", [True, False])
def test_malformed_words_change_nothing(head: Message, active: bool) -> None:
    world = settled()
    sender = ghost("sender")
    target = world.brokers["broker-0"] if active else world.add("waiting", seeds=(("nowhere", 7000),))
    before = leaf_names(target)
    tell(target, sender, head)
    world.run(3 * SECOND)
    assert leaf_names(target) == before
    assert target.overlay.active is active


def test_own_name_in_the_words_of_others_is_ignored() -> None:
    world = settled()
    target, sender = world.brokers["broker-0"], world.brokers["broker-1"]
    me = target.peer
    tell(target, sender.peer, Leaves(True, True, (me,), (me,)))
    tell(target, sender.peer, JoinRequest(me, 1))
    tell(target, sender.peer, RowReply(0, (me,)))
    world.run(SECOND)
    assert me.name not in leaf_names(target)
    assert target.overlay.next_hop(Key(me.id)) is None


def test_late_word_that_a_broker_is_joining_does_not_remove_an_active_one() -> None:
    world = settled()
    target, other = world.brokers["broker-0"], world.brokers["broker-1"]
    tell(target, other.peer, Leaves(False, False, (), ()))
    assert "broker-1" in leaf_names(target)


def test_failed_broker_is_not_believed_in_for_a_while_unless_its_store_is_new() -> None:
    world = settled()
    target, friend = world.brokers["broker-0"], world.brokers["broker-1"]
    victim = world.brokers["broker-2"].peer
    world.kill("broker-2")
    world.run(SECOND // 10)
    before = world.dials.get("broker-0", 0)
    tell(target, friend.peer, Leaves(True, False, (victim,), ()))
    assert world.dials.get("broker-0", 0) == before
    tell(target, friend.peer, Leaves(True, False, (Peer(victim.id, victim.name, "elsewhere", 7000, 99),), ()))
    world.run(SECOND)
    assert world.dials["broker-0"] > before


def test_gap_left_by_a_leaf_is_asked_about_at_the_end_of_its_side() -> None:
    world = settled(30)
    target = world.brokers["broker-0"]
    leaves = target.overlay.leaf_set()
    for victim, farthest in ((leaves[2], leaves[7]), (leaves[13], leaves[8])):
        turn = Turn(world.now)
        target.overlay.on_peer_down(turn, victim)
        asked = [send.conn for send in turn.effects.sends if isinstance(send.head, Leaves) and send.head.wants_reply]
        assert target.links.conn_of(farthest.id) in asked


def test_lost_routing_entry_is_asked_for_in_its_own_row() -> None:
    world = settled(40)
    target = world.brokers["broker-0"]
    first = target.id[0] >> 4
    leaves = {peer.id for peer in target.overlay.leaf_set()}
    lost = next(
        broker.peer
        for broker in world.alive()
        if broker.id not in leaves and broker.id[0] >> 4 != first
        if target.overlay.next_hop(Key(broker.id)) == broker.id
    )
    turn = Turn(world.now)
    target.overlay.on_peer_down(turn, lost)
    asked = [send.head for send in turn.effects.sends if isinstance(send.head, RowRequest)]
    assert asked == [RowRequest(0)] * 2
    assert target.overlay.next_hop(Key(lost.id)) != lost.id


def test_answer_to_an_older_question_does_not_end_a_probe() -> None:
    world = World(1)
    world.add("broker-0", founder=True)
    joiner = world.add("joiner", begin=False, seeds=(("broker-0", 7000),))
    peer = world.brokers["broker-0"].peer
    joiner.begin([peer])
    tell(joiner, peer, JoinReply(1, "c0ffee", (peer,), (), (), ()))
    tell(joiner, peer, Leaves(True, False, (), (), token=0))
    assert not joiner.overlay.active, "that was not the answer to our question"
    assert leaf_names(joiner) == {"broker-0"}
    tell(joiner, peer, Leaves(True, False, (), (), token=1))
    assert joiner.overlay.active


def test_joiners_told_of_by_name_are_bounded() -> None:
    world = settled()
    target = world.brokers["broker-0"]
    for number in range(40):
        tell(target, ghost(f"joiner-{number}"), Leaves(False, False, (), ()))
    assert target.overlay.statistics().joining == 16
    world.run(20 * SECOND)
    assert target.overlay.statistics().joining == 0, "those who never answer are forgotten"
