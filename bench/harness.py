"""Measures one system at a time: a server process, one producer process, one consumer process, on loopback.

Owns: processes, clocks, repetition, CPU accounting. Must not know: any system; those are in the files beside it.

A rate is N / (latest of last receive and last confirmation - first send); the monotonic clock is the same for all
processes of a machine. The consumer's count lies in shared memory: the producer pauses while it is more than a
window ahead, so a system that drops under pressure runs at the rate it can sustain without loss. A run in which
anything was lost fails. The three runs of a case are spread over the whole session, so that a slow minute of the
machine meets every system and the ratios stay true.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import socket
import subprocess
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

SPAWN = multiprocessing.get_context("spawn")
START_SECONDS_MAX = 20.0
RUN_SECONDS_MAX = 90.0
STALL_SECONDS_MAX = 5.0
PING_PAUSE_SECONDS = 0.002
WARM_UP_PINGS = 100
HOST = "127.0.0.1"
ROOT = Path(__file__).resolve().parent.parent
now = time.monotonic_ns


class Failed(Exception):
    """A run that gave no figure; the text says why."""


# What a worker sees ---------------------------------------------------------------------------------------------
class Run:
    """One run: its size, and the shared memory in which producer and consumer meet."""

    def __init__(self, count: int, size: int, server: Process, window: int, consumers: int) -> None:
        self.count, self.size, self.port, self.window = count, size, server.port, window
        self.far_port = server.far_port
        self.topic = f"bench{os.getpid()}x{now() & 0xFFFFFF:x}"
        self.consumer = 0
        """Which of the consumers this process is."""
        self.received = SPAWN.RawArray("q", consumers)
        self.received_ns = SPAWN.RawArray("q", consumers)
        self.began_ns = SPAWN.RawValue("q", 0)
        self.confirmed_ns = SPAWN.RawValue("q", 0)
        self.ready = SPAWN.RawArray("i", 1 + consumers)
        self.go = SPAWN.RawValue("i", 0)

    def payload(self) -> bytes:
        """Bytes that do not compress."""
        return os.urandom(self.size)

    # The producer's side: wait, begin, throttle, confirm.
    async def wait_go(self) -> None:
        self.ready[0] = 1
        while not self.go.value:
            await asyncio.sleep(0.001)

    def begin(self) -> None:
        self.began_ns.value = now()

    def behind(self, sent: int) -> bool:
        return bool(sent - self.arrived() > self.window)

    def arrived(self) -> int:
        """How many messages every consumer has."""
        return int(min(self.received))

    async def throttle(self, sent: int) -> None:
        """Let the event loop turn, and wait while the consumer is too far behind."""
        await asyncio.sleep(0)
        while self.behind(sent):
            await asyncio.sleep(0.0005)

    def confirm(self) -> None:
        """Everything sent was acknowledged."""
        self.confirmed_ns.value = now()

    async def wait_received(self) -> None:
        """Stay until the consumer has it all: some clients drop what they hold when they close."""
        while self.arrived() < self.count:
            await asyncio.sleep(0.005)

    # The consumer's side.
    def attached(self) -> None:
        self.ready[1 + self.consumer] = 1

    def mark(self, received: int) -> None:
        self.received_ns[self.consumer] = now()
        self.received[self.consumer] = received

    async def ping(self, once: Callable[[], Awaitable[object]]) -> list[int]:
        """Round trips, one at a time, in nanoseconds."""
        trips = []
        for index in range(WARM_UP_PINGS + self.count):
            await asyncio.sleep(PING_PAUSE_SECONDS)
            began = now()
            await once()
            if index >= WARM_UP_PINGS:
                trips.append(now() - began)
        return trips


Worker = Callable[[Run], list[int] | None]


@dataclass(frozen=True)
class Process:
    """A server that we started."""

    port: int
    pid: int
    others: tuple[Process, ...] = ()
    """Of a cluster, the rest of it."""

    @property
    def far_port(self) -> int:
        """Where a consumer connects: half-way round, if there are several brokers."""
        return self.others[len(self.others) // 2].port if self.others else self.port

    @property
    def cpu_seconds(self) -> float:
        """CPU that all of it has used so far."""
        return sum(cpu_seconds(pid) for pid in (self.pid, *(other.pid for other in self.others)))


@dataclass(frozen=True)
class Case:
    """What is measured: one system in one mode."""

    kind: str
    """express, recoverable, fanout, filtered, causal or roundtrip."""
    system: str
    mode: str
    producer: Worker
    consumer: Worker
    server: Callable[[Path], AbstractContextManager[Process]]
    missing: Callable[[], str | None] = lambda: None
    """What has to be installed first, or None."""
    first_count: int = 20_000
    """Messages of the calibrating run."""
    window: int = 20_000
    sizes: Sequence[int] = (128, 1024)
    unit: int = 1
    """The number of messages is a multiple of this."""
    consumers: int = 1
    """Processes that each get all messages."""
    shared: bool = False
    """Whether all runs of such cases are on one server, in turn, because it takes long to start."""


@dataclass
class Sample:
    """One run's figures."""

    rate: float = 0.0
    seconds: float = 0.0
    trips_ns: list[int] = field(default_factory=list)
    steal_percent: float = 0.0
    broker_us: float = 0.0
    """CPU of the server per message."""


# Processes ------------------------------------------------------------------------------------------------------
def free_port() -> int:
    """A port nobody listens on now."""
    with socket.create_server((HOST, 0)) as probe:
        return int(probe.getsockname()[1])


def is_open(port: int) -> bool:
    """Whether somebody listens."""
    with socket.socket() as probe:
        probe.settimeout(0.3)
        return probe.connect_ex((HOST, port)) == 0


@contextmanager
def serve(argv: Sequence[str], folder: Path, port: int) -> Iterator[Process]:
    """Run a server in its own session until the block ends; wait until its port answers."""
    log = folder / "server.log"
    with log.open("wb") as out:
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT, start_new_session=True
        )
    try:
        deadline = time.monotonic() + START_SECONDS_MAX
        while not is_open(port):
            if child.poll() is not None or time.monotonic() > deadline:
                raise Failed(f"{argv[0]} did not start: {log.read_text(errors='replace')[-500:].strip()}")
            time.sleep(0.02)
        yield Process(port, child.pid)
    finally:
        child.kill()  # its data is thrown away: no need to wait for an orderly end
        child.wait()


def _enter(work: Worker, run: Run, pipe: Connection) -> None:
    try:
        pipe.send((work(run), None))
    except BaseException:
        pipe.send((None, traceback.format_exc()))
    pipe.close()
    os._exit(0)  # a client's lingering thread must not hold the run up


class Child:
    """A producer or a consumer in its own process."""

    def __init__(self, work: Worker, run: Run) -> None:
        self._pipe, theirs = SPAWN.Pipe(duplex=False)
        self._process = SPAWN.Process(target=_enter, args=(work, run, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self.result: list[int] | None = None
        self.ended = False

    def poll(self) -> bool:
        """Whether it has ended; raises what it raised."""
        if not self.ended and self._pipe.poll():
            self.ended = True
            try:
                self.result, error = self._pipe.recv()
            except EOFError:
                error = "worker died without a word"
            if error:
                raise Failed(error.strip())
        return self.ended

    def stop(self) -> None:
        """End it, whatever it does."""
        self._process.join(0.5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join(5)
        self._pipe.close()


def polled(children: list[Child]) -> int:
    """How many have ended; every one is asked, so that none's error goes unheard."""
    return sum([child.poll() for child in children])


# Accounting -----------------------------------------------------------------------------------------------------
def machine_times() -> tuple[int, int]:
    """Ticks stolen by the hypervisor, and all ticks; zeros where the system does not tell."""
    try:
        fields = [int(text) for text in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    except OSError:
        return 0, 0
    return fields[7], sum(fields)


def cpu_seconds(pid: int) -> float:
    """CPU a process has used so far."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return float(int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# Runs -----------------------------------------------------------------------------------------------------------
def measure(case: Case, size: int, count: int, folder: Path, shared: Process | None = None) -> Sample:
    """One run on a fresh server, or on the one that several share."""
    folder.mkdir(parents=True)
    with nullcontext(shared) if shared else case.server(folder) as server:
        run = Run(count, size, server, case.window, case.consumers)
        children = []
        for run.consumer in range(case.consumers):
            children.append(Child(case.consumer, run))
        children.append(Child(case.producer, run))
        try:
            return _measure(case, run, server, children)
        finally:
            for child in children:
                child.stop()


def _measure(case: Case, run: Run, server: Process, children: list[Child]) -> Sample:
    deadline = time.monotonic() + RUN_SECONDS_MAX
    while not all(run.ready):
        if polled(children) or time.monotonic() > deadline:
            raise Failed(f"workers did not get ready: {list(run.ready)}")
        time.sleep(0.005)
    time.sleep(0.3)  # subscriptions spread; the machine calms down
    stolen, ticks, cpu = *machine_times(), server.cpu_seconds
    run.go.value = 1
    seen, seen_at = -1, time.monotonic()
    while polled(children) < len(children):
        time.sleep(0.01)
        if run.arrived() != seen:
            seen, seen_at = run.arrived(), time.monotonic()
        idle = time.monotonic() - seen_at
        if case.kind != "roundtrip" and idle > STALL_SECONDS_MAX:
            raise Failed(f"stalled: {seen:,} of {run.count:,} messages arrived")
        if time.monotonic() > deadline:
            raise Failed(f"not done after {RUN_SECONDS_MAX:.0f} s")
    stolen_after, ticks_after = machine_times()
    sample = Sample(
        steal_percent=100 * (stolen_after - stolen) / max(1, ticks_after - ticks),
        broker_us=1e6 * (server.cpu_seconds - cpu) / run.count,
    )
    if case.kind == "roundtrip":
        sample.trips_ns = sorted(children[-1].result or [])
        if not sample.trips_ns:
            raise Failed("no round trips were measured")
        return sample
    sample.seconds = (max(*run.received_ns, run.confirmed_ns.value) - run.began_ns.value) / 1e9
    sample.rate = run.count / sample.seconds
    return sample


def calibrate(case: Case, size: int, seconds: float, folder: Path, shared: Process | None = None) -> int:
    """How many messages take about so long."""
    count = case.first_count
    for attempt in range(4):
        sample = measure(case, size, count, folder / f"calibrate{attempt}", shared)
        share = seconds / max(sample.seconds, 1e-3)
        count = max(1, int(count * min(20.0, share)) // case.unit) * case.unit
        if share < 2:
            break
    return count
