"""One simulated domain of real brokers with spares, for tests."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, cast

import msgspec

from causeway.config import BrokerConfig
from causeway.core.node import Node
from causeway.names import agents_name
from causeway.sim.cluster import Broker
from causeway.sim.faults import options_calm
from causeway.sim.run import SimRun
from causeway.types import MILLISECOND, SECOND, Duration, Peer, ServiceClass

LOOK = 20 * MILLISECOND
NOT_BY_SEATS = (agents_name("d"), "causeway/root")
"""Groups that seats do not place."""


class Domain(SimRun):
    """One domain of all brokers; the last ones begin as spares. Broker 0 is the most capable."""

    def __init__(
        self,
        brokers: int,
        spares: int,
        *,
        seed: int = 1,
        settle: bool = True,
        settings: dict[str, object] | None = None,
        **options: object,
    ) -> None:
        self._settings = settings or {}
        super().__init__(options_calm(seed, brokers=brokers, **{"workloads": [], **options}), make_broker=self._make)
        self._seated = brokers - spares
        if settle:
            self._setup()
            self._pass(5 * SECOND)
            assert self.held() == {name: name for name in self.names[: self._seated]}

    def _make(self, config: BrokerConfig, me: Peer, incarnation: int, rng: random.Random) -> Node:
        number = int(config.name.split("-")[1])
        seated = {"domains": ("d",), "spare": number >= self._seated, "capability": 1200 - number}
        settings: dict[str, Any] = {**seated, **self._settings}
        return Node(msgspec.structs.replace(config, **settings), me, incarnation, rng)

    @property
    def names(self) -> list[str]:
        return [broker.name for broker in self.cluster.brokers]

    def broker(self, name: str) -> Broker:
        return next(broker for broker in self.cluster.brokers if broker.name == name)

    def seen(self, name: str) -> dict[str, Any]:
        """The domain as one broker shows it."""
        machine = self.broker(name).machine
        assert machine is not None
        (found,) = cast("list[dict[str, Any]]", machine.statistics()["agents"])
        return found

    def views(self) -> list[dict[str, Any]]:
        return [self.seen(broker.name) for broker in self.cluster.living()]

    @property
    def landmark(self) -> str:
        """The one that all living brokers name."""
        (found,) = {view["landmark"] for view in self.views()}
        return str(found)

    def held(self) -> dict[str, str]:
        """Who holds which seat, by the latest directory."""
        latest = max(self.views(), key=lambda view: int(view["version"]))
        return {seat["seat"]: seat["holder"] for seat in latest["seats"]}

    def groups(self) -> dict[str, dict[str, Any]]:
        """All groups as their serving owners see them."""
        found = {}
        for broker in self.cluster.living():
            assert broker.machine is not None
            for group in cast("list[dict[str, Any]]", broker.machine.statistics()["groups"]):
                if group["owner"] == broker.name and group["serving"]:
                    found[group["name"]] = group
        return found

    def groups_of(self, name: str) -> list[str]:
        """Mailboxes and seats that a broker holds a copy of."""
        return [
            known for known, group in self.groups().items() if name in group["members"] and known not in NOT_BY_SEATS
        ]

    def fill(self, count: int) -> None:
        """Mailboxes with a letter each."""
        sender = self.application("sender")
        self.launch(sender)
        self._pass(SECOND)
        for number in range(count):
            sender.send(self.mailbox(f"box-{number}"), ServiceClass.TRANSACTIONAL, 100, timeout=60 * SECOND)
        self._pass(2 * SECOND)

    def kill(self, *names: str) -> None:
        for name in names:
            self.cluster.crash(self.broker(name), noticed=True)

    def start(self, *names: str) -> None:
        for name in names:
            self.cluster.start(self.broker(name))

    def within(self, most: Duration, condition: Callable[[], bool]) -> Duration:
        """Let time pass until the condition holds; how long it took."""
        begin = self.world.now
        while not condition():
            assert self.world.now - begin < most, f"not within {most / SECOND} s: {self.held()}"
            self._pass(LOOK)
        return self.world.now - begin

    def is_filled(self, *seats: str) -> bool:
        """Whether every living broker knows that living ones hold these seats."""
        living = {broker.name for broker in self.cluster.living()}
        held = [{seat["seat"]: seat["holder"] for seat in view["seats"]} for view in self.views()]
        return all(view[seat] in living for view in held for seat in seats)

    def cut_off(self, *names: str) -> None:
        inside = [self.broker(name).process for name in names]
        for a in inside:
            for b in self.world.processes:
                if b not in inside:
                    self.world.network.cut(a, b)
                    self.world.network.cut(b, a)

    def mend(self) -> None:
        for a in self.world.processes:
            for b in self.world.processes:
                while self.world.network.is_cut(a, b):
                    self.world.network.heal(a, b)

    def seated(self) -> bool:
        """All brokers are agents, and the seats are told to all."""
        return all(len(view["agents"]) == len(self.names) for view in self.views())

    def seated_but_landmark(self) -> list[str]:
        """Brokers that began with a seat, without the landmark."""
        return [name for name in self.names[: self._seated] if name != self.landmark]
