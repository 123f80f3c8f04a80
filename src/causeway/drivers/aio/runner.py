"""The process of one broker: event loop, signals, exit code.

Owns: everything that is set per process. Must not know: anything about brokers but how to start and stop one.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from causeway.config import BrokerConfig
from causeway.drivers.aio.broker import BrokerDriver, NodeFactory
from causeway.drivers.aio.exits import Exit
from causeway.drivers.aio.loops import new_event_loop
from causeway.errors import ConfigError
from causeway.limits import CONNECTIONS_MAX
from causeway.probes.needs import DEFAULT_PROBES, read_needs
from causeway.store.base import Store
from causeway.store.disk import DiskStore
from causeway.store.memory import MemoryStore
from causeway.types import Peer

log: Final = logging.getLogger("causeway.driver")

SWITCH_SECONDS: Final = 0.00002
"""How long the storage thread waits for the interpreter while the event loop is busy. Beside a thread that spins,
Python's own 5 ms, paid around every SQL statement, made commits 10 to 60 times slower. The event loop lets go far
more often than that: with a real broker's load no difference was seen, so this guards the worst case only."""

DESCRIPTORS_BESIDE_CONNECTIONS: Final = 64


def run_broker(
    config: BrokerConfig,
    data: Path | None,
    *,
    ready: Callable[[Peer], None] | None = None,
    refused: Callable[[str], None] | None = None,
    allow_network: bool = False,
    make_node: NodeFactory | None = None,
) -> int:
    """Run one broker in this process until it is told to stop; the process's exit code (see `exits`).

    SIGTERM and SIGINT stop it: it keeps its place and its storage and is expected back (a rolling restart must not
    move every mailbox twice). SIGUSR1 makes it leave for good: it hands everything over first, then stops. SIGHUP does
    nothing.
    `ready` hears its address, `refused` why the domains of its configuration are not its own.
    Raises ConfigError or StoreError when it cannot even start.
    """
    store = choose_store(config.check(), data)
    if config.probes != DEFAULT_PROBES:
        from causeway.probes.registry import find_probes

        find_probes(need.probe for need in read_needs(config.probes))  # before anything is opened: it may name none
    _prepare_process()

    def make_driver() -> BrokerDriver:
        node = make_node or _default_node()
        return BrokerDriver(config, store, node, allow_network=allow_network, on_refused=refused)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return int(runner.run(_serve(make_driver, ready)))


def choose_store(config: BrokerConfig, data: Path | None) -> Store:
    """Memory only when it was asked for: without a directory there is no stable storage to acknowledge from."""
    if config.durability == "memory":
        return MemoryStore()
    if data is None:
        raise ConfigError("data", data, "durability 'disk' needs a data directory (or choose durability 'memory')")
    return DiskStore(data)


def _default_node() -> NodeFactory:
    from causeway.core.node import Node

    return Node


async def _serve(make_driver: Callable[[], BrokerDriver], ready: Callable[[Peer], None] | None) -> Exit:
    loop = asyncio.get_running_loop()
    driver = make_driver()
    loop.set_exception_handler(driver.unexpected)
    leaving: list[asyncio.Task[None]] = []

    def stop(number: signal.Signals) -> None:
        log.info("%s: stopping", number.name)
        driver.end(Exit.OK)

    def leave() -> None:
        if not leaving:
            log.info("SIGUSR1: handing over and leaving")
            leaving.append(loop.create_task(driver.leave()))

    def hang_up() -> None:
        log.info("SIGHUP: nothing to do; settings are read at the start, and the log is whatever standard error is")

    me = await driver.start()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    loop.add_signal_handler(signal.SIGUSR1, leave)
    loop.add_signal_handler(signal.SIGHUP, hang_up)
    try:
        gc.collect()
        gc.freeze()
        if ready is not None:
            ready(me)
        driver.watch_fitness()
        return await driver.wait_exit()
    finally:
        for task in leaving:
            task.cancel()
        await driver.stop()


def _prepare_process() -> None:
    # A terminal that is closed, or somebody who wants logs reopened, must not end a broker; it says so once it listens.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    sys.setswitchinterval(SWITCH_SECONDS)
    # A turn makes many objects that die with it; looking for cycles among them that often only costs time.
    gc.set_threshold(20_000, 20, 50)
    wanted = CONNECTIONS_MAX + DESCRIPTORS_BESIDE_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
