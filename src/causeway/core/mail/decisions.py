"""Decided transactions as rows of the sender's group:  "d" incarnation (8) number (8) -> Decision.

Owns: the encoding, and which of a former owner's rows make sense. Must not know: when a decision is made or forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from causeway.core.mail.reading import is_name, read
from causeway.limits import ID_MAX, TRANSACTION_PARTS_MAX
from causeway.store.base import Row
from causeway.types import Instant, Key

DECISION = b"d"
KEY_BYTES = 17
"""Kind, incarnation and number."""

TxKey = tuple[Key, int, int]
"""The sender's group, its incarnation, the transaction's number."""


class Decision(msgspec.Struct, frozen=True, array_like=True):
    """A committed transaction, until every participant has carried it out."""

    attempt: int
    left: tuple[str, ...]
    """Mailboxes that have not reported yet."""
    at: Instant = 0
    """When it was decided."""


_decode = msgspec.msgpack.Decoder(Decision).decode


def row_key(key: TxKey) -> bytes:
    """Key of a decision's row."""
    return DECISION + key[1].to_bytes(8, "big") + key[2].to_bytes(8, "big")


def decisions_in(group: Key, rows: Iterable[Row]) -> list[tuple[TxKey, Decision]]:
    """The decisions among the rows of a group, oldest first."""
    found: list[tuple[TxKey, Decision]] = []
    for row in rows:
        decision = read(_decode, row.value) if row.key[:1] == DECISION and len(row.key) == KEY_BYTES else None
        if decision is not None and _is_sound(decision):
            number = int.from_bytes(row.key[9:], "big")
            found.append(((group, int.from_bytes(row.key[1:9], "big"), number), decision))
    return sorted(found, key=lambda item: (item[1].at, item[0]))


def _is_sound(decision: Decision) -> bool:
    named = len(decision.left) <= TRANSACTION_PARTS_MAX and all(map(is_name, decision.left))
    return named and all(0 <= number <= ID_MAX for number in (decision.attempt, decision.at))
