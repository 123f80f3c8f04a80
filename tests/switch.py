"""A switch between the brokers of a test: links that can be cut while both ends live, without touching the network.

Brokers are started through this file, which has them dial each other through the switch; clients dial brokers as ever.
A link that is cut passes nothing on, in either direction, and says so to nobody, as a dead line would.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from causeway.cli.main import main
from causeway.core.effects import Dial
from causeway.drivers.aio.dialer import Dialer
from causeway.local import cluster, plan
from causeway.local.runfile import BrokerEntry, RunFile


class Switch:
    """Passes on what brokers say to each other."""

    def __init__(self) -> None:
        self.port = 0
        self._open: dict[tuple[str, int], asyncio.Event] = {}
        """By who dialled, and the port that was dialled: set while everything passes."""
        self._tasks: set[asyncio.Task[None]] = set()

    def cut(self, one: BrokerEntry, other: BrokerEntry) -> None:
        """Nothing passes between two brokers from now on."""
        self._gate(one.name, other.port).clear()
        self._gate(other.name, one.port).clear()

    def mend(self, one: BrokerEntry, other: BrokerEntry) -> None:
        """Everything passes again, what was held first."""
        self._gate(one.name, other.port).set()
        self._gate(other.name, one.port).set()

    def _gate(self, name: str, port: int) -> asyncio.Event:
        gate = self._open.get((name, port))
        if gate is None:
            gate = self._open[name, port] = asyncio.Event()
            gate.set()
        return gate

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection between two brokers."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        writers = [writer]
        with contextlib.suppress(OSError, asyncio.CancelledError):
            name, port = (await reader.readline()).decode().split()
            gate = self._gate(name, int(port))
            await gate.wait()
            there, back = await asyncio.open_connection("127.0.0.1", int(port))
            writers.append(back)
            await asyncio.gather(self._pump(gate, reader, back), self._pump(gate, there, writer))
        for each in writers:
            each.transport.abort()
        self._tasks.discard(task)

    async def _pump(self, gate: asyncio.Event, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                await gate.wait()
                writer.write(data)
                await writer.drain()
        await gate.wait()
        writer.close()

    async def stop(self) -> None:
        """End what passes still."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)


@contextlib.asynccontextmanager
async def switched(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Switch]:
    """Brokers that are started inside dial each other through a switch."""
    switch = Switch()
    server = await asyncio.start_server(switch.serve, "127.0.0.1", 0)
    switch.port = server.sockets[0].getsockname()[1]

    def command(data: Path, run: RunFile, entry: BrokerEntry) -> list[str]:
        line = plan.command(data, run, entry)
        return [sys.executable, str(Path(__file__)), str(switch.port), entry.name, *line[line.index("broker") :]]

    monkeypatch.setattr(cluster, "command", command)
    try:
        yield switch
    finally:
        server.close()
        await switch.stop()


def broker(port: str, name: str, arguments: list[str]) -> int:
    """The life of a broker that dials through the switch."""

    async def run(self: Dialer, dial: Dial) -> None:
        loop = asyncio.get_running_loop()
        try:
            line = socket.create_connection(("127.0.0.1", int(port)))
            line.sendall(f"{name} {dial.port}\n".encode())
            line.setblocking(False)
            await loop.create_connection(lambda: self._make(dial.conn), sock=line)
        except OSError as error:
            self._failed(dial.conn, str(error))

    Dialer._run = run  # type: ignore[method-assign]
    return main(arguments)


if __name__ == "__main__":
    sys.exit(broker(sys.argv[1], sys.argv[2], sys.argv[3:]))
