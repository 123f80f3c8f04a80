"""A way to a broker that can go silent: both ends keep their connections, and nothing more arrives.

As if the packets between two hosts were dropped; what is cut stays cut, new connections included.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Proxy:
    """Listens on a port of its own and passes everything on to another one."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._open = asyncio.Event()
        self._open.set()
        self._tasks: list[asyncio.Task[None]] = []
        self._server: asyncio.Server | None = None
        self.port = 0

    async def start(self) -> None:
        """Begin to listen."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        """Pass nothing on."""
        self._open.clear()

    def heal(self) -> None:
        """Pass everything on, what was held first."""
        self._open.set()

    async def stop(self) -> None:
        """End all connections."""
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        other, onward = await asyncio.open_connection("127.0.0.1", self._target)
        for source, sink in ((reader, onward), (other, writer)):
            self._tasks.append(asyncio.create_task(self._pass_on(source, sink)))

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(1 << 16):
                await self._open.wait()
                sink.write(data)
                await sink.drain()
            await self._open.wait()
        except OSError:
            pass
        finally:
            sink.close()


@contextlib.asynccontextmanager
async def proxy_to(port: int) -> AsyncIterator[Proxy]:
    """A proxy in front of a broker, stopped in any case."""
    proxy = Proxy(port)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()
