"""What brokers and applications of a run would have written into a trace lake, in virtual time.

A writer in the simulator loses nothing when it crashes: the trace is whole by construction, and every life says so.
Owns: one writer per life of a process. Must not know: what happens in the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from causeway.client.session import Session
from causeway.client.tracing import ApplicationTrace
from causeway.errors import ConfigError
from causeway.lake.locations import locate
from causeway.lake.segments import NO_DOMAIN, WriterName
from causeway.lake.writer import CHUNK, LakeWriter
from causeway.sim.world import Process, World
from causeway.trace import TraceRecord


class SimLife:
    """One life of a process, as a writer; its records are made rows of many at a time."""

    def __init__(self, writer: LakeWriter) -> None:
        self.writer = writer
        self._records: list[TraceRecord] = []

    def add(self, records: Sequence[TraceRecord]) -> None:
        """More records."""
        self._records += records
        if len(self._records) >= CHUNK:
            self._pass_on()

    def end(self) -> None:
        """Nothing more will come."""
        self._pass_on()
        self.writer.close(self.writer.latest)

    def _pass_on(self) -> None:
        records, self._records = self._records, []
        self.writer.take(records)


class SimLake:
    """The lake of one world."""

    def __init__(self, folder: str | Path, world: World, domain_of: Callable[[str], str], copies: int) -> None:
        if locate(folder).matching("day=*"):
            remedy = "has a lake already, and lives in the simulator are counted from 1; choose an empty folder"
            raise ConfigError("lake", str(folder), remedy)
        self._folder = folder
        self._world = world
        self._domain_of = domain_of
        self._copies = copies
        self._lives: dict[str, SimLife] = {}
        """The present ones."""
        world.on_trace = self._on_trace

    def follow(self, session: Session, process: Process) -> None:
        """Write down what an application does."""
        session.trace_to(ApplicationTrace(lambda: process.clock.read(self._world.now), self._adder(process)))

    def close(self) -> None:
        """The run is over."""
        for life in self._lives.values():
            life.end()
        self._lives = {}

    def _adder(self, process: Process) -> Callable[[Sequence[TraceRecord]], None]:
        return lambda records: self._life(process).add(records)

    def _on_trace(self, record: TraceRecord) -> None:
        process = next(process for process in self._world.processes if process.name == record.broker)
        self._life(process).add((record,))

    def _life(self, process: Process) -> SimLife:
        life = self._lives.get(process.name)
        if life is not None and life.writer.writer.life == process.life:
            return life
        if life is not None:
            life.end()
        domain = self._domain_of(process.name) if process.broker else ""
        role = "broker" if process.broker else "application"
        copies = self._copies if process.broker else 0
        who = WriterName(process.name, role, process.life, domain or NO_DOMAIN)
        life = self._lives[process.name] = SimLife(LakeWriter(self._folder, who, synced=False, copies=copies))
        return life
