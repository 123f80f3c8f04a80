"""The header block of a message: with Flag.HEADERS a message is  u16 header length | headers (msgpack map) | payload.

Owns: cutting it. Names and values are the application's; names that begin with "~" are Causeway's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from causeway.errors import Code, RemoteProtocolError

HeaderValue = str | int | float | bool | bytes | None
Headers = Mapping[str, HeaderValue]

_decode_headers = msgspec.msgpack.Decoder(dict[str, Any]).decode


def split_headers(message: bytes) -> tuple[dict[str, HeaderValue], bytes]:
    """Headers and payload of one message. Raises RemoteProtocolError when the block is broken."""
    size = int.from_bytes(message[:2], "big")
    if len(message) < 2 + size:
        raise RemoteProtocolError(Code.BAD_FRAME, "message is shorter than its header block")
    try:
        headers = _decode_headers(message[2 : 2 + size])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RemoteProtocolError(Code.BAD_FRAME, f"header block: {error}") from error
    return headers, message[2 + size :]
