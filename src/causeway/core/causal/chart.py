"""What this broker knows of the map of domains, and the seat it asks for.

A broker that has no seat and whose clients want none asks nobody anything: only who takes a seat begins the map.

Owns: the last map heard, bindings heard, our own request for a seat. Must not know: clocks, batches, who owns the map.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from causeway.config import BrokerConfig
from causeway.core.causal.askers import Asker, Askers
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.events import PeerMessage
from causeway.core.machine import Turn
from causeway.core.mail.faults import name_fault
from causeway.core.messages import (
    AskDomains,
    AskSeat,
    Bind,
    Bound,
    DomainJoined,
    Domains,
    JoinDomain,
    SeatGiven,
    SeatTaken,
    TakeSeat,
)
from causeway.core.ports import Links
from causeway.domains import DomainGraph, check_domain
from causeway.domains.limits import (
    BINDINGS_ASKED_MAX,
    BINDINGS_REMEMBERED_MAX,
    JOINS_MAX,
    MAP_QUESTIONS_MAX,
    SEATS_ASKED_PER_CONNECTION_MAX,
)
from causeway.errors import REMEDIES, Code, ConfigError
from causeway.limits import DETAIL_CHARS_MAX
from causeway.names import check_seat, seat_name
from causeway.types import MILLISECOND, SEAT_PREFIX, SECOND, Duration, Instant, key_of

ASK_AGAIN_MIN: Duration = 200 * MILLISECOND
ASK_AGAIN_MAX: Duration = 5 * SECOND
"""How long the map's owner has to answer before it is asked again."""

FAREWELLS_MAX = 4
"""So often a broker that leaves tells the map; then it goes although nobody has answered."""

What = tuple[str, ...]
"""What a timer is for: ("map",), ("name", which), ("take", domain, ...)."""
_MAP: What = ("map",)
_LEAVING: What = ()
"""What a broker asks for that leaves: no domains."""


@dataclass(slots=True)
class MapQuestion:
    """One for the map's owner, repeated until it is answered."""

    tries: int = 0
    hint: str = ""
    """Of a name: the seat to bind it to, if it has none."""
    inside: bool = False
    """Of a name: a seat here waits for it, not only clients."""

    def wait(self) -> Duration:
        """How long until it is put again."""
        self.tries += 1
        return min(ASK_AGAIN_MIN << min(self.tries - 1, 16), ASK_AGAIN_MAX)


@dataclass(slots=True)
class SeatRequest:
    """Domains to be seated in."""

    own: bool
    """Those of our configuration."""
    clients: dict[Asker, None] = field(default_factory=dict)
    question: MapQuestion = field(default_factory=MapQuestion)


class Chart:
    """The map as it is known here."""

    def __init__(self, config: BrokerConfig, links: Links, *, alarm: Alarm | None = None) -> None:
        self._config = config
        self._links = links
        self._deadlines: Deadlines[What] = Deadlines(alarm)
        self.version = 0
        self.graph = DomainGraph({})
        """Seats by the names of their brokers."""
        self.numbers: dict[str, int] = {}
        """Row and column of each seat in clocks."""
        self.names: dict[int, str] = {}
        self.left: dict[str, None] = {}
        """Seats whose brokers left for good."""
        self.refusal = ""
        """Why the domains of our configuration cannot be ours."""
        self._joined = False
        self._map_since: Instant = -1
        """When we began to ask for it."""
        self.confirmed: Instant = -1
        """The map that we have was the latest one then."""
        self._wanted = 0
        """The latest version that somebody goes by."""
        self._map = MapQuestion()
        self._bindings: dict[str, str] = {}
        """Seat by name, least recently used first."""
        self._asked: dict[str, MapQuestion] = {}
        self._askers = Askers()
        self._requests: dict[What, SeatRequest] = {}

    @property
    def seat(self) -> str:
        """Our own name, if we have a seat as far as we know; else empty."""
        return self._config.name if self._config.name in self.graph.seats else ""

    # Bindings --------------------------------------------------------------------------------------------------
    def seat_of(self, turn: Turn, name: str, hint: str) -> str | None:
        """The broker's name of the seat that a mailbox or application is bound to; None: asked for, `on_chart` follows.

        Bound to the seat `hint` if it was not bound yet.
        """
        seat = self._bindings.pop(name, None)
        if seat is not None:
            self._bindings[name] = seat
        else:
            self._ask(turn, name, hint, inside=True)
        return seat

    def _ask(self, turn: Turn, name: str, hint: str, *, inside: bool = False) -> None:
        known = self._asked.get(name)
        if known is None and len(self._asked) >= BINDINGS_ASKED_MAX:
            return
        question = known or self._asked.setdefault(name, MapQuestion())
        question.inside = question.inside or inside
        if known is None or (hint and not known.hint):
            question.hint = hint
            self._put_name(turn, name, question)

    def _put_name(self, turn: Turn, name: str, question: MapQuestion) -> None:
        self._deadlines.set(("name", name), turn.now + question.wait())
        self._post(turn, Bind(name, question.hint, self._links.me.id))

    def _on_bound(self, turn: Turn, head: Bound) -> None:
        question = self._asked.get(head.name)
        if head.seat:
            self._bindings.pop(head.name, None)
            self._bindings[head.name] = head.seat
            if len(self._bindings) > BINDINGS_REMEMBERED_MAX:
                del self._bindings[next(iter(self._bindings))]
        if question is not None and (head.seat or not question.inside):
            # Who waits inside asks again when it hears of anything: it must find its question still there.
            self._drop_name(head.name)
        if head.seat:
            given = SeatGiven(0, seat_name(head.seat))
        else:
            given = SeatGiven(0, "", head.code or Code.NO_SEAT, head.detail[:DETAIL_CHARS_MAX])
        self._give(turn, head.name, given)

    def _drop_name(self, name: str) -> None:
        del self._asked[name]
        self._deadlines.cancel(("name", name))

    def _give(self, turn: Turn, name: str, given: SeatGiven) -> None:
        """Tell the clients that asked for the seat of a name."""
        for conn, token in self._askers.take(name):
            turn.send(conn, SeatGiven(token, given.seat, given.code, given.detail))

    # The map ---------------------------------------------------------------------------------------------------
    def learn(self, turn: Turn, head: Domains) -> None:
        """A map, from its owner; older ones change nothing."""
        if head.version > self.version:
            self.version = head.version
            self.graph = DomainGraph({entry.name: entry.domains for entry in head.seats})
            self.numbers = {entry.name: entry.number for entry in head.seats}
            self.names = {entry.number: entry.name for entry in head.seats}
            self.left = {entry.name: None for entry in head.seats if entry.left}
            for name in self._askers.names():
                self._ask(turn, name, self._hint(name))
        if self.version:
            if self._wanted <= self.version:
                self._deadlines.cancel(_MAP)
        elif not head.version and not any(request.own for request in self._requests.values()):
            # There is no map at all, and we are not about to begin it.
            for name in self._askers.names():
                self._give(turn, name, SeatGiven(0, "", Code.NO_SEAT, REMEDIES[Code.NO_SEAT]))
            self._deadlines.cancel(_MAP)

    def want(self, turn: Turn, version: int) -> None:
        """Somebody goes by a later map than we have: ask for it."""
        if version > self.version:
            self._wanted = max(version, self._wanted)
            self._ask_map(turn)

    def knows(self, turn: Turn, group: str) -> bool:
        """Whether a seat is on the map; if not, as far as we know, ask for a later one.

        What clients say about seats that nobody has must not begin groups: those never end.
        """
        if group.removeprefix(SEAT_PREFIX) in self.graph.seats:
            return True
        self.want(turn, self.version + 1)
        return False

    def _ask_map(self, turn: Turn) -> None:
        if _MAP not in self._deadlines:
            due = self._map_since + ASK_AGAIN_MIN if self._map_since >= 0 else 0
            self._map = MapQuestion()
            self._map_since = turn.now
            if turn.now >= due:
                self._put_map(turn)
            else:
                self._deadlines.set(_MAP, due)

    def _put_map(self, turn: Turn) -> None:
        self._deadlines.set(_MAP, turn.now + self._map.wait())
        self._post(turn, AskDomains(self.version, self._links.me.id))

    def _hint(self, name: str) -> str:
        """Where a client's name takes part from now on: at our own seat, else at any, the same for the same name."""
        seats = [seat for seat in self.graph.seats if seat not in self.left] or list(self.graph.seats)
        return self.seat or (seats[int.from_bytes(key_of(name)[:8], "big") % len(seats)] if seats else "")

    def answered(self, turn: Turn, head: SeatTaken | Domains | Bound) -> None:
        match head:
            case SeatTaken():
                self._on_taken(turn, head)
            case Domains():
                if head.version >= self.version and _MAP in self._deadlines:
                    self.confirmed = self._map_since
                    self._wanted = head.version  # its owner knows of no later one
                self.learn(turn, head)
            case Bound():
                self._on_bound(turn, head)

    # Our own seat ----------------------------------------------------------------------------------------------
    def on_joined(self, turn: Turn) -> None:
        """We are in the ring."""
        if not self._joined:
            self._joined = True
            if self._config.domains and not self._config.spare:
                self._request(turn, self._config.domains).own = True

    def leave(self, turn: Turn) -> None:
        """We go for good: the map shall say so."""
        for domains in list(self._requests):
            self._drop_request(domains)
        if self._config.domains or self.seat:
            self._request(turn, _LEAVING).own = True

    @property
    def lingering(self) -> bool:
        """Whether we are leaving and the map may not say so yet."""
        request = self._requests.get(_LEAVING)
        return request is not None and request.question.tries <= FAREWELLS_MAX

    def _request(self, turn: Turn, domains: tuple[str, ...]) -> SeatRequest:
        request = self._requests.get(domains)
        if request is None:
            request = self._requests[domains] = SeatRequest(own=False)
            self._put_request(turn, domains, request)
        return request

    def _put_request(self, turn: Turn, domains: tuple[str, ...], request: SeatRequest) -> None:
        self._deadlines.set(("take", *domains), turn.now + request.question.wait())
        self._post(turn, TakeSeat(self._config.name, domains, self._links.me.id, domains == _LEAVING))

    def _on_taken(self, turn: Turn, head: SeatTaken) -> None:
        """We sit in these domains, and all neighbours know; or we cannot."""
        if head.name != self._config.name:
            return
        detail = head.detail[:DETAIL_CHARS_MAX]
        for domains, request in list(self._requests.items()):
            if head.code:
                if domains != head.domains:
                    continue
            elif bool(domains) != bool(head.domains) or not all(domain in head.domains for domain in domains):
                continue
            self._drop_request(domains)
            if request.own:
                self.refusal = detail or Code.of(head.code).name if head.code else ""
                self.want(turn, 1)  # if refused, we may have a seat from before; who waits here hears if there is none
            answer = (head.domains, 0, "") if not head.code else ((), head.code, detail)
            for conn, token in request.clients:
                turn.send(conn, DomainJoined(token, *answer))
            if not head.code:
                self._ask_for_our_seat(turn)

    def _ask_for_our_seat(self, turn: Turn) -> None:
        """Nothing could be bound to our seat before all neighbours knew it: ask again at once."""
        for name, question in list(self._asked.items()):
            if question.hint == self._config.name:
                question.tries = 0
                self._put_name(turn, name, question)

    def _drop_request(self, domains: tuple[str, ...]) -> None:
        del self._requests[domains]
        self._deadlines.cancel(("take", *domains))

    # Clients ---------------------------------------------------------------------------------------------------
    def on_ask_seat(self, turn: Turn, conn: int, head: AskSeat) -> None:
        """Answered now, or when the binding is known."""
        if (fault := name_fault("name", head.name)) is not None:
            turn.send(conn, SeatGiven(head.token, "", Code.BAD_FIELD, fault))
            return
        seat = self._bindings.get(head.name)
        if seat is not None:
            turn.send(conn, SeatGiven(head.token, seat_name(seat)))
            return
        if self._askers.count(conn) >= SEATS_ASKED_PER_CONNECTION_MAX:
            detail = f"{SEATS_ASKED_PER_CONNECTION_MAX} seats of this connection are asked for, its limit"
            turn.send(conn, SeatGiven(head.token, "", Code.OVERLOADED, detail))
            return
        self._askers.add(head.name, (conn, head.token))
        if self.graph.seats:
            self._ask(turn, head.name, self._hint(head.name))
        else:
            self._ask_map(turn)

    def on_join(self, turn: Turn, conn: int, head: JoinDomain) -> None:
        """Answered when all seats of that domain know us, or we cannot join it."""
        try:
            check_domain("domain", head.domain)
            check_seat("name", self._config.name)
        except ConfigError as error:
            turn.send(conn, DomainJoined(head.token, (), Code.BAD_FIELD, str(error)))
            return
        domains = (head.domain,)
        known = self._requests.get(domains)
        if len(self._requests if known is None else known.clients) >= JOINS_MAX:
            detail = f"{JOINS_MAX} requests to join are under way at this broker, its limit"
            turn.send(conn, DomainJoined(head.token, (), Code.OVERLOADED, detail))
            return
        self._request(turn, domains).clients[(conn, head.token)] = None

    def on_client_gone(self, conn: int) -> None:
        """Answers for it go nowhere."""
        self._askers.forget(conn)
        for domains, request in list(self._requests.items()):
            for asker in [asker for asker in request.clients if asker[0] == conn]:
                del request.clients[asker]
            if not request.clients and not request.own:
                self._drop_request(domains)

    # Time ------------------------------------------------------------------------------------------------------
    def _post(self, turn: Turn, head: Bind | AskDomains | TakeSeat) -> None:
        """To the map's owner, by way of the inbox: if that is us, the answer must not come while we speak."""
        turn.tell(PeerMessage(self._links.me, head, b""))

    def next_deadline(self) -> Instant | None:
        return self._deadlines.next()

    def on_deadline(self, turn: Turn) -> None:
        """Ask again."""
        for what in self._deadlines.pop_due(turn.now):
            kind, *rest = what
            if kind == "take":
                self._put_request(turn, tuple(rest), self._requests[tuple(rest)])
            elif kind == "name":
                self._ask_name_again(turn, rest[0])
            elif (self._askers and not self.version) or self._map.tries < MAP_QUESTIONS_MAX:
                self._put_map(turn)

    def _ask_name_again(self, turn: Turn, name: str) -> None:
        question = self._asked[name]
        if name in self._askers or (question.inside and question.tries < MAP_QUESTIONS_MAX):
            self._put_name(turn, name, question)
        else:
            self._drop_name(name)

    def statistics(self) -> dict[str, object]:
        """The map, for people."""
        return {
            "seat": self.seat,
            "refusal": self.refusal,
            "version": self.version,
            "domains": {domain: list(seats) for domain, seats in self.graph.domains.items()},
            "left": list(self.left),
        }
