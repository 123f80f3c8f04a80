"""What a session makes: messages, destinations, consumers, browsers. Must not know: acknowledgement modes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from causeway import kinds, sync
from causeway.client.message import Delivery
from causeway.errors import CausewayError, Code
from causeway.jms import mapping
from causeway.jms.bytes_message import BytesMessage
from causeway.jms.consumer import MessageConsumer
from causeway.jms.destinations import Destination, Queue, TemporaryQueue, TemporaryTopic, Topic
from causeway.jms.errors import IllegalStateException, InvalidDestinationException, translated
from causeway.jms.map_message import MapMessage
from causeway.jms.message import Message
from causeway.jms.messages import ObjectMessage, TextMessage
from causeway.jms.stream_message import StreamMessage
from causeway.limits import ID_MAX

if TYPE_CHECKING:
    from causeway.jms.connection import Connection
    from causeway.jms.session import AnySession

D = TypeVar("D", bound=Destination)


class QueueBrowser:
    """Looks at a queue without taking anything."""

    def __init__(self, connection: Connection, queue: Queue, selector: str | None) -> None:
        self._connection = connection
        self._queue = queue
        self._selector = selector
        self._closed = False

    def get_enumeration(self) -> Iterator[Message]:
        """What is in the queue, oldest first; asked for page by page as the loop goes on. A message that is broken is a
        plain one with a body that cannot be read."""
        if self._closed:
            raise IllegalStateException("the browser is closed")
        return self._pages()

    def _pages(self) -> Iterator[Message]:
        with translated():
            for native in self._connection.bus.browse(self._queue.name, ID_MAX, selector=self._selector):
                yield self._shown(native)

    def _shown(self, native: Delivery) -> Message:
        """One that is broken must not hide those after it."""
        try:
            return mapping.received(native, objects=self._connection.objects)
        except CausewayError:
            return mapping.unreadable(native)

    def get_queue(self) -> Queue:
        """The queue it looks at."""
        return self._queue

    def get_message_selector(self) -> str | None:
        """The selector it was made with."""
        return self._selector

    def close(self) -> None:
        """Look no more; idempotent."""
        self._closed = True

    # As JMS spells it.
    getEnumeration = get_enumeration
    getQueue = get_queue
    getMessageSelector = get_message_selector


class Creation:
    """The part of a session that makes things."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._closed = False

    # Messages --------------------------------------------------------------------------------------------------
    def create_message(self) -> Message:
        """A message without a body."""
        self._check_open()
        return Message()

    def create_text_message(self, text: str | None = None) -> TextMessage:
        """A message of text."""
        self._check_open()
        message = TextMessage()
        message.set_text(text)
        return message

    def create_bytes_message(self) -> BytesMessage:
        """A message of bytes."""
        self._check_open()
        return BytesMessage()

    def create_map_message(self) -> MapMessage:
        """A message of names and values."""
        self._check_open()
        return MapMessage()

    def create_stream_message(self) -> StreamMessage:
        """A message of values in a row."""
        self._check_open()
        return StreamMessage()

    def create_object_message(self, value: object = None) -> ObjectMessage:
        """A message of one object. Raises MessageFormatException unless the connection has object messages on."""
        self._check_open()
        with translated():
            kinds.check_objects(objects=self._connection.objects)
        message = ObjectMessage(objects=True)
        if value is not None:
            message.set_object(value)
        return message

    # Destinations ----------------------------------------------------------------------------------------------
    def create_queue(self, name: str) -> Queue:
        """A mailbox by its name; nothing is created."""
        self._check_open()
        return Queue(name)

    def create_topic(self, name: str) -> Topic:
        """A topic, or a pattern of topics, by its name; nothing is created."""
        self._check_open()
        return Topic(name)

    def create_temporary_queue(self) -> TemporaryQueue:
        """A queue that ends with the connection, which alone may read it."""
        self._check_open()
        return self._connection.make_temporary_queue()

    def create_temporary_topic(self) -> TemporaryTopic:
        """A topic that ends with the connection, which alone may subscribe to it."""
        self._check_open()
        return self._connection.make_temporary_topic()

    # Consumers -------------------------------------------------------------------------------------------------
    def create_consumer(
        self, destination: Destination, message_selector: str | None = None, no_local: bool = False
    ) -> MessageConsumer:
        """A consumer of a queue, or a subscription to a topic that ends with the consumer."""
        self._connection.check_reader(destination)
        if isinstance(destination, Topic):
            return self._subscribe(destination, None, selector=message_selector, no_local=no_local)
        bus, prefetch = self._connection.bus, self._connection.prefetch
        selector = message_selector or None

        def attach() -> sync.MailboxConsumer:
            return bus.consumer(destination.name, selector=selector, prefetch=prefetch)

        return self._consumer(_of(Queue, destination), attach, selector=selector, lasting=True)

    def create_durable_consumer(
        self, topic: Topic, name: str, message_selector: str | None = None, no_local: bool = False
    ) -> MessageConsumer:
        """A subscription of this client id that goes on without its consumer, until `unsubscribe`."""
        self._connection.check_client_id()
        return self._subscribe(topic, name, selector=message_selector, no_local=no_local, durable=True)

    def create_shared_consumer(
        self, topic: Topic, shared_subscription_name: str, message_selector: str | None = None
    ) -> MessageConsumer:
        """A subscription that all consumers of this name share; it ends with the last of them."""
        return self._subscribe(topic, shared_subscription_name, selector=message_selector, shared=True)

    def create_shared_durable_consumer(
        self, topic: Topic, name: str, message_selector: str | None = None
    ) -> MessageConsumer:
        """A subscription that all consumers of this name share, and that goes on without them."""
        return self._subscribe(topic, name, selector=message_selector, shared=True, durable=True)

    create_durable_subscriber = create_durable_consumer
    """As JMS 1.1 calls it."""

    def unsubscribe(self, name: str, *, shared: bool | None = None) -> None:
        """End a durable subscription of this client id, or a shared one (if not said: when this client id has none).

        Raises InvalidDestinationException when there is none.
        """
        self._check_open()
        self._connection.check_unsubscribed(name)
        bus = self._connection.bus
        if shared is None and self._connection.get_client_id():
            try:
                with translated():
                    bus.unsubscribe(name)
                return
            except InvalidDestinationException as error:
                if error.error_code != Code.NO_MAILBOX.name:
                    raise
        with translated():
            bus.unsubscribe(name, shared=shared is not False)

    def create_browser(self, queue: Queue, message_selector: str | None = None) -> QueueBrowser:
        """Look at a queue without taking anything."""
        self._check_open()
        return QueueBrowser(self._connection, _of(Queue, queue), message_selector or None)

    def _subscribe(
        self,
        topic: Topic,
        name: str | None,
        *,
        selector: str | None,
        no_local: bool = False,
        durable: bool = False,
        shared: bool = False,
    ) -> MessageConsumer:
        bus, prefetch = self._connection.bus, self._connection.prefetch
        self._connection.check_reader(_of(Topic, topic))
        if durable and isinstance(topic, TemporaryTopic):
            raise InvalidDestinationException(
                f"{topic!r} ends with its connection: a durable subscription needs a topic that does not"
            )

        def attach() -> sync.MailboxConsumer:
            return bus.subscription(
                topic.name,
                name=name,
                durable=durable,
                shared=shared,
                selector=selector or None,
                no_local=no_local,
                retained=False,  # JMS knows no retained messages
                prefetch=prefetch,
            )

        return self._consumer(
            topic,
            attach,
            selector=selector or None,
            no_local=no_local,
            lasting=durable,
            subscription=name if durable else None,
        )

    def _consumer(
        self,
        destination: Destination,
        attach: Callable[[], sync.MailboxConsumer],
        *,
        selector: str | None,
        no_local: bool = False,
        lasting: bool,
        subscription: str | None = None,
    ) -> MessageConsumer:
        self._check_open()
        session: AnySession = self._as_session()
        consumer = MessageConsumer(
            session,
            destination,
            attach,
            selector=selector,
            no_local=no_local,
            lasting=lasting,
            subscription=subscription,
        )
        session.adopt(consumer)
        return consumer

    def _as_session(self) -> AnySession:
        raise NotImplementedError

    def _check_open(self) -> None:
        if self._closed:
            raise IllegalStateException("the session is closed; create another one")

    # As JMS spells it.
    createMessage = create_message
    createTextMessage = create_text_message
    createBytesMessage = create_bytes_message
    createMapMessage = create_map_message
    createStreamMessage = create_stream_message
    createObjectMessage = create_object_message
    createQueue = create_queue
    createTopic = create_topic
    createTemporaryQueue = create_temporary_queue
    createTemporaryTopic = create_temporary_topic
    createConsumer = create_consumer
    createDurableConsumer = create_durable_consumer
    createDurableSubscriber = create_durable_subscriber
    createSharedConsumer = create_shared_consumer
    createSharedDurableConsumer = create_shared_durable_consumer
    createBrowser = create_browser


def _of(wanted: type[D], destination: object) -> D:
    if not isinstance(destination, wanted):
        raise InvalidDestinationException(f"destination={destination!r}: must be a {wanted.__name__}")
    return destination
