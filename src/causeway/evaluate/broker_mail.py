"""Mail between real applications over whole brokers: the real Node and the real client session in the simulator.

Applications connect to the broker responsible for their name, as in PBM; brokers keep what they store in memory, as in
PBM. What is counted is what brokers and sessions really put on their lines.

Owns: applications, what they send, when it arrived and which frames it took. Must not know: what is claimed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from causeway.client.session import Session
from causeway.client.settings import SessionConfig
from causeway.core.machine import Turn
from causeway.core.messages import (
    Accepted,
    Confirmed,
    Copied,
    Deliver,
    Deposit,
    Message,
    Rejected,
    Replicate,
    Resend,
    Settle,
    Settled,
)
from causeway.evaluate.broker_rings import JoinedRing
from causeway.evaluate.closed_forms import BITS_PER_SECOND, EXPRESS, RECOVERABLE, TRANSACTIONAL, MailKind
from causeway.evaluate.message_exchanges import Client
from causeway.evaluate.site_distances import SiteDistances
from causeway.sim.application import Application
from causeway.sim.checkers.base import Reader
from causeway.sim.checkers.panel import Panel
from causeway.sim.clock import Clock
from causeway.sim.faults import stream
from causeway.sim.letters import Letter
from causeway.sim.routing import Overlays, node_of
from causeway.sim.traffic import FrameCounts, content_of
from causeway.sim.world import Process
from causeway.types import MILLISECOND, SECOND, BrokerId, Duration, Instant, Key, ServiceClass, key_of

BODY_BYTES: Final = 890
"""With it the frames of a message take about MESSAGE_BYTES, depending on what is said with it."""
APART: Final[Duration] = 100 * MILLISECOND
SETTLED: Final[Duration] = 1 * SECOND
CREDIT: Final = 1000
SERVICES: Final = {
    EXPRESS: ServiceClass.EXPRESS,
    RECOVERABLE: ServiceClass.RECOVERABLE,
    TRANSACTIONAL: ServiceClass.TRANSACTIONAL,
}

COUNTED: Final = (Deposit, Accepted, Rejected, Resend, Confirmed, Deliver, Settle, Settled, Replicate, Copied)
"""What is sent on account of messages; the rest keeps the ring and the groups in order."""


class LetterTimes(Panel):
    """The checkers, and when each letter was where."""

    def __init__(self, clock: Callable[[], Instant]) -> None:
        super().__init__(clock)
        self.posted: dict[Letter, Instant] = {}
        self.arrived: dict[Letter, Instant] = {}
        self.answered: dict[Letter, Instant] = {}

    def sent(self, letter: Letter) -> None:
        self.posted[letter] = self._clock()
        super().sent(letter)

    def delivered(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        self.arrived.setdefault(letter, self._clock())
        super().delivered(mailbox, reader, letter)

    def acknowledged(self, letter: Letter) -> None:
        self.answered.setdefault(letter, self._clock())
        super().acknowledged(letter)


class LetterCosts:
    """What some letters of one kind took."""

    def __init__(self, times: LetterTimes, letters: Sequence[Letter], counted: MailFrames) -> None:
        self.one_way = [times.arrived[letter] - times.posted[letter] for letter in letters]
        answered = [letter for letter in letters if letter in times.answered]
        self.round_trip = [times.answered[letter] - times.posted[letter] for letter in answered]
        self.frames = counted.frames.total() / len(letters)
        self.bytes = counted.bytes.total() / len(letters)
        self.least, self.greatest = counted.least, counted.greatest
        """Bytes of the smallest and of the largest frame with a message in it."""


class BrokerMail:
    """Pairs of applications over brokers that have joined each other."""

    def __init__(
        self, ring: JoinedRing, distances: SiteDistances, seed: int, pairs: int, *, spare_homes: int = 0
    ) -> None:
        self.ring = ring
        self.overlays: Overlays = ring.overlays
        self.world = self.overlays.world
        self.times = LetterTimes(lambda: self.world.now)
        self.distances = distances
        self._seed = seed
        self._spare_homes = spare_homes
        """Other brokers an application knows, for when its own one fails."""
        self._lives = 0
        self._sites = {broker.process.index: number for number, broker in enumerate(self.overlays.cluster.brokers)}
        network = self.world.network
        network.distance = self._distance
        network.weather.bits_per_second = BITS_PER_SECOND
        self.clients: dict[str, Client] = self._clients(2 * pairs)
        self.applications = {name: self._application(name) for name in self.clients}
        names = list(self.clients)
        self.pairs = list(zip(names[:pairs], names[pairs:], strict=True))
        for sender, receiver in self.pairs:
            self.start(sender)
            self.start(receiver)
        self.pass_time(2 * SECOND)
        for _, receiver in self.pairs:
            self.applications[receiver].read(receiver, CREDIT)
        self.pass_time(2 * SECOND)

    def _distance(self, source: Process, target: Process) -> Duration:
        return self.distances.between(self._sites[source.index], self._sites[target.index])

    def _clients(self, count: int) -> dict[str, Client]:
        """No two of one broker: the load is balanced."""
        rng = random.Random(f"causeway/{self._seed}/applications")
        places, found, taken = self.ring.places, {}, set()
        for number in range(1000 * count):
            name = f"application-{number}"
            home = places.closest(key_of(name), 1)[0]
            if home not in taken:
                taken.add(home)
                found[name] = Client(rng.randrange(len(places.ids)), key_of(name), home)
                if len(found) == count:
                    return found
        raise AssertionError(f"{len(places.ids)} brokers are too few for {count} applications apart")

    def _application(self, name: str) -> Application:
        process = self.world.process(name)
        process.cost_turn = process.cost_event = 0
        self._sites[process.index] = self.clients[name].site
        application = Application(process, self.times, Session)
        application.on_letter = lambda held: held.application.settle(held)
        return application

    def start(self, name: str) -> None:
        """Begin a life, at the broker responsible for the name."""
        brokers, home = self.overlays.cluster.brokers, self.clients[name].home
        homes = [brokers[(home + step) % len(brokers)] for step in range(1 + self._spare_homes)]
        addresses = tuple(broker.process.address for broker in homes if broker.process.address is not None)
        config = SessionConfig(name=name, addresses=addresses, roam=False, timeout=10_000 * SECOND)
        self._lives += 1
        self.applications[name].start(config, stream(self._seed, f"session/{name}/{self._lives}"), Clock(), None)

    def pass_time(self, duration: Duration) -> None:
        """Let time pass."""
        self.world.run(self.world.now + duration)

    # Sending -----------------------------------------------------------------------------------------------------
    def warm_up(self) -> None:
        """One of a kind between all pairs: brokers that have to do with each other are connected afterwards."""
        self.measure(MailKind(EXPRESS, reliable=True, online=True))

    def measure(self, kind: MailKind) -> LetterCosts:
        """One message of a kind between all pairs, one after the other."""
        if not kind.online:
            for _, receiver in self.pairs:
                self.applications[receiver].close()
            self.pass_time(SETTLED)
        self.world.network.meter = counted = MailFrames()
        letters = [letter for pair in self.pairs for letter in self._send(kind, *pair)]
        self.pass_time(SETTLED)
        if not kind.online:
            for _, receiver in self.pairs:
                self.start(receiver)
                self.applications[receiver].read(receiver, CREDIT)
            self.pass_time(2 * SETTLED)
        self.world.network.meter = None
        return LetterCosts(self.times, letters, counted)

    def _send(self, kind: MailKind, sender: str, receiver: str) -> Iterable[Letter]:
        options: dict[str, Any] = {"reliable": kind.reliable}
        if kind.reliable and not kind.online:
            options["confirm"] = True
        letter = self.applications[sender].send(receiver, SERVICES[kind.service], BODY_BYTES, **options)
        assert letter is not None, "a window is full"
        self.pass_time(APART)
        return [letter]

    # Routes ------------------------------------------------------------------------------------------------------
    def let_learn(self, *, learn: bool) -> None:
        """Whether owners tell brokers that send by detours where they are; the paper's do not."""
        for broker in self.overlays.cluster.brokers:
            courier = node_of(broker)._desk.courier
            if learn:
                vars(courier).pop("teach", None)
            else:
                vars(courier)["teach"] = _tell_nobody

    def expected(self) -> list[tuple[Client, Client]]:
        """The pairs, for who simulates the same without brokers."""
        return [(self.clients[sender], self.clients[receiver]) for sender, receiver in self.pairs]


def _tell_nobody(turn: Turn, sender: BrokerId, key: Key) -> None:
    """In place of `MailCourier.teach`."""


class MailFrames(FrameCounts):
    """Frames on account of messages; others do not count."""

    def __init__(self) -> None:
        super().__init__(lambda head: "mail" if isinstance(content_of(head), COUNTED) else None)
        self.least, self.greatest = 1 << 62, 0
        """Bytes of frames that have a message in them."""

    def __call__(self, sender: Process, receiver: Process, head: Message, size: int) -> None:
        """See `FrameCounts`."""
        super().__call__(sender, receiver, head, size)
        if isinstance(content_of(head), COUNTED) and size > BODY_BYTES:
            self.least, self.greatest = min(self.least, size), max(self.greatest, size)
