"""What source brokers are told, and when a subscription may count on it."""

from __future__ import annotations

import pytest

from causeway.core.messages import AskInterest, Interest, Register, Registered, Summary, SummaryHeld
from causeway.core.topics.leases import LEASE, SURE_FOR
from tests.unit.core.mail.neighbours import OTHER, THIRD
from tests.unit.core.topics.newsroom import AWAY, ITEM, Newsroom


def owner(*, epoch: int = 3) -> Newsroom:
    room = Newsroom()
    room.own(ITEM, epoch=epoch)
    return room


def test_who_asks_is_told_all_patterns_and_for_how_long() -> None:
    room = owner()
    room.register("roads/#")
    room.register("roads/b7", mailbox="sub/x/1")
    (summary,) = room.ask(asked=77)
    assert (summary.epoch, summary.patterns, summary.lease, summary.asked) == (3, ("roads/#",), LEASE, 77)


def test_registration_is_answered_at_once_when_nobody_goes_by_a_summary() -> None:
    room = owner()
    (answer,) = room.register()
    assert (answer.version, answer.code) == (1, 0)


def test_registration_is_answered_when_every_holder_has_confirmed() -> None:
    room = owner()
    room.ask()
    room.ask(THIRD)
    assert room.register() == []
    (news, again) = room.sent(Summary)
    assert news.patterns == ("roads/#",)
    assert (news.lease, news.asked) == (0, -1), "no lease becomes longer by news"
    room.broker(SummaryHeld(ITEM, news.epoch, news.version, OTHER.id))
    assert room.sent(Registered) == []
    room.broker(SummaryHeld(ITEM, again.epoch, again.version, THIRD.id), peer=THIRD)
    assert len(room.sent(Registered)) == 1


def test_registration_is_answered_when_the_lease_of_a_silent_holder_is_over() -> None:
    room = owner()
    room.ask()
    room.register()
    room.pass_time(LEASE - 1)
    assert room.sent(Registered) == []
    room.pass_time(1)
    assert len(room.sent(Registered)) == 1


def test_confirmation_of_an_older_version_or_epoch_does_not_count() -> None:
    room = owner()
    (first,) = room.ask()
    room.register()
    (news,) = room.sent(Summary)
    for head in (
        SummaryHeld(ITEM, first.epoch, first.version, OTHER.id),
        SummaryHeld(ITEM, first.epoch - 1, news.version, OTHER.id),
        SummaryHeld(ITEM, first.epoch, news.version, THIRD.id),
    ):
        room.broker(head)
    assert room.sent(Registered) == []


def test_pattern_that_is_covered_needs_no_news() -> None:
    room = owner()
    room.register("roads/#")
    (summary,) = room.ask()
    room.broker(SummaryHeld(ITEM, summary.epoch, summary.version, OTHER.id))
    assert len(room.register("roads/b7", mailbox="sub/x/1")) == 1
    assert room.sent(Summary) == []


def test_withdrawal_shrinks_the_summary() -> None:
    room = owner()
    room.register()
    room.register(None, version=2)
    (summary,) = room.ask()
    assert summary.patterns == ()


def test_new_owner_waits_for_the_leases_of_the_former_one() -> None:
    room = owner(epoch=8)
    assert room.register() == []
    room.pass_time(LEASE)
    assert len(room.sent(Registered)) == 1


def test_registration_on_all_copies_counts_for_the_new_owner_of_an_item() -> None:
    room = owner()
    room.register("roads/#")
    room.take_over(ITEM)
    (summary,) = room.ask()
    assert (summary.epoch, summary.patterns) == (4, ("roads/#",))


def test_nothing_is_promised_before_all_copies_have_followed() -> None:
    room = owner()
    room.broker(AskInterest(ITEM, OTHER.id, 1))
    room.broker(AskInterest(ITEM, THIRD.id, 2), peer=THIRD)
    assert room.sent(Summary) == [], "a former owner that does not know it would promise something here"
    assert len(room.groups.operations) == 1
    room.commit()
    assert [summary.asked for summary in room.sent(Summary)] == [1, 2]


def test_who_was_just_followed_promises_the_rest_of_that_time() -> None:
    room = owner()
    room.ask()
    room.pass_time(SURE_FOR - 1)
    room.broker(AskInterest(ITEM, OTHER.id, 5))
    (summary,) = room.sent(Summary)
    assert summary.lease == LEASE - SURE_FOR + 1
    room.pass_time(1)
    room.broker(AskInterest(ITEM, OTHER.id, 6))
    assert room.sent(Summary) == []


def test_item_that_is_lost_meanwhile_promises_nothing() -> None:
    room = owner()
    room.broker(AskInterest(ITEM, OTHER.id, 1))
    room.lose(ITEM)
    room.commit()
    assert room.sent(Summary) == []


def test_summary_of_very_many_subscriptions_is_never_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.topics.leases.SUMMARY_RECOUNTED_MAX", 2)
    room = owner()
    for number in range(4):
        room.register(f"roads/r{number}", mailbox=f"sub/x/{number}")
    room.register("roads/other", mailbox="sub/x/1", version=9)
    (summary,) = room.ask()
    assert set(summary.patterns) >= {"roads/r0", "roads/r2", "roads/r3", "roads/other"}
    room.take_over(ITEM)
    (summary,) = room.ask()
    assert set(summary.patterns) == {"roads/r0", "roads/r2", "roads/r3", "roads/other"}


def test_holders_whose_lease_is_over_make_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.topics.leases.SUMMARY_HOLDERS_MAX", 1)
    room = owner()
    assert len(room.ask()) == 1
    assert room.ask(THIRD) == [], "it sends everything, then"
    room.pass_time(LEASE)
    assert len(room.ask(THIRD)) == 1


def test_each_question_prolongs_what_a_registration_waits_for() -> None:
    room = owner()
    room.ask()
    room.pass_time(LEASE // 2)
    room.ask()
    room.register()
    room.pass_time(LEASE // 2)
    assert room.sent(Registered) == []
    room.pass_time(LEASE // 2)
    assert len(room.sent(Registered)) == 1


def test_repeated_registration_is_answered_each_time() -> None:
    room = owner()
    room.ask()
    room.register()
    room.broker(Register(ITEM, AWAY, 1, Interest("roads/#"), OTHER.id))
    room.pass_time(LEASE)
    assert len(room.sent(Registered)) == 2
