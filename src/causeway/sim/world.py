"""Virtual time and the processes that live in it: the simulator's driver.

Owns: the event heap (ties broken by the order of scheduling), the life of processes, and the driver's duties as
the machine contract states them: one `handle` per wake-up with everything gathered, effects performed in field
order, one timer from `next_deadline`. Must not know: brokers, clients, or what a message means.
"""

from __future__ import annotations

import heapq
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from causeway.core.effects import Close, Effects, Load, Persist, PlanItems
from causeway.core.events import (
    Clogged,
    Closed,
    Drained,
    DriverEvent,
    Lagged,
    Loaded,
    Opened,
    Persisted,
    Planned,
    Received,
)
from causeway.core.machine import Machine
from causeway.core.messages import Message
from causeway.core.placing import PlannedItems, PlanRequest
from causeway.extras import ARRAYS, require
from causeway.sim.clock import Clock
from causeway.sim.disk import Disk
from causeway.sim.network import Network
from causeway.sim.run_log import RunLog, fingerprint
from causeway.store.base import Page
from causeway.trace import TraceRecord
from causeway.types import MILLISECOND, Duration, Instant

Watch = Callable[["Process", "Process", Message], None]
"""Told of every frame of one type when it is put on a connection: sender, receiver, head."""

PLANNING: Duration = 50 * MILLISECOND
"""How long the places of items are computed."""

SPINS_MAX = 10_000
"""Wake-ups of one process in a row whose deadline does not move into the future: a loop in the machine."""


class ProductCrash(Exception):
    """Product code raised, or broke the machine contract."""

    def __init__(self, process: str, virtual: Instant, detail: str) -> None:
        self.process, self.virtual, self.detail = process, virtual, detail
        super().__init__(f"{process} at {virtual / 1e9:.6f}s: {detail}")


class World:
    """Everything there is, at one virtual instant."""

    def __init__(self, run_log: RunLog, network: Network) -> None:
        self.now: Instant = 0
        self.run_log = run_log
        self.network = network
        self.processes: list[Process] = []
        self.watches: dict[type, list[Watch]] = {}
        self.on_close: Callable[[Process, Close], None] | None = None
        """Told of every connection that a machine ends."""
        self.on_trace: Callable[[TraceRecord], None] | None = None
        self.planner: Callable[[PlanRequest], PlannedItems] | None = None
        """Who answers landmarks instead of `causeway.placement.live`."""
        self.events = 0
        """Driver events handed to machines so far."""
        self.turns = 0
        self._heap: list[tuple[Instant, int, Callable[..., None], tuple[Any, ...]]] = []
        self._sequence = 0
        network.attach(self)

    def at(self, instant: Instant, action: Callable[..., None], *args: Any) -> None:
        """Do something at an instant (now, if that has passed)."""
        self._sequence += 1
        heapq.heappush(self._heap, (max(instant, self.now), self._sequence, action, args))

    def after(self, delay: Duration, action: Callable[..., None], *args: Any) -> None:
        """Do something after a while."""
        self._sequence += 1
        heapq.heappush(self._heap, (self.now + delay, self._sequence, action, args))

    def run(self, until: Instant) -> None:
        """Let time pass."""
        heap, pop = self._heap, heapq.heappop
        while heap and heap[0][0] <= until:
            self.now, _, action, args = pop(heap)
            action(*args)
        self.now = max(self.now, until)

    def watch(self, kind: type, watch: Watch) -> None:
        """Tell somebody of every frame of one type."""
        self.watches.setdefault(kind, []).append(watch)

    def process(self, name: str, address: tuple[str, int] | None = None) -> Process:
        """A new process, not started yet; with an address others can dial it."""
        process = Process(self, name, len(self.processes), address)
        self.network.describer.name(name)
        self.processes.append(process)
        return process


class Process:
    """One machine with its clock, its storage and its connections. Lives from start to crash, any number of times."""

    __slots__ = (
        "_busy_until",
        "_durable",
        "_inbox",
        "_poked",
        "_round",
        "_round_before",
        "_round_began",
        "_scheduled",
        "_spins",
        "_timer",
        "address",
        "after_turn",
        "broker",
        "chunk",
        "clock",
        "cost_event",
        "cost_turn",
        "disk",
        "index",
        "life",
        "machine",
        "name",
        "stopped",
        "world",
    )

    def __init__(self, world: World, name: str, index: int, address: tuple[str, int] | None) -> None:
        self.world = world
        self.name = name
        self.index = index
        self.address = address
        self.broker = address is not None
        self.machine: Machine | None = None
        self.clock = Clock()
        self.disk: Disk | None = None
        self.life = 0
        """Counts starts and crashes, so that what was scheduled for an earlier life can tell."""
        self.stopped = False
        self.cost_turn: Duration = 20_000
        self.cost_event: Duration = 2_000
        """What a wake-up and each event in it cost in virtual time: while busy, events gather."""
        self.chunk = 0
        """While it is busy: so many frames are read from a connection at once, each connection in a turn of its own,
        one after the other; 0: everything that has arrived is there in one turn."""
        self._round: list[int] = []
        """Connections that are not read yet since all were looked at."""
        self._round_began: Instant = 0
        self._round_before: Instant = 0
        self.after_turn: Callable[[], None] | None = None
        self._inbox: list[DriverEvent] = []
        self._durable: list[Persist] = []
        self._scheduled = False
        self._poked = False
        self._busy_until: Instant = 0
        self._timer: Instant | None = None
        self._spins = 0

    @property
    def alive(self) -> bool:
        """Whether it runs (a stopped process does)."""
        return self.machine is not None

    def start(self, machine: Machine, clock: Clock, disk: Disk | None) -> None:
        """Begin a life."""
        assert self.machine is None
        self.life += 1
        self.machine, self.clock, self.disk = machine, clock, disk
        self._reset()
        if self.address is not None:
            self.world.network.listen(self, self.address)
        self.world.run_log.note(f"{self.world.now} {self.index} start {self.life}")
        self.poke()

    def move(self, address: tuple[str, int]) -> None:
        """Listen elsewhere in the next life; nobody answers at the old address any more."""
        assert self.machine is None
        assert self.address is not None
        self.world.network.abandon(self.address)
        self.address = address

    def crash(self, *, noticed: bool) -> None:
        """End at once. `noticed`: the operating system lives on and closes the connections."""
        assert self.machine is not None
        self.machine = None
        self.life += 1
        self.world.run_log.note(f"{self.world.now} {self.index} crash {noticed}")
        if self.disk is not None:
            self.disk.crash()
        self.world.network.vanish(self, noticed=noticed)
        self._reset()

    def stop(self) -> None:
        """SIGSTOP: nothing runs, connections stay."""
        self.stopped = True

    def resume(self) -> None:
        """SIGCONT."""
        if self.stopped:
            self.stopped = False
            self._scheduled = False
            if self.machine is not None:
                self.poke()

    def poke(self) -> None:
        """Call `handle` soon even if nothing happened."""
        self._poked = True
        self._schedule()

    def deliver(self, event: DriverEvent) -> None:
        """Something happened; the machine hears of it at its next wake-up."""
        if self.machine is not None:
            self._inbox.append(event)
            if not self._scheduled:
                self._schedule()

    # What the disk reports -------------------------------------------------------------------------------------
    def instant(self) -> Instant:
        """Virtual time."""
        return self.world.now

    def after(self, delay: Duration, action: Callable[[], None]) -> None:
        """Run something later."""
        self.world.after(delay, action)

    def persisted(self, batch: list[Persist]) -> None:
        """Durable: what waited for it leaves at the next wake-up, not before (the process may be stopped)."""
        self._durable.extend(batch)
        self._schedule()

    def loaded(self, load: Load, page: Page) -> None:
        """Read."""
        self.deliver(Loaded(load.token, page))

    # The driver's loop -----------------------------------------------------------------------------------------
    def _reset(self) -> None:
        self.stopped = False
        self._inbox, self._durable = [], []
        self._scheduled = self._poked = False
        self._round, self._round_began = [], 0
        self._busy_until = 0
        self._timer = None
        self._spins = 0

    def _schedule(self) -> None:
        if self._scheduled or self.machine is None:
            return
        self._scheduled = True
        self.world.at(self._busy_until, self._wake, self.life)

    def _wake(self, life: int) -> None:
        if life != self.life or self.stopped:
            return
        self._scheduled = False
        events = self._read() if self.chunk else self._inbox
        if not self.chunk:
            self._inbox = []
        if self._durable:
            durable, self._durable = self._durable, []
            self._release(durable, events)
        machine, world = self.machine, self.world
        assert machine is not None
        local = self.clock.read(world.now)
        if not events and not self._poked:
            deadline = machine.next_deadline()
            if deadline is None or deadline > local:
                return
        self._poked = False
        world.events += len(events)
        world.turns += 1
        self._busy_until = world.now + self.cost_turn + self.cost_event * len(events)
        self._note(events)
        try:
            effects = machine.handle(events, local)
        except Exception as error:
            raise ProductCrash(self.name, world.now, "".join(traceback.format_exception(error))) from error
        self._perform(effects)
        if self.after_turn is not None:
            self.after_turn()
            if life != self.life:
                return
        self._arm(local)
        if self._inbox:
            self._schedule()

    def _read(self) -> list[DriverEvent]:
        """What one connection brought: as a real driver gets it, which reads one after the other, up to a bound."""
        now = self.world.now
        if not self._round:
            self._round = list(dict.fromkeys(getattr(event, "conn", 0) for event in self._inbox))
            self._round_before, self._round_began = self._round_began or now, now
        conn = self._round.pop(0) if self._round else 0
        events = [event for event in self._inbox if getattr(event, "conn", 0) == conn][: self.chunk]
        taken = {id(event) for event in events}
        self._inbox = [event for event in self._inbox if id(event) not in taken]
        if not self._inbox:
            self._round, self._round_began = [], 0
        return [Lagged(now - self._round_before), *events]

    def _release(self, durable: list[Persist], events: list[DriverEvent]) -> None:
        for persist in durable:
            self._record(persist.traces)
            if persist.then:
                self.world.network.send(self, persist.then)
            if persist.token:
                events.append(Persisted(persist.token))

    def _perform(self, effects: Effects) -> None:
        network = self.world.network
        self._record(effects.traces)
        if effects.persists or effects.loads:
            assert self.disk is not None, f"{self.name} has no storage"
            self._note_storage(effects.persists)
            self.disk.submit([*effects.persists, *effects.loads], self)
        for dial in effects.dials:
            network.dial(self, dial)
        if effects.sends:
            network.send(self, effects.sends)
        for pause in effects.pauses:
            network.read(self, pause.conn, reading=not pause.paused)
        for close in effects.closes:
            if self.world.on_close is not None:
                self.world.on_close(self, close)
            network.close(self, close.conn)
            # What it said before we closed it must not reach the machine afterwards.
            self._inbox = [event for event in self._inbox if getattr(event, "conn", None) != close.conn]
        for plan in effects.plans:
            self.world.at(self.world.now + PLANNING, self._plan, self.life, plan)

    def _record(self, traces: Sequence[TraceRecord]) -> None:
        if traces and self.world.on_trace is not None:
            for record in traces:
                self.world.on_trace(record)

    def _plan(self, life: int, plan: PlanItems) -> None:
        if life == self.life:
            self.deliver(Planned(plan.group, (self.world.planner or _plan_live)(plan.request)))

    def _arm(self, local: Instant) -> None:
        assert self.machine is not None
        deadline = self.machine.next_deadline()
        if deadline is None:
            self._timer = None
            return
        if deadline > local:
            self._spins = 0
        else:
            self._spins += 1
            if self._spins > SPINS_MAX:
                raise ProductCrash(self.name, self.world.now, f"deadline {deadline} stays in the past of {local}")
        at = max(self.clock.when(deadline), self._busy_until)
        if self._timer is None or at < self._timer:
            self._timer = at
            self.world.at(at, self._tick, self.life, at)

    def _tick(self, life: int, at: Instant) -> None:
        if life != self.life or self._timer != at:
            return
        self._timer = None
        assert self.machine is not None
        deadline = self.machine.next_deadline()
        if deadline is None:
            return
        when = self.clock.when(deadline)
        if when > self.world.now:
            self._timer = when
            self.world.at(when, self._tick, life, when)
        else:
            self._schedule()

    # What the log learns -----------------------------------------------------------------------------------
    def _note(self, events: list[DriverEvent]) -> None:
        parts = [f"{self.world.now} {self.index}"]
        write = self.world.run_log.write
        network = self.world.network
        for event in events:
            kind = type(event)
            if kind is Received:
                [(head, body)] = event.messages  # type: ignore[union-attr]
                parts.append(f"r{event.conn}:{fingerprint(head, body)}")  # type: ignore[union-attr]
            elif kind is Opened or kind is Closed or kind is Clogged or kind is Drained:
                parts.append(f"{kind.__name__}{event.conn}")  # type: ignore[union-attr]
            elif kind is Persisted:
                parts.append(f"p{event.token}")  # type: ignore[union-attr]
            elif kind is Loaded:
                page = event.page  # type: ignore[union-attr]
                parts.append(f"l{event.token},{len(page.rows)},{len(page.corrupt)}")  # type: ignore[union-attr]
            else:
                parts.append(kind.__name__)
            if write is not None:
                write(f"{self.world.now / 1e9:12.6f} {self.name} < {network.describe(self, event)}")
        self.world.run_log.note(" ".join(parts))

    def _note_storage(self, persists: list[Persist]) -> None:
        for persist in persists:
            size = sum(len(getattr(write, "value", b"")) for write in persist.writes)
            self.world.run_log.note(f"{self.world.now} {self.index} w{len(persist.writes)},{size},{persist.token}")


def _plan_live(request: PlanRequest) -> PlannedItems:
    """Loaded when a landmark asks, as by the real driver."""
    require("placement", *ARRAYS, field="command", value="sim")
    from causeway.placement.live import plan_live

    return plan_live(request)
