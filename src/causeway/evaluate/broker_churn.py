"""What failing brokers do to transactional messages, which the paper left out: real brokers and MSMQ's sites, the same
ones down at the same times, between the same applications.

A broker that fails takes its site's machine with it: nobody is told, its memory is lost. In MSMQ what a site has stored
waits on its disk until it is back, and so does what is on its way there, since links are laid by hand.

Owns: when who fails, and what became of messages. Must not know: what is claimed.
"""

from __future__ import annotations

import random
import statistics
from typing import Final, NamedTuple

import msgspec

from causeway.client.settings import SessionConfig
from causeway.evaluate.broker_mail import BODY_BYTES, BrokerMail
from causeway.evaluate.broker_rings import CheapestLinks, JoinedRing, calm_options, join
from causeway.evaluate.closed_forms import CAUSEWAY, MSMQ, TRANSACTIONAL, MailKind
from causeway.evaluate.message_exchanges import StoreAndForward
from causeway.evaluate.pbm_costs import BASE_MS
from causeway.evaluate.site_distances import SiteDistances
from causeway.evaluate.site_lines import SiteLines
from causeway.sim.letters import Letter
from causeway.types import MILLISECOND, SECOND, Duration, Instant, ServiceClass

PAIRS_MAX: Final = 16
EVERY: Final[Duration] = 500 * MILLISECOND
"""How often each of the senders sends."""
CALM: Final[Duration] = 5 * SECOND
"""Before the first failure; what is sent then is what the rest is compared with."""
LATE_MS: Final = 1000
SILENCE: Final[Duration] = 4 * SECOND
"""Until brokers give up one of them that says nothing."""
SESSION_SILENCE: Final[Duration] = next(
    field.default for field in msgspec.structs.fields(SessionConfig) if field.name == "silence"
)
"""The same, of applications with their broker."""
PATIENCE: Final[Duration] = 60 * SECOND
KIND: Final = MailKind(TRANSACTIONAL, reliable=True, online=True)


class ChurnCase(msgspec.Struct, frozen=True):
    """One network, and how often brokers fail."""

    brokers: int
    seed: int
    failures: int
    apart_s: int
    """From one failure to the next."""
    down_s: int
    """Less: one broker is down at a time."""

    @property
    def weight(self) -> float:
        """About how much work it is, in seconds."""
        return (self.brokers / 64) * (3.0 + 0.17 * self.failures * self.apart_s)


class ChurnCost(msgspec.Struct, frozen=True, tag=True):
    """What became of the messages."""

    system: str
    brokers: int
    seed: int
    failures: int
    apart_s: int
    down_s: int
    messages: int
    calm_ms: float
    """One way, on average, before anything failed."""
    mean_ms: float
    p99_ms: float
    longest_ms: float
    late: float
    """The share that took more than a second."""
    lost: int


class SiteOutage(NamedTuple):
    """One failure, in time since the first message."""

    broker: int
    begin: Instant
    end: Instant


def measure_churn(case: ChurnCase) -> tuple[ChurnCost, ...]:
    """Both systems."""
    rng = random.Random(f"causeway/{case.seed}/failures")
    outages = [
        SiteOutage(rng.randrange(case.brokers), begin, begin + case.down_s * SECOND)
        for begin in (CALM + number * case.apart_s * SECOND for number in range(case.failures))
    ]
    distances = SiteDistances(case.seed, BASE_MS * MILLISECOND)
    options = msgspec.structs.replace(
        calm_options(case.seed, case.brokers), heartbeat=SECOND, silence=SILENCE, retry=500 * MILLISECOND
    )
    overlays = join(case.brokers, distances, case.seed, options=options)
    mail = BrokerMail(JoinedRing(overlays), distances, case.seed, min(PAIRS_MAX, case.brokers // 3), spare_homes=4)
    for _ in range(2):
        mail.warm_up()
    return _brokers(case, mail, outages), _links(case, mail, distances, outages)


def _length(case: ChurnCase) -> Duration:
    return CALM + case.failures * case.apart_s * SECOND


def _brokers(case: ChurnCase, mail: BrokerMail, outages: list[SiteOutage]) -> ChurnCost:
    world, cluster = mail.world, mail.overlays.cluster
    begin = world.now

    def fail(broker: int) -> None:
        cluster.crash(cluster.brokers[broker], noticed=False)

    def come_back(broker: int) -> None:
        living = cluster.living()
        cluster.via = living[broker % len(living)]
        cluster.start(cluster.brokers[broker])

    for outage in outages:
        world.at(begin + outage.begin, fail, outage.broker)
        world.at(begin + outage.end, come_back, outage.broker)
    letters: list[Letter] = []
    while world.now < begin + _length(case):
        for sender, receiver in mail.pairs:
            letter = mail.applications[sender].send(receiver, ServiceClass.TRANSACTIONAL, BODY_BYTES)
            assert letter is not None, "a window is full"
            letters.append(letter)
            mail.pass_time(EVERY // len(mail.pairs))
    mail.pass_time(PATIENCE)
    times = mail.times
    times.finish()
    arrived = [letter for letter in letters if letter in times.arrived]
    taken = [
        (times.posted[letter] - begin, (times.arrived[letter] - times.posted[letter]) / MILLISECOND)
        for letter in arrived
    ]
    return _cost(case, CAUSEWAY, taken, len(letters) - len(arrived))


def _links(case: ChurnCase, mail: BrokerMail, distances: SiteDistances, outages: list[SiteOutage]) -> ChurnCost:
    lines = SiteLines(distances)
    links = CheapestLinks(case.brokers, distances)

    def up_at(site: int) -> Instant:
        return max((o.end for o in outages if o.broker == site and o.begin <= lines.now), default=0)

    system = StoreAndForward(lines, links, random.Random(f"causeway/{case.seed}/disks"), up_at)
    pairs = [(sender.site, receiver.site) for sender, receiver in mail.expected()]
    pairs = [pair for pair in pairs if links.route(*pair)]
    trips = []
    while lines.now < _length(case):
        for source, target in pairs:
            trips.append(system.begin(KIND, source, target))
            lines.world.run(lines.now + EVERY // len(pairs))
    lines.run_until_quiet()
    taken = [(trip.begun, trip.one_way / MILLISECOND) for trip in trips if trip.one_way is not None]
    return _cost(case, MSMQ, taken, len(trips) - len(taken))


def _cost(case: ChurnCase, system: str, taken: list[tuple[Instant, float]], lost: int) -> ChurnCost:
    """Of when each was sent and how long it took."""
    all_ms = sorted(ms for _, ms in taken)
    return ChurnCost(
        system,
        *(case.brokers, case.seed, case.failures, case.apart_s, case.down_s),
        messages=len(taken) + lost,
        calm_ms=statistics.fmean(ms for at, ms in taken if at < CALM - SECOND),
        mean_ms=statistics.fmean(all_ms),
        p99_ms=all_ms[int(0.99 * len(all_ms))],
        longest_ms=all_ms[-1],
        late=sum(ms > LATE_MS for ms in all_ms) / len(all_ms),
        lost=lost,
    )
