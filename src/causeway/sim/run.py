"""One run: options, faults while workloads run, healing, convergence, verdict.

Owns: the phases (safety, heal, liveness) and who is told what. The one place that knows the product's broker and
client; everything below it works with any machines.
"""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from causeway.client.session import Session
from causeway.client.settings import SessionConfig
from causeway.config import BrokerConfig
from causeway.core.effects import Close
from causeway.core.mail.dead_letters import dead_letter_name
from causeway.core.messages import Deliver, Message, Settle
from causeway.core.node import Node
from causeway.lake.opening import require_pyarrow
from causeway.sim.application import Application, MakeSession
from causeway.sim.checkers.base import Wrong
from causeway.sim.checkers.convergence import Convergence
from causeway.sim.checkers.owner import SingleOwner
from causeway.sim.checkers.panel import Panel
from causeway.sim.cluster import Broker, BrokerMachine, Cluster, MakeBroker
from causeway.sim.disk import Disk, RottingStore
from causeway.sim.faults import Options, stream
from causeway.sim.held import Held
from causeway.sim.nemesis import Nemesis
from causeway.sim.network import Network
from causeway.sim.run_log import RunLog
from causeway.sim.verdict import Ending, SimVerdict
from causeway.sim.workloads.base import Workload
from causeway.sim.workloads.catalogue import CATALOGUE
from causeway.sim.world import Process, ProductCrash, World
from causeway.store.memory import MemoryStore
from causeway.types import MILLISECOND, SECOND, Duration, Instant, Peer

if TYPE_CHECKING:
    from causeway.sim.lake import SimLake

STEP = 100 * MILLISECOND
"""How often the run looks whether somebody has left and whether everything has converged."""

LOOK_EVERY = 500 * MILLISECOND
"""How often a person who replaces disks looks at the status."""

ROAM_EVERY = 1 * SECOND
"""How often clients that roam ask, and may move: a run lasts seconds, not hours."""

BUSY_LASTS = 10 * SECOND
"""How long turns are long."""

JUST_AFTER = 2 * MILLISECOND
"""Applications crash so soon after they have acknowledged something, or at any other time."""

QUIET = 15 * SECOND
"""Nothing is on its way and nobody holds anything for so long: what has not arrived is lost."""


class SimRun:
    """A cluster, its applications and its faults, all from one set of options."""

    def __init__(
        self,
        options: Options,
        *,
        make_broker: MakeBroker = Node,
        make_session: MakeSession = Session,
        log: Callable[[str], None] | None = None,
        tick: Callable[[Instant], None] | None = None,
        lake: str | Path | None = None,
    ) -> None:
        self.options = options
        self._tick = tick
        """Told the virtual time after every step, for people who wait."""
        self.make_session = make_session
        network = Network(stream(options.seed, "network"), options.weather(), wire=options.wire)
        self.world = World(RunLog(log), network)
        self.panel = Panel(lambda: self.world.now, options.shards)
        self.cluster = Cluster(self.world, options, make_broker if lake is None else _traced(make_broker))
        self._lake = None if lake is None else self._open_lake(lake)
        """Gets what brokers and applications do."""
        self.nemesis = Nemesis(self.world, self.cluster, options)
        self.convergence = Convergence(self.cluster, options)
        self.nemesis.whole = self.convergence.groups_whole
        self.nemesis.on_client_crash = self._crash_one
        self.nemesis.on_storage_lost = self._storage_lost
        self.applications: dict[str, Application] = {}
        self.workloads: list[Workload] = []
        self.mailboxes: list[str] = []
        self._stores: dict[str, RottingStore] = {}
        for kind in (*SingleOwner.kinds, Deliver):
            self.world.watch(kind, self._watch)
        self.world.watch(Settle, self._watch_settle)

    def _open_lake(self, lake: str | Path) -> SimLake:
        require_pyarrow(lake)
        from causeway.sim.lake import SimLake

        seated = self.cluster.seating
        return SimLake(lake, self.world, lambda name: next(iter(seated.get(name, ())), ""), self.options.copies)

    # The phases ------------------------------------------------------------------------------------------------
    def run(self) -> SimVerdict:
        """From an empty world to a verdict."""
        ending, evidence = Ending.OK, ""
        try:
            self._setup()
            self.nemesis.begin()
            self._pass(self.options.safety)
            self.nemesis.heal()
            reason = self._replace_storages() or self._cut_links() or self._be_busy()
            self._wind_down()
            reason = reason or self._converge()
            if reason is not None:
                ending, evidence = Ending.STUCK, reason
            else:
                self.panel.finish()
        except Wrong as wrong:
            ending, evidence = Ending.WRONG, str(wrong)
        except ProductCrash as crash:
            ending, evidence = Ending.CRASH, str(crash)
        except Exception as error:
            # Raised outside `handle`: by the session in an application's hands, or by the simulator itself.
            ending, evidence = Ending.CRASH, "".join(traceback.format_exception(error))
        if self._lake is not None:
            self._lake.close()
        return self._verdict(ending, evidence)

    def pending(self) -> str | None:
        """Why the run is not over, in words; None when nothing moves any more."""
        reason = self.convergence.pending()
        if reason is not None:
            return reason
        for application in self.applications.values():
            session = application.session
            if session is None:
                return f"{application.name} is not running"
            if not session.idle:
                return f"{application.name} is not idle: {session.unresolved} sends unresolved; {session.trouble}"
        return self.convergence.undrained()

    def missing(self) -> str | None:
        """What applications still wait for; if nothing moves any more, it is lost."""
        owed = self.panel.loss.owed()
        if owed:
            return f"{len(owed)} acknowledged letters have not arrived, first {owed[0]}"
        for workload in self.workloads:
            reason = workload.pending()
            if reason is not None:
                return f"{workload.name}: {reason}"
        return None

    def _setup(self) -> None:
        for _ in range(self.options.brokers):
            self.cluster.start(self.cluster.add())
        undertaker = self.application("undertaker")
        undertaker.crashable = False
        undertaker.on_letter = self._bury
        undertaker.on_start = self._read_the_dead
        for name in self.options.workloads:
            workload = CATALOGUE[name](self, stream(self.options.seed, f"workload/{name}"))
            self.workloads.append(workload)
            workload.setup()
        self.launch(undertaker)

    def _wind_down(self) -> None:
        for workload in self.workloads:
            workload.wind_down()
        for application in self.applications.values():
            if not application.up:
                self.launch(application)

    def _replace_storages(self) -> str | None:
        """Lose one storage after another, as a person who replaces disks would; why that could not go on, or None."""
        for number in range(self.options.replacements):
            reason, stop = self.convergence.unhealthy(), self.world.now + self.options.patience
            while reason is not None and self.world.now < stop:
                self._pass(LOOK_EVERY)
                reason = self.convergence.unhealthy()
            if reason is not None:
                return f"after {number} replaced storages: {reason}"
            self.nemesis.replace_storage()
        return None

    def _cut_links(self) -> str | None:
        """Cut one link between two brokers after another; who waited too long for it, or None."""
        options = self.options
        for _ in range(options.link_outages):
            stop = self.world.now + options.patience
            while self.convergence.pending() is not None and self.world.now < stop:
                self._pass(LOOK_EVERY)
            calm = self.world.now
            self._pass(SECOND)
            if self._waits_longer(SECOND // 2, calm) is not None:
                return None  # what applications do is too much for this world without any fault
            cut, since = self.nemesis.cut_link(), self.world.now
            if cut is None:
                return None
            while self.world.now < since + options.cut_lasts:
                self._pass(LOOK_EVERY)
                reason = self._waits_longer(options.stall_max, since)
                if reason is not None:
                    return f"one link is cut, and {reason}"
            self.nemesis.mend(cut)
        return None

    def _be_busy(self) -> str | None:
        """Let the turns of all brokers take long for a while; who was taken for dead although it lives, or None."""
        options, found = self.options, list[str]()

        def look(process: Process, close: Close) -> None:
            other = self.world.network.other_end(process, close.conn)
            if close.reason == "silent for too long" and other is not None and other.broker and other.alive:
                found.append(f"{process.name} takes {other.name} for dead, which is busy")

        for _ in range(options.busy_spells):
            stop = self.world.now + options.patience
            while self.convergence.pending() is not None and self.world.now < stop:
                self._pass(LOOK_EVERY)
            self.world.on_close = look
            self.nemesis.be_busy(options.silence // max(1, len(self.cluster.living())))
            self._pass(BUSY_LASTS)
            self.nemesis.be_busy(0)
            self._pass(2 * options.silence)
            self.world.on_close = None
        return found[0] if found else None

    def _waits_longer(self, most: Duration, since: Instant) -> str | None:
        """Who has waited longer than this for what it sent since then."""
        for application in self.applications.values():
            found = application.unanswered(since)
            if found is not None and self.world.now - found[0] > most:
                return f"{application.name} has waited {(self.world.now - found[0]) / SECOND:.1f} s for {found[1]}"
        return None

    def _converge(self) -> str | None:
        """Let everything come to rest; why it did not, or None."""
        stop = self.world.now + self.options.patience
        reason: str | None = "nothing was looked at"
        quiet = 0
        while self.world.now < stop:
            self._pass(SECOND)
            for application in self.applications.values():
                if not application.up:
                    self.launch(application)
            reason = self.pending()
            if reason is None and self.missing() is None:
                return None
            quiet = quiet + SECOND if reason is None else 0
            if quiet > QUIET:
                return None  # whatever is missing now will never come: the checkers say what it is
        return reason or self.missing()

    def _pass(self, duration: int) -> None:
        stop = self.world.now + duration
        while self.world.now < stop:
            self.world.run(min(stop, self.world.now + STEP))
            self.cluster.reap()
            if self._tick is not None:
                self._tick(self.world.now)

    def _verdict(self, ending: Ending, evidence: str) -> SimVerdict:
        options = self.options
        faults: dict[str, int] = {}
        for what, count in self.nemesis.counts.items():
            kind = what.split(" ")[0]
            faults[kind] = faults.get(kind, 0) + count
        return SimVerdict(
            seed=options.seed,
            ending=ending.name.lower(),
            code=int(ending),
            evidence=evidence,
            digest=self.world.run_log.digest(),
            events=self.world.events,
            turns=self.world.turns,
            virtual_seconds=self.world.now / SECOND,
            observations=self.panel.counts,
            faults=faults,
            options={field: getattr(options, field) for field in options.__struct_fields__},
        )

    # What workloads need (workloads.base.Scene) ----------------------------------------------------------------
    def application(self, name: str, *, keep: bool = False) -> Application:
        """A new application, not started; with `keep` its session remembers over restarts."""
        process = self.world.process(name)
        process.cost_turn, process.cost_event = self.options.turn_cost, self.options.event_cost
        application = Application(process, self.panel, self._session_maker(process), keeps=keep)
        self.applications[name] = application
        self.nemesis.clients.append(process)
        if keep:
            rng = stream(self.options.seed, f"store/{name}")
            self._stores[name] = RottingStore(MemoryStore(lambda: rng.getrandbits(62) + 1))
        return application

    def _session_maker(self, process: Process) -> MakeSession:
        lake, make = self._lake, self.make_session
        if lake is None:
            return make

        def traced(config: SessionConfig, incarnation: int, rng: random.Random) -> Session:
            session = make(config, incarnation, rng)
            lake.follow(session, process)
            return session

        return traced

    def launch(self, application: Application) -> None:
        """Begin its first or next life."""
        if application.up or application.process.alive or not application.may_start():
            return
        options, name = self.options, application.name
        addresses = tuple(b.process.address for b in self.cluster.members() if b.process.address is not None)
        store = self._stores.get(name)
        config = SessionConfig(
            name=name,
            addresses=addresses[:5],
            timeout=options.send_timeout,
            keep=store is not None,
            roam=options.client_roams,
            locate_every=ROAM_EVERY,
            move_pause=ROAM_EVERY,
        )
        purpose = f"{name}/{application.life + 1}"
        disk = None
        if store is not None:
            disk = Disk(store, stream(options.seed, f"disk/{purpose}"), instant=False)
            disk.commit_ns, disk.read_ns, disk.jitter_ns = options.commit, options.commit // 4, options.commit_jitter
            store.page_rows = options.page_rows
        application.start(config, stream(options.seed, f"session/{purpose}"), self.cluster.clock(), disk)

    def in_one_hand(self, mailbox: str) -> bool:
        """Whether everybody who has to do with a mailbox agrees on who owns it."""
        return self.convergence.in_one_hand(mailbox)

    def seated(self) -> bool:
        """Whether all domains are joined as they should be."""
        return self.convergence.seated()

    def registrations(self) -> int:
        """How many subscriptions all items together know."""
        return self.convergence.registrations()

    def mailbox(self, name: str) -> str:
        """Register a mailbox."""
        self.mailboxes.append(name)
        self.world.network.describer.name(name)
        return name

    # What happens to applications ------------------------------------------------------------------------------
    def _crash_one(self, rng: random.Random) -> None:
        running = [app for app in self.applications.values() if app.up and app.crashable]
        if running:
            application = rng.choice(running)
            pause = rng.randrange(1, 3 * SECOND)
            if rng.random() < 0.5:
                self._end_life(application, application.life, pause)
                return
            # Just when it has acknowledged something: what of that is on whose disk?
            delay, life = rng.randrange(1, JUST_AFTER), application.life
            application.on_settled = lambda: self.world.after(delay, self._end_life, application, life, pause)

    def _end_life(self, application: Application, life: int, pause: int) -> None:
        if application.up and application.life == life:
            application.crash()
            self.world.after(pause, self.launch, application)

    def _read_the_dead(self, undertaker: Application) -> None:
        for name in self.mailboxes:
            undertaker.read(dead_letter_name(name), 64)

    def _bury(self, held: Held) -> None:
        self.panel.conservation.came_home(held.letter)
        for workload in self.workloads:
            workload.buried(held.letter)
        held.application.settle(held)

    def _storage_lost(self, broker: Broker) -> None:
        self.panel.owner.forget(broker.name)

    def _watch_settle(self, sender: Process, receiver: Process, head: Message) -> None:
        if sender.name in self._stores:
            assert isinstance(head, Settle)
            self.applications[sender.name].told_broker(head)

    def _watch(self, sender: Process, receiver: Process, head: Message) -> None:
        self.panel.frame(sender.name, receiver.name, head, brokers=sender.broker and receiver.broker)


def _traced(make_broker: MakeBroker) -> MakeBroker:
    """Brokers that know that somebody writes a lake, and record more; they do nothing else differently."""

    def make(config: BrokerConfig, me: Peer, incarnation: int, rng: random.Random) -> BrokerMachine:
        return make_broker(msgspec.structs.replace(config, lake="simulated"), me, incarnation, rng)

    return make
