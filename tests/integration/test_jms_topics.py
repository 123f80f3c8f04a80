"""The JMS names that need what brokers do for topics, delays, selective consumers and temporary mailboxes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from causeway import jms
from causeway.jms import Connection, ConnectionFactory, MessageConsumer, Session
from causeway.testing import LocalCluster
from tests.integration.jms_actions import MOMENT, WAIT, publish, text_of


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(brokers=3) as running:
        yield running


@pytest.fixture
def connect(cluster: LocalCluster) -> Iterator[Callable[..., Connection]]:
    made: list[Connection] = []

    def connect_started(client_id: str | None = None) -> Connection:
        connection = ConnectionFactory(cluster.url, client_id=client_id).create_connection()
        made.append(connection)
        connection.start()
        return connection

    yield connect_started
    for connection in made:
        connection.close()


def texts(consumer: MessageConsumer, count: int) -> list[str | None]:
    """So many messages, and no more."""
    found = [text_of(consumer.receive(WAIT)) for _ in range(count)]
    assert consumer.receive(MOMENT) is None
    return found


# Topics ---------------------------------------------------------------------------------------------------------
def test_every_subscriber_gets_what_is_published_in_order(connect: Callable[..., Connection]) -> None:
    connection = connect()
    session = connection.create_session()
    exact = session.create_consumer(session.create_topic("roads/a1/speed"))
    wide = session.create_consumer(session.create_topic("roads/*/speed"))
    publish(connect(), "roads/a1/speed", *map(str, range(20)))
    publish(connect(), "roads/b2/speed", "other")
    assert texts(exact, 20) == list(map(str, range(20)))
    assert sorted(map(str, texts(wide, 21))) == sorted([*map(str, range(20)), "other"])
    publish(connect(), "roads/a1/speed", "last")
    received = exact.receive(WAIT)
    assert received is not None
    assert received.get_jms_destination() == session.create_topic("roads/a1/speed")


def test_selector_and_no_local(connect: Callable[..., Connection]) -> None:
    ours, theirs = connect("ours"), connect("theirs")
    session = ours.create_session()
    topic = session.create_topic("paint/new")
    red = session.create_consumer(topic, "color = 'red'")
    foreign = session.create_consumer(topic, None, True)
    publish(ours, "paint/new", "own", color="red")
    publish(theirs, "paint/new", "a", color="red")
    publish(theirs, "paint/new", "b", color="blue")
    assert sorted(map(str, texts(red, 2))) == ["a", "own"]
    assert sorted(map(str, texts(foreign, 2))) == ["a", "b"]


def test_durable_subscription_goes_on_without_its_consumer(connect: Callable[..., Connection]) -> None:
    publisher, reader = connect(), connect("archive")
    session = reader.create_session()
    topic = session.create_topic("news/local")
    session.create_durable_subscriber(topic, "all").close()
    publish(publisher, "news/local", "a", "b")
    reader.close()
    publish(publisher, "news/local", "c")
    session = connect("archive").create_session()
    again = session.create_durable_consumer(topic, "all")
    assert texts(again, 3) == ["a", "b", "c"]
    with pytest.raises(jms.IllegalStateException, match="has a consumer"):
        session.unsubscribe("all")
    again.close()
    session.unsubscribe("all")
    publish(publisher, "news/local", "d")
    anew = session.create_durable_consumer(topic, "all")
    publish(publisher, "news/local", "e")
    assert texts(anew, 1) == ["e"]


def test_second_consumer_of_a_durable_subscription_is_refused(connect: Callable[..., Connection]) -> None:
    first, second = connect("twice").create_session(), connect("twice").create_session()
    topic = first.create_topic("news/twice")
    first.create_durable_consumer(topic, "one")
    with pytest.raises(jms.IllegalStateException) as caught:
        second.create_durable_consumer(topic, "one")
    assert caught.value.get_error_code() == "IN_USE"
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize("durable", [False, True], ids=["shared", "shared-durable"])
def test_consumers_share_a_subscription(connect: Callable[..., Connection], durable: bool) -> None:
    name, path = f"share-{durable}", f"work/shared-{durable}"
    consumers = []
    for _ in range(2):
        session = connect().create_session()
        create = session.create_shared_durable_consumer if durable else session.create_shared_consumer
        consumers.append(create(session.create_topic(path), name))
    publish(connect(), path, *map(str, range(10)))
    found: list[str] = []
    deadline = time.monotonic() + 20
    while len(found) < 10 and time.monotonic() < deadline:
        found += [str(text_of(one)) for consumer in consumers if (one := consumer.receive(100)) is not None]
    assert sorted(found) == sorted(map(str, range(10)))
    assert all(consumer.receive(MOMENT) is None for consumer in consumers)


def test_published_in_a_transaction(connect: Callable[..., Connection]) -> None:
    connection = connect()
    reader = connection.create_session()
    consumer = reader.create_consumer(reader.create_topic("bank/moves"))
    session = connection.create_session(Session.SESSION_TRANSACTED)
    producer = session.create_producer(session.create_topic("bank/moves"))
    producer.send(session.create_text_message("never"))
    session.rollback()
    for text in ("a", "b"):
        producer.send(session.create_text_message(text))
    assert consumer.receive(MOMENT) is None
    session.commit()
    assert texts(consumer, 2) == ["a", "b"]


def test_topic_message_comes_again_after_rollback(connect: Callable[..., Connection]) -> None:
    session = connect("again").create_session(Session.SESSION_TRANSACTED)
    for create in (
        lambda: session.create_consumer(session.create_topic("again/x")),
        lambda: session.create_durable_consumer(session.create_topic("again/x"), "kept"),
    ):
        consumer = create()
        publish(connect(), "again/x", "a")
        assert text_of(consumer.receive(WAIT)) == "a"
        session.rollback()
        again = consumer.receive(WAIT)
        assert text_of(again) == "a"
        assert again is not None
        assert again.get_jms_redelivered()
        session.commit()
        consumer.close()


def test_unsubscribe_ends_the_own_subscription_before_the_shared_one(connect: Callable[..., Connection]) -> None:
    publisher, session = connect(), connect("ending").create_session()
    topic = session.create_topic("news/ending")
    session.create_durable_consumer(topic, "both").close()
    session.create_shared_durable_consumer(topic, "both").close()
    publish(publisher, "news/ending", "a")
    session.unsubscribe("both")
    shared = session.create_shared_durable_consumer(topic, "both")
    assert texts(shared, 1) == ["a"]
    shared.close()
    session.unsubscribe("both", shared=True)


def test_durable_subscription_to_a_temporary_topic_is_refused(connect: Callable[..., Connection]) -> None:
    session = connect("brief").create_session()
    topic = session.create_temporary_topic()
    with pytest.raises(jms.InvalidDestinationException, match="durable"):
        session.create_durable_consumer(topic, "all")
    with pytest.raises(jms.InvalidDestinationException, match="durable"):
        session.create_shared_durable_consumer(topic, "all")
    session.create_shared_consumer(topic, "all").close()


def test_temporary_topic_is_read_by_its_connection_alone(connect: Callable[..., Connection]) -> None:
    owner, other = connect(), connect()
    session = owner.create_session()
    topic = session.create_temporary_topic()
    consumer = session.create_consumer(topic)
    publish(other, topic.get_topic_name(), "a")
    assert texts(consumer, 1) == ["a"]
    with pytest.raises(jms.InvalidDestinationException):
        other.create_session().create_consumer(topic)
    consumer.close()
    topic.delete()
    with pytest.raises(jms.InvalidDestinationException):
        session.create_consumer(topic)


# Queues ---------------------------------------------------------------------------------------------------------
def test_consumer_takes_what_its_selector_matches_and_leaves_the_rest(connect: Callable[..., Connection]) -> None:
    session = connect().create_session()
    queue = session.create_queue("jms/selective")
    producer = session.create_producer(queue)
    for number in range(6):
        message = session.create_text_message(str(number))
        message.set_int_property("n", number)
        message.set_jms_correlation_id(f"c{number % 2}")
        producer.send(message)
    odd = session.create_consumer(queue, "JMSCorrelationID = 'c1'")
    assert texts(odd, 3) == ["1", "3", "5"]
    assert texts(session.create_consumer(queue, "n >= 2"), 2) == ["2", "4"]
    assert [text_of(message) for message in session.create_browser(queue).get_enumeration()] == ["0"]


def test_delayed_message_comes_when_it_is_due(connect: Callable[..., Connection]) -> None:
    session = connect().create_session()
    queue = session.create_queue("jms/delayed")
    producer = session.create_producer(queue)
    producer.set_delivery_delay(1_000)
    late = session.create_text_message("late")
    producer.send(late)
    producer.set_delivery_delay(0)
    producer.send(session.create_text_message("soon"))
    consumer = session.create_consumer(queue)
    assert text_of(consumer.receive(WAIT)) == "soon"
    received = consumer.receive(WAIT)
    assert text_of(received) == "late"
    assert time.time() * 1000 >= late.get_jms_delivery_time() - 5
    assert received is not None
    assert received.get_jms_delivery_time() == late.get_jms_delivery_time() > late.get_jms_timestamp()


def test_receiver_knows_when_a_message_was_taken_and_when_it_ends(connect: Callable[..., Connection]) -> None:
    session = connect().create_session()
    queue = session.create_queue("jms/times")
    producer = session.create_producer(queue)
    producer.set_time_to_live(600_000)
    sent = session.create_text_message("x")
    producer.send(sent)
    received = session.create_consumer(queue).receive(WAIT)
    assert received is not None
    assert abs(received.get_jms_timestamp() - sent.get_jms_timestamp()) < 60_000
    assert abs(received.get_jms_expiration() - sent.get_jms_expiration()) < 60_000


def test_temporary_queue_ends_when_it_is_deleted_and_with_its_connection(connect: Callable[..., Connection]) -> None:
    owner = connect()
    session, sender = owner.create_session(), connect().create_session()
    deleted, left = session.create_temporary_queue(), session.create_temporary_queue()
    producer = sender.create_producer(None)
    for queue in (deleted, left):
        producer.send(queue, sender.create_text_message("in time"))
    with session.create_consumer(deleted) as consumer:
        assert texts(consumer, 1) == ["in time"]
    deleted.delete()
    with pytest.raises(jms.InvalidDestinationException):
        session.create_consumer(deleted)
    owner.close()
    for queue in (deleted, left):
        with pytest.raises(jms.InvalidDestinationException):
            producer.send(queue, sender.create_text_message("too late"))
