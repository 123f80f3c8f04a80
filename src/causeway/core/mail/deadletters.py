"""Dead letters: messages given back too often. Owns: where they go, and as what. Must not know: why they were dead."""

from __future__ import annotations

from causeway.core.mail.rows import StoredBatch
from causeway.core.messages import Config, Deposit
from causeway.limits import NAME_BYTES_MAX
from causeway.types import VOLATILE_FROM, Flag, ServiceClass, key_of

DEAD_PREFIX = "dead/"


def dead_letter_name(mailbox: str) -> str:
    """Where messages of a mailbox go that were given back too often."""
    name = DEAD_PREFIX + mailbox
    if len(name.encode()) > NAME_BYTES_MAX:
        name = DEAD_PREFIX + key_of(mailbox).hex()
    return name


def dead_letter(mailbox: str, config: Config, batch: StoredBatch, incarnation: int) -> Deposit:
    """The batch that buries messages; their numbers make it exactly once. `incarnation` is this broker's."""
    return Deposit(
        mailbox,
        incarnation if batch.seq >= VOLATILE_FROM else config.born,
        dead_letter_name(mailbox),
        ServiceClass.RECOVERABLE,
        batch.seq,
        batch.count,
        0,
        batch.flags & Flag.HEADERS | Flag.RELIABLE,
        batch.priority,
        0,
    )
