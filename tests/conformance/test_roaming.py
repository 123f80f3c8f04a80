"""One suite for every driver, fourth part: real clients find a broker, move to a better one and miss nothing."""

from __future__ import annotations

import pytest

from causeway.types import MILLISECOND, ServiceClass
from tests.conformance.applications import App, Ring
from tests.conformance.worlds import World

RESTLESS = {"locate_every": 200 * MILLISECOND, "move_pause": 200 * MILLISECOND}
"""Settings of a client that looks for something better all the time."""

WEAK = 20
"""Capability of brokers on which every single connection weighs."""


@pytest.fixture
def ring(world: World) -> Ring:
    return Ring(world, capability=WEAK)


def home_of(app: App) -> str:
    home = app.session.home
    return "" if home is None else home.name


def settled_at(ring: Ring, name: str, app: App) -> None:
    ring.world.run_until(lambda: home_of(app) == name)


def crowd(ring: Ring, broker: str, count: int = 4) -> list[App]:
    """Clients that stay where they are, all at one broker."""
    address = ring.places[broker].address
    staying = [App(ring, f"crowd-{number}", addresses=(address,), roam=False) for number in range(count)]
    for app in staying:
        settled_at(ring, broker, app)
    return staying


@pytest.mark.parametrize("service", [ServiceClass.RECOVERABLE, ServiceClass.TRANSACTIONAL, ServiceClass.EXPRESS])
def test_client_that_is_moved_while_it_sends_and_receives_loses_and_doubles_nothing(
    ring: Ring, service: ServiceClass
) -> None:
    crowd(ring, "broker-1")
    seat = (ring.places["broker-1"].address,)
    sender = App(ring, "sender", addresses=seat, **RESTLESS)
    reader = App(ring, "reader", addresses=seat, **RESTLESS)
    reader.read("reader")
    settled_at(ring, "broker-1", sender)
    tickets = []
    sent: list[bytes] = []
    moved = False
    while len(sent) < 1000 or not moved:
        assert len(sent) < 100_000, "it never moved"
        bodies = [f"message {number}".encode() for number in range(len(sent), len(sent) + 20)]
        sent += bodies
        tickets += sender.send("reader", *bodies, service=service)
        arrived, home = len(reader.heard["reader"]), home_of(sender)
        ring.world.run_until(lambda arrived=arrived: len(reader.heard["reader"]) > arrived)
        moved = moved or home_of(sender) != home
    sender.acknowledged(tickets)
    ring.world.run_until(lambda: len(reader.heard["reader"]) >= len(sent))
    reader.wait_idle()
    heard = reader.heard["reader"]
    assert sorted(heard) == sorted(sent)
    if service == ServiceClass.TRANSACTIONAL:
        assert heard == sent


def test_new_broker_is_offered_at_once_and_taken(ring: Ring) -> None:
    for number in (1, 2, 3):
        crowd_name = f"broker-{number}"
        address = ring.places[crowd_name].address
        for seat in range(3):
            staying = App(ring, f"staying-{number}-{seat}", addresses=(address,), roam=False)
            settled_at(ring, crowd_name, staying)
    roamer = App(ring, "roamer", addresses=(ring.places["broker-1"].address,), **RESTLESS)
    ring.places["broker-4"] = ring.world.place("broker-4")
    ring.start("broker-4")
    settled_at(ring, "broker-4", roamer)
    roamer.send_all("roamer", b"from the new broker")
    roamer.read("roamer")
    ring.world.run_until(lambda: roamer.heard["roamer"] == [b"from the new broker"])


def test_loss_of_the_broker_a_client_has_moved_to_leads_to_another_one(ring: Ring) -> None:
    roamer = App(ring, "roamer", addresses=(ring.places["broker-1"].address,), **RESTLESS)
    crowd(ring, "broker-1")
    ring.world.run_until(lambda: home_of(roamer) in ("broker-2", "broker-3"))
    lost = home_of(roamer)
    ring.crash(lost)
    ring.world.run_until(lambda: home_of(roamer) not in ("", lost))
    roamer.send_all("roamer", b"still there")


def test_dead_seeds_are_passed_over(world: World) -> None:
    ring = Ring(world)
    app = App(ring, "app", addresses=(world.nowhere(), ring.places["broker-2"].address))
    settled_at(ring, "broker-2", app)


def test_client_refused_by_a_full_broker_goes_where_there_is_room(world: World) -> None:
    ring = Ring(world, connections_max=1)
    first = App(ring, "first", addresses=(ring.places["broker-1"].address,), roam=False)
    settled_at(ring, "broker-1", first)
    second = App(ring, "second", addresses=(ring.places["broker-1"].address,), roam=False)
    world.run_until(lambda: home_of(second) in ("broker-2", "broker-3"))
    assert home_of(first) == "broker-1"


def test_status_tells_connections_and_their_limit(world: World) -> None:
    ring = Ring(world, connections_max=7)
    app = App(ring, "app", addresses=(ring.places["broker-1"].address,), roam=False)
    settled_at(ring, "broker-1", app)
    found = ring.nodes()["broker-1"].statistics()
    assert (found["connections"], found["connections_max"]) == (1, 7)
