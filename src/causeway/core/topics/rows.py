"""Rows of topics in the groups of items and subscriptions (beside those of every mailbox, see `mail.rows`).

Owns: the encodings. Must not know: what is done with them. A row that makes no sense is left out, and left alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from causeway.core.mail.faults import interest_fault, name_fault
from causeway.core.mail.rows import StoredBatch
from causeway.core.messages import Interest
from causeway.store.base import Row

REGISTRATION: Final = b"i"
RETAINED: Final = b"r"
SUBSCRIPTION: Final = b"w"


class RegistrationRow(msgspec.Struct, frozen=True, array_like=True):
    """Of an item: a subscription, and from which number on it gets what it wants."""

    version: int
    interest: Interest
    since: int
    greeted: bool
    """Whether it has what was retained before."""


class SubscriptionRow(msgspec.Struct, frozen=True, array_like=True):
    """Of a subscription: what it wants, and since which number of its own."""

    version: int
    interest: Interest
    registered: bool
    """Whether every item knows."""


encode = msgspec.msgpack.encode
_registration = msgspec.msgpack.Decoder(RegistrationRow).decode
_subscription = msgspec.msgpack.Decoder(SubscriptionRow).decode
_retained = msgspec.msgpack.Decoder(StoredBatch).decode


def registration_key(mailbox: str) -> bytes:
    """Key of a subscription's row at an item."""
    return REGISTRATION + mailbox.encode()


def retained_key(topic: str) -> bytes:
    """Key of a topic's retained message."""
    return RETAINED + topic.encode()


def read_registrations(rows: Iterable[Row]) -> list[tuple[str, RegistrationRow]]:
    """All subscriptions an item knew."""
    found: list[tuple[str, RegistrationRow]] = []
    for row in rows:
        if row.key[:1] != REGISTRATION:
            continue
        try:
            name, value = row.key[1:].decode(), _registration(row.value)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if name_fault("mailbox", name) is None and interest_fault(value.interest) is None:
            found.append((name, value))
    return found


def read_retained(rows: Iterable[Row]) -> list[StoredBatch]:
    """All retained messages of an item."""
    found: list[StoredBatch] = []
    for row in rows:
        if row.key[:1] != RETAINED:
            continue
        try:
            batch = _retained(row.value)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if batch.published is not None and batch.count == 1:
            found.append(batch)
    return found


def read_subscription(rows: Iterable[Row]) -> SubscriptionRow | None:
    """What a mailbox wants, if it is a subscription."""
    for row in rows:
        if row.key == SUBSCRIPTION:
            try:
                value = _subscription(row.value)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                return None
            return value if interest_fault(value.interest) is None else None
    return None
