"""What tests of the JMS names do again and again: send, publish, look, wait."""

from __future__ import annotations

import time
from collections.abc import Callable

from causeway.jms import Connection, Message, Queue, TextMessage, Topic

WAIT = 10_000
"""Milliseconds within which what must come has come."""
MOMENT = 300
"""Milliseconds in which what must not come would have come."""


def send(connection: Connection, queue: str, *texts: str, **properties: str) -> None:
    """Text messages to a queue, all with these properties."""
    _produce(connection, Queue(queue), texts, properties)


def publish(connection: Connection, topic: str, *texts: str, **properties: str) -> None:
    """Text messages on a topic, all with these properties."""
    _produce(connection, Topic(topic), texts, properties)


def _produce(
    connection: Connection, destination: Queue | Topic, texts: tuple[str, ...], properties: dict[str, str]
) -> None:
    session = connection.create_session()
    producer = session.create_producer(destination)
    for text in texts:
        message = session.create_text_message(text)
        for name, value in properties.items():
            message.set_string_property(name, value)
        producer.send(message)
    session.close()


def text_of(message: Message | None) -> str | None:
    """The text of a message, if there is one."""
    if message is None:
        return None
    assert isinstance(message, TextMessage)
    return message.get_text()


def eventually(condition: Callable[[], bool], seconds_max: float = 20.0) -> None:
    """Poll until true."""
    deadline = time.monotonic() + seconds_max
    while not condition():
        assert time.monotonic() < deadline, "never became true"
        time.sleep(0.02)


def left_in(connection: Connection, queue: str) -> list[str | None]:
    """The texts that nobody has acknowledged."""
    session = connection.create_session()
    found = [text_of(message) for message in session.create_browser(session.create_queue(queue)).get_enumeration()]
    session.close()
    return found
