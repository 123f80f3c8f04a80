from __future__ import annotations

import random

from causeway.core.effects import Load, Persist
from causeway.core.events import Loaded, Persisted
from causeway.store.base import LOCAL, Delete, Put
from tests.unit.sim.fake_machines import act, make_disk, make_world, start

GROUP = bytes(range(16))


def put(key: bytes, value: bytes = b"v") -> Put:
    return Put(GROUP, key, 1, value)


def test_everything_submitted_during_a_commit_shares_the_next_one() -> None:
    world, disk = make_world(), make_disk(commit_ns=10_000_000)
    process, recorder = start(world, "a", disk=disk)
    for token in (1, 2, 3, 4):
        act(process, persists=[Persist([put(bytes([token]))], (), token)])
        world.run(world.now + 1_000_000)
    world.run(world.now + 100_000_000)
    assert disk.commits == 2
    assert recorder.events == [Persisted(1), Persisted(2), Persisted(3), Persisted(4)]


def test_load_sees_every_persist_submitted_before_it_and_none_after() -> None:
    world, disk = make_world(), make_disk(commit_ns=10_000_000)
    process, recorder = start(world, "a", disk=disk)
    act(process, persists=[Persist([put(b"a")])], loads=[Load(1, GROUP, b"", b"", 1000)])
    world.run(world.now)
    act(process, persists=[Persist([put(b"b")])])
    world.run(world.now + 100_000_000)
    loaded = [event for event in recorder.events if isinstance(event, Loaded)]
    assert [row.key for row in loaded[0].page.rows] == [b"a"]


def test_crash_keeps_or_loses_the_commit_in_progress_as_a_whole_and_loses_what_waits() -> None:
    outcomes = set()
    for seed in range(20):
        world, disk = make_world(), make_disk(seed, commit_ns=10_000_000)
        process, _ = start(world, "a", disk=disk)
        act(process, persists=[Persist([put(b"a"), put(b"b")])])
        world.run(world.now)
        act(process, persists=[Persist([put(b"c")])])
        world.run(world.now + 1_000_000)
        process.crash(noticed=True)
        world.run(world.now + 100_000_000)
        outcomes.add(tuple(row.key for row in disk.store.scan(GROUP, b"", b"", 1000).rows))
    assert outcomes == {(), (b"a", b"b")}


def test_memory_durability_is_immediate_but_told_in_a_later_turn() -> None:
    world, disk = make_world(), make_disk(instant=True)
    process, recorder = start(world, "a", disk=disk)
    world.run(0)
    act(process, persists=[Persist([put(b"a")], (), 1)])
    world.run(world.now + process.cost_turn)
    assert len(disk.store.scan(GROUP, b"", b"", 100).rows) == 1
    assert recorder.events == []
    world.run(world.now + 1_000_000)
    assert recorder.events == [Persisted(1)]


def test_rotten_row_is_reported_instead_of_returned_until_it_is_written_or_deleted() -> None:
    store = make_disk().store
    store.commit([put(b"a"), put(b"b"), Put(LOCAL, b"x", 0, b"")])
    spoiled = {store.rot(random.Random(seed), local=False) for seed in range(20)}
    assert spoiled == {(GROUP, b"a"), (GROUP, b"b")}
    page = store.scan(GROUP, b"", b"", 1000)
    assert page.rows == []
    assert page.corrupt == [b"a", b"b"]
    store.commit([put(b"a", b"good"), Delete(GROUP, b"b", b"c")])
    page = store.scan(GROUP, b"", b"", 1000)
    assert [row.value for row in page.rows] == [b"good"]
    assert page.corrupt == []


def test_slow_disk_takes_longer_until_the_spell_ends() -> None:
    world, disk = make_world(), make_disk(commit_ns=1_000_000)
    disk.slow_until, disk.slow_factor = 1_000_000_000, 100
    process, recorder = start(world, "a", disk=disk)
    act(process, persists=[Persist([put(b"a")], (), 1)])
    world.run(50_000_000)
    assert recorder.events == []
    world.run(200_000_000)
    assert recorder.events == [Persisted(1)]


def test_scan_ends_after_a_few_rows_and_says_where_to_go_on() -> None:
    store = make_disk().store
    store.commit([put(bytes([n])) for n in range(5)])
    store.page_rows = 2
    found: list[bytes] = []
    start: bytes | None = b""
    while start is not None:
        page = store.scan(GROUP, start, b"", 1000)
        assert len(page.rows) <= 2
        found += [row.key for row in page.rows]
        start = page.next
    assert found == [bytes([n]) for n in range(5)]


def test_load_takes_time_and_keeps_its_place_among_commits() -> None:
    world, disk = make_world(), make_disk(commit_ns=1_000_000)
    disk.read_ns = 50_000_000
    process, recorder = start(world, "a", disk=disk)
    act(process, persists=[Persist([put(b"a")], (), 1)], loads=[Load(2, GROUP, b"", b"", 1000)])
    world.run(world.now + 10_000_000)
    act(process, persists=[Persist([put(b"b")], (), 3)])
    world.run(world.now + 20_000_000)
    assert recorder.events == [Persisted(1)]
    world.run(world.now + 100_000_000)
    assert [type(event) for event in recorder.events] == [Persisted, Loaded, Persisted]
