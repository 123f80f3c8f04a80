"""Publishing on critical topics: two links, the same ids on both, and what counts as acknowledged."""

from __future__ import annotations

import pytest

from causeway.client.batches import Ticket
from causeway.client.outcomes import SendDone
from causeway.core.messages import Accepted, Deposit, ItemPlaced, Published
from causeway.errors import DeadlineExceeded
from causeway.topics.critical import critical_item
from causeway.types import SECOND, Flag, ServiceClass, half_of, key_of
from tests.unit.client.stage import Stage, peer

FIRE = "critical/fire"
ITEMS = tuple(critical_item(FIRE, way) for way in (0, 1))


def publish(stage: Stage, topic: str = FIRE, **how: object) -> Ticket:
    settings: dict[str, object] = {"service": ServiceClass.TRANSACTIONAL, "published": True, **how}
    ticket = stage.session.send(topic, b"!", **settings)  # type: ignore[arg-type]
    stage.turn()
    return ticket


def begun() -> tuple[Stage, str, str]:
    """A session with both links; which broker takes way 0, and which way 1."""
    stage = Stage(addresses=(("b1", 7400),))
    home = stage.open()
    stage.accept(home, stage_deposits(stage, publish(stage))[0])
    stage.accept(home, stage.said(Deposit, home)[1])
    stage.open("b2")
    stage.turn()
    stage.take_sent()
    assert (half_of(key_of("b1")), half_of(key_of("b2"))) == (1, 0)
    return stage, "b2", "b1"


def stage_deposits(stage: Stage, ticket: Ticket) -> list[Deposit]:
    return [head for head in stage.said(Deposit) if head.first == ticket.batch.first]


def test_first_message_leaves_both_ways_at_once_and_asks_for_a_second_link() -> None:
    stage = Stage(addresses=(("b1", 7400),))
    home = stage.open()
    publish(stage)
    assert [head.dest for head in stage.said(Deposit, home)] == list(ITEMS)
    assert [dial.host for dial in stage.dials.values()] == ["b2"]  # on the other side of the ring; b3 is on ours


def test_second_link_leads_to_the_owner_of_the_other_way_if_that_is_known() -> None:
    stage = Stage(addresses=(("b1", 7400),))
    home = stage.open()
    owner = next(name for name in map("b{}".format, range(4, 99)) if half_of(key_of(name)) == 0)
    stage.receive(home, ItemPlaced(ITEMS[0], 5, peer(owner), peer("b2")))
    publish(stage)
    assert [dial.host for dial in stage.dials.values()] == [owner]  # and not b2, which is on that side too


def test_ordinary_topics_need_no_second_link() -> None:
    stage = Stage(addresses=(("b1", 7400),))
    stage.open()
    publish(stage, "roads/a1")
    assert len(stage.said(Deposit)) == 1
    assert stage.dials == {}


def test_each_way_has_its_link_and_the_same_ids() -> None:
    stage, zero, one = begun()
    ticket = publish(stage)
    (first,), (second,) = stage.said(Deposit, zero), stage.said(Deposit, one)
    assert (first.dest, second.dest) == ITEMS
    assert (first.first, first.count, first.follows) == (second.first, second.count, second.follows)
    assert first.published == second.published == Published(FIRE)
    assert ticket.message_id.dest == ITEMS[0]


@pytest.mark.parametrize("way", [0, 1])
def test_either_way_acknowledges_and_the_other_one_goes_on(way: int) -> None:
    stage, *brokers = begun()
    ticket = publish(stage)
    (answered,), (other,) = stage.said(Deposit, brokers[way]), stage.said(Deposit, brokers[1 - way])
    stage.accept(brokers[way], answered)
    assert ticket.done
    assert ticket.error is None
    assert stage.session.unresolved == 1
    stage.accept(brokers[1 - way], other)
    assert stage.session.unresolved == 0
    assert {outcome.batch for outcome in stage.outcomes(SendDone)} >= {ticket.batch}


def test_way_1_alone_is_not_enough_when_somebody_has_way_0_alone() -> None:
    stage, zero, one = begun()
    ticket = publish(stage)
    (head,) = stage.said(Deposit, one)
    whose = (head.source, head.incarnation, head.dest, head.stream)
    stage.receive(one, Accepted(*whose, head.first, head.first, unwanted=True))
    assert not ticket.done
    stage.accept(zero, stage.said(Deposit, zero)[0])
    assert ticket.done


def test_what_is_retained_and_confirmed_is_the_business_of_way_0() -> None:
    stage, zero, one = begun()
    ticket = publish(stage, retain=True, confirm=True)
    assert stage.said(Deposit, zero)[0].flags & (Flag.RETAIN | Flag.CONFIRM) == Flag.RETAIN | Flag.CONFIRM
    (copy,) = stage.said(Deposit, one)
    assert not copy.flags & (Flag.RETAIN | Flag.CONFIRM)
    stage.accept(one, copy)
    assert not ticket.done


def test_lost_link_leaves_the_other_way_alone() -> None:
    stage, zero, one = begun()
    publish(stage)
    stage.take_sent()
    stage.cut(zero)
    assert stage.said(Deposit, one)[0].dest == ITEMS[0]  # for want of a better one at once through our home
    assert len(stage.said(Deposit, one)) == 1


def test_lost_home_is_replaced_and_a_new_second_link_is_sought() -> None:
    stage, zero, one = begun()
    publish(stage)
    stage.take_sent()
    stage.cut(one)
    assert stage.session.home is not None
    assert stage.session.home.name == zero
    assert [head.dest for head in stage.said(Deposit, zero)] == [ITEMS[1]]
    assert [dial.host for dial in stage.dials.values()] == ["b3"]  # the other side again, and not the one that was lost


def test_time_that_is_over_is_told_and_both_ways_go_on() -> None:
    stage, zero, one = begun()
    ticket = publish(stage, timeout=SECOND)
    stage.sleep(2 * SECOND)
    assert isinstance(ticket.error, DeadlineExceeded)
    assert stage.session.unresolved == 2
    stage.accept(zero, stage.said(Deposit, zero)[0])
    stage.accept(one, stage.said(Deposit, one)[0])
    assert stage.session.unresolved == 0
    assert isinstance(ticket.error, DeadlineExceeded)


def test_time_to_live_ends_both() -> None:
    stage, _, _ = begun()
    publish(stage, ttl=SECOND)
    stage.sleep(2 * SECOND)
    assert stage.session.unresolved == 0


def test_kept_batch_is_sent_both_ways_by_the_next_life_until_both_have_it() -> None:
    rows: dict[bytes, bytes] = {}
    stage = Stage(rows, keep=True, addresses=(("b1", 7400),))
    stage.turn()
    stage.store()
    stage.open()
    publish(stage)
    stage.store()
    stage.accept("b1", stage.said(Deposit)[0])
    stage.sleep(SECOND)
    stage.store()
    later = Stage(rows, keep=True, addresses=(("b1", 7400),))
    later.turn()
    later.store()
    later.open()
    assert [head.dest for head in later.said(Deposit)] == list(ITEMS)
    for head in later.said(Deposit):
        later.accept("b1", head)
    later.sleep(SECOND)
    later.store()
    assert not any(key.startswith(b"b") for key in rows)
