"""PBM section 3: delay and traffic of one message as formulas.

Owns: the formulas and the paper's parameters. Must not know: how anything is simulated.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from causeway.types import MILLISECOND, Duration

BITS_PER_SECOND: Final = 3_152_000
COPIES: Final = 3
"""The paper's K."""
LINKS: Final = 5
"""Direct links of every MSMQ broker."""
DISK: Final[tuple[Duration, Duration]] = (5 * MILLISECOND, 10 * MILLISECOND)
"""A write takes between these two, evenly drawn."""
DISK_MEAN_MS: Final = 7.5

DIGITS: Final = 16
"""2^b, with the paper's b = 4."""

MESSAGE_BYTES: Final = 1000
ACK_BYTES: Final = 32
"""The paper prints neither. An acknowledgement takes about so much on our wire."""

EXPRESS, RECOVERABLE, TRANSACTIONAL = "express", "recoverable", "transactional"
PBM, MSMQ, CAUSEWAY = "pbm", "msmq", "causeway"


class MailKind(NamedTuple):
    """One of the paper's message types, and whether its receiver is there."""

    service: str
    reliable: bool
    online: bool

    @property
    def stored(self) -> bool:
        """Whether MSMQ writes it to disk, and PBM copies it when the receiver is away."""
        return self.service != EXPRESS

    def __str__(self) -> str:
        reliability = "" if self.service == TRANSACTIONAL else " reliable" if self.reliable else " unreliable"
        return f"{self.service}{reliability}, {'online' if self.online else 'offline'}"


KINDS: Final = tuple(
    MailKind(service, reliable, online)
    for online in (True, False)
    for service, reliable in (
        (EXPRESS, True),
        (EXPRESS, False),
        (RECOVERABLE, True),
        (RECOVERABLE, False),
        (TRANSACTIONAL, True),
    )
)


class HopMeans(NamedTuple):
    """What a formula is filled with: the paper's h and t_d, and the sizes."""

    hops: float
    """Between brokers, on average."""
    hop_ms: float
    """Propagation from one site to the next, on average."""
    message_bytes: float = MESSAGE_BYTES
    ack_bytes: float = ACK_BYTES

    def hop(self, size: float) -> float:
        """2l/p + t_d: sending, travelling, receiving; in milliseconds."""
        return 2 * 8 * size / BITS_PER_SECOND * 1000 + self.hop_ms


def one_way_ms(system: str, kind: MailKind, way: HopMeans) -> float:
    """Formulas (1), (5) and (7); to a receiver that is away as far as its broker."""
    if system == MSMQ:
        disk = DISK_MEAN_MS * (way.hops + 1) if kind.stored else 0.0
        return way.hops * way.hop(way.message_bytes) + disk
    return (way.hops + (2 if kind.online else 1)) * way.hop(way.message_bytes)


def round_trip_ms(system: str, kind: MailKind, way: HopMeans) -> float:
    """Formulas (2), (3), (4), (6) and (8). Ours: answers take one hop between brokers, and an express message is
    answered by its owner."""
    message, ack = way.hop(way.message_bytes), way.hop(way.ack_bytes)
    if system == MSMQ:
        return way.hops * (message + ack) + (2 * DISK_MEAN_MS * (way.hops + 1) if kind.stored else 0.0)
    if system == PBM:
        return (way.hops + (1 if not kind.online and not kind.stored else 2)) * (message + ack)
    straight = min(way.hops, 1.0)
    if not kind.stored:
        return (way.hops + 1) * message + (straight + 1) * ack
    return (way.hops + 2) * message + (straight + 2) * ack


def frames(system: str, kind: MailKind, hops: float) -> float:
    """Sections 3.3 and 3.4: messages between sites, of all sorts, until the receiver has it and everybody knows."""
    h, k = hops, COPIES
    if system == MSMQ:
        return 4 * h if kind.reliable else 2 * h
    if system == PBM:
        if kind.online or (not kind.stored and not kind.reliable):
            return 2 * (h + 2) if kind.reliable else h + 2
        if not kind.stored:
            return 3 * h + 5
        return 3 * h + 3 * k + 2 if kind.reliable else h + 3 * k - 1
    straight = min(h, 1.0)
    answer = straight + 1 if kind.reliable else 0.0
    if kind.online or not kind.stored:
        # The message, the reader's word that it is done, the answer; later the delivery confirmation.
        return h + 3 + answer + (straight + 1 if kind.reliable and not kind.online else 0.0)
    # Copied, answered, delivered, done; deleted from the copies, said so, confirmed.
    return h + 1 + 2 * (k - 1) + answer + 2 + 2 * (k - 1) + 1 + answer


def hops_bound(brokers: int) -> int:
    """⌈log N⌉ to the base 16: hops between brokers at most, says the paper (section 2.3, with two for applications)."""
    digits = 0
    while DIGITS**digits < brokers:
        digits += 1
    return digits
