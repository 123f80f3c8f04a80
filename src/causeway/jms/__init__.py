"""JMS names over the idiomatic client, for people who port code; docs/jms.md says which call is which.

connection = ConnectionFactory("causeway://host:port", client_id="billing").create_connection()
Names are written as in Python (create_session) or as in JMS (createSession); times are milliseconds, as in JMS.
"""

from causeway.jms.bytes_message import BytesMessage
from causeway.jms.connection import Connection, ConnectionMetaData, ExceptionListener
from causeway.jms.consumer import MessageConsumer, MessageListener
from causeway.jms.context import JMSContext, JMSProducer
from causeway.jms.creation import QueueBrowser
from causeway.jms.destinations import Destination, Queue, TemporaryQueue, TemporaryTopic, Topic
from causeway.jms.errors import (
    IllegalStateException,
    InvalidClientIDException,
    InvalidDestinationException,
    InvalidSelectorException,
    JMSException,
    MessageEOFException,
    MessageFormatException,
    MessageNotReadableException,
    MessageNotWriteableException,
    ResourceAllocationException,
    TransactionRolledBackException,
)
from causeway.jms.factory import ConnectionFactory
from causeway.jms.map_message import MapMessage
from causeway.jms.message import DeliveryMode, Message
from causeway.jms.messages import ObjectMessage, TextMessage
from causeway.jms.producer import MessageProducer
from causeway.jms.session import Session
from causeway.jms.stream_message import StreamMessage

__all__ = [
    "BytesMessage",
    "Connection",
    "ConnectionFactory",
    "ConnectionMetaData",
    "DeliveryMode",
    "Destination",
    "ExceptionListener",
    "IllegalStateException",
    "InvalidClientIDException",
    "InvalidDestinationException",
    "InvalidSelectorException",
    "JMSContext",
    "JMSException",
    "JMSProducer",
    "MapMessage",
    "Message",
    "MessageConsumer",
    "MessageEOFException",
    "MessageFormatException",
    "MessageListener",
    "MessageNotReadableException",
    "MessageNotWriteableException",
    "MessageProducer",
    "ObjectMessage",
    "Queue",
    "QueueBrowser",
    "ResourceAllocationException",
    "Session",
    "StreamMessage",
    "TemporaryQueue",
    "TemporaryTopic",
    "TextMessage",
    "Topic",
    "TransactionRolledBackException",
]
