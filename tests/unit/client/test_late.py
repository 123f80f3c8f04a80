"""Express settlements are said together: soon enough for the credit, at the latest after a moment."""

from __future__ import annotations

from causeway.client.late import CREDIT_SHARE, LATE, LateSettles
from causeway.client.reader import MailReader
from causeway.core.deadlines import Alarm
from causeway.core.messages import Settle
from causeway.types import VOLATILE_FROM, ServiceClass
from tests.unit.client.stage import Stage

EXPRESS = int(ServiceClass.EXPRESS)


def reader(credit: int = 100) -> MailReader:
    return MailReader(7, "inbox", credit)


def test_few_settlements_wait_until_they_are_due() -> None:
    alarm = Alarm()
    alarm.renew()
    late, consumer = LateSettles(alarm), reader()
    late.note(consumer, 1)
    assert late.pressing(0) == []
    assert alarm.at == LATE
    late.note(consumer, 1)
    assert late.pressing(LATE - 1) == []
    assert late.pressing(LATE) == [consumer]


def test_a_share_of_the_credit_presses_at_once() -> None:
    late, consumer = LateSettles(), reader(credit=8)
    late.note(consumer, 8 // CREDIT_SHARE)
    assert late.pressing(0) == [consumer]


def test_what_was_said_does_not_press_again() -> None:
    late, consumer = LateSettles(), reader(credit=8)
    late.note(consumer, 1)
    late.pressing(0)
    late.said(consumer)
    assert late.pressing(LATE) == []
    late.note(consumer, 1)
    assert late.pressing(LATE) == []


def settled(stage: Stage) -> list[tuple[int, int]]:
    return [span for head in stage.said(Settle) for span in head.spans]


def test_session_says_express_settlements_together_and_late(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    for index in range(3):
        stage.deliver(home, consumer, VOLATILE_FROM + index, index + 1, stream=EXPRESS)
        for message in stage.shown(consumer):
            stage.session.accept(message._lot, 0, 0)
    stage.turn()
    assert settled(stage) == []
    stage.turn(after=LATE)
    assert settled(stage) == [(VOLATILE_FROM, VOLATILE_FROM + 2)]


def test_consumer_that_ends_says_what_it_has(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, VOLATILE_FROM, 1, stream=EXPRESS)
    (message,) = stage.shown(consumer)
    stage.session.accept(message._lot, 0, 0)
    stage.session.detach(consumer)
    stage.turn()
    assert settled(stage) == [(VOLATILE_FROM, VOLATILE_FROM)]


def test_numbers_of_a_lost_link_are_never_said(stage: Stage, home: str) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, VOLATILE_FROM, 1, stream=EXPRESS)
    (message,) = stage.shown(consumer)
    stage.session.accept(message._lot, 0, 0)
    stage.cut(home)
    stage.take_sent()
    stage.open()
    stage.turn(after=2 * LATE)
    assert settled(stage) == []


def test_express_message_that_comes_again_while_its_settlement_waits_is_not_shown_again(
    stage: Stage, home: str
) -> None:
    consumer = stage.consume(home)
    stage.deliver(home, consumer, VOLATILE_FROM, 1, stream=EXPRESS)
    (message,) = stage.shown(consumer)
    stage.session.accept(message._lot, 0, 0)
    stage.deliver(home, consumer, VOLATILE_FROM + 9, 1, stream=EXPRESS)
    assert stage.shown(consumer) == []
