"""Express messages on the short way: handed straight to the only consumer there is, kept as they came until settled.

Owns: what such a message needs to become an ordinary batch. Almost none ever does: the next thing that happens to it is
its settlement. Whatever else happens to the mailbox, all of them `land` first, so nobody else knows of this way.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from causeway.core.mail.answers import Piece
from causeway.core.mail.batches import HELD, Batch
from causeway.core.mail.consumers import Consumer
from causeway.core.mail.contents import Contents
from causeway.core.mail.rows import StoredBatch
from causeway.core.messages import Deposit
from causeway.types import Instant, Span


class Flight(msgspec.Struct, frozen=True, gc=False):
    """A batch on its way to the consumer that is to settle it."""

    count: int
    consumer: Consumer
    deposit: Deposit
    body: bytes
    at: Instant

    def piece(self, number: int) -> Piece:
        """All of it, without its bodies."""
        d = self.deposit
        whose = (d.source, d.incarnation, d.stream, d.first, d.first + d.count - 1, d.origin, d.flags)
        return Piece(number, *whose, False, d.published)


class Flights:
    """All flights of one mailbox, by the number of their first message."""

    __slots__ = ("_contents", "all")

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self.all: dict[int, Flight] = {}

    def begin(self, number: int, flight: Flight) -> None:
        """A batch leaves; it counts as held by its consumer."""
        count = flight.count
        flight.consumer.unsettled += count
        self._contents.volatile_count += count
        self._contents.volatile_bytes += len(flight.body)
        self.all[number] = flight

    def settle(self, spans: Sequence[Span]) -> list[tuple[int, Flight]] | None:
        """Settle these numbers if all of them are flights, each to its end: these; otherwise nothing happens."""
        flights = self.all
        ended: list[tuple[int, Flight]] = []
        for first, last in spans:
            number = first
            while number <= last:
                flight = flights.get(number)
                if flight is None or number + flight.count > last + 1:
                    return None
                ended.append((number, flight))
                number += flight.count
        for number, flight in ended:
            del flights[number]
            self._end(flight)
        return ended

    def land(self) -> None:
        """All become ordinary batches, held by their consumers."""
        contents = self._contents
        flights, self.all = self.all, {}
        for number, flight in flights.items():
            self._end(flight)
            d = flight.deposit
            whose = (d.source, d.incarnation, d.stream, d.first, d.count, d.flags, d.priority)
            info = StoredBatch(number, *whose, 0, flight.at, d.origin, flight.body, published=d.published)
            batch = Batch(info, stored=False)
            batch.state, batch.holder = HELD, flight.consumer
            contents.hold(batch)
            flight.consumer.unsettled += batch.count
            flight.consumer.held[batch] = None

    def _end(self, flight: Flight) -> None:
        flight.consumer.unsettled -= flight.count
        self._contents.volatile_count -= flight.count
        self._contents.volatile_bytes -= len(flight.body)
