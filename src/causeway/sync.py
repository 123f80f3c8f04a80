"""Causeway without asyncio: the same names and calls as `causeway`, each waiting in its own thread.

with causeway.sync.connect("causeway://host:port", name="billing") as bus: ...
"""

from causeway.client._sync.bus import Bus, connect
from causeway.client._sync.consumer import MailboxConsumer, Message
from causeway.client._sync.loops import MessageFeed
from causeway.client._sync.receipt import Receipt
from causeway.client._sync.subscription import Subscription
from causeway.client._sync.transaction import Transaction

__all__ = ["Bus", "MailboxConsumer", "Message", "MessageFeed", "Receipt", "Subscription", "Transaction", "connect"]
