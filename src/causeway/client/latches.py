"""What a task waits with."""

from __future__ import annotations

import asyncio


class TaskLatch:
    """One waiting task."""

    __slots__ = ("future",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.future: asyncio.Future[bool] = loop.create_future()
        """True when fired, False when the time is over."""

    def fire(self) -> None:
        """Let it go on."""
        if not self.future.done():
            self.future.set_result(True)

    def run_out(self) -> None:
        """Its time is over."""
        if not self.future.done():
            self.future.set_result(False)
