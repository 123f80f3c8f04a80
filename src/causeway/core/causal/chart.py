"""What this broker knows of the map of domains, and the seat it asks for.

Owns: the last map heard, bindings heard, our own request for a seat. Must not know: clocks, batches, who owns the map.
"""

from __future__ import annotations

from causeway.config import BrokerConfig
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.machine import Turn
from causeway.core.messages import AskSeat, Bound, Domains, JoinDomain, SeatTaken
from causeway.core.ports import Courier, Links
from causeway.domains import DomainGraph
from causeway.types import Instant


class Chart:
    """The map as it is known here."""

    def __init__(self, config: BrokerConfig, links: Links, courier: Courier, *, alarm: Alarm | None = None) -> None:
        self._config = config
        self._links = links
        self._courier = courier
        self._deadlines: Deadlines[str] = Deadlines(alarm)
        self.version = 0
        self.graph = DomainGraph({})
        """Seats by the names of their brokers."""
        self.numbers: dict[str, int] = {}
        """Row and column of each seat in clocks."""
        self.names: dict[int, str] = {}
        self.refusal = ""

    def seat_of(self, turn: Turn, name: str, hint: str) -> str | None:
        """The broker's name of the seat that a mailbox or application is bound to; None: asked for, `on_chart` follows.

        Bound to the seat `hint` if it was not bound yet.
        """
        raise NotImplementedError

    def learn(self, turn: Turn, head: Domains) -> None:
        """A map, from its owner; older ones change nothing."""
        raise NotImplementedError

    def want(self, turn: Turn, version: int) -> None:
        """Somebody goes by a later map than we have: ask for it."""
        raise NotImplementedError

    def answered(self, turn: Turn, head: SeatTaken | Domains | Bound) -> None:
        raise NotImplementedError

    def on_joined(self, turn: Turn) -> None:
        """We are in the ring."""

    def on_ask_seat(self, turn: Turn, conn: int, head: AskSeat) -> None:
        raise NotImplementedError

    def on_join(self, turn: Turn, conn: int, head: JoinDomain) -> None:
        raise NotImplementedError

    def on_client_gone(self, conn: int) -> None:
        """Answers for it go nowhere."""

    def next_deadline(self) -> Instant | None:
        return self._deadlines.next()

    def on_deadline(self, turn: Turn) -> None:
        """Ask again."""

    def statistics(self) -> dict[str, object]:
        """The map, for people."""
        return {}
