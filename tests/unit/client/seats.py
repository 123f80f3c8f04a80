"""A session in causal order with a scripted broker: its seat, and what other seats hand on."""

from __future__ import annotations

from causeway.client.reader import MailReader
from causeway.core.messages import AskSeat, Causal, Deliver, Deposit, Published, SeatGiven
from causeway.errors import Code
from causeway.names import seat_name
from causeway.types import SECOND, ServiceClass
from causeway.wire import body as bodies
from tests.unit.client.stage import Stage

SEAT, ELSEWHERE = seat_name("b1"), seat_name("b2")


def home_of(stage: Stage) -> str:
    return next(iter(stage.conns))


def give_seat(stage: Stage, seat: str = SEAT, code: Code | int = 0) -> None:
    """The home broker answers the last question for a seat."""
    asked = stage.said(AskSeat)[-1]
    stage.receive(home_of(stage), SeatGiven(asked.token, "" if code else seat, int(code), "as the test wants it"))


def causal_of(stage: Stage) -> list[Causal | None]:
    return [deposit.causal for deposit in stage.said(Deposit)]


def hand_on(
    stage: Stage, reader: MailReader, number: int, count: int = 1, *, seat: str = ELSEWHERE, topic: str = ""
) -> None:
    """A seat has handed messages of somebody to a mailbox under its own numbers, and they are delivered."""
    published = Published(topic, "shop", 5, int(ServiceClass.EXPRESS), 70 + number, number - 1, (), 9 * SECOND)
    texts = [str(number + index).encode() for index in range(count)]
    head = Deliver(reader.mailbox, reader.number, number, seat, 3, 2, number, count, 1, 4, 0, 1, 0, published)
    stage.receive(home_of(stage), head, bodies.join(texts))
