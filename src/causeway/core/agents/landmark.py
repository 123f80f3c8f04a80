"""The landmark of one domain: whoever owns the group of its agents. Who is there, who failed, who takes whose seat.

It decides by writing: a landmark that was superseded cannot, so there are never two that decide (ADR 0002). It moves
seats, which say who *should* hold what; who *may acknowledge* is decided in each group as ever, so a wrong guess about
somebody's death costs work and never a message.

Owns: the roll of the domain while we are its landmark, and what agents reported. Must not know: how groups move.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from causeway.config import BrokerConfig
from causeway.core.agents import choosing, rows
from causeway.core.agents.bottlenecks import BottlenecksKnown
from causeway.core.agents.faults import plan_fault
from causeway.core.agents.holdings import HoldingsKnown
from causeway.core.agents.news import is_news
from causeway.core.agents.placer import Placer
from causeway.core.agents.proposals import Asker, proposal_fault
from causeway.core.agents.seating import AgentSeating
from causeway.core.agents.tracer import AgentTracer
from causeway.core.effects import PlanItems
from causeway.core.events import MembershipChanged, OwnershipGained
from causeway.core.machine import Turn
from causeway.core.messages import (
    AgentCard,
    Announce,
    BottleneckKind,
    Bottlenecks,
    Distances,
    DomainDirectory,
    Holdings,
    ItemPolicy,
    ItemRates,
    LinkReport,
    Measure,
    PolicyTaken,
    SeatHolder,
    ToLandmark,
)
from causeway.core.placing import PlannedItems
from causeway.core.ports import Links, ReplicaGroups
from causeway.domains.limits import AGENTS_PER_DOMAIN_MAX, SEATS_PER_DOMAIN_MAX
from causeway.errors import Code
from causeway.store.base import Write
from causeway.trace import Step
from causeway.types import SECOND, BrokerId, Duration, Instant, Key

HELD_WRITTEN_AFTER: Final[Duration] = SECOND
"""Groups that change within this time are written down together: every voter has them on its disk."""

HELD_AT_ONCE_MAX: Final = 1024
"""In one operation: with names of full length they are far from filling a frame."""


@dataclass(slots=True)
class LandmarkDecision:
    """What an operation makes of the directory and the policy, on its way to the copies."""

    directory: DomainDirectory
    policy: tuple[int, PlannedItems] | None
    askers: list[Asker] = field(default_factory=list)
    """Who waits for it: whoever proposed the policy that it makes, or proposed the same meanwhile."""


class Landmark:
    """One domain, while we are its landmark."""

    def __init__(
        self,
        domain: str,
        group: Key,
        groups: ReplicaGroups,
        links: Links,
        config: BrokerConfig,
        *,
        told: Callable[[Turn, Landmark], None],
    ) -> None:
        self.domain = domain
        self._group = group
        self._groups = groups
        self._links = links
        self._tracer = AgentTracer(config.name, domain)
        self.seating = AgentSeating(domain, links, self._tracer)
        self.holdings = HoldingsKnown()
        self.bottlenecks = BottlenecksKnown()
        self.placer = Placer(config.rates_every)
        self._held_due: Instant | None = None
        """When the next landmark shall know of groups what we know."""
        self.term = 0
        self.roll = rows.Roll()
        """As decided; what is not on all copies yet may be lost again, and is told nobody."""
        self.told = DomainDirectory(domain, 0, 0, links.me.id, (), ())
        """What everybody may know."""
        self.policy: tuple[int, PlannedItems] | None = None
        """Who should hold which item, as everybody may know, with its version."""
        self._on_told = told
        """Hears when everybody may know more."""
        self._pending: deque[LandmarkDecision] = deque()
        """On their way to the copies, in order."""

    # Ownership -------------------------------------------------------------------------------------------------
    def gain(self, turn: Turn, event: OwnershipGained) -> None:
        """Go on where the last landmark was."""
        self.term = event.config.epoch
        self.roll = rows.read(event.rows)
        self.told, self.policy = self._directory(), self._decided_policy()
        self.holdings.start(self.roll.held)
        self.placer.start(turn.now)
        self.seating.start(self.roll, turn.now)
        self._tracer.note(turn, Step.LANDMARK, self._links.me.name, number=self.term)
        self._push(turn)

    def lose(self, turn: Turn) -> None:
        """Another broker is landmark: whether it has what is on its way to the copies, it alone can say."""
        detail = f"domain={self.domain!r}: another broker is its landmark now; `causeway status` names it"
        for decision in self._pending:
            for asker in decision.askers:
                self._answer(turn, asker, Code.NOT_OWNER, detail)
        self.seating.stop()

    def _committed(self, turn: Turn) -> None:
        """The first decision is on all copies: everybody may know."""
        decision = self._pending.popleft()
        was, self.told, self.policy = self.policy, decision.directory, decision.policy
        self._push(turn)
        if self.policy is not was:
            self._to_all(turn, self._tell_policy)
        for asker in decision.askers:
            self._answer(turn, asker)
        self._on_told(turn, self)

    def _push(self, turn: Turn) -> None:
        turn.tell(MembershipChanged())  # other agents may be voters now
        self._to_all(turn, self._tell)

    def _to_all(self, turn: Turn, tell: Callable[[Turn, AgentCard], None]) -> None:
        for card in self.told.agents:
            if not self.seating.failures.has_failed(card.peer.id):
                tell(turn, card)

    def _tell(self, turn: Turn, card: AgentCard) -> None:
        if card.peer.id != self._links.me.id:
            self._links.send(turn, card.peer.id, self.told)

    def _tell_policy(self, turn: Turn, card: AgentCard) -> None:
        if self.policy is not None and card.peer.id != self._links.me.id:
            version, plan = self.policy
            head = ItemPolicy(self.domain, self.term, version, self._links.me.id)
            self._links.send(turn, card.peer.id, head, msgspec.msgpack.encode(plan))

    def _decided_policy(self) -> tuple[int, PlannedItems] | None:
        roll = self.roll
        if roll.policy is None:
            return None
        was = self.policy
        return was if was is not None and was[0] == roll.policy_version else (roll.policy_version, roll.policy)

    def _directory(self) -> DomainDirectory:
        roll = self.roll
        return DomainDirectory(
            self.domain,
            self.term,
            roll.version,
            self._links.me.id,
            tuple(roll.agents.values()),
            tuple(roll.seats.values()),
        )

    def _write(self, turn: Turn, writes: list[Write]) -> LandmarkDecision:
        """One operation, and with it a new version of the directory."""
        position = self._groups.position(self._group)
        self.roll.version += 1
        writes.append(rows.version_row(self._group, position, self.roll.version))
        decision = LandmarkDecision(self._directory(), self._decided_policy())
        self._pending.append(decision)
        self._groups.append(turn, self._group, writes, 1, self._committed)
        return decision

    # What agents say -------------------------------------------------------------------------------------------
    def arrived(self, turn: Turn, head: ToLandmark) -> None:
        """We may write."""
        match head:
            case Announce():
                self._on_announce(turn, head)
            case LinkReport():
                if head.by in self.roll.agents and head.about in self.roll.agents:
                    self.seating.reported(turn, self.roll, head)
            case Holdings():
                if head.term == self.term:
                    self.holdings.report(head)
                    self._plan_held(turn)
            case ItemRates():
                if head.by in self.roll.agents:
                    self.placer.report(head)
            case Distances():
                if head.by in self.roll.agents:
                    self.seating.measured(head.by, (trip for trip in head.trips if trip[0] in self.roll.agents))
            case Bottlenecks():
                if head.by in self.roll.agents:
                    self.bottlenecks.report(head, turn.now)
        self.reconsider(turn)

    def _on_announce(self, turn: Turn, head: Announce) -> None:
        card, roll = head.card, self.roll
        broker = card.peer.id
        if card.leaving:
            self._release(turn, card)
            return
        known = roll.agents.get(broker)
        if known is None and len(roll.agents) >= AGENTS_PER_DOMAIN_MAX and not self._make_room(turn):
            return
        writes: list[Write] = []
        position = self._groups.position(self._group)
        if known is None or _differs(known, card):
            roll.agents[broker] = card
            writes.append(rows.agent_row(self._group, position, card))
            if broker != self._links.me.id:
                self.seating.watch(card)
                self._links.send(turn, broker, Measure(self.domain, tuple(roll.agents)[:SEATS_PER_DOMAIN_MAX]))
        if not card.spare and card.peer.name not in roll.seats and len(roll.seats) < SEATS_PER_DOMAIN_MAX:
            writes.append(self._seat(position, card.peer.name, card))
        if writes:
            self._write(turn, writes)
        elif head.version < self.told.version:
            self._tell(turn, card)
        if self.policy is not None and head.policy < self.policy[0]:
            self._tell_policy(turn, card)

    def _release(self, turn: Turn, card: AgentCard) -> None:
        """A broker goes for good, and its own seat with it; it has not failed, and nobody takes its place. The seat of
        another one that it holds is empty."""
        broker, roll = card.peer.id, self.roll
        if broker not in roll.agents:
            self._tell(turn, card)  # so that it knows
            return
        del roll.agents[broker]
        self.seating.forget(broker)
        writes = [rows.agent_gone(self._group, broker)]
        own = roll.seats.get(card.peer.name)
        if own is not None and own.holder == broker:
            del roll.seats[own.seat]
            writes.append(rows.seat_gone(self._group, own.seat))
        self._tracer.note(turn, Step.BROKER_LEFT, card.peer.name)
        self._write(turn, writes)

    def _make_room(self, turn: Turn) -> bool:
        """Forget who has been gone for longest and holds no seat."""
        gone = [b for b in self.seating.failures.gone() if b in self.roll.agents and not self.roll.seat_of(b)]
        if not gone:
            return False
        del self.roll.agents[gone[0]]
        self.seating.forget(gone[0])
        self._write(turn, [rows.agent_gone(self._group, gone[0])])
        return True

    def _seat(self, position: int, seat: str, card: AgentCard) -> Write:
        known = self.roll.seats.get(seat)
        home = card.home if known is None else known.home
        holder = self.roll.seats[seat] = SeatHolder(seat, card.peer.id, self.roll.version + 1, home)
        return rows.seat_row(self._group, position, holder)

    # Who is there ----------------------------------------------------------------------------------------------
    def on_link(self, turn: Turn, broker: BrokerId, *, up: bool) -> None:
        """Our own link to an agent came up or broke."""
        card = self.roll.agents.get(broker)
        if card is None:
            return
        if self.seating.on_link(turn, card, up=up):
            self._tell(turn, card)
        turn.tell(MembershipChanged())
        self.reconsider(turn)

    def reconsider(self, turn: Turn) -> None:
        """Is something to be decided?"""
        if not self._groups.serving(self._group):
            return  # no majority of the agents is with us: `resume` looks again
        self._fill_seats(turn)
        self._write_held(turn)
        request = self.placer.look(turn.now, self.roll, self.holdings, self.seating.failures.has_failed)
        if request is not None:
            turn.effects.plans.append(PlanItems(self._group, request))

    def _plan_held(self, turn: Turn) -> None:
        if self._held_due is None and self.holdings.has_unwritten:
            self._held_due = turn.now + HELD_WRITTEN_AFTER

    def _write_held(self, turn: Turn) -> None:
        """Nobody is told: it is for whoever is landmark after us, and no part of the directory."""
        if self._held_due is not None and turn.now >= self._held_due:
            position = self._groups.position(self._group)
            changed = self.holdings.take_unwritten(HELD_AT_ONCE_MAX)
            self._groups.append(turn, self._group, [rows.held_row(self._group, position, one) for one in changed], 1)
            self._held_due = None
            self._plan_held(turn)

    def on_planned(self, turn: Turn, plan: PlannedItems) -> None:
        """The places of our items are computed: write them down if they are others."""
        self.placer.answered()
        if self._groups.serving(self._group) and plan_fault(plan) is None and plan != self.roll.policy:
            self._place(turn, plan)

    def on_proposed(self, turn: Turn, plan: PlannedItems, asker: Asker) -> None:
        """Somebody has computed the places of our items from more than we remember."""
        if not self._groups.serving(self._group):
            return self._answer(turn, asker, Code.UNAVAILABLE, "no majority of the agents is with the landmark")
        fault = plan_fault(plan) or proposal_fault(plan, *self.placer.items(self.roll, self.holdings))
        if fault is not None:
            return self._answer(turn, asker, Code.BAD_FIELD, fault)
        self.placer.adopted()
        if plan == self.roll.policy and self._decided_policy() == self.policy:
            return self._answer(turn, asker)
        decision = self._pending[-1] if plan == self.roll.policy else self._place(turn, plan)
        decision.askers.append(asker)
        return None

    def _answer(self, turn: Turn, asker: Asker, code: Code | None = None, detail: str = "") -> None:
        version = self.policy[0] if self.policy is not None and code is None else 0
        turn.send(asker.conn, PolicyTaken(asker.token, self.domain, version, int(code or 0), detail))

    def _place(self, turn: Turn, plan: PlannedItems) -> LandmarkDecision:
        roll = self.roll
        roll.policy, roll.policy_version = plan, roll.version + 1
        position = self._groups.position(self._group)
        self._tracer.note(
            turn, Step.PLACED, self._links.me.name, f"{len(plan.items)} items", number=roll.policy_version
        )
        return self._write(turn, [rows.policy_row(self._group, position, roll.policy_version, plan)])

    def _fill_seats(self, turn: Turn) -> None:
        """Give seats whose holders failed to spares, all at once, and write down who fails how often."""
        for card in self.seating.judge(turn, self.roll):
            self._tell(turn, card)
        chosen = self.seating.takers(turn, self.roll)
        position = self._groups.position(self._group)
        writes = [self._seat(position, seat, card) for seat, card in chosen.items()]
        for broker, deaths in self.seating.failures.take_unwritten(turn.now):
            writes.append(rows.deaths_row(self._group, position, broker, deaths))
        for seat, card in chosen.items():
            self._tracer.note(turn, Step.SEAT_TAKEN, card.peer.name, f"the seat of {seat}")
        if chosen:
            self._write(turn, writes)
            self.seating.refresh(turn, self.roll)
        elif writes:  # for whoever is landmark after us, as holdings are, and no part of the directory
            self._groups.append(turn, self._group, writes, 1)

    def _is_gone(self, broker: BrokerId) -> bool:
        """Copies may be with brokers of other domains: of them we know what our own links say."""
        failures = self.seating.failures
        return failures.has_failed(broker) if broker in self.roll.agents else self._groups.suspects(broker)

    # Questions -------------------------------------------------------------------------------------------------
    def voters(self) -> list[AgentCard]:
        """Who should hold the directory, the best landmark first."""
        living = [card for broker, card in self.roll.agents.items() if self.seating.lives(broker)]
        return choosing.voters(living, self._links.me.id)

    def next_deadline(self) -> Instant | None:
        if not self._groups.serving(self._group):
            return None
        looks = (self.seating.failures.next_look(), self._held_due)
        return min([self.placer.due, *(look for look in looks if look is not None)])

    def statistics(self, now: Instant) -> dict[str, object]:
        """What only the landmark knows."""
        names = {broker: card.peer.name for broker, card in self.roll.agents.items()}
        failures = self.seating.failures
        failed = failures.failed()
        return {
            "failed": sorted(names[broker] for broker in failed if broker in names),
            "flapping": sorted(names[b] for b in names if failures.flaps(b, now)),
            "groups": self.holdings.count,
            "lost": self.holdings.lost(self._is_gone) if failed else [],
            "load": self.placer.statistics(self.roll, self.holdings),
            "bottlenecks": [
                {
                    "about": one.about,
                    "broker": names[by],
                    "kind": BottleneckKind(one.kind).name.lower(),
                    "note": one.note,
                    "seconds": one.lasting // SECOND,
                }
                for by, one in self.bottlenecks.known(now)
                if by in names
            ],
        }


def _differs(known: AgentCard, card: AgentCard) -> bool:
    """Whether what an agent says is news."""
    if msgspec.structs.replace(known, capacity=0, fitness=0) != msgspec.structs.replace(card, capacity=0, fitness=0):
        return True
    return is_news((known.capacity, card.capacity), (known.fitness, card.fitness))
