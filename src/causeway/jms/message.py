"""The JMS message: its headers, and what the kinds of messages share.

Owns: the header fields, whether the body may be written, and when a received body is decoded: when it is first read,
so that a body nobody can read does not keep a consumer from getting the message. Must not know: how it travels
(`mapping`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from causeway import kinds
from causeway.jms import conversion
from causeway.jms.destinations import Destination
from causeway.jms.errors import MessageFormatException, MessageNotWriteableException, translated
from causeway.jms.properties import PropertySet
from causeway.kinds import MessageKind, Scalar


class DeliveryMode:
    """How a message survives."""

    NON_PERSISTENT = 1
    """Causeway's express: it may be lost with a broker."""
    PERSISTENT = 2
    """Causeway's transactional: on several disks, once and in order."""


class Message(PropertySet):
    """A message without a body, and what all messages have."""

    DEFAULT_DELIVERY_MODE: ClassVar = DeliveryMode.PERSISTENT
    DEFAULT_PRIORITY: ClassVar = 4
    DEFAULT_TIME_TO_LIVE: ClassVar = 0
    DEFAULT_DELIVERY_DELAY: ClassVar = 0

    kind: ClassVar[MessageKind | None] = None
    """What its body holds; None for none."""

    def __init__(self) -> None:
        super().__init__()
        self._body_fixed = False
        self._payload: bytes | None = None
        """A received body that was not decoded yet."""
        self._received_kind: str | None = None
        self._objects = False
        self._acknowledge: Callable[[], None] | None = None
        self._message_id: str | None = None
        self._timestamp = 0
        self._correlation_id: str | None = None
        self._reply_to: Destination | None = None
        self._destination: Destination | None = None
        self._delivery_mode: int = self.DEFAULT_DELIVERY_MODE
        self._redelivered = False
        self._type: str | None = None
        self._expiration = 0
        self._delivery_time = 0
        self._priority: int = self.DEFAULT_PRIORITY

    # Body ------------------------------------------------------------------------------------------------------
    def acknowledge(self) -> None:
        """Done with it and with all that its session received; counts in CLIENT_ACKNOWLEDGE only."""
        if self._acknowledge is not None:
            self._acknowledge()

    def on_acknowledge(self, acknowledge: Callable[[], None]) -> None:
        """Of a session: what `acknowledge` does."""
        self._acknowledge = acknowledge

    def clear_body(self) -> None:
        """Forget the body; it can be written again."""
        self._payload = None
        self._body_fixed = False
        self._empty()

    def get_body(self) -> object:
        """The body as a Python value: str, bytes, dict, list, an object, or None for none.

        Raises MessageFormatException when it is not what its kind says, or its kind is unknown.
        """
        self._decode_body()
        return self._written()

    def encoded_body(self) -> bytes:
        """The body as it travels; a received one that nobody read travels on as it came."""
        if self._payload is not None:
            return self._payload
        if self.kind is None:
            return b""
        with translated():
            return kinds.encode(self._content(), self.kind)[1]

    @property
    def wire_kind(self) -> str | None:
        """The kind as it travels."""
        return self.kind if self._payload is None else self._received_kind

    def fill(self, kind: str | None, payload: bytes, *, objects: bool) -> None:
        """Become a received message of this kind and body, which can be read only."""
        self._received_kind, self._payload, self._objects = kind, payload, objects
        self._body_fixed = True

    def fix_properties(self, properties: dict[str, Scalar]) -> None:
        """Become a received message with these properties, which can be read only."""
        self._properties = properties
        self._properties_fixed = True

    def _decode_body(self) -> None:
        if self._payload is not None:
            with translated():
                content = kinds.decode(self._received_kind, self._payload, objects=self._objects)
            self._payload = None
            self._restore(content)

    def _check_writable(self) -> None:
        if self._body_fixed:
            raise MessageNotWriteableException("the body of a received message is fixed; clear_body first")

    def _written(self) -> object:
        """The body as a value."""
        return None

    def _content(self) -> object:
        """The body as it is encoded."""
        return self._written()

    def _restore(self, content: object) -> None:
        """Take over a decoded body."""

    def _empty(self) -> None:
        """Forget the body."""

    # Headers ---------------------------------------------------------------------------------------------------
    def get_jms_message_id(self) -> str | None:
        """`ID:` and what `causeway story` wants; set by sending."""
        return self._message_id

    def set_jms_message_id(self, value: str | None) -> None:
        self._message_id = value

    def get_jms_timestamp(self) -> int:
        """When it was sent, or (received) when its mailbox took it: milliseconds since 1970."""
        return self._timestamp

    def set_jms_timestamp(self, value: int) -> None:
        self._timestamp = value

    def get_jms_correlation_id(self) -> str | None:
        """Which message it belongs to."""
        return self._correlation_id

    def set_jms_correlation_id(self, value: str | None) -> None:
        conversion.encoded("JMSCorrelationID", value)  # a mistake is reported here and now
        self._correlation_id = value

    def get_jms_reply_to(self) -> Destination | None:
        """Where an answer is expected."""
        return self._reply_to

    def set_jms_reply_to(self, value: Destination | None) -> None:
        given: object = value  # ported code is seldom type-checked
        if given is not None and not isinstance(given, Destination):
            raise MessageFormatException(f"JMSReplyTo={value!r}: give a Queue, a Topic or None")
        self._reply_to = value

    def get_jms_destination(self) -> Destination | None:
        """Where it was sent; set by sending."""
        return self._destination

    def set_jms_destination(self, value: Destination | None) -> None:
        self._destination = value

    def get_jms_delivery_mode(self) -> int:
        """DeliveryMode; set by sending."""
        return self._delivery_mode

    def set_jms_delivery_mode(self, value: int) -> None:
        self._delivery_mode = value

    def get_jms_redelivered(self) -> bool:
        """Whether an application may have seen it before."""
        return self._redelivered

    def set_jms_redelivered(self, value: bool) -> None:
        self._redelivered = value

    def get_jms_type(self) -> str | None:
        """Any text."""
        return self._type

    def set_jms_type(self, value: str | None) -> None:
        self._type = value

    def get_jms_expiration(self) -> int:
        """When it ends: milliseconds since 1970, 0 for never; set by sending."""
        return self._expiration

    def set_jms_expiration(self, value: int) -> None:
        self._expiration = value

    def get_jms_delivery_time(self) -> int:
        """Before when nobody gets it: milliseconds since 1970; set by sending."""
        return self._delivery_time

    def set_jms_delivery_time(self, value: int) -> None:
        self._delivery_time = value

    def get_jms_priority(self) -> int:
        """0 to 9; set by sending."""
        return self._priority

    def set_jms_priority(self, value: int) -> None:
        self._priority = value

    def get_jms_correlation_id_as_bytes(self) -> bytes | None:
        """The correlation id as UTF-8."""
        return None if self._correlation_id is None else self._correlation_id.encode()

    def set_jms_correlation_id_as_bytes(self, value: bytes | None) -> None:
        data = conversion.write_bytes("JMSCorrelationID", value)
        try:
            self._correlation_id = None if data is None else data.decode()
        except UnicodeDecodeError as error:
            raise MessageFormatException(f"JMSCorrelationID={value!r}: no UTF-8 text ({error.reason})") from error

    # As JMS spells it.
    clearBody = clear_body
    getBody = get_body
    getJMSMessageID = get_jms_message_id
    setJMSMessageID = set_jms_message_id
    getJMSTimestamp = get_jms_timestamp
    setJMSTimestamp = set_jms_timestamp
    getJMSCorrelationID = get_jms_correlation_id
    setJMSCorrelationID = set_jms_correlation_id
    getJMSReplyTo = get_jms_reply_to
    setJMSReplyTo = set_jms_reply_to
    getJMSDestination = get_jms_destination
    setJMSDestination = set_jms_destination
    getJMSDeliveryMode = get_jms_delivery_mode
    setJMSDeliveryMode = set_jms_delivery_mode
    getJMSRedelivered = get_jms_redelivered
    setJMSRedelivered = set_jms_redelivered
    getJMSType = get_jms_type
    setJMSType = set_jms_type
    getJMSExpiration = get_jms_expiration
    setJMSExpiration = set_jms_expiration
    getJMSDeliveryTime = get_jms_delivery_time
    setJMSDeliveryTime = set_jms_delivery_time
    getJMSPriority = get_jms_priority
    setJMSPriority = set_jms_priority
    getJMSCorrelationIDAsBytes = get_jms_correlation_id_as_bytes
    setJMSCorrelationIDAsBytes = set_jms_correlation_id_as_bytes
