"""Counts what processes send, in bytes as they are on the wire, by kind of message and on the line of one host.

Owns: the counters and which kind a message is of. Must not know: what a count is compared with.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable
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


def content_of(head: Message) -> Message:
    """The message itself, if it travels in an envelope."""
    return head.head if isinstance(head, Routed) else head


def kind_of(head: Message) -> TrafficKind:
    """What a message is sent for; an envelope's content counts."""
    return _KINDS.get(type(content_of(head)), TrafficKind.MAIL)


class FrameCounts:
    """Frames and their bytes since it began to count, by sort: set as `Network.meter`."""

    def __init__(self, sort_of: Callable[[Message], str | None]) -> None:
        self._sort_of = sort_of
        """What a message is counted as; of None it is not."""
        self.bytes: Counter[str] = Counter()
        self.frames: Counter[str] = Counter()

    def __call__(self, sender: Process, receiver: Process, head: Message, size: int) -> None:
        """A frame is put on a connection."""
        sort = self._sort_of(head)
        if sort is not None:
            self.bytes[sort] += size
            self.frames[sort] += 1


class LineTraffic(FrameCounts):
    """What brokers have sent each other, by `TrafficKind`."""

    def __init__(self, watched: str = "") -> None:
        super().__init__(kind_of)
        self._host = watched
        self.watched = FrameCounts(kind_of)
        """What goes over the own line of one host, in and out."""

    def __call__(self, sender: Process, receiver: Process, head: Message, size: int) -> None:
        """See `FrameCounts`."""
        if sender.broker and receiver.broker:
            super().__call__(sender, receiver, head, size)
            if self._host in (sender.name, receiver.name):
                self.watched(sender, receiver, head, size)
