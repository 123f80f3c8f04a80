"""Domains of real brokers with spares in the simulator, for experiments about the management plane.

Owns: building one, filling it, ending brokers of it, seeing when it is whole again. Must not know: what is measured.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

import msgspec

from causeway.config import BrokerConfig
from causeway.core.node import Node
from causeway.core.overlay.leaves import distance, place
from causeway.names import AGENTS_PREFIX
from causeway.sim.cluster import Broker
from causeway.sim.faults import options_calm
from causeway.sim.run import SimRun
from causeway.types import MILLISECOND, SECOND, Duration, Instant, Peer, ServiceClass, key_of

BITS_PER_SECOND: Final = 10_000_000
"""Between a host and the router in the middle (the paper's section 5.2.3)."""
START_APART: Final[Duration] = 100 * MILLISECOND
SETTLED: Final[Duration] = 5 * SECOND
"""After the last broker is in the directory: tables are full and groups where they belong."""
FILL_APART: Final[Duration] = 50 * MILLISECOND
"""Between two mailboxes that are filled, so that lines are mostly free: they have no flow control here, and signs of
life wait on them behind everything else."""
PATIENCE: Final[Duration] = 60 * SECOND
COPIES: Final = 3
NAMES_TRIED_MAX: Final = 10_000
RULES_OF_THEIR_OWN: Final = (AGENTS_PREFIX, "causeway/root")
"""Groups that have other members than the brokers closest to their name begin so."""


class Shape(msgspec.Struct, frozen=True):
    """Which brokers there are."""

    brokers: int
    spares: int
    domains: int = 1
    """As many brokers and spares in each, as far as they can be divided."""
    seed: int = 0


class Lost(NamedTuple):
    """A group that lost copies."""

    members: int
    """It had before."""
    seats: tuple[str, ...]
    """Brokers it lost."""


class ManagedDomain(SimRun):
    """Brokers on lines of 10 Mbps, the last ones of each domain spares, and every one of them an agent."""

    def __init__(self, shape: Shape, settings: Mapping[str, object] | None = None) -> None:
        self._settings = settings or {}
        options = options_calm(shape.seed, brokers=shape.brokers, workloads=[])
        super().__init__(options, make_broker=self._make)
        self.shape = shape
        self._asked_at: Instant = -1
        self._said: dict[str, dict[str, Any]] = {}
        self.world.network.weather.bits_per_second = BITS_PER_SECOND
        for _ in range(shape.brokers):
            self.cluster.start(self.cluster.add())
            self._pass(START_APART)
        self.within(PATIENCE, self._is_told_to_all, look=SECOND)
        self._pass(SETTLED)

    def _make(self, config: BrokerConfig, me: Peer, incarnation: int, rng: random.Random) -> Node:
        number, shape = int(config.name.split("-")[1]), self.shape
        domain, rank = number % shape.domains, number // shape.domains
        seated = (shape.brokers - domain - 1) // shape.domains + 1 - shape.spares // shape.domains
        placed = {"domains": (f"d{domain}",), "spare": rank >= seated, "capability": 1200 - number}
        settings: dict[str, Any] = {**placed, **self._settings}
        return Node(msgspec.structs.replace(config, **settings), me, incarnation, rng)

    # Questions -------------------------------------------------------------------------------------------------
    def statistics(self, broker: Broker) -> dict[str, Any]:
        """What a broker that runs says of itself; at one instant it says the same however often it is asked."""
        if self._asked_at != self.world.now:
            self._asked_at, self._said = self.world.now, {}
        if broker.name not in self._said:
            assert broker.machine is not None
            self._said[broker.name] = cast("dict[str, Any]", broker.machine.statistics())
        return self._said[broker.name]

    def views(self) -> list[dict[str, Any]]:
        """Each broker's domain as that broker sees it."""
        return [self.statistics(broker)["agents"][0] for broker in self.cluster.living()]

    def _is_told_to_all(self) -> bool:
        views = self.views()
        words = {(view["domain"], view["landmark"], view["version"], len(view["agents"])) for view in views}
        return len(words) == self.shape.domains and sum(word[3] for word in words) == len(views)

    def landmarks(self) -> dict[str, str]:
        """Domain and landmark, as the latest directories have them."""
        latest: dict[str, dict[str, Any]] = {}
        for view in self.views():
            if view["domain"] not in latest or latest[view["domain"]]["version"] < view["version"]:
                latest[view["domain"]] = view
        return {domain: str(view["landmark"]) for domain, view in latest.items()}

    def held(self) -> dict[str, str]:
        """Who holds which seat, as the landmarks have it."""
        landmarks = self.landmarks()
        views = [
            view
            for broker, view in zip(self.cluster.living(), self.views(), strict=True)
            if landmarks[view["domain"]] == broker.name
        ]
        return {seat["seat"]: seat["holder"] for view in views for seat in view["seats"]}

    def groups(self) -> dict[str, dict[str, Any]]:
        """All groups as their serving owners see them."""
        return {
            group["name"]: group
            for broker in self.cluster.living()
            for group in self.statistics(broker)["groups"]
            if group["owner"] == broker.name and group["serving"]
        }

    def lost_with(self, names: Sequence[str]) -> dict[str, Lost]:
        """What some of these brokers hold a copy of, by the names of the groups."""
        return {
            name: Lost(len(group["members"]), tuple(seat for seat in names if seat in group["members"]))
            for name, group in self.groups().items()
            if not name.startswith(RULES_OF_THEIR_OWN) and not set(names).isdisjoint(group["members"])
        }

    def around(self) -> list[str]:
        """Brokers with a seat in the order of the ring."""
        return sorted(self.held(), key=key_of)

    def victims(self, count: int) -> list[str]:
        """Brokers with a seat and no landmark, of which no two hold copies of one group: what has lost two of three
        copies has lost its majority, and waits for one of them to come back."""
        around, landmarks = self.around(), set(self.landmarks().values())
        for first in range(COPIES):
            spread = around[first::COPIES][: len(around) // COPIES]
            found = [name for name in spread if name not in landmarks]
            if len(found) >= count:
                step = len(found) / count
                return [found[int(number * step)] for number in range(count)]
        raise AssertionError(f"no {count} brokers of {len(around)} lie apart from each other")

    def names_near(
        self, broker: str, count: int, prefix: str, group: Callable[[str], str] = lambda name: name
    ) -> list[str]:
        """Names whose group (that of the same name, if nothing else is said) a broker holds a copy of."""
        seats = [key_of(name) for name in self.around()]
        found: list[str] = []
        for number in range(NAMES_TRIED_MAX):
            if len(found) == count:
                return found
            at = place(key_of(group(f"{prefix}-{number}")))
            nearest = sorted(seats, key=lambda seat: distance(place(seat), at))[:COPIES]
            if key_of(broker) in nearest:
                found.append(f"{prefix}-{number}")
        raise AssertionError(f"{len(found)} of {NAMES_TRIED_MAX} names lie near {broker}, not {count}")

    # Deeds -----------------------------------------------------------------------------------------------------
    def fill(self, mailboxes: Sequence[str], letters: int, size: int) -> None:
        """So many letters in each of these mailboxes, one mailbox after the other."""
        sender = self.application("sender")
        self.launch(sender)
        self._pass(SECOND)
        for name in mailboxes:
            self.mailbox(name)
            for _ in range(letters):
                sender.send(name, ServiceClass.TRANSACTIONAL, size, timeout=PATIENCE)
            self._pass(FILL_APART)
        self.within(PATIENCE, lambda: sender.session is not None and sender.session.idle)
        sender.close()
        self._pass(SETTLED)

    def kill(self, names: Sequence[str], *, silent: bool) -> None:
        """End brokers at once; silently: their hosts are gone with them, and nobody is told."""
        for broker in self.cluster.brokers:
            if broker.name in names:
                self.cluster.crash(broker, noticed=not silent)

    def within(self, most: Duration, condition: Callable[[], bool], *, look: Duration = 10 * MILLISECOND) -> Duration:
        """Let time pass until the condition holds; how long it took."""
        begin = self.world.now
        while not condition():
            assert self.world.now - begin < most, f"not within {most / SECOND} s: {self.held()}"
            self._pass(look)
        return self.world.now - begin

    def pass_time(self, duration: Duration) -> None:
        """Let time pass."""
        self._pass(duration)

    def is_filled(self, seats: Sequence[str]) -> bool:
        """Whether every living broker knows that living ones hold these seats."""
        living = {broker.name for broker in self.cluster.living()}
        wanted = set(seats)
        return all(
            seat["holder"] in living for view in self.views() for seat in view["seats"] if seat["seat"] in wanted
        )

    def is_whole(self, lost: dict[str, Lost]) -> bool:
        """Whether each of these groups has all its copies again, on living brokers and none of them incomplete."""
        now = self.groups()
        living = {broker.name for broker in self.cluster.living()}
        return all(
            name in now
            and len(now[name]["members"]) >= group.members
            and not now[name]["incomplete"]
            and living.issuperset(now[name]["members"])
            for name, group in lost.items()
        )

    def is_moved(self, lost: dict[str, Lost]) -> bool:
        """Whether whoever holds a lost broker's seat now has a whole copy of all that the lost one held."""
        now, held = self.groups(), self.held()
        return all(
            name in now
            and not now[name]["incomplete"]
            and {held[seat] for seat in group.seats}.issubset(now[name]["members"])
            for name, group in lost.items()
        )
