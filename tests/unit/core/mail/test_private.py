"""When a mailbox of one life of one application has ended: nobody reads it, it is empty, and nothing is under way."""

from __future__ import annotations

import pytest

from causeway.config import BrokerConfig
from causeway.core.mail.box import Box
from causeway.core.mail.mailbox import Mailbox
from causeway.core.mail.private import DELETED_FOR, PRIVATE_FOR, is_over
from causeway.core.messages import Attach, Detach, EndMailbox, MailboxEnded, Moved
from causeway.errors import Code
from causeway.names import private_name
from causeway.types import SECOND, key_of
from tests.unit.core.mail.neighbours import ME, at, config_of
from tests.unit.core.mail.owned import CONN, Stage
from tests.unit.core.mail.postroom import EXPRESS, body_of, deposit

PRIVATE = private_name("shop", 0x5F3A)
RETIRED = [("retire", key_of(PRIVATE))]


def make(name: str) -> Box:
    mailbox = Mailbox(name, key_of(name), BrokerConfig(name="b1"))
    return Box(mailbox, config_of(name, ME))


def test_private_mailbox_without_reader_and_content_is_over() -> None:
    assert is_over(make(PRIVATE))


@pytest.mark.parametrize("name", ["shop", "shop~", "shop~5f3a", "~0000000000005f3a", f"a~b{PRIVATE}", f"{PRIVATE}0"])
def test_mailbox_with_any_other_name_is_never_over(name: str) -> None:
    assert not is_over(make(name))


def test_private_mailbox_is_not_over_while_somebody_reads_it() -> None:
    box = make(PRIVATE)
    box.mailbox.attach(2, 1, 10, 0)
    assert not is_over(box)
    box.mailbox.detach(2, 1)
    assert is_over(box)


def test_private_mailbox_without_reader_is_over_whatever_it_holds() -> None:
    box = make(PRIVATE)
    head = deposit(1, dest=PRIVATE, stream=EXPRESS)
    box.mailbox.hold(head, body_of(head), 0)
    assert is_over(box)


def test_private_mailbox_is_not_over_while_an_operation_is_on_its_way() -> None:
    box = make(PRIVATE)
    box.done[1] = (1, None)
    assert not is_over(box)


# Timers ---------------------------------------------------------------------------------------------------------
def read_private(stage: Stage, now: int) -> None:
    stage.office.attach(at(now), CONN, ("shop", 1), Attach(PRIVATE, 1, 10))


def run(stage: Stage, until: int) -> None:
    """Let all timers go off up to an instant; what is written is on all copies at once."""
    for _ in range(1000):
        due = stage.office.next_deadline()
        if due is None or due > until or stage.groups.asked:
            return
        stage.fire()
        stage.commit(due)
    raise AssertionError("timers without end")


@pytest.mark.parametrize("way", ["connection", "detach"])
def test_private_mailbox_is_retired_some_time_after_its_reader_left(way: str) -> None:
    stage = Stage(PRIVATE)
    read_private(stage, SECOND)
    run(stage, 10 * PRIVATE_FOR)
    assert stage.groups.asked == [], "somebody reads it"
    left = at(10 * PRIVATE_FOR)
    if way == "detach":
        stage.office.detach(left, CONN, Detach(PRIVATE, 1))
    else:
        stage.office.on_client_gone(left, CONN)
    run(stage, 11 * PRIVATE_FOR - 1)
    assert stage.groups.asked == []
    run(stage, 11 * PRIVATE_FOR)
    assert stage.groups.asked == RETIRED


def test_private_mailbox_that_never_had_a_reader_is_retired() -> None:
    stage = Stage(PRIVATE)
    run(stage, PRIVATE_FOR)
    assert stage.groups.asked == RETIRED


def test_mailbox_of_an_application_has_no_timer() -> None:
    stage = Stage()
    stage.office.attach(at(), CONN, ("app", 1), Attach("orders", 1, 10))
    stage.office.on_client_gone(at(), CONN)
    assert stage.office.next_deadline() is None


def test_an_answer_nobody_takes_expires_and_the_private_mailbox_ends() -> None:
    stage = Stage(PRIVATE)
    stage.deposit(deposit(1, dest=PRIVATE, ttl=5 * PRIVATE_FOR))
    stage.commit()
    run(stage, 5 * PRIVATE_FOR - 1)
    assert stage.groups.asked == []
    run(stage, 7 * PRIVATE_FOR)
    assert stage.groups.asked == RETIRED


def test_a_message_that_expires_early_does_not_end_the_private_mailbox_early() -> None:
    stage = Stage(PRIVATE)
    stage.deposit(deposit(1, dest=PRIVATE, ttl=SECOND))
    stage.commit()
    run(stage, PRIVATE_FOR - 1)
    assert stage.office.boxes[stage.key].mailbox.empty()
    assert stage.groups.asked == []
    run(stage, PRIVATE_FOR)
    assert stage.groups.asked == RETIRED


def test_private_mailbox_is_not_retired_while_its_transactions_are_not_carried_out() -> None:
    stage = Stage(PRIVATE)
    stage.deciding = True
    run(stage, 10 * PRIVATE_FOR)
    assert stage.groups.asked == []
    stage.deciding = False
    run(stage, 11 * PRIVATE_FOR)
    assert stage.groups.asked == RETIRED


# Deleting -------------------------------------------------------------------------------------------------------
DELETE = EndMailbox("orders", 7, delete=True)


def delete(stage: Stage, now: int = 0) -> list[object]:
    """What the office answers."""
    turn = at(now)
    stage.office.delete(turn, CONN, DELETE)
    return [send.head for send in turn.effects.sends]


def test_deleted_mailbox_ends_a_moment_later() -> None:
    stage = Stage()
    assert delete(stage) == [MailboxEnded("orders", 7)]
    run(stage, DELETED_FOR - 1)
    assert stage.groups.asked == []
    run(stage, DELETED_FOR)
    assert stage.groups.asked == [("retire", key_of("orders"))]


def test_mailbox_that_is_read_or_has_messages_is_not_deleted() -> None:
    stage = Stage()
    stage.deposit(deposit(1))
    stage.commit()
    [full] = delete(stage)
    assert isinstance(full, Moved)
    assert (full.code, "purge it" in full.detail) == (Code.IN_USE, True)
    read = Stage()
    read.office.attach(at(), CONN, ("app", 1), Attach("orders", 1, 10))
    [used] = delete(read)
    assert isinstance(used, Moved)
    assert (used.code, "1 consumers" in used.detail) == (Code.IN_USE, True)
    assert (stage.office.next_deadline(), read.office.next_deadline()) == (None, None)


@pytest.mark.parametrize("use", ["reader", "message", "message that was read"])
def test_deleted_mailbox_lives_on_when_somebody_uses_it_meanwhile(use: str) -> None:
    stage = Stage()
    delete(stage)
    if use == "reader":
        stage.office.attach(at(1), CONN, ("app", 1), Attach("orders", 1, 10))
    else:
        stage.deposit(deposit(1))
        stage.commit()
    if use == "message that was read":
        stage.office.settle_own(at(2), stage.office.boxes[stage.key], [(0, 1000)])
        stage.commit()
        assert stage.office.boxes[stage.key].mailbox.empty()
    run(stage, 10 * DELETED_FOR)
    assert stage.groups.asked == []
    assert stage.office.next_deadline() is None


def test_what_comes_a_second_time_does_not_keep_a_deleted_mailbox() -> None:
    stage = Stage()
    stage.deposit(deposit(1))
    stage.commit()
    stage.office.settle_own(at(1), stage.office.boxes[stage.key], [(0, 1000)])
    stage.commit()
    assert delete(stage, 2) == [MailboxEnded("orders", 7)]
    stage.deposit(deposit(1))
    run(stage, 10 * DELETED_FOR)
    assert stage.groups.asked == [("retire", key_of("orders"))]
