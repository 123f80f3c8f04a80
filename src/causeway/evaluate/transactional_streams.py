"""Transactional messages one after the other between two applications: the paper's sender, which waits for every
acknowledgement, and ours, which keeps a window on its way.

Owns: what is sent and how fast it arrives. Must not know: what is claimed.
"""

from __future__ import annotations

import statistics
from typing import Final

import msgspec

from causeway.evaluate.broker_mail import BODY_BYTES, BrokerMail
from causeway.evaluate.broker_rings import JoinedRing, join
from causeway.evaluate.closed_forms import BITS_PER_SECOND, MESSAGE_BYTES
from causeway.evaluate.pbm_costs import BASE_MS
from causeway.evaluate.site_distances import SiteDistances
from causeway.sim.letters import Letter
from causeway.types import MILLISECOND, SECOND, Duration, ServiceClass

PAIRS: Final = 8
LOOK: Final[Duration] = 2 * MILLISECOND
"""How often a sender that waits looks, and how far apart the sends of the other are: each makes a batch of its own."""
PATIENCE: Final[Duration] = 120 * SECOND


class StreamCase(msgspec.Struct, frozen=True):
    """One ring, some pairs, so many messages each."""

    brokers: int
    seed: int
    messages: int

    @property
    def weight(self) -> float:
        """About how much work it is, in seconds."""
        return float((self.brokers / 64) ** 1.25) * (1.4 + 0.05 * self.messages)


class StreamCost(msgspec.Struct, frozen=True, tag=True):
    """Messages per second and pair, from the first send to the last acknowledgement."""

    brokers: int
    seed: int
    pairs: int
    messages: int
    waiting_per_s: float
    """One at a time."""
    window_per_s: float
    """As fast as they come, every one a batch of its own."""
    batched_per_s: float
    """All at once: the session gathers them into batches."""
    line_per_s: float
    """What a line can carry."""


def measure_streams(case: StreamCase) -> tuple[StreamCost, ...]:
    """Join brokers, send; that everything arrived once and in order is checked."""
    distances = SiteDistances(case.seed, BASE_MS * MILLISECOND)
    mail = BrokerMail(JoinedRing(join(case.brokers, distances, case.seed)), distances, case.seed, PAIRS)
    for _ in range(2):
        mail.warm_up()
    rates: list[list[float]] = [[], [], []]
    for sender, receiver in mail.pairs:
        rates[0].append(_rate(mail, case.messages, _waiting(mail, sender, receiver, case.messages)))
        rates[1].append(_rate(mail, case.messages, _sent(mail, sender, receiver, case.messages, LOOK)))
        rates[2].append(_rate(mail, case.messages, _sent(mail, sender, receiver, case.messages, 0)))
    mail.times.finish()
    line = BITS_PER_SECOND / 8 / MESSAGE_BYTES
    waiting, window, batched = (statistics.harmonic_mean(found) for found in rates)
    return (StreamCost(case.brokers, case.seed, PAIRS, case.messages, waiting, window, batched, line),)


def _send(mail: BrokerMail, sender: str, receiver: str) -> Letter:
    letter = mail.applications[sender].send(receiver, ServiceClass.TRANSACTIONAL, BODY_BYTES)
    assert letter is not None, "a window is full"
    return letter


def _waiting(mail: BrokerMail, sender: str, receiver: str, count: int) -> list[Letter]:
    letters: list[Letter] = []
    for _ in range(count):
        letters.append(_send(mail, sender, receiver))
        _await(mail, letters[-1:], LOOK // 4)
    return letters


def _sent(mail: BrokerMail, sender: str, receiver: str, count: int, apart: Duration) -> list[Letter]:
    letters: list[Letter] = []
    for _ in range(count):
        letters.append(_send(mail, sender, receiver))
        if apart:
            mail.pass_time(apart)
    _await(mail, letters, LOOK)
    return letters


def _await(mail: BrokerMail, letters: list[Letter], look: Duration) -> None:
    stop = mail.world.now + PATIENCE
    while any(letter not in mail.times.answered for letter in letters):
        assert mail.world.now < stop, f"{letters[0]} is not acknowledged"
        mail.pass_time(look)


def _rate(mail: BrokerMail, count: int, letters: list[Letter]) -> float:
    times = mail.times
    taken = max(times.answered[letter] for letter in letters) - times.posted[letters[0]]
    return count * SECOND / taken
