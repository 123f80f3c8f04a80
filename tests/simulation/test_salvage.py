"""People decide that a group goes on from one copy, because the majority of its voters is lost for good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from causeway.core.effects import Dial, Effects, Send
from causeway.core.events import DriverEvent, Opened, Received
from causeway.core.messages import PROTOCOL_VERSION, Hello, Salvage, Salvaged, Welcome
from causeway.errors import Code
from causeway.sim.cluster import Broker
from causeway.types import SECOND, Instant
from tests.simulation.stage import Stage


class Operator:
    """Says one thing to one broker, and keeps the answer."""

    def __init__(self, address: tuple[str, int], wish: Salvage) -> None:
        self._address, self._wish = address, wish
        self._dialled = False
        self.answer: Salvaged | None = None

    def handle(self, events: Sequence[DriverEvent], now: Instant) -> Effects:
        effects = Effects()
        if not self._dialled:
            self._dialled = True
            effects.dials.append(Dial(1, *self._address))
        for event in events:
            if isinstance(event, Opened):
                effects.sends.append(Send(1, Hello(PROTOCOL_VERSION, "operator", 1)))
            for head, _ in event.messages if isinstance(event, Received) else ():
                if isinstance(head, Welcome):
                    effects.sends.append(Send(1, self._wish))
                elif isinstance(head, Salvaged):
                    self.answer = head
        return effects

    def next_deadline(self) -> Instant | None:
        return None


class Wreck(Stage):
    """Says who has what, and decides."""

    def copy_of(self, mailbox: str, broker: Broker) -> dict[str, Any]:
        assert broker.machine is not None
        groups: list[dict[str, Any]] = broker.machine.statistics()["groups"]  # type: ignore[assignment]
        return next(group for group in groups if group["name"] == mailbox)

    def salvage(self, mailbox: str, broker: Broker, *, behind: int = 0) -> Salvaged:
        copy = self.copy_of(mailbox, broker)
        address = broker.process.address
        assert address is not None
        operator = Operator(address, Salvage(1, mailbox, copy["epoch"], copy["seq"] - behind))
        self.world.process(f"operator-{self.world.now}").start(operator, self.cluster.clock(), None)
        self._pass(5 * SECOND)
        assert operator.answer is not None
        return operator.answer

    def named(self, names: Sequence[str]) -> list[Broker]:
        return [broker for broker in self.cluster.brokers if broker.name in names]

    def lose(self, broker: Broker, *, storage: bool) -> None:
        self.cluster.crash(broker, noticed=True)
        if storage:
            broker.store = None
            self.panel.owner.forget(broker.name)


def test_group_goes_on_from_the_last_copy_and_those_who_return_go_by_it() -> None:
    stage = Wreck(send_timeout=10 * SECOND)
    sender = stage.join("sender")
    before = stage.write(sender, "box", 20)
    stage._pass(SECOND)
    owner = stage.owner_of("box")
    others = [broker for broker in stage.named(stage.holders_of("box")) if broker is not owner]
    away, survivor = [owner, others[0]], others[1]
    for broker in away:
        stage.lose(broker, storage=False)
    stage._pass(5 * SECOND)
    assert "1 of 3 copies" in stage.copy_of("box", survivor)["blocked"]
    done = stage.salvage("box", survivor)
    assert (done.code, done.detail) == (0, "")
    after = stage.write(sender, "box", 10)
    stage._pass(5 * SECOND)
    assert set(after) <= set(stage.acknowledged)
    for broker in away:
        stage.cluster.start(broker)
    stage._pass(5 * SECOND)
    last = stage.write(sender, "box", 10)
    stage.join("box", reads=True)
    stage.rest()
    assert stage.copy_of("box", stage.owner_of("box"))["epoch"] > done.epoch
    assert stage.arrived == [*before, *after, *last]


def test_directory_is_salvaged_first_and_then_what_has_lost_its_majority() -> None:
    stage = Wreck(send_timeout=10 * SECOND)
    sender = stage.join("sender")
    letters = stage.write(sender, "box", 20)
    stage._pass(SECOND)
    survivor = stage.owner_of("box")
    holders = stage.named(stage.holders_of("box"))
    strangers = [broker for broker in stage.cluster.brokers if broker not in holders]
    lost = [*(broker for broker in holders if broker is not survivor), strangers[0]]
    for broker in lost:
        stage.lose(broker, storage=True)
    stage._pass(3 * SECOND)
    for broker in lost:
        stage.cluster.start(broker)
    stage._pass(3 * SECOND)
    early = stage.salvage("box", survivor)
    assert early.code == Code.NO_DIRECTORY
    assert "causeway/root" in early.detail
    assert stage.salvage("causeway/root", survivor).code == 0
    done = stage.salvage("box", survivor)
    assert (done.code, done.detail) == (0, "")
    stage._pass(5 * SECOND)
    assert stage.owner_of("box") is not None
    for broker in stage.cluster.living():
        assert broker.machine is not None
        for group in broker.machine.statistics()["groups"]:  # type: ignore[attr-defined]
            if group["blocked"] and stage.copy_of(group["name"], broker)["blocked"]:
                assert stage.salvage(group["name"], broker).code == 0, group
    reader = stage.join("box", reads=True)
    stage._pass(10 * SECOND)
    assert reader.up
    assert stage.arrived == letters


def test_nothing_is_decided_about_a_group_that_can_go_on_or_a_copy_that_has_changed() -> None:
    stage = Wreck()
    sender = stage.join("sender")
    stage.write(sender, "box", 3)
    stage._pass(SECOND)
    owner = stage.owner_of("box")
    refused = stage.salvage("box", owner)
    assert refused.code == Code.IN_USE
    assert "goes on by itself" in refused.detail
    for broker in stage.named(stage.holders_of("box")):
        if broker is not owner:
            stage.lose(broker, storage=False)
    stage._pass(3 * SECOND)
    stale = stage.salvage("box", owner, behind=1)
    assert stale.code == Code.NOT_READY
    assert "look at it again" in stale.detail
    stage.nemesis.heal()
    stage.join("box", reads=True)
    stage.rest()
