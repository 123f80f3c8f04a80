"""Rows of topics: what makes no sense is left out, and the rest is read."""

from __future__ import annotations

import msgspec
import pytest

from causeway.core.mail.rows import StoredBatch
from causeway.core.messages import Interest, Published
from causeway.core.topics.rows import (
    SUBSCRIPTION,
    RegistrationRow,
    SubscriptionRow,
    encode,
    read_registrations,
    read_retained,
    read_subscription,
    registration_key,
    retained_key,
)
from causeway.store.base import Row
from causeway.types import VOLATILE_FROM
from causeway.wire.body import join
from tests.unit.core.topics.newsroom import ITEM, TOPIC, WATCH

BATCH = StoredBatch(7, "app", 9, 2, 1, 1, 17, 4, 0, 5, b"", join([b"80"]), published=Published(TOPIC))
REGISTRATION = RegistrationRow(3, Interest("roads/#", "JMSPriority > 3"), 12, greeted=True)
WISH = SubscriptionRow(3, Interest("#"), registered=True, ending=False, leaving=(ITEM,))


def row(key: bytes, value: object) -> Row:
    return Row(key, 1, value if isinstance(value, bytes) else encode(value))


def test_rows_are_read_as_they_were_written() -> None:
    rows = [
        row(b"b" + bytes(8), b""),
        row(registration_key(WATCH), REGISTRATION),
        row(retained_key(TOPIC), BATCH),
        row(SUBSCRIPTION, WISH),
    ]
    assert read_registrations(rows) == [(WATCH, REGISTRATION)]
    assert read_retained(ITEM, rows) == [BATCH]
    assert read_subscription(rows) == WISH


def test_mailbox_without_a_wish_is_no_subscription() -> None:
    assert read_subscription([row(b"b" + bytes(8), b"")]) is None


GARBAGE = [b"", b"\xc1", b"\x90", b"\x93\x01\x01\x01", b"\xff" * 9]


@pytest.mark.parametrize("value", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_is_left_out(value: bytes) -> None:
    assert read_registrations([row(registration_key(WATCH), value)]) == []
    assert read_retained(ITEM, [row(retained_key(TOPIC), value)]) == []
    assert read_subscription([row(SUBSCRIPTION, value)]) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"version": -1},
        {"version": 2**64 - 1},
        {"since": -1},
        {"since": VOLATILE_FROM},
        {"interest": Interest("")},
        {"interest": Interest("roads/#", "colour =")},
        {"interest": Interest("roads/#", overflow=9)},
    ],
    ids=range(7),
)
def test_registration_that_makes_no_sense_is_left_out(changes: dict[str, object]) -> None:
    broken = msgspec.structs.replace(REGISTRATION, **changes)
    assert read_registrations([row(registration_key(WATCH), broken)]) == []


@pytest.mark.parametrize("key", [b"i", b"i\xff\xfe", b"i" + b"n" * 60_000, registration_key(ITEM)], ids=range(4))
def test_registration_of_a_name_that_is_none_is_left_out(key: bytes) -> None:
    assert read_registrations([row(key, REGISTRATION)]) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"published": None},
        {"published": Published("rails/x")},
        {"published": Published("")},
        {"count": 2},
        {"count": 0},
        {"body": b"x"},
        {"priority": 99},
        {"flags": -1},
        {"seq": -1},
        {"expires": -1},
        {"source": ""},
        {"first": 2**64 - 1},
    ],
    ids=range(12),
)
def test_retained_message_that_makes_no_sense_is_left_out(changes: dict[str, object]) -> None:
    assert read_retained(ITEM, [row(retained_key(TOPIC), msgspec.structs.replace(BATCH, **changes))]) == []


def test_retained_express_message_is_read() -> None:
    express = msgspec.structs.replace(BATCH, seq=VOLATILE_FROM + 3, stream=0)
    assert read_retained(ITEM, [row(retained_key(TOPIC), express)]) == [express]


@pytest.mark.parametrize(
    "changes",
    [{"version": -1}, {"version": 2**64 - 1}, {"interest": Interest("a//b")}, {"leaving": ("orders",)}],
    ids=range(4),
)
def test_wish_that_makes_no_sense_is_left_out(changes: dict[str, object]) -> None:
    assert read_subscription([row(SUBSCRIPTION, msgspec.structs.replace(WISH, **changes))]) is None
