"""Signs of life: which connections are asked for one, and which have been silent for too long.

A link that was heard of lately needs none, so that an idle one is asked once in half the silence, by whichever end is
first; who does not answer is asked again with every heartbeat until the silence is over. What a broker has to say of
itself travels with the question until it was answered, and then no more.

How long somebody may be silent is counted from what both ends can do: who is busy hears late and answers late, and is
not dead (as in Lifeguard: Dadgar, Phillips & Currey, "Lifeguard: Local Health Awareness for More Accurate Failure
Detection").

An answer that is overdue casts doubt on the connection, not yet on the broker: a way over a third one is looked for
before the silence is over (`bypass`), and taken if it is better.

Owns: Ping and Pong, the round trip they measure, doubts, and the end of links that nobody needs. One timer for all
connections, because links are many.
"""

from __future__ import annotations

import random
from typing import Final

from causeway.config import BrokerConfig
from causeway.core.links.book import SLOW_MIN, SWEEP, Book
from causeway.core.links.bypass import Bypasses
from causeway.core.links.channel import Channel, Link, Stage
from causeway.core.links.locator import Locator
from causeway.core.links.standing import Standing
from causeway.core.machine import Turn
from causeway.core.messages import Beat, Echo, Ping, Pong
from causeway.types import SECOND, Duration, Instant

LINK_IDLE: Final[Duration] = 30 * SECOND
"""A link that carried nothing but signs of life for so long is closed, unless somebody pinned it."""
BEATS_BEFORE_SILENCE: Final = 3
"""So many heartbeats before a link counts as silent it is asked for the first time: an answer that is lost or late is
not yet the end."""
SLOW_FACTOR: Final = 4
"""A link that takes so many times its best round trip, and more than SLOW_MIN, is slow: there may be a better way."""
NONCES: Final = 127
"""One byte on the wire; a link has one question at a time, so an answer that is late names another one."""
PATIENCE_MAX: Final = 4
"""However busy both ends are, who says nothing for so many times the silence is dead."""
CLIENT_PATIENCE: Final = 4
"""Clients are asked for signs of life so many times more seldom than brokers."""

# Read once: an enum's attribute costs a lookup, and there are many connections.
_BROKER: Final = Stage.BROKER
_CLIENT: Final = Stage.CLIENT


class Pulse:
    """The heartbeat of all connections."""

    def __init__(
        self,
        config: BrokerConfig,
        standing: Standing,
        book: Book,
        locator: Locator,
        bypasses: Bypasses,
        *,
        rng: random.Random,
    ) -> None:
        self._config = config
        self._standing = standing
        self._book = book
        self._locator = locator
        self._bypasses = bypasses
        self._rng = rng
        self._nonce = 0
        self._lag: Duration = 0
        """How late we hear of what arrives: the worst of late, half as much with every heartbeat."""
        self._quiet_max = max(config.heartbeat // 2, config.silence - BEATS_BEFORE_SILENCE * config.heartbeat)
        """Who was heard of within this is not asked."""

    def on_lagged(self, duration: Duration) -> None:
        """What arrives may wait so long before we hear of it."""
        self._lag = max(self._lag, duration)
        self._book.doubt_after = self._config.heartbeat // 2 + 2 * self._lag

    def patience(self, channel: Channel) -> Duration:
        """How long the other end may say nothing."""
        busy = 2 * self._lag + 2 * max(0, channel.slowest - self._config.heartbeat)
        return min(self._config.silence + busy, PATIENCE_MAX * self._config.silence)

    def sweep(self, turn: Turn) -> None:
        """Look at every connection, once per heartbeat."""
        book, now, beat = self._book, turn.now, self._config.heartbeat
        # Our own process stood still for so long: that was not the others' silence.
        late = max(0, now - book.sweep_due - beat)
        for channel in list(book.channels.values()):
            if channel.conn not in book.channels:
                continue  # it led over one that has just been cut
            if late:
                channel.heard_at = min(now, channel.heard_at + late)
                channel.doubted_at = channel.doubted_at and min(now, channel.doubted_at + late)
            if channel.stage is _BROKER:
                self._look_at_broker(turn, channel)
            elif channel.stage is _CLIENT:
                self._look_at_client(turn, channel)
            elif channel.via is None and channel.link is not None and now - channel.heard_at >= beat:
                if channel.link.channel is None and channel.stage is not Stage.CLOSING:
                    self._bypasses.seek(turn, channel.link)  # our dial is not answered
        self._lag //= 2
        book.doubt_after = beat // 2 + 2 * self._lag
        unreached, book.unreached = book.unreached, {}
        for broker in unreached:
            self._bypasses.seek(turn, book.links[broker])
        for broker in book.pins:
            link = book.links.get(broker)
            if link is not None:
                book.dial_when_rested(turn, link)
        if book.channels or book.pins:
            # Jitter lets the two ends of a link take turns in asking, and so both measure.
            book.sweep_due = now + beat - beat // 8 + self._rng.randrange(beat // 4 + 1)
            book.timers.set(SWEEP, book.sweep_due)

    def _look_at_broker(self, turn: Turn, channel: Channel) -> None:
        book, now, link = self._book, turn.now, channel.link
        assert link is not None
        if now - channel.heard_at > self.patience(channel):
            book.cut(turn, channel, "silent for too long")
            return
        if channel.is_doubtful(now, book.doubt_after):
            self._bypasses.seek(turn, link)
        elif (trip := _slow_trip(link, channel)) is not None:
            self._bypasses.seek(turn, link, nearer_than=trip // SLOW_FACTOR)
        if len(link.channels) > 1:
            book.choose(turn, link)
        if channel.via is not None and link.channel is channel:
            book.dial_when_rested(turn, link)
        needed = link.peer.id in book.pins and (channel.via is None or link.channel is channel)
        if not (needed or channel.wanted) and now - channel.used_at > LINK_IDLE:
            book.retire(turn, link, channel)
        elif (
            now - channel.heard_at >= self._quiet_max
            or channel.doubted_at
            or (len(link.channels) > 1 and self._is_unmeasured(channel, now))  # to know which is the best
            or link.round_trip is None
            or (needed and not channel.said_wanted)  # before the other end takes it for idle
            or self._locator.has_news(channel, now)
        ):
            self._ping(turn, channel, keep=needed)

    def _is_unmeasured(self, channel: Channel, now: Instant) -> bool:
        return channel.round_trip is None or now - channel.timed_at >= self._quiet_max

    def _look_at_client(self, turn: Turn, channel: Channel) -> None:
        quiet, pause = turn.now - channel.heard_at, CLIENT_PATIENCE * self._config.heartbeat
        if quiet > CLIENT_PATIENCE * self._config.silence:
            self._book.cut(turn, channel, "silent for too long")
        elif quiet >= pause and turn.now - channel.said_at >= pause:
            self._ping(turn, channel, keep=False)

    def _ping(self, turn: Turn, channel: Channel, *, keep: bool) -> None:
        self._nonce = channel.nonce = self._nonce % NONCES + 1
        channel.timed_at = channel.said_at = turn.now
        channel.doubted_at = channel.doubted_at or turn.now
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
        link = channel.link
        if link is not None and channel.doubted_at:
            # An answer that is late is to an earlier question; how much earlier is not known.
            took = turn.now - (channel.timed_at if pong.nonce == channel.nonce else channel.doubted_at)
            channel.measured(took)
            channel.doubted_at = 0
            if channel is link.channel:
                link.measured(took)
        if 0 != pong.nonce == channel.nonce:
            channel.nonce = 0
            channel.known_burden, channel.known_root = channel.asked
        self._locator.hear(turn, channel, pong.burden)
        self._standing.hear_root(turn, pong.root)


def _slow_trip(link: Link, channel: Channel) -> Duration | None:
    """The round trip of a connection of its own, if it takes far longer than it once did."""
    trip, best = channel.round_trip, link.round_trip_best
    if channel.via is not None or trip is None or best is None or trip <= max(SLOW_MIN, SLOW_FACTOR * best):
        return None
    return trip
