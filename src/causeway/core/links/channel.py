"""What is remembered of one connection, and of one broker: plain state, no decisions.

A broker is sent to over one connection, the best of those that lead to it: its own, and, while that one is broken or
slow, some that lead over third brokers (see `bypass`). While two brokers dial each other at the same time there is one
too many for a moment; it is closed from both ends without losing what is on it (see `links`).
"""

from __future__ import annotations

import enum
from collections import deque
from typing import Final

from causeway.core.effects import Conn
from causeway.core.messages import Burden, Message
from causeway.types import BrokerId, Duration, Instant, Peer


class Stage(enum.IntEnum):
    """Where a connection is in its life.

    DIALLING -> GREETING -> BROKER -> CLOSING      (dialled by us: Opened, then Welcome)
                WAITING  -> BROKER | CLIENT        (inbound: Hello)
    """

    DIALLING = 0
    """We asked for it; not open yet."""
    GREETING = 1
    """Our Hello is on its way; the Welcome is not here yet."""
    WAITING = 2
    """Inbound; the Hello is not here yet."""
    BROKER = 3
    CLIENT = 4
    CLOSING = 5
    """To a broker, our Goodbye is sent: we only listen to what was already on its way."""


class Channel:
    """One connection."""

    __slots__ = (
        "asked",
        "clogged",
        "conn",
        "doubted_at",
        "heard_at",
        "incarnation",
        "known_burden",
        "known_root",
        "link",
        "name",
        "nonce",
        "remote",
        "round_trip",
        "said_at",
        "said_wanted",
        "slowest",
        "stage",
        "timed_at",
        "told",
        "told_at",
        "used_at",
        "via",
        "wanted",
    )

    def __init__(self, conn: Conn, stage: Stage, now: Instant, via: BrokerId | None = None) -> None:
        self.conn: Final = conn
        self.via: Final = via
        """The third broker that it leads over; None: a connection of its own."""
        self.stage = stage
        self.heard_at = now
        """When any frame last arrived."""
        self.said_at = now
        """When we last sent a frame (to a broker; what goes to clients does not pass here)."""
        self.used_at = now
        """When it last carried anything but signs of life."""
        self.wanted = False
        """Whether the broker there has pinned it."""
        self.said_wanted = False
        """Whether we have said so of ourselves."""
        self.link: Link | None = None
        """The broker at the other end; while we greet, the one we hope to find there."""
        self.name = ""
        self.incarnation = 0
        self.nonce = 0
        """Of the Ping (or, 0, the Hello) sent at `timed_at` and not yet answered."""
        self.timed_at: Instant = 0
        self.doubted_at: Instant = 0
        """When the first question was sent that nothing has answered since; 0 when all are answered."""
        self.round_trip: Duration | None = None
        """Smoothed, of this connection alone."""
        self.slowest: Duration = 0
        """The longest that an answer took of late: how busy the other end is."""
        self.clogged = False
        self.remote = ""
        """Of an inbound one: the address at its other end."""
        self.told: Burden | None = None
        """What we last told the broker there of our load, and when."""
        self.told_at: Instant = 0
        self.known_burden: Burden | None = None
        """What the broker there certainly knows of our load: a greeting arrives, a sign of life is answered."""
        self.known_root = 0
        """The epoch of the directory's group that it has certainly heard of."""
        self.asked: tuple[Burden | None, int] = None, 0
        """What it will know of both when it has answered our last question."""

    @property
    def is_current(self) -> bool:
        """Whether the broker at the other end is still up, in the life in which it greeted us here."""
        link = self.link
        return link is not None and link.announced is not None and link.incarnation == self.incarnation

    @property
    def dialled(self) -> bool:
        """Whether we opened it."""
        return self.conn % 2 == 1

    def is_doubtful(self, now: Instant, patience: Duration) -> bool:
        """Whether an answer is overdue, as far as answers usually take here."""
        if not self.doubted_at:
            return False
        return now - self.doubted_at >= max(patience, 2 * (self.round_trip or 0))

    def measured(self, sample: Duration) -> None:
        """Take one round trip into the smoothed one."""
        self.round_trip = smoothed(self.round_trip, sample)
        self.slowest = max(sample, self.slowest - self.slowest // 4)
        if self.via is None and self.link is not None:
            best = self.link.round_trip_best
            self.link.round_trip_best = sample if best is None else min(best, sample)


def smoothed(before: Duration | None, sample: Duration) -> Duration:
    """A round trip with one more sample in it (RFC 6298's gain of 1/8)."""
    return sample if before is None else (7 * before + sample) // 8


class Link:
    """One broker: how to reach it, and what waits for it."""

    __slots__ = (
        "announced",
        "burden",
        "burden_at",
        "channel",
        "channels",
        "cluster",
        "confirmed",
        "dial",
        "failures",
        "incarnation",
        "other",
        "peer",
        "queue",
        "queued_bytes",
        "rest_until",
        "round_trip",
        "round_trip_best",
        "tried",
    )

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.confirmed = False
        """The broker itself told us `peer`, and no dial has failed since."""
        self.other: Peer | None = None
        """What somebody else says of it, when that differs: tried when `peer` does not answer."""
        self.announced: Peer | None = None
        """Told as up, and not as down since. An idle link that was closed keeps it."""
        self.cluster = ""
        """As it said in its last Hello or Welcome."""
        self.incarnation = 0
        self.channel: Channel | None = None
        """What we send over: one of those below, None when there is none."""
        self.channels: list[Channel] = []
        """All that lead to it and are greeted, at most one over each third broker."""
        self.dial: Channel | None = None
        self.queue: deque[tuple[Message, bytes]] = deque()
        self.queued_bytes = 0
        self.failures = 0
        """Dials that failed in a row."""
        self.rest_until: Instant = 0
        """No dial before this."""
        self.round_trip: Duration | None = None
        """Smoothed, of the connections that we sent over."""
        self.round_trip_best: Duration | None = None
        """The shortest one on a connection of its own: where it is today is far or near by this."""
        self.tried = 0
        """Third brokers that were asked for a way to it."""
        self.burden: Burden | None = None
        """What it last said of its load, and when."""
        self.burden_at: Instant = 0

    @property
    def direct(self) -> Channel | None:
        """The connection of its own."""
        return next((channel for channel in self.channels if channel.via is None), None)

    def enqueue(self, head: Message, body: bytes, frames_max: int, bytes_max: int) -> None:
        """Keep a frame until the link is up; dropped when there are too many (the sender has a retry)."""
        if len(self.queue) < frames_max and self.queued_bytes + len(body) <= bytes_max:
            self.queue.append((head, body))
            self.queued_bytes += len(body)

    def drop_queue(self) -> None:
        """Forget what waits."""
        self.queue.clear()
        self.queued_bytes = 0

    def measured(self, sample: Duration) -> None:
        """Take one round trip into the smoothed one."""
        self.round_trip = smoothed(self.round_trip, sample)
