"""What the management plane costs, and how long recovery takes: real brokers in the simulator, counted on their lines.

A *recovery* begins when brokers end. Three things are waited for: every broker of the domain knows who holds their
seats; every group that lost a copy has as many again, all alive and complete; and whoever took a seat has complete
copies of all that the broker had whose seat it was. The last is what the paper does, and when it is over.

Owns: which domain is built for a measurement, and when counting begins and ends. Must not know: what is claimed.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Final

import msgspec

from causeway.client.subscriptions import durable_mailbox
from causeway.core.links.pulse import LINK_IDLE
from causeway.core.overlay.upkeep import MAINTAIN_EVERY
from causeway.evaluate.managed_domain import PATIENCE, SETTLED, ManagedDomain, Shape
from causeway.sim.checkers.subscribing import Wish
from causeway.sim.held import Held
from causeway.sim.traffic import LineTraffic, TrafficKind
from causeway.topics.items import item_of
from causeway.types import MILLISECOND, SECOND, Duration, Instant, ServiceClass

MONITORING, QUEUES, ROUTES, FAILURES = "monitoring", "queues", "routes", "failures"

QUIET: Final[Duration] = 135 * SECOND
"""Links that only the joins needed have been closed by then, and what repeats has found its slowest pace."""
WATCHED: Final[Duration] = MAINTAIN_EVERY
"""As long as the longest pause: every broker sees after its routing table once."""
SMALL: Final = Shape(6, 1)
"""The domain of one failed broker in which the traffic of its recovery is counted."""
QUEUE_LETTERS: Final = 1
QUEUE_LETTER_BYTES: Final = 100
LOAD_QUEUES_PER_SEAT: Final = 2
LOAD_LETTERS: Final = 20
LOAD_LETTER_BYTES: Final = 500
"""What lies in the domain whose recovery is timed."""

AGED: Final[Duration] = LINK_IDLE + 5 * SECOND
"""A recovery is timed when the links have ended that only the joins needed: brokers that must find each other do so."""

LOOK: Final[Duration] = 10 * MILLISECOND
"""How often a recovery is looked at: so exact are its times."""
LONG: Final[Duration] = 4 * SECOND
LOOK_SELDOM: Final[Duration] = 250 * MILLISECOND
"""How often, once it takes so long."""
RECOVERED_WITHIN: Final[Duration] = 10 * SECOND
"""Spares that do not have everything by then are not waited for."""

PUBLISH_EVERY: Final[Duration] = 100 * MILLISECOND
PUBLISH_BEFORE: Final[Duration] = 2 * SECOND
PUBLISH_AFTER: Final[Duration] = 4 * SECOND


class RecoveryCase(msgspec.Struct, frozen=True):
    """One domain and what happens to it."""

    what: str
    shape: Shape
    amount: int = 0
    """Of queues, routes or failures; of monitoring nothing."""
    silent: bool = False
    """The hosts vanish with their brokers: no connection is closed."""

    @property
    def weight(self) -> float:
        """About how much work it is, to begin with the longest."""
        return float(self.shape.brokers**1.3) * (4 if self.what == MONITORING else 1)


class RecoveryCost(msgspec.Struct, frozen=True):
    """What was counted. Bytes are frames between brokers as they are on the wire, without headers of TCP and below."""

    what: str
    brokers: int
    spares: int
    domains: int
    amount: int
    silent: bool
    seed: int
    seconds: float
    """How long was counted: until spares had all that the failed brokers had, or for as long as nothing happened."""
    moved: bool
    """Whether spares had it within RECOVERED_WITHIN."""
    seats_seconds: float
    """Until everybody knew who holds the seats."""
    whole_seconds: float
    """Until every group had all its copies."""
    whole_bytes: int
    """Sent by then, and until everybody knew who holds the seats."""
    sent_bytes: int
    """By all brokers together."""
    sent_frames: int
    landmark_bytes: int
    """In and out of one landmark."""
    landmark_frames: int
    life_bytes: int
    ring_bytes: int
    agents_bytes: int
    groups_bytes: int
    replication_bytes: int
    mail_bytes: int


def measure(case: RecoveryCase) -> RecoveryCost:
    """Build the domain, let it happen, count."""
    gc.collect()
    domain = ManagedDomain(case.shape)
    if case.what == MONITORING:
        return _monitoring(domain, case)
    if case.what == FAILURES:
        seats = sorted(domain.held())
        domain.fill([f"queue-{n}" for n in range(LOAD_QUEUES_PER_SEAT * len(seats))], LOAD_LETTERS, LOAD_LETTER_BYTES)
        domain.pass_time(AGED)
        return _recovery(domain, case, domain.victims(case.amount))
    victims = domain.victims(1)
    if case.what == QUEUES:
        names = domain.names_near(victims[0], case.amount, "queue")
        domain.fill(names, QUEUE_LETTERS, QUEUE_LETTER_BYTES)
    else:
        subscribe(domain, victims[0], case.amount)
    return _recovery(domain, case, victims)


def _monitoring(domain: ManagedDomain, case: RecoveryCase) -> RecoveryCost:
    domain.pass_time(QUIET)
    traffic = _count(domain)
    domain.pass_time(WATCHED)
    return _cost(case, traffic, WATCHED)


def _recovery(domain: ManagedDomain, case: RecoveryCase, victims: list[str]) -> RecoveryCost:
    lost = domain.lost_with(victims)
    traffic = _count(domain)
    begin = domain.world.now
    domain.kill(victims, silent=case.silent)
    awaited: list[Callable[[], bool]] = [
        lambda: domain.is_filled(victims),
        lambda: domain.is_whole(lost),
        lambda: domain.is_filled(victims) and domain.is_moved(lost),
    ]
    times: dict[int, Duration] = {}
    sent = [0, 0]

    def look() -> bool:
        for number, condition in enumerate(awaited):
            if number not in times and condition():
                times[number] = domain.world.now - begin
                if number < 2:
                    sent[number] = traffic.bytes.total()
        return len(times) == len(awaited)

    while not look() and domain.world.now - begin < RECOVERED_WITHIN:
        domain.pass_time(LOOK if domain.world.now - begin < LONG else LOOK_SELDOM)
    assert {0, 1} <= set(times), f"seats or copies are missing after {RECOVERED_WITHIN / SECOND} s: {case}"
    lasted = times.get(2, domain.world.now - begin)
    return _cost(case, traffic, lasted, times[0], (times[1], max(sent)), moved=2 in times)


def subscribe(domain: ManagedDomain, broker: str, count: int, on_letter: Callable[[Held], None] | None = None) -> str:
    """Durable subscriptions to a topic, all held by one broker as the topic is; the topic."""
    (topic,) = domain.names_near(broker, 1, "topic", item_of)
    reader = domain.application("reader")
    reader.on_letter = on_letter
    domain.launch(reader)
    domain.pass_time(SECOND)
    for name in domain.names_near(broker, count, "news", lambda name: durable_mailbox("reader", name, shared=False)):
        mailbox = domain.mailbox(durable_mailbox("reader", name, shared=False))
        reader.subscribe(mailbox, Wish(topic), 64)
    domain.pass_time(SETTLED)
    return topic


def _count(domain: ManagedDomain) -> LineTraffic:
    landmark = next(iter(domain.landmarks().values()))
    domain.world.network.meter = traffic = LineTraffic(landmark)
    return traffic


def _cost(
    case: RecoveryCase,
    traffic: LineTraffic,
    lasted: Duration,
    seats: Duration = 0,
    whole: tuple[Duration, int] = (0, 0),
    *,
    moved: bool = True,
) -> RecoveryCost:
    shape, sent = case.shape, traffic.bytes
    return RecoveryCost(
        case.what,
        shape.brokers,
        shape.spares,
        shape.domains,
        case.amount,
        case.silent,
        shape.seed,
        lasted / SECOND,
        moved,
        seats / SECOND,
        whole[0] / SECOND,
        whole[1],
        sent.total(),
        traffic.frames.total(),
        traffic.watched.bytes.total(),
        traffic.watched.frames.total(),
        sent[TrafficKind.LIFE],
        sent[TrafficKind.RING],
        sent[TrafficKind.AGENTS],
        sent[TrafficKind.GROUPS],
        sent[TrafficKind.REPLICATION],
        sent[TrafficKind.MAIL],
    )


# The time line of a publisher and a subscriber ----------------------------------------------------------------------
class TimelineCase(msgspec.Struct, frozen=True):
    """A broker on the way of periodic messages fails."""

    shape: Shape
    silent: bool


class TimelineLetter(msgspec.Struct, frozen=True):
    """One message; instants in seconds, 0 is the failure."""

    silent: bool
    number: int
    published: float
    received: float


def measure_timeline(case: TimelineCase) -> list[TimelineLetter]:
    """Publish at a steady pace before and after the owner of the topic fails; every message and when it arrived."""
    domain = ManagedDomain(case.shape)
    (victim,) = domain.victims(1)
    arrived: dict[int, Instant] = {}

    def got(held: Held) -> None:
        arrived.setdefault(held.letter.number, domain.world.now)
        held.application.settle(held)

    topic = subscribe(domain, victim, 1, got)
    publisher = domain.application("publisher")
    domain.launch(publisher)
    domain.pass_time(SECOND)
    sent: list[Instant] = []

    def publish(duration: Duration) -> None:
        for _ in range(duration // PUBLISH_EVERY):
            sent.append(domain.world.now)
            publisher.publish(topic, ServiceClass.TRANSACTIONAL, 100, timeout=PATIENCE)
            domain.pass_time(PUBLISH_EVERY)

    publish(PUBLISH_BEFORE)
    failed = domain.world.now
    domain.kill([victim], silent=case.silent)
    publish(PUBLISH_AFTER)
    domain.within(PATIENCE, lambda: len(arrived) == len(sent))
    return [
        TimelineLetter(case.silent, number, (at - failed) / SECOND, (arrived[number] - failed) / SECOND)
        for number, at in enumerate(sent, 1)
    ]
