"""Transactions: what clients, the coordinator and the owners of destinations say. Tags 80 to 89.

The body of Commit and TxPrepare is described in `wire.body`.
"""

from __future__ import annotations

import msgspec

from causeway.core.messages.topics import Published
from causeway.types import Span


class SendPart(msgspec.Struct, frozen=True, array_like=True):
    """Messages of a transaction to one destination; `size` bytes of the Commit's body."""

    dest: str
    first: int
    count: int
    flags: int
    priority: int
    ttl: int
    size: int
    published: Published | None = None
    delay: int = 0


class SettlePart(msgspec.Struct, frozen=True, array_like=True):
    """Messages of one mailbox that the transaction acknowledges."""

    mailbox: str
    spans: tuple[Span, ...]


class Commit(msgspec.Struct, frozen=True, array_like=True, tag=80):
    """Do all of this or nothing. Numbers rise by one per transaction of a (source, incarnation)."""

    source: str
    incarnation: int
    number: int
    sends: tuple[SendPart, ...]
    settles: tuple[SettlePart, ...]


class Outcome(msgspec.Struct, frozen=True, array_like=True, tag=81):
    """How transaction `number` ended: committed, or not (`code`, `detail`)."""

    source: str
    incarnation: int
    number: int
    committed: bool
    code: int = 0
    detail: str = ""


class TxPrepare(msgspec.Struct, frozen=True, array_like=True, tag=82):
    """Coordinator to the owner of one destination: hold this part ready, invisible."""

    source: str
    incarnation: int
    number: int
    attempt: int
    """Epoch of the coordinator's group: an older attempt can never be decided any more."""
    mailbox: str
    sends: tuple[SendPart, ...]
    settles: tuple[SettlePart, ...]
    origin: bytes
    """The coordinating broker."""


class TxPrepared(msgspec.Struct, frozen=True, array_like=True, tag=83):
    """The part is held on all copies (ok), or cannot be (code, detail)."""

    source: str
    incarnation: int
    number: int
    attempt: int
    mailbox: str
    ok: bool
    code: int = 0
    detail: str = ""


class TxDecide(msgspec.Struct, frozen=True, array_like=True, tag=84):
    """Coordinator to a participant: the transaction is committed, or aborted."""

    source: str
    incarnation: int
    number: int
    attempt: int
    mailbox: str
    committed: bool
    origin: bytes


class TxDone(msgspec.Struct, frozen=True, array_like=True, tag=85):
    """The participant has carried out the decision on all copies."""

    source: str
    incarnation: int
    number: int
    attempt: int
    mailbox: str


class TxAsk(msgspec.Struct, frozen=True, array_like=True, tag=86):
    """A participant in doubt asks the owner of the source's mailbox how the transaction ended."""

    source: str
    incarnation: int
    number: int
    attempt: int
    mailbox: str
    origin: bytes


TransactionMessage = Commit | Outcome | TxPrepare | TxPrepared | TxDecide | TxDone | TxAsk
"""About transactions, whoever says it."""
