"""Real applications over a few real brokers: every kind arrives, takes the expected frames, and learns its route."""

from __future__ import annotations

import pytest

from causeway.evaluate.broker_churn import ChurnCase, measure_churn
from causeway.evaluate.broker_mail import BrokerMail
from causeway.evaluate.broker_rings import JoinedRing, join
from causeway.evaluate.closed_forms import CAUSEWAY, KINDS, MSMQ, MailKind, frames
from causeway.evaluate.message_exchanges import RingExchange
from causeway.evaluate.site_distances import SiteDistances
from causeway.evaluate.site_lines import SiteLines
from causeway.evaluate.transactional_streams import StreamCase, measure_streams
from causeway.types import MILLISECOND

DISTANCES = SiteDistances(0, 15 * MILLISECOND)


@pytest.fixture(scope="module")
def mail() -> BrokerMail:
    made = BrokerMail(JoinedRing(join(40, DISTANCES, 0)), DISTANCES, 0, 6)
    made.let_learn(learn=False)
    for _ in range(2):
        made.warm_up()
    return made


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_brokers_send_what_the_exchange_sends_and_take_as_long(mail: BrokerMail, kind: MailKind) -> None:
    found = mail.measure(kind)
    exchange = RingExchange(SiteLines(DISTANCES), mail.ring, CAUSEWAY)
    trips = [exchange.send(kind, sender, receiver) for sender, receiver in mail.expected()]
    assert found.frames == pytest.approx(sum(trip.frames for trip in trips) / len(trips), abs=0.2)
    if kind.online:
        assert sum(found.one_way) == pytest.approx(sum(trip.one_way or 0 for trip in trips), rel=0.03)
    if kind.reliable:
        assert sum(found.round_trip) == pytest.approx(sum(trip.round_trip or 0 for trip in trips), rel=0.03)
    else:
        assert found.round_trip == []
    assert 900 < found.least <= found.greatest < 1200


def test_owners_that_may_tell_make_every_way_one_hop(mail: BrokerMail) -> None:
    there = KINDS[4]
    before = mail.measure(there)
    mail.let_learn(learn=True)
    for _ in range(2):
        mail.warm_up()
    after = mail.measure(there)
    assert after.frames == frames(CAUSEWAY, there, 1) < before.frames
    mail.times.finish()


def test_window_is_many_times_faster_than_waiting_and_bound_by_the_line() -> None:
    (cost,) = measure_streams(StreamCase(24, 0, 20))
    assert cost.line_per_s > cost.window_per_s > 5 * cost.waiting_per_s


def test_failing_brokers_delay_messages_until_they_are_given_up_and_lose_none() -> None:
    case = ChurnCase(24, 0, failures=2, apart_s=14, down_s=12)
    ours, theirs = measure_churn(case)
    assert (ours.system, theirs.system) == (CAUSEWAY, MSMQ)
    assert ours.lost == theirs.lost == 0
    assert ours.messages == theirs.messages
    assert ours.longest_ms < 1000 * case.down_s
