"""Makes the faults of a run while it lasts, and ends them all when it is time to heal.

Owns: when which fault happens, within the claims of the atlas (`faults`). Each kind of fault is a Poisson process of
its own. Must not know: what applications do.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from causeway.sim.cluster import Broker, Cluster
from causeway.sim.faults import Options, stream
from causeway.sim.world import Process, World
from causeway.types import MILLISECOND, SECOND, Duration

BROKERS_MAX = 12
"""Joins end here, leaves at MEMBERS_MIN: a run is about change, not about size."""
MEMBERS_MIN = 3


class Nemesis:
    """Breaks things from `begin` until `heal`."""

    def __init__(self, world: World, cluster: Cluster, options: Options) -> None:
        self.world = world
        self.cluster = cluster
        self.options = options
        self.clients: list[Process] = []
        """Processes besides the brokers that partitions and stops may hit."""
        self.on_client_crash: Callable[[random.Random], None] | None = None
        self.on_storage_lost: Callable[[Broker], None] | None = None
        self.whole: Callable[[], str | None] = lambda: "unknown"
        """Why not every group has all its copies, None when it has: storages are only lost then."""
        self.counts: dict[str, int] = {}
        self._rng = stream(options.seed, "nemesis")
        self._active = False
        self._mourning: Broker | None = None
        """Its storage was lost and is not replaced yet: nothing else may break."""
        self._replaced: Broker | None = None
        self._rot_victim: Broker | None = None
        self._cuts: dict[int, list[tuple[Process, Process]]] = {}
        self._cut_number = 0

    def begin(self) -> None:
        """From now on things break."""
        self._active = True
        options = self.options
        for rate, act in (
            (options.crashes, self._crash),
            (options.disk_losses, self._lose_disk),
            (options.rots, self._rot),
            (options.partitions, self._partition),
            (options.client_cuts, self._cut_client),
            (options.resets, self._reset),
            (options.stops, self._stop),
            (options.slow_links, self._slow_link),
            (options.slow_disks, self._slow_disk),
            (options.joins, self._join),
            (options.leaves, self._leave),
            (options.client_crashes, self._crash_client),
        ):
            if rate:
                self._again(rate, act, first=True)

    def heal(self) -> None:
        """Everything works again and everybody is back; nothing more breaks."""
        self._active = False
        for number in list(self._cuts):
            self.mend(number)
        weather = self.world.network.weather
        weather.loss = weather.duplicate = weather.reorder = 0.0
        network = self.world.network
        for a in self.world.processes:
            a.resume()
            for b in self.world.processes:
                network.slow(a, b, 1)
        for broker in self.cluster.members():
            if not broker.up:
                self.cluster.start(broker)
            if broker.disk is not None:
                broker.disk.slow_until = 0

    # Poisson ---------------------------------------------------------------------------------------------------
    def _again(self, rate: float, act: Callable[[], None], *, first: bool = False) -> None:
        if not self._active:
            return
        if not first and self._calm_kept():
            act()
        self.world.after(int(self._rng.expovariate(rate / 60) * SECOND) + 1, self._next, rate, act)

    def _next(self, rate: float, act: Callable[[], None]) -> None:
        self._again(rate, act)

    def _calm_kept(self) -> bool:
        """Whether a fault may happen: not while a lost storage is being replaced."""
        if self._mourning is not None and self.whole() is None:
            self._mourning = None
        return self._mourning is None

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1
        self.world.run_log.note(f"{self.world.now} nemesis {what}")
        if self.world.run_log.write is not None:
            self.world.run_log.write(f"{self.world.now / 1e9:12.6f} ===== {what}")

    def _up_to(self, most: Duration) -> Duration:
        return MILLISECOND + int(self._rng.random() * most)

    def _pick(self) -> Broker | None:
        living = self.cluster.living()
        return self._rng.choice(living) if living else None

    # Faults ----------------------------------------------------------------------------------------------------
    def _crash(self) -> None:
        if self.options.durability == "memory":
            self._lose_disk()
            return
        living = self.cluster.living()
        count = min(len(living), self._rng.randint(1, self.options.crash_group_max))
        noticed = self._rng.random() < 0.6
        for broker in self._rng.sample(living, count):
            self._count(f"crash {broker.name}")
            self.cluster.crash(broker, noticed=noticed)
            self.world.after(self._up_to(self.options.down_max), self._restart, broker)

    def _restart(self, broker: Broker) -> None:
        if not broker.up and not broker.gone:
            self._count(f"restart {broker.name}")
            self.cluster.start(broker)

    def _lose_disk(self) -> None:
        broker = self._pick()
        members = self.cluster.members()
        if broker is None or len(self.cluster.living()) < len(members) or self._cuts:
            return
        if any(process.stopped for process in self.world.processes) or any(b.leaving for b in members):
            return
        if self.whole() is not None:
            return
        self._mourning = broker
        self._lose_storage(broker)

    def _lose_storage(self, broker: Broker) -> None:
        self._count(f"lose storage of {broker.name}")
        self.cluster.crash(broker, noticed=self._rng.random() < 0.6)
        broker.store = None
        if self.on_storage_lost is not None:
            self.on_storage_lost(broker)
        self.world.after(self._up_to(self.options.down_max), self._restart, broker)

    def replace_storage(self) -> None:
        """When all is healed: one broker loses its storage and comes back, never the same one twice in a row."""
        self._replaced = self._rng.choice([broker for broker in self.cluster.living() if broker is not self._replaced])
        self._lose_storage(self._replaced)

    def cut_link(self) -> int | None:
        """When all is healed: no frame passes between two brokers any more; the number of this cut."""
        living = self.cluster.living()
        if len(living) < 3:
            return None  # nobody is between them
        a, b = (broker.process for broker in self._rng.sample(living, 2))
        self._count(f"cut link {a.name} {b.name}")
        return self._cut([(a, b), (b, a)])

    def be_busy(self, turn: Duration) -> None:
        """When all is healed: every broker's turns take so long, and read one connection each; 0: as before."""
        self._count(f"busy {turn}")
        for broker in self.cluster.living():
            broker.process.chunk = 64 if turn else 0
            broker.process.cost_turn = turn or self.options.turn_cost

    def _rot(self) -> None:
        if self.whole() is not None:
            return
        if self._rot_victim is None or self._rot_victim.gone:
            self._rot_victim = self._pick()
        victim = self._rot_victim
        if victim is not None and victim.store is not None:
            spoiled = victim.store.rot(self._rng, local=self.options.rot_local)
            if spoiled is not None:
                self._count(f"rot on {victim.name} {spoiled[0].hex()} {spoiled[1].hex()}")

    def _partition(self) -> None:
        rng = self._rng
        brokers = [broker.process for broker in self.cluster.members()]
        if len(brokers) < 2:
            return
        kind = rng.choice(("one", "group", "pair"))
        count = 1 if kind != "group" else rng.randint(1, len(brokers) - 1)
        inside = rng.sample(brokers, count)
        outside = [process for process in brokers if process not in inside]
        if kind == "pair":
            outside = [rng.choice(outside)]
        else:
            for client in self.clients:
                rng.choice((inside, outside)).append(client)
        pairs = self._directed([(a, b) for a in inside for b in outside])
        self._count(f"partition {kind} {[p.name for p in inside]} {[p.name for p in outside]} {len(pairs)}")
        self._cut(pairs, self.options.partition_max)

    def _cut_client(self) -> None:
        """Between a client and a broker that it has a connection to: often the owner of what it reads."""
        ends = [end for end in self.world.network.connections() if not end.process.broker]
        if not ends:
            return
        end = self._rng.choice(ends)
        assert end.peer is not None
        client, broker = end.process, end.peer.process
        pairs = self._directed([(client, broker)])
        self._count(f"cut {client.name} {broker.name} {len(pairs)}")
        self._cut(pairs, self.options.client_cut_max)

    def _directed(self, pairs: list[tuple[Process, Process]]) -> list[tuple[Process, Process]]:
        """Both directions, or one of the two."""
        back = [(b, a) for a, b in pairs]
        if self._rng.random() >= self.options.one_way:
            return pairs + back
        return back if self._rng.random() < 0.5 else pairs

    def _cut(self, pairs: list[tuple[Process, Process]], most: Duration = 0) -> int:
        """Frames no longer pass, for a while of at most this, or (0) until `mend`."""
        self._cut_number += 1
        self._cuts[self._cut_number] = pairs
        for source, target in pairs:
            self.world.network.cut(source, target)
        if most:
            self.world.after(self._up_to(most), self.mend, self._cut_number)
        return self._cut_number

    def mend(self, number: int) -> None:
        """Frames pass again where this cut held them."""
        pairs = self._cuts.pop(number, None)
        if pairs is not None:
            self._count("mend")
            for source, target in pairs:
                self.world.network.heal(source, target)

    def _reset(self) -> None:
        connections = self.world.network.connections()
        if connections:
            end = self._rng.choice(connections)
            self._count(f"reset {end.process.name} #{end.conn}")
            self.world.network.reset(end)

    def _stop(self) -> None:
        candidates = [b.process for b in self.cluster.living()] + [p for p in self.clients if p.alive]
        if candidates:
            process = self._rng.choice(candidates)
            if not process.stopped:
                self._count(f"stop {process.name}")
                process.stop()
                self.world.after(self._up_to(self.options.stop_max), self._resume, process, process.life)

    def _resume(self, process: Process, life: int) -> None:
        if process.life == life and process.stopped:
            self._count(f"resume {process.name}")
            process.resume()

    def _slow_link(self) -> None:
        processes = [b.process for b in self.cluster.living()] + self.clients
        if len(processes) >= 2:
            a, b = self._rng.sample(processes, 2)
            self._count(f"slow link {a.name} {b.name}")
            self.world.network.slow(a, b, self._rng.choice((3, 10, 50)))
            self.world.after(self._up_to(5 * SECOND), self.world.network.slow, a, b, 1)

    def _slow_disk(self) -> None:
        broker = self._pick()
        if broker is not None and broker.disk is not None:
            self._count(f"slow disk {broker.name}")
            broker.disk.slow_until = self.world.now + self._up_to(5 * SECOND)
            broker.disk.slow_factor = self._rng.choice((5, 20, 100))

    def _join(self) -> None:
        if len(self.cluster.brokers) < BROKERS_MAX:
            broker = self.cluster.add()
            self._count(f"join {broker.name}")
            self.cluster.start(broker)

    def _leave(self) -> None:
        staying = [broker for broker in self.cluster.members() if not broker.leaving]
        living = [broker for broker in staying if broker.up and not broker.process.stopped]
        if self.options.roaming:
            living = [broker for broker in living if broker.roams]  # those at fixed addresses must stay
        if len(staying) > MEMBERS_MIN and living:
            broker = self._rng.choice(living)
            self._count(f"leave {broker.name}")
            self.cluster.leave(broker)

    def _crash_client(self) -> None:
        if self.on_client_crash is not None:
            self._count("crash client")
            self.on_client_crash(self._rng)
