"""Causeway: a message-oriented middleware whose brokers find, share and replace each other without an administrator.

async with causeway.connect("causeway://host:port", name="billing") as bus: ...
The same without asyncio: `causeway.sync`. For tests: `causeway.testing`.

The client is loaded when one of its names is first used: a command or an error does not wait for it.
"""

from typing import TYPE_CHECKING

from causeway.errors import (
    CausewayError,
    Code,
    ConfigError,
    DeadlineExceeded,
    LocalProtocolError,
    MessageFormatError,
    OutcomeUnknown,
    Refused,
    RemoteProtocolError,
    StoreError,
    TopicError,
    TransportError,
)
from causeway.later import later

if TYPE_CHECKING:
    from causeway.client._async.bus import Bus, connect
    from causeway.client._async.consumer import MailboxConsumer, Message
    from causeway.client._async.loops import MessageFeed
    from causeway.client._async.receipt import Receipt
    from causeway.client._async.subscription import Subscription
    from causeway.client._async.transaction import Transaction
    from causeway.client.placements import Placed

__all__ = [
    "Bus",
    "CausewayError",
    "Code",
    "ConfigError",
    "DeadlineExceeded",
    "LocalProtocolError",
    "MailboxConsumer",
    "Message",
    "MessageFeed",
    "MessageFormatError",
    "OutcomeUnknown",
    "Placed",
    "Receipt",
    "Refused",
    "RemoteProtocolError",
    "StoreError",
    "Subscription",
    "TopicError",
    "Transaction",
    "TransportError",
    "connect",
]

__getattr__ = later(
    __name__,
    {
        "client._async.bus": ("Bus", "connect"),
        "client._async.consumer": ("MailboxConsumer", "Message"),
        "client._async.loops": ("MessageFeed",),
        "client._async.receipt": ("Receipt",),
        "client._async.subscription": ("Subscription",),
        "client._async.transaction": ("Transaction",),
        "client.placements": ("Placed",),
    },
)
