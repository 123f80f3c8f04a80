"""Seats: who took another one stands in its place, who has none in no place; and those around it know."""

from __future__ import annotations

import random
from functools import partial

import pytest

from causeway.core.links.pulse import LINK_IDLE
from causeway.core.machine import Turn
from causeway.core.messages import JoinReply
from causeway.types import SECOND, BrokerId, Key, Peer, key_of
from tests.unit.core.overlay.ringworld import Broker, World, circle_distance

COUNT = 10


def ten_brokers() -> World:
    world = World(5)
    world.grow(COUNT)
    world.run_until(world.leaf_sets_are_right, 10 * SECOND)
    return world


def hold(world: World, **seats: tuple[str, ...]) -> None:
    """Brokers hold these seats, and all have heard so."""
    for name, held in seats.items():
        broker = world.brokers[name.replace("_", "-")]
        broker.turn(partial(broker.links.hold_seats, seats=held))
    world.run(2 * SECOND)


def expected(world: World, key: Key, count: int, seats: dict[str, tuple[str, ...]]) -> list[str]:
    """By brute force: every living broker at the nearest of its seats."""
    held = {broker.peer.name: seats.get(broker.peer.name, (broker.peer.name,)) for broker in world.alive()}
    apart = {
        name: min(circle_distance(key_of(seat), key) for seat in places) for name, places in held.items() if places
    }
    return sorted(apart, key=lambda name: (apart[name], key_of(name)))[:count]


def chosen(world: World, by: str, key: Key, count: int = 3) -> list[str]:
    return [peer.name for peer in world.brokers[by].overlay.replica_group(key, count)]


@pytest.mark.parametrize(
    "seats",
    [
        {"broker-9": (), "broker-8": ()},
        {"broker-9": ("broker-2",), "broker-2": ()},
        {"broker-9": ("broker-9", "broker-2", "broker-3"), "broker-2": (), "broker-3": ()},
        {"broker-9": ("gone",), "broker-8": ()},
    ],
    ids=["spares", "taken", "several", "of-a-dead-broker"],
)
def test_all_brokers_agree_with_brute_force(seats: dict[str, tuple[str, ...]]) -> None:
    world = ten_brokers()
    hold(world, **{name.replace("-", "_"): held for name, held in seats.items()})
    rng = random.Random(3)
    for _ in range(60):
        key = Key(rng.randbytes(16))
        want = expected(world, key, 3, seats)
        assert {tuple(chosen(world, name, key)) for name in world.brokers} == {tuple(want)}


def test_spare_takes_the_place_of_a_broker_that_died() -> None:
    world = ten_brokers()
    hold(world, broker_9=())
    key = key_of("broker-4")
    before = chosen(world, "broker-0", key)
    assert before[0] == "broker-4"
    world.kill("broker-4")
    world.run(3 * SECOND)
    assert chosen(world, "broker-0", key)[:2] == before[1:]
    hold(world, broker_9=("broker-4",))
    assert chosen(world, "broker-0", key) == ["broker-9", *before[1:]]


def test_where_nobody_has_a_seat_groups_lie_where_they_always_did() -> None:
    world = ten_brokers()
    key = key_of("box")
    before = chosen(world, "broker-0", key)
    hold(world, **{f"broker_{number}": () for number in range(COUNT)})
    assert chosen(world, "broker-0", key) == before


def test_broker_that_cannot_be_reached_is_in_no_place() -> None:
    world = ten_brokers()
    hold(world, broker_9=("broker-2",), broker_2=())
    world.kill("broker-9")
    world.run(3 * SECOND)
    assert "broker-9" not in chosen(world, "broker-0", key_of("broker-2"), 9)


def forty_brokers_long_ago() -> World:
    """So many that leaf sets see less than half of them, and so old that links of their joins have ended."""
    world = World(6)
    world.grow(40)
    world.run_until(world.leaf_sets_are_right, 10 * SECOND)
    world.run(2 * LINK_IDLE)
    return world


def stranger(world: World, to: str) -> str:
    """The broker at the other side of the ring, in nobody's leaf set around here."""
    ring = sorted((broker.peer.name for broker in world.alive()), key=key_of)
    return ring[(ring.index(to) + len(ring) // 2) % len(ring)]


def assert_agreed(world: World, near: str, seats: dict[str, tuple[str, ...]]) -> None:
    """Whoever should hold a key near there chooses the same brokers for it as brute force does."""
    rng = random.Random(near)
    for _ in range(40):
        bits = int.from_bytes(key_of(near), "big") ^ rng.getrandbits(122)
        key = Key(bits.to_bytes(16, "big"))
        want = expected(world, key, 3, seats)
        assert {tuple(chosen(world, name, key)) for name in want} == {tuple(want)}


def test_seat_of_a_broker_far_away_is_seen_by_all_around_it() -> None:
    world = forty_brokers_long_ago()
    spare = stranger(world, "broker-4")
    world.kill("broker-4")
    world.run(3 * SECOND)
    hold(world, **{spare.replace("-", "_"): ("broker-4",)})
    assert chosen(world, spare, key_of("broker-4"))[0] == spare
    assert_agreed(world, "broker-4", {spare: ("broker-4",)})
    # Whoever comes later is found, and whoever goes is missed.
    joined = world.add("broker-40", seeds=(("broker-0", 7000),))
    world.run_until(world.all_active, 10 * SECOND)
    world.kill(chosen(world, spare, key_of("broker-4"))[1])
    world.run(10 * SECOND)
    assert_agreed(world, "broker-4", {spare: ("broker-4",)})
    assert_agreed(world, joined.peer.name, {spare: ("broker-4",)})


def test_two_that_hold_seats_side_by_side_see_each_other() -> None:
    world = forty_brokers_long_ago()
    around = sorted(world.brokers, key=key_of)
    first, second = around[10], around[11]
    spares = []
    for seat in (first, second):
        spares.append(stranger(world, seat))
        world.kill(seat)
        world.run(3 * SECOND)
        hold(world, **{spares[-1].replace("-", "_"): (seat,)})
    world.run(6 * SECOND)
    seats = {spares[0]: (first,), spares[1]: (second,)}
    assert_agreed(world, first, seats)
    assert_agreed(world, second, seats)


def test_seat_that_is_given_back_keeps_no_links() -> None:
    world = forty_brokers_long_ago()
    spare = world.brokers[stranger(world, "broker-4")]
    before = {peer.name for peer in spare.links.up()}
    world.kill("broker-4")
    hold(world, **{spare.peer.name.replace("-", "_"): ("broker-4",)})
    assert len(spare.links.up()) > len(before) + 8
    hold(world, **{spare.peer.name.replace("-", "_"): (spare.peer.name,)})
    world.run(2 * LINK_IDLE)
    assert len(spare.links.up()) <= len(before) + 4


def seated_far_away() -> tuple[World, Broker]:
    """A broker has taken the seat of one at the other side of the ring, and knows who is there."""
    world = forty_brokers_long_ago()
    spare = world.brokers[stranger(world, "broker-4")]
    world.kill("broker-4")
    world.run(3 * SECOND)
    hold(world, **{spare.peer.name.replace("-", "_"): ("broker-4",)})
    return world, spare


def test_groups_hear_of_whoever_comes_into_view_also_when_its_link_only_slept() -> None:
    world = forty_brokers_long_ago()
    spare = world.brokers[stranger(world, "broker-4")]
    around = [world.brokers[name] for name in expected(world, key_of("broker-4"), 4, {})[1:]]
    for other in around:  # met once, and let go of since
        spare.turn(partial(spare.overlay._roster.hail, peer=other.peer))
    world.run_until(lambda: not any(spare.links.is_up(other.id) for other in around), 10 * LINK_IDLE)
    world.kill("broker-4")
    world.run(3 * SECOND)
    seen: list[list[str]] = []
    told = spare.overlay.on_membership_changed

    def look(turn: Turn) -> None:
        told(turn)
        seen.append(chosen(world, spare.peer.name, key_of("broker-4")))

    spare.overlay.on_membership_changed = look  # type: ignore[method-assign]
    hold(world, **{spare.peer.name.replace("-", "_"): ("broker-4",)})
    assert seen[-1] == chosen(world, spare.peer.name, key_of("broker-4"))
    assert seen[-1] == expected(world, key_of("broker-4"), 3, {spare.peer.name: ("broker-4",)})


def test_broker_that_leaves_is_at_once_no_longer_around_a_seat() -> None:
    world, spare = seated_far_away()
    leaving = world.brokers[chosen(world, spare.peer.name, key_of("broker-4"))[1]]
    leaving.turn(leaving.overlay.leave)
    world.run(SECOND)
    assert spare.links.is_up(leaving.id), "it hands over what it holds"
    assert leaving.peer.name not in chosen(world, spare.peer.name, key_of("broker-4"), 9)
    world.run(6 * SECOND)
    assert leaving.peer.name not in chosen(world, spare.peer.name, key_of("broker-4"), 9)


def test_names_of_brokers_that_are_not_there_displace_nobody_around_a_seat() -> None:
    world, spare = seated_far_away()
    before = chosen(world, spare.peer.name, key_of("broker-4"))
    (vicinity,) = spare.overlay._vicinities._around.values()
    invented = tuple(Peer(BrokerId(key_of("broker-4")[:15] + bytes([n])), f"x{n}", f"x{n}", 7000, 1) for n in range(16))
    near = tuple(vicinity.named[broker] for broker in vicinity.near)[:3]
    reply = JoinReply(vicinity.asked, "", (*invented, *near), (), (), (), key_of("broker-4"))
    spare.turn(lambda turn: spare.overlay.on_message(turn, near[0], reply))
    world.run(SECOND)
    assert chosen(world, spare.peer.name, key_of("broker-4")) == before
    world.run(12 * SECOND)
    assert not any(peer.id in vicinity.named for peer in invented), "the next answer names them no more"


@pytest.mark.parametrize(("late", "place"), [(1, key_of("broker-4")), (0, key_of("broker-5")), (0, b"short")])
def test_answers_that_are_late_or_were_not_asked_for_change_nothing(late: int, place: bytes) -> None:
    world, spare = seated_far_away()
    (vicinity,) = spare.overlay._vicinities._around.values()
    named, leaves = dict(vicinity.named), spare.overlay.leaf_set()
    reply = JoinReply(vicinity.asked - late, "", (world.brokers["broker-0"].peer,), (), (), (), place)
    spare.turn(lambda turn: spare.overlay.on_message(turn, world.brokers["broker-0"].peer, reply))
    assert (vicinity.named, spare.overlay.leaf_set()) == (named, leaves)


def test_answer_about_a_seat_does_not_let_anybody_in() -> None:
    world = World(3)
    alone = world.add("broker-0")
    member = world.add("broker-1", founder=True)
    reply = JoinReply(1, "another", (member.peer,), (), (), (), key_of("broker-0"))
    alone.turn(lambda turn: alone.overlay.on_message(turn, member.peer, reply))
    assert (alone.overlay.cluster, alone.overlay.statistics().phase) == ("", "seeking")
