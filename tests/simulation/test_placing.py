"""Items of a simulated domain: placed by the risk that their load means, and by the case base when brokers fail."""

from __future__ import annotations

import random
from typing import Any

import pytest

from causeway.sim.checkers.subscribing import Wish
from causeway.topics import ITEM_PREFIX, item_of
from causeway.types import MILLISECOND, SECOND, ServiceClass
from tests.simulation.domain import Domain

CAPACITY = 80
TOPICS = tuple(f"t{number}" for number in range(24))


class Market(Domain):
    """Six brokers that sustain 80 messages/s each, two spares; 24 topics, some of them loud, and who reads all."""

    def __init__(self, seed: int = 1) -> None:
        super().__init__(8, 2, seed=seed, settings={"capacity": CAPACITY, "rates_every": SECOND})
        self.chance = random.Random(seed)
        self.rates = {topic: self.chance.choice((1, 2, 4, 8, 16, 30)) for topic in TOPICS}
        self.publishers = [self.application(f"publisher-{number}") for number in range(4)]
        self.reader_of_all = self.application("reader")
        for application in (*self.publishers, self.reader_of_all):
            self.launch(application)
        self._pass(SECOND)
        self.reader_of_all.subscribe("sub/reader/all", Wish("#"), 60_000)
        self._pass(2 * SECOND)

    def trade(self, seconds: int) -> None:
        """Publish for a while."""
        for _ in range(10 * seconds):
            for number, topic in enumerate(TOPICS):
                if self.chance.random() < self.rates[topic] / 10:
                    for _ in range(max(1, self.rates[topic] // 10)):
                        publisher = self.publishers[number % len(self.publishers)]
                        publisher.publish(f"{topic}/x", ServiceClass.RECOVERABLE, 50, timeout=60 * SECOND)
            self._pass(100 * MILLISECOND)

    def policy(self, name: str = "") -> dict[str, Any]:
        """As a broker knows it, the landmark if none is named."""
        found = self.seen(name or self.landmark)["placement"]
        assert isinstance(found, dict)
        return found

    def placed(self) -> dict[str, tuple[str, str]]:
        """Who should own and mirror each item, by the policy and the seats."""
        held = self.held()
        return {one["item"]: (held[one["owner"]], held[one["mirror"]]) for one in self.policy()["items"]}

    def items(self) -> dict[str, dict[str, Any]]:
        return {name: group for name, group in self.groups().items() if name.startswith(ITEM_PREFIX)}

    def is_placed(self) -> bool:
        """Whether every item is where it should be, with all its copies."""
        items = self.items()
        return all(
            item in items
            and items[item]["owner"] == owner
            and mirror in items[item]["members"]
            and len(items[item]["members"]) == 3
            and not items[item]["incomplete"]
            for item, (owner, mirror) in self.placed().items()
        )

    def load(self) -> dict[str, int]:
        """Messages/s that the owners of items have to take, by broker."""
        found: dict[str, int] = {}
        items = self.items()
        for topic, rate in self.rates.items():
            owner = items[item_of(topic)]["owner"]
            found[owner] = found.get(owner, 0) + rate
        return found


@pytest.fixture
def market() -> Market:
    """After the first policy that follows from some seconds of trade."""
    found = Market()
    found.trade(4)
    found.within(10 * SECOND, lambda: bool(found.policy()))
    return found


def test_overloaded_broker_is_relieved_and_everybody_knows_the_policy(market: Market) -> None:
    before = market.load()
    assert max(before.values()) > CAPACITY, "the ring alone overloads somebody: else this shows nothing"
    market.trade(10)
    market.within(10 * SECOND, market.is_placed)
    after = market.load()
    assert max(after.values()) <= CAPACITY
    assert {market.policy(name)["version"] for name in market.names} == {market.policy()["version"]}


def test_items_follow_the_seat_of_a_failed_broker_to_the_spare(market: Market) -> None:
    market.trade(8)
    market.within(10 * SECOND, market.is_placed)
    victim = next(owner for owner, _ in market.placed().values() if owner != market.landmark)
    market.kill(victim)
    market.within(3 * SECOND, lambda: market.is_filled(victim))
    market.within(5 * SECOND, market.is_placed)
    assert victim not in {member for group in market.items().values() for member in group["members"]}


def test_new_landmark_has_the_policy_and_owner_and_mirror_may_die_at_once(market: Market) -> None:
    market.trade(8)
    market.within(10 * SECOND, market.is_placed)
    landmark, version = market.landmark, market.policy()["version"]
    owner, mirror = next(pair for pair in market.placed().values() if landmark not in pair)
    market.kill(landmark, owner, mirror)
    living = next(name for name in market.names if name not in (landmark, owner, mirror))
    market.within(3 * SECOND, lambda: market.seen(living)["landmark"] not in ("", landmark))
    assert market.policy()["version"] >= version
    lost = market.seen(market.landmark)["lost"]
    assert not lost, "the third copy is on the ring"
