"""Signs of life: which connections are asked for one, and which have been silent for too long.

A link that was heard of lately needs none, so that an idle one is asked once in half the silence, by whichever end is
first; who does not answer is asked again with every heartbeat until the silence is over. What a broker has to say of
itself travels with the question until it was answered, and then no more.

Owns: Ping and Pong, the round trip they measure, and the end of links that nobody needs. One timer for all connections,
because links are many.
"""

from __future__ import annotations

import random
from typing import Final

from causeway.config import BrokerConfig
from causeway.core.links.book import SWEEP, Book
from causeway.core.links.channel import Channel, Stage
from causeway.core.links.locator import Locator
from causeway.core.links.standing import Standing
from causeway.core.machine import Turn
from causeway.core.messages import Beat, Echo, Ping, Pong
from causeway.types import SECOND, Duration

LINK_IDLE: Final[Duration] = 30 * SECOND
"""A link that carried nothing but signs of life for so long is closed, unless somebody pinned it."""
BEATS_BEFORE_SILENCE: Final = 3
"""So many heartbeats before a link counts as silent it is asked for the first time: an answer that is lost or late is
not yet the end."""
NONCES: Final = 127
"""One byte on the wire; a link has one question at a time, so an answer that is late names another one."""
CLIENT_PATIENCE: Final = 4
"""Clients are asked for signs of life so many times more seldom than brokers."""

# Read once: an enum's attribute costs a lookup, and there are many connections.
_BROKER: Final = Stage.BROKER
_CLIENT: Final = Stage.CLIENT


class Pulse:
    """The heartbeat of all connections."""

    def __init__(
        self, config: BrokerConfig, standing: Standing, book: Book, locator: Locator, rng: random.Random
    ) -> None:
        self._config = config
        self._standing = standing
        self._book = book
        self._locator = locator
        self._rng = rng
        self._nonce = 0
        self._quiet_max = max(config.heartbeat // 2, config.silence - BEATS_BEFORE_SILENCE * config.heartbeat)
        """Who was heard of within this is not asked."""

    def sweep(self, turn: Turn) -> None:
        """Look at every connection, once per heartbeat."""
        book, now, beat = self._book, turn.now, self._config.heartbeat
        # Our own process stood still for so long: that was not the others' silence.
        late = max(0, now - book.sweep_due - beat)
        for channel in list(book.channels.values()):
            if late:
                channel.heard_at = min(now, channel.heard_at + late)
            if channel.stage is _BROKER:
                self._look_at_broker(turn, channel)
            elif channel.stage is _CLIENT:
                self._look_at_client(turn, channel)
        for broker in book.pins:
            link = book.links.get(broker)
            if link is not None and link.channel is None:
                book.dial_when_rested(turn, link)
        if book.channels or book.pins:
            # Jitter lets the two ends of a link take turns in asking, and so both measure.
            book.sweep_due = now + beat - beat // 8 + self._rng.randrange(beat // 4 + 1)
            book.timers.set(SWEEP, book.sweep_due)

    def _look_at_broker(self, turn: Turn, channel: Channel) -> None:
        now, link = turn.now, channel.link
        assert link is not None
        pinned = link.peer.id in self._book.pins
        if now - channel.heard_at > self._config.silence:
            self._book.cut(turn, channel, "silent for too long")
        elif not (pinned or channel.wanted) and now - channel.used_at > LINK_IDLE:
            link.channel = None
            self._book.say_goodbye(turn, channel)
        elif (
            now - channel.heard_at >= self._quiet_max
            or link.round_trip is None
            or (pinned and not channel.said_wanted)  # before the other end takes it for idle
            or self._locator.has_news(channel, now)
        ):
            self._ping(turn, channel, keep=pinned)

    def _look_at_client(self, turn: Turn, channel: Channel) -> None:
        quiet, pause = turn.now - channel.heard_at, CLIENT_PATIENCE * self._config.heartbeat
        if quiet > CLIENT_PATIENCE * self._config.silence:
            self._book.cut(turn, channel, "silent for too long")
        elif quiet >= pause and turn.now - channel.said_at >= pause:
            self._ping(turn, channel, keep=False)

    def _ping(self, turn: Turn, channel: Channel, *, keep: bool) -> None:
        self._nonce = channel.nonce = self._nonce % NONCES + 1
        channel.timed_at = channel.said_at = turn.now
        channel.said_wanted = keep
        epoch = self._standing.root_epoch
        burden = self._locator.news(turn, channel) if channel.stage is _BROKER else None
        channel.asked = burden or channel.known_burden, epoch
        if keep and burden is None and channel.known_root == epoch:
            turn.send(channel.conn, Beat(self._nonce))
        else:
            turn.send(channel.conn, Ping(self._nonce, epoch, keep, burden))

    def on_ping(self, turn: Turn, channel: Channel, ping: Ping) -> None:
        """A broker asks for a sign of life."""
        channel.wanted = ping.keep
        if ping.keep:
            channel.used_at = turn.now
        self._locator.hear(turn, channel, ping.burden)
        if channel.stage is not _BROKER:
            return  # we have said goodbye
        us = self._standing
        channel.said_at = turn.now
        if us.root_epoch > ping.root_epoch:
            turn.send(channel.conn, Pong(ping.nonce, us.root))
        else:
            turn.send(channel.conn, Echo(ping.nonce))
            channel.known_root = us.root_epoch
        if us.root_epoch < ping.root_epoch:
            self._ping(turn, channel, keep=False)  # its Pong will carry what we lack

    def on_beat(self, turn: Turn, channel: Channel, beat: Beat) -> None:
        """A broker asks for a sign of life and has nothing to say."""
        channel.wanted = True
        channel.used_at = turn.now
        self._locator.hear(turn, channel, None)
        if channel.stage is _BROKER:
            channel.said_at = turn.now
            turn.send(channel.conn, Echo(beat.nonce))

    def on_pong(self, turn: Turn, channel: Channel, pong: Pong) -> None:
        """A broker gave a sign of life, and perhaps news of the directory."""
        if 0 != pong.nonce == channel.nonce and channel.link is not None:
            channel.link.measured(turn.now - channel.timed_at)
            channel.nonce = 0
            channel.known_burden, channel.known_root = channel.asked
        self._locator.hear(turn, channel, pong.burden)
        self._standing.hear_root(turn, pong.root)
