"""The owner's side: answers wait for the copies, nothing is written without leave, everybody is told when it moves."""

from __future__ import annotations

import pytest

from causeway.core.events import OwnershipLost, PageLoaded
from causeway.core.mail.office import PASS_FACTOR
from causeway.core.messages import (
    Accepted,
    Attach,
    Attached,
    Config,
    Confirmed,
    Deliver,
    Detach,
    Message,
    Moved,
    Rejected,
    Resend,
    Return,
    Settle,
    Settled,
)
from causeway.errors import Code
from causeway.store.base import Put, Row
from causeway.trace import Step
from causeway.types import SECOND, VOLATILE_FROM, key_of
from tests.unit.core.mail.neighbours import ME, OTHER, at, config_of, heads
from tests.unit.core.mail.owned import CONN, Stage, attach, delivered, gained
from tests.unit.core.mail.postroom import (
    CONFIRM,
    EXPRESS,
    NAME,
    ORIGIN,
    RELIABLE,
    TRANSACTIONAL,
    body_of,
    deposit,
    transaction,
)

KEY = key_of(NAME)


# Batches --------------------------------------------------------------------------------------------------------
def test_batch_is_acknowledged_and_delivered_only_when_it_is_on_all_copies() -> None:
    stage = Stage()
    attach(stage.office)
    assert stage.deposit(deposit(1, 3)) == []
    assert delivered(stage.flush()) == []
    assert delivered(stage.commit()) == [1, 2, 3]
    (answer,) = stage.courier.answers
    assert answer == (ORIGIN, Accepted("a", 1, NAME, 1, 1, 3))


def test_messages_are_counted_once_where_they_come_from_another_broker() -> None:
    stage = Stage()
    for head in (deposit(1, 3), deposit(4, origin=ME.id), deposit(5, 2, stream=EXPRESS)):
        stage.deposit(head)
    stage.groups.mine[KEY] = False
    assert not stage.office.deposit(at(), KEY, deposit(7), body_of(deposit(7)))
    assert stage.office.messages == 5, "own clients' are the outbox's, and what must wait comes again"


def test_trace_follows_a_batch_through_the_office() -> None:
    stage = Stage()
    attach(stage.office)
    turn = at()
    head = deposit(1)
    stage.office.deposit(turn, KEY, head, body_of(head))
    stage.office.deposit(turn, KEY, head, body_of(head))
    assert [record.step for record in turn.effects.traces] == [Step.DUPLICATE]
    assert [record.step for record in stage.commit().effects.traces] == [Step.STORED, Step.DELIVERED]


def test_unreliable_batch_is_stored_and_never_answered() -> None:
    stage = Stage()
    stage.deposit(deposit(1, flags=0))
    stage.commit()
    assert stage.courier.answers == []
    assert stage.office.boxes[KEY].mailbox.statistics().stored_count == 1


def test_batch_that_comes_again_is_acknowledged_with_its_original_and_not_before() -> None:
    stage = Stage()
    stage.deposit(deposit(1))
    assert stage.deposit(deposit(1)) == [], "the original is still on its way"
    stage.commit()
    assert stage.courier.said() == [Accepted("a", 1, NAME, 1, 1, 1)] * 2
    assert stage.deposit(deposit(1)) == [Accepted("a", 1, NAME, 1, 1, 1)]
    assert stage.groups.take() == [], "nothing is stored twice"


def test_gap_in_an_ordered_stream_is_asked_for() -> None:
    stage = Stage()
    assert stage.deposit(deposit(5, stream=TRANSACTIONAL, follows=4)) == [Resend("a", 1, NAME, TRANSACTIONAL, 0)]
    assert stage.groups.take() == []


def test_full_mailbox_refuses_by_name() -> None:
    stage = Stage(stored_bytes_max=20)
    stage.deposit(deposit(1))
    stage.commit()
    stage.courier.said()
    (answer,) = stage.deposit(deposit(2, 5))
    assert isinstance(answer, Rejected)
    assert answer.code == Code.MAILBOX_FULL
    assert NAME in answer.detail


def test_full_memory_refuses_express_by_name() -> None:
    stage = Stage(volatile_bytes_max=100)
    stage.deposit(deposit(1, 5, stream=EXPRESS))
    (answer,) = stage.deposit(deposit(6, 5, stream=EXPRESS))
    assert isinstance(answer, Rejected)
    assert answer.code == Code.MAILBOX_FULL


def test_express_is_acknowledged_from_memory_also_while_nothing_may_be_written() -> None:
    stage = Stage()
    stage.groups.mine[KEY] = False
    attach(stage.office)
    assert stage.deposit(deposit(1, 2, stream=EXPRESS)) == [Accepted("a", 1, NAME, EXPRESS, 1, 2)]
    assert delivered(stage.flush()) == [1, 2]


def test_batch_for_a_group_that_may_not_be_written_must_wait() -> None:
    stage = Stage()
    stage.groups.mine[KEY] = False
    head = deposit(1)
    assert not stage.office.deposit(at(), KEY, head, body_of(head))
    assert not stage.office.deposit(at(), key_of("elsewhere"), head, body_of(head))


def test_senders_of_unconfirmed_batches_are_told_when_nobody_can_acknowledge() -> None:
    stage = Stage()
    stage.deposit(deposit(1))
    stage.office.refuse_pending(at(), KEY, Code.NO_QUORUM, "b2 is away")
    (answer,) = stage.courier.said()
    assert isinstance(answer, Rejected)
    assert (answer.code, answer.detail) == (Code.NO_QUORUM, "b2 is away")
    stage.office.refuse_pending(at(), KEY, Code.NO_QUORUM, "b2 is away")
    assert stage.courier.said() == [], "once"


# Consumers ------------------------------------------------------------------------------------------------------
def test_settlement_is_answered_when_it_is_on_all_copies() -> None:
    stage = Stage()
    attach(stage.office)
    stage.deposit(deposit(1, 2, flags=RELIABLE | CONFIRM))
    stage.commit()
    stage.courier.said()
    turn = at()
    stage.office.settle(turn, CONN, Settle(NAME, 1, ((1, 2),)))
    assert heads(turn, CONN) == []
    assert heads(stage.commit(), CONN) == [Settled(NAME, 1, ((1, 2),))]
    assert stage.courier.said() == [Confirmed("a", 1, NAME, 1, 1, 2)]


def test_connection_may_consume_again_after_a_consumer_left_or_its_mailbox_moved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("causeway.core.mail.attendance.CONSUMERS_PER_CONNECTION_MAX", 1)
    stage = Stage()
    attach(stage.office)
    stage.office.detach(at(), CONN, Detach(NAME, 1))
    assert heads(attach(stage.office, consumer=2), CONN) == [Attached(NAME, 2)]
    stage.office.on_ownership_lost(at(), OwnershipLost(KEY, config_of(NAME, OTHER)))
    stage.office.on_ownership_gained(at(), gained(NAME))
    assert heads(attach(stage.office, consumer=3), CONN) == [Attached(NAME, 3)]


def test_settled_express_leaves_no_trace_on_disk_and_no_answer() -> None:
    stage = Stage()
    attach(stage.office)
    stage.deposit(deposit(1, stream=EXPRESS))
    stage.flush()
    turn = at()
    stage.office.settle(turn, CONN, Settle(NAME, 1, ((VOLATILE_FROM, VOLATILE_FROM),)))
    assert heads(turn, CONN) == []
    assert stage.groups.take() == []


def test_credit_is_bounded_from_both_sides() -> None:
    stage = Stage()
    attach(stage.office, credit=-5)
    stage.deposit(deposit(1, 3))
    assert delivered(stage.commit()) == [1], "a consumer may hold at least one message"


def test_connection_with_too_many_consumers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("causeway.core.mail.attendance.CONSUMERS_PER_CONNECTION_MAX", 1)
    stage = Stage()
    assert heads(attach(stage.office), CONN) == [Attached(NAME, 1)]
    (answer,) = heads(attach(stage.office, consumer=2), CONN)
    assert isinstance(answer, Moved)
    assert answer.code == Code.OVERLOADED


def test_consumer_that_attaches_again_gets_what_it_held_again() -> None:
    stage = Stage()
    attach(stage.office)
    stage.deposit(deposit(1, 2))
    assert delivered(stage.commit()) == [1, 2]
    attach(stage.office)
    assert delivered(stage.commit()) == [1, 2]
    stage.groups.mine[KEY] = False
    assert not stage.office.attach(at(), CONN, ("app", 1), Attach(NAME, 1, 10)), "taking back must outlive us: wait"


def alone(stage: Stage, conn: int, client: tuple[str, int]) -> list[Message]:
    """An exclusive consumer attaches; what it is told."""
    turn = at()
    assert stage.office.attach(turn, conn, client, Attach(NAME, 1, 10, exclusive=True))
    stage.office.flush(turn)
    return heads(turn, conn)


def test_an_exclusive_consumer_keeps_others_out_until_it_goes() -> None:
    stage = Stage()
    assert alone(stage, CONN, ("app", 1)) == [Attached(NAME, 1)]
    for answer in (*heads(attach(stage.office, 4, name="other"), 4), *alone(stage, 6, ("app", 2))):
        assert answer == Moved(NAME, None, Code.IN_USE, "'app' (incarnation 1) consumes from this mailbox alone")
    stage.office.on_client_gone(at(), CONN)
    assert heads(attach(stage.office, 4, name="other"), 4) == [Attached(NAME, 1)]
    (answer,) = alone(stage, CONN, ("app", 1))
    assert isinstance(answer, Moved)
    assert "'other' (incarnation 1)" in answer.detail


def test_an_exclusive_consumer_over_a_new_connection_takes_the_place_of_its_old_one() -> None:
    stage = Stage()
    alone(stage, CONN, ("app", 1))
    stage.deposit(deposit(1, 2))
    assert delivered(stage.commit()) == [1, 2]
    turn = at()
    stage.groups.mine[KEY] = False
    assert not stage.office.attach(turn, 4, ("app", 1), Attach(NAME, 1, 10, exclusive=True)), "taking back: wait"
    stage.groups.mine[KEY] = True
    told = alone(stage, 4, ("app", 1))
    assert told[0] == Attached(NAME, 1)
    assert [head.first for head in told if isinstance(head, Deliver)] == [1]
    assert stage.office.boxes[KEY].mailbox.consumers() == [(4, 1)]
    stage.office.on_client_gone(at(), CONN)
    assert stage.office.boxes[KEY].mailbox.consumers() == [(4, 1)]


def test_an_exclusive_consumer_that_vanished_while_nothing_may_be_written_keeps_nobody_out_for_ever() -> None:
    stage = Stage()
    alone(stage, CONN, ("app", 1))
    stage.groups.mine[KEY] = False
    stage.office.on_client_gone(at(), CONN)
    assert not stage.office.attach(at(), 4, ("other", 1), Attach(NAME, 1, 10)), "it waits"
    stage.groups.mine[KEY] = True
    assert heads(attach(stage.office, 4, name="other"), 4) == [Attached(NAME, 1)]


def test_messages_of_a_vanished_consumer_go_to_another() -> None:
    stage = Stage()
    attach(stage.office)
    stage.deposit(deposit(1, 2))
    stage.commit()
    attach(stage.office, 4, name="other")
    stage.flush()
    stage.office.on_client_gone(at(), CONN)
    assert delivered(stage.flush(), 4) == [1, 2]


def test_messages_of_a_consumer_that_vanished_while_nothing_may_be_written_wait_for_that() -> None:
    stage = Stage()
    attach(stage.office)
    stage.deposit(deposit(1, 2))
    stage.commit()
    attach(stage.office, 4, name="other")
    stage.groups.mine[KEY] = False
    stage.office.on_client_gone(at(), CONN)
    assert delivered(stage.flush(), 4) == []
    stage.groups.mine[KEY] = True
    stage.office.on_ownership_resumed(at(), KEY, config_of(NAME, ME))
    assert delivered(stage.flush(), 4) == [1, 2]
    assert not stage.office.boxes[KEY].gone


def test_express_goes_at_once_to_who_is_there_and_never_to_who_has_vanished() -> None:
    stage = Stage()
    attach(stage.office)
    stage.deposit(deposit(1, stream=EXPRESS, flags=0))
    stage.flush()
    turn = at()
    head = deposit(2, stream=EXPRESS, flags=0)
    assert stage.office.deposit(turn, KEY, head, body_of(head))
    assert delivered(turn) == [2], "before the turn ends"
    stage.groups.mine[KEY] = False
    stage.office.on_client_gone(at(), CONN)
    turn = at()
    head = deposit(3, stream=EXPRESS, flags=0)
    assert stage.office.deposit(turn, KEY, head, body_of(head))
    assert delivered(turn) == []
    assert delivered(stage.flush()) == []


def test_consumer_that_leaves_gives_everything_back() -> None:
    stage = Stage()
    attach(stage.office)
    stage.deposit(deposit(1))
    stage.commit()
    attach(stage.office, 4, name="other")
    stage.flush()
    stage.office.detach(at(), CONN, Detach(NAME, 1))
    assert delivered(stage.flush(), 4) == [1]


def test_message_given_back_comes_again_and_its_count_outlives_us() -> None:
    stage = Stage()
    attach(stage.office)
    stage.deposit(deposit(1))
    stage.commit()
    stage.office.give_back(at(), CONN, Return(NAME, 1, ((1, 1),)))
    assert len(stage.groups.take()) == 1
    assert delivered(stage.flush()) == [1]


def test_clogged_connection_is_served_when_it_has_drained() -> None:
    stage = Stage()
    attach(stage.office)
    stage.courier.full.add(CONN)
    stage.deposit(deposit(1))
    assert delivered(stage.commit()) == []
    stage.courier.full.clear()
    stage.office.on_drained(CONN)
    assert delivered(stage.flush()) == [1]


def test_confirmations_wait_for_the_application_whose_mailbox_it_is() -> None:
    stage = Stage()
    notice = Confirmed(NAME, 1, "x", 1, 1, 1)
    stage.office.boxes[KEY].notices.append(notice)
    assert notice not in heads(attach(stage.office, name="stranger"), CONN)
    assert notice in heads(attach(stage.office, consumer=2, name=NAME), CONN)
    assert notice not in heads(attach(stage.office, consumer=3, name=NAME), CONN)


def test_repeated_settlement_is_confirmed_no_sooner_than_the_one_it_repeats() -> None:
    stage = Stage()
    attach(stage.office)
    stage.deposit(deposit(1, 3))
    stage.commit()
    turn = at()
    for _ in range(2):
        stage.office.settle(turn, CONN, Settle(NAME, 1, ((1, 3),)))
    assert heads(turn, CONN) == []
    assert heads(stage.commit(), CONN) == [Settled(NAME, 1, ((1, 3),))] * 2
    stage.office.settle(turn, CONN, Settle(NAME, 1, ((1, 3),)))
    assert heads(turn, CONN) == [Settled(NAME, 1, ((1, 3),))], "nothing is on its way"


# Dead letters ---------------------------------------------------------------------------------------------------
def test_message_given_back_too_often_is_buried_and_then_settled() -> None:
    stage = Stage(deliveries_max=1)
    attach(stage.office)
    stage.deposit(deposit(1))
    stage.commit()
    stage.office.give_back(at(), CONN, Return(NAME, 1, ((1, 1),)))
    assert delivered(stage.commit()) == []
    ((mailbox, config, batch),) = stage.office.bury
    assert (mailbox, config.owner, batch.seq) == (NAME, ME.id, 1)
    stage.office.buried(at(), NAME, 1, 1)
    assert len(stage.groups.operations) == 1
    stage.commit()
    assert stage.office.boxes[KEY].mailbox.empty()


def test_message_is_buried_no_sooner_than_its_verdict_is_on_all_copies() -> None:
    stage = Stage(deliveries_max=1)
    attach(stage.office)
    stage.deposit(deposit(1))
    stage.commit()
    stage.office.give_back(at(), CONN, Return(NAME, 1, ((1, 1),)))
    assert stage.office.bury == []
    stage.commit()
    assert len(stage.office.bury) == 1


def test_settlement_of_a_dead_letter_is_answered_as_too_late_before_and_after_its_burial() -> None:
    stage = Stage(deliveries_max=1)
    attach(stage.office)
    stage.deposit(deposit(1, 3))
    stage.commit()
    stage.office.give_back(at(), CONN, Return(NAME, 1, ((2, 2),)))
    stage.office.settle(at(), CONN, Settle(NAME, 1, ((1, 2),)))
    assert heads(stage.commit(), CONN) == [Settled(NAME, 1, ((1, 1),), ((2, 2),))]
    stage.office.buried(at(), NAME, 2, 2)
    stage.office.settle(at(), CONN, Settle(NAME, 1, ((2, 3),)))
    assert heads(stage.commit(), CONN) == [Settled(NAME, 1, ((3, 3),), ((2, 2),))]


def test_burial_heard_while_nothing_may_be_written_is_settled_later() -> None:
    stage = Stage(deliveries_max=1)
    attach(stage.office)
    stage.deposit(deposit(1))
    stage.commit()
    stage.office.give_back(at(), CONN, Return(NAME, 1, ((1, 1),)))
    stage.commit()
    stage.groups.mine[KEY] = False
    stage.office.buried(at(), NAME, 1, 1)
    assert stage.office.next_deadline() is not None
    stage.deposit(deposit(9, stream=EXPRESS))
    assert delivered(stage.flush()) == [9], "others need not wait for it"
    stage.groups.mine[KEY] = True
    stage.fire()
    stage.commit()
    assert stage.office.boxes[KEY].mailbox.statistics().stored_count == 0


def test_burial_of_a_mailbox_that_moved_is_the_next_owners_affair() -> None:
    stage = Stage()
    stage.office.buried(at(), "elsewhere", 1, 1)
    assert stage.groups.take() == []


# Ownership ------------------------------------------------------------------------------------------------------
def test_new_owner_delivers_what_its_predecessor_stored() -> None:
    stage = Stage()
    stage.deposit(deposit(1, 2))
    rows = [
        Row(w.key, w.seq, w.value) for _, _, writes in stage.groups.operations for w in writes if isinstance(w, Put)
    ]
    heir = Stage()
    heir.office.on_ownership_gained(at(), gained(NAME, rows))
    attach(heir.office)
    assert delivered(heir.flush()) == [1, 2]


def rows_of(stage: Stage) -> list[Row]:
    """What the operations on their way write."""
    writes = [write for _, _, writes in stage.groups.operations for write in writes]
    return [Row(write.key, write.seq, write.value) for write in writes if isinstance(write, Put)]


def test_new_owner_buries_what_its_predecessor_condemned() -> None:
    stage = Stage(deliveries_max=1)
    attach(stage.office)
    stage.deposit(deposit(1))
    rows = rows_of(stage)
    stage.commit()
    stage.office.give_back(at(), CONN, Return(NAME, 1, ((1, 1),)))
    rows += rows_of(stage)
    heir = Stage(deliveries_max=1)
    heir.office.on_ownership_gained(at(), gained(NAME, rows))
    assert [batch.first for _, _, batch in heir.office.bury] == [1]


def test_new_owner_takes_up_expiry_and_transactions_in_doubt() -> None:
    stage = Stage()
    stage.deposit(deposit(1, ttl=3 * SECOND))
    heir = Stage()
    heir.office.on_ownership_gained(at(), gained(NAME, rows_of(stage)))
    heir.flush()
    assert heir.office.next_deadline() == 3 * SECOND
    one = deposit(1)
    stage = Stage()
    stage.office.on_prepare(at(), KEY, transaction(sends=[one]), body_of(one))
    heir = Stage()
    heir.office.on_ownership_gained(at(), gained(NAME, rows_of(stage)))
    assert heir.office.next_deadline() == heir.config.retry
    heir.fire()
    assert [mailbox for mailbox, _ in heir.courier.posted] == ["a"]


def test_lost_mailbox_has_no_timers_here() -> None:
    stage = Stage()
    stage.deposit(deposit(1, ttl=3 * SECOND))
    stage.commit()
    stage.office.on_ownership_lost(at(), OwnershipLost(KEY, config_of(NAME, OTHER)))
    assert stage.office.next_deadline() is None


def test_lost_mailbox_sends_consumers_and_senders_to_the_new_owner() -> None:
    stage = Stage()
    attach(stage.office)
    attach(stage.office, consumer=2)
    stage.deposit(deposit(1))
    turn = at()
    stage.office.on_ownership_lost(turn, OwnershipLost(KEY, config_of(NAME, OTHER, ME)))
    assert heads(turn, CONN) == [Moved(NAME, OTHER, Code.NOT_OWNER, "the mailbox has moved")], "once per connection"
    (answer,) = stage.courier.said()
    assert isinstance(answer, Rejected)
    assert answer.code == Code.NOT_OWNER


def test_loss_of_an_unknown_mailbox_is_nothing() -> None:
    stage = Stage()
    turn = at()
    stage.office.on_ownership_lost(turn, OwnershipLost(key_of("x"), config_of("x", OTHER)))
    stage.office.on_ownership_resumed(turn, key_of("x"), config_of("x", OTHER))
    assert turn.effects.sends == []


def test_new_epoch_is_kept_for_the_dead_letters() -> None:
    stage = Stage()
    config: Config = config_of(NAME, ME, epoch=9)
    stage.office.on_ownership_resumed(at(), KEY, config)
    assert stage.office.boxes[KEY].config == config


# Passing (memory mode) ------------------------------------------------------------------------------------------
def test_in_memory_mode_an_attended_batch_passes_and_is_acknowledged_as_delivered() -> None:
    stage = Stage(durability="memory")
    attach(stage.office)
    assert stage.deposit(deposit(1)) == []
    assert delivered(stage.flush()) == [1]
    assert stage.groups.take() == []
    stage.office.settle(at(), CONN, Settle(NAME, 1, ((VOLATILE_FROM, VOLATILE_FROM),)))
    assert stage.courier.said() == [Accepted("a", 1, NAME, 1, 1, 1, True)]


def test_in_memory_mode_a_passing_batch_is_timed_and_delivered_with_the_turn() -> None:
    stage = Stage(durability="memory")
    attach(stage.office)
    stage.flush()
    stage.deposit(deposit(1))
    assert stage.office.next_deadline() == PASS_FACTOR * stage.config.retry
    assert delivered(stage.flush()) == [1]


def test_in_memory_mode_the_sender_of_a_passing_batch_hears_that_it_moved() -> None:
    stage = Stage(durability="memory")
    attach(stage.office)
    stage.deposit(deposit(1))
    stage.office.on_ownership_lost(at(), OwnershipLost(KEY, config_of(NAME, OTHER)))
    assert [type(head) for head in stage.courier.said()] == [Rejected]


def test_in_memory_mode_everybody_who_waits_for_a_passing_batch_hears_that_it_is_stored() -> None:
    stage = Stage(durability="memory")
    attach(stage.office)
    stage.deposit(deposit(1))
    stage.deposit(deposit(1))
    stage.flush()
    stage.fire()
    stage.commit()
    assert stage.courier.said() == [Accepted("a", 1, NAME, 1, 1, 1)] * 2


def test_in_memory_mode_what_is_left_of_a_passing_batch_is_acknowledged_when_stored() -> None:
    stage = Stage(durability="memory")
    attach(stage.office)
    stage.deposit(deposit(1, 2))
    stage.flush()
    stage.office.settle(at(), CONN, Settle(NAME, 1, ((VOLATILE_FROM, VOLATILE_FROM),)))
    assert stage.courier.said() == [Accepted("a", 1, NAME, 1, 1, 1, True)]
    stage.fire()
    stage.commit()
    (answer,) = stage.courier.said()
    assert isinstance(answer, Accepted)
    assert (answer.last, answer.delivered) == (2, False)


@pytest.mark.parametrize("end", ["given back", "vanished", "no room"])
def test_in_memory_mode_a_passing_batch_is_stored_when_its_consumer_cannot_have_it(end: str) -> None:
    stage = Stage(durability="memory")
    attach(stage.office, credit=1)
    stage.deposit(deposit(1))
    stage.flush()
    assert stage.groups.operations == []
    if end == "given back":
        stage.office.give_back(at(), CONN, Return(NAME, 1, ((VOLATILE_FROM, VOLATILE_FROM),)))
    elif end == "vanished":
        stage.office.on_client_gone(at(), CONN)
    else:
        stage.deposit(deposit(2))
    stored = [write for write in stage.groups.operations[0][2] if isinstance(write, Put) and write.key[:1] == b"b"]
    assert len(stored) == 1, "it comes first"


def test_in_memory_mode_an_unsettled_batch_is_stored_after_all() -> None:
    stage = Stage(durability="memory")
    attach(stage.office)
    stage.deposit(deposit(1))
    stage.flush()
    assert stage.office.next_deadline() == PASS_FACTOR * stage.config.retry
    stage.fire()
    assert len(stage.groups.operations) == 1
    stage.commit()
    assert stage.courier.said() == [Accepted("a", 1, NAME, 1, 1, 1)]


def test_in_memory_mode_nothing_newer_is_stored_before_what_passes() -> None:
    stage = Stage(durability="memory")
    attach(stage.office)
    stage.deposit(deposit(1, stream=TRANSACTIONAL))
    stage.flush()
    stage.office.give_back(at(), CONN, Return(NAME, 1, ((VOLATILE_FROM, VOLATILE_FROM),)))
    stage.office.on_client_gone(at(), CONN)
    stage.deposit(deposit(2, stream=TRANSACTIONAL, follows=1))
    stage.commit()
    attach(stage.office)
    assert delivered(stage.flush()) == [1, 2]


# Time and paging ------------------------------------------------------------------------------------------------
def test_expired_messages_go_and_the_trace_says_so() -> None:
    stage = Stage()
    stage.deposit(deposit(1, ttl=3 * SECOND))
    stage.commit()
    assert stage.office.next_deadline() == 3 * SECOND
    turn = stage.fire()
    assert [record.step for record in turn.effects.traces] == [Step.EXPIRED]
    assert len(stage.groups.operations) == 1
    stage.commit()
    assert stage.office.boxes[KEY].mailbox.empty()


def test_expiry_waits_until_it_may_be_written() -> None:
    stage = Stage()
    stage.deposit(deposit(1, ttl=3 * SECOND))
    stage.commit()
    stage.groups.mine[KEY] = False
    assert stage.fire().effects.traces == []
    assert stage.office.next_deadline() == 3 * SECOND + stage.config.retry
    stage.groups.mine[KEY] = True
    assert [record.step for record in stage.fire().effects.traces] == [Step.EXPIRED]


def test_long_mailbox_is_paged_one_page_at_a_time() -> None:
    stage = Stage(window_bytes=4000)
    for first in range(1, 12):
        stage.deposit(deposit(first))
        stage.commit()
    attach(stage.office)
    seen = delivered(stage.flush())
    stage.office.settle(at(), CONN, Settle(NAME, 1, ((1, seen[-1]),)))
    stage.commit()
    stage.flush()
    ((group, start),) = stage.groups.loads
    assert group == KEY
    stage.office.touch(KEY)
    stage.flush()
    assert len(stage.groups.loads) == 1, "the first one has not been answered"
    stage.office.on_page(at(), PageLoaded(KEY, 1, [], start))
    stage.flush()
    assert len(stage.groups.loads) == 2, "a load that failed is repeated"


def test_page_nobody_asked_for_is_left_alone() -> None:
    stage = Stage()
    stage.office.on_page(at(), PageLoaded(KEY, 7, [Row(b"b" + bytes(8), 0, b"nonsense")], None))
    stage.office.on_page(at(), PageLoaded(key_of("x"), 7, [], None))
    assert stage.office.boxes[KEY].mailbox.empty()


def test_statistics_have_one_entry_per_owned_mailbox() -> None:
    stage = Stage()
    stage.deposit(deposit(1, 3))
    stage.commit()
    (entry,) = stage.office.statistics([NAME, "x"])
    assert (entry["name"], entry["stored"]) == (NAME, 3)
