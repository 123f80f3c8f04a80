"""A cluster of real broker processes on this machine: start, find out that they serve, hurt, restart, stop.

Owns: the processes and the run file that names them. Must not know: how commands print. The one manager of processes:
behind `causeway up`, `down`, `leave` and `demo`, behind `causeway.testing.LocalCluster` and the integration tests. It
signals only processes that its run file identifies by number, start time and boot.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from causeway.drivers.aio.exits import Exit
from causeway.drivers.aio.listener import bind
from causeway.errors import CausewayError, ConfigError, DeadlineExceeded, TransportError
from causeway.limits import LEAVE_SECONDS_MAX
from causeway.local import runfile
from causeway.local.health import not_handed_over, settled, without_seats
from causeway.local.pids import identify, send_signal
from causeway.local.plan import command, common_config
from causeway.local.probe import Probe
from causeway.local.runfile import BrokerEntry, RunFile

START_SECONDS_MAX: Final = 30.0
STOP_SECONDS_MAX: Final = 10.0
PART_SECONDS_MAX: Final = LEAVE_SECONDS_MAX + STOP_SECONDS_MAX
"""For a broker that leaves: its hand-over, its end, and the others' word that they hold everything."""
SEAT_SECONDS_MAX: Final = 10.0
"""For brokers to be seated in their domains, once they have joined."""
POLL_SECONDS: Final = 0.05
LAST_LINES: Final = 3
"""Of a broker's log, quoted when it failed: the log itself may be in a directory that is removed."""

_LEAVE_AGAIN: Final = "'causeway up' starts it again, then tell it to leave again"


class Exited(msgspec.Struct, frozen=True):
    """How a broker's process ended."""

    name: str
    code: int | None
    """Negative: the signal. None: not our child, so nobody knows."""


class ProcessCluster:
    """Brokers of one data directory."""

    def __init__(
        self, data: Path, run: RunFile, launch: Callable[[BrokerEntry, list[str]], list[str]] | None = None
    ) -> None:
        """`launch` makes of a broker's command line the one that is run: elsewhere than here, for example."""
        self.data = data
        self.run = run
        self._launch = launch
        self.paused: set[str] = set()
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

    def log(self, name: str) -> Path:
        """What a broker wrote."""
        return self.data / "logs" / f"{name}.log"

    # Starting ------------------------------------------------------------------------------------------------------
    def check_ports(self) -> None:
        """Before anything is written or started: can every broker that does not run have its port?"""
        for entry in self.run.brokers:
            if entry.port and not entry.running:
                bind(entry.host, entry.port, allow_network=False).close()

    async def start(self, seconds_max: float = START_SECONDS_MAX) -> None:
        """Start every broker that is not running, and wait until each has bound its port."""
        missing = [entry for entry in self.run.brokers if not entry.running]
        if not missing:
            return
        deadline = time.monotonic() + seconds_max
        if not self.run.addresses:
            # Nobody has a port yet: the others need the founder's to find the cluster.
            founder = missing.pop(0)
            self._spawn(founder)
            await self._wait_bound([founder], deadline)
        for entry in missing:
            self._spawn(entry)
        await self._wait_bound(missing, deadline)
        self._save()

    async def wait_active(
        self, seconds_max: float = START_SECONDS_MAX, seen: Callable[[dict[str, dict[str, Any]]], None] | None = None
    ) -> None:
        """Wait until every broker has joined (but those that were killed) and any one of them may die again.

        One that ends meanwhile is named at once, whoever started it. `seen` gets the status of each, by name, whenever
        they were asked.
        """
        deadline = time.monotonic() + seconds_max
        expected = [entry for entry in self.run.brokers if entry.process is not None]
        while True:
            reports = await self.reports(whole=False)
            if seen is not None:
                seen(reports)
            spares = sum(entry.spare for entry in expected)
            if not expected or settled(reports, len(expected), common_config(self.run).root_copies, spares=spares):
                break
            self._raise_if_exited(expected)
            if time.monotonic() > deadline:
                late = [entry.name for entry in expected if not reports.get(entry.name, {}).get("active")]
                what = f"broker {', '.join(late)} did not join" if late else "the directory was not copied"
                raise DeadlineExceeded(f"{what} within {seconds_max:g} s; {self._last_words([*late, *self.names][0])}")
            await asyncio.sleep(POLL_SECONDS)
        if not self.run.formed and len(expected) == len(self.run.brokers):
            self.run.formed = True
            self._save()

    async def wait_seated(self, seconds_max: float = SEAT_SECONDS_MAX) -> dict[str, str]:
        """Wait until every running broker is in its domains; those that are not after all, each with the reason.

        Nothing but causal order needs it, so nobody fails for it.
        """
        deadline = time.monotonic() + seconds_max
        while True:
            wanted = {entry.name: entry.domains for entry in self.running() if not entry.spare}
            missing = without_seats(wanted, await self.reports(whole=False) if any(wanted.values()) else {})
            if all(missing.values()) or time.monotonic() > deadline:
                return {name: why or f"not within {seconds_max:g} s" for name, why in missing.items()}
            await asyncio.sleep(POLL_SECONDS)

    async def reports(self, *, whole: bool = True) -> dict[str, dict[str, Any]]:
        """The status of every broker that answers, by name; not `whole`: perhaps not all of their mailboxes."""
        found: dict[str, dict[str, Any]] = {}

        async def ask(name: str) -> None:
            try:
                found[name] = await self.status(name, whole=whole)
            except CausewayError:
                return

        await asyncio.gather(*(ask(entry.name) for entry in self.running()))
        return found

    async def status(self, name: str, *, whole: bool = True) -> dict[str, Any]:
        """What one broker says about itself."""
        entry = self.entry(name)
        async with Probe(entry.host, entry.port) as probe:
            return await probe.status(whole=whole)

    async def restart(self, name: str, seconds_max: float = START_SECONDS_MAX) -> None:
        """Start one broker again, on its port and its data."""
        entry = self.entry(name)
        if entry.running:
            raise ConfigError("broker", name, "is running; kill or stop it first")
        self._spawn(entry)
        await self._wait_bound([entry], time.monotonic() + seconds_max)
        self._save()

    def _spawn(self, entry: BrokerEntry) -> None:
        log = self.log(entry.name)
        log.parent.mkdir(mode=0o700, exist_ok=True)
        line = command(self.data, self.run, entry)
        if self._launch is not None:
            line = self._launch(entry, line)
        with self._out(entry.name).open("wb") as out, log.open("ab") as err:
            # A session of its own: Ctrl-C in the terminal reaches us alone, who then stop the brokers in order.
            child = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        self._children[entry.name] = child
        self.paused.discard(entry.name)
        entry.process = identify(child.pid)
        self._save()

    async def _wait_bound(self, entries: Iterable[BrokerEntry], deadline: float) -> None:
        waiting = list(entries)
        while waiting:
            self._raise_if_exited(waiting)
            for entry in list(waiting):
                ready = self._first_line(entry.name)
                if ready.get("event") == "ready":
                    entry.port = int(ready["port"])
                    entry.ran = True
                    waiting.remove(entry)
            if waiting and time.monotonic() > deadline:
                names = ", ".join(entry.name for entry in waiting)
                raise DeadlineExceeded(f"broker {names} did not bind its port; {self._last_words(waiting[0].name)}")
            if waiting:
                await asyncio.sleep(POLL_SECONDS)

    def _raise_if_exited(self, entries: Iterable[BrokerEntry]) -> None:
        for entry in entries:
            if not self._gone(entry):
                continue
            error = self._first_line(entry.name).get("error", {})
            if "field" in error:
                raise ConfigError(f"{entry.name}: {error['field']}", error.get("value"), str(error.get("remedy", "")))
            refused = self._refusal(entry.name)
            if refused:
                raise ConfigError(f"{entry.name}: domain", ", ".join(entry.domains), refused)
            child = self._children.get(entry.name)
            ending = f" with {_ending(child.returncode)}" if child is not None else ""
            remedy = f"mend what its log says, then start it again; {self._last_words(entry.name)}"
            raise TransportError(f"{entry.name}: {error.get('message') or f'ended{ending}; {remedy}'}")

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

    def _refusal(self, name: str) -> str:
        """Why the cluster does not have a broker in its domains, by its own last line; empty if that is not why."""
        try:
            lines = self._out(name).read_bytes().splitlines()
            said = msgspec.json.decode(lines[-1], type=dict[str, Any]) if lines else {}
        except (OSError, msgspec.MsgspecError):
            return ""
        return str(said.get("detail", "")) if said.get("event") == "refused" else ""

    def _last_words(self, name: str) -> str:
        try:
            lines = self.log(name).read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        return f"see {self.log(name)}, which ends: {' | '.join(lines[-LAST_LINES:]) or '(nothing)'}"

    def _out(self, name: str) -> Path:
        return self.data / "logs" / f"{name}.out"

    def _save(self) -> None:
        """Write the run file; brokers that another command made leave meanwhile do not come back by this."""
        written = runfile.load(self.data)
        if written is not None:
            self.run.left = list(dict.fromkeys((*self.run.left, *written.left)))
            self.run.brokers = [entry for entry in self.run.brokers if entry.name not in self.run.left]
        runfile.save(self.data, self.run)

    # Trouble -------------------------------------------------------------------------------------------------------
    def pause(self, name: str) -> None:
        """SIGSTOP: the broker keeps its connections and says nothing."""
        self._signal(self.entry(name), signal.SIGSTOP)
        self.paused.add(name)

    def resume(self, name: str) -> None:
        """SIGCONT: it goes on as if nothing had been."""
        self._signal(self.entry(name), signal.SIGCONT)
        self.paused.discard(name)

    def _signal(self, entry: BrokerEntry, number: signal.Signals) -> None:
        if entry.process is not None:
            send_signal(entry.process, number)

    # Ending --------------------------------------------------------------------------------------------------------
    async def kill(self, *names: str) -> None:
        """SIGKILL, as a power failure would; returns when the processes are gone."""
        entries = [self.entry(name) for name in names]
        for entry in entries:
            self._signal(entry, signal.SIGKILL)
        await self._wait_gone(entries, STOP_SECONDS_MAX)
        self._forget(entries)

    async def leave(self, name: str, seconds_max: float = PART_SECONDS_MAX) -> None:
        """SIGUSR1: one broker hands over what it holds, ends, and is no longer part of the cluster.

        Raises DeadlineExceeded when it does not end, or the others do not hold everything: then it stays part of it.
        """
        entry = self.entry(name)
        if not entry.running:
            raise ConfigError("broker", name, "is not running; 'causeway up' starts it, then it can hand over")
        if len(self.running()) == 1:
            raise ConfigError("broker", name, "nobody else runs who could take over; 'causeway down' stops it")
        deadline = time.monotonic() + seconds_max
        before = await self.status(name)
        self._signal(entry, signal.SIGUSR1)
        await self._wait_gone([entry], seconds_max)
        if not self._gone(entry):
            raise DeadlineExceeded(f"broker {name} did not end within {seconds_max:g} s; {self._last_words(name)}")
        code = child.poll() if (child := self._children.get(name)) is not None else None
        self._forget([entry])
        if code:
            what = (
                "stopped before it had handed over" if code == Exit.NOT_HANDED_OVER else f"ended with {_ending(code)}"
            )
            raise DeadlineExceeded(f"{name} {what} and is still counted on; {_LEAVE_AGAIN}; {self._last_words(name)}")
        while True:
            reports = await self.reports()
            missing = not_handed_over(name, before, reports)
            if not missing and len(reports) == len(self.running()):
                break
            if time.monotonic() > deadline:
                what = f"{name} ended before the others said that they hold {', '.join(missing) or 'everything'}"
                raise DeadlineExceeded(f"{what}; {_LEAVE_AGAIN}; {self._last_words(name)}")
            await asyncio.sleep(POLL_SECONDS)
        self.run.left.append(name)
        self.run.brokers.remove(entry)
        self._save()

    def exited(self) -> list[Exited]:
        """Brokers that have ended and were not started again, by whoever's hand."""
        ended: list[Exited] = []
        for entry in self.run.brokers:
            if entry.process is None:
                continue
            # Of our own child we ask how it ended: its last thread may outlive what the system shows as its end.
            child = self._children.get(entry.name)
            code = child.poll() if child is not None else None
            if code is not None or (child is None and not entry.running):
                ended.append(Exited(entry.name, code))
        return ended

    def crashed(self) -> list[str]:
        """What became of brokers that ended by themselves: nobody killed or stopped them."""
        by_hand = (-signal.SIGKILL, -signal.SIGTERM, 0, None)
        return [
            f"{ended.name} ended with {_ending(ended.code or 0)}; see {self.log(ended.name)}"
            for ended in self.exited()
            if ended.code not in by_hand
        ]

    async def stop(self, seconds_max: float = STOP_SECONDS_MAX) -> list[str]:
        """SIGTERM to every broker, SIGKILL to those that take too long; the names that had to be killed."""
        stopping = self.running()
        for entry in stopping:
            self._signal(entry, signal.SIGTERM)
            self._signal(entry, signal.SIGCONT)  # a paused one hears nothing else
        await self._wait_gone(stopping, seconds_max)
        stubborn = [entry.name for entry in stopping if not self._gone(entry)]
        await self.kill(*stubborn)
        self._forget(self.run.brokers)
        return stubborn

    def _forget(self, entries: Iterable[BrokerEntry]) -> None:
        """Their processes have ended, by our hand."""
        for entry in entries:
            if self._gone(entry):
                entry.process = None
                self._children.pop(entry.name, None)
                self.paused.discard(entry.name)
        self._save()

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


def _ending(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
