"""What a turn of a session has to tell its application, gathered from the parts that know it.

Owns: the order in which outcomes are told. Must not know: how any of them came about.
"""

from __future__ import annotations

from collections.abc import Callable

from causeway.client.consumers import MailReaders
from causeway.client.fates import Fates
from causeway.client.outcomes import DeliveryConfirmed, MessagesArrived, Outcome, SendDone, TransactionDone
from causeway.client.transactions import Transactions


def tell(say: Callable[[Outcome], None], fates: Fates, consumers: MailReaders, transactions: Transactions) -> bool:
    """Everything new since the last turn; whether sends were resolved, so that there may be room for more."""
    resolved = bool(fates.resolved)
    for batch in fates.resolved:
        if batch.original is None:
            say(SendDone(batch))
    if fates.departed:
        for batch in fates.departed:
            say(SendDone(batch))
        fates.departed = []
    if fates.confirmed:
        for batch in fates.confirmed:
            say(DeliveryConfirmed(batch))
        fates.confirmed = []
    if consumers.arrived:
        for consumer in consumers.arrived:
            say(MessagesArrived(consumer))
        consumers.arrived = {}
    if transactions.ended:
        for commitment in transactions.ended:
            say(TransactionDone(commitment))
        transactions.ended = []
    if resolved:
        fates.resolved = []
    return resolved
