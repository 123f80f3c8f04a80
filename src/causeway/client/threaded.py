"""A session on an event loop in a thread of its own: the driver of the sync client.

The thread keeps the session alive whatever the application does meanwhile: heartbeats, reconnects and deliveries never
wait for it. Callers change the session under its lock and wait on plain locks.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import threading
import time
import weakref
from collections.abc import Callable, Coroutine
from typing import Final, TypeAlias

from causeway.client.arguments import check_wait
from causeway.client.batches import Ticket
from causeway.client.hosting import LEAVE_SECONDS, Found, Host, Waitable
from causeway.client.lots import Lot
from causeway.drivers.aio.loops import new_event_loop
from causeway.wire.headers import Headers

Noted: TypeAlias = None
NOTED: Final = None
"""What calls return that only note something; without asyncio nothing is awaited. With kept state an acknowledgement is
on disk by then."""


class ThreadLatch:
    """One waiting thread."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def fire(self) -> None:
        """Let it go on; called under the host's lock, so nobody comes between."""
        if self._lock.locked():
            self._lock.release()

    def wait(self, seconds: float | None = None) -> bool:
        """Until fired (True) or the time is over (False)."""
        return self._lock.acquire(timeout=-1 if seconds is None else max(0.0, seconds))


class ThreadEngine(Host):
    """Drives a session in the background."""

    def start(self) -> None:
        """Start the thread; raises what kept the session from starting."""
        self._loop = new_event_loop()
        self._thread = threading.Thread(target=self._run, name=f"causeway-{self.session.name}", daemon=True)
        self._thread.start()
        try:
            self._call(self._start_driver())
        except BaseException:
            self._end_thread()
            raise
        _started.add(self)

    def stop(self) -> None:
        """Close every connection and the kept state, and end the thread; idempotent."""
        if self._thread.is_alive():
            self._call(self._stop_driver())
            self._end_thread()

    def until(self, condition: Callable[[], bool], seconds: float | None) -> bool:
        """Wait until a condition on the session holds or the session is over (True), or the time is over (False)."""
        check_wait(seconds)
        with self.lock:
            if condition() or self.over is not None:
                return True
            latch: ThreadLatch = self.expect(condition)
        fired = False
        try:
            fired = latch.wait(seconds)
        finally:
            if not fired:
                with self.lock:
                    self.forget(latch)
        return fired

    def wait_for(self, look: Callable[[], Found], *what: Waitable, seconds: float | None = None) -> Found | None:
        """Look whenever `what` has news until something is found; None when the time is over. Raises the end."""
        check_wait(seconds)
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            with self.lock:
                found = look()
                if found:
                    return found
                if self.over is not None:
                    raise self.over
                latch: ThreadLatch = self.watch(*what)
            fired = False
            try:
                fired = latch.wait(None if end is None else end - time.monotonic())
            finally:
                if not fired:
                    with self.lock:
                        self.unwatch(latch, *what)
            if not fired:
                return None

    def submit(self, key: tuple[object, ...], body: object, headers: Headers | None) -> Ticket | None:
        """Send with the lane of this key; None when there is none yet."""
        with self.lock:
            lane = self.lanes.get(key)
            if lane is None:
                return None
            ticket = self.append(lane, body, headers)
            if not self.waking:
                self.wake()
            return ticket

    def settle(self, lot: Lot, first: int, last: int) -> None:
        """Acknowledge messages of a lot."""
        with self.lock:
            self.check()
            self.accept(lot, first, last)
            if not self.waking:
                self.wake()

    def noted(self) -> Noted:
        """Something was acknowledged: with kept state, wait until that is on our own disk."""
        session = self.session
        if session.config.keep:
            with self.lock:
                mark = session.mark()
            self.until(lambda: session.keeps(mark), None)
            self.check()

    def breathe(self) -> None:
        """The thread needs no help."""

    async def _leave(self, seconds: float) -> None:
        await super()._leave(seconds)
        self._loop.call_soon(self._loop.stop)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    def finish(self) -> None:
        """Let what is under way finish, if nobody has closed the bus."""
        if self.over is None:
            self.abandon(LEAVE_SECONDS)
            self._thread.join()

    def _call(self, work: Coroutine[object, object, None]) -> None:
        future: concurrent.futures.Future[None] = asyncio.run_coroutine_threadsafe(work, self._loop)
        future.result()

    def _end_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _wake_driver(self) -> None:
        if self.driver is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.driver.wake)

    _wake_soon = _wake_driver

    def _new_latch(self) -> ThreadLatch:
        return ThreadLatch()


_started: weakref.WeakSet[ThreadEngine] = weakref.WeakSet()


@atexit.register
def _finish_all() -> None:
    """The program ends, and its daemon threads with it: buses that are open finish first."""
    for engine in list(_started):
        engine.finish()
