"""The turn: when the machine is called, and how its effects are carried out."""

from __future__ import annotations

import asyncio
import socket

import pytest

from causeway.core.effects import Close, Effects, Load, Pause, Persist, Send
from causeway.core.events import Closed, DriverEvent, Lagged, Loaded, Opened, Persisted, Received
from causeway.core.messages import Beat, Hello, Message, Ping, Pong
from causeway.drivers.aio.clock import SystemClock
from causeway.drivers.aio.connection import Connection
from causeway.drivers.aio.machine import MachineDriver
from causeway.drivers.aio.storage import InlineStorage
from causeway.limits import TURN_MESSAGES_MAX, TURNS_IN_A_ROW_MAX
from causeway.store.base import Put
from causeway.store.memory import MemoryStore
from causeway.types import MILLISECOND, Instant
from causeway.wire.codec import SHARED_BODY_BYTES_MAX, SHARED_COUNT_MAX, decode_frame, encode_frame
from causeway.wire.frame import FrameReader
from tests.unit.drivers.aio.stage import Stage, StageMachine, dial, wait_until

GROUP = b"g" * 16


class TapeTransport(asyncio.Transport):
    """Records what is written; can behave like one whose buffer is full at once."""

    def __init__(self, number: int = 0) -> None:
        super().__init__({"peername": ("127.0.0.1", number), "sockname": ("127.0.0.1", 1)})
        self.written: list[bytes] = []
        self.full_for: Connection | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))
        if self.full_for is not None:
            self.full_for.pause_writing()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False

    def is_reading(self) -> bool:
        return True

    def write_eof(self) -> None:
        pass

    def abort(self) -> None:
        pass


def said(transport: TapeTransport) -> list[list[tuple[Message, bytes]]]:
    """The messages of each frame that was written."""
    return [decode_frame(*frame) for data in transport.written for frame in FrameReader().feed(data)]


async def connect(driver: MachineDriver, number: int) -> tuple[Connection, TapeTransport]:
    connection, transport = Connection(driver, number), TapeTransport(number)
    connection.connection_made(transport)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return connection, transport


# When the machine is called -----------------------------------------------------------------------------------------
async def test_first_data_of_an_iteration_is_handled_before_data_received_returns() -> None:
    machine = StageMachine()
    driver = MachineDriver(machine, on_crash=pytest.fail)
    connection, transport = await connect(driver, 2)
    before = len(machine.turns)
    connection.data_received(encode_frame(Ping(7)))
    assert len(machine.turns) == before + 1
    assert transport.written == [encode_frame(Pong(7))]


async def test_everything_that_one_read_brings_is_one_turn() -> None:
    async with Stage() as stage:
        wire = await dial(stage.port)
        wire.writer.write(b"".join(encode_frame(Ping(number)) for number in range(100)))
        assert [(await wire.receive())[0] for _ in range(100)] == [Pong(number) for number in range(100)]
        turns = [turn for turn in stage.machine.turns if any(isinstance(event, Received) for event in turn)]
        assert len(turns) == 1
        await wire.close()


async def test_data_of_many_connections_in_one_iteration_is_at_most_two_turns() -> None:
    async with Stage() as stage:
        peers = [socket.create_connection(("127.0.0.1", stage.port)) for _ in range(8)]
        await wait_until(lambda: len(stage.machine.events(Opened)) == 8)
        before = len(stage.machine.turns)
        # The loop sleeps while this test runs, so that it finds all eight readable when it looks.
        for peer in peers:
            peer.sendall(encode_frame(Ping(1)))
        await wait_until(lambda: len(stage.machine.events(Received)) == 8)
        assert len(stage.machine.turns) - before <= 2
        for peer in peers:
            peer.close()


async def test_gathered_data_is_handled_before_it_becomes_much() -> None:
    machine = StageMachine()
    driver = MachineDriver(machine, on_crash=pytest.fail)
    connection, _ = await connect(driver, 2)
    connection.data_received(encode_frame(Ping(0)))
    before = len(machine.turns)
    for _ in range(TURN_MESSAGES_MAX - 1):
        connection.data_received(encode_frame(Ping(1)))
    assert len(machine.turns) == before
    connection.data_received(encode_frame(Ping(1)))
    assert len(machine.turns[before]) == TURN_MESSAGES_MAX


async def test_signs_of_life_do_not_wait_for_the_frames_that_came_with_them() -> None:
    machine = StageMachine()
    driver = MachineDriver(machine, on_crash=pytest.fail, needed_by_others=True)
    connection, _ = await connect(driver, 2)
    before = len(machine.turns)
    work = b"".join(encode_frame(Ping(number)) for number in range(100))
    connection.data_received(work + encode_frame(Beat(1)) + work)
    events = [event for turn in machine.turns[before:] for event in turn if isinstance(event, Received)]
    assert events[0].messages == [(Beat(1), b"")]
    assert [len(event.messages) for event in events] == [1, 200]


async def test_signs_of_life_do_not_overtake_a_greeting() -> None:
    machine = StageMachine()
    driver = MachineDriver(machine, on_crash=pytest.fail, needed_by_others=True)
    connection, _ = await connect(driver, 2)
    before = len(machine.turns)
    connection.data_received(
        encode_frame(Hello(2, "broker-1", 1)) + encode_frame(Ping(1)) * 100 + encode_frame(Beat(1))
    )
    assert len(machine.turns) == before + 1


async def test_busy_machine_is_told_how_late_it_hears() -> None:
    class SlowClock(SystemClock):
        passed = 0

        def now(self) -> Instant:
            return self.passed

    clock = SlowClock()

    def rule(event: DriverEvent, effects: Effects) -> None:
        clock.passed += 100 * MILLISECOND

    machine = StageMachine(rule)
    driver = MachineDriver(machine, on_crash=pytest.fail, needed_by_others=True, clock=clock)
    connection, _ = await connect(driver, 2)
    connection.data_received(encode_frame(Ping(1)))
    connection.data_received(encode_frame(Ping(2)))
    await wait_until(lambda: len(machine.events(Received)) == 2)
    assert [event.duration for event in machine.events(Lagged)][-1] >= 100 * MILLISECOND


async def test_what_effects_cause_is_handled_next_and_never_inside() -> None:
    machine = StageMachine()
    driver = MachineDriver(machine, on_crash=pytest.fail)
    connection, transport = await connect(driver, 2)
    transport.full_for = connection
    connection.data_received(encode_frame(Ping(7)))
    await wait_until(lambda: machine.turns[-1] and type(machine.turns[-1][0]).__name__ == "Clogged")


async def test_wake_calls_the_machine_without_events_even_when_data_was_just_handled() -> None:
    machine = StageMachine()
    driver = MachineDriver(machine, on_crash=pytest.fail)
    connection, _ = await connect(driver, 2)
    connection.data_received(encode_frame(Ping(7)))
    before = len(machine.turns)
    driver.wake()
    driver.wake()
    await wait_until(lambda: len(machine.turns) > before)
    assert machine.turns[before:] == [[]]


async def test_hook_runs_after_each_turn() -> None:
    machine = StageMachine()
    seen: list[int] = []
    driver = MachineDriver(machine, on_crash=pytest.fail, on_turn=lambda: seen.append(len(machine.turns)))
    driver.start()
    await wait_until(lambda: seen)
    assert seen == [1]


# Effects ----------------------------------------------------------------------------------------------------------
async def test_all_sends_of_a_turn_to_a_connection_are_one_write() -> None:
    def rule(event: DriverEvent, effects: Effects) -> None:
        if isinstance(event, Received):
            effects.sends += [Send(2, Pong(1), b"a"), Send(4, Pong(2)), Send(2, Pong(3)), Send(6, Pong(9))]

    machine = StageMachine(rule)
    driver = MachineDriver(machine, on_crash=pytest.fail)
    one, first = await connect(driver, 2)
    _, second = await connect(driver, 4)
    one.data_received(encode_frame(Ping(0)))
    one.data_received(encode_frame(Ping(0)))
    await asyncio.sleep(0)
    assert said(first) == [[(Pong(1), b"a"), (Pong(3), b"")]] * 2
    assert said(second) == [[(Pong(2), b"")]] * 2
    assert (len(first.written), len(second.written)) == (2, 2)


async def test_much_that_a_turn_says_is_cut_into_frames_of_a_bounded_size() -> None:
    small, large = [Pong(number) for number in range(3 * SHARED_COUNT_MAX)], bytes(SHARED_BODY_BYTES_MAX)

    def rule(event: DriverEvent, effects: Effects) -> None:
        if isinstance(event, Received):
            effects.sends += [Send(2, pong) for pong in small]
            effects.sends += [Send(2, Pong(-1), large), Send(2, Pong(-2), large), Send(2, Pong(-3))]

    driver = MachineDriver(StageMachine(rule), on_crash=pytest.fail)
    connection, transport = await connect(driver, 2)
    connection.data_received(encode_frame(Ping(0)))
    frames = said(transport)
    assert [len(frame) for frame in frames] == [SHARED_COUNT_MAX] * 3 + [1, 2]
    assert [head for frame in frames for head, _ in frame] == [*small, Pong(-1), Pong(-2), Pong(-3)]
    assert [len(body) for frame in frames[3:] for _, body in frame] == [len(large), len(large), 0]


async def test_close_sends_what_was_written_and_no_event_follows() -> None:
    def rule(event: DriverEvent, effects: Effects) -> None:
        if isinstance(event, Received):
            effects.sends.append(Send(event.conn, Pong(1), b"x" * 1_000_000))
            effects.closes.append(Close(event.conn, "enough"))

    async with Stage(rule) as stage:
        wire = await dial(stage.port)
        wire.send(Ping(0))
        assert await wire.receive_rest() == [(Pong(1), b"x" * 1_000_000)]
        await wire.close()
        await wait_until(lambda: len(stage.driver.connections) == 0)
        assert stage.machine.events(Closed) == []


async def test_events_of_a_connection_that_the_machine_closes_do_not_reach_it_afterwards() -> None:
    def rule(event: DriverEvent, effects: Effects) -> None:
        if isinstance(event, Received):
            effects.closes.append(Close(2, "enough"))

    machine = StageMachine(rule)
    driver = MachineDriver(machine, on_crash=pytest.fail)
    one, _ = await connect(driver, 2)
    other, _ = await connect(driver, 4)
    driver.post(Opened(2))
    driver.post(Opened(4))
    before = len(machine.turns)
    driver._wake([Received(4, [(Ping(0), b"")])])
    one.data_received(encode_frame(Ping(0)))
    one.connection_lost(None)
    other.connection_lost(None)
    await wait_until(lambda: machine.events(Closed))
    rest = [event for turn in machine.turns[before + 1 :] for event in turn]
    assert rest == [Opened(4), Closed(4, "closed by the other side")]


async def test_paused_connection_is_not_read_until_resumed() -> None:
    def rule(event: DriverEvent, effects: Effects) -> None:
        for head, _ in event.messages if isinstance(event, Received) else ():
            if isinstance(head, Ping):
                effects.pauses.append(Pause(2, head.nonce == 1))

    async with Stage(rule) as stage:
        wire, other = await dial(stage.port), await dial(stage.port)
        await wait_until(lambda: len(stage.machine.events(Opened)) == 2)
        wire.send(Ping(1))
        await wait_until(lambda: len(stage.machine.events(Received)) == 1)
        wire.send(Ping(2))
        for nonce in range(3, 20):
            other.send(Pong(nonce))
            await wait_until(lambda: stage.machine.events(Received)[-1].conn == 4)
        assert [event.conn for event in stage.machine.events(Received)].count(2) == 1
        other.send(Ping(0))
        await wait_until(lambda: [event.conn for event in stage.machine.events(Received)].count(2) == 2)
        await wire.close()
        await other.close()


# Storage ----------------------------------------------------------------------------------------------------------
async def test_writes_to_memory_release_their_sends_and_are_reported_in_the_next_turn() -> None:
    def rule(event: DriverEvent, effects: Effects) -> None:
        if isinstance(event, Received):
            effects.persists.append(Persist([Put(GROUP, b"k", 1, b"v")], [Send(2, Pong(1))], token=5))
            effects.persists.append(Persist([Put(GROUP, b"l", 1, b"v")], [Send(2, Pong(2))]))
            effects.loads.append(Load(6, GROUP, b"", b"", 100))
            effects.sends.append(Send(2, Pong(3)))

    store = MemoryStore()
    store.open()
    machine = StageMachine(rule)
    driver = MachineDriver(machine, on_crash=pytest.fail)
    driver.start(InlineStorage(store, driver.stored))
    connection, transport = await connect(driver, 2)
    before = len(machine.turns)
    connection.data_received(encode_frame(Ping(0)))
    assert said(transport) == [[(Pong(1), b""), (Pong(2), b""), (Pong(3), b"")]]
    assert len(machine.turns) == before + 2
    persisted, loaded = machine.turns[-1]
    assert persisted == Persisted(5)
    assert isinstance(loaded, Loaded)
    assert [row.key for row in loaded.page.rows] == [b"k", b"l"]


async def test_machine_that_never_stops_writing_does_not_stop_the_loop() -> None:
    def rule(event: DriverEvent, effects: Effects) -> None:
        if len(machine.turns) < 100 * TURNS_IN_A_ROW_MAX:
            effects.persists.append(Persist([], token=1))

    store = MemoryStore()
    store.open()
    machine = StageMachine(rule)
    driver = MachineDriver(machine, on_crash=pytest.fail)
    driver.start(InlineStorage(store, driver.stored))
    driver.post(Persisted(1))
    await asyncio.sleep(0)
    assert len(machine.turns) == TURNS_IN_A_ROW_MAX
    await wait_until(lambda: len(machine.turns) > 3 * TURNS_IN_A_ROW_MAX)
    await driver.stop()
    turns = len(machine.turns)
    await asyncio.sleep(0)
    assert len(machine.turns) == turns


async def test_machine_that_asks_for_storage_without_having_one_is_a_bug() -> None:
    def rule(event: DriverEvent, effects: Effects) -> None:
        effects.persists.append(Persist([], token=1))

    async with Stage(rule) as stage:
        stage.driver.post(Persisted(1))
        await wait_until(lambda: stage.crashes)
        assert "without one" in str(stage.crashes[0])


# Our own bugs -----------------------------------------------------------------------------------------------------
async def test_exception_in_the_machine_is_logged_reported_once_and_the_machine_is_not_called_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def rule(event: DriverEvent, effects: Effects) -> None:
        if isinstance(event, Received):
            raise ZeroDivisionError("planted")

    async with Stage(rule) as stage:
        wire = await dial(stage.port)
        wire.send(Ping(1))
        await wait_until(lambda: stage.crashes)
        turns = len(stage.machine.turns)
        wire.send(Ping(2))
        stage.driver.wake()
        await wire.close()
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert len(stage.machine.turns) == turns
        assert len(stage.crashes) == 1
    record = next(record for record in caplog.records if record.name == "causeway.driver")
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ZeroDivisionError)


async def test_frame_over_its_bound_costs_the_connection_it_was_for_and_no_other() -> None:
    def rule(event: DriverEvent, effects: Effects) -> None:
        for head, _ in event.messages if isinstance(event, Received) else ():
            if isinstance(head, Ping):
                body = bytes(17 * 1024 * 1024) if head.nonce == 1 else b""
                effects.sends.append(Send(event.conn, Pong(head.nonce), body))

    async with Stage(rule) as stage:
        wire, other = await dial(stage.port), await dial(stage.port)
        wire.send(Ping(1))
        await wait_until(lambda: stage.machine.events(Closed))
        other.send(Ping(2))
        assert (await other.receive())[0] == Pong(2)
        assert not stage.crashes
        await wire.close()
        await other.close()


@pytest.mark.parametrize("needed_by_others", [True, False])
async def test_frame_over_its_bound_for_a_broker_we_dialled_ends_the_machine_only_if_nobody_else_needs_it(
    *, needed_by_others: bool
) -> None:
    def rule(event: DriverEvent, effects: Effects) -> None:
        if isinstance(event, Received):
            effects.sends += [Send(3, Pong(1), bytes(17 * 1024 * 1024)), Send(5, Pong(2))]

    machine, crashes = StageMachine(rule), list[BaseException]()
    driver = MachineDriver(machine, on_crash=crashes.append, needed_by_others=needed_by_others)
    link, _ = await connect(driver, 3)
    _, other = await connect(driver, 5)
    link.data_received(encode_frame(Ping(0)))
    if needed_by_others:
        assert not crashes
        assert other.written == [encode_frame(Pong(2))]
        await wait_until(lambda: machine.events(Closed))
        assert [event.conn for event in machine.events(Closed)] == [3]
    else:
        assert "over its bound" in str(crashes[0])
