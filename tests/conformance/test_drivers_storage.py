"""One suite for every driver, second part: what it promises about storage."""

from __future__ import annotations

import pytest

from causeway.core.effects import Load, Persist, Send
from causeway.core.events import Loaded, Persisted, Received
from causeway.core.messages import Ping, Pong
from causeway.store.base import LOCAL, Delete, Put, Row
from tests.conformance.actors import Player, Stage

GROUP = b"g" * 16
SLOW_SECONDS = 0.03


def key(number: int, part: int = 0) -> bytes:
    return b"%04d/%02d" % (number, part)


def put(number: int, part: int = 0, value: bytes = b"v") -> Put:
    return Put(GROUP, key(number, part), number, value)


def load(token: int) -> Load:
    return Load(token, GROUP, b"", b"", 1 << 30)


def rows(stage: Stage, player: Player, token: int = 1_000_000) -> list[Row]:
    """Everything the storage holds now."""
    player.act(loads=[load(token)])
    stage.world.run_until(lambda: any(event.token == token for event in player.actor.events(Loaded)))
    page = next(event.page for event in player.actor.events(Loaded) if event.token == token)
    assert (page.corrupt, page.next) == ([], None)
    return page.rows


def tokens(player: Player) -> list[int]:
    return [event.token for event in player.actor.events(Persisted)]


@pytest.fixture(params=["disk", "memory"])
def durability(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_frames_that_wait_for_a_write_leave_when_it_is_durable_and_before_it_is_reported(
    stage: Stage, durability: str
) -> None:
    a, b = stage.player("a", durability, SLOW_SECONDS), stage.player("b")
    here, there = stage.connect(a, b)
    log: list[object] = []
    a.place.on_commit = lambda writes: log.append("durable")
    b.actor.on_event = lambda event: (
        log.extend(head for head, _ in event.messages) if isinstance(event, Received) else None
    )
    a.act(persists=[Persist([put(1)], [Send(here, Ping(1), b"one"), Send(here, Pong(2))], 7)])
    stage.world.run_until(lambda: tokens(a))
    # What the machine says on hearing of it comes behind what waited for it.
    a.say(here, 3)
    stage.world.run_until(lambda: len(b.actor.frames(there)) >= 3)
    assert log == ["durable", Ping(1), Pong(2), Ping(3)]
    assert b.actor.frames(there) == [(Ping(1), b"one"), (Pong(2), b""), (Ping(3), b"")]


def test_frames_of_the_same_turn_do_not_wait_for_the_disk(stage: Stage) -> None:
    a, b = stage.player("a", commit_seconds=0.5), stage.player("b")
    here, there = stage.connect(a, b)
    a.act(persists=[Persist([put(1)], [Send(here, Ping(2))], 1)], sends=[Send(here, Ping(1))])
    stage.world.run_until(lambda: b.actor.nonces(there))
    assert b.actor.nonces(there) == [1]
    assert tokens(a) == []
    stage.world.run_until(lambda: b.actor.nonces(there) == [1, 2])


def test_writes_are_reported_in_the_order_they_were_asked_for_whatever_their_size(
    stage: Stage, durability: str
) -> None:
    a, b = stage.player("a", durability), stage.player("b")
    here, there = stage.connect(a, b)
    expected: list[int] = []
    for turn in range(12):
        numbers = [turn * 10 + n for n in range(1, 4)]
        expected += numbers
        size = 100_000 if turn % 3 == 0 else 10
        persists = [Persist([put(n, value=bytes(size))], [Send(here, Ping(n))], n) for n in numbers]
        a.act(persists=persists, wait=turn % 2 == 0)
    stage.world.run_until(lambda: len(tokens(a)) >= len(expected))
    assert tokens(a) == expected
    stage.world.run_until(lambda: len(b.actor.nonces(there)) >= len(expected))
    assert b.actor.nonces(there) == expected
    assert [row.seq for row in rows(stage, a)] == expected


def test_writes_without_a_token_are_done_and_not_reported(stage: Stage, durability: str) -> None:
    a, b = stage.player("a", durability), stage.player("b")
    here, there = stage.connect(a, b)
    a.act(persists=[Persist([put(1)]), Persist([put(2)], [Send(here, Ping(2))]), Persist([put(3)], (), 5)])
    stage.world.run_until(lambda: tokens(a))
    assert tokens(a) == [5]
    stage.world.run_until(lambda: b.actor.nonces(there) == [2])
    a.act(persists=[Persist([put(4)], [Send(here, Ping(4))])])
    stage.world.run_until(lambda: b.actor.nonces(there) == [2, 4])
    assert a.since()[1] == []
    assert [row.seq for row in rows(stage, a)] == [1, 2, 3, 4]


def test_load_sees_every_write_asked_for_before_it_and_none_after(stage: Stage, durability: str) -> None:
    a = stage.player("a", durability, SLOW_SECONDS / 10)
    for number in range(1, 9):
        a.act(persists=[Persist([put(number)], (), number)], loads=[load(number)])
    stage.world.run_until(lambda: len(a.actor.events(Loaded)) >= 8)
    seen = {event.token: [row.seq for row in event.page.rows] for event in a.actor.events(Loaded)}
    assert seen == {number: list(range(1, number + 1)) for number in range(1, 9)}


def test_load_between_two_turns_of_writes_sees_the_first_only(stage: Stage) -> None:
    a = stage.player("a", commit_seconds=SLOW_SECONDS)
    a.act(persists=[Persist([put(1)], (), 1)])
    a.act(loads=[load(10)])
    a.act(persists=[Persist([put(2), Delete(GROUP, key(1))], (), 2)])
    stage.world.run_until(lambda: len(tokens(a)) == 2)
    (loaded,) = a.actor.events(Loaded)
    assert loaded.page.rows == [Row(key(1), 1, b"v")]
    assert rows(stage, a) == [Row(key(2), 2, b"v")]


def test_confirmed_rows_and_the_storages_id_survive_a_crash(stage: Stage) -> None:
    a, b = stage.player("a"), stage.player("b")
    assert a.actor.me is not None
    assert b.actor.me is not None
    identity = a.actor.me.store
    assert identity != b.actor.me.store
    for life in range(1, 4):
        writes = [put(life, value=b"life %d" % life), Put(LOCAL, b"last", life, b"")]
        a.act(persists=[Persist(writes, (), life)])
        stage.world.run_until(lambda: tokens(a))
        a.crash()
        a.start()
        assert a.actor.me is not None
        assert a.actor.me.store == identity
        assert [row.value for row in rows(stage, a)] == [b"life %d" % n for n in range(1, life + 1)]


@pytest.mark.parametrize("confirmed", [0, 1, 7, 20])
def test_crash_keeps_each_write_whole_or_not_at_all_and_none_without_those_before_it(
    stage: Stage, confirmed: int
) -> None:
    parts = 8
    a = stage.player("a")
    for number in range(1, confirmed + 6):
        writes = [put(number, part, bytes(5000)) for part in range(parts)]
        a.act(persists=[Persist(writes, (), number)])
        stage.world.run_until(lambda number=number: len(tokens(a)) >= min(number, confirmed))
    known = len(tokens(a))
    assert known >= confirmed
    a.crash()
    a.start()
    found: dict[int, int] = {}
    for row in rows(stage, a):
        assert len(row.value) == 5000
        found[row.seq] = found.get(row.seq, 0) + 1
    assert set(found.values()) <= {parts}
    assert sorted(found) == list(range(1, len(found) + 1))
    assert len(found) >= known


def test_machine_hears_nothing_of_what_its_earlier_life_asked_for(stage: Stage) -> None:
    a, b = stage.player("a", commit_seconds=0.5), stage.player("b")
    here, there = stage.connect(a, b)
    a.act(persists=[Persist([put(1)], [Send(here, Ping(1))], 1)], loads=[load(2)])
    a.crash()
    a.start()
    # The actor of a new life has asked for nothing: it complains of any answer.
    assert [row.seq for row in rows(stage, a, 50)] in ([], [1])
    side, _ = stage.connect(a, b)
    stage.rounds(a, side)
    assert b.actor.nonces(there) == []
