"""The real driver behind the suite's interface: uvloop, sockets on the loopback, SQLite in a temporary directory.

All places live in one process. A crash leaves what a killed process leaves: the storage is what its files were at that
instant, and the next life begins on a copy of them.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import uvloop

from causeway.config import BrokerConfig
from causeway.core.machine import Machine
from causeway.drivers.aio.broker import BrokerDriver, NodeFactory
from causeway.drivers.aio.exits import Exit
from causeway.drivers.aio.machine import MachineDriver
from causeway.store.base import Store, Write
from causeway.store.disk import DiskStore
from causeway.store.identity import draw_storage_id
from causeway.store.journal import FILE_NAMES as JOURNAL_NAMES
from causeway.store.sqlite import FILE_NAME, LOG_NAME
from tests.conformance.worlds import SECONDS_MAX, Address, ObservedMemory, Place, World

HOST = "127.0.0.1"
POLL_SECONDS = 0.001


class ObservedDisk(DiskStore):
    """Takes its time, and says when it has committed."""

    def __init__(self, path: Path, place: Place) -> None:
        super().__init__(path)
        self._place = place
        self._never = threading.Event()

    def commit(self, writes: Sequence[Write]) -> None:
        if self._place.commit_seconds:
            self._never.wait(self._place.commit_seconds)
        super().commit(writes)
        self._place.committed(writes)


class AioPlace(Place):
    def __init__(self, name: str, durability: str, directory: Path) -> None:
        super().__init__(name, durability)
        self._directory = directory
        self._copies = 0
        self.driver: MachineDriver | None = None
        self.broker: BrokerDriver | None = None
        self.exit: asyncio.Task[Exit] | None = None

    @property
    def data(self) -> Path:
        return self._directory / f"{self.name}-{self._copies}"

    def store(self) -> Store:
        if self.durability == "memory":
            return ObservedMemory(self, draw_storage_id)
        return ObservedDisk(self.data, self)

    def freeze(self) -> None:
        """Copy the files as they are: the journal last, as the table counts on it. What is half written is torn."""
        source = self.data
        self._copies += 1
        self.data.mkdir()
        for name in (FILE_NAME, LOG_NAME, *JOURNAL_NAMES):
            if (source / name).exists():
                size = os.stat(source / name).st_size
                with (source / name).open("rb") as file:
                    (self.data / name).write_bytes(file.read(size))


class AioWorld(World):
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
        self._places: list[AioPlace] = []
        self._trouble: list[str] = []
        self._runner.get_loop().set_exception_handler(lambda _, context: self._trouble.append(str(context)))

    def place(self, name: str, durability: str = "disk") -> Place:
        place = AioPlace(name, durability, self._directory)
        self._places.append(place)
        return place

    def start(self, place: Place, make: NodeFactory, config: BrokerConfig | None = None) -> None:
        assert isinstance(place, AioPlace)
        self._runner.run(self._start(place, make, config or BrokerConfig(name=place.name, durability=place.durability)))

    async def _start(self, place: AioPlace, make: NodeFactory, config: BrokerConfig) -> None:
        # The first life takes any free port, the following ones the same again.
        config = msgspec.structs.replace(config, host=HOST, port=place.address[1])
        place.broker = BrokerDriver(config, place.store(), make)
        me = await place.broker.start()
        place.address = (me.host, me.port)
        place.exit = asyncio.get_running_loop().create_task(place.broker.wait_exit())
        place.driver = place.broker._driver
        place.machine = place.broker._node

    def start_client(self, place: Place, machine: Machine, on_turn: Callable[[], None]) -> None:
        assert isinstance(place, AioPlace)
        place.machine = machine
        self._runner.run(self._start_client(place, on_turn))

    async def _start_client(self, place: AioPlace, on_turn: Callable[[], None]) -> None:
        assert place.machine is not None
        place.driver = MachineDriver(
            place.machine, on_crash=lambda error: self._trouble.append(repr(error)), on_turn=on_turn
        )
        place.driver.start()

    def crash(self, place: Place) -> None:
        assert isinstance(place, AioPlace)
        self._runner.run(self._crash(place))

    async def _crash(self, place: AioPlace) -> None:
        if place.broker is not None and place.durability == "disk":
            place.freeze()
        await self._stop(place)

    async def _stop(self, place: AioPlace) -> None:
        driver, place.driver, place.machine = place.driver, None, None
        broker, place.broker = place.broker, None
        exit_, place.exit = place.exit, None
        if broker is not None:
            # Its first step, before anything else can happen here, is to let nothing more out.
            await broker.stop()
        elif driver is not None:
            await driver.stop()
        if exit_ is not None:
            await exit_

    def leave(self, place: Place) -> None:
        assert isinstance(place, AioPlace)
        self._runner.run(self._leave(place))

    async def _leave(self, place: AioPlace) -> None:
        assert place.broker is not None
        await place.broker.leave()
        await self._stop(place)

    def poke(self, place: Place) -> None:
        assert isinstance(place, AioPlace)
        assert place.driver is not None
        place.driver.wake()

    def nowhere(self) -> Address:
        with socket.socket() as unused:
            unused.bind((HOST, 0))
            return HOST, unused.getsockname()[1]

    def run_until(self, what: Callable[[], object], seconds_max: float = SECONDS_MAX) -> None:
        self._runner.run(self._poll(what, seconds_max))

    async def _poll(self, what: Callable[[], object], seconds_max: float) -> None:
        end = time.monotonic() + seconds_max
        while not what():
            self._check()
            assert time.monotonic() < end, f"did not come true within {seconds_max} s"
            await asyncio.sleep(POLL_SECONDS)
        self._check()

    def _check(self) -> None:
        assert not self._trouble, self._trouble
        ended = [(place.name, place.exit.result().name) for place in self._places if place.exit and place.exit.done()]
        assert not ended, f"ended by itself, see the log: {ended}"

    def close(self) -> None:
        async def stop_all() -> None:
            for place in self._places:
                await self._stop(place)

        self._runner.run(stop_all())
        self._runner.close()
