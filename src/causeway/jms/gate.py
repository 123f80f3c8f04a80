"""The gate of a connection: messages are handed out while it is open. Owns: one condition, and nothing else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Gate:
    """Closed at first; `connection.start` and `stop` open and close it, and `connection.close` ends it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open = False
        self._over = False

    @property
    def is_open(self) -> bool:
        """Whether messages may pass."""
        return self._open

    def open(self) -> None:
        """Let messages pass."""
        with self._changed:
            self._open = True
            self._changed.notify_all()

    def shut(self) -> None:
        """Let none pass for now."""
        with self._changed:
            self._open = False

    def end(self) -> None:
        """Let none pass, and nobody wait, any more."""
        with self._changed:
            self._open = False
            self._over = True
            self._changed.notify_all()

    def interrupt(self) -> None:
        """Let whoever waits look again whether it still wants to."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, seconds: float | None, wanted: Callable[[], bool]) -> bool:
        """Until it is open (True), the time is over, it has ended, or nobody wants to pass any more (False)."""
        end = None if seconds is None else time.monotonic() + seconds
        with self._changed:
            while not self._open:
                left = None if end is None else end - time.monotonic()
                if self._over or not wanted() or (left is not None and left <= 0):
                    return False
                self._changed.wait(left)
            return True
