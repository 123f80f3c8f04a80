"""Which messages of a batch a selector wants. Owns: what a selector can ask about a message.

Identifiers are the names of the message's headers; JMSDeliveryMode, JMSPriority and JMSTimestamp mean the message
itself, as in the specification. A header block that is broken has no headers in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import repeat

from causeway.core.mail.rows import StoredBatch
from causeway.errors import RemoteProtocolError
from causeway.limits import SELECTORS_REMEMBERED_MAX
from causeway.selectors import Selector, parse
from causeway.types import MILLISECOND, Flag, ServiceClass, Span
from causeway.wire.body import split
from causeway.wire.headers import HeaderValue, split_headers

selector_of = lru_cache(maxsize=SELECTORS_REMEMBERED_MAX)(parse)
"""Compiled once, however often it is asked. A bad one raises, hence is never remembered."""

_HEADERS = int(Flag.HEADERS)
_VALUES = (str, int, float, bytes)
"""What a header may hold; anything else, and None, is as good as nothing."""


def matching(selector: Selector, batch: StoredBatch) -> list[Span]:
    """The runs (first, last) of offsets in a batch that the selector wants."""
    runs: list[Span] = []
    about = _about(batch)
    asks_headers = not selector.identifiers <= about.keys()
    for at, headers in enumerate(_headers(batch) if asks_headers else repeat({}, batch.count)):
        if not selector.matches({**headers, **about}):
            continue
        if runs and runs[-1][1] == at - 1:
            runs[-1] = (runs[-1][0], at)
        else:
            runs.append((at, at))
    return runs


def _about(batch: StoredBatch) -> dict[str, HeaderValue]:
    express = batch.stream == ServiceClass.EXPRESS
    return {
        "JMSDeliveryMode": "NON_PERSISTENT" if express else "PERSISTENT",
        "JMSPriority": batch.priority,
        "JMSTimestamp": batch.at // MILLISECOND,
    }


def _headers(batch: StoredBatch) -> Iterator[dict[str, HeaderValue]]:
    if not batch.flags & _HEADERS:
        yield from repeat({}, batch.count)
        return
    for message in split(batch.body, batch.count):
        try:
            headers = split_headers(message)[0]
            yield {name: value for name, value in headers.items() if isinstance(value, _VALUES)}
        except RemoteProtocolError:
            yield {}
