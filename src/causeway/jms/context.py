"""The simplified JMS of version 2.0: a context is a connection and a session in one, its producer is set up in a row of
calls. Owns: nothing that connections, sessions and producers do not own already.
"""

from __future__ import annotations

from collections.abc import Mapping

from causeway.jms.connection import Connection, FailureListener
from causeway.jms.consumer import MessageConsumer
from causeway.jms.destinations import Destination
from causeway.jms.errors import do_all
from causeway.jms.message import Message
from causeway.jms.producer import MessageProducer
from causeway.jms.session import AnySession


class JMSProducer:
    """Sends to any destination: `context.create_producer().set_priority(7).send(queue, "text")`."""

    def __init__(self, context: JMSContext) -> None:
        self._context = context
        self._producer = MessageProducer(context, None)
        self._properties: dict[str, object] = {}
        self._correlation_id: str | None = None
        self._type: str | None = None
        self._reply_to: Destination | None = None

    def send(self, destination: Destination, body: object) -> JMSProducer:
        """A message, or the body of one: str, bytes, a mapping, or (where they are on) an object."""
        message = body if isinstance(body, Message) else self._context.message_of(body)
        for name, value in self._properties.items():
            message.set_object_property(name, value)
        if self._correlation_id is not None:
            message.set_jms_correlation_id(self._correlation_id)
        if self._type is not None:
            message.set_jms_type(self._type)
        if self._reply_to is not None:
            message.set_jms_reply_to(self._reply_to)
        self._producer.send(destination, message)
        return self

    def set_property(self, name: str, value: object) -> JMSProducer:
        """Of every message it sends."""
        Message().set_object_property(name, value)  # a mistake is reported here and now
        self._properties[name] = value
        return self

    def clear_properties(self) -> JMSProducer:
        """Of no message any more."""
        self._properties.clear()
        return self

    def set_delivery_mode(self, value: int) -> JMSProducer:
        """As of a MessageProducer."""
        self._producer.set_delivery_mode(value)
        return self

    def set_priority(self, value: int) -> JMSProducer:
        """0 to 9."""
        self._producer.set_priority(value)
        return self

    def set_time_to_live(self, value: int) -> JMSProducer:
        """Milliseconds; 0 for ever."""
        self._producer.set_time_to_live(value)
        return self

    def set_delivery_delay(self, value: int) -> JMSProducer:
        """Milliseconds."""
        self._producer.set_delivery_delay(value)
        return self

    def set_jms_correlation_id(self, value: str | None) -> JMSProducer:
        """Of every message it sends."""
        self._correlation_id = value
        return self

    def set_jms_type(self, value: str | None) -> JMSProducer:
        """Of every message it sends."""
        self._type = value
        return self

    def set_jms_reply_to(self, value: Destination | None) -> JMSProducer:
        """Of every message it sends."""
        self._reply_to = value
        return self

    # As JMS spells it.
    setProperty = set_property
    clearProperties = clear_properties
    setDeliveryMode = set_delivery_mode
    setPriority = set_priority
    setTimeToLive = set_time_to_live
    setDeliveryDelay = set_delivery_delay
    setJMSCorrelationID = set_jms_correlation_id
    setJMSType = set_jms_type
    setJMSReplyTo = set_jms_reply_to


class JMSContext(AnySession):
    """A connection and a session in one; its first consumer starts the connection."""

    def __init__(self, connection: Connection, mode: int) -> None:
        super().__init__(connection, mode)
        self._auto_start = True
        connection.adopt(self)

    def create_context(self, session_mode: int) -> JMSContext:
        """Another session of the same connection, which ends with its last context."""
        self._check_open()
        return JMSContext(self._connection, session_mode)

    def create_producer(self) -> JMSProducer:
        """A producer for any destination."""
        self._check_open()
        return JMSProducer(self)

    def message_of(self, body: object) -> Message:
        """A message with this body, of the kind that fits."""
        if isinstance(body, str):
            return self.create_text_message(body)
        if isinstance(body, bytes | bytearray | memoryview):
            data = self.create_bytes_message()
            data.write_bytes(bytes(body))
            return data
        if isinstance(body, Mapping):
            table = self.create_map_message()
            for name, value in body.items():
                table.set_object(name, value)
            return table
        return self.create_message() if body is None else self.create_object_message(body)

    def adopt(self, consumer: MessageConsumer) -> None:
        """One more consumer: whoever makes one wants messages."""
        super().adopt(consumer)
        if self._auto_start:
            self._connection.start()

    def start(self) -> None:
        """As of the connection."""
        self._connection.start()

    def stop(self) -> None:
        """As of the connection."""
        self._connection.stop()

    def set_auto_start(self, value: bool) -> None:
        """Whether a new consumer starts the connection."""
        self._auto_start = value

    def get_auto_start(self) -> bool:
        return self._auto_start

    def get_client_id(self) -> str | None:
        """As of the connection."""
        return self._connection.get_client_id()

    def set_client_id(self, client_id: str) -> None:
        """As of the connection."""
        self._connection.set_client_id(client_id)

    def get_session_mode(self) -> int:
        """Its mode."""
        return self.get_acknowledge_mode()

    def set_exception_listener(self, listener: FailureListener | None) -> None:
        """As of the connection."""
        self._connection.set_exception_listener(listener)

    def acknowledge(self) -> None:
        """All that was received is done; counts in CLIENT_ACKNOWLEDGE only."""
        if self.get_acknowledge_mode() == self.CLIENT_ACKNOWLEDGE:
            self._acknowledge()

    def close(self) -> None:
        """End, and the connection with its last context; idempotent."""
        do_all(super().close, self._close_unused)

    def _close_unused(self) -> None:
        if not self._connection.in_use:
            self._connection.close()

    def __enter__(self) -> JMSContext:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # As JMS spells it.
    createContext = create_context
    createProducer = create_producer
    setAutoStart = set_auto_start
    getAutoStart = get_auto_start
    getClientID = get_client_id
    setClientID = set_client_id
    getSessionMode = get_session_mode
    setExceptionListener = set_exception_listener
