"""A session on the running event loop: the driver of the async client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any, Final

from causeway.client.arguments import check_wait
from causeway.client.batches import Ticket
from causeway.client.hosting import Found, Host, Waitable
from causeway.client.latches import TaskLatch
from causeway.client.lots import Lot
from causeway.client.streams import SMALL_BYTES
from causeway.wire.headers import Headers


class Noted:
    """What calls return that only note something: `await message.ack()` is as good as `message.ack()`."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield

    def __repr__(self) -> str:
        return "<noted; there is nothing to wait for>"


NOTED: Final = Noted()


class NotedOnDisk(Noted):
    """With kept state: to await it is to wait until what was noted is on the application's own disk."""

    __slots__ = ("_engine", "_mark")

    def __init__(self, engine: LoopEngine) -> None:
        self._engine = engine
        self._mark = engine.session.mark()

    def __await__(self) -> Generator[Any, None, None]:
        return self._engine.until_kept(self._mark).__await__()

    def __repr__(self) -> str:
        return "<noted; await it to have it on disk>"


class LoopEngine(Host):
    """Drives a session with the loop's own sockets and timer."""

    block = "an `async with`"

    async def start(self) -> None:
        """Begin on the running loop."""
        self._loop = asyncio.get_running_loop()
        await self._start_driver()

    async def stop(self) -> None:
        """Close every connection and the kept state."""
        await self._stop_driver()

    async def until(self, condition: Callable[[], bool], seconds: float | None) -> bool:
        """Wait until a condition on the session holds or the session is over (True), or the time is over (False)."""
        check_wait(seconds)
        return await self.until_on_loop(condition, seconds)

    async def wait_for(self, look: Callable[[], Found], *what: Waitable, seconds: float | None = None) -> Found | None:
        """Look whenever `what` has news until something is found; None when the time is over. Raises the end."""
        check_wait(seconds)
        end = None if seconds is None else self._loop.time() + seconds
        while True:
            with self.lock:
                found = look()
                if found:
                    return found
                if self.over is not None:
                    raise self.over
                latch: TaskLatch = self.watch(*what)
            fired = False
            timer = None if end is None else self._loop.call_at(end, latch.run_out)
            try:
                fired = await latch.future
            finally:
                if timer is not None:
                    timer.cancel()
                if not fired:
                    with self.lock:
                        self.unwatch(latch, *what)
            if not fired:
                return None

    def submit(self, key: tuple[object, ...], body: object, headers: Headers | None) -> Ticket | None:
        """Send with the lane of this key; None when there is none yet. Needs no lock: the session runs on this loop."""
        lane = self.lanes.get(key)
        if lane is None:
            return None
        batch = lane.open
        if batch is not None and type(body) is bytes and len(body) <= SMALL_BYTES and headers is None:
            # What `Streams.append` does for the usual case, without the calls; an open batch has a turn coming.
            messages = batch.bodies
            index = len(messages)
            if index < batch.limit:
                messages.append(body)
                return self.make_ticket(batch, index)
        ticket = self.append(lane, body, headers)
        if not self.waking and self.driver is not None:
            self.waking = True
            self.driver.prompt()
        return ticket

    def settle(self, lot: Lot, first: int, last: int) -> None:
        """Acknowledge messages of a lot."""
        self.check()
        self.accept(lot, first, last)
        if not self.waking:
            self.wake()

    def noted(self) -> Noted:
        """Something was acknowledged."""
        return NotedOnDisk(self) if self.session.config.keep else NOTED

    async def until_kept(self, mark: int) -> None:
        """Until what was acknowledged before the mark is on our own disk. Raises why it never will be."""
        session = self.session
        await self.until(lambda: session.keeps(mark), None)
        self.check()

    async def breathe(self) -> None:
        """Let the loop have a round: what was sent leaves, what arrived is handled."""
        await asyncio.sleep(0)

    def _wake_driver(self) -> None:
        if self.driver is not None:
            self.driver.wake()

    def _wake_soon(self) -> None:
        if self.driver is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.driver.wake)

    def _new_latch(self) -> TaskLatch:
        return TaskLatch(self._loop)
