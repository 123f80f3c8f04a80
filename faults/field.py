"""The brokers and applications of one phase, each on a host of its own.

Owns: their processes and where they keep things. Must not know: which faults there are, or what is right.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from causeway.cli.status import survey
from causeway.cli.view import ClusterView
from causeway.drivers.aio.exits import Exit
from causeway.errors import TransportError
from causeway.local import runfile
from causeway.local.cluster import ProcessCluster
from causeway.local.plan import plan
from causeway.local.runfile import BrokerEntry
from causeway.local.seating import Seating
from causeway.types import SECOND
from faults.diary import Diaries, Did, Line
from faults.hosts import Hosts
from faults.jobs import Job, Life, Reading

ROOT = Path(__file__).parent.parent
PORT = 7400
POLL_SECONDS = 0.05
STARTS_MAX = 3
READY_SECONDS_MAX = 120.0
"""Spark takes its time."""
END_SECONDS_MAX = 15.0
ESTABLISHED = "01"
"""Of a connection, as Linux writes it."""


class Stuck(Exception):
    """Something that must happen did not happen in its time."""


class Nobody(Exception):
    """Whom a fault is to hit is not there."""


class Process:
    """An application: its job, and the process of its present life."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.life = 0
        self.child: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether it lives."""
        return self.child is not None and self.child.poll() is None


class Field:
    """Start it, hurt it, ask it, end it."""

    def __init__(self, folder: Path, hosts: Hosts, jobs: Iterable[Job], setting: Setting) -> None:
        self.folder = folder
        self.hosts = hosts
        self.setting = setting
        self.applications = {job.name: Process(job) for job in jobs}
        self.diaries = Diaries(folder)
        self.lines: list[Line] = []
        self.crashes: list[str] = []
        """Brokers that ended by themselves."""
        self.explained: dict[str, int] = {}
        """The exit code with which a broker may end, because of what was done to it."""
        self._looking_after: asyncio.Task[None] | None = None
        self._extras: list[subprocess.Popen[bytes]] = []
        self._said: dict[tuple[str, Did], int] = {}
        folder.mkdir(parents=True)
        data = folder / "brokers"
        runfile.prepare_data_dir(data)
        seats = setting.seats or dict.fromkeys(setting.names, ("north",))
        run = plan(
            None,
            brokers=setting.brokers,
            durability=setting.durability,
            copies=setting.copies,
            settings=setting.settings,
            prefix="b",
            seating=Seating(seats=seats),
        )
        hosts.add([*setting.names, *self.applications])
        for entry in run.brokers:
            self._settle_in(entry)
        self.cluster = ProcessCluster(data, run, self._launch)

    @property
    def brokers(self) -> list[str]:
        """Names of all that are part of the cluster."""
        return self.cluster.names

    def _settle_in(self, entry: BrokerEntry) -> None:
        entry.host, entry.port = self.hosts.address(entry.name), PORT
        clock = self.clock(entry.name)
        if not clock.exists():
            clock.write_bytes(bytes(8))

    def clock(self, name: str) -> Path:
        """Where a broker reads how wrong its clock is."""
        return self.folder / f"{name}.clock"

    def _launch(self, entry: BrokerEntry, line: list[str]) -> list[str]:
        """`causeway broker` as it is, but on its host."""
        arguments = line[line.index("causeway") + 1 :]
        program = self.python("faults.broker", *arguments, clock=self.clock(entry.name))
        return self.hosts.inside(entry.name, program)

    def python(self, module: str, *arguments: str, clock: Path | None = None) -> list[str]:
        """The command line of a program of the campaign."""
        wrong = [f"FAULTS_CLOCK={clock}"] if clock is not None else []
        return ["env", f"PYTHONPATH={ROOT}", *wrong, sys.executable, "-m", module, *arguments]

    # Brokers -------------------------------------------------------------------------------------------------------
    async def start(self) -> None:
        """Start all brokers, then all applications; returns when everybody is served."""
        await self.cluster.start()
        await self.cluster.wait_active()
        for name in self.applications:
            self.start_application(name, waits=True)
        await self.wait(
            lambda: all(self.said(name, Did.READY) for name in self.applications), "to be served", READY_SECONDS_MAX
        )
        for name in self.applications:
            self.signal(name, signal.SIGUSR2)
        self._looking_after = asyncio.create_task(self._look_after())

    async def _look_after(self) -> None:
        """As a supervisor would: applications whose job has one, and brokers that ask to be started again."""
        while True:
            for ended in self.cluster.exited():
                if ended.code == Exit.CORRUPT and self.explained.get(ended.name) == Exit.CORRUPT:
                    await self.restart(ended.name)
            for name, one in self.applications.items():
                if one.job.looked_after and not one.running:
                    self.start_application(name)
            await asyncio.sleep(POLL_SECONDS)

    async def add_broker(self) -> None:
        """One more broker joins."""
        number = 1 + max(int(name[1:]) for name in [*self.brokers, *self.cluster.run.left])
        entry = BrokerEntry(f"b{number}", domains=list(self.cluster.run.brokers[0].domains))
        self.hosts.add([entry.name])
        self._settle_in(entry)
        self.cluster.run.brokers.append(entry)
        await self.cluster.restart(entry.name)

    async def restart(self, name: str) -> None:
        """Start a broker again; once more if it says that it must be (its store was malformed)."""
        entry = self.cluster.entry(name)
        for _ in range(STARTS_MAX):
            if entry.running:
                return
            self.note_crashes()
            with contextlib.suppress(TransportError):  # it ended at once; why is noted
                await self.cluster.restart(name)
        self.note_crashes()

    def note_crashes(self) -> None:
        """Remember who ended by itself, other than a fault explains."""
        for ended in self.cluster.exited():
            if ended.code not in (0, None, -signal.SIGKILL, -signal.SIGTERM, self.explained.get(ended.name)):
                crash = f"{ended.name} ended with {ended.code}; see {self.cluster.log(ended.name)}"
                if crash not in self.crashes:
                    self.crashes.append(crash)

    async def view(self) -> ClusterView:
        """What `causeway status` shows."""
        return await survey(self.cluster.run.addresses)

    async def owner(self, mailbox: str) -> str:
        """The broker that acknowledges for a mailbox."""
        view = await self.view()
        for line in view.mailboxes:
            if line.name == mailbox:
                return line.owner
        raise Nobody(f"nobody knows the mailbox {mailbox}")

    async def holders(self) -> dict[str, str]:
        """Who has which mailbox, in which epoch, of those that applications read."""
        wanted = {
            role.mailbox for one in self.applications.values() for role in one.job.roles if isinstance(role, Reading)
        }
        view = await self.view()
        return {line.name: f"{line.owner} in epoch {line.epoch}" for line in view.mailboxes if line.name in wanted}

    def entry(self, application: str) -> str:
        """The broker an application is connected to, by what its host knows; readers have more than one."""
        child = self.applications[application].child
        assert child is not None
        for line in Path(f"/proc/{child.pid}/net/tcp").read_text().splitlines()[1:]:
            _slot, _local, remote, state, *_ = line.split()
            address, port = remote.split(":")
            if state == ESTABLISHED and int(port, 16) == PORT:
                found = socket.inet_ntoa(bytes.fromhex(address)[::-1])
                return next(name for name in self.brokers if self.hosts.address(name) == found)
        raise Nobody(f"{application} is connected to nobody")

    async def wait_whole(self, seconds_max: float) -> bool:
        """Until `causeway status` would exit with 0; False if that takes too long."""
        deadline = time.monotonic() + seconds_max
        while time.monotonic() < deadline:
            view = await self.view()
            if view.healthy and all(line.state == "active" for line in view.brokers):
                return True
            await asyncio.sleep(0.5)
        return False

    # Applications --------------------------------------------------------------------------------------------------
    def start_application(self, name: str, *, waits: bool = False) -> None:
        """Its next life."""
        process = self.applications[name]
        process.life += 1
        state = self.folder / f"{name}.state"
        life = Life(
            job=process.job,
            life=process.life,
            url=self.cluster.url,
            diary=str(self.folder / f"{name}.{process.life}.diary"),
            state=str(state) if process.job.keeps_state else "",
            waits=waits,
        )
        told = self.folder / f"{name}.{process.life}.job"
        told.write_bytes(msgspec.json.encode(life))
        line = self.python("faults.carrier" if process.job.on_spark else "faults.application", str(told))
        with (self.folder / f"{name}.log").open("ab") as log:
            process.child = subprocess.Popen(
                self.hosts.inside(name, line),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def signal(self, name: str, number: signal.Signals) -> None:
        """To a broker or an application."""
        if name in self.applications:
            child = self.applications[name].child
            if child is not None and child.poll() is None:
                child.send_signal(number)
            return
        entry = self.cluster.entry(name)
        if entry.process is not None and entry.running:
            os.kill(entry.process.pid, number)

    async def kill(self, name: str) -> None:
        """SIGKILL; returns when it is gone."""
        if name not in self.applications:
            self.note_crashes()
            await self.cluster.kill(name)
            return
        self.signal(name, signal.SIGKILL)
        child = self.applications[name].child
        if child is not None:
            await asyncio.to_thread(child.wait, END_SECONDS_MAX)

    async def hush(self, seconds_max: float) -> list[str]:
        """Nobody sends any more; those that do not know in time what became of what they sent."""
        for name in self.applications:
            self.signal(name, signal.SIGUSR1)
        senders = [name for name, one in self.applications.items() if one.job.sends]
        try:
            await self.wait(lambda: all(self.said(name, Did.QUIET) for name in senders), "", seconds_max)
        except Stuck:
            return [name for name in senders if not self.said(name, Did.QUIET)]
        return []

    async def end(self) -> None:
        """Applications close, then brokers stop; what does not in time is killed."""
        self.note_crashes()
        if self._looking_after is not None:
            self._looking_after.cancel()
        for name in self.applications:
            self.signal(name, signal.SIGCONT)
            self.signal(name, signal.SIGTERM)
        try:
            await self.wait(lambda: not any(one.running for one in self.applications.values()), "", END_SECONDS_MAX)
        except Stuck:
            for name in self.applications:
                await self.kill(name)
        for extra in self._extras:
            extra.kill()
            extra.wait()
        await self.cluster.stop()
        self.catch_up()

    def clear(self) -> None:
        """Take away what only brokers can read; diaries and logs stay."""
        for name in self.brokers:
            shutil.rmtree(self.cluster.data / name, ignore_errors=True)

    def run_beside(self, host: str, line: list[str]) -> subprocess.Popen[bytes]:
        """A process that nobody judges; ended at the end at the latest."""
        self.hosts.add([host])
        with (self.folder / f"{host}.log").open("ab") as log:
            there = self.hosts.inside(host, line)
            child = subprocess.Popen(there, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self._extras.append(child)
        return child

    # What they say -------------------------------------------------------------------------------------------------
    def catch_up(self) -> list[Line]:
        """Read on in all diaries; what is new."""
        news = list(self.diaries.news())
        self.lines += news
        for line in news:
            self._said[(line.who, line.did)] = line.life
        return news

    def said(self, name: str, did: Did) -> bool:
        """Whether the present life of an application has written this."""
        return self._said.get((name, did)) == self.applications[name].life

    async def wait(self, condition: Any, what: str, seconds_max: float) -> None:
        """Until something is in the diaries."""
        deadline = time.monotonic() + seconds_max
        while True:
            self.catch_up()
            if condition():
                return
            if time.monotonic() > deadline:
                raise Stuck(f"not within {seconds_max:g} s: {what}")
            await asyncio.sleep(POLL_SECONDS)


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """Which brokers a phase has."""

    brokers: int = 5
    copies: int = 3
    durability: str = "disk"
    settings: Mapping[str, str] = {}
    seats: dict[str, tuple[str, ...]] = {}
    """Domains, where there are several."""

    @property
    def names(self) -> list[str]:
        """Of the brokers at the start."""
        return [f"b{number}" for number in range(1, self.brokers + 1)]


def seconds(instant: int) -> float:
    """For people."""
    return instant / SECOND
