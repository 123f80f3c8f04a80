"""A session on the running event loop: the driver of the async client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from causeway.client.batches import Ticket
from causeway.client.hosting import Host, Waitable
from causeway.client.lots import Lot
from causeway.client.message import Headers
from causeway.client.streams import SMALL_BYTES


class TaskLatch:
    """One waiting task."""

    __slots__ = ("_future", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._future: asyncio.Future[bool] = loop.create_future()

    def fire(self) -> None:
        """Let it go on."""
        self._end(fired=True)

    async def wait(self, seconds: float | None = None) -> bool:
        """Until fired (True) or the time is over (False)."""
        if seconds is None:
            return await self._future
        # One timer: `asyncio.wait` would cost a quarter of a short round trip.
        timer = self._loop.call_later(max(0.0, seconds), self._run_out)
        try:
            return await self._future
        finally:
            timer.cancel()

    def _run_out(self) -> None:
        self._end(fired=False)

    def _end(self, *, fired: bool) -> None:
        if not self._future.done():
            self._future.set_result(fired)


class LoopEngine(Host):
    """Drives a session with the loop's own sockets and timer."""

    async def start(self) -> None:
        """Begin on the running loop."""
        self._loop = asyncio.get_running_loop()
        await self._start_driver()

    async def stop(self) -> None:
        """Close every connection and the kept state."""
        await self._stop_driver()

    async def until(self, condition: Callable[[], bool], seconds: float | None) -> bool:
        """Wait until a condition on the session holds or the session is over (True), or the time is over (False)."""
        with self.lock:
            if condition() or self.over is not None:
                return True
            latch: TaskLatch = self.expect(condition)
        fired = False
        try:
            fired = await latch.wait(seconds)
        finally:
            if not fired:
                with self.lock:
                    self.forget(latch)
        return fired

    async def wait_for(self, done: Callable[[], bool], *what: Waitable, seconds: float | None = None) -> bool:
        """Wait until `done` (True) or the time is over (False), looking whenever `what` has news. Raises the end."""
        end = self.deadline(seconds)
        while True:
            with self.lock:
                if done():
                    return True
                self.check()
                latch: TaskLatch = self.watch(*what)
            fired = False
            try:
                fired = await latch.wait(self.left(end))
            finally:
                if not fired:
                    with self.lock:
                        self.unwatch(latch, *what)
            if not fired:
                return False

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
