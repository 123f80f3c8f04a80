"""Counts what processes send, in bytes as they are on the wire, by kind of message and by pair of hosts.

Owns: the counters and which kind a message is of. Must not know: what a count is compared with.
"""

from __future__ import annotations

import enum
from collections import Counter
from typing import TYPE_CHECKING, Final, get_args

from causeway.core.messages import (
    AgentMessage,
    Copied,
    GroupMessage,
    LinkMessage,
    Message,
    OverlayMessage,
    Replicate,
    Routed,
    ToLandmark,
)

if TYPE_CHECKING:
    from causeway.sim.world import Process


class TrafficKind(enum.StrEnum):
    """What a message between brokers is sent for."""

    LIFE = "signs of life"
    """Greetings, signs of life and goodbyes of links."""
    RING = "ring"
    """Leaf sets, routing tables, joins."""
    AGENTS = "agents"
    """Announcements, reports, distances, the directory."""
    GROUPS = "groups"
    """Elections, audits, refilled copies."""
    REPLICATION = "replication"
    """Operations of an owner and their confirmations."""
    MAIL = "mail"
    """Everything else: what clients send and what brokers say about it."""


def _kinds() -> dict[type, TrafficKind]:
    families = (
        (TrafficKind.LIFE, LinkMessage),
        (TrafficKind.RING, OverlayMessage),
        (TrafficKind.AGENTS, AgentMessage | ToLandmark),
        (TrafficKind.GROUPS, GroupMessage),
    )
    found = {message: kind for kind, family in families for message in get_args(family)}
    return found | dict.fromkeys((Replicate, Copied), TrafficKind.REPLICATION)


_KINDS: Final = _kinds()


def kind_of(head: Message) -> TrafficKind:
    """What a message is sent for; an envelope's content counts."""
    return _KINDS.get(type(head.head if isinstance(head, Routed) else head), TrafficKind.MAIL)


class LineTraffic:
    """What was sent since it began to count: set as `Network.meter`."""

    def __init__(self, watched: str = "") -> None:
        self._watched = watched
        """The host whose own line is counted too, in and out."""
        self.bytes: Counter[TrafficKind] = Counter()
        self.frames: Counter[TrafficKind] = Counter()
        self.watched_bytes: Counter[TrafficKind] = Counter()
        self.watched_frames: Counter[TrafficKind] = Counter()

    def __call__(self, sender: Process, receiver: Process, head: Message, size: int) -> None:
        """A frame is put on a connection."""
        if not (sender.broker and receiver.broker):
            return
        kind = kind_of(head)
        self.bytes[kind] += size
        self.frames[kind] += 1
        if self._watched in (sender.name, receiver.name):
            self.watched_bytes[kind] += size
            self.watched_frames[kind] += 1
