"""The event loop of brokers, of the sync client and of the demo: uvloop's where it is installed.

It has no wheels for Windows and PyPy. Asyncio's own loop does the same there, with fewer messages a second.
"""

from __future__ import annotations

import asyncio


def new_event_loop() -> asyncio.AbstractEventLoop:
    """The fastest loop there is here."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
