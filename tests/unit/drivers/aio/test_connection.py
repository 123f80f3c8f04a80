"""Real sockets: framing, bad input, slow readers."""

from __future__ import annotations

import asyncio
import socket
import struct

import pytest

from causeway.core.effects import Effects, Send
from causeway.core.events import Clogged, Closed, Drained, DriverEvent, Opened, Received
from causeway.core.messages import Goodbye, Ping, Pong
from causeway.drivers.aio import connection as connection_module
from causeway.errors import Code
from causeway.limits import FRAME_BYTES_MAX, MIB
from causeway.wire.codec import encode_frame
from tests.unit.drivers.aio.stage import Stage, Wire, dial, wait_until


@pytest.mark.parametrize("step", [1, 2, 3, 5, 7, 11, 64, 1000])
async def test_frames_arrive_whole_however_the_stream_is_cut(step: int) -> None:
    async with Stage() as stage:
        wire = await dial(stage.port)
        bodies = [b"", b"x", b"y" * 300, bytes(range(256)) * 3]
        stream = b"".join(encode_frame(Ping(number), body) for number, body in enumerate(bodies))
        for at in range(0, len(stream), step):
            wire.writer.write(stream[at : at + step])
            await wire.writer.drain()
            await asyncio.sleep(0)
        for number, body in enumerate(bodies):
            assert await wire.receive() == (Pong(number), body)
        await wire.close()


async def test_frame_of_the_largest_size_passes() -> None:
    async with Stage() as stage:
        wire = await dial(stage.port)
        overhead = len(encode_frame(Ping(1), b"")) - 6
        body = bytes(FRAME_BYTES_MAX - overhead)
        wire.send(Ping(1), body)
        head, returned = await wire.receive()
        assert head == Pong(1)
        assert len(returned) == len(body)
        await wire.close()


@pytest.mark.parametrize(
    ("garbage", "word"),
    [
        (b"GET / HTTP/1.1\r\nHost: example\r\n\r\n", "frame length"),
        (struct.pack(">IH", FRAME_BYTES_MAX + 1, 10) + b"x" * 10, "exceeds"),
        (struct.pack(">IH", 10, 0) + b"x" * 10, "head length"),
        (struct.pack(">IH", 10, 11) + b"x" * 10, "head length"),
        (struct.pack(">IH", 4, 4) + b"\xff\xff\xff\xff", "not a Causeway message"),
        (struct.pack(">IH", 2, 2) + b"\x91\x63", "not a Causeway message"),
        (b"\x16\x03\x01\x02\x00" * 100, "frame length"),
    ],
    ids=["http", "oversized", "no head", "head longer than frame", "no message", "unknown message", "tls"],
)
async def test_bad_bytes_get_a_reason_and_cost_only_their_connection(
    garbage: bytes, word: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "causeway.driver")
    async with Stage() as stage:
        good, bad = await dial(stage.port), await dial(stage.port)
        await wait_until(lambda: len(stage.machine.events(Opened)) == 2)
        bad.writer.write(garbage * 2_000)
        head, _ = await bad.receive()
        assert isinstance(head, Goodbye)
        assert head.code == Code.BAD_FRAME
        assert word in head.detail
        assert await bad.receive_end()
        await bad.close()
        await wait_until(lambda: stage.machine.events(Closed))
        assert [event.conn for event in stage.machine.events(Closed)] == [4]
        good.send(Ping(5))
        assert await good.receive() == (Pong(5), b"")
        await good.close()
        await wait_until(lambda: len(stage.driver.connections) == 0)
    assert any(word in record.getMessage() for record in caplog.records if record.name == "causeway.driver")


async def test_good_frames_before_a_bad_head_are_delivered() -> None:
    async with Stage() as stage:
        wire = await dial(stage.port)
        wire.writer.write(
            encode_frame(Ping(1)) + struct.pack(">IH", 4, 4) + b"\xff\xff\xff\xff" + encode_frame(Ping(2))
        )
        assert await wire.receive() == (Pong(1), b"")
        assert isinstance((await wire.receive())[0], Goodbye)
        assert await wire.receive_end()
        assert [head for event in stage.machine.events(Received) for head, _ in event.messages] == [Ping(1)]
        await wire.close()


async def test_half_open_connection_that_says_nothing_disturbs_nobody() -> None:
    async with Stage() as stage:
        silent, half = await dial(stage.port), await dial(stage.port)
        half.writer.write(encode_frame(Ping(1), b"x" * 100)[:50])
        other = await dial(stage.port)
        for number in range(20):
            other.send(Ping(number))
            assert await other.receive() == (Pong(number), b"")
        assert {event.conn for event in stage.machine.events(Received)} == {6}
        for wire in (silent, half, other):
            await wire.close()
        await wait_until(lambda: len(stage.machine.events(Closed)) == 3)


async def test_connection_reset_by_its_peer_is_closed_once() -> None:
    async with Stage() as stage:
        peer = socket.create_connection(("127.0.0.1", stage.port))
        peer.sendall(encode_frame(Ping(1)))
        await wait_until(lambda: stage.machine.events(Received))
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()
        await wait_until(lambda: stage.machine.events(Closed))
        assert len(stage.machine.events(Closed)) == 1
        assert len(stage.driver.connections) == 0


def flood(size: int) -> object:
    def rule(event: DriverEvent, effects: Effects) -> None:
        if isinstance(event, Received):
            effects.sends += [Send(event.conn, Pong(0), bytes(size)) for _ in event.messages]

    return rule


async def read_frames(wire: Wire, count: int) -> None:
    for _ in range(count):
        await wire.receive()


async def test_slow_reader_clogs_and_drains_when_it_reads() -> None:
    async with Stage(flood(8 * MIB)) as stage:  # type: ignore[arg-type]
        wire = await dial(stage.port)
        wire.send(Ping(1))
        wire.send(Ping(2))
        await wait_until(lambda: stage.machine.events(Clogged))
        assert stage.machine.events(Drained) == []
        await read_frames(wire, 2)
        await wait_until(lambda: stage.machine.events(Drained))
        assert len(stage.machine.events(Clogged)) == 1
        await wire.close()


async def test_peer_that_stops_reading_is_cut_when_its_buffer_passes_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "WRITE_BUFFER_BYTES_MAX", 20 * MIB)
    async with Stage(flood(8 * MIB)) as stage:  # type: ignore[arg-type]
        wire = await dial(stage.port)
        for number in range(8):
            wire.send(Ping(number))
            await wait_until(
                lambda number=number: len(stage.machine.events(Received)) > number or stage.machine.events(Closed)
            )
        await wait_until(lambda: stage.machine.events(Closed))
        (closed,) = stage.machine.events(Closed)
        assert "does not read" in closed.reason
        await wait_until(lambda: len(stage.driver.connections) == 0)
        await wire.close()


async def test_peer_that_does_not_take_the_end_is_cut_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "CLOSE_SECONDS_MAX", 0.05)
    async with Stage() as stage:
        peer = socket.create_connection(("127.0.0.1", stage.port))
        peer.sendall(b"garbage" * 10)
        await wait_until(lambda: stage.machine.events(Closed))
        await wait_until(lambda: len(stage.driver.connections) == 0)
        peer.close()


async def test_nagle_is_off_on_both_ends() -> None:
    async with Stage() as stage:
        wire = await dial(stage.port)
        await wait_until(lambda: stage.machine.events(Opened))
        transport = stage.driver._connections[2]._transport
        assert transport is not None
        assert transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        await wire.close()
