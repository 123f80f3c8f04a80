"""A cluster of real brokers for users' tests: processes on free ports, killed, paused and restarted at will.

Owns: their directory, when it is a temporary one. The processes are `causeway.local.cluster`'s; this waits for it,
with or without a running event loop. Every call has a bound; nothing is left behind by `stop`.

    with LocalCluster(brokers=3) as cluster:               # or: async with
        bus = causeway.connect(cluster.url, name="test")
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

from causeway.domains.graph import check_domain
from causeway.domains.layouts import MAIN
from causeway.errors import ConfigError
from causeway.lake.locations import locate
from causeway.local import runfile
from causeway.local.cluster import START_SECONDS_MAX, ProcessCluster
from causeway.local.pids import ProcessId
from causeway.local.plan import names_of, plan
from causeway.local.runfile import RunFile
from causeway.local.seating import Seating

T = TypeVar("T")
_PREFIX: Final = "b"


class LocalBroker:
    """One broker of a LocalCluster."""

    def __init__(self, name: str, cluster: ProcessCluster) -> None:
        self.name = name
        self._cluster = cluster

    @property
    def port(self) -> int:
        """Where it listens; 0 before its first start."""
        return self._cluster.entry(self.name).port

    @property
    def process(self) -> ProcessId | None:
        """Its process; None when it was killed, stopped or never started."""
        return self._cluster.entry(self.name).process

    @property
    def running(self) -> bool:
        """Whether its process lives (paused or not)."""
        return self._cluster.entry(self.name).running

    @property
    def paused(self) -> bool:
        """Whether it was frozen."""
        return self.name in self._cluster.paused

    @property
    def log(self) -> Path:
        """What it wrote."""
        return self._cluster.log(self.name)


class LocalCluster:
    """Real broker processes on this machine, for `with` or `async with`.

    Args:
        brokers: how many.
        spares: how many more that hold no seat and take that of a broker which fails; the last ones of `brokers`.
        durability: "memory" (fast) or "disk" (acknowledged messages survive SIGKILL of every broker).
        copies: K, brokers that hold a mailbox.
        data: a directory to keep, whose cluster is resumed; None for a temporary one that `stop` removes.
        lake: a folder of a trace lake that the brokers write (docs/lake.md); None for none.
        domains: where brokers are seated, for messages in causal order: one domain for all, or for each broker one or
            several, for example ["west", ["west", "east"], "east"], whose second broker joins the two; None for none.
    """

    def __init__(
        self,
        brokers: int = 3,
        *,
        spares: int | None = None,
        durability: str = "memory",
        copies: int = 3,
        data: str | Path | None = None,
        domains: str | Sequence[str | Sequence[str]] | None = MAIN,
        lake: str | Path | None = None,
    ) -> None:
        found = None if data is None else runfile.load(Path(data))
        run = plan(
            found,
            brokers=brokers,
            spares=spares,
            durability=durability,
            copies=copies,
            port=0,
            prefix=_PREFIX,
            settings=None if lake is None else {"lake": locate(lake).absolute()},
            seating=_seating(found, brokers, domains),
        )
        self._temporary = data is None
        directory = Path(tempfile.mkdtemp(prefix="causeway-")) if data is None else Path(data).absolute()
        runfile.prepare_data_dir(directory)
        self._cluster = ProcessCluster(directory, run)
        self.brokers = [LocalBroker(name, self._cluster) for name in self._cluster.names]

    @property
    def url(self) -> str:
        """How clients reach it; names every broker."""
        return self._cluster.url

    # Life ------------------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Start every broker and wait until all have joined. Raises with a broker's last words."""
        try:
            _wait(self._start())
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop every broker (SIGKILL after a while) and remove what is temporary; idempotent."""
        if self._cluster.data.exists():
            _wait(self._cluster.stop())
        if self._temporary:
            shutil.rmtree(self._cluster.data, ignore_errors=True)

    def wait_settled(self, seconds_max: float = START_SECONDS_MAX) -> None:
        """Until every running broker has joined and any one of them may die. Raises DeadlineExceeded."""
        _wait(self._cluster.wait_active(seconds_max))

    # Trouble ---------------------------------------------------------------------------------------------------
    def kill(self, index: int) -> None:
        """SIGKILL one broker."""
        _wait(self._cluster.kill(self._broker(index).name))

    def restart(self, index: int) -> None:
        """Start a killed broker again, on its port and with its data; returns when it has joined."""
        broker = self._broker(index)
        if broker.running:
            raise ConfigError("index", index, "is running; kill it first")
        _wait(self._restart(broker.name))

    def restart_all(self) -> None:
        """Start every killed broker again; returns when all have joined."""
        _wait(self._start())

    def pause(self, index: int) -> None:
        """Freeze one broker (SIGSTOP): it keeps its connections and says nothing."""
        self._cluster.pause(self._broker(index).name)

    def resume(self, index: int) -> None:
        """Let a frozen broker go on."""
        self._cluster.resume(self._broker(index).name)

    def status(self, index: int) -> dict[str, Any]:
        """What one broker says about itself."""
        return _wait(self._cluster.status(self._broker(index).name))

    def _broker(self, index: int) -> LocalBroker:
        count = len(self.brokers)
        if type(index) is not int or not -count <= index < count:
            raise ConfigError("index", index, f"must be a place in `brokers`, 0 to {count - 1}; b1 has 0")
        return self.brokers[index]

    async def _start(self) -> None:
        await self._cluster.start()
        await self._cluster.wait_active()

    async def _restart(self, name: str) -> None:
        await self._cluster.restart(name)
        await self._cluster.wait_active()

    # Context managers ------------------------------------------------------------------------------------------
    def __enter__(self) -> LocalCluster:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> LocalCluster:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)


def _seating(found: RunFile | None, brokers: int, domains: str | Sequence[str | Sequence[str]] | None) -> Seating:
    """Where brokers shall sit; a cluster that is resumed keeps its domains, unless more are asked for."""
    if domains is None:
        return Seating(nobody=True)
    if isinstance(domains, str):
        check_domain("domains", domains)
        return Seating(domain=domains) if domains != MAIN else Seating()
    if len(domains) != brokers:
        raise ConfigError("domains", domains, f"must have an entry for each of the {brokers} brokers")
    wanted = [[names] if isinstance(names, str) else names for names in domains]
    for name in (name for names in wanted for name in names):
        check_domain("domains", name)
    seats = zip(names_of(found, brokers, _PREFIX), wanted, strict=False)  # if more are there, `plan` says so
    return Seating(seats={broker: tuple(dict.fromkeys(names)) for broker, names in seats})


def _wait(work: Coroutine[Any, Any, T]) -> T:
    """Do it now, in a loop of its own: in this thread, or in another when this one runs a loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_run, work).result()


def _run(work: Coroutine[Any, Any, T]) -> T:
    # With a factory the Runner does not replace the event loop that the test's thread may have set.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(work)
