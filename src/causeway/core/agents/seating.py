"""Which agents of a domain have failed, and which spare takes whose seat: what its landmark sees, and what follows.

Owns: what was seen of agents, and how far they are from each other. Must not know: rows, how a decision is written.
"""

from __future__ import annotations

from collections.abc import Iterable

from causeway.core.agents import choosing
from causeway.core.agents.failures import AgentFailures
from causeway.core.agents.rows import Roll
from causeway.core.agents.tracer import AgentTracer
from causeway.core.machine import Turn
from causeway.core.messages import AgentCard, LinkReport, Measure
from causeway.core.ports import Links
from causeway.trace import Step
from causeway.types import BrokerId, Duration, Instant


class AgentSeating:
    """One domain, while we are its landmark."""

    def __init__(self, domain: str, links: Links, tracer: AgentTracer) -> None:
        self._domain = domain
        self._links = links
        self._tracer = tracer
        self.failures = AgentFailures(links.me.id)
        self._trips: dict[tuple[BrokerId, BrokerId], Duration] = {}
        self._watched: dict[BrokerId, None] = {}

    def start(self, roll: Roll, now: Instant) -> None:
        """Go on where the last landmark was."""
        self.failures.restore(roll.deaths, now)
        for broker, card in roll.agents.items():
            if broker != self._links.me.id:
                self.watch(card)
                if not self._links.is_up(broker):
                    self.failures.lost(broker, now)

    def watch(self, card: AgentCard) -> None:
        """Keep a link to an agent."""
        self._links.learn(card.peer)
        if card.peer.id not in self._watched:
            self._watched[card.peer.id] = None
            self._links.pin(card.peer.id)

    def stop(self) -> None:
        """Another broker is landmark, and watches."""
        for broker in self._watched:
            self._links.unpin(broker)
        self._watched.clear()

    def forget(self, broker: BrokerId) -> None:
        """An agent no longer."""
        if broker in self._watched:
            del self._watched[broker]
            self._links.unpin(broker)
        self.failures.forget(broker)
        self._trips = {way: trip for way, trip in self._trips.items() if broker not in way}

    # What is seen and said ---------------------------------------------------------------------------------------
    def reported(self, turn: Turn, roll: Roll, head: LinkReport) -> None:
        """An agent's link to another one broke, or is up again."""
        if head.up:
            self.failures.withdrawn(head.about, head.by)
        elif self.failures.reported(head.about, head.by):
            names = {broker: card.peer.name for broker, card in roll.agents.items()}
            self._tracer.note(turn, Step.LINK_FAILED, names[head.about], f"from {names[head.by]}")

    def measured(self, by: BrokerId, trips: Iterable[tuple[BrokerId, Duration]]) -> None:
        """How far it is from an agent to others."""
        for about, trip in trips:
            self._trips[by, about] = trip

    def on_link(self, turn: Turn, card: AgentCard, *, up: bool) -> bool:
        """Our own link to an agent came up or broke; whether it is back although it was taken for failed."""
        if not up:
            self.failures.lost(card.peer.id, turn.now)
        elif self.failures.found(card.peer.id, turn.now):
            self._tracer.note(turn, Step.BROKER_BACK, card.peer.name)
            return True
        return False

    # What follows ------------------------------------------------------------------------------------------------
    def judge(self, turn: Turn, roll: Roll) -> list[AgentCard]:
        """Take those for failed who are; those that are back although they were taken for failed."""
        # A link that both ends closed because there were two, or it was idle, comes up again without a word.
        lost = [roll.agents[broker] for broker in self.failures.lost_ones() if broker in roll.agents]
        up = [card for card in lost if self._links.is_up(card.peer.id)]
        back = [card for card in up if self.on_link(turn, card, up=True)]
        others = sum(broker != self._links.me.id and self._links.is_up(broker) for broker in roll.agents)
        for broker in self.failures.judge(turn.now, alone=not others):
            if broker in roll.agents:
                deaths = self.failures.deaths(broker, turn.now)
                self._tracer.note(turn, Step.BROKER_FAILED, roll.agents[broker].peer.name, number=deaths)
        return back

    def takers(self, turn: Turn, roll: Roll) -> dict[str, AgentCard]:
        """Spares for seats whose holders failed, or left with the seat of another broker; for all of them at once."""
        gone = (seat for seat in roll.seats.values() if seat.holder not in roll.agents)
        failed = (seat for seat in roll.seats.values() if self.failures.has_failed(seat.holder))
        empty = [seat.seat for seat in (*gone, *failed)]
        if not empty:
            return {}  # as nearly always: this is asked with every report
        spares = [card for card in self._spares(roll) if not self.failures.flaps(card.peer.id, turn.now)]
        return choosing.takers(empty, spares, lambda spare, seat: self._round_trips(spare, roll.seats[seat].holder))

    def _spares(self, roll: Roll) -> list[AgentCard]:
        seated = {seat.holder for seat in roll.seats.values()}
        return [card for broker, card in roll.agents.items() if broker not in seated and self.lives(broker)]

    def lives(self, broker: BrokerId) -> bool:
        """Whether an agent is there, as we see it."""
        return self._links.is_up(broker) and not self.failures.has_failed(broker)

    def refresh(self, turn: Turn, roll: Roll) -> None:
        """Seats were given away: only who worked with the failed brokers measures anew."""
        failed = [holder for holder in self.failures.failed() if holder in roll.agents]
        spares = tuple(card.peer.id for card in self._spares(roll))
        near = dict.fromkeys(by for broker in failed for by in self.failures.witnesses(broker))
        for broker in near:
            if broker != self._links.me.id and self.lives(broker):
                self._links.send(turn, broker, Measure(self._domain, spares))

    def _round_trips(self, spare: AgentCard, holder: BrokerId) -> list[Duration]:
        """From a spare to the brokers that lost their link to the holder of a seat."""
        near = self.failures.witnesses(holder)
        ways = [(spare.peer.id, by) for by in near] + [(by, spare.peer.id) for by in near]
        return [self._trips[way] for way in ways if way in self._trips]
