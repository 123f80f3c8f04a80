"""The ring places groups by seats: who took another's seat stands in its place, who has none in no place."""

from __future__ import annotations

import random
from functools import partial

import pytest

from causeway.types import SECOND, Key, key_of
from tests.unit.core.overlay.ringworld import World, circle_distance

COUNT = 10


def settled() -> World:
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
    world = settled()
    hold(world, **{name.replace("-", "_"): held for name, held in seats.items()})
    rng = random.Random(3)
    for _ in range(60):
        key = Key(rng.randbytes(16))
        want = expected(world, key, 3, seats)
        assert {tuple(chosen(world, name, key)) for name in world.brokers} == {tuple(want)}


def test_spare_takes_the_place_of_a_broker_that_died() -> None:
    world = settled()
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
    world = settled()
    key = key_of("box")
    before = chosen(world, "broker-0", key)
    hold(world, **{f"broker_{number}": () for number in range(COUNT)})
    assert chosen(world, "broker-0", key) == before


def test_broker_that_cannot_be_reached_is_in_no_place() -> None:
    world = settled()
    hold(world, broker_9=("broker-2",), broker_2=())
    world.kill("broker-9")
    world.run(3 * SECOND)
    assert "broker-9" not in chosen(world, "broker-0", key_of("broker-2"), 9)
