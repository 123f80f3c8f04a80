"""Messages are shown without losing or breaking anything, whatever their bytes are."""

from __future__ import annotations

import base64

import pytest

from causeway import Message
from causeway.cli.letters import as_object, preview
from causeway.client.lots import Lot
from causeway.core.messages import BrowsedBatch, Published
from causeway.names import seat_name
from causeway.wire import body


def _message(payload: bytes) -> Message:
    raw = body.join([payload])
    head = BrowsedBatch(5, "orders", 0x5F, 2, 7, 1, 1, 9, 3, len(raw))
    return Message(Lot.browsed("billing", head, raw), 0)


def test_text_is_shown_as_text() -> None:
    assert as_object(_message("grüße".encode())) == {
        "id": "orders:5f:billing:t:7",
        "mailbox": "billing",
        "source": "orders",
        "service": "transactional",
        "priority": 9,
        "deliveries": 3,
        "headers": {},
        "body": "grüße",
    }


def test_causal_order_is_shown_with_who_sent_it() -> None:
    raw = body.join([b"x"])
    published = Published("", "orders", 0x5F, 1, 70, 6)
    head = BrowsedBatch(5, seat_name("b1"), 3, 2, 7, 1, 1, 4, 0, len(raw), published=published)
    shown = as_object(Message(Lot.browsed("billing", head, raw), 0))
    assert (shown["order"], shown["source"], shown["service"]) == ("causal", "orders", "recoverable")
    assert "topic" not in shown


def test_bytes_that_are_no_text_are_shown_whole() -> None:
    shown = as_object(_message(b"\xff\x00"))
    assert shown["body"] is None
    assert base64.b64decode(shown["body_base64"]) == b"\xff\x00"


@pytest.mark.parametrize(
    ("payload", "shown"),
    [
        (b"short", "short"),
        (b"a\nb\tc\x1b[31m", "a b c [31m"),
        (b"\xff", "\\xff"),
        (b"x" * 100, "x" * 9 + "…"),
        (b"", ""),
    ],
)
def test_preview_is_one_harmless_line(payload: bytes, shown: str) -> None:
    assert preview(payload, 10) == shown
