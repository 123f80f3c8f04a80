"""A broker has failed when our link is down and not only ours; those that fail together are found together."""

from __future__ import annotations

from causeway.core.agents.failures import ALONE, DEATHS_KEPT, FLAP_SPAN, SETTLE, TOGETHER, AgentFailures
from causeway.types import SECOND, BrokerId
from tests.unit.core.agents.domain import id_of

A, B, C = id_of("a"), id_of("b"), id_of("c")
NOW = 100 * SECOND


def confirmed(*brokers: BrokerId, at: int = NOW, failures: AgentFailures | None = None) -> AgentFailures:
    """Brokers that we and another one have lost."""
    failures = failures or AgentFailures(id_of("me"))
    for broker in brokers:
        failures.lost(broker, at)
        failures.reported(broker, C)
    return failures


def test_broker_that_two_have_lost_has_failed_after_a_moment_and_is_named_once() -> None:
    failures = confirmed(A)
    assert failures.next_look() == NOW + SETTLE
    assert failures.judge(NOW + SETTLE - 1, alone=False) == []
    assert failures.judge(NOW + SETTLE, alone=False) == [A]
    assert failures.judge(NOW + 2 * SETTLE, alone=False) == []
    assert (failures.has_failed(A), failures.failed(), failures.witnesses(A)) == (True, [A], [C])
    assert failures.next_look() is None


def test_link_that_only_we_lost_is_no_failure() -> None:
    failures = AgentFailures(id_of("me"))
    failures.lost(A, NOW)
    assert failures.judge(NOW + 60 * SECOND, alone=False) == []
    assert failures.next_look() is None


def test_link_that_only_another_lost_is_no_failure() -> None:
    failures = AgentFailures(id_of("me"))
    assert failures.reported(A, C)
    assert not failures.reported(A, C)
    assert failures.judge(NOW, alone=True) == []


def test_report_that_is_withdrawn_confirms_nothing() -> None:
    failures = confirmed(A)
    failures.withdrawn(A, C)
    assert failures.judge(NOW + SECOND, alone=False) == []


def test_where_nobody_else_is_it_takes_longer() -> None:
    failures = AgentFailures(id_of("me"))
    failures.lost(A, NOW)
    assert failures.judge(NOW + ALONE - 1, alone=True) == []
    assert failures.next_look() == NOW + ALONE
    assert failures.judge(NOW + ALONE, alone=True) == [A]


def test_those_that_fail_together_are_found_together() -> None:
    failures = confirmed(A)
    confirmed(B, at=NOW + TOGETHER, failures=failures)
    confirmed(id_of("later"), at=NOW + TOGETHER + 1, failures=failures)
    assert failures.judge(NOW + SETTLE, alone=False) == [A, B]
    assert failures.next_look() == NOW + TOGETHER + 1 + SETTLE


def test_link_lost_again_while_it_is_down_does_not_begin_anew() -> None:
    failures = confirmed(A)
    failures.lost(A, NOW + SETTLE - 1)
    assert failures.judge(NOW + SETTLE, alone=False) == [A]


def test_broker_that_is_back_has_not_failed_and_needs_new_reports() -> None:
    failures = confirmed(A)
    assert not failures.found(A, NOW + 1)
    assert failures.judge(NOW + SECOND, alone=False) == []
    confirmed(A, at=NOW + SECOND, failures=failures)
    failures.judge(NOW + 2 * SECOND, alone=False)
    assert failures.found(A, NOW + 3 * SECOND)
    failures.lost(A, NOW + 4 * SECOND)
    assert failures.judge(NOW + 9 * SECOND, alone=False) == []


def die(failures: AgentFailures, at: int) -> None:
    confirmed(A, at=at, failures=failures)
    failures.judge(at + SETTLE, alone=False)
    failures.found(A, at + SETTLE)


def test_who_failed_twice_within_a_minute_flaps_until_the_minute_is_over() -> None:
    failures = AgentFailures(id_of("me"))
    die(failures, NOW)
    assert not failures.flaps(A, NOW + SECOND)
    die(failures, NOW + SECOND)
    first = NOW + SETTLE
    assert failures.flaps(A, first + FLAP_SPAN - 1)
    assert not failures.flaps(A, first + FLAP_SPAN)
    assert not failures.flaps(B, NOW + SECOND)


def test_deaths_are_kept_up_to_a_bound() -> None:
    failures = AgentFailures(id_of("me"))
    for number in range(3 * DEATHS_KEPT):
        die(failures, NOW + number * SECOND)
    assert failures.deaths(A, NOW + 3 * DEATHS_KEPT * SECOND) == DEATHS_KEPT


def test_gone_longest_first() -> None:
    failures = confirmed(B)
    confirmed(A, at=NOW - SECOND, failures=failures)
    failures.judge(NOW + SECOND, alone=False)
    assert failures.gone() == [A, B]


def test_forgotten_broker_is_as_one_that_was_never_there() -> None:
    failures = confirmed(A)
    failures.judge(NOW + SECOND, alone=False)
    failures.reported(B, A)
    failures.forget(A)
    assert (failures.has_failed(A), failures.witnesses(A), failures.witnesses(B)) == (False, [], [])
    assert failures.deaths(A, NOW + SECOND) == 0
