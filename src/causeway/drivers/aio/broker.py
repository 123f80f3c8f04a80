"""One broker on real sockets and a real disk: store, listener, machine, and how each of them ends.

Owns: the life of a broker from opening its store to its exit code. Must not know: any protocol.

Crash-only: an exception out of the machine is our bug, and a StoreError while running means that something was asked
to be durable and is not. Neither can be gone on from without lying to somebody, so the broker acknowledges nothing
more and the process ends with a code that says which it was. What it had acknowledged is on its disk and on the copies.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol, cast

import msgspec

from causeway.config import BrokerConfig
from causeway.core.effects import Effects
from causeway.core.events import LeaveRequested
from causeway.core.machine import Machine
from causeway.core.messages import Goodbye, Message, StoryReply, StoryRequest
from causeway.drivers.aio import capability
from causeway.drivers.aio.clock import SystemClock
from causeway.drivers.aio.connection import Connection
from causeway.drivers.aio.exits import Exit
from causeway.drivers.aio.fitness import FitnessWatch
from causeway.drivers.aio.listener import bind
from causeway.drivers.aio.machine import MachineDriver
from causeway.drivers.aio.planning import Planning
from causeway.drivers.aio.storage import InlineStorage, Storage, ThreadStorage
from causeway.drivers.aio.story import RecentTrace
from causeway.errors import Code, ConfigError, StoreCorrupt, StoreError
from causeway.lake.opening import open_recorder
from causeway.limits import CONNECTIONS_MAX, CONNECTIONS_WAITING_MAX, LEAVE_SECONDS_MAX
from causeway.store.base import LOCAL, Store
from causeway.store.disk import DiskStore
from causeway.store.memory import MemoryStore
from causeway.types import Peer, key_of
from causeway.wire.codec import encode_frame

if TYPE_CHECKING:
    from causeway.lake.recorder import Recorder

log: Final = logging.getLogger("causeway.driver")


class DrivenBroker(Machine, Protocol):
    """A machine that can leave."""

    @property
    def left(self) -> bool:
        """Whether everything was handed over: the driver may stop."""

    @property
    def refusal(self) -> str:
        """Why it is not seated in the domains of its configuration."""

    @property
    def handled(self) -> int:
        """Messages so far."""


NodeFactory = Callable[[BrokerConfig, Peer, int, random.Random], DrivenBroker]


class BrokerDriver:
    """Start it, wait for its exit code. One use."""

    def __init__(
        self,
        config: BrokerConfig,
        store: Store,
        make_node: NodeFactory,
        *,
        allow_network: bool = False,
        on_refused: Callable[[str], None] | None = None,
    ) -> None:
        self._config = config.check()
        self._store = store
        self._make_node = make_node
        self._allow_network = allow_network
        self._trace = RecentTrace()
        self._lake: Recorder | None = None
        self._exit: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self._left = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._storage: Storage | None = None
        self._node: DrivenBroker | None = None
        self._driver: MachineDriver | None = None
        self._inbound_last = 0
        self._is_new = False
        """Its store was empty: nobody counts on it yet."""
        self._refusal = ""
        self._on_refused: Callable[[str], None] | None = on_refused
        self._parting: asyncio.Task[None] | None = None
        self._fitness: FitnessWatch | None = None
        self._planning: Planning | None = None

    async def start(self) -> Peer:
        """Open the store, bind, let the machine begin; the broker's own address. Raises ConfigError or StoreError."""
        loop = asyncio.get_running_loop()
        config = self._config
        listener = bind(config.host, config.port, allow_network=self._allow_network)
        try:
            storage_id = await loop.run_in_executor(None, self._store.open)
            address = listener.getsockname()
            me = Peer(key_of(config.name), config.name, address[0], address[1], storage_id)
            self._report_recovery()
            self._is_new = await loop.run_in_executor(None, self._is_blank)
            config = await loop.run_in_executor(None, self._founding_checked)
            if not config.capability:
                measured = await loop.run_in_executor(None, capability.measure)
                config = msgspec.structs.replace(config, capability=measured)
            # The incarnation: read from the clock, so that each life of a broker has a higher one than the last.
            clock = SystemClock()
            if config.lake:
                self._lake = self._open_lake(clock)
            self._node = self._make_node(config, me, clock.now(), random.Random(secrets.randbits(128)))
            self._driver = MachineDriver(
                self._node,
                on_crash=lambda _: self.end(Exit.CRASH),
                needed_by_others=True,
                on_turn=self._after_turn,
                on_further=self._perform_further,
                answers={StoryRequest: self._tell_story},
                clock=clock,
                alert=config.alert,
            )
            if isinstance(self._store, MemoryStore):
                self._storage = InlineStorage(self._store, self._driver.stored)
            else:
                self._storage = ThreadStorage(self._store, self._driver.stored, self._storage_failed)
            self._planning = Planning(self._driver.post)
            self._driver.start(self._storage)
            self._server = await loop.create_server(self._accept, sock=listener, backlog=CONNECTIONS_WAITING_MAX)
        except BaseException:
            listener.close()
            await self.stop()
            raise
        log.info("broker %s listens on %s:%s", me.name, me.host, me.port)
        return me

    def watch_fitness(self) -> None:
        """Measure from now on how fit we are, if there is a landmark who wants to know."""
        driver, node = self._driver, self._node
        if self._config.domains and self._fitness is None and driver is not None and node is not None:
            data = self._store.path if isinstance(self._store, DiskStore) else None
            self._fitness = FitnessWatch(self._config, data, driver, lambda: node.handled)
            self._fitness.start()

    async def wait_exit(self) -> Exit:
        """Until the broker ends by itself, by `leave`, or by its own failure."""
        return await asyncio.shield(self._exit)

    async def leave(self, how: Exit = Exit.OK) -> None:
        """Hand over and stop; or just stop when that takes too long, with an exit code that says so."""
        if self._driver is not None and not self._exit.done():
            self._driver.post(LeaveRequested())
            try:
                async with asyncio.timeout(LEAVE_SECONDS_MAX):
                    await self._left.wait()
            except TimeoutError:
                log.error(
                    "the hand-over took longer than %s s: stopping without it. Others may still count on the data of "
                    "broker %s; start it again, then tell it to leave again when all brokers run",
                    LEAVE_SECONDS_MAX,
                    self._config.name,
                )
                self.end(Exit.NOT_HANDED_OVER)
        self.end(how)

    async def stop(self) -> None:
        """Let go of everything: listener, connections, storage. Idempotent; sends no farewell."""
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._parting is not None and self._parting is not asyncio.current_task():
            self._parting.cancel()
        if self._fitness is not None:
            await self._fitness.stop()
        if self._planning is not None:
            self._planning.stop()
        if self._driver is not None:
            await self._driver.stop()
        storage, self._storage = self._storage, None
        if storage is not None:
            await asyncio.get_running_loop().run_in_executor(None, storage.close)
        else:
            self._store.close()
        if self._lake is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._lake.close)
        self.end(Exit.OK)

    def end(self, how: Exit) -> None:
        """Settle the exit code; the first one counts."""
        if not self._exit.done():
            self._exit.set_result(how)
            self._left.set()

    def _open_lake(self, clock: SystemClock) -> Recorder:
        config = self._config
        who = (config.name, "broker", clock.now(), config.domains[0] if config.domains else "")
        bounds = {"bytes_max": config.lake_bytes_max, "every": config.lake_every}
        return open_recorder(config.lake, who, clock.now, **bounds, copies=config.copies)

    def _perform_further(self, effects: Effects) -> None:
        self._trace.add(effects.traces)
        if self._lake is not None and effects.traces:
            self._lake.add(effects.traces)
        if self._planning is not None:
            self._planning.start(effects.plans)

    def _after_turn(self) -> None:
        node = self._node
        if node is None:
            return
        if node.left:
            self._left.set()
        if self._config.domains and node.refusal != self._refusal:
            self._refusal = node.refusal
            self._refuse(node.refusal)  # once: nobody asks again for what was refused

    def _refuse(self, detail: str) -> None:
        """The domains of its configuration cannot be: a new broker ends, an older one goes on with the seat it had."""
        log.error("broker %s is not seated as configured: %s", self._config.name, detail)
        if self._on_refused is not None:
            self._on_refused(detail)
        if self._is_new and self._parting is None:
            self._parting = asyncio.get_running_loop().create_task(self.leave(Exit.REFUSED))

    def _accept(self) -> asyncio.Protocol:
        assert self._driver is not None
        if len(self._driver.connections) >= CONNECTIONS_MAX:
            return _Refusal()
        self._inbound_last += 2
        return Connection(self._driver, self._inbound_last)

    def _tell_story(self, connection: Connection, request: Message) -> None:
        assert isinstance(request, StoryRequest)
        connection.say(StoryReply(request.token), self._trace.story(request))
        connection.flush()

    def _report_recovery(self) -> None:
        if isinstance(self._store, DiskStore) and self._store.recovered_from is not None:
            log.error(
                "the database of broker %s was malformed and is kept as %s; a new one was begun, "
                "its rows come from the copies on other brokers",
                self._config.name,
                self._store.recovered_from,
            )

    def _is_blank(self) -> bool:
        found = self._store.scan(LOCAL, b"", b"", 1)
        return not found.rows and not found.corrupt

    def _founding_checked(self) -> BrokerConfig:
        """The configuration, without leave to found where a lost database says that there was a cluster already.

        Asked at every start until the broker is in: a supervisor starts it again with the same words.
        """
        config, store = self._config, self._store
        if not config.founder or not isinstance(store, DiskStore) or not store.condemned:
            return config
        if not self._is_new:
            return config
        if not config.seeds:
            remedy = (
                f"the database of this founder was malformed and is kept as {store.condemned[0]}: to found again would "
                "split its cluster; give --seed host:port of a broker of the cluster (or, if there was no other, take "
                "that file away to begin anew)"
            )
            log.error("broker %s does not found: %s", config.name, remedy)
            raise ConfigError("seed", None, remedy)
        return msgspec.structs.replace(config, founder=False)

    def _storage_failed(self, error: BaseException) -> None:
        """Nothing that waited for this commit may be acknowledged, so there is nothing left to do here."""
        if isinstance(error, StoreCorrupt):
            log.critical("broker %s stops: %s", self._config.name, error)
            self.end(Exit.CORRUPT)
        elif isinstance(error, StoreError):
            log.critical("broker %s stops, because nothing more can be acknowledged: %s", self._config.name, error)
            self.end(Exit.STORE)
        else:
            log.critical("a bug in Causeway: the storage thread failed", exc_info=error)
            self.end(Exit.CRASH)

    def unexpected(self, loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        """The loop's exception handler: what no code of ours caught. The loop would go on in an unknown state."""
        del loop
        error = context.get("exception")
        if isinstance(error, OSError):
            # A peer's connection broke in a way the event loop did not expect: that connection is closed already.
            log.info("a connection failed: %s (%s)", error, context.get("message"))
            return
        log.critical(
            "a bug in Causeway: %s", context.get("message"), exc_info=error if isinstance(error, Exception) else None
        )
        self.end(Exit.CRASH)


class _Refusal(asyncio.Protocol):
    """One connection too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        detail = f"the broker has its {CONNECTIONS_MAX} connections; connect to another one, or close some"
        log.info("refused a connection: %s", detail)
        writable = cast("asyncio.WriteTransport", transport)
        writable.write(encode_frame(Goodbye(int(Code.OVERLOADED), detail)))
        writable.close()
