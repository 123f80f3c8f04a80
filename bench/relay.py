"""The machine's limit: a byte relay on uvloop that looks at nothing, fed and drained by blocking sockets.

No broker written in Python on this machine can be faster; how near ours comes is the figure to watch.
A connection's first byte says what it is: `P` and a channel feeds the channel, `S` and a channel drains it; every drain
of a channel gets all of it.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import cast

import uvloop

from bench.harness import HOST, Case, Process, Run, free_port, serve

CHUNK_BYTES = 64 * 1024
HIGH_BYTES = 1024 * 1024


class Relay(asyncio.Protocol):
    """One end of a channel."""

    sinks: dict[int, list[Relay]] = {}
    sources: dict[int, Relay] = {}
    transport: asyncio.Transport
    channel = -1
    sink = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=HIGH_BYTES)

    def data_received(self, data: bytes) -> None:
        if self.channel < 0:
            self.sink, self.channel = data[:1] == b"S", data[1]
            if self.sink:
                self.sinks.setdefault(self.channel, []).append(self)
            else:
                self.sources[self.channel] = self
            data = data[2:]
        if data and not self.sink:
            for sink in self.sinks[self.channel]:
                sink.transport.write(data)

    def pause_writing(self) -> None:
        if source := self.sources.get(self.channel):
            source.transport.pause_reading()

    def resume_writing(self) -> None:
        if source := self.sources.get(self.channel):
            source.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.sink:
            self.sinks[self.channel].remove(self)
        else:
            self.sources.pop(self.channel, None)


async def relay(port: int) -> None:
    """Serve for ever."""
    server = await asyncio.get_running_loop().create_server(Relay, HOST, port)
    await server.serve_forever()


def server(folder: Path) -> AbstractContextManager[Process]:
    """The relay as a process of its own."""
    port = free_port()
    return serve([sys.executable, "-m", "bench.relay", str(port)], folder, port)


def open_channel(port: int, role: bytes, channel: int) -> socket.socket:
    """A socket that feeds or drains a channel."""
    connection = socket.create_connection((HOST, port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(role + bytes((channel,)))
    return connection


def produce(run: Run) -> None:
    """Whole chunks of messages."""
    feed = open_channel(run.port, b"P", 1)
    per_chunk = CHUNK_BYTES // run.size
    chunk = run.payload() * per_chunk
    asyncio.run(run.wait_go())
    run.begin()
    for _ in range(run.count // per_chunk):
        feed.sendall(chunk)
    asyncio.run(run.wait_received())


def consume(run: Run) -> None:
    """Count bytes."""
    drain = open_channel(run.port, b"S", 1)
    run.attached()
    buffer, received, wanted = bytearray(4 * CHUNK_BYTES), 0, run.count * run.size
    while received < wanted:
        received += drain.recv_into(buffer)
        run.mark(received // run.size)


def ping(run: Run) -> list[int]:
    """Round trips over two channels."""
    drain, feed = open_channel(run.port, b"S", 2), open_channel(run.port, b"P", 1)
    payload = run.payload()

    async def once() -> None:
        feed.sendall(payload)
        drain.recv(CHUNK_BYTES)

    async def main() -> list[int]:
        await run.wait_go()
        return await run.ping(once)

    trips = asyncio.run(main())
    feed.sendall(b"!")
    return trips


def pong(run: Run) -> None:
    """Send back what comes; a single byte ends it."""
    drain, feed = open_channel(run.port, b"S", 1), open_channel(run.port, b"P", 2)
    run.attached()
    while len(data := drain.recv(CHUNK_BYTES)) > 1:
        feed.sendall(data)


CASES = [
    Case("express", "relay", "bytes", produce, consume, server, first_count=204_800, unit=512),
    Case("fanout", "relay", "bytes", produce, consume, server, first_count=51_200, unit=512, consumers=4),
    Case("roundtrip", "relay", "bytes", ping, pong, server, sizes=(128,)),
]

if __name__ == "__main__":
    uvloop.run(relay(int(sys.argv[1])))
