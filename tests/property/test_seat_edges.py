"""Seats at the edges: what ends, expires, is absurd or comes from elsewhere while batches are on their way."""

from __future__ import annotations

from causeway.core.machine import Turn
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
    assert not anna.unanswered
    assert not ben.unanswered


# Time to live -----------------------------------------------------------------------------------------------------
def test_time_spent_waiting_is_taken_from_what_is_left_to_live() -> None:
    """A letter waits at its seat for a mark, and at the next one for another letter; its time does not stand still."""
    network = network_of("p", "q", "r")
    anna, ben, carl = (
        network.application(name, seat) for name, seat in zip(("anna", "ben", "carl"), "pqr", strict=True)
    )
    found: list[int] = []
    deposit = network._deposit

    def note(head: Deposit, body: bytes) -> None:
        found.append(head.ttl)
        deposit(head, body)

    network._deposit = note  # type: ignore[method-assign]
    anna.send(b"so that there is a number", dest="carl")
    network.run(network.now + SECOND)
    marks = network.places["r"].seat
    marks.on_ask_mark = lambda turn, head: None  # type: ignore[method-assign]
    anna.send(b"after what was read at r", dest="ben", after=((seat_name("r"), 1),), ttl=60 * SECOND)
    network.run(network.now + 10 * SECOND)
    slow = network.places["q"]
    offer = slow.seat.offer
    slow.seat.offer = lambda turn, head, body: None  # type: ignore[method-assign]
    carl.send(b"first", dest="ben")
    network.run(network.now + SECOND)
    del marks.on_ask_mark

    def hold(turn: Turn, head: Deposit, body: bytes) -> None:
        if head.source != seat_name("r"):
            offer(turn, head, body)

    slow.seat.offer = hold  # type: ignore[method-assign]
    network.run(network.now + 10 * SECOND)
    assert slow.seat.held.count == 1
    found.clear()
    del slow.seat.offer
    network.run(network.now + SECOND)
    assert [got.body for got in network.mailboxes["ben"]] == [b"first", b"after what was read at r"]
    (first, left) = found[:2]
    assert first == 0
    assert 0 < left < 60 * SECOND - 20 * SECOND
    assert not ben.unanswered
