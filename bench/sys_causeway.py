"""Causeway as a system of an outside harness that measures other brokers, so that all stand in one run.

    PYTHONPATH=.:$PEERBENCH .venv/bin/python $PEERBENCH/run_all.py --out build/peers.jsonl bench.sys_causeway sys_zmq

PEERBENCH is the folder of that harness: one producer, broker and consumers, with its own clocks, windows and tables.
The workers are those of `bench.ours`; this file only translates.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench import ours

harness: Any = importlib.import_module("harness")

PORT = 27400


class Translated:
    """The outside harness's context, as a `bench.harness.Run`."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self.count, self.size, self.port = context.n, context.size, PORT
        self.topic: str = context.topic
        self.payload, self.begin, self.mark = context.payload, context.begin, context.mark
        self.wait_go, self.throttle, self.behind = context.wait_go_async, context.throttle_async, context.behind
        self.confirm, self.attached = context.confirmed, context.ready

    async def wait_received(self) -> None:
        while min(self._context.progress) < self.count:
            self._context.check_time()
            await asyncio.sleep(0.005)

    async def ping(self, once: Callable[[], Awaitable[object]]) -> Any:
        return await harness.ping_loop_async(self._context, once)


def express(context: Any) -> None:
    ours.express_producer(Translated(context))  # type: ignore[arg-type]


def recoverable(context: Any) -> None:
    ours.recoverable_producer(Translated(context))  # type: ignore[arg-type]


def consume(context: Any) -> None:
    ours.consumer(Translated(context))  # type: ignore[arg-type]


def ping(context: Any) -> list[int]:
    return ours.pinger(Translated(context))  # type: ignore[arg-type]


def pong(context: Any) -> None:
    ours.ponger(Translated(context))  # type: ignore[arg-type]


SERVERS = [harness.Server("causeway", lambda folder: ours.broker_command(PORT, Path(folder) / "data"), PORT)]
ONE = {"server": "causeway", "fanouts": (1,)}
CASES = [
    harness.Case("a", "causeway", "causeway", "express, no acknowledgement", express, consume, n0=100_000, **ONE),
    harness.Case("b", "causeway", "causeway", "recoverable, SQLite synced", recoverable, consume, n0=20_000, **ONE),
    harness.Case("c", "causeway", "causeway", "express, non-persistent ping-pong", ping, pong, sizes=(128,), **ONE),
]
