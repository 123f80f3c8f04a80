"""Every broker is a locator: what it knows of the others, how it answers, and what it does when it is full."""

from __future__ import annotations

from causeway.core.links.locator import DEAD_NAMED_FOR, NEWS_PAUSE
from causeway.core.links.pulse import LINK_IDLE
from causeway.core.messages import PROTOCOL_VERSION, Burden, Candidate, Goodbye, Hail, Hello, Locate, Located, Ping
from causeway.errors import Code
from causeway.limits import CANDIDATES_MAX, CONNECTIONS_MAX
from causeway.types import MILLISECOND, SECOND
from tests.unit.core.links.wire import Station, Wire, peer_named

HAIL = Hail(active=True, wants_reply=False)


def client(station: Station, remote: str = "", name: str = "app") -> int:
    """A client of this station; its connection."""
    station.inbound += 2
    conn = station.inbound
    station.run(lambda turn: station.links.on_opened(turn, conn, remote))
    station.receive(conn, Hello(PROTOCOL_VERSION, name, 1))
    return conn


def ask(station: Station, conn: int, **question: object) -> list[Candidate]:
    station.receive(conn, Locate(5, **question))  # type: ignore[arg-type]
    located = station.said(conn)[-1]
    assert isinstance(located, Located)
    assert located.token == 5
    return list(located.candidates)


def named(found: list[Candidate]) -> list[str]:
    return [one.peer.name for one in found]


def connected(wire: Wire, *names: str, **config: object) -> list[Station]:
    """Brokers that are all linked, and ready."""
    stations = [wire.add(name, **config) for name in names]
    for station in stations:
        station.links.ready = True
        for other in stations:
            station.links.learn(other.peer)
    for station in stations:
        for other in stations:
            if other is not station:
                station.send(other, HAIL)
    wire.settle()
    return stations


def test_every_broker_answers_with_all_it_is_linked_to() -> None:
    stations = connected(Wire(), "ash", "beech", "cedar")
    for station in stations:
        found = ask(station, client(station))
        assert sorted(named(found)) == ["ash", "beech", "cedar"]
        assert all(one.alive and one.ready and one.score > 0 for one in found)
        assert [one.distance for one in found if one.peer == station.peer] == [0]


def test_broker_that_has_just_joined_is_the_best_candidate_at_once() -> None:
    wire = Wire()
    ash, beech = connected(wire, "ash", "beech")
    conn = client(ash)
    client(beech)
    wire.pass_time(SECOND)
    new = wire.add("new")
    new.links.ready = True
    new.links.learn(ash.peer)
    new.send(ash, HAIL)
    wire.settle()
    assert named(ask(ash, conn))[0] == "new", "its greeting said all there is to know"


def test_broker_that_is_still_joining_is_no_choice_until_it_is_ready() -> None:
    wire = Wire()
    (ash,) = connected(wire, "ash")
    conn = client(ash)
    new = wire.add("new")
    new.links.learn(ash.peer)
    new.links.pin(ash.peer.id)
    new.send(ash, HAIL)
    wire.settle()
    (_, joining) = ask(ash, conn)
    assert (joining.peer.name, joining.ready, joining.score) == ("new", False, 0)
    new.links.ready = True
    wire.pass_time(2 * new.config.heartbeat)
    assert named(ask(ash, conn))[0] == "new"


def test_connections_of_others_are_known_within_a_heartbeat_or_two() -> None:
    wire = Wire()
    ash, beech = connected(wire, "ash", "beech")
    conn = client(ash)
    for _ in range(7):
        client(beech)
    wire.pass_time(2 * ash.config.heartbeat)
    assert {one.peer.name: one.connections for one in ask(ash, conn)} == {"ash": 1, "beech": 7}


def test_burden_is_told_on_a_link_too_busy_for_signs_of_life_but_not_all_the_time() -> None:
    wire = Wire()
    ash, beech = connected(wire, "ash", "beech")
    conn = client(ash)
    wire.pass_time(SECOND)
    ash.sent.clear()
    beech.sent.clear()
    for _ in range(40):
        client(beech)
        ash.send(beech, HAIL)
        beech.send(ash, HAIL)
        wire.pass_time(80 * MILLISECOND)
    pings = [head for _, head in beech.sent if isinstance(head, Ping) and head.burden is not None]
    assert 2 <= len(pings) <= 40 * 80 * MILLISECOND // NEWS_PAUSE + 1
    (there,) = [one for one in ask(ash, conn) if one.peer == beech.peer]
    assert there.connections >= 20


def test_dead_broker_is_named_as_dead_and_never_chosen() -> None:
    wire = Wire()
    ash, beech, cedar = connected(wire, "ash", "beech", "cedar")
    conn = client(ash)
    wire.crash(beech)
    wire.settle()
    found = ask(ash, conn)
    assert (found[-1].peer, found[-1].alive, found[-1].score) == (beech.peer, False, 0)
    wire.crash(cedar, told=False)
    wire.now += ash.config.silence + 1
    assert {one.peer.name: one.alive for one in ask(ash, conn)} == {"ash": True, "beech": False, "cedar": False}


def test_broker_that_has_been_gone_for_long_is_not_spoken_of() -> None:
    wire = Wire()
    ash, beech = connected(wire, "ash", "beech")
    conn = client(ash)
    wire.crash(beech)
    wire.settle()
    wire.now += DEAD_NAMED_FOR
    assert named(ask(ash, conn)) == ["ash"]


def test_broker_whose_link_sleeps_is_not_called_dead() -> None:
    wire = Wire()
    ash, beech = connected(wire, "ash", "beech")
    wire.pass_time(LINK_IDLE + SECOND)
    conn = client(ash)
    assert named(ask(ash, conn)) == ["ash"]
    ash.send(beech, HAIL)
    wire.settle()
    assert sorted(named(ask(ash, conn))) == ["ash", "beech"]


def test_brokers_the_client_could_not_reach_are_left_out() -> None:
    ash, beech, cedar = connected(Wire(), "ash", "beech", "cedar")
    found = ask(ash, client(ash), exclude=(beech.peer.id,))
    assert sorted(named(found)) == ["ash", cedar.peer.name]


def test_round_trips_measured_by_the_client_count_instead_of_estimates() -> None:
    ash, beech, cedar = connected(Wire(), "ash", "beech", "cedar")
    trips = ((beech.peer.id, 50 * MILLISECOND), (cedar.peer.id, MILLISECOND), (ash.peer.id, -5))
    found = {one.peer.name: one for one in ask(ash, client(ash), round_trips=trips)}
    assert (found["beech"].round_trip, found["beech"].measured) == (50 * MILLISECOND, True)
    assert found["cedar"].nearness > found["beech"].nearness
    assert not found["ash"].measured, "a negative one was not measured"


def test_client_is_sent_to_the_broker_on_its_own_host() -> None:
    ash, _, _ = connected(Wire(), "ash", "beech", "cedar")
    assert named(ask(ash, client(ash, remote="cedar")))[0] == "cedar"


def test_distance_between_brokers_is_what_the_links_measure() -> None:
    wire = Wire()
    ash, beech = wire.pair()
    ash.send(beech, HAIL)
    while waiting := wire.waiting():
        wire.now += 3 * MILLISECOND
        wire.step(waiting[0])
    found = {one.peer.name: one.distance for one in ask(ash, client(ash))}
    assert found == {ash.peer.name: 0, beech.peer.name: ash.links.round_trip(beech.peer.id)}


def test_answer_is_bounded_and_always_holds_the_one_that_answers() -> None:
    wire = Wire()
    (ash,) = connected(wire, "ash")
    conn = client(ash)
    for number in range(CANDIDATES_MAX + 5):
        new = wire.add(f"new-{number}")
        new.links.ready = True
        new.links.learn(ash.peer)
        new.send(ash, HAIL)
    wire.settle()
    found = ask(ash, conn)
    assert len(found) == CANDIDATES_MAX
    assert ash.peer.name in named(found)


def test_burden_that_makes_no_sense_is_not_kept() -> None:
    wire = Wire()
    ash, beech = connected(wire, "ash", "beech")
    conn = client(ash)
    before = ask(ash, conn)
    link = next(conn for conn in (1, 2) if conn in ash.out)
    for nonsense in (
        Burden(-1, 10, 1000),
        Burden(0, 0, 1000),
        Burden(0, 10, 0),
        Burden(0, CONNECTIONS_MAX + 1, 1000),
        Burden(1 << 63, 10, 1000),
        Burden(0, 10, 1 << 63),
    ):
        ash.receive(link, Ping(1, burden=nonsense))
        assert ask(ash, conn) == before
    assert beech.peer.name in named(before)


def test_broker_at_its_limit_refuses_one_more_client_and_names_where_to_go() -> None:
    wire = Wire()
    ash, _ = connected(wire, "ash", "beech", connections_max=2)
    kept = [client(ash) for _ in range(2)]
    refused = client(ash)
    goodbye = ash.said(refused)[-1]
    assert isinstance(goodbye, Goodbye)
    assert goodbye.code == Code.OVERLOADED
    assert goodbye.others == (peer_named("beech"),)
    assert "connections_max" in goodbye.detail
    assert "beech at beech:7000" in goodbye.detail
    assert refused in ash.closes
    assert ash.links.clients() == kept

    ash.run(lambda turn: ash.links.on_closed(turn, kept[0]))
    again = client(ash)
    assert again in ash.links.clients()


def test_brokers_are_let_in_by_a_broker_that_is_full_of_clients() -> None:
    wire = Wire()
    (ash,) = connected(wire, "ash", connections_max=1)
    client(ash)
    new = wire.add("new")
    new.links.learn(ash.peer)
    new.send(ash, HAIL)
    wire.settle()
    assert ash.links.is_up(new.peer.id)


def test_full_brokers_are_not_named_as_places_to_go() -> None:
    wire = Wire()
    ash, beech = connected(wire, "ash", "beech", connections_max=1)
    client(ash)
    client(beech)
    wire.pass_time(SECOND)
    goodbye = ash.said(client(ash))[-1]
    assert isinstance(goodbye, Goodbye)
    assert goodbye.others == ()
    assert "another broker" in goodbye.detail
