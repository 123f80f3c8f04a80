"""Correlated bursts replayed against simulated brokers: who is overloaded under which placement.

Placements are computed from one hour of rates in which groups of topics burst together: by risk, round robin by reserve
ratio, and by mean load. Then real brokers in the simulator get each of them as their landmark's policy, and move their
items until every one is where it should be; applications publish another period of such bursts, message by message,
and a subscriber reads them all. What counts is what the owners of items say they handled, second by second: a broker
that handled more than its capacity in a second was overloaded in it.

    for found in replayed_bursts(BurstCase(seed=0)):
        print(found.placement, found.overloaded_seconds)

Owns: the trace, the domain, the count. Must not know: what is claimed of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import msgspec
import numpy as np

from causeway.core.placing import PlannedItems, PlanRequest
from causeway.domains.limits import SEATS_PER_DOMAIN_MAX
from causeway.errors import ConfigError
from causeway.evaluate.managed_domain import PATIENCE, ManagedDomain, Shape
from causeway.placement import BrokerCapacity, Instance, from_samples, place
from causeway.placement.arrays import Floats, Ints
from causeway.placement.bursts import Bursts, burst_trace, replay
from causeway.placement.comparisons import BY_RISK, MEAN_LOAD, PLACEMENTS, ROUND_ROBIN, by_mean_load, round_robin
from causeway.placement.mirrors import choose_mirrors
from causeway.sim.checkers.subscribing import Wish
from causeway.sim.held import Held
from causeway.topics.items import ITEM_COUNT, item_of
from causeway.types import MILLISECOND, SECOND, ServiceClass

PUBLISHERS: Final = 4
SERVICE: Final = ServiceClass.EXPRESS
"""Owners handle these like others; what is left out are two copies on disks, and most of the time it takes."""
CREDIT: Final = 60_000
LETTER_BYTES: Final = 20
SECONDS_MAX: Final = 3_600
TOPIC_RATE: Final = 3.0
"""Median of the usual rates, messages per second: few, since each of them is a real one."""


class BurstCase(msgspec.Struct, frozen=True, kw_only=True):
    """What is replayed on whom."""

    seed: int = 0
    topics: int = 24
    """Each of an item of its own."""
    groups: int = 4
    """Of topics that burst together."""
    brokers: int = 6
    used: float = 0.5
    """Part of all capacities that the mean rates take."""
    seconds: int = 120
    """Replayed."""
    learned: Bursts = Bursts(seconds=3_600, starts=0.02, lasts=10.0)
    """What placements are computed from; what is replayed is drawn alike."""

    @property
    def weight(self) -> float:
        """About how much work it is, in seconds."""
        return 3.0 + 0.12 * self.seconds


class BurstCount(msgspec.Struct, frozen=True, kw_only=True):
    """What one placement came to."""

    placement: str
    seed: int
    brokers: int
    seconds: int
    overloaded_seconds: int
    """Broker-seconds in which an owner handled more than its capacity."""
    brokers_overloaded: int
    """Brokers of which that was ever true."""
    messages_over: int
    """Messages above capacity, all brokers and seconds together."""
    published: int
    handled: int
    """By the owners of items, within the replayed seconds."""
    received: int
    """By the subscriber."""
    overloaded_by_second: tuple[int, ...]
    """Brokers above capacity in each."""
    computed_seconds: int
    """Broker-seconds above capacity if the rates are only added up: what the simulated brokers should have had."""


class _Question:
    """The trace of a case, and where each placement wants the items."""

    def __init__(self, case: BurstCase) -> None:
        _check(case)
        chance = np.random.default_rng(1_000 + case.seed)
        usual = TOPIC_RATE * chance.lognormal(0.0, 0.6, case.topics)
        group = chance.permutation(np.arange(case.topics) % case.groups)
        self.topics = _topics_of_different_items(case.topics)
        learned = np.rint(burst_trace(usual, group, 2 * case.seed, case.learned))
        shorter = msgspec.structs.replace(case.learned, seconds=case.seconds)
        self.trace: Ints = np.rint(burst_trace(usual, group, 2 * case.seed + 1, shorter)).astype(np.int64)
        model = from_samples(learned, self.topics)
        capacity = int(model.total / case.used / case.brokers)
        names = [f"broker-{number}" for number in range(case.brokers)]
        self.instance = Instance(model, [BrokerCapacity(name, capacity) for name in names])
        self.capacity = capacity

    def owners(self, placement: str) -> Ints:
        """By topic."""
        choose: dict[str, Callable[[Instance], Ints]] = {
            BY_RISK: lambda instance: place(instance, seed=1).owner,
            ROUND_ROBIN: round_robin,
            MEAN_LOAD: by_mean_load,
        }
        return choose[placement](self.instance)


class _BurstDomain(ManagedDomain):
    """Brokers that are told one placement for good, publishers, and who reads everything."""

    def __init__(self, case: BurstCase, question: _Question, owner: Ints) -> None:
        settings = {"capacity": question.capacity, "rates_every": SECOND}
        super().__init__(Shape(case.brokers, 0, seed=case.seed), settings)
        self._topics = question.topics
        mirror = choose_mirrors(question.instance, owner)
        names = question.instance.names
        self._places = {
            item_of(topic): (names[at], names[beside])
            for topic, at, beside in zip(question.topics, owner.tolist(), mirror.tolist(), strict=True)
        }
        self.world.planner = self._plan
        self.received = 0
        self._publishers = [self.application(f"publisher-{number}") for number in range(PUBLISHERS)]
        reader = self.application("reader")
        reader.on_letter = self._read
        for one in (*self._publishers, reader):
            self.launch(one)
        self.pass_time(SECOND)
        reader.subscribe("sub/reader/all", Wish("#"), CREDIT)
        self.pass_time(SECOND)

    def _read(self, held: Held) -> None:
        self.received += 1
        held.application.settle(held)

    def _plan(self, request: PlanRequest) -> PlannedItems:
        """The placement, whatever was measured; items without a topic stay where they are."""
        at = {name: number for number, name in enumerate(request.brokers)}
        present = zip(request.owners, request.mirrors, strict=True)
        places = [
            tuple(at[name] for name in self._places[item]) if item in self._places else now
            for item, now in zip(request.items, present, strict=True)
        ]
        owners, mirrors = tuple(one[0] for one in places), tuple(one[1] for one in places)
        version = hashlib.sha256(msgspec.json.encode((owners, mirrors))).hexdigest()[:32]
        return PlannedItems(
            items=request.items,
            brokers=request.brokers,
            owners=owners,
            mirrors=mirrors,
            version=version,
            feasible=True,
            risks=(0,) * len(request.brokers),
        )

    def settle(self) -> None:
        """A little of everything is published until every item is where it should be."""
        few = np.ones(len(self._topics), dtype=np.int64)

        def step() -> bool:
            self.publish(few)
            return self.is_placed()

        self.within(PATIENCE, step, look=SECOND)
        self.pass_time(SECOND)

    def is_placed(self) -> bool:
        """Whether the brokers that should own items do."""
        groups = self.groups()
        return all(item in groups and groups[item]["owner"] == owner for item, (owner, _) in self._places.items())

    def publish(self, counts: Ints) -> None:
        """So many messages to each topic, at once."""
        for number, (topic, count) in enumerate(zip(self._topics, counts.tolist(), strict=True)):
            for _ in range(count):
                publisher = self._publishers[number % PUBLISHERS]
                publisher.publish(topic, SERVICE, LETTER_BYTES, timeout=PATIENCE)

    def handled(self) -> Ints:
        """By broker: messages published to items that it owned, since it began."""
        said = [cast("dict[str, Any]", self.statistics(broker)["topics"]) for broker in self.cluster.living()]
        return np.array([one["published"] for one in said], dtype=np.int64)


def replayed_bursts(case: BurstCase, placements: Sequence[str] = PLACEMENTS) -> list[BurstCount]:
    """The same bursts under each placement."""
    question = _Question(case)
    return [_replayed(case, question, placement) for placement in placements]


def _replayed(case: BurstCase, question: _Question, placement: str) -> BurstCount:
    owner = question.owners(placement)
    domain = _BurstDomain(case, question, owner)
    domain.settle()
    read_before, before = domain.received, domain.handled()
    first, over = before, []
    for rates in question.trace:
        domain.publish(rates)
        domain.pass_time(SECOND)
        now = domain.handled()
        over.append(np.maximum(now - before - question.capacity, 0))
        before = now
    domain.pass_time(500 * MILLISECOND)
    above = np.array(over)
    capacity: Floats = np.full(case.brokers, float(question.capacity))
    return BurstCount(
        placement=placement,
        seed=case.seed,
        brokers=case.brokers,
        seconds=case.seconds,
        overloaded_seconds=int((above > 0).sum()),
        brokers_overloaded=int((above > 0).any(axis=0).sum()),
        messages_over=int(above.sum()),
        published=int(question.trace.sum()),
        handled=int((before - first).sum()),
        received=domain.received - read_before,
        overloaded_by_second=tuple((above > 0).sum(axis=1).tolist()),
        computed_seconds=replay(question.trace.astype(np.float64), owner, capacity).overloaded_seconds,
    )


def _check(case: BurstCase) -> None:
    for field, least, most in (
        ("topics", 1, ITEM_COUNT),
        ("groups", 1, case.topics),
        ("brokers", 2, SEATS_PER_DOMAIN_MAX),
        ("seconds", 1, SECONDS_MAX),
    ):
        value = getattr(case, field)
        if not least <= value <= most:
            raise ConfigError(field, value, f"must be {least} to {most}")


def _topics_of_different_items(count: int) -> list[str]:
    found: dict[str, str] = {}
    number = 0
    while len(found) < count:
        found.setdefault(item_of(f"t{number}"), f"t{number}")
        number += 1
    return list(found.values())
