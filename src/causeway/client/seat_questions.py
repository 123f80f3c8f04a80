"""Asking for seats: where this application, and the mailboxes it reads, take part in causal order.

Owns: which names were asked for and not answered yet, and our own seat once it is known; that one is for good. Must not
know: what is sent there (`streams`), what was read elsewhere (`marks`). Stimuli: who needs a seat, and answers.
"""

from __future__ import annotations

from collections.abc import Callable

from causeway.client.errands import Errand, Errands
from causeway.client.links import Uplink
from causeway.client.reader import MailReader
from causeway.core.machine import Turn
from causeway.core.messages import AskSeat


class SeatErrand(Errand):
    """One name's seat: any broker can say, and is asked until one does."""

    __slots__ = ("name",)

    def __init__(self, number: int, name: str) -> None:
        super().__init__(number, "")
        self.name = name

    def ask(self, turn: Turn, link: Uplink) -> None:
        """At home."""
        turn.send(link.conn, AskSeat(self.number, self.name))


class SeatQuestions:
    """All questions for seats that are open."""

    def __init__(self, application: str, errands: Errands, number: Callable[[], int]) -> None:
        self._application = application
        self._errands = errands
        self._number = number
        self._asked: dict[str, SeatErrand] = {}
        self.seat = ""
        """Our own; empty until it is known."""

    def ask(self, turn: Turn, name: str) -> None:
        """Somebody needs this name's seat."""
        if name not in self._asked:
            errand = self._asked[name] = SeatErrand(self._number(), name)
            self._errands.start(turn, errand)

    def admits(self, turn: Turn, consumer: MailReader) -> bool:
        """Whether a consumer can begin: it needs no seat, or we know it; otherwise it is asked for."""
        if consumer.seat_of == self._application and self.seat:
            consumer.take_seat(self.seat)
        if consumer.seat_of:
            self.ask(turn, consumer.seat_of)
        return not consumer.seat_of

    def found(self, errand: SeatErrand) -> None:
        """It was answered, or will not be."""
        self._asked.pop(errand.name, None)
        self._errands.drop(errand)
