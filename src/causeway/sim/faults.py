"""Every option of a run, all drawn from the seed, and the atlas of faults.

Fault atlas: the claim behind every fault the simulator makes. The network's part stands in `network`, the disk's in
`disk`. For processes and for combinations:
- any number of brokers may crash, be stopped (SIGSTOP) and restart with their storage, all at once too;
- clocks differ by `skew` and drift apart by `drift_ppb`; they jump only between two lives of a process;
- a storage is lost for good only while every group is known to have all its copies and nothing else is broken, and
  the next one only after all groups are whole again: a group survives the loss of a minority of its complete
  copies, and an epoch that has already shrunk has no copy to spare. So `copies` must be at least 3 for it;
- with `memory` durability a crash is the loss of a storage, so the same rule holds for every crash;
- rows rot on one broker at a time, and the next one's only after all groups are whole and all rows are good again;
  not in a run that also loses storages: then the good copy might be the lost one;
- brokers leave and join while all this goes on.
"""

from __future__ import annotations

import random

import msgspec

from causeway.config import BrokerConfig
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
    durability: str = "disk"
    heartbeat: Duration = 250 * MILLISECOND
    silence: Duration = 1500 * MILLISECOND
    retry: Duration = 200 * MILLISECOND
    migrate_after: Duration = 1 * SECOND
    deliveries_max: int = 5
    window_bytes: int = 1 << 20
    volatile_bytes_max: int = 1 << 20
    stored_bytes_max: int = 1 << 30
    # The world
    latency: Duration = MILLISECOND
    jitter: Duration = MILLISECOND // 2
    dial_timeout: Duration = SECOND
    buffer_bytes: int = 1 << 20
    commit: Duration = MILLISECOND
    commit_jitter: Duration = MILLISECOND
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
    rots: float = 0.0
    partitions: float = 0.0
    partition_max: Duration = 5 * SECOND
    one_way: float = 0.3
    """Share of partitions that cut one direction only."""
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

    def broker_config(self, name: str, address: tuple[str, int], *, seeds: Addresses, founder: bool) -> BrokerConfig:
        """The settings of one broker."""
        return BrokerConfig(
            name=name,
            host=address[0],
            port=address[1],
            seeds=seeds,
            founder=founder,
            durability=self.durability,
            copies=self.copies,
            root_copies=self.root_copies,
            heartbeat=self.heartbeat,
            silence=self.silence,
            retry=self.retry,
            migrate_after=self.migrate_after,
            deliveries_max=self.deliveries_max,
            window_bytes=self.window_bytes,
            volatile_bytes_max=self.volatile_bytes_max,
            stored_bytes_max=self.stored_bytes_max,
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
            buffer_bytes=self.buffer_bytes,
        )

    def lines(self) -> list[str]:
        """All options, one per line, for the head of a run's output."""
        return [f"{field}={getattr(self, field)!r}" for field in self.__struct_fields__]


WORKLOADS = ("transactional", "recoverable", "express", "offline", "queue", "transfer")
"""What can be mixed; see `workloads`."""


def stream(seed: int, purpose: str) -> random.Random:
    """A generator for one purpose: drawing more for one never changes another. Text seeds do not depend on hashing."""
    return random.Random(f"causeway/{seed}/{purpose}")


def options_swarm(
    seed: int, *, brokers: int | None = None, clients: int | None = None, seconds: float | None = None
) -> Options:
    """Draw every option; each fault is left out in about half of the runs, so faults come alone and combined."""
    rng = stream(seed, "options")
    values: dict[str, object] = {"seed": seed}
    _draw_cluster(rng, values)
    _draw_world(rng, values)
    _draw_faults(rng, values)
    _draw_applications(rng, values)
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


def _log_uniform(rng: random.Random, low: int, high: int) -> int:
    """Small and large values alike."""
    return round(low * float((high / low) ** rng.random()))


def _maybe(rng: random.Random, low: float, high: float, odds: float = 0.5) -> float:
    return round(rng.uniform(low, high), 6) if rng.random() < odds else 0.0


def _draw_cluster(rng: random.Random, values: dict[str, object]) -> None:
    values["brokers"] = rng.choice((1, 2, 3, 3, 4, 5, 5, 5, 6, 7, 9))
    values["clients"] = rng.randint(2, 4)
    values["safety"] = rng.randint(5, 20) * SECOND
    values["copies"] = rng.choice((1, 2, 3, 3, 3, 3, 3, 5))
    values["root_copies"] = rng.choice((1, 3, 3, 5, 5, 5))
    values["durability"] = rng.choice(("disk", "disk", "disk", "disk", "memory"))
    heartbeat = _log_uniform(rng, 100, 600) * MILLISECOND
    values["heartbeat"] = heartbeat
    values["silence"] = max(2 * heartbeat, _log_uniform(rng, 500, 3000) * MILLISECOND)
    values["retry"] = _log_uniform(rng, 50, 500) * MILLISECOND
    values["migrate_after"] = _log_uniform(rng, 200, 3000) * MILLISECOND
    values["deliveries_max"] = rng.choice((1, 2, 5, 20))
    values["window_bytes"] = _log_uniform(rng, 1 << 10, 1 << 20)
    values["volatile_bytes_max"] = _log_uniform(rng, 1 << 14, 1 << 22)
    values["stored_bytes_max"] = rng.choice((1 << 30, 1 << 30, 1 << 30, 1 << 17))


def _draw_world(rng: random.Random, values: dict[str, object]) -> None:
    values["latency"] = _log_uniform(rng, 50, 20_000) * MICROSECOND
    values["jitter"] = _log_uniform(rng, 10, 20_000) * MICROSECOND
    values["dial_timeout"] = _log_uniform(rng, 200, 4000) * MILLISECOND
    values["buffer_bytes"] = _log_uniform(rng, 1 << 11, 1 << 22)
    values["commit"] = _log_uniform(rng, 50, 10_000) * MICROSECOND
    values["commit_jitter"] = _log_uniform(rng, 50, 10_000) * MICROSECOND
    values["turn_cost"] = _log_uniform(rng, 5, 200) * MICROSECOND
    values["event_cost"] = _log_uniform(rng, 1, 20) * MICROSECOND
    values["skew"] = rng.choice((0, 0, SECOND, 60 * SECOND, 86_400 * SECOND))
    values["drift_ppb"] = rng.choice((0, 0, 100_000, 5_000_000))
    values["wire"] = rng.random() < 0.15


def _draw_faults(rng: random.Random, values: dict[str, object]) -> None:
    values["loss"] = _maybe(rng, 0.0, 0.05)
    values["duplicate"] = _maybe(rng, 0.0, 0.05)
    values["reorder"] = _maybe(rng, 0.0, 0.10)
    values["crashes"] = _maybe(rng, 2.0, 40.0, 0.6)
    values["crash_group_max"] = rng.choice((1, 1, 2, 9))
    values["down_max"] = _log_uniform(rng, 50, 8000) * MILLISECOND
    values["disk_losses"] = _maybe(rng, 2.0, 20.0, 0.3)
    values["rots"] = _maybe(rng, 5.0, 60.0, 0.3)
    values["partitions"] = _maybe(rng, 2.0, 30.0)
    values["partition_max"] = _log_uniform(rng, 100, 8000) * MILLISECOND
    values["one_way"] = round(rng.random(), 3)
    values["resets"] = _maybe(rng, 5.0, 120.0)
    values["stops"] = _maybe(rng, 2.0, 20.0, 0.4)
    values["stop_max"] = _log_uniform(rng, 100, 6000) * MILLISECOND
    values["slow_links"] = _maybe(rng, 2.0, 20.0, 0.4)
    values["slow_disks"] = _maybe(rng, 2.0, 20.0, 0.4)
    values["joins"] = _maybe(rng, 2.0, 10.0, 0.4)
    values["leaves"] = _maybe(rng, 2.0, 10.0, 0.4)
    values["client_crashes"] = _maybe(rng, 2.0, 20.0, 0.4)


def _draw_applications(rng: random.Random, values: dict[str, object]) -> None:
    chosen = [name for name in WORKLOADS if rng.random() < 0.4]
    values["workloads"] = tuple(chosen or [rng.choice(WORKLOADS)])
    values["rate"] = round(_log_uniform(rng, 1, 25), 3)
    values["burst"] = rng.choice((1, 2, 4, 16, 64))
    values["letter_bytes"] = _log_uniform(rng, 50, 4000)
    values["credit"] = rng.choice((1, 2, 8, 32, 256))
    values["send_timeout"] = rng.choice((100_000, 100_000, 100_000, 20, 3)) * SECOND


def _keep_claims(values: dict[str, object]) -> None:
    """Switch off what the atlas excludes for the other options drawn."""
    copies, brokers = values["copies"], values["brokers"]
    assert isinstance(copies, int) and isinstance(brokers, int)
    root_copies = values["root_copies"]
    assert isinstance(root_copies, int)
    spare = min(copies, root_copies) >= 3 and brokers >= 4
    if not spare:
        values["disk_losses"] = 0.0
    if values["durability"] == "memory":
        values["rots"] = 0.0
        if not spare:
            values["crashes"] = 0.0
    if min(copies, root_copies) < 2 or brokers < 2 or values["disk_losses"]:
        values["rots"] = 0.0
