"""The life of a broker: how it starts, what it answers by itself, and each way it ends."""

from __future__ import annotations

import random
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from causeway.config import BrokerConfig
from causeway.core.effects import Dial, Effects, Persist, Send
from causeway.core.events import Closed, DriverEvent, LeaveRequested, Opened, Persisted, Received
from causeway.core.messages import Goodbye, Ping, Pong, StoryReply, StoryRequest
from causeway.drivers.aio import broker as broker_module
from causeway.drivers.aio.broker import BrokerDriver
from causeway.drivers.aio.exits import Exit
from causeway.errors import Code, ConfigError, StoreCorrupt, StoreError
from causeway.store.base import LOCAL, Put, Store, Write
from causeway.store.disk import DiskStore
from causeway.store.memory import MemoryStore
from causeway.store.sqlite import FILE_NAME
from causeway.trace import Step, TraceRecord
from causeway.types import Peer, key_of
from tests.unit.drivers.aio.stage import Rule, StageMachine, dial, echo, wait_until

GROUP = b"g" * 16


class Hall:
    """A broker driver around a stage machine."""

    def __init__(self, store: Store | None = None, rule: Rule = echo, port: int = 0, **settings: Any) -> None:
        self.machine = StageMachine(rule)
        self.me: Peer | None = None
        self.incarnation = 0
        self.config: BrokerConfig | None = None
        config = BrokerConfig(name="hall", port=port, **{"founder": True, **settings})
        self.driver = BrokerDriver(config, store or MemoryStore(draw=lambda: 42), self._make_node)

    def _make_node(self, config: BrokerConfig, me: Peer, incarnation: int, rng: random.Random) -> StageMachine:
        assert config.name == "hall"
        assert isinstance(rng, random.Random)
        self.me, self.incarnation, self.config = me, incarnation, config
        return self.machine

    async def __aenter__(self) -> Hall:
        assert await self.driver.start() == self.me
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.driver.stop()

    @property
    def port(self) -> int:
        assert self.me is not None
        return self.me.port


def store_and_pong(event: DriverEvent, effects: Effects) -> None:
    for head, body in event.messages if isinstance(event, Received) else ():
        if isinstance(head, Ping):
            write = Put(GROUP, b"%d" % head.nonce, head.nonce, body)
            effects.persists.append(Persist([write], [Send(event.conn, Pong(head.nonce))], token=head.nonce))


async def test_node_is_made_with_its_address_storage_id_and_a_new_incarnation() -> None:
    async with Hall() as first:
        assert first.me == Peer(key_of("hall"), "hall", "127.0.0.1", first.port, 42)
        assert first.port > 0
    async with Hall() as second:
        assert second.incarnation > first.incarnation


async def test_first_turn_comes_without_any_event() -> None:
    async with Hall() as hall:
        await wait_until(lambda: hall.machine.turns)
        assert hall.machine.turns[0] == []


async def test_capability_is_measured_unless_it_is_set() -> None:
    async with Hall() as hall:
        assert hall.config is not None
        assert hall.config.capability > 0
    async with Hall(capability=77) as hall:
        assert hall.config is not None
        assert hall.config.capability == 77


async def test_inbound_connections_have_even_numbers() -> None:
    async with Hall() as hall:
        wires = [await dial(hall.port) for _ in range(3)]
        await wait_until(lambda: len(hall.machine.events(Opened)) == 3)
        opened = sorted((event.conn, event.remote) for event in hall.machine.events(Opened))
        assert opened == [(2, "127.0.0.1"), (4, "127.0.0.1"), (6, "127.0.0.1")]
        for wire in wires:
            await wire.close()


async def test_answers_leave_only_after_the_disk_has_the_write(tmp_path: Path) -> None:
    store = DiskStore(tmp_path / "data")
    async with Hall(store, store_and_pong) as hall:
        wire = await dial(hall.port)
        for number in range(1, 20):
            wire.send(Ping(number), b"kept")
            assert await wire.receive() == (Pong(number), b"")
        await wait_until(lambda: len(hall.machine.events(Persisted)) == 19)
        await wire.close()
    again = DiskStore(tmp_path / "data")
    again.open()
    assert len(again.scan(GROUP, b"", b"", 1 << 20).rows) == 19
    again.close()


async def test_busy_port_is_refused_before_the_store_is_touched(tmp_path: Path) -> None:
    async with Hall() as hall:
        store = DiskStore(tmp_path / "data")
        other = Hall(store, port=hall.port)
        with pytest.raises(ConfigError, match="choose another port"):
            await other.driver.start()
        assert not (tmp_path / "data").exists()


async def test_store_that_cannot_be_opened_leaves_no_listener(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    hall = Hall(DiskStore(tmp_path / "file"), port=port)
    with pytest.raises(StoreError, match="not a directory"):
        await hall.driver.start()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", port))


def malformed(data: Path) -> DiskStore:
    data.mkdir()
    (data / FILE_NAME).write_bytes(b"not a database" * 1000)
    return DiskStore(data)


async def test_malformed_database_is_reported_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with Hall(malformed(tmp_path / "data"), founder=False):
        pass
    assert any(f"{FILE_NAME}.corrupt-1" in record.getMessage() for record in caplog.records)


async def test_founder_whose_database_was_malformed_refuses_to_found_however_often_it_is_started(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store: Store = malformed(tmp_path / "data")
    for _ in range(2):
        with pytest.raises(ConfigError, match=rf"{FILE_NAME}.corrupt-1.*give --seed") as caught:
            await Hall(store).driver.start()
        assert caught.value.field == "seed"
        assert any("does not found" in record.getMessage() for record in caplog.records)
        caplog.clear()
        store = DiskStore(tmp_path / "data")
    (tmp_path / "data" / f"{FILE_NAME}.corrupt-1").unlink()
    async with Hall(store) as hall:
        assert hall.config is not None
        assert hall.config.founder, "the remedy helps"


async def test_founder_whose_database_was_malformed_joins_through_its_seeds_and_founds_again_never(
    tmp_path: Path,
) -> None:
    async with Hall(malformed(tmp_path / "data"), seeds=(("127.0.0.1", 1),)) as hall:
        assert hall.config is not None
        assert not hall.config.founder
    store = DiskStore(tmp_path / "data")
    store.open()
    store.commit([Put(LOCAL, b"n", 0, b"what it remembers of its cluster")])
    store.close()
    async with Hall(DiskStore(tmp_path / "data")):
        pass  # it is in: no seed is needed any more


# Ends -------------------------------------------------------------------------------------------------------------
async def test_leave_waits_for_the_hand_over() -> None:
    def rule(event: DriverEvent, effects: Effects) -> None:
        if isinstance(event, LeaveRequested):
            hall.machine.left = True

    async with Hall(rule=rule) as hall:
        await hall.driver.leave()
        assert await hall.driver.wait_exit() == Exit.OK
        assert hall.machine.events(LeaveRequested) == [LeaveRequested()]


async def test_leave_that_takes_too_long_ends_anyway_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(broker_module, "LEAVE_SECONDS_MAX", 0.05)
    async with Hall() as hall:
        await hall.driver.leave()
        assert await hall.driver.wait_exit() == Exit.NOT_HANDED_OVER
    assert any("hand-over" in record.getMessage() for record in caplog.records)


async def refused(store: Store | None = None) -> tuple[Hall, list[str]]:
    """A broker whose domains are refused, and what its process was told."""
    hall = Hall(store, domains=("north", "south"))

    def rule(event: DriverEvent, effects: Effects) -> None:
        if isinstance(event, Received):
            hall.machine.refusal = "leave out 'south'"
        elif isinstance(event, LeaveRequested):
            hall.machine.left = True

    hall.machine.rule = rule
    heard: list[str] = []
    hall.driver._on_refused = heard.append
    async with hall:
        wire = await dial(hall.port)
        wire.send(Ping(1))
        await wait_until(lambda: heard)
        wire.send(Ping(2))
        await wait_until(lambda: len(hall.machine.events(Received)) == 2)
        if store is None:
            await hall.driver.wait_exit()
        await wire.close()
    return hall, heard


async def test_new_broker_whose_domains_are_refused_leaves_and_says_why(caplog: pytest.LogCaptureFixture) -> None:
    hall, heard = await refused()
    assert heard == ["leave out 'south'"]
    assert await hall.driver.wait_exit() == Exit.REFUSED
    assert hall.machine.events(LeaveRequested) == [LeaveRequested()]
    assert any("leave out 'south'" in record.getMessage() for record in caplog.records)


async def test_older_broker_whose_domains_are_refused_goes_on() -> None:
    store = MemoryStore(draw=lambda: 42)
    store.open()
    store.commit([Put(LOCAL, b"n", 0, b"what it remembers of its cluster")])
    hall, heard = await refused(store)
    assert heard == ["leave out 'south'"]
    assert hall.machine.events(LeaveRequested) == []


async def test_exception_in_the_machine_ends_with_the_crash_code() -> None:
    def rule(event: DriverEvent, effects: Effects) -> None:
        raise ZeroDivisionError("planted")

    async with Hall(rule=rule) as hall:
        wire = await dial(hall.port)
        assert await hall.driver.wait_exit() == Exit.CRASH
        await wire.close()


class RefusingStore(MemoryStore):
    """A store whose disk gives out at the second commit."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error
        self.commits = 0

    def commit(self, writes: Sequence[Write]) -> None:
        self.commits += 1
        if self.commits > 1:
            raise self.error
        super().commit(writes)


@pytest.mark.parametrize(
    ("error", "code", "word"),
    [
        (StoreError("data: the disk is full; free some space"), Exit.STORE, "free some space"),
        (StoreCorrupt("data: the database is malformed"), Exit.CORRUPT, "malformed"),
        (ZeroDivisionError("planted"), Exit.CRASH, "bug"),
    ],
)
async def test_disk_that_gives_out_ends_the_broker_without_an_acknowledgement(
    error: BaseException, code: Exit, word: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # Not taken for memory, so that it is written by the storage thread like a disk.
    monkeypatch.setattr(broker_module, "MemoryStore", DiskStore)
    async with Hall(RefusingStore(error), store_and_pong) as hall:
        wire = await dial(hall.port)
        wire.send(Ping(1))
        assert await wire.receive() == (Pong(1), b"")
        wire.send(Ping(2))
        assert await hall.driver.wait_exit() == code
        await hall.driver.stop()
        with pytest.raises(EOFError):
            await wire.receive()
        await wire.close()
    assert any(word in record.getMessage() for record in caplog.records)


async def test_what_nobody_caught_ends_the_broker_unless_it_is_a_broken_connection() -> None:
    async with Hall() as hall:
        loop = hall.driver._driver
        assert loop is not None
        hall.driver.unexpected(loop._loop, {"message": "accept failed", "exception": OSError(24, "too many files")})
        assert not hall.driver._exit.done()
        hall.driver.unexpected(loop._loop, {"message": "callback failed", "exception": KeyError("planted")})
        assert await hall.driver.wait_exit() == Exit.CRASH


async def test_stopping_twice_is_allowed() -> None:
    async with Hall() as hall:
        await hall.driver.stop()
        assert await hall.driver.wait_exit() == Exit.OK


# What the driver answers by itself --------------------------------------------------------------------------------
async def test_story_is_told_by_the_driver_and_the_machine_hears_the_rest() -> None:
    record = TraceRecord(1, "hall", Step.STORED, "a", 7, "b", 2, 1, 10)

    def rule(event: DriverEvent, effects: Effects) -> None:
        echo(event, effects)
        if isinstance(event, Received):
            effects.traces.append(record)

    async with Hall(rule=rule) as hall:
        wire = await dial(hall.port)
        wire.send(Ping(1))
        assert (await wire.receive())[0] == Pong(1)
        wire.send(StoryRequest(5, "a", 0, "b", 2, 3))
        wire.send(Ping(2))
        head, body = await wire.receive()
        assert head == StoryReply(5)
        assert msgspec.msgpack.decode(body, type=list[TraceRecord]) == [record]
        assert (await wire.receive())[0] == Pong(2)
        assert [head for event in hall.machine.events(Received) for head, _ in event.messages] == [Ping(1), Ping(2)]
        await wire.close()


async def test_one_connection_too_many_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_module, "CONNECTIONS_MAX", 2)
    async with Hall() as hall:
        wires = [await dial(hall.port) for _ in range(2)]
        await wait_until(lambda: len(hall.machine.events(Opened)) == 2)
        extra = await dial(hall.port)
        head, _ = await extra.receive()
        assert isinstance(head, Goodbye)
        assert head.code == Code.OVERLOADED
        assert "connect to another one" in head.detail
        assert await extra.receive_end()
        assert len(hall.machine.events(Opened)) == 2
        wires[0].send(Ping(1))
        assert (await wires[0].receive())[0] == Pong(1)
        for wire in (*wires, extra):
            await wire.close()


async def test_broker_outlives_a_frame_over_its_bound_for_a_broker_it_dialled() -> None:
    with socket.create_server(("127.0.0.1", 0)) as peer:

        def rule(event: DriverEvent, effects: Effects) -> None:
            if isinstance(event, Received):
                effects.dials.append(Dial(3, *peer.getsockname()[:2]))
            elif isinstance(event, Opened) and event.conn == 3:
                effects.sends += [Send(3, Pong(1), bytes(17 << 20)), Send(2, Pong(2))]

        async with Hall(rule=rule) as hall:
            wire = await dial(hall.port)
            wire.send(Ping(0))
            assert await wire.receive() == (Pong(2), b"")
            await wait_until(lambda: hall.machine.events(Closed))
            assert hall.machine.events(Closed)[0].conn == 3
            await wire.close()


@pytest.mark.parametrize(("domains", "measures"), [((), False), (("main",), True)], ids=["no domain", "a domain"])
async def test_only_a_broker_in_a_domain_measures_itself(
    monkeypatch: pytest.MonkeyPatch, domains: tuple[str, ...], *, measures: bool
) -> None:
    told: list[str] = []

    class Watch:
        def __init__(self, *_: object) -> None:
            told.append("made")

        def start(self) -> None:
            told.append("started")

        async def stop(self) -> None:
            told.append("stopped")

    monkeypatch.setattr(broker_module, "FitnessWatch", Watch)
    async with Hall(domains=domains) as hall:
        assert not told, "not before the broker serves"
        hall.driver.watch_fitness()
        hall.driver.watch_fitness()
    assert told == (["made", "started", "stopped"] if measures else [])
