"""Critical topics: one broker dies, whichever it is, and a subscriber sees no gap; nothing is lost, doubled or late."""

from __future__ import annotations

import pytest

from causeway.client.settings import SessionConfig
from causeway.client.subscriptions import durable_mailbox
from causeway.core.node import Node
from causeway.names import twin_name
from causeway.sim.application import Application
from causeway.sim.checkers.subscribing import Wish
from causeway.sim.cluster import Broker
from causeway.sim.faults import options_calm, stream
from causeway.sim.held import Held
from causeway.sim.run import SimRun
from causeway.topics.critical import critical_item
from causeway.types import MILLISECOND, SECOND, Instant, ServiceClass, key_of

BROKERS = 12
PERIOD = 5 * MILLISECOND
"""Between two messages."""
GAP_MAX = 250 * MILLISECOND
ORDINARY, CRITICAL = "fire/north", "critical/fire/north"
READER, MAILBOX = "board", durable_mailbox("board", "all", shared=False)


class Stage:
    """A settled cluster with one publisher and one subscriber, and when each message reached the latter."""

    def __init__(self, topic: str, seed: int = 3) -> None:
        self.topic = topic
        self.run = SimRun(options_calm(seed, brokers=BROKERS, workloads=[]))
        self.run._setup()
        self.run._pass(8 * SECOND)
        self.arrivals: list[Instant] = []
        self.board = self._start(READER, 1)
        self.board.on_letter = self._came
        self.board.subscribe(MAILBOX, Wish(topic), 1024)
        self.radar = self._start("radar", 2)
        self.run._pass(4 * SECOND)
        self._publish(until=self.run.world.now + 4 * SECOND)
        self.run._pass(SECOND)

    def _start(self, name: str, at: int) -> Application:
        application = self.run.application(name)
        brokers = self.run.cluster.brokers
        addresses = tuple(broker.process.address for broker in (*brokers[at:], *brokers[:at]) if broker.process.address)
        config = SessionConfig(name=name, addresses=addresses[:1])
        application.start(config, stream(3, f"session/{name}"), self.run.cluster.clock(), None)
        return application

    def _came(self, held: Held) -> None:
        self.arrivals.append(self.run.world.now)
        held.application.settle(held)

    def _publish(self, until: Instant) -> None:
        if self.run.world.now < until:
            self.radar.publish(self.topic, ServiceClass.TRANSACTIONAL, 60)
            self.run.world.after(PERIOD, self._publish, until)

    def kill(self, broker: Broker, *, noticed: bool = False) -> int:
        """The longest time without a message after a broker died."""
        died = self.run.world.now
        broker.process.crash(noticed=noticed)
        self.run._pass(3 * SECOND)
        self.run._pass(4 * SECOND)
        times = [died, *(at for at in self.arrivals if at > died)]
        self.run.panel.finish()
        return max(after - before for before, after in zip(times, times[1:], strict=False))

    # Who is who --------------------------------------------------------------------------------------------------
    def owner(self, mailbox: str) -> Broker:
        def owns(broker: Broker) -> bool:
            assert isinstance(broker.machine, Node)
            return broker.machine._groups.owned(key_of(mailbox))

        return next(broker for broker in self.run.cluster.brokers if owns(broker))

    def home_of(self, application: Application) -> Broker:
        assert application.session is not None
        home = application.session.home
        assert home is not None
        return next(broker for broker in self.run.cluster.brokers if broker.name == home.name)


ROLES = ("item 0", "item 1", "mailbox", "twin", "publisher's home", "subscriber's home")


def victim(stage: Stage, role: str) -> Broker:
    match role:
        case "item 0" | "item 1":
            return stage.owner(critical_item(CRITICAL, int(role[-1])))
        case "mailbox":
            return stage.owner(MAILBOX)
        case "twin":
            return stage.owner(twin_name(MAILBOX))
        case "publisher's home":
            return stage.home_of(stage.radar)
        case _:
            return stage.home_of(stage.board)


@pytest.mark.parametrize("role", ROLES)
def test_no_gap_whichever_broker_dies(role: str) -> None:
    stage = Stage(CRITICAL)
    gap = stage.kill(victim(stage, role))
    print(f"{role}: {gap / MILLISECOND:.1f} ms")
    assert gap < GAP_MAX
