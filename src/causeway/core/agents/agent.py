"""The agent of this broker in one domain: says who we are, holds the directory, reports links and groups.

Owns: the directory as it is known here. Must not know: how a landmark decides.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from causeway.core.agents import choosing
from causeway.core.agents.holdings import HoldingsTold
from causeway.core.agents.load import PublishedTold
from causeway.core.agents.places import ItemPlaces
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.machine import Turn
from causeway.core.messages import (
    AgentCard,
    Announce,
    Distances,
    DomainDirectory,
    ItemRates,
    LinkReport,
    Measure,
)
from causeway.core.ports import Courier, Links
from causeway.names import agents_name
from causeway.types import MILLISECOND, SECOND, BrokerId, Duration, Instant, Peer

ANNOUNCE_SOON: Final[Duration] = 250 * MILLISECOND
"""Between two announcements until the directory has us."""

ANNOUNCE_LATER: Final[Duration] = 5 * SECOND
"""And afterwards, so that a directory that was lost on its way is sent again."""

REPORT_AFTER: Final[Duration] = 100 * MILLISECOND
"""Groups that change together are reported together."""

AGENTS_WATCHED: Final = 2
"""To the next so many agents of our domain we keep a link, and they and we notice when it breaks."""

FAREWELLS_MAX: Final = 8
"""So often a broker that leaves says so; then it goes although no landmark has answered."""

_ANNOUNCE, _HOLDINGS, _RATES = "announce", "holdings", "rates"


class Agent:
    """One broker in one domain."""

    def __init__(
        self,
        domain: str,
        card: AgentCard,
        links: Links,
        courier: Courier,
        *,
        published: Callable[[], Iterable[tuple[str, int]]],
        rates_every: Duration,
        rng: random.Random,
        alarm: Alarm,
    ) -> None:
        self.domain = domain
        self._card = card
        self._links = links
        self._courier = courier
        self._published = published
        self._rates_every = rates_every
        self._rates = PublishedTold()
        self._rng = rng
        self._deadlines: Deadlines[str] = Deadlines(alarm)
        self.directory: DomainDirectory | None = None
        self.told = HoldingsTold(links.me.id)
        self.places = ItemPlaces()
        self._reported: dict[BrokerId, None] = {}
        """Fellows whose links we reported as broken."""
        self._kept: dict[BrokerId, None] = {}
        """To whom we keep a link."""
        self._farewells = 0
        """How often we said that we leave."""

    @property
    def is_home(self) -> bool:
        """Whether we hold a seat here that is given items."""
        seats = self.directory.seats if self.directory is not None else ()
        return any(seat.home and seat.holder == self._links.me.id for seat in seats)

    # Ourselves -------------------------------------------------------------------------------------------------
    def start(self, turn: Turn) -> None:
        """We are in the ring, or may speak to those who are."""
        self._deadlines.set_if_unset(_ANNOUNCE, turn.now)
        self._deadlines.set_if_unset(_RATES, turn.now + self._rates_every)

    def update(self, turn: Turn, card: AgentCard) -> None:
        """We have measured ourselves again."""
        self._card = card
        if self._is_listed() and self._listed() != card:
            self._deadlines.set_sooner(_ANNOUNCE, turn.now + ANNOUNCE_SOON)

    def leave(self, turn: Turn, card: AgentCard) -> None:
        """We go for good: whoever is landmark shall know, or it would take us for failed."""
        self._card = card
        self._deadlines.set(_ANNOUNCE, turn.now)

    @property
    def lingering(self) -> bool:
        """Whether we are leaving and the directory still has us."""
        return self._card.leaving and self._listed() is not None and self._farewells < FAREWELLS_MAX

    def _listed(self) -> AgentCard | None:
        return self.card_of(self._card.peer.id)

    def _is_listed(self) -> bool:
        listed = self._listed()
        return listed is not None and listed.peer == self._card.peer

    def _announce(self, turn: Turn) -> None:
        version = self.directory.version if self.directory is not None else 0
        self._courier.post(
            turn, agents_name(self.domain), Announce(self.domain, self._card, version, self.places.version)
        )
        self._farewells += self._card.leaving
        wait = ANNOUNCE_LATER if self._is_listed() != self._card.leaving else ANNOUNCE_SOON
        self._deadlines.set(_ANNOUNCE, turn.now + wait + self._rng.randrange(wait // 4))

    # The directory ---------------------------------------------------------------------------------------------
    def learn(self, turn: Turn, head: DomainDirectory) -> bool:
        """The landmark's word, if it is later than what we have; whether it is."""
        known = self.directory
        if known is not None and (head.version, head.term) <= (known.version, known.term):
            return False
        self.directory = head
        for card in head.agents:
            if card.peer.id != self._links.me.id:
                self._links.learn(card.peer)
        self._keep(head)
        listed = dict.fromkeys(card.peer.id for card in head.agents)
        self._reported = {broker: None for broker in self._reported if broker in listed}
        if known is None or known.term != head.term:
            self.told.repeat()
            for broker in self._reported:
                self._report(turn, broker, up=False)  # a new landmark has not heard of it
        self.on_holdings(turn)
        return True

    def _keep(self, head: DomainDirectory) -> None:
        """Links to the landmark, and to some of our domain: that somebody failed is believed when two say so."""
        me = self._links.me.id
        around = sorted((card.peer.id for card in head.agents if card.peer.id != me), key=lambda b: (b < me, b))
        wanted = dict.fromkeys((*around[:AGENTS_WATCHED], *((head.landmark,) if head.landmark != me else ())))
        for broker in wanted:
            if broker not in self._kept:
                self._links.pin(broker)
        for broker in self._kept:
            if broker not in wanted:
                self._links.unpin(broker)
        self._kept = wanted

    def seats(self) -> tuple[str, ...] | None:
        """The seats we hold by the directory; None while it does not know us."""
        if self.directory is None or self._listed() is None:
            return None
        return tuple(seat.seat for seat in self.directory.seats if seat.holder == self._links.me.id)

    def card_of(self, broker: BrokerId) -> AgentCard | None:
        """What a broker says of itself, if it is in this domain as far as we know."""
        known = () if self.directory is None else self.directory.agents
        return next((card for card in known if card.peer.id == broker), None)

    def placed(self, item: str, suspects: Callable[[BrokerId], bool]) -> list[Peer] | None:
        """Who should hold an item by the domain's policy, its owner first; None when it does not say."""
        known = self.directory
        if known is None or self.places.plan is None:
            return None
        cards = {card.peer.id: card.peer for card in known.agents}
        holders = {seat.seat: seat.holder for seat in known.seats if seat.holder in cards}
        seats = self.places.seats_of(item, lambda seat: seat not in holders or suspects(holders[seat]))
        return [cards[holders[seat]] for seat in seats] or None

    def voters(self) -> list[Peer]:
        """Who should hold the directory as far as can be seen from here, the best landmark first."""
        if self.directory is None:
            return [self._links.me]
        living = [card for card in self.directory.agents if self._links.is_up(card.peer.id)]
        return [card.peer for card in choosing.voters(living, self.directory.landmark)] or [self._links.me]

    # Reports ---------------------------------------------------------------------------------------------------
    def on_link(self, turn: Turn, broker: BrokerId, *, up: bool) -> None:
        """Our link to a broker came up or broke."""
        if self.card_of(broker) is None:
            return
        if up and self._reported.pop(broker, 0) is None:
            self._report(turn, broker, up=True)
        elif not up and broker not in self._reported:
            self._reported[broker] = None
            self._report(turn, broker, up=False)

    def _report(self, turn: Turn, about: BrokerId, *, up: bool) -> None:
        report = LinkReport(self.domain, self._links.me.id, about, up)
        self._courier.post(turn, agents_name(self.domain), report)

    def on_measure(self, turn: Turn, head: Measure) -> None:
        """The landmark wants to know how far it is to others."""
        trips = [(broker, self._links.round_trip(broker)) for broker in head.about if broker != self._links.me.id]
        known = tuple((broker, trip) for broker, trip in trips if trip is not None)
        if known:
            self._courier.post(turn, agents_name(self.domain), Distances(self.domain, self._links.me.id, known))

    def on_holdings(self, turn: Turn) -> None:
        """`told` may have changed."""
        if self.told.has_news and self.directory is not None:
            self._deadlines.set_if_unset(_HOLDINGS, turn.now + REPORT_AFTER)

    def _say_rates(self, turn: Turn) -> None:
        self._deadlines.set(_RATES, turn.now + self._rates_every)
        counts = self._rates.take(self._published()) if self.is_home else ()
        if counts:
            report = ItemRates(self.domain, self._links.me.id, self._rates_every, counts)
            self._courier.post(turn, agents_name(self.domain), report)

    # Time ------------------------------------------------------------------------------------------------------
    def next_deadline(self) -> Instant | None:
        return self._deadlines.next()

    def on_deadline(self, turn: Turn) -> None:
        """Say what is due."""
        for what in self._deadlines.pop_due(turn.now):
            if what == _ANNOUNCE:
                self._announce(turn)
            elif what == _RATES:
                self._say_rates(turn)
            elif self.directory is not None:
                for report in self.told.take(self.domain, self.directory.term):
                    self._courier.post(turn, agents_name(self.domain), report)

    def statistics(self) -> dict[str, object]:
        """The directory, for people."""
        known, placement = self.directory, self.places.statistics()
        if known is None:
            empty = {"landmark": "", "term": 0, "version": 0, "agents": [], "seats": []}
            return {"domain": self.domain, **empty, "placement": placement}
        names = {card.peer.id: card.peer.name for card in known.agents}
        holders = {seat.holder for seat in known.seats}
        return {
            "domain": self.domain,
            "landmark": names.get(known.landmark, ""),
            "term": known.term,
            "version": known.version,
            "agents": [
                {
                    **{k: v for k, v in msgspec.structs.asdict(card).items() if k != "peer"},
                    "broker": card.peer.name,
                    "seated": card.peer.id in holders,
                    "reachable": self._links.is_up(card.peer.id),
                }
                for card in known.agents
            ],
            "seats": [
                {"seat": seat.seat, "holder": names.get(seat.holder, ""), "since": seat.since} for seat in known.seats
            ],
            "placement": placement,
        }
