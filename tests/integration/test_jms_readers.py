"""The threads that read for JMS consumers, against real brokers: none gets stuck, deaf, or loses what it has read."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from causeway import jms, sync
from causeway.errors import LocalProtocolError
from causeway.jms import Connection, ConnectionFactory, Message, Session
from causeway.kinds import KIND
from causeway.testing import LocalCluster
from tests.integration.jms_actions import MOMENT, WAIT, eventually, left_in, send, text_of


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(brokers=3) as running:
        yield running


@pytest.fixture
def connection(cluster: LocalCluster) -> Iterator[Connection]:
    with ConnectionFactory(cluster.url).create_connection() as made:
        made.start()
        yield made


# Beginning again -------------------------------------------------------------------------------------------------
def test_rollback_by_one_listener_loses_nothing_of_the_other(connection: Connection) -> None:
    session = connection.create_session(Session.SESSION_TRANSACTED)
    kept: list[str | None] = []
    undone: list[str | None] = []

    def undo(message: Message) -> None:
        undone.append(text_of(message))
        if len(undone) == 1:
            session.rollback()

    session.create_consumer(session.create_queue("readers/kept")).set_message_listener(
        lambda message: kept.append(text_of(message))
    )
    session.create_consumer(session.create_queue("readers/undone")).set_message_listener(undo)
    send(connection, "readers/kept", "a")
    eventually(lambda: kept == ["a"])
    send(connection, "readers/undone", "b")
    eventually(lambda: kept == ["a", "a"] and undone == ["b", "b"])
    session.commit()
    eventually(lambda: left_in(connection, "readers/kept") == [] == left_in(connection, "readers/undone"))


def test_listener_hears_on_although_its_consumer_is_replaced_slowly(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = connection.create_session(Session.CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(session.create_queue("readers/replaced"))
    counts: list[int] = []
    reported: list[jms.JMSException] = []
    connection.set_exception_listener(reported.append)
    consumer.set_message_listener(lambda message: counts.append(message.get_int_property("JMSXDeliveryCount")))
    send(connection, "readers/replaced", "a")
    eventually(lambda: counts == [1])
    attach = consumer._attach

    def attach_slowly() -> sync.MailboxConsumer:
        threading.Event().wait(MOMENT / 1000)  # the reader has seen the end of the old one by now
        return attach()

    monkeypatch.setattr(consumer, "_attach", attach_slowly)
    session.recover()
    eventually(lambda: counts == [1, 2])
    assert reported == []


# Listeners that come and go --------------------------------------------------------------------------------------
def test_receive_gets_the_first_message_after_a_listener_was_taken_away(connection: Connection) -> None:
    session = connection.create_session()
    consumer = session.create_consumer(session.create_queue("readers/changing"))
    found: list[str | None] = []
    consumer.set_message_listener(lambda message: found.append(text_of(message)))
    send(connection, "readers/changing", "a")
    eventually(lambda: found == ["a"])
    thread = consumer._thread
    assert thread is not None
    consumer.set_message_listener(None)
    assert not thread.is_alive(), "it would take what comes next"
    received: list[str | None] = []
    waiting = threading.Thread(target=lambda: received.append(text_of(consumer.receive(WAIT))))
    waiting.start()
    send(connection, "readers/changing", "b")
    waiting.join(WAIT / 1000)
    assert received == ["b"]
    assert found == ["a"]


def test_listener_is_taken_away_while_the_connection_is_stopped(connection: Connection) -> None:
    connection.stop()
    session = connection.create_session()
    consumer = session.create_consumer(session.create_queue("readers/stopped"))
    found: list[str | None] = []
    consumer.set_message_listener(lambda message: found.append(text_of(message)))
    send(connection, "readers/stopped", "a")
    eventually(lambda: bool(consumer._held))
    consumer.set_message_listener(None)
    connection.start()
    assert text_of(consumer.receive(WAIT)) == "a"
    assert found == []


@pytest.mark.parametrize("mode", [Session.AUTO_ACKNOWLEDGE, Session.CLIENT_ACKNOWLEDGE], ids=["auto", "client"])
def test_listener_takes_itself_and_another_away(connection: Connection, mode: int) -> None:
    session = connection.create_session(mode)
    first = session.create_consumer(session.create_queue(f"readers/itself-{mode}"))
    second = session.create_consumer(session.create_queue(f"readers/another-{mode}"))
    found: list[str | None] = []

    def leave(message: Message) -> None:
        found.append(text_of(message))
        first.set_message_listener(None)
        second.set_message_listener(None)

    first.set_message_listener(leave)
    second.set_message_listener(leave)
    send(connection, f"readers/itself-{mode}", "a", "b")
    eventually(lambda: found == ["a"] and first.get_message_listener() is None)
    send(connection, f"readers/another-{mode}", "c")
    assert text_of(first.receive(WAIT)) == "b"
    assert text_of(second.receive(WAIT)) == "c"
    assert found == ["a"]


def test_listener_that_ends_its_thread_is_reported_and_can_be_set_again(connection: Connection) -> None:
    reported: list[jms.JMSException] = []
    connection.set_exception_listener(reported.append)
    session = connection.create_session()
    consumer = session.create_consumer(session.create_queue("readers/exit"))

    def leave(message: Message) -> None:
        raise SystemExit(1)

    consumer.set_message_listener(leave)
    send(connection, "readers/exit", "a")
    eventually(lambda: len(reported) == 1 and consumer._thread is None)
    assert isinstance(reported[0].get_linked_exception(), SystemExit)
    counts: list[int] = []
    consumer.set_message_listener(lambda message: counts.append(message.get_int_property("JMSXDeliveryCount")))
    eventually(lambda: counts == [2])
    session.close()
    eventually(lambda: left_in(connection, "readers/exit") == [])


@pytest.mark.parametrize("mode", [Session.SESSION_TRANSACTED, Session.CLIENT_ACKNOWLEDGE], ids=["transacted", "client"])
def test_listener_that_holds_all_it_may_is_reported_once(cluster: LocalCluster, mode: int) -> None:
    with ConnectionFactory(cluster.url, prefetch=2).create_connection() as connection:
        connection.start()
        reported: list[jms.JMSException] = []
        connection.set_exception_listener(reported.append)
        session = connection.create_session(mode)
        found: list[str | None] = []
        queue = session.create_queue(f"readers/full-{mode}")
        session.create_consumer(queue).set_message_listener(lambda message: found.append(text_of(message)))
        send(connection, queue.name, "a", "b")
        eventually(lambda: len(reported) == 1)
        assert isinstance(reported[0], jms.ResourceAllocationException)
        send(connection, queue.name, "c")
        assert found == ["a", "b"]
        if mode == Session.SESSION_TRANSACTED:
            session.commit()
        else:
            session._acknowledge()
        eventually(lambda: found == ["a", "b", "c"])
        assert len(reported) == 1


# Receiving -------------------------------------------------------------------------------------------------------
def test_body_that_cannot_be_read_is_not_lost(connection: Connection) -> None:
    connection.bus.send("readers/broken", b"\xff", headers={KIND: "map"})
    send(connection, "readers/broken", "b")
    session = connection.create_session()
    consumer = session.create_consumer(session.create_queue("readers/broken"))
    for _ in range(2):
        with pytest.raises(jms.MessageFormatException):
            consumer.receive_body(WAIT)
    with pytest.raises(jms.MessageFormatException):
        consumer.receive_body_no_wait()
    assert isinstance(consumer.receive(WAIT), jms.MapMessage)
    assert consumer.receive_body(WAIT) == "b"
    session.close()
    eventually(lambda: left_in(connection, "readers/broken") == [])


def test_body_that_cannot_be_read_counts_as_received_until_recover(connection: Connection) -> None:
    connection.bus.send("readers/unread", b"\xff", headers={KIND: "map"})
    send(connection, "readers/unread", "b")
    session = connection.create_session(Session.CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(session.create_queue("readers/unread"))
    with pytest.raises(jms.MessageFormatException):
        consumer.receive_body(WAIT)
    assert consumer.receive_body(WAIT) == "b"
    session.recover()
    assert isinstance(consumer.receive(WAIT), jms.MapMessage)


def test_close_ends_whoever_waits_although_something_is_unsettled(connection: Connection) -> None:
    session = connection.create_session(Session.CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(session.create_queue("readers/closed"))
    send(connection, "readers/closed", "a")
    first = consumer.receive(WAIT)
    found: list[Message | None] = []
    begun = threading.Event()

    def wait() -> None:
        begun.set()
        try:
            found.append(consumer.receive())
        except jms.IllegalStateException:
            found.append(None)  # closed before we began to wait

    waiting = threading.Thread(target=wait)
    waiting.start()
    begun.wait(10)
    consumer.close()
    send(connection, "readers/closed", "b")
    waiting.join(10)
    assert found == [None]
    assert first is not None
    first.acknowledge()
    eventually(lambda: left_in(connection, "readers/closed") == ["b"])


# Closing ---------------------------------------------------------------------------------------------------------
def test_close_ends_the_rest_although_one_cannot_be_closed(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = ConnectionFactory(cluster.url).create_connection()
    session, other = connection.create_session(), connection.create_session()
    first = session.create_consumer(session.create_queue("readers/one"))
    second = session.create_consumer(session.create_queue("readers/two"))
    third = other.create_consumer(other.create_queue("readers/three"))
    bus = connection.bus

    def fail() -> None:
        raise jms.JMSException("no")

    monkeypatch.setattr(first, "end", fail)
    with pytest.raises(jms.JMSException, match="no"):
        connection.close()
    assert second.closed
    assert third.closed
    assert not connection.in_use
    with pytest.raises(LocalProtocolError):
        bus.send("readers/one", b"")
