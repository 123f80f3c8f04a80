"""A cluster of real broker processes on this machine: start, find out that they serve, kill, restart, stop.

Owns: the processes and the run file that names them. Must not know: how commands print. Used by `up`, `down`, `demo`
and by the integration tests. It signals only processes that its run file identifies by number and start time.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from causeway.cli import runfile
from causeway.cli.pids import identify, send_signal
from causeway.cli.probe import Probe
from causeway.cli.runfile import BrokerEntry, RunFile
from causeway.cli.view import settled
from causeway.errors import CausewayError, ConfigError, DeadlineExceeded, TransportError

BROKERS_MAX: Final = 64
"""Processes on one machine; more belongs in the simulator."""
START_SECONDS_MAX: Final = 30.0
STOP_SECONDS_MAX: Final = 10.0
POLL_SECONDS: Final = 0.05


class Exited(msgspec.Struct, frozen=True):
    """How a broker's process ended."""

    name: str
    code: int | None
    """Negative: the signal. None: not our child, so nobody knows."""


class ProcessCluster:
    """Brokers of one data directory."""

    def __init__(self, data: Path, run: RunFile) -> None:
        self.data = data
        self.run = run
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def url(self) -> str:
        """How clients reach the cluster."""
        return self.run.url

    @property
    def names(self) -> list[str]:
        """The brokers, in the order they were first started."""
        return [entry.name for entry in self.run.brokers]

    def entry(self, name: str) -> BrokerEntry:
        """What is known of one broker."""
        for entry in self.run.brokers:
            if entry.name == name:
                return entry
        raise ConfigError("broker", name, f"is not one of {', '.join(self.names)}")

    def running(self) -> list[BrokerEntry]:
        """Brokers whose process lives."""
        return [entry for entry in self.run.brokers if entry.running]

    # Starting ------------------------------------------------------------------------------------------------------
    async def start(self, seconds_max: float = START_SECONDS_MAX) -> None:
        """Start every broker that is not running, and wait until each has bound its port."""
        missing = [entry for entry in self.run.brokers if not entry.running]
        if not missing:
            return
        if self.run.durability == "memory" and len(missing) == len(self.run.brokers):
            self.run.formed = False  # whatever they held died with them
        deadline = time.monotonic() + seconds_max
        if not self.run.addresses:
            # Nobody has a port yet: the others need the founder's to find the cluster.
            founder = missing.pop(0)
            self._spawn(founder)
            await self._wait_bound([founder], deadline)
        for entry in missing:
            self._spawn(entry)
        await self._wait_bound(missing, deadline)
        runfile.save(self.data, self.run)

    async def wait_active(
        self, seconds_max: float = START_SECONDS_MAX, seen: Callable[[dict[str, dict[str, Any]]], None] | None = None
    ) -> None:
        """Wait until every broker has joined and any one of them may die again.

        `seen` gets the status of each, by name, whenever they were asked.
        """
        deadline = time.monotonic() + seconds_max
        while True:
            reports = await self.reports()
            if seen is not None:
                seen(reports)
            if settled(reports, len(self.names)):
                break
            self._raise_if_exited(self.run.brokers)
            if time.monotonic() > deadline:
                late = [name for name in self.names if not reports.get(name, {}).get("active")]
                what = f"broker {', '.join(late)} did not join" if late else "the directory was not copied"
                raise DeadlineExceeded(f"{what} within {seconds_max:g} s; see {self.data / 'logs'}")
            await asyncio.sleep(POLL_SECONDS)
        if not self.run.formed:
            self.run.formed = True
            runfile.save(self.data, self.run)

    async def reports(self) -> dict[str, dict[str, Any]]:
        """The status of every broker that answers, by name."""
        found: dict[str, dict[str, Any]] = {}

        async def ask(entry: BrokerEntry) -> None:
            try:
                async with Probe(entry.host, entry.port) as probe:
                    found[entry.name] = await probe.status()
            except CausewayError:
                return

        await asyncio.gather(*(ask(entry) for entry in self.running()))
        return found

    async def restart(self, name: str, seconds_max: float = START_SECONDS_MAX) -> None:
        """Start one broker again, on its port and its data."""
        entry = self.entry(name)
        if entry.running:
            raise ConfigError("broker", name, "is running; kill or stop it first")
        self._spawn(entry)
        await self._wait_bound([entry], time.monotonic() + seconds_max)
        runfile.save(self.data, self.run)

    def _spawn(self, entry: BrokerEntry) -> None:
        logs = self.data / "logs"
        logs.mkdir(mode=0o700, exist_ok=True)
        arguments = self._arguments(entry)
        with self._out(entry.name).open("wb") as out, (logs / f"{entry.name}.log").open("ab") as log:
            # A session of its own: Ctrl-C in the terminal reaches `up` alone, which then stops the brokers in order.
            child = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=log, start_new_session=True
            )
        self._children[entry.name] = child
        entry.process = identify(child.pid)
        runfile.save(self.data, self.run)

    def _arguments(self, entry: BrokerEntry) -> list[str]:
        arguments = [sys.executable, "-P", "-m", "causeway", "broker", "--json"]
        arguments += ["--name", entry.name, "--host", entry.host, "--port", str(entry.port)]
        arguments += ["--durability", self.run.durability, "--copies", str(self.run.copies)]
        if self.run.durability == "disk":
            arguments += ["--data", str(self.data / entry.name)]
        for other in self.run.brokers:
            if other is not entry and other.port:
                arguments += ["--seed", f"{other.host}:{other.port}"]
        if entry is self.run.brokers[0] and not self.run.formed:
            arguments.append("--founder")
        return arguments

    async def _wait_bound(self, entries: Iterable[BrokerEntry], deadline: float) -> None:
        waiting = list(entries)
        while waiting:
            self._raise_if_exited(waiting)
            for entry in list(waiting):
                ready = self._first_line(entry.name)
                if ready.get("event") == "ready":
                    entry.port = int(ready["port"])
                    waiting.remove(entry)
            if waiting and time.monotonic() > deadline:
                names = ", ".join(entry.name for entry in waiting)
                raise DeadlineExceeded(f"broker {names} did not bind its port in time; see {self.data / 'logs'}")
            if waiting:
                await asyncio.sleep(POLL_SECONDS)

    def _raise_if_exited(self, entries: Iterable[BrokerEntry]) -> None:
        for entry in entries:
            child = self._children.get(entry.name)
            if child is None or child.poll() is None:
                continue
            error = self._first_line(entry.name).get("error", {})
            if "field" in error:
                raise ConfigError(f"{entry.name}: {error['field']}", error.get("value"), str(error.get("remedy", "")))
            reason = error.get("message") or f"ended with {_ending(child.returncode)}; see {self.data / 'logs'}"
            raise TransportError(f"{entry.name}: {reason}")

    def _first_line(self, name: str) -> dict[str, Any]:
        try:
            line, newline, _rest = self._out(name).read_bytes().partition(b"\n")
        except FileNotFoundError:
            return {}
        if not newline:
            return {}
        try:
            return msgspec.json.decode(line, type=dict[str, Any])
        except msgspec.MsgspecError:
            return {}

    def _out(self, name: str) -> Path:
        return self.data / "logs" / f"{name}.out"

    # Ending --------------------------------------------------------------------------------------------------------
    async def kill(self, *names: str) -> None:
        """SIGKILL, as a power failure would; returns when the processes are gone."""
        entries = [self.entry(name) for name in names]
        for entry in entries:
            if entry.process is not None:
                send_signal(entry.process, signal.SIGKILL)
        await self._wait_gone(entries, STOP_SECONDS_MAX)

    def exited(self) -> list[Exited]:
        """Brokers that have ended and were not started again, by whoever's hand."""
        ended: list[Exited] = []
        for entry in self.run.brokers:
            child = self._children.get(entry.name)
            code = child.poll() if child is not None else None
            if entry.process is not None and not entry.running:
                ended.append(Exited(entry.name, code))
        return ended

    def crashed(self) -> list[str]:
        """What became of brokers that ended by themselves: nobody killed or stopped them."""
        by_hand = (-signal.SIGKILL, -signal.SIGTERM, 0, None)
        return [
            f"{ended.name} ended with {_ending(ended.code or 0)}; see {self.data / 'logs' / ended.name}.log"
            for ended in self.exited()
            if ended.code not in by_hand
        ]

    async def stop(self, seconds_max: float = STOP_SECONDS_MAX) -> list[str]:
        """SIGTERM to every broker, SIGKILL to those that take too long; the names that had to be killed."""
        stopping = self.running()
        for entry in stopping:
            assert entry.process is not None
            send_signal(entry.process, signal.SIGTERM)
        await self._wait_gone(stopping, seconds_max)
        stubborn = [entry.name for entry in stopping if not self._gone(entry)]
        await self.kill(*stubborn)
        for entry in self.run.brokers:
            entry.process = None
        self._children.clear()
        runfile.save(self.data, self.run)
        return stubborn

    async def _wait_gone(self, entries: Sequence[BrokerEntry], seconds_max: float) -> None:
        deadline = time.monotonic() + seconds_max
        while not all(self._gone(entry) for entry in entries):
            if time.monotonic() > deadline:
                return
            await asyncio.sleep(POLL_SECONDS / 10)

    def _gone(self, entry: BrokerEntry) -> bool:
        child = self._children.get(entry.name)
        if child is not None:
            return child.poll() is not None  # which reaps it: nobody else does
        return not entry.running


def plan(data: Path, *, brokers: int | None, durability: str | None, copies: int | None, port: int) -> RunFile:
    """What to run in a data directory: the cluster it holds (grown when asked to), or a new one."""
    if brokers is not None and not 1 <= brokers <= BROKERS_MAX:
        raise ConfigError("brokers", brokers, f"must lie in 1..{BROKERS_MAX}")
    if copies is not None and not 1 <= copies <= 7:
        raise ConfigError("copies", copies, "must lie in 1..7")
    if durability is not None and durability not in ("disk", "memory"):
        raise ConfigError("durability", durability, "must be 'disk' or 'memory'")
    run = runfile.load(data)
    if run is None:
        count = 3 if brokers is None else brokers
        run = RunFile([], durability or "disk", 3 if copies is None else copies)
    else:
        count = len(run.brokers) if brokers is None else brokers
        if durability is not None and durability != run.durability:
            raise ConfigError("durability", durability, f"the cluster in {data} has {run.durability}; leave it out")
        if count < len(run.brokers):
            raise ConfigError("brokers", count, f"the cluster in {data} has {len(run.brokers)}; leave it out")
        run.copies = run.copies if copies is None else copies
    if port and not 1 <= port <= 65536 - count:
        raise ConfigError("port", port, f"must leave room for {count} ports up to 65535 (0 lets the system choose)")
    for index in range(len(run.brokers), count):
        run.brokers.append(BrokerEntry(f"broker-{index + 1}", port=port + index if port else 0))
    return run


def _ending(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
