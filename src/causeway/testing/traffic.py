"""Applications that talk to each other at a steady tempo and write down what they sent, were told, and got.

Owns: the schedule of sends, and the entries in the ledger and the service log. Uses the client library like any other
application, and never asks it what was delivered twice or out of order: the ledger finds that out by itself.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from causeway import Bus, MessageFeed, Receipt, connect
from causeway.errors import CausewayError, LocalProtocolError
from causeway.testing.ledger import Kind, Ledger
from causeway.testing.service import ServiceLog
from causeway.types import Instant

SERVICES: Final[dict[Kind, tuple[str, bool]]] = {
    Kind.UNRELIABLE: ("express", False),
    Kind.EXPRESS: ("express", True),
    Kind.RECOVERABLE: ("recoverable", True),
    Kind.TRANSACTIONAL: ("transactional", True),
    Kind.PUBLISHED: ("transactional", True),
}
"""What the client calls each kind: its service, and whether it is acknowledged."""


class Tempo(msgspec.Struct, frozen=True, kw_only=True):
    """How an application sends: bursts of one kind to one destination, each in turn."""

    kinds: tuple[Kind, ...] = (Kind.TRANSACTIONAL,)
    burst: int = 5
    """Messages per burst."""
    interval: float = 0.02
    """Seconds from one burst to the next."""
    size: int = 128
    """Bytes of a body."""
    outstanding_max: int = 2000
    """Unacknowledged messages per application; above it the sender waits."""
    timeout: float = 60.0
    """Seconds until an unacknowledged send counts as failed."""


class Account:
    """What all applications of a run write into."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.service = ServiceLog()

    def now(self) -> Instant:
        """One clock for all, since all run in one process."""
        return time.monotonic_ns()


class _Posted(msgspec.Struct, frozen=True, gc=False):
    receipt: Receipt
    number: int
    at: Instant


class Correspondent:
    """One named application at work: `open`, `send` as often as wanted, `close`; all of it may be repeated."""

    def __init__(
        self, name: str, url: str, account: Account, state: Path | None = None, *, subscribes: bool = False
    ) -> None:
        self.name = name
        self._subscribes = subscribes
        self._url = url
        self._account = account
        self._state = state
        self._bus: Bus | None = None
        self._feeds: list[MessageFeed] = []
        self._reading: list[asyncio.Task[None]] = []
        self._posted: dict[tuple[Kind, str], asyncio.Queue[_Posted]] = {}
        self._collecting: list[asyncio.Task[None]] = []
        self._outstanding = 0
        self._closing = False
        self._room = asyncio.Event()

    async def open(self) -> None:
        """Come online: connect, and read the own mailbox and, if it subscribes, what is published for it."""
        self._bus = await connect(self._url, name=self.name, state=self._state, timeout=60.0).open()
        self._feeds = [self._bus.receive()]
        if self._subscribes:
            self._feeds.append(self._bus.subscribe(topic_of(self.name), name="all", durable=True))
            await self._feeds[-1].ready()
        self._reading = [asyncio.create_task(self._read(feed), name=f"{self.name} reads") for feed in self._feeds]

    async def close(self) -> None:
        """Go offline by one's own will: wait for what was sent, acknowledge what was read, disconnect."""
        assert self._bus is not None
        await self.flush()
        self._closing = True
        for feed in self._feeds:
            await feed.aclose()
        await asyncio.gather(*self._reading)
        for task in self._collecting:
            task.cancel()
        await asyncio.gather(*self._collecting, return_exceptions=True)
        self._collecting.clear()
        self._posted.clear()
        await self._bus.aclose()
        self._bus = None
        self._closing = False
        self._account.service.paused(self.name)

    async def send(self, dests: Sequence[str], tempo: Tempo, more: Callable[[], bool]) -> None:
        """Send to each destination in turn, as long as `more` says so before each burst."""
        pairs = [(kind, dest) for dest in dests for kind in tempo.kinds]
        # Each application in an order of its own: otherwise all would write to one at a time and the rest hear nothing.
        random.Random(self.name).shuffle(pairs)
        lanes = itertools.cycle(pairs)
        due = asyncio.get_running_loop().time()
        while more():
            kind, dest = next(lanes)
            for _ in range(tempo.burst):
                self._post(kind, dest, tempo)
            due += tempo.interval
            await self._wait_turn(due, tempo)

    async def flush(self) -> None:
        """Until every send was acknowledged or failed."""
        while self._outstanding:
            self._room.clear()
            await self._room.wait()

    @property
    def outstanding(self) -> int:
        """Messages sent whose fate the application does not know yet."""
        return self._outstanding

    def check(self) -> None:
        """Raise what ended the reading, if anything did."""
        for reading in self._reading:
            if reading.done():
                reading.result()

    # Sending -------------------------------------------------------------------------------------------------------
    def _post(self, kind: Kind, dest: str, tempo: Tempo) -> None:
        assert self._bus is not None
        service, reliable = SERVICES[kind]
        number, body = self._account.ledger.write(kind, self.name, dest, tempo.size)
        at = self._account.now()
        if kind is Kind.PUBLISHED:
            receipt = self._bus.publish_nowait(topic_of(dest), body, service=service, timeout=tempo.timeout)
        else:
            receipt = self._bus.send_nowait(dest, body, service=service, reliable=reliable, timeout=tempo.timeout)
        if not reliable:
            return
        self._outstanding += 1
        queue = self._posted.get((kind, dest))
        if queue is None:
            queue = self._posted[(kind, dest)] = asyncio.Queue()
            task = asyncio.create_task(self._collect(kind, dest, queue), name=f"{self.name} hears about {dest}")
            self._collecting.append(task)
        queue.put_nowait(_Posted(receipt, number, at))

    async def _collect(self, kind: Kind, dest: str, queue: asyncio.Queue[_Posted]) -> None:
        """Write down what became of each send of one stream."""
        account = self._account
        while True:
            posted = await queue.get()
            try:
                await posted.receipt.wait()
            except CausewayError:
                account.ledger.failed(kind, self.name, dest, posted.number)
            else:
                now = account.now()
                account.ledger.acknowledged(kind, self.name, dest, posted.number)
                account.service.succeeded(self.name, "send", now)
                account.service.waited(self.name, posted.at, now)
            self._outstanding -= 1
            self._room.set()

    async def _wait_turn(self, due: float, tempo: Tempo) -> None:
        while self._outstanding >= tempo.outstanding_max:
            self._room.clear()
            await self._room.wait()
        # A sender that fell behind catches up, but lets what it sent leave.
        await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))

    # Receiving -----------------------------------------------------------------------------------------------------
    async def _read(self, feed: MessageFeed) -> None:
        account = self._account
        try:
            async for message in feed:
                account.ledger.delivered(self.name, message.body)
                account.service.succeeded(self.name, "receive", account.now())
        except LocalProtocolError:
            if not self._closing:  # the loop was ended from outside, by ourselves
                raise


def topic_of(application: str) -> str:
    """Where something is published for an application."""
    return f"{application}/news"


async def wait_delivered(account: Account, seconds_max: float) -> bool:
    """Until every acknowledged message that must arrive has arrived; False when that takes too long."""
    deadline = time.monotonic() + seconds_max
    while account.ledger.outstanding():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.05)
    return True
