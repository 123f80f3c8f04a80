"""Outages are measured from successful operations, per application, around a moment."""

from __future__ import annotations

from causeway.testing.service import ServiceLog
from causeway.types import MILLISECOND, SECOND


def test_outage_is_the_longest_gap_of_any_lane_that_touches_the_moment() -> None:
    log = ServiceLog()
    for at in (0, 100, 900, 1000):
        log.succeeded("billing", "send", at * MILLISECOND)
    for at in (0, 300, 950):
        log.succeeded("billing", "receive", at * MILLISECOND)
    [outage] = log.outages(200 * MILLISECOND, 500 * MILLISECOND)
    assert outage.application == "billing"
    assert outage.gap == 800 * MILLISECOND


def test_outage_ignores_gaps_before_and_after_the_moment() -> None:
    log = ServiceLog()
    for at in (0, 3, 4, 9):
        log.succeeded("billing", "send", at * SECOND)
    [outage] = log.outages(3 * SECOND + 1, 4 * SECOND - 1)
    assert outage.gap == 1 * SECOND


def test_outage_does_not_blame_the_time_an_application_was_away_by_its_own_will() -> None:
    log = ServiceLog()
    log.succeeded("billing", "send", 0)
    log.succeeded("billing", "send", 10 * MILLISECOND)
    log.paused("billing")
    log.succeeded("billing", "send", 5 * SECOND)
    [outage] = log.outages(0, 5 * SECOND)
    assert outage.gap == 10 * MILLISECOND


def test_outage_tells_the_longest_wait_for_an_acknowledgement() -> None:
    log = ServiceLog()
    log.waited("billing", 0, 20 * MILLISECOND)
    log.waited("billing", 1 * SECOND, 1 * SECOND + 700 * MILLISECOND)
    log.waited("orders", 0, 6 * MILLISECOND)
    billing, orders = log.outages(0, 2 * SECOND)
    assert (billing.application, billing.wait) == ("billing", 700 * MILLISECOND)
    assert (orders.application, orders.wait, orders.gap) == ("orders", 6 * MILLISECOND, 0)
