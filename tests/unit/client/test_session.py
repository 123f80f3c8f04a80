"""The session as a whole: its contract with a driver, and topics of mailboxes that are forgotten."""

from __future__ import annotations

import random

import pytest

from causeway.client.outcomes import SessionFailed
from causeway.client.session import Session
from causeway.core.events import Clogged, Closed, Drained, LeaveRequested, Opened, Received
from causeway.core.messages import Attach, EndMailbox, Goodbye, Interest, MailboxEnded, Ping
from causeway.errors import ConfigError, LocalProtocolError
from causeway.names import seat_name
from tests.unit.client.stage import Stage


def test_two_sessions_with_one_seed_do_the_same() -> None:
    def story(seed: int) -> list[object]:
        stage = Stage()
        stage.session = Session(stage.config, 7, random.Random(seed))
        stage.turn()
        said: list[object] = []
        for _ in range(30):
            while stage.dials:
                stage.refuse(next(iter(stage.dials.values())).host)
            due = stage.session.next_deadline()
            assert due is not None
            said.append((due, len(stage.dials)))
            stage.turn(after=due - stage.now)
        return said

    assert story(3) == story(3)
    assert story(3) != story(4)


def test_closed_session_says_goodbye_and_is_over_for_good(stage: Stage, home: str) -> None:
    conn = stage.conns[home]
    stage.session.close()
    stage.turn()
    assert len(stage.said(Goodbye)) == 1
    assert [close.conn for close in stage.closes] == [conn]
    assert len(stage.outcomes(SessionFailed)) == 1
    assert stage.session.next_deadline() is None
    effects = stage.session.handle([Received(conn, [(Ping(1), b"")])], stage.now)
    assert not effects.sends
    for call in (lambda: stage.session.attach("orders", 1), stage.session.status, lambda: stage.session.commit([], [])):
        with pytest.raises(LocalProtocolError, match="closed"):
            call()


@pytest.mark.parametrize(
    "event", [Opened(99), Closed(99, ""), Clogged(99), Drained(99), Received(99, [(Ping(1), b"")])]
)
def test_events_of_connections_that_are_gone_change_nothing(stage: Stage, home: str, event: Opened) -> None:
    stage.take_sent()
    stage.turn(event)
    assert stage.sent == []
    assert stage.session.connected


def test_event_that_is_not_for_sessions_is_a_bug_of_the_driver(stage: Stage) -> None:
    with pytest.raises(LocalProtocolError, match="LeaveRequested"):
        stage.turn(LeaveRequested())


def test_session_is_idle_only_when_nothing_is_under_way(stage: Stage, home: str) -> None:
    assert stage.session.idle
    stage.session.send("orders", b"x")
    assert not stage.session.idle
    assert stage.session.unresolved == 1


def test_a_mailbox_forgets_its_topics_and_its_readers_do_too(stage: Stage, home: str) -> None:
    topics = Interest("a/#", seat=seat_name("b1"))
    readers = [stage.session.attach(mailbox, 10, interest=topics) for mailbox in ("billing", "orders")]
    inquiry = stage.session.forget_topics("billing")
    stage.turn()
    (asked,) = stage.said(EndMailbox)
    stage.receive(home, MailboxEnded("billing", asked.token))
    assert (asked.mailbox, inquiry.done, inquiry.error) == ("billing", True, None)
    assert [reader.interest for reader in readers] == [None, topics]


def test_a_reader_that_waits_for_a_seat_begins_when_its_topics_are_forgotten(stage: Stage, home: str) -> None:
    stage.session.attach("billing", 10, interest=Interest("a/#"), seat_of="billing")
    stage.turn()
    assert stage.said(Attach) == []
    stage.session.forget_topics("billing")
    stage.turn()
    assert [attach.interest for attach in stage.said(Attach)] == [None]


@pytest.mark.parametrize("mailbox", ["sub/billing/board", "billing/1~0000000000000001", ""])
def test_topics_are_forgotten_only_where_the_mailbox_stays(stage: Stage, mailbox: str) -> None:
    with pytest.raises(ConfigError) as caught:
        stage.session.forget_topics(mailbox)
    assert (caught.value.field, caught.value.value) == ("mailbox", mailbox)
