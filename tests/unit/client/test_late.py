"""Express settlements are said together: soon enough for the credit, never to another owner."""

from __future__ import annotations

from causeway.client.late import LATE, LateSettles
from causeway.client.links import Uplink
from causeway.client.reader import MailReader
from causeway.core.deadlines import Alarm
from causeway.core.machine import Turn
from causeway.core.messages import Settle


class Link:
    """Just the number of a connection."""

    conn = 1


def reader(credit: int = 100) -> MailReader:
    consumer = MailReader(7, "inbox", credit)
    link: Uplink = Link()  # type: ignore[assignment]
    consumer.link = link
    return consumer


def said(turn: Turn) -> list[tuple[tuple[int, int], ...]]:
    return [send.head.spans for send in turn.effects.sends if isinstance(send.head, Settle)]


def test_few_settlements_wait_until_they_are_due_and_go_together() -> None:
    alarm = Alarm()
    alarm.renew()
    late, consumer = LateSettles(alarm), reader()
    late.add(consumer, 1, 1)
    turn = Turn(0)
    late.say(turn)
    assert said(turn) == []
    assert alarm.next == LATE
    late.add(consumer, 2, 2)
    turn = Turn(LATE)
    late.say(turn)
    assert said(turn) == [((1, 2),)]
    alarm.renew()
    assert alarm.next is None


def test_a_quarter_of_the_credit_is_said_at_once() -> None:
    late, consumer = LateSettles(), reader(credit=8)
    late.add(consumer, 1, 2)
    turn = Turn(0)
    late.say(turn)
    assert said(turn) == [((1, 2),)]


def test_a_closing_consumer_says_what_it_has() -> None:
    late, consumer = LateSettles(), reader()
    late.add(consumer, 1, 1)
    consumer.closing = True
    turn = Turn(0)
    late.say(turn)
    assert said(turn) == [((1, 1),)]


def test_numbers_of_a_lost_link_are_never_said() -> None:
    late, consumer = LateSettles(), reader()
    late.add(consumer, 1, 1)
    late.say(Turn(0))
    consumer.on_lost(Turn(0))
    turn = Turn(LATE)
    late.say(turn)
    assert said(turn) == []
