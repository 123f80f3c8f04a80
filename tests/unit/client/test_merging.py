"""What comes by two ways is shown once, in order, and settled on both."""

from __future__ import annotations

from causeway.client.outcomes import ConsumerAttached, ConsumerRefused
from causeway.client.reader import MailReader
from causeway.core.messages import Attached, Deliver, EndMailbox, Interest, Moved, Published, Return, Settle
from causeway.errors import Code
from causeway.names import twin_name
from causeway.topics.critical import critical_item
from causeway.types import VOLATILE_FROM, Flag, ServiceClass
from causeway.wire import body as bodies
from tests.unit.client.stage import Stage, peer

FIRE, WATCH = "critical/fire", "sub/billing/watch"
ITEMS = tuple(critical_item(FIRE, way) for way in (0, 1))
TRANSACTIONAL, RECOVERABLE, EXPRESS = (
    int(ServiceClass.TRANSACTIONAL),
    int(ServiceClass.RECOVERABLE),
    int(ServiceClass.EXPRESS),
)


class Pair:
    """A subscription whose two mailboxes two brokers serve."""

    def __init__(self) -> None:
        self.stage = stage = Stage()
        self.home = stage.open()
        self.reader = stage.session.attach(WATCH, 100, exclusive=True, interest=Interest("critical/#"))
        assert self.reader.twin is not None
        self.twin: MailReader = self.reader.twin
        stage.turn()
        stage.receive(self.home, Moved(WATCH, peer("b3")))
        stage.receive(self.home, Moved(twin_name(WATCH), peer("b4")))
        for broker, reader in (("b3", self.reader), ("b4", self.twin)):
            assert stage.outcomes(ConsumerAttached) == []
            stage.open(broker)
            stage.receive(broker, Attached(reader.mailbox, reader.number, fresh=True))
        assert [outcome.consumer for outcome in stage.outcomes(ConsumerAttached)] == [self.reader]
        stage.take_sent()

    def bring(self, way: int, seq: int, first: int, count: int = 1, **how: int) -> None:
        """Messages of the radar with these ids, by one way, under numbers of its mailbox."""
        reader = (self.reader, self.twin)[way]
        stream, flags = how.get("stream", TRANSACTIONAL), how.get("flags", int(Flag.RELIABLE))
        published = Published(FIRE, "radar", 9, stream, first, seq)
        forwarded = EXPRESS if seq >= VOLATILE_FROM else TRANSACTIONAL
        whose = (reader.mailbox, reader.number, seq, ITEMS[way], 3, forwarded, seq % VOLATILE_FROM + 1, count)
        head = Deliver(*whose, flags, how.get("priority", 4), how.get("deliveries", 0), published=published)
        body = bodies.join([str(number).encode() for number in range(first, first + count)])
        self.stage.receive(("b3", "b4")[way], head, body)

    def shown(self) -> list[str]:
        """What the application gets now, not acknowledged."""
        self.held = self.stage.shown(self.reader)
        return [message.text for message in self.held]

    def settle(self) -> None:
        for message in self.held:
            self.stage.session.accept(message._lot, message._index, message._index)
        self.stage.turn()

    def settled(self, way: int) -> list[int]:
        spans = [span for head in self.stage.said(Settle, ("b3", "b4")[way]) for span in head.spans]
        return [number for first, last in spans for number in range(first, last + 1)]


def test_second_copy_of_what_is_accepted_is_settled() -> None:
    pair = Pair()
    pair.bring(0, 10, 1)
    assert pair.shown() == ["1"]
    pair.settle()
    pair.bring(1, 50, 1)
    assert pair.shown() == []
    assert (pair.settled(0), pair.settled(1)) == ([10], [50])


def test_copy_of_what_is_in_hand_is_settled_with_it() -> None:
    pair = Pair()
    pair.bring(0, 10, 1, 3)
    pair.bring(1, 50, 1, 2)
    assert pair.shown() == ["1", "2", "3"]
    assert pair.settled(1) == []
    pair.settle()
    assert (pair.settled(0), pair.settled(1)) == ([10, 11, 12], [50, 51])


def test_whichever_way_is_ahead_is_shown_and_order_holds() -> None:
    pair = Pair()
    pair.bring(0, 10, 1, 2)
    pair.bring(1, 50, 1, 4)
    pair.bring(0, 12, 3, 3)
    assert pair.shown() == ["1", "2", "3", "4", "5"]
    assert pair.held[0].mailbox == pair.held[3].mailbox == WATCH
    assert pair.held[0].message_id.dest == pair.held[3].message_id.dest == ITEMS[0]


def test_what_one_way_left_out_comes_too_late_by_the_other() -> None:
    pair = Pair()
    pair.bring(0, 10, 6)
    pair.bring(1, 50, 5, 2)  # its registration was earlier by one message
    assert pair.shown() == ["6"]
    pair.settle()
    assert pair.settled(1) == [50, 51]


def test_nothing_comes_too_late_where_order_is_not_promised() -> None:
    for how in ({"stream": RECOVERABLE}, {"flags": int(Flag.RELIABLE | Flag.DELAYED)}, {"deliveries": 1}):
        pair = Pair()
        pair.bring(0, 10, 6, **how)
        pair.bring(1, 50, 5, **how)
        assert pair.shown() == ["6", "5"]


def test_priorities_have_an_order_each() -> None:
    pair = Pair()
    pair.bring(0, 11, 6, priority=9)
    pair.bring(1, 50, 5, priority=4)
    assert pair.shown() == ["6", "5"]


def test_late_on_its_own_way_is_shown() -> None:
    """A transaction of an earlier life had it on both ways, and was aborted."""
    pair = Pair()
    pair.bring(0, 11, 6)
    pair.bring(1, 51, 6)
    pair.bring(0, 10, 5)
    assert pair.shown() == ["6", "5"]


def test_lost_link_takes_nothing_from_the_queue() -> None:
    """The other way has brought it too, and does not bring it again."""
    pair = Pair()
    pair.bring(0, 10, 1, 2)
    pair.bring(1, 50, 1, 2)
    pair.stage.cut("b3")
    pair.bring(1, 52, 3)
    assert pair.shown() == ["1", "2", "3"]
    pair.settle()
    assert pair.settled(1) == [50, 51, 52]
    assert pair.reader.unconfirmed.spans() == [(10, 11)]


def test_express_numbers_of_a_lost_link_mean_nothing() -> None:
    pair = Pair()
    pair.bring(0, VOLATILE_FROM + 4, 1, stream=EXPRESS)
    pair.bring(1, VOLATILE_FROM + 7, 1, stream=EXPRESS)
    assert pair.shown() == ["1"]
    pair.stage.cut("b4")
    pair.settle()
    pair.stage.sleep(100_000_000)
    assert pair.settled(0) == [VOLATILE_FROM + 4]
    assert pair.twin.settles == []


def test_given_back_by_both_ways() -> None:
    pair = Pair()
    pair.bring(0, 10, 1)
    pair.bring(1, 50, 1)
    pair.shown()
    pair.stage.session.give_back(pair.held[0]._lot, 0, 0)
    pair.stage.turn()
    assert [pair.stage.said(Return, broker)[0].spans for broker in ("b3", "b4")] == [((10, 10),), ((50, 50),)]
    pair.bring(1, 50, 1, deliveries=1)
    pair.bring(0, 10, 1, deliveries=1)
    assert pair.shown() == ["1"]


def test_selected_messages_keep_their_publishers_ids() -> None:
    pair = Pair()
    published = Published(FIRE, "radar", 9, TRANSACTIONAL, 10, 3, ((0, 0), (2, 3)))
    whose = (WATCH, pair.reader.number, 3, ITEMS[0], 3, TRANSACTIONAL, 4, 3)
    head = Deliver(*whose, int(Flag.RELIABLE), 4, 0, published=published)
    pair.stage.receive("b3", head, bodies.join([b"10", b"12", b"13"]))
    pair.bring(1, 50, 12)
    assert pair.shown() == ["10", "12", "13"]
    assert [message.message_id.number for message in pair.held] == [10, 12, 13]
    pair.settle()
    assert (pair.settled(0), pair.settled(1)) == ([3, 4, 5], [50])


def test_refusal_of_one_way_ends_both() -> None:
    pair = Pair()
    pair.stage.receive("b4", Moved(pair.twin.mailbox, None, int(Code.NO_MAILBOX), "ended"))
    assert [outcome.consumer for outcome in pair.stage.outcomes(ConsumerRefused)] == [pair.reader]
    assert pair.reader.error is not None
    assert pair.stage.session.consumers() == []
    pair.stage.turn()
    assert [head.mailbox for head in pair.stage.said(EndMailbox)] == [WATCH]


def test_who_reads_no_second_mailbox_any_more_ends_it() -> None:
    stage = Stage()
    home = stage.open()
    reader = stage.session.attach(WATCH, 100, exclusive=True, interest=Interest("roads/#"))
    assert reader.twin is None
    stage.turn()
    stage.receive(home, Attached(WATCH, reader.number, twinned=True))
    assert [head.mailbox for head in stage.said(EndMailbox)] == [twin_name(WATCH)]
