"""Seats at the edges: what ends, expires, is absurd or comes from elsewhere while batches are on their way."""

from __future__ import annotations

from causeway.core.messages import Deposit, Register
from causeway.names import seat_name
from causeway.sim.seats import SeatNetwork, SeatWeather
from causeway.types import MILLISECOND, SECOND

CALM = SeatWeather((MILLISECOND, MILLISECOND), (0, 0))


def network_of(*seats: str) -> SeatNetwork:
    return SeatNetwork(dict.fromkeys(seats, ("d",)), 1, CALM)


class ClosedBox:
    """A mailbox that takes nothing for now."""

    def __init__(self, network: SeatNetwork, mailbox: str) -> None:
        self._network, self._mailbox, self._deposit = network, mailbox, network._deposit
        network._deposit = self._refuse  # type: ignore[method-assign]

    def _refuse(self, head: Deposit, body: bytes) -> None:
        if head.dest != self._mailbox:
            self._deposit(head, body)

    def open(self) -> None:
        self._network._deposit = self._deposit  # type: ignore[method-assign]


def test_letters_on_their_way_survive_the_end_of_a_mailboxs_topics() -> None:
    """An ordinary mailbox that gets no more of a topic is still there for what is sent to it."""
    network = network_of("p", "q")
    anna, ben = network.application("anna", "p"), network.application("ben", "q", "news/#")
    box = ClosedBox(network, "ben")
    anna.send(b"a letter", dest="ben")
    network.run(network.now + 100 * MILLISECOND)
    place = network.places["q"]
    place.act(lambda turn: place.seat.register(turn, Register(seat_name("q"), "ben", 2, None, b""), 0))
    network.run(network.now + SECOND)
    assert anna.unanswered, "acknowledged, and ben does not have it"
    box.open()
    network.run(network.now + SECOND)
    assert [got.body for got in network.mailboxes["ben"]] == [b"a letter"]
    assert not anna.unanswered and not ben.unanswered
