"""The JMS names against real brokers: messages, acknowledgement modes, transactions, listeners, browsing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

import causeway.sync
from causeway import jms
from causeway.jms import (
    Connection,
    ConnectionFactory,
    DeliveryMode,
    Message,
    MessageConsumer,
    Session,
    TextMessage,
)
from causeway.testing import LocalCluster
from tests.integration.jms_actions import MOMENT, WAIT, eventually, left_in, send, text_of


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(brokers=3) as running:
        yield running


@pytest.fixture
def factory(cluster: LocalCluster) -> ConnectionFactory:
    return ConnectionFactory(cluster.url)


@pytest.fixture
def connection(factory: ConnectionFactory) -> Iterator[Connection]:
    with factory.create_connection() as made:
        made.start()
        yield made


# Messages -------------------------------------------------------------------------------------------------------
def test_ported_code_runs_with_the_names_it_has(cluster: LocalCluster) -> None:
    connection = ConnectionFactory(cluster.url).createConnection()
    connection.setClientID("ported")
    session = connection.createSession(False, Session.AUTO_ACKNOWLEDGE)
    queue = session.createQueue("jms/ported")
    producer = session.createProducer(queue)
    producer.setDeliveryMode(DeliveryMode.PERSISTENT)
    producer.setTimeToLive(60_000)
    message = session.createTextMessage("hello")
    message.setIntProperty("count", 7)
    message.setJMSCorrelationID("17")
    producer.send(message, DeliveryMode.PERSISTENT, 6, 60_000)
    consumer = session.createConsumer(queue, "")
    connection.start()
    received = consumer.receive(WAIT)
    assert isinstance(received, jms.TextMessage)
    assert received.getText() == "hello"
    assert received.getIntProperty("count") == 7
    assert received.getJMSCorrelationID() == "17"
    assert received.getJMSMessageID() == message.getJMSMessageID()
    assert received.getJMSDestination() == queue
    assert received.getJMSPriority() == 6
    assert received.getJMSDeliveryMode() == DeliveryMode.PERSISTENT
    assert received.getJMSRedelivered() is False
    assert received.getIntProperty("JMSXDeliveryCount") == 1
    assert consumer.receiveNoWait() is None
    for timeout in ("1", 0.5, -1, True):
        with pytest.raises(jms.JMSException, match=r"timeout=.* milliseconds"):
            consumer.receive(timeout)
    connection.close()
    connection.close()


def test_each_kind_arrives_as_itself(cluster: LocalCluster) -> None:
    with ConnectionFactory(cluster.url, object_messages=True).create_connection() as connection:
        connection.start()
        session = connection.create_session()
        queue = session.create_queue("jms/kinds")
        producer = session.create_producer(queue)
        text = session.create_text_message("one")
        data = session.create_bytes_message()
        data.write_int(2)
        table = session.create_map_message()
        table.set_int("three", 3)
        row = session.create_stream_message()
        row.write_double(0.4)
        thing = session.create_object_message({5})
        bare = session.create_message()
        bare.set_jms_type("six")
        for message in (text, data, table, row, thing, bare):
            producer.send(message)
        consumer = session.create_consumer(queue)
        found = [consumer.receive(WAIT) for _ in range(6)]
        assert [type(message) for message in found] == [type(sent) for sent in (text, data, table, row, thing, bare)]
        bodies = [message.get_body() for message in found if message is not None]
        assert bodies == ["one", b"\0\0\0\2", {"three": 3}, [0.4], {5}, None]
        assert found[5] is not None
        assert found[5].get_jms_type() == "six"


def test_object_messages_need_an_opt_in_at_both_ends(cluster: LocalCluster, connection: Connection) -> None:
    session = connection.create_session()
    with pytest.raises(jms.MessageFormatException, match="objects=True"):
        session.create_object_message("x")
    with ConnectionFactory(cluster.url, object_messages=True).create_connection() as trusting:
        other = trusting.create_session()
        other.create_producer(other.create_queue("jms/objects")).send(other.create_object_message("x"))
    received = session.create_consumer(session.create_queue("jms/objects")).receive(WAIT)
    assert isinstance(received, jms.ObjectMessage)
    with pytest.raises(jms.MessageFormatException, match="objects=True"):
        received.get_object()


def test_kinds_are_the_idiomatic_clients_too(cluster: LocalCluster, connection: Connection) -> None:
    session = connection.create_session()
    with causeway.sync.connect(cluster.url, name="idiom") as bus:
        message = session.create_map_message()
        message.set_string("a", "b")
        message.set_jms_reply_to(session.create_queue("jms/answers"))
        message.set_jms_correlation_id("c-1")
        session.create_producer(session.create_queue("jms/idiom")).send(message)
        with bus.consumer("jms/idiom") as inbox:
            got = inbox.get(10)
            assert (got.kind, got.content()) == ("map", {"a": "b"})
            got.reply("done", headers={"~kind": "text"})
            got.ack()
        answer = session.create_consumer(session.create_queue("jms/answers")).receive(WAIT)
        assert text_of(answer) == "done"
        assert answer is not None
        assert answer.get_jms_correlation_id() == "c-1"
        bus.send("jms/idiom", b"plain", headers={"n": 1})
        bus.send("jms/idiom", b"?", headers={"~kind": "picture"})
        consumer = session.create_consumer(session.create_queue("jms/idiom"))
        found = {type(one): one for one in (consumer.receive(WAIT), consumer.receive(WAIT)) if one is not None}
        assert found[jms.BytesMessage].get_body() == b"plain"
        assert found[jms.BytesMessage].get_int_property("n") == 1
        with pytest.raises(jms.MessageFormatException, match="picture"):
            found[jms.Message].get_body()


def test_received_message_is_fixed_and_can_be_sent_on(connection: Connection) -> None:
    send(connection, "jms/first", "on its way", color="red")
    session = connection.create_session()
    received = session.create_consumer(session.create_queue("jms/first")).receive(WAIT)
    assert isinstance(received, TextMessage)
    with pytest.raises(jms.MessageNotWriteableException, match="clear_body"):
        received.set_text("x")
    with pytest.raises(jms.MessageNotWriteableException, match="clear_properties"):
        received.set_string_property("color", "blue")
    session.create_producer(None).send(session.create_queue("jms/second"), received)
    again = session.create_consumer(session.create_queue("jms/second")).receive(WAIT)
    assert text_of(again) == "on its way"
    assert again is not None
    assert again.get_string_property("color") == "red"


def test_order_is_that_of_sending_and_priority_overtakes(connection: Connection) -> None:
    session = connection.create_session()
    queue = session.create_queue("jms/order")
    producer = session.create_producer(queue)
    for number in range(20):
        producer.send(session.create_text_message(str(number)))
    producer.send(session.create_text_message("urgent"), DeliveryMode.PERSISTENT, 9, 0)
    consumer = session.create_consumer(queue)
    found = [text_of(consumer.receive(WAIT)) for _ in range(21)]
    assert found[0] == "urgent"
    assert found[1:] == [str(number) for number in range(20)]


@pytest.mark.parametrize("mode", [DeliveryMode.PERSISTENT, DeliveryMode.NON_PERSISTENT], ids=["persistent", "not"])
def test_message_that_lived_too_long_is_not_received(connection: Connection, mode: int) -> None:
    session = connection.create_session()
    queue = session.create_queue(f"jms/expiry-{mode}")
    producer = session.create_producer(queue)
    producer.set_delivery_mode(mode)
    mayfly = session.create_text_message("mayfly")
    producer.send(mayfly, mode, 4, 50)
    assert mayfly.get_jms_expiration() >= mayfly.get_jms_timestamp() + 50
    eventually(lambda: time.time() * 1000 > mayfly.get_jms_expiration() + 100)
    producer.set_time_to_live(600_000)
    producer.send(session.create_text_message("oak"))
    received = session.create_consumer(queue).receive(WAIT)
    assert text_of(received) == "oak"
    assert received is not None
    assert received.get_jms_delivery_mode() == mode


def test_browser_looks_and_takes_nothing(connection: Connection) -> None:
    send(connection, "jms/shelf", "a", color="red")
    send(connection, "jms/shelf", "b", color="blue")
    session = connection.create_session()
    browser = session.create_browser(session.create_queue("jms/shelf"), "color = 'blue'")
    assert [text_of(message) for message in browser.get_enumeration()] == ["b"]
    assert left_in(connection, "jms/shelf") == ["a", "b"]
    with pytest.raises(jms.InvalidSelectorException, match="column"):
        list(session.create_browser(session.create_queue("jms/shelf"), "color =").get_enumeration())


# Acknowledgement ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", [Session.AUTO_ACKNOWLEDGE, Session.DUPS_OK_ACKNOWLEDGE], ids=["auto", "dups-ok"])
def test_received_is_done(connection: Connection, mode: int) -> None:
    queue = f"jms/auto-{mode}"
    send(connection, queue, "a", "b")
    session = connection.create_session(mode)
    assert session.get_acknowledge_mode() == mode
    with session.create_consumer(session.create_queue(queue)) as consumer:
        assert text_of(consumer.receive(WAIT)) == "a"
        session.recover()
        assert text_of(consumer.receive(WAIT)) == "b"
    session.close()
    eventually(lambda: left_in(connection, queue) == [])


def test_client_acknowledges_all_that_its_session_received(connection: Connection) -> None:
    send(connection, "jms/client", "a", "b", "c")
    session = connection.create_session(Session.CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(session.create_queue("jms/client"))
    assert text_of(consumer.receive(WAIT)) == "a"
    second = consumer.receive(WAIT)
    assert second is not None
    second.acknowledge()
    assert text_of(consumer.receive(WAIT)) == "c"
    session.close()
    eventually(lambda: left_in(connection, "jms/client") == ["c"])


def test_recover_begins_again_with_what_was_not_acknowledged(connection: Connection) -> None:
    send(connection, "jms/recover", "a", "b", "c")
    session = connection.create_session(Session.CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(session.create_queue("jms/recover"))
    for _ in range(2):
        consumer.receive(WAIT)
    session.recover()
    again = [consumer.receive(WAIT) for _ in range(3)]
    assert [text_of(message) for message in again] == ["a", "b", "c"]
    assert again[0] is not None
    assert again[0].get_jms_redelivered()
    assert again[0].get_int_property("JMSXDeliveryCount") == 2
    again[0].acknowledge()
    session.close()
    eventually(lambda: left_in(connection, "jms/recover") == [])


def test_consumer_can_be_closed_before_what_it_received_is_acknowledged(connection: Connection) -> None:
    send(connection, "jms/early", "a", "b")
    session = connection.create_session(Session.CLIENT_ACKNOWLEDGE)
    consumer = session.create_consumer(session.create_queue("jms/early"))
    received = consumer.receive(WAIT)
    assert received is not None
    consumer.close()
    with pytest.raises(jms.IllegalStateException, match="closed"):
        consumer.receive_no_wait()
    received.acknowledge()
    eventually(lambda: left_in(connection, "jms/early") == ["b"])
    assert text_of(session.create_consumer(session.create_queue("jms/early")).receive(WAIT)) == "b"


def test_more_unacknowledged_than_the_bound_is_a_clear_error(cluster: LocalCluster) -> None:
    with ConnectionFactory(cluster.url, prefetch=2).create_connection() as connection:
        connection.start()
        send(connection, "jms/bound", "a", "b", "c")
        session = connection.create_session(Session.SESSION_TRANSACTED)
        consumer = session.create_consumer(session.create_queue("jms/bound"))
        assert [text_of(consumer.receive(WAIT)) for _ in range(2)] == ["a", "b"]
        with pytest.raises(jms.ResourceAllocationException, match="commit"):
            consumer.receive(WAIT)
        session.commit()
        assert text_of(consumer.receive(WAIT)) == "c"


# Transactions ---------------------------------------------------------------------------------------------------
def test_commit_moves_messages(connection: Connection) -> None:
    send(connection, "jms/source", "a")
    session = connection.create_session(True, Session.AUTO_ACKNOWLEDGE)
    assert session.get_transacted()
    consumer = session.create_consumer(session.create_queue("jms/source"))
    producer = session.create_producer(session.create_queue("jms/target"))
    assert text_of(consumer.receive(WAIT)) == "a"
    for text in ("b", "c"):
        producer.send(session.create_text_message(text))
    assert left_in(connection, "jms/target") == []
    consumer.close()
    session.commit()
    # A commit returns when it is decided; a mailbox hears of that a moment later.
    eventually(lambda: left_in(connection, "jms/source") == [])
    eventually(lambda: left_in(connection, "jms/target") == ["b", "c"])
    session.commit()


def test_rollback_sends_nothing_and_delivers_again(connection: Connection) -> None:
    send(connection, "jms/undo", "a", "b", "c")
    session = connection.create_session(Session.SESSION_TRANSACTED)
    consumer = session.create_consumer(session.create_queue("jms/undo"))
    producer = session.create_producer(session.create_queue("jms/never"))
    for turn in range(3):
        found = [consumer.receive(WAIT) for _ in range(2)]
        assert [text_of(message) for message in found] == ["a", "b"]
        assert [one.get_int_property("JMSXDeliveryCount") for one in found if one is not None] == [turn + 1] * 2
        assert [one.get_jms_redelivered() for one in found if one is not None] == [turn > 0] * 2
        producer.send(session.create_text_message("x"))
        session.rollback()
    assert [text_of(consumer.receive(WAIT)) for _ in range(3)] == ["a", "b", "c"]
    session.commit()
    eventually(lambda: left_in(connection, "jms/undo") == [])
    assert left_in(connection, "jms/never") == []


def test_closing_a_session_rolls_back(connection: Connection) -> None:
    send(connection, "jms/left", "a")
    session = connection.create_session(Session.SESSION_TRANSACTED)
    assert text_of(session.create_consumer(session.create_queue("jms/left")).receive(WAIT)) == "a"
    session.create_producer(session.create_queue("jms/never")).send(session.create_text_message("x"))
    session.close()
    with pytest.raises(jms.IllegalStateException, match="closed"):
        session.commit()
    other = connection.create_session()
    again = other.create_consumer(other.create_queue("jms/left")).receive(WAIT)
    assert text_of(again) == "a"
    assert again is not None
    assert again.get_jms_redelivered()
    assert left_in(connection, "jms/never") == []


def test_commit_after_the_connection_was_closed(factory: ConnectionFactory) -> None:
    connection = factory.create_connection()
    session = connection.create_session(Session.SESSION_TRANSACTED)
    producer = session.create_producer(session.create_queue("jms/never"))
    producer.send(session.create_text_message("x"))
    connection.close()
    with pytest.raises(jms.IllegalStateException, match="closed"):
        session.commit()
    with pytest.raises(jms.IllegalStateException, match="closed"):
        producer.send(session.create_text_message("x"))
    with pytest.raises(jms.IllegalStateException, match="closed"):
        connection.create_session()


def test_commit_that_nobody_answers_is_a_typed_error() -> None:
    with LocalCluster(brokers=1, copies=1) as lone:
        connection = ConnectionFactory(lone.url, timeout=1.0).create_connection()
        session = connection.create_session(Session.SESSION_TRANSACTED)
        session.create_producer(session.create_queue("box")).send(session.create_text_message("x"))
        lone.kill(0)
        with pytest.raises(jms.JMSException, match=r"\w") as caught:
            session.commit()
        assert caught.value.get_error_code() == "OutcomeUnknown"
        assert isinstance(caught.value.__cause__, causeway.OutcomeUnknown)
        connection.close()


def test_what_a_mode_does_not_allow(connection: Connection) -> None:
    plain, transacted = connection.create_session(), connection.create_session(Session.SESSION_TRANSACTED)
    for forbidden in (plain.commit, plain.rollback, transacted.recover):
        with pytest.raises(jms.IllegalStateException):
            forbidden()
    with pytest.raises(jms.JMSException, match="session_mode=9"):
        connection.create_session(9)


def test_context_is_a_connection_and_a_session_in_one(cluster: LocalCluster) -> None:
    with ConnectionFactory(cluster.url).create_context() as context:
        context.set_client_id("simple")
        queue = context.create_queue("jms/simple")
        producer = context.create_producer().set_priority(7).set_property("color", "red").set_jms_type("t")
        producer.send(queue, "text").send(queue, b"data").send(queue, {"a": 1}).send(queue, None)
        consumer = context.create_consumer(queue)
        first = consumer.receive(WAIT)
        assert text_of(first) == "text"
        assert first is not None
        assert (first.get_jms_priority(), first.get_jms_type()) == (7, "t")
        assert first.get_string_property("color") == "red"
        assert [consumer.receive_body(WAIT) for _ in range(3)] == [b"data", {"a": 1}, None]
        with pytest.raises(jms.MessageFormatException, match="objects=True"):
            producer.send(queue, {1, 2})
        with pytest.raises(jms.JMSException, match="name="):
            producer.set_property("a b", 1)
        consumer.close()
        with context.create_context(Session.CLIENT_ACKNOWLEDGE) as second:
            producer.send(queue, "later")
            assert second.create_consumer(queue).receive_body(WAIT) == "later"
            second.acknowledge()
        eventually(lambda: not list(context.create_browser(queue).get_enumeration()))
    with pytest.raises(jms.IllegalStateException, match="closed"):
        context.create_producer()


def test_request_is_answered_through_a_temporary_queue(factory: ConnectionFactory, connection: Connection) -> None:
    service = connection.create_session()
    answers = service.create_producer(None)

    def serve(message: Message) -> None:
        answer = service.create_text_message(f"re: {text_of(message)}")
        answer.set_jms_correlation_id(message.get_jms_message_id())
        target = message.get_jms_reply_to()
        assert target is not None
        answers.send(target, answer)

    service.create_consumer(service.create_queue("jms/service")).set_message_listener(serve)
    with factory.create_connection() as asker:
        asker.start()
        session = asker.create_session()
        mine = session.create_temporary_queue()
        request = session.create_text_message("hello")
        request.set_jms_reply_to(mine)
        session.create_producer(session.create_queue("jms/service")).send(request)
        answer = session.create_consumer(mine).receive(WAIT)
        assert text_of(answer) == "re: hello"
        assert answer is not None
        assert answer.get_jms_correlation_id() == request.get_jms_message_id()
        with pytest.raises(jms.InvalidDestinationException, match="another connection"):
            service.create_consumer(mine)
        with pytest.raises(jms.IllegalStateException, match="consumers"):
            mine.delete()


# Start, stop, listeners -----------------------------------------------------------------------------------------
def receive_until_closed(consumer: MessageConsumer) -> Message | None:
    try:
        return consumer.receive()
    except jms.IllegalStateException:
        return None  # closed before we began to wait


def test_nothing_is_handed_out_before_start_and_after_stop(factory: ConnectionFactory, connection: Connection) -> None:
    send(connection, "jms/gate", "a", "b", "c")
    with factory.create_connection() as other:
        session = other.create_session()
        consumer = session.create_consumer(session.create_queue("jms/gate"))
        assert consumer.receive(MOMENT) is None
        other.start()
        assert text_of(consumer.receive(WAIT)) == "a"
        other.stop()
        assert consumer.receive(MOMENT) is None
        assert consumer.receive_no_wait() is None
        found: list[str | None] = []
        waiting = threading.Thread(target=lambda: found.append(text_of(consumer.receive())))
        waiting.start()
        other.start()
        waiting.join(10)
        assert found == ["b"]


def test_close_ends_whoever_waits(connection: Connection) -> None:
    session = connection.create_session()
    consumer = session.create_consumer(session.create_queue("jms/empty"))
    found: list[Message | None] = []
    waiting = threading.Thread(target=lambda: found.append(receive_until_closed(consumer)))
    waiting.start()
    consumer.close()
    waiting.join(10)
    assert found == [None]


@pytest.mark.parametrize("what", ["consumer", "session", "connection"])
def test_close_ends_whoever_waits_for_start(factory: ConnectionFactory, connection: Connection, what: str) -> None:
    send(connection, f"jms/stopped-{what}", "a")
    other = factory.create_connection()
    session = other.create_session()
    consumer = session.create_consumer(session.create_queue(f"jms/stopped-{what}"))
    assert consumer.receive(MOMENT) is None
    found: list[Message | None] = []
    waiting = threading.Thread(target=lambda: found.append(receive_until_closed(consumer)))
    waiting.start()
    {"consumer": consumer, "session": session, "connection": other}[what].close()
    waiting.join(10)
    assert found == [None]
    other.close()
    eventually(lambda: left_in(connection, f"jms/stopped-{what}") == ["a"])


def test_listener_gets_what_comes_one_after_the_other(factory: ConnectionFactory, connection: Connection) -> None:
    send(connection, "jms/one", *map(str, range(50)))
    send(connection, "jms/two", *map(str, range(50, 100)))
    with factory.create_connection() as other:
        session = other.create_session()
        found: list[str | None] = []
        busy = threading.Lock()

        def listen(message: Message) -> None:
            assert busy.acquire(blocking=False), "two listeners of one session at once"
            found.append(text_of(message))
            busy.release()

        for name in ("jms/one", "jms/two"):
            session.create_consumer(session.create_queue(name)).set_message_listener(listen)
        with pytest.raises(jms.IllegalStateException, match="listener"):
            session.create_consumer(session.create_queue("jms/one")).receive()
        assert found == []
        other.start()
        eventually(lambda: len(found) == 100)
        assert sorted(map(str, found)) == sorted(map(str, range(100)))
        other.stop()
        send(connection, "jms/one", "late")
        other.close()
    assert "late" not in found
    eventually(lambda: left_in(connection, "jms/one") == ["late"])


def test_listener_that_raises_gets_the_message_again_and_is_reported(connection: Connection) -> None:
    class Fussy:
        def __init__(self) -> None:
            self.counts: list[int] = []

        def on_message(self, message: Message) -> None:
            self.counts.append(message.get_int_property("JMSXDeliveryCount"))
            if len(self.counts) < 3:
                raise ValueError("not yet")

    reported: list[jms.JMSException] = []

    def hear(error: jms.JMSException) -> None:
        reported.append(error)
        raise error  # which must not keep messages from coming

    connection.set_exception_listener(hear)
    session = connection.create_session()
    fussy = Fussy()
    session.create_consumer(session.create_queue("jms/fussy")).set_message_listener(fussy)
    send(connection, "jms/fussy", "a")
    eventually(lambda: len(fussy.counts) == 3)
    assert fussy.counts == [1, 2, 3]
    assert [type(error.get_linked_exception()) for error in reported] == [ValueError, ValueError]
    session.close()
    eventually(lambda: left_in(connection, "jms/fussy") == [])


def test_listener_commits_and_rolls_back(connection: Connection) -> None:
    session = connection.create_session(Session.SESSION_TRANSACTED)
    producer = session.create_producer(session.create_queue("jms/booked"))
    seen: list[str | None] = []

    def book(message: Message) -> None:
        seen.append(text_of(message))
        producer.send(message)
        if message.get_jms_redelivered():
            session.commit()
        else:
            session.rollback()

    session.create_consumer(session.create_queue("jms/orders")).set_message_listener(book)
    send(connection, "jms/orders", "a", "b")
    eventually(lambda: left_in(connection, "jms/booked") in (["a", "b"], ["b", "a"]))
    assert sorted(map(str, seen)) == ["a", "a", "b", "b"]
    eventually(lambda: left_in(connection, "jms/orders") == [])


def test_listener_closes_its_consumer_and_recovers(connection: Connection) -> None:
    send(connection, "jms/once", "a", "b")
    session = connection.create_session()
    consumer = session.create_consumer(session.create_queue("jms/once"))
    counts: list[int] = []
    refused: list[str] = []

    def listen(message: Message) -> None:
        counts.append(message.get_int_property("JMSXDeliveryCount"))
        if counts == [1]:
            session.recover()
            return
        for forbidden in (session.close, connection.stop, connection.close):
            with pytest.raises(jms.IllegalStateException) as caught:
                forbidden()
            refused.append(str(caught.value))
        consumer.close()

    consumer.set_message_listener(listen)
    eventually(lambda: left_in(connection, "jms/once") == ["b"])
    assert counts == [1, 2]
    assert len(refused) == 3


def test_listener_can_be_taken_away_and_set_again(connection: Connection) -> None:
    session = connection.create_session()
    consumer = session.create_consumer(session.create_queue("jms/changing"))
    found: list[tuple[str, str | None]] = []
    consumer.set_message_listener(lambda message: found.append(("first", text_of(message))))
    send(connection, "jms/changing", "a")
    eventually(lambda: found == [("first", "a")])
    consumer.set_message_listener(None)
    send(connection, "jms/changing", "b")
    consumer.set_message_listener(lambda message: found.append(("second", text_of(message))))
    eventually(lambda: found[1:] == [("second", "b")])


def test_listener_moves_each_message_once_although_a_broker_dies() -> None:
    with LocalCluster(brokers=4) as cluster, ConnectionFactory(cluster.url).create_connection() as connection:
        send(connection, "from", *map(str, range(40)))
        session = connection.create_session(Session.SESSION_TRANSACTED)
        producer = session.create_producer(session.create_queue("to"))
        undone: list[jms.JMSException] = []

        def move(message: Message) -> None:
            producer.send(message)
            try:
                session.commit()
            except jms.TransactionRolledBackException as error:
                undone.append(error)  # it comes again

        connection.start()
        session.create_consumer(session.create_queue("from")).set_message_listener(move)
        eventually(lambda: len(left_in(connection, "to")) >= 5)
        cluster.kill(0)
        eventually(lambda: len(left_in(connection, "to")) >= 40, 60)
        assert sorted(map(str, left_in(connection, "to"))) == sorted(map(str, range(40)))
        eventually(lambda: left_in(connection, "from") == [])


# Mistakes -------------------------------------------------------------------------------------------------------
def test_mistakes_are_errors_of_jms(connection: Connection, factory: ConnectionFactory) -> None:
    session = connection.create_session()
    queue = session.create_queue("jms/mistakes")
    with pytest.raises(jms.InvalidDestinationException, match="reserved"):
        session.create_consumer(session.create_queue("causeway/root"))
    with pytest.raises(jms.InvalidDestinationException, match="reserved"):
        session.create_producer(session.create_queue("a~b")).send(session.create_message())
    with pytest.raises(jms.InvalidDestinationException, match="name="):
        session.create_queue("")
    with pytest.raises(jms.InvalidSelectorException, match="column"):
        session.create_consumer(queue, "a = ")
    with pytest.raises(jms.InvalidDestinationException, match="without a destination"):
        session.create_producer(None).send(session.create_message())
    with pytest.raises(jms.IllegalStateException, match="sends to"):
        session.create_producer(queue).send(queue, session.create_message())
    with pytest.raises(jms.MessageFormatException, match="message="):
        session.create_producer(None).send(queue, 17)  # type: ignore[call-overload]
    with pytest.raises(jms.JMSException, match="priority=10"):
        session.create_producer(queue).send(session.create_message(), DeliveryMode.PERSISTENT, 10, 0)
    with pytest.raises(jms.JMSException, match="delivery_mode=0"):
        session.create_producer(queue).send(session.create_message(), 0, 4, 0)
    with pytest.raises(jms.IllegalStateException, match="client id"):
        session.create_durable_consumer(session.create_topic("a/b"), "watch")
    with pytest.raises(jms.IllegalStateException, match="fixed"):
        connection.set_client_id("late")
    other = factory.create_connection()
    other.set_client_id("a~b")
    with pytest.raises(jms.InvalidClientIDException, match="reserved"):
        other.start()


def test_unreachable_cluster() -> None:
    connection = ConnectionFactory("causeway://127.0.0.1:1", connect_timeout=0.5).create_connection()
    with pytest.raises(jms.JMSException, match="no broker answered") as caught:
        connection.start()
    assert isinstance(caught.value.__cause__, causeway.TransportError)
