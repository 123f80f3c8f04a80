"""Rows of topics in the groups of items and subscriptions (beside those of every mailbox, see `mail.rows`).

Owns: the encodings. Must not know: what is done with them. A row that makes no sense is left out, and left alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from causeway.core.mail.faults import interest_fault, name_fault, published_fault
from causeway.core.mail.reading import is_sound
from causeway.core.mail.rows import StoredBatch
from causeway.core.messages import Interest, Published
from causeway.limits import ID_MAX
from causeway.names import is_seat
from causeway.store.base import Row
from causeway.topics import is_item
from causeway.topics.limits import GREETING_MAX
from causeway.types import VOLATILE_FROM

REGISTRATION: Final = b"i"
RETAINED: Final = b"r"
SUBSCRIPTION: Final = b"w"
WITHDRAWN: Final = b"f"


class RegistrationRow(msgspec.Struct, frozen=True, array_like=True):
    """Of an item: a subscription, and from which number on it gets what it wants."""

    version: int
    interest: Interest
    since: int
    greeted: bool
    """Whether it has what was retained before."""
    greets: int = 0
    """Before which number; 0: that from which it gets what it wants."""


class SubscriptionRow(msgspec.Struct, frozen=True, array_like=True):
    """Of a subscription: what it wants, and since which number of its own."""

    version: int
    interest: Interest
    registered: bool
    """Whether every item knows."""
    ending: bool = False
    """Whether items are told to forget it, and then it ends."""
    leaving: tuple[str, ...] = ()
    """Items, or a seat, of what it wanted before: those that may not have forgotten it."""
    twinned: bool = False
    """Whether it has, had or may have a second mailbox for critical topics."""


encode = msgspec.msgpack.encode
_registration = msgspec.msgpack.Decoder(RegistrationRow).decode
_subscription = msgspec.msgpack.Decoder(SubscriptionRow).decode
_retained = msgspec.msgpack.Decoder(StoredBatch).decode
_version = msgspec.msgpack.Decoder(int).decode


def registration_key(mailbox: str) -> bytes:
    """Key of a subscription's row at an item."""
    return REGISTRATION + mailbox.encode()


def withdrawn_key(mailbox: str) -> bytes:
    """Key of the version in which a subscription was withdrawn from an item."""
    return WITHDRAWN + mailbox.encode()


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
        numbers = (value.since, value.greets)
        sound = 0 <= value.version <= ID_MAX and all(0 <= number < VOLATILE_FROM - GREETING_MAX for number in numbers)
        if sound and name_fault("mailbox", name) is None and interest_fault(value.interest) is None:
            found.append((name, value))
    return found


def read_withdrawn(rows: Iterable[Row]) -> list[tuple[str, int]]:
    """Subscriptions that an item was told to forget, in that order, and in which versions."""
    found: list[tuple[int, str, int]] = []
    for row in rows:
        if row.key[:1] != WITHDRAWN:
            continue
        try:
            name, version = row.key[1:].decode(), _version(row.value)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if 0 <= version <= ID_MAX and name_fault("mailbox", name) is None:
            found.append((row.seq, name, version))
    return [(name, version) for _, name, version in sorted(found)]


def _is_of(item: str, published: Published) -> bool:
    return published_fault(item, published) is None


def read_retained(item: str, rows: Iterable[Row]) -> list[StoredBatch]:
    """All retained messages of an item."""
    found: list[StoredBatch] = []
    for row in rows:
        if row.key[:1] != RETAINED:
            continue
        try:
            batch = _retained(row.value)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if batch.count == 1 and is_sound(batch) and batch.published is not None and _is_of(item, batch.published):
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
            sound = 0 <= value.version < ID_MAX and all(is_item(place) or is_seat(place) for place in value.leaving)
            return value if sound and interest_fault(value.interest) is None else None
    return None
