"""Connections on their way up.

Owns: one task per dial. Each ends in exactly one of: the connection came up, it failed, or it was given up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from causeway.core.effects import Dial
from causeway.limits import DIAL_SECONDS_MAX


class Dialer:
    """Dials; `make` gives the protocol of a new connection, `failed` hears of those that do not come up."""

    def __init__(self, make: Callable[[int], asyncio.Protocol], failed: Callable[[int, str], None]) -> None:
        self._make = make
        self._failed = failed
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def dial(self, dial: Dial) -> None:
        """Begin."""
        self._tasks[dial.conn] = self._loop.create_task(self._run(dial))

    def settle(self, number: int) -> bool:
        """The connection came up or failed; whether it was still wanted."""
        return self._tasks.pop(number, None) is not None

    def give_up(self, number: int) -> None:
        """Nothing is heard of this dial any more."""
        task = self._tasks.pop(number, None)
        if task is not None:
            task.cancel()

    async def stop(self) -> None:
        """Give up all."""
        tasks = list(self._tasks.values())
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, dial: Dial) -> None:
        try:
            async with asyncio.timeout(DIAL_SECONDS_MAX):
                await self._loop.create_connection(lambda: self._make(dial.conn), dial.host, dial.port)
        except TimeoutError:
            self._failed(dial.conn, f"it did not answer within {DIAL_SECONDS_MAX} s")
        except ConnectionRefusedError:
            self._failed(dial.conn, "nobody listens there")
        except (OSError, ValueError, OverflowError) as error:
            # The name may also not be one at all (UnicodeError is a ValueError), nor the port.
            self._failed(dial.conn, str(error))
