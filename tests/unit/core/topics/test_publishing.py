"""The publisher's side: what nobody wants goes no further than its source broker, and nothing waits for long."""

from __future__ import annotations

import msgspec
import pytest

from causeway.core.messages import (
    Accepted,
    AskInterest,
    Deposit,
    Message,
    Published,
    Rejected,
    Resend,
    Summary,
    SummaryHeld,
)
from causeway.core.topics.leases import LEASE
from causeway.core.topics.publishing import PATIENCE
from causeway.errors import Code
from causeway.types import SECOND
from tests.unit.core.mail.neighbours import OTHER
from tests.unit.core.topics.newsroom import (
    APP,
    CONN,
    EXPRESS,
    ITEM,
    ORDERED,
    RECOVERABLE,
    RELIABLE,
    RETAIN,
    TOPIC,
    Newsroom,
    bodies,
    publication,
)

OTHER_TOPIC = "roads/b7"


def source() -> Newsroom:
    """A broker whose item lives elsewhere."""
    room = Newsroom()
    room.groups.know(ITEM, OTHER)
    return room


def answer(room: Newsroom, *patterns: str, version: int = 0, epoch: int = 3, lease: int = LEASE) -> None:
    """The item's owner answers the last question."""
    (ask,) = room.sent(AskInterest)
    room.broker(Summary(ITEM, epoch, version, patterns, lease, ask.asked))


def informed(*patterns: str) -> Newsroom:
    """A source broker that knows what is wanted; its client has published one batch."""
    room = source()
    room.client(publication(1), bodies())
    answer(room, *patterns)
    room.said.clear()
    room.links.take()
    return room


def test_first_batch_waits_for_the_answer_and_goes_on_if_somebody_wants_it() -> None:
    room = source()
    room.client(publication(1), bodies())
    assert room.sent(Deposit) == []
    answer(room, "roads/#")
    (head,) = room.sent(Deposit)
    assert (head.first, head.origin, head.published) == (1, room.desk.office.me, Published(TOPIC))
    assert room.heard(Accepted) == []


def test_batch_that_nobody_wants_stays_and_is_acknowledged_as_such() -> None:
    room = source()
    room.client(publication(1, 3), bodies(3))
    answer(room, "rails/#", OTHER_TOPIC)
    assert room.heard(Accepted) == [Accepted(*APP, ITEM, 2, 1, 3, unwanted=True)]
    assert room.sent(Deposit) == []
    assert room.topics.statistics()["unwanted"] == 1


def test_what_nobody_wants_and_nobody_waits_for_is_not_acknowledged() -> None:
    room = informed()
    room.client(publication(2, stream=EXPRESS, flags=0), bodies())
    room.client(publication(3, stream=EXPRESS, flags=RELIABLE), bodies())
    assert [head.first for head in room.heard(Accepted)] == [3]


def test_retained_message_is_always_sent_on() -> None:
    room = informed()
    room.client(publication(2, flags=RELIABLE | RETAIN), bodies())
    assert len(room.sent(Deposit)) == 1


def test_ordered_stream_steps_over_what_was_left_out() -> None:
    room = informed(TOPIC)
    for first, topic in ((2, OTHER_TOPIC), (3, OTHER_TOPIC), (4, TOPIC), (5, TOPIC), (6, OTHER_TOPIC), (7, TOPIC)):
        room.client(publication(first, topic=topic), bodies())
    assert [(head.first, head.follows) for head in room.sent(Deposit)] == [(4, 1), (5, 4), (7, 5)]


def test_batch_that_was_refused_and_then_left_out_is_stepped_over() -> None:
    room = informed(TOPIC)
    room.client(publication(2, topic=OTHER_TOPIC), bodies())
    for first in (3, 4):
        room.client(publication(first), bodies())
    room.broker(Rejected(*APP, ITEM, ORDERED, 3, 3, int(Code.NO_QUORUM), "too few copies"))
    assert [head.first for head in room.heard(Rejected)] == [3, 4]
    room.broker(Summary(ITEM, 3, 1, (OTHER_TOPIC,), 0))
    for first in (3, 4):
        room.client(publication(first, follows=first - 1 if first > 3 else 0), bodies())
    room.links.take()
    room.client(publication(5, topic=OTHER_TOPIC), bodies())
    assert [(head.first, head.follows) for head in room.sent(Deposit)] == [(5, 0)]


def test_client_may_say_again_what_a_batch_on_its_way_follows() -> None:
    room = informed("roads/*", TOPIC)
    room.broker(Accepted(*APP, ITEM, ORDERED, 1, 1))
    for first in (2, 3):
        room.client(publication(first), bodies())
    room.broker(Rejected(*APP, ITEM, ORDERED, 2, 2, int(Code.NO_QUORUM), "too few copies"))
    room.client(publication(4, topic=OTHER_TOPIC), bodies())
    room.broker(Summary(ITEM, 3, 1, (OTHER_TOPIC,), 0))
    for first in (2, 3):
        room.client(publication(first, follows=0 if first == 2 else 2), bodies())
    assert [head.last for head in room.heard(Accepted)] == [1, 2, 3], "nobody wants the last two any more"
    room.client(publication(4, topic=OTHER_TOPIC, follows=0), bodies())
    room.links.take()
    room.broker(Resend(*APP, ITEM, ORDERED, 1))
    assert [(head.first, head.follows) for head in room.sent(Deposit)] == [(4, 0)]


def test_batch_that_is_on_its_way_is_not_left_out_when_it_comes_again() -> None:
    room = informed(TOPIC)
    room.client(publication(2), bodies())
    room.broker(Summary(ITEM, 3, 1, (), 0))
    room.client(publication(2), bodies())
    assert room.heard(Accepted) == []
    room.broker(Accepted(*APP, ITEM, ORDERED, 2, 2))
    assert [head.unwanted for head in room.heard(Accepted)] == [False]


def test_unordered_streams_are_left_as_they_are() -> None:
    room = informed(TOPIC)
    room.client(publication(2, topic=OTHER_TOPIC, stream=RECOVERABLE), bodies())
    room.client(publication(3, stream=RECOVERABLE), bodies())
    assert [(head.first, head.follows) for head in room.sent(Deposit)] == [(3, 2)]


def test_batch_goes_anyway_when_nobody_answers() -> None:
    room = source()
    room.client(publication(1), bodies())
    room.pass_time(PATIENCE - 1)
    assert room.sent(Deposit) == []
    room.pass_time(1)
    assert len(room.sent(Deposit)) == 1


def test_waiting_batches_keep_their_order() -> None:
    room = source()
    for first in (1, 2, 3):
        room.client(publication(first), bodies())
    answer(room, "#")
    assert [head.first for head in room.sent(Deposit)] == [1, 2, 3]


def test_summary_is_confirmed_to_the_item() -> None:
    room = source()
    room.client(publication(1), bodies())
    answer(room, "#", version=7)
    assert room.sent(SummaryHeld) == [SummaryHeld(ITEM, 3, 7, room.desk.office.me)]


def test_lease_is_renewed_before_it_ends_without_waiting() -> None:
    room = informed(TOPIC)
    room.links.take()
    room.pass_time(LEASE - PATIENCE + 1)
    assert len(room.sent(AskInterest)) == 1
    room.client(publication(2), bodies())
    assert [head.first for head in room.sent(Deposit)][-1] == 2


def test_nothing_is_left_out_after_the_lease() -> None:
    room = informed()
    room.pass_time(LEASE)
    room.client(publication(2), bodies())
    assert room.heard(Accepted) == []
    room.pass_time(PATIENCE)
    assert len(room.sent(Deposit)) == 1


def test_interest_that_grows_counts_at_once() -> None:
    room = informed()
    room.broker(Summary(ITEM, 3, 1, ("roads/#",), 0))
    room.client(publication(2), bodies())
    assert len(room.sent(Deposit)) == 1


def test_older_summary_changes_nothing() -> None:
    room = informed("roads/#")
    for epoch, version in ((2, 9), (3, -1)):
        room.broker(Summary(ITEM, epoch, version, (), LEASE))
    room.client(publication(2), bodies())
    assert len(room.sent(Deposit)) == 1


def test_summary_of_another_owner_counts_whatever_its_version() -> None:
    room = informed("roads/#")
    room.broker(Summary(ITEM, 4, 0, (), 0))
    room.client(publication(2), bodies())
    assert room.sent(Deposit) == []


def test_news_while_a_question_is_under_way_make_no_lease_longer() -> None:
    room = informed()
    room.pass_time(LEASE - PATIENCE + 1)
    room.client(publication(2), bodies())
    assert len(room.sent(AskInterest)) == 1, "which is lost"
    room.broker(Summary(ITEM, 3, 1, (), LEASE))
    room.pass_time(PATIENCE - 1)
    room.said.clear()
    room.client(publication(3), bodies())
    assert room.heard(Accepted) == [], "its owner takes us for one that goes by nothing any more"


def test_answer_to_an_earlier_question_makes_no_lease_longer() -> None:
    room = source()
    room.client(publication(1), bodies())
    (first,) = room.sent(AskInterest)
    room.pass_time(PATIENCE)
    room.client(publication(2), bodies())
    room.said.clear()
    room.broker(Summary(ITEM, 3, 0, (), LEASE, first.asked))
    assert room.heard(Accepted) == []
    answer(room)
    assert [head.first for head in room.heard(Accepted)] == [2]


@pytest.mark.parametrize("lease", [0, -5, 2**63])
def test_lease_that_makes_no_sense_neither_stops_nor_lasts(lease: int) -> None:
    room = source()
    room.client(publication(1), bodies())
    answer(room, lease=lease)
    room.pass_time(2 * LEASE)
    room.said.clear()
    room.client(publication(2), bodies())
    room.pass_time(PATIENCE)
    assert [head.first for head in room.sent(Deposit)][-1] == 2


def test_client_that_goes_takes_what_waits_with_it() -> None:
    room = source()
    room.client(publication(1), bodies())
    room.topics.on_client_gone(CONN, APP)
    answer(room, "#")
    assert room.sent(Deposit) == []
    assert room.topics._publishing._waiting_bytes == 0


def test_too_much_that_waits_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.topics.publishing.PUBLISHING_BYTES_MAX", 1000)
    room = source()
    room.client(publication(1), bodies())
    room.client(publication(2), bodies(size=2000))
    assert [head.first for head in room.sent(Deposit)] == [1, 2]


FAULTS: list[tuple[str, dict[str, object]]] = [
    ("topic", {"published": Published("roads//a1")}),
    ("topic", {"published": Published("")}),
    ("topic", {"published": Published("roads/*")}),
    ("belongs to", {"published": Published("rails/x")}),
    ("item", {"dest": "orders"}),
    ("item", {"dest": "causeway/topics/99"}),
    ("published.source", {"published": Published(TOPIC, "somebody")}),
    ("first", {"first": 2**64 - 1}),
    ("count", {"count": -5}),
    ("count", {"count": 2**64 - 1}),
    ("follows", {"follows": 9}),
    ("priority", {"priority": 10}),
    ("body", {"count": 2}),
]


@pytest.mark.parametrize("wanted", [True, False], ids=["wanted", "unwanted"])
@pytest.mark.parametrize(("field", "changes"), FAULTS, ids=[f"{at}-{name}" for at, (name, _) in enumerate(FAULTS)])
def test_publication_that_makes_no_sense_is_refused_whether_anybody_wants_it_or_not(
    field: str, changes: dict[str, object], wanted: bool
) -> None:
    room = informed(*(["roads/#", "rails/#"] if wanted else []))
    head: Message = msgspec.structs.replace(publication(2), **changes)
    room.client(head, bodies())
    (refusal,) = room.heard(Rejected)
    assert field in refusal.detail
    assert room.heard(Accepted) == []


def test_publisher_may_come_again_with_the_same_batch() -> None:
    room = informed("roads/#")
    room.client(publication(2), bodies())
    room.client(publication(2), bodies())
    room.pass_time(SECOND)
    assert {head.first for head in room.sent(Deposit)} == {1, 2}
