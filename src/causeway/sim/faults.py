"""Every option of a run, all drawn from the seed, and the atlas of faults.

Fault atlas: the claim behind every fault the simulator makes. The network's part stands in `network`, the disk's in
`disk`. For processes and for combinations:
- any number of brokers may crash, be stopped (SIGSTOP) and restart with their storage, all at once too;
- clocks differ by `skew` and drift apart by `drift_ppb`; they jump only between two lives of a process;
- a storage is lost for good only while every group is known to have all its copies and nothing else is broken, and
  the next one only after all groups are whole again: a group survives the loss of a minority of its complete
  copies, and an epoch that has already shrunk has no copy to spare. So `copies` must be at least 3 for it;
- storages are also replaced one after another, without any other fault: the next one is lost as soon as the brokers
  themselves say that they bear it, which is all that a person who replaces disks can see (`status`);
- links between two brokers are also cut one after another for long, without any other fault: every other way is open,
  so nobody may wait longer than it takes to notice and to send again over a third broker;
- turns take time: for a while every broker reads its connections one after the other, and needs about the silence to
  read those of all brokers once, while nothing else is broken; nobody may be taken for dead for it;
- with `memory` durability a crash is the loss of a storage, so the same rule holds for every crash;
- rows rot on one broker at a time, and the next one's only after all groups are whole and all rows are good again;
  not in a run that also loses storages: then the good copy might be the lost one;
- a seat's rows change, and a row that changes is mended only by a member that is up to date; so where letters are sent
  in causal order rows rot only if every group has at least 3 members;
- a row that a broker keeps for itself rots only where every group has at least 3 members: without the row of its
  membership a broker is a stranger to the group, which has lost one of its copies for good, and one of two is no
  minority;
- brokers leave and join while all this goes on.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec

from causeway.config import BrokerConfig
from causeway.limits import PAGE_ROWS_MAX, SHARDS
from causeway.sim.network import Weather
from causeway.types import MICROSECOND, MILLISECOND, SECOND, Duration

Addresses = tuple[tuple[str, int], ...]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """One run. Rates are events per virtual minute for the whole cluster; 0 switches a fault off."""

    seed: int
    brokers: int = 5
    clients: int = 4
    safety: Duration = 20 * SECOND
    """How long faults are made."""
    patience: Duration = 120 * SECOND
    """How long convergence may take afterwards."""
    # The product's settings
    copies: int = 3
    root_copies: int = 5
    witnesses: int = 0
    shards: int = SHARDS
    durability: str = "disk"
    heartbeat: Duration = 250 * MILLISECOND
    silence: Duration = 1500 * MILLISECOND
    retry: Duration = 200 * MILLISECOND
    migrate_after: Duration = 1 * SECOND
    deliveries_max: int = 5
    window_bytes: int = 1 << 20
    volatile_bytes_max: int = 1 << 20
    stored_bytes_max: int = 1 << 30
    capability: int = 1000
    """A small one makes every connection weigh, so that clients that roam do it often."""
    domains: int = 3
    """A random tree of so many; only where letters are sent in causal order does anybody sit in them."""
    paths: int = 1
    client_roams: bool = False
    """Clients look for a better broker all the time. Off where a test wants every client to stay where it is."""
    # The world
    latency: Duration = MILLISECOND
    jitter: Duration = MILLISECOND // 2
    dial_timeout: Duration = SECOND
    buffer_bytes: int = 1 << 20
    commit: Duration = MILLISECOND
    commit_jitter: Duration = MILLISECOND
    page_rows: int = PAGE_ROWS_MAX
    """Rows a scan returns at most at once."""
    turn_cost: Duration = 20 * MICROSECOND
    event_cost: Duration = 2 * MICROSECOND
    skew: Duration = 0
    drift_ppb: int = 0
    wire: bool = False
    # Faults
    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    crashes: float = 0.0
    crash_group_max: int = 1
    down_max: Duration = 5 * SECOND
    disk_losses: float = 0.0
    replacements: int = 0
    """Storages lost one after another once all else is healed, each as soon as the cluster calls itself healthy."""
    link_outages: int = 0
    """Links between two brokers cut one after another once all else is healed, each for `cut_lasts`."""
    busy_spells: int = 0
    """Times, once all else is healed, when the turns of all brokers are long."""
    rots: float = 0.0
    rot_local: bool = False
    """Rows that a broker keeps for itself rot too; they have no copy, only a way to do without, among 3 or more."""
    roaming: bool = False
    """A broker that restarts listens on another port."""
    partitions: float = 0.0
    partition_max: Duration = 5 * SECOND
    one_way: float = 0.3
    """Share of partitions and cuts that hold one direction only."""
    backoff: bool = False
    """What a cut has held goes on only when the sender's TCP tries again: up to as long after it as it lasted."""
    client_cuts: float = 0.0
    """One client and one broker that it talks to do not hear each other; all others do."""
    client_cut_max: Duration = 5 * SECOND
    resets: float = 0.0
    stops: float = 0.0
    stop_max: Duration = 3 * SECOND
    slow_links: float = 0.0
    slow_disks: float = 0.0
    joins: float = 0.0
    leaves: float = 0.0
    client_crashes: float = 0.0
    # What applications do
    workloads: tuple[str, ...] = ("transactional",)
    rate: float = 20.0
    """Letters per second and application."""
    burst: int = 4
    letter_bytes: int = 100
    send_timeout: Duration = 100_000 * SECOND
    """How long a sender waits before it gives up; the letter's fate is then unknown."""
    credit: int = 16

    @property
    def stall_max(self) -> Duration:
        """How long somebody may wait for an answer because one link is cut: until it is noticed and sent again."""
        return 2 * self.silence + 8 * self.retry + SECOND

    @property
    def cut_lasts(self) -> Duration:
        """How long such a link is cut: who waits for its end waits too long."""
        return 3 * self.stall_max

    @property
    def seated(self) -> int:
        """Domains that somebody sits in."""
        return self.domains if "causal" in self.workloads else 0

    def broker_config(
        self,
        name: str,
        address: tuple[str, int],
        *,
        seeds: Addresses,
        founder: bool,
        domains: tuple[str, ...] = (),
    ) -> BrokerConfig:
        """The settings of one broker."""
        return BrokerConfig(
            name=name,
            host=address[0],
            port=address[1],
            seeds=seeds,
            founder=founder,
            domains=domains,
            paths=self.paths,
            durability=self.durability,
            copies=self.copies,
            root_copies=self.root_copies,
            witnesses=self.witnesses,
            shards=self.shards,
            heartbeat=self.heartbeat,
            silence=self.silence,
            retry=self.retry,
            migrate_after=self.migrate_after,
            deliveries_max=self.deliveries_max,
            window_bytes=self.window_bytes,
            volatile_bytes_max=self.volatile_bytes_max,
            stored_bytes_max=self.stored_bytes_max,
            capability=self.capability,
        ).check()

    def weather(self) -> Weather:
        """The network as the run begins."""
        return Weather(
            latency=self.latency,
            jitter=self.jitter,
            loss=self.loss,
            duplicate=self.duplicate,
            reorder=self.reorder,
            dial_timeout=self.dial_timeout,
            backoff=self.backoff,
            buffer_bytes=self.buffer_bytes,
        )

    def lines(self) -> list[str]:
        """All options, one per line, for the head of a run's output."""
        return [f"{field}={getattr(self, field)!r}" for field in self.__struct_fields__]


WORKLOADS = (
    "transactional",
    "recoverable",
    "express",
    "offline",
    "queue",
    "transfer",
    "browsing",
    "topics",
    "causal",
    "relay",
    "poison",
)
"""What can be mixed; see `workloads`."""


def stream(seed: int, purpose: str) -> random.Random:
    """A generator for one purpose: drawing more for one never changes another. Text seeds do not depend on hashing."""
    return random.Random(f"causeway/{seed}/{purpose}")


def options_swarm(
    seed: int, *, brokers: int | None = None, clients: int | None = None, seconds: float | None = None
) -> Options:
    """Draw every option; each fault is left out in about half of the runs, so faults come alone and combined."""
    values: dict[str, Any] = {name: draw(stream(seed, f"option/{name}")) for name, draw in RANGES.items()}
    values["seed"] = seed
    values["silence"] = max(values["silence"], 2 * values["heartbeat"])
    if brokers is not None:
        values["brokers"] = brokers
    if clients is not None:
        values["clients"] = clients
    if seconds is not None:
        values["safety"] = round(seconds * SECOND)
    _keep_claims(values)
    return msgspec.convert(values, Options)


def options_calm(seed: int, **values: object) -> Options:
    """No faults at all; a base for tests that add the one they want."""
    return msgspec.convert({"seed": seed, **values}, Options)


# What is drawn -------------------------------------------------------------------------------------------------
Draw = Callable[[random.Random], Any]


def among(*values: object) -> Draw:
    """One of these; what is named twice is twice as likely."""
    return lambda rng: rng.choice(values)


def spread(low: int, high: int, unit: int = 1) -> Draw:
    """Between the two, small and large values alike."""
    return lambda rng: round(low * float((high / low) ** rng.random())) * unit


def sometimes(low: float, high: float, odds: float = 0.5) -> Draw:
    """Between the two with these odds, otherwise 0."""
    return lambda rng: round(rng.uniform(low, high), 6) if rng.random() < odds else 0.0


def odds(probability: float) -> Draw:
    """True with this probability."""
    return lambda rng: rng.random() < probability


def mix(rng: random.Random) -> tuple[str, ...]:
    """Some workloads, at least one."""
    chosen = [name for name in WORKLOADS if rng.random() < 0.4]
    return tuple(chosen or [rng.choice(WORKLOADS)])


RANGES: dict[str, Draw] = {
    # The product's settings
    "brokers": among(1, 2, 3, 3, 4, 5, 5, 5, 6, 7, 9),
    "copies": among(1, 2, 3, 3, 3, 3, 3, 5),
    "root_copies": among(1, 3, 3, 5, 5, 5),
    "witnesses": among(0, 2, 4, 4),
    "shards": among(0, 0, 1, 2, 16, 128),
    "durability": among("disk", "disk", "disk", "disk", "memory"),
    "heartbeat": spread(100, 600, MILLISECOND),
    "silence": spread(500, 3000, MILLISECOND),
    "retry": spread(50, 500, MILLISECOND),
    "migrate_after": spread(200, 3000, MILLISECOND),
    "deliveries_max": among(1, 2, 5, 20),
    "window_bytes": spread(1 << 10, 1 << 20),
    "volatile_bytes_max": spread(1 << 14, 1 << 22),
    "stored_bytes_max": among(1 << 30, 1 << 30, 1 << 30, 1 << 17),
    "capability": among(1000, 20),
    "client_roams": odds(0.5),
    "domains": among(1, 2, 2, 3, 3, 4, 6),
    "paths": among(1, 1, 2, 3),
    # The world
    "safety": lambda rng: rng.randint(5, 20) * SECOND,
    "latency": spread(50, 20_000, MICROSECOND),
    "jitter": spread(10, 20_000, MICROSECOND),
    "dial_timeout": spread(200, 4000, MILLISECOND),
    "buffer_bytes": spread(1 << 11, 1 << 22),
    "commit": spread(50, 10_000, MICROSECOND),
    "commit_jitter": spread(50, 10_000, MICROSECOND),
    "page_rows": among(1, 3, 10, 100, PAGE_ROWS_MAX, PAGE_ROWS_MAX),
    "turn_cost": spread(5, 200, MICROSECOND),
    "event_cost": spread(1, 20, MICROSECOND),
    "skew": among(0, 0, SECOND, 60 * SECOND, 86_400 * SECOND),
    "drift_ppb": among(0, 0, 100_000, 5_000_000),
    "wire": odds(0.15),
    # Faults
    "loss": sometimes(0.0, 0.05),
    "duplicate": sometimes(0.0, 0.05),
    "reorder": sometimes(0.0, 0.10),
    "crashes": sometimes(2.0, 40.0, 0.6),
    "crash_group_max": among(1, 1, 2, 9),
    "down_max": spread(50, 8000, MILLISECOND),
    "disk_losses": sometimes(2.0, 20.0, 0.3),
    "replacements": among(0, 0, 0, 0, 0, 4, 6),
    "link_outages": among(0, 0, 0, 2),
    "busy_spells": among(0, 0, 0, 1),
    "rots": sometimes(5.0, 60.0, 0.3),
    "rot_local": odds(0.3),
    "roaming": odds(0.2),
    "partitions": sometimes(2.0, 30.0),
    "partition_max": spread(100, 8000, MILLISECOND),
    "one_way": lambda rng: round(rng.random(), 3),
    "backoff": odds(0.5),
    "client_cuts": sometimes(2.0, 30.0),
    "client_cut_max": spread(100, 8000, MILLISECOND),
    "resets": sometimes(5.0, 120.0),
    "stops": sometimes(2.0, 20.0, 0.4),
    "stop_max": spread(100, 6000, MILLISECOND),
    "slow_links": sometimes(2.0, 20.0, 0.4),
    "slow_disks": sometimes(2.0, 20.0, 0.4),
    "joins": sometimes(2.0, 10.0, 0.4),
    "leaves": sometimes(2.0, 10.0, 0.4),
    "client_crashes": sometimes(2.0, 20.0, 0.4),
    # What applications do
    "clients": lambda rng: rng.randint(2, 4),
    "workloads": mix,
    "rate": spread(1, 25),
    "burst": among(1, 2, 4, 16, 64),
    "letter_bytes": spread(50, 4000),
    "credit": among(1, 2, 8, 32, 256),
    "send_timeout": among(*(seconds * SECOND for seconds in (100_000, 100_000, 100_000, 20, 3))),
}
"""How each option is drawn, each from a generator of its own: a new one changes none of the others."""


def _keep_claims(values: dict[str, Any]) -> None:
    """Switch off what the atlas excludes for the other options drawn."""
    brokers, fewest = values["brokers"], min(values["copies"], values["root_copies"])
    spare = fewest >= 3 and brokers >= 4
    memory = values["durability"] == "memory"
    if not spare:
        values["disk_losses"], values["replacements"] = 0.0, 0
    if memory and not spare:
        values["crashes"] = 0.0
    enough = 3 if "causal" in values["workloads"] else 2
    if memory or min(fewest, brokers) < enough or values["disk_losses"]:
        values["rots"] = 0.0
    if min(fewest, brokers) < 3:
        values["rot_local"] = False
