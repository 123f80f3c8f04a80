"""Destinations: a queue is a mailbox, a topic is a topic (or, to subscribe, a pattern of topics).

Owns: their names. A temporary one knows how to end itself; the connection ends what is left.
"""

from __future__ import annotations

from collections.abc import Callable

from causeway.jms.errors import InvalidDestinationException


class Destination:
    """Where messages go."""

    def __init__(self, name: str) -> None:
        given: object = name  # ported code is seldom type-checked
        if not isinstance(given, str) or not given:
            raise InvalidDestinationException(f"name={name!r}: give the name of a {type(self).__name__.lower()}")
        self._name = name

    @property
    def name(self) -> str:
        """Its name as Causeway knows it."""
        return self._name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Destination) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"

    def _identity(self) -> tuple[bool, str]:
        return isinstance(self, Topic), self._name


class Queue(Destination):
    """A mailbox."""

    def get_queue_name(self) -> str:
        """The mailbox."""
        return self._name

    # As JMS spells it.
    getQueueName = get_queue_name


class Topic(Destination):
    """A topic; to subscribe, also a pattern of topics."""

    def get_topic_name(self) -> str:
        """The topic or pattern."""
        return self._name

    # As JMS spells it.
    getTopicName = get_topic_name


class TemporaryQueue(Queue):
    """A private mailbox that ends with its connection."""

    def __init__(self, name: str, end: Callable[[], None]) -> None:
        super().__init__(name)
        self._end = end

    def delete(self) -> None:
        """End it now, with all that is in it."""
        self._end()


class TemporaryTopic(Topic):
    """A topic of one connection, which alone may subscribe to it."""

    def __init__(self, name: str, end: Callable[[], None]) -> None:
        super().__init__(name)
        self._end = end

    def delete(self) -> None:
        """End it now."""
        self._end()
