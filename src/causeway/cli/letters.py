"""How a received or browsed message is shown to programs and people."""

from __future__ import annotations

import base64
from typing import Any

from causeway import Message


def as_object(message: Message) -> dict[str, Any]:
    """Stable keys; `body` is text, or null with `body_base64` when the bytes are no UTF-8; `topic` and `offset` only
    if it was published, `order` only if it has one."""
    body = message.body
    described: dict[str, Any] = {
        "id": message.id,
        "mailbox": message.mailbox,
        "source": message.source,
        "service": message.service,
        "priority": message.priority,
        "deliveries": message.deliveries,
        "headers": message.headers,
        "body": None,
    }
    if message.order is not None:
        described["order"] = message.order
    if message.topic is not None:
        described |= {"topic": message.topic, "offset": message.offset}
    try:
        described["body"] = body.decode()
    except UnicodeDecodeError:
        described["body_base64"] = base64.b64encode(body).decode()
    return described


def preview(body: bytes, width: int) -> str:
    """The beginning of a body on one line, whatever it holds."""
    text = body[: 4 * width].decode("utf-8", "backslashreplace")
    line = "".join(character if character.isprintable() else " " for character in text)
    return line if len(line) <= width else line[: width - 1] + "…"
