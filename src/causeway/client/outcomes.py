"""What a session tells its driver: facts for the application, drained with `session.outcomes()` after each turn.

Each names the object the application's call returned (a batch, a commitment, an inquiry, a consumer), which by then
holds the result. Objects have a `waiter` slot for the driver's own use; the session never looks at it.
"""

from __future__ import annotations

import msgspec

from causeway.client.batches import SentBatch
from causeway.client.inquiries import Inquiry
from causeway.client.reader import MailReader
from causeway.client.transactions import Commitment
from causeway.errors import CausewayError
from causeway.types import Peer


class SendDone(msgspec.Struct, frozen=True):
    """Every message of the batch was acknowledged or has failed (`batch.failures`), or it has left and nobody waits for
    more (`batch.left`)."""

    batch: SentBatch


class DeliveryConfirmed(msgspec.Struct, frozen=True):
    """Every message of the batch reached its application."""

    batch: SentBatch


class WindowOpened(msgspec.Struct, frozen=True):
    """Sending was refused for lack of room, and there is room again."""


class MessagesArrived(msgspec.Struct, frozen=True):
    """`session.take(consumer, ...)` has something to give."""

    consumer: MailReader


class ConsumerAttached(msgspec.Struct, frozen=True):
    """A broker serves the consumer (again)."""

    consumer: MailReader


class ConsumerRefused(msgspec.Struct, frozen=True):
    """No broker will serve the consumer (any more): `consumer.error` says why."""

    consumer: MailReader


class TransactionDone(msgspec.Struct, frozen=True):
    """The transaction was committed, or not (`commitment.error`)."""

    commitment: Commitment


class InquiryDone(msgspec.Struct, frozen=True):
    """A question was answered, or not (`inquiry.error`)."""

    inquiry: Inquiry


class Connected(msgspec.Struct, frozen=True):
    """Sends go through this broker from now on."""

    peer: Peer


class Disconnected(msgspec.Struct, frozen=True):
    """The broker that took our sends is gone; another one is being looked for."""

    reason: str


class SessionFailed(msgspec.Struct, frozen=True):
    """No broker will ever take us as we are (wrong version, wrong name): everything pending failed."""

    error: CausewayError


Outcome = (
    SendDone
    | DeliveryConfirmed
    | WindowOpened
    | MessagesArrived
    | ConsumerAttached
    | ConsumerRefused
    | TransactionDone
    | InquiryDone
    | Connected
    | Disconnected
    | SessionFailed
)
