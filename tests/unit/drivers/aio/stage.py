"""A machine whose every move the test chooses, and small verbs with a bound."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from causeway.core.effects import Effects, Send
from causeway.core.events import DriverEvent, Received
from causeway.core.messages import Message, Ping, Pong
from causeway.drivers.aio.connection import Connection
from causeway.drivers.aio.machine import MachineDriver
from causeway.types import Instant
from causeway.wire.codec import decode_frame, encode_frame
from causeway.wire.frame import FrameReader

Event = TypeVar("Event")
Rule = Callable[[DriverEvent, Effects], None]

SECONDS_MAX = 10.0


def echo(event: DriverEvent, effects: Effects) -> None:
    """Answer each Ping with a Pong of the same number and body."""
    for head, body in event.messages if isinstance(event, Received) else ():
        if isinstance(head, Ping):
            effects.sends.append(Send(event.conn, Pong(head.nonce), body))


class StageMachine:
    """Applies one rule to each event and remembers every turn."""

    def __init__(self, rule: Rule = echo) -> None:
        self.rule = rule
        self.turns: list[list[DriverEvent]] = []
        self.nows: list[Instant] = []
        self.deadline: Instant | None = None
        self.left = False
        self.refusal = ""
        self.handled = 0
        self._inside = False

    def handle(self, events: Sequence[DriverEvent], now: Instant) -> Effects:
        assert not self._inside, "handle was called while it ran"
        self._inside = True
        self.turns.append(list(events))
        self.nows.append(now)
        if self.deadline is not None and self.deadline <= now:
            self.deadline = None
        effects = Effects()
        try:
            for event in events:
                self.rule(event, effects)
        finally:
            self._inside = False
        return effects

    def next_deadline(self) -> Instant | None:
        return self.deadline

    def events(self, kind: type[Event]) -> list[Event]:
        return [event for turn in self.turns for event in turn if isinstance(event, kind)]


async def wait_until(condition: Callable[[], object], what: str = "condition") -> None:
    """Poll until the condition holds; fail after a bound."""
    loop = asyncio.get_running_loop()
    end = loop.time() + SECONDS_MAX
    while not condition():
        assert loop.time() < end, f"{what} did not come true within {SECONDS_MAX} s"
        await asyncio.sleep(0.002)


class Wire:
    """The other end of a connection: frames in and out, or any bytes at all."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._frames = FrameReader()
        self._waiting: list[tuple[Message, bytes]] = []

    def send(self, head: Message, body: bytes = b"") -> None:
        self.writer.write(encode_frame(head, body))

    async def receive(self) -> tuple[Message, bytes]:
        """The next frame; EOFError at the end."""
        async with asyncio.timeout(SECONDS_MAX):
            while not self._waiting:
                data = await self.reader.read(1 << 16)
                if not data:
                    raise EOFError
                for frame in self._frames.feed(data):
                    self._waiting += decode_frame(*frame)
        return self._waiting.pop(0)

    async def receive_rest(self) -> list[tuple[Message, bytes]]:
        """Every frame until the end of the stream."""
        frames = []
        with suppress(EOFError):
            while True:
                frames.append(await self.receive())
        return frames

    async def receive_end(self) -> bool:
        """Whether the next thing is the end of the stream."""
        async with asyncio.timeout(SECONDS_MAX):
            return not self._waiting and await self.reader.read(1) == b""

    async def close(self) -> None:
        self.writer.close()
        with suppress(OSError):
            await self.writer.wait_closed()


async def dial(port: int) -> Wire:
    return Wire(*await asyncio.open_connection("127.0.0.1", port))


class Stage:
    """A driven machine behind a listener."""

    def __init__(self, rule: Rule = echo) -> None:
        self.machine = StageMachine(rule)
        self.crashes: list[BaseException] = []
        self.driver = MachineDriver(self.machine, on_crash=self.crashes.append)
        self.port = 0
        self._number = 0
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Stage:
        self._server = await asyncio.get_running_loop().create_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.driver.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self.driver.stop()

    def _accept(self) -> Connection:
        self._number += 2
        return Connection(self.driver, self._number)
