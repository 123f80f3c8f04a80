"""A JMS message as a Causeway message, and back.

Owns: which header carries what. Properties are headers of their own names; JMSType and JMSCorrelationID too, so that
selectors find them. The kind, the queue that waits for an answer and the correlation are also in Causeway's own
headers, so that `message.reply` of the idiomatic client answers a JMS request.
"""

from __future__ import annotations

from typing import Final

from causeway.client.message import CORRELATION, REPLY_TO, Delivery
from causeway.jms.bytes_message import BytesMessage
from causeway.jms.destinations import Destination, Queue, Topic
from causeway.jms.map_message import MapMessage
from causeway.jms.message import DeliveryMode, Message
from causeway.jms.messages import ObjectMessage, TextMessage
from causeway.jms.stream_message import StreamMessage
from causeway.kinds import KIND, MessageKind, Scalar

TYPE: Final = "JMSType"
CORRELATION_ID: Final = "JMSCorrelationID"
REPLY_TOPIC: Final = "JMSReplyToTopic"
"""An answer is expected at a topic, which Causeway's own header cannot say."""
DELIVERY_TIME: Final = "JMSDeliveryTime"
"""Only of a message that was sent with a delay."""
DELIVERY_COUNT: Final = "JMSXDeliveryCount"

CLASSES: Final[dict[str, type[Message]]] = {
    MessageKind.TEXT: TextMessage,
    MessageKind.BYTES: BytesMessage,
    MessageKind.MAP: MapMessage,
    MessageKind.STREAM: StreamMessage,
    MessageKind.OBJECT: ObjectMessage,
}


def headers_of(message: Message) -> dict[str, Scalar]:
    """The headers that a message travels with."""
    headers: dict[str, Scalar] = {name: message.get_object_property(name) for name in message.get_property_names()}
    headers.pop(DELIVERY_COUNT, None)  # of the delivery it was received with, if it is sent on
    kind = message.wire_kind
    if kind is not None:
        headers[KIND] = str(kind)
    if (text := message.get_jms_type()) is not None:
        headers[TYPE] = text
    if (correlation := message.get_jms_correlation_id()) is not None:
        headers[CORRELATION_ID] = headers[CORRELATION] = correlation
    if (reply := message.get_jms_reply_to()) is not None:
        headers[REPLY_TOPIC if isinstance(reply, Topic) else REPLY_TO] = reply.name
    if (due := message.get_jms_delivery_time()) > message.get_jms_timestamp():
        headers[DELIVERY_TIME] = due
    return headers


def received(native: Delivery, *, objects: bool) -> Message:
    """A delivered message as its kind; one of an unknown kind has a body that cannot be read."""
    headers = native.all_headers()
    kind = headers.get(KIND)
    payload = native.body
    message: Message
    if kind is None and not payload:
        message = Message()  # JMS has a message without a body too
    else:
        # A plain Causeway message is bytes, whatever they mean.
        shown = str(MessageKind.BYTES if kind is None else kind)
        message = CLASSES.get(shown, Message)()
        message.fill(shown, payload, objects=objects)
    message.fix_properties(_properties(native, headers))
    _fill_headers(message, native, headers)
    return message


def unreadable(native: Delivery) -> Message:
    """A message that `received` cannot show: what the broker knows of it, no properties, and a body that raises."""
    message = Message()
    message.fill("unreadable", b"", objects=False)
    message.fix_properties({DELIVERY_COUNT: _count(native)})
    _fill_headers(message, native, {})
    return message


def _properties(native: Delivery, headers: dict[str, Scalar]) -> dict[str, Scalar]:
    own = {name: value for name, value in headers.items() if not name.startswith("~") and _is_property(name)}
    own[DELIVERY_COUNT] = _count(native)
    return own


def _is_property(name: str) -> bool:
    return not name.startswith("JMS") or name.startswith("JMSX")


def _count(native: Delivery) -> int:
    """JMS counts deliveries from 1, and whatever is marked as delivered before has at least 2."""
    return max(native.deliveries + 1, 2 if native.redelivered else 1)


def _fill_headers(message: Message, native: Delivery, headers: dict[str, Scalar]) -> None:
    correlation = headers.get(CORRELATION_ID, headers.get(CORRELATION))
    kind = headers.get(TYPE)
    message.set_jms_message_id(f"ID:{native.id}")
    message.set_jms_correlation_id(None if correlation is None else str(correlation))
    message.set_jms_type(kind if isinstance(kind, str) else None)
    message.set_jms_reply_to(_reply_to(headers))
    message.set_jms_destination(Topic(native.topic) if native.topic else Queue(native.mailbox))
    express = native.service == "express"
    message.set_jms_delivery_mode(DeliveryMode.NON_PERSISTENT if express else DeliveryMode.PERSISTENT)
    message.set_jms_redelivered(native.redelivered)
    message.set_jms_priority(native.priority)
    message.set_jms_timestamp(_milliseconds(native.sent_at))
    due = headers.get(DELIVERY_TIME)
    message.set_jms_delivery_time(due if isinstance(due, int) else message.get_jms_timestamp())
    message.set_jms_expiration(_milliseconds(native.expires_at))


def _milliseconds(seconds: float | None) -> int:
    return 0 if seconds is None else round(seconds * 1000)


def _reply_to(headers: dict[str, Scalar]) -> Destination | None:
    topic, mailbox = headers.get(REPLY_TOPIC), headers.get(REPLY_TO)
    if isinstance(topic, str) and topic:
        return Topic(topic)
    return Queue(mailbox) if isinstance(mailbox, str) and mailbox else None
