"""Roaming: asking where we should be, measuring the way there, and moving when that clearly pays.

Owns: when brokers are asked and measured, and the decision to move. Must not know: what travels on a link. How brokers
are weighed is in `core.locating`; how a move loses nothing is in `links` (the new link is up first) and `streams`
(what is unanswered is sent again there; owners know what they have).

A round: Locate and a Ping to our home broker; the brokers that could be clearly better are dialled, a few at a time,
and pinged; the best of them becomes our home, the others are let go. Stimuli: frames, links, time.
"""

from __future__ import annotations

import random
from typing import Final, TypeVar

import msgspec

from causeway.client.errands import Errands
from causeway.client.fates import Fates
from causeway.client.links import Uplink, Uplinks
from causeway.client.settings import SessionConfig
from causeway.core import locating
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.machine import Turn
from causeway.core.messages import Candidate, Locate, Located, Ping, Pong
from causeway.limits import FORMER_HOMES_MAX, LOCATE_ENTRIES_MAX, LOCATE_PROBES_MAX
from causeway.types import SECOND, BrokerId, Duration, Instant

SETTLE_IN: Final[Duration] = 2 * SECOND
"""How long a new home is used before the first question: a command that sends one message asks nothing."""
SAMPLES: Final = 3
"""Round trips measured per broker; the shortest counts, the others met something on the way."""
VALID: Final[Duration] = 300 * SECOND
"""How long a measurement is believed."""
UNREACHABLE_FOR: Final[Duration] = 60 * SECOND
"""How long a broker that did not answer is left out; it may be back as a new one."""
ANSWERED_WITHIN: Final[Duration] = 2 * SECOND
"""A round that takes longer is decided with what is known by then."""

Value = TypeVar("Value")

ASK: Final = "ask"
DECIDE: Final = "decide"


class Measurement:
    """A broker whose round trip is being measured."""

    __slots__ = ("best", "candidate", "left", "link", "nonce", "ours", "pinged_at")

    def __init__(self, link: Uplink, candidate: Candidate | None, *, ours: bool) -> None:
        self.link = link
        self.candidate = candidate
        """None for our home, until the answer tells."""
        self.ours = ours
        """Whether the link was dialled for this only."""
        self.left = SAMPLES
        self.best: Duration | None = None
        self.nonce = 0
        self.pinged_at: Instant = 0


class Roamer:
    """Decides where a session's home should be while it has one."""

    def __init__(
        self,
        config: SessionConfig,
        links: Uplinks,
        errands: Errands,
        rng: random.Random,
        *,
        fates: Fates,
        alarm: Alarm | None = None,
    ) -> None:
        self._config = config
        self._links = links
        self._errands = errands
        self._rng = rng
        self._fates = fates
        self.deadlines: Deadlines[str] = Deadlines(alarm)
        self._token = 0
        self._nonce = 1 << 32
        """Apart from those of `links`."""
        self._probes: dict[int, Measurement] = {}
        """Of the round under way, by connection; the first is our home."""
        self._waiting = False
        """For the answer to Locate."""
        self._measured: dict[BrokerId, tuple[Duration, Instant]] = {}
        self._unreachable: dict[BrokerId, Instant] = {}
        self._moved_at: Instant | None = None
        self.moves = 0

    # What happened ---------------------------------------------------------------------------------------------
    def on_home(self, turn: Turn) -> None:
        """Our home is another one, or none."""
        self._end_round(turn)
        self.deadlines.cancel(ASK)
        if self._links.home is not None and self._config.roam:
            wait = min(SETTLE_IN, self._config.locate_every)
            self.deadlines.set(ASK, turn.now + self._rng.randint(wait // 2, wait))

    def on_link_up(self, turn: Turn, link: Uplink) -> None:
        """A broker we want to measure has greeted us."""
        probe = self._probes.get(link.conn)
        if probe is not None and not probe.nonce:
            self._ping(turn, probe)

    def on_link_down(self, turn: Turn, link: Uplink) -> None:
        """A broker we want to measure cannot be reached, or does not take us."""
        probe = self._probes.pop(link.conn, None)
        if probe is not None and probe.candidate is not None:
            if probe.ours and probe.best is None:
                _remember(self._unreachable, probe.candidate.peer.id, turn.now)
            self._decide_if_complete(turn)

    def on_received(self, turn: Turn, link: Uplink, head: Pong | Located) -> None:
        """A frame for us."""
        if isinstance(head, Located):
            self._on_located(turn, link, head)
        else:
            self._on_pong(turn, link, head)

    def _on_pong(self, turn: Turn, link: Uplink, pong: Pong) -> None:
        """One round trip is measured."""
        probe = self._probes.get(link.conn)
        if probe is None or pong.nonce != probe.nonce:
            return
        sample = turn.now - probe.pinged_at
        probe.best = sample if probe.best is None else min(probe.best, sample)
        probe.left -= 1
        if probe.left > 0:
            self._ping(turn, probe)
        else:
            self._decide_if_complete(turn)

    def _on_located(self, turn: Turn, link: Uplink, head: Located) -> None:
        """Our home broker says who else is there: measure those that could be clearly better."""
        if not self._waiting or head.token != self._token or link is not self._links.home or link.peer is None:
            return
        self._waiting = False
        self._links.learn([one.peer for one in head.candidates if one.score > 0])
        home = next((one for one in head.candidates if one.peer.id == link.peer.id), None)
        probe = self._probes.get(link.conn)
        if home is None or probe is None or not self._may_move(turn.now):
            self._end_round(turn)
            return
        probe.candidate = home
        present = _with_round_trip(home, probe.best)
        by_load = not self._is_used(link)
        hopes = [self._as_ours(_with_round_trip(one, self._known(one, turn.now) or 0)) for one in head.candidates]
        chosen = [
            one for one in hopes if one.peer.id != home.peer.id and locating.is_better(one, present, by_load=by_load)
        ]
        for one in locating.rank(chosen)[:LOCATE_PROBES_MAX]:
            self._probe(turn, one)
        self._decide_if_complete(turn)

    def on_deadlines(self, turn: Turn) -> None:
        """Ask again, or decide with what is known."""
        for what in self.deadlines.pop_due(turn.now):
            if what == ASK:
                self._ask(turn)
            else:
                self._decide(turn)

    # A round ---------------------------------------------------------------------------------------------------
    def _ask(self, turn: Turn) -> None:
        every = self._config.locate_every
        self.deadlines.set(ASK, turn.now + self._rng.randint(every - every // 4, every + every // 4))
        home = self._links.home
        if home is None or home.peer is None or self._probes:
            return
        now = turn.now
        trips = tuple((broker, trip) for broker, (trip, at) in self._measured.items() if now - at < VALID)
        exclude = tuple(broker for broker, at in self._unreachable.items() if now - at < UNREACHABLE_FOR)
        self._token += 1
        self._waiting = True
        self.deadlines.set(DECIDE, now + ANSWERED_WITHIN)
        self._probes[home.conn] = probe = Measurement(home, None, ours=False)
        if self._fates.count:
            # A Ping waits behind what we send ourselves; that must not look like distance, or a busy client would
            # move for ever.
            probe.best = home.greeted_in
        self._ping(turn, probe)
        turn.send(home.conn, Locate(self._token, exclude, trips))

    def _probe(self, turn: Turn, one: Candidate) -> None:
        known = self._links.known(one.peer)
        link = known or self._links.reach(turn, one.peer)
        probe = self._probes[link.conn] = Measurement(link, one, ours=known is None)
        if link.up:
            self._ping(turn, probe)

    def _ping(self, turn: Turn, probe: Measurement) -> None:
        self._nonce += 1
        probe.nonce = self._nonce
        probe.pinged_at = turn.now
        turn.send(probe.link.conn, Ping(self._nonce))

    def _decide_if_complete(self, turn: Turn) -> None:
        if not self._waiting and all(probe.left <= 0 for probe in self._probes.values()):
            self._decide(turn)

    def _decide(self, turn: Turn) -> None:
        """Everything was measured, or took too long."""
        home = self._links.home
        offers: list[tuple[Candidate, Uplink]] = []
        present: Candidate | None = None
        for probe in self._probes.values():
            peer, one = probe.link.peer, probe.candidate
            if probe.best is None or one is None or peer is None or not probe.link.up or peer.id != one.peer.id:
                continue
            _remember(self._measured, peer.id, (probe.best, turn.now))
            weighed = _with_round_trip(one, probe.best)
            if probe.link is home:
                present = weighed
            else:
                offers.append((weighed, probe.link))
        if home is not None and present is not None and offers and not self._errands.committing:
            # Of equals the first, which is the one the broker named first.
            best, link = max(offers, key=lambda offer: offer[0].score)
            if locating.is_better(best, present, by_load=not self._is_used(home)):
                self._moved_at = turn.now
                self.moves += 1
                self._links.move(link)
        self._end_round(turn)

    def _end_round(self, turn: Turn) -> None:
        """Let go what was dialled only to look."""
        probes, self._probes = self._probes, {}
        self._waiting = False
        self.deadlines.cancel(DECIDE)
        for probe in probes.values():
            if probe.ours and not self._is_used(probe.link):
                self._links.release(turn, probe.link)

    # What is known ---------------------------------------------------------------------------------------------
    def _may_move(self, now: Instant) -> bool:
        rested = self._moved_at is None or now - self._moved_at >= self._config.move_pause
        return rested and self._links.parting() < FORMER_HOMES_MAX

    def _is_used(self, link: Uplink) -> bool:
        """Whether something but sending needs the link."""
        return link.conn in self._errands.links_used()

    def _known(self, one: Candidate, now: Instant) -> Duration | None:
        trip, at = self._measured.get(one.peer.id, (None, 0))
        return trip if now - at < VALID else None

    def _as_ours(self, one: Candidate) -> Candidate:
        """As it will be with one connection more."""
        if self._links.known(one.peer) is not None:
            return one
        return locating.weigh(msgspec.structs.replace(one, connections=one.connections + 1))


def _with_round_trip(one: Candidate, trip: Duration | None) -> Candidate:
    if trip is not None:
        one = msgspec.structs.replace(one, round_trip=trip, measured=True)
    return locating.weigh(one)


def _remember(known: dict[BrokerId, Value], broker: BrokerId, value: Value) -> None:
    """The oldest makes room."""
    known.pop(broker, None)
    if len(known) >= LOCATE_ENTRIES_MAX:
        del known[next(iter(known))]
    known[broker] = value
