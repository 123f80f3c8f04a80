"""Critical topics: one broker dies, whichever it is, and a subscriber sees no gap; nothing is lost, doubled or late."""

from __future__ import annotations

import itertools

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
from causeway.topics import item_of
from causeway.topics.critical import critical_item
from causeway.types import MILLISECOND, SECOND, Instant, ServiceClass, half_of, key_of

BROKERS = 12
PERIOD = 20 * MILLISECOND
"""Between two messages."""
GAP_MAX = 100 * MILLISECOND
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
        self.run._pass(7 * SECOND)
        times = [died, *(at for at in self.arrivals if at > died)]
        self.run.panel.finish()
        return max(after - before for before, after in itertools.pairwise(times))

    # Who is who --------------------------------------------------------------------------------------------------
    def owner(self, mailbox: str) -> Broker:
        def owns(broker: Broker) -> bool:
            assert isinstance(broker.machine, Node)
            return broker.machine._groups.owned(key_of(mailbox))

        return next(broker for broker in self.run.cluster.brokers if owns(broker))

    def members(self, mailbox: str) -> set[str]:
        machine = self.owner(mailbox).machine
        assert isinstance(machine, Node)
        config = machine._groups.config(key_of(mailbox))
        assert config is not None
        return {member.peer.name for member in config.members}

    def home_of(self, application: Application) -> Broker:
        assert application.session is not None
        home = application.session.home
        assert home is not None
        return next(broker for broker in self.run.cluster.brokers if broker.name == home.name)


ROLES = ("item 0", "mailbox", "twin", "publisher's home")


def victim(stage: Stage, role: str) -> Broker:
    match role:
        case "item 0":
            return stage.owner(critical_item(CRITICAL))
        case "mailbox":
            return stage.owner(MAILBOX)
        case "twin":
            return stage.owner(twin_name(MAILBOX))
        case _:
            return stage.home_of(stage.radar)


@pytest.mark.parametrize("role", ROLES)
def test_no_gap_whichever_broker_dies(role: str) -> None:
    """Without a word: nobody notices before its silence is long enough."""
    stage = Stage(CRITICAL)
    gap = stage.kill(victim(stage, role))
    assert gap < GAP_MAX, f"{gap / MILLISECOND:.1f} ms without a message"
    assert len(stage.arrivals) == stage.run.panel.counts["acknowledged"]


def test_the_same_death_is_a_gap_of_ordinary_topics() -> None:
    stage = Stage(ORDINARY)
    assert stage.kill(stage.owner(item_of(ORDINARY))) > 10 * GAP_MAX


def test_both_ways_are_disjoint() -> None:
    """Two links of the publisher in both halves of the ring; the groups of each way have no broker in common."""
    stage = Stage(CRITICAL)
    session = stage.radar.session
    assert session is not None
    zero, one = session._streams._ways
    assert [half_of(link.peer.id) for link in (zero, one) if link is not None and link.peer is not None] == [0, 1]
    ways = (MAILBOX, twin_name(MAILBOX))
    mailboxes = sorted(ways, key=lambda name: half_of(key_of(name)))
    groups = [stage.members(critical_item(CRITICAL, way)) | stage.members(mailboxes[way]) for way in (0, 1)]
    assert not groups[0] & groups[1]


@pytest.mark.parametrize(
    "faults",
    [
        {"crashes": 30.0, "partitions": 15.0, "client_crashes": 15.0, "loss": 0.02, "resets": 20.0, "stops": 5.0},
        {"crashes": 15.0, "client_crashes": 10.0, "send_timeout": 2 * SECOND, "client_roams": True},
    ],
    ids=["everything", "impatient"],
)
def test_nothing_is_lost_doubled_or_late(faults: dict[str, float]) -> None:
    values: dict[str, object] = {"rate": 10.0, "down_max": 4 * SECOND, **faults}
    verdict = SimRun(options_calm(2, workloads=["critical"], safety=12 * SECOND, **values)).run()
    assert verdict.ending == "ok", verdict.evidence
    assert verdict.observations["delivered"] > 100
