"""What is wrong with a message about mail that could be decoded: the one judge of fields, for clients and brokers.

Owns: the rules. Must not know: who asks, and what is answered. Each function says what is wrong, or None.
Whatever passes can be kept, numbered, written to rows and wrapped in an envelope without overflowing anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from causeway.core.mail.matching import selector_of
from causeway.core.mail.seat_faults import check_seat_group, seat_fault, stamp_fault
from causeway.core.messages import (
    Attach,
    Browse,
    Causal,
    Commit,
    Deposit,
    Interest,
    Message,
    Published,
    Register,
    SendPart,
    TxPrepare,
)
from causeway.domains.limits import MARKS_MAX
from causeway.errors import ConfigError
from causeway.limits import (
    BATCH_COUNT_MAX,
    BROWSED_TOPICS_MAX,
    ID_MAX,
    NAME_BYTES_MAX,
    NAMES_REMEMBERED_MAX,
    OPERATION_BYTES_MAX,
    SPANS_MAX,
    TRANSACTION_HEAD_BYTES_MAX,
    TRANSACTION_PARTS_MAX,
    TTL_NS_MAX,
)
from causeway.names import (
    HISTORY_PREFIX,
    check_destination,
    check_mailbox,
    is_seat,
    is_twin,
    may_end,
    may_use,
)
from causeway.topics import (
    ITEM_PREFIX,
    check_pattern_path,
    check_topic_path,
    critical_part,
    is_item,
    item_of,
    other_way,
)
from causeway.types import KEY_BYTES, NORMAL_PRIORITY, SEAT_PREFIX, Flag, Overflow, ServiceClass, Span
from causeway.wire import body as bodies

_known = lru_cache(maxsize=NAMES_REMEMBERED_MAX)(check_mailbox)
"""Names repeat in every batch. A bad name raises, hence is never remembered."""


@lru_cache(maxsize=NAMES_REMEMBERED_MAX)
def _item_of(topic: str) -> str:
    check_topic_path("topic", topic)
    return item_of(topic)


_OVERFLOWS = frozenset(map(int, Overflow))
_sendable = lru_cache(maxsize=NAMES_REMEMBERED_MAX)(check_destination)
_NAMED = ("source", "dest", "mailbox")


def name_fault(field: str, value: str) -> str | None:
    """Of a mailbox's or an application's name."""
    try:
        _known(field, value)
    except ConfigError as error:
        return str(error)
    return None


def destination_fault(field: str, value: str) -> str | None:
    """Of the name of a mailbox that somebody sends to."""
    try:
        _sendable(field, value)
    except ConfigError as error:
        return str(error)
    return None


def use_fault(mailbox: str, client: tuple[str, int]) -> str | None:
    """Of the mailbox that a client wants to read, change or end."""
    if may_use(mailbox, *client):
        return None
    return f"mailbox={mailbox!r}: belongs to another application, or to another life of this one"


def attach_fault(head: Attach, client: tuple[str, int]) -> str | None:
    """Of what a client wants to read."""
    if (fault := use_fault(head.mailbox, client)) is not None:
        return fault
    interest, history = head.interest, head.mailbox.startswith(HISTORY_PREFIX)
    if interest is None:
        return "mailbox: a history is not consumed; browse it, or subscribe with a start" if history else None
    if not may_end(head.mailbox):
        if not interest.seat:
            return f"interest: {head.mailbox!r} is no subscription; those begin with 'sub/', 'shared/' or 'history/'"
        if interest.overflow != Overflow.BLOCK or interest.bytes_max:
            return f"overflow, bytes_max: {head.mailbox!r} is no subscription, and nothing of it may be dropped"
    if (interest.keep > 0) != history:
        return "keep: is for histories, and every history has one"
    if is_twin(head.mailbox) and (critical_part(interest.pattern) is None or interest.seat or interest.replay):
        return f"mailbox={head.mailbox!r}: is for what is published on critical topics from now on"
    return interest_fault(interest)


def naming_fault(head: Message) -> str | None:
    """Of all names, incarnations and origins in a broker's message: where it goes and where its answer goes."""
    for field in _NAMED:
        value = getattr(head, field, None)
        if value is None or is_item(value):
            continue
        fault = seat_fault(field, value) if is_seat(value) else name_fault(field, value)
        if fault is not None:
            return fault
    item = getattr(head, "item", ITEM_PREFIX + "00")
    if not is_item(item) and seat_fault("item", item) is not None:
        return f"item: must be {ITEM_PREFIX}NN or {SEAT_PREFIX}BROKER"
    if not 0 <= getattr(head, "incarnation", 0) <= ID_MAX:
        return "incarnation: must lie in 0..2**63-1"
    if len(getattr(head, "origin", b"")) not in (0, KEY_BYTES):
        return f"origin: must be empty or the {KEY_BYTES} bytes of a broker's id"
    return None


def selector_fault(text: str) -> str | None:
    """Of a selector; empty means all messages."""
    try:
        if text:
            selector_of(text)
    except ConfigError as error:
        return str(error)
    return None


def browse_fault(head: Browse) -> str | None:
    """Of what a client wants to look at."""
    if len(head.topics) > BROWSED_TOPICS_MAX:
        return f"topics: {len(head.topics)} patterns; at most {BROWSED_TOPICS_MAX}"
    try:
        for pattern in head.topics:
            check_pattern_path("topics", pattern)
    except ConfigError as error:
        return str(error)
    return selector_fault(head.selector)


def deposit_fault(head: Deposit, body: bytes) -> str | None:
    """Of a batch on its way to a mailbox."""
    try:
        if head.published is not None and is_seat(head.source):
            check_seat_group("source", head.source)
        elif head.published is None or not is_item(head.source):
            _known("source", head.source)
        if head.causal is not None:
            if (fault := causal_fault(head, head.causal)) is not None:
                return fault
        elif head.published is None:
            _sendable("dest", head.dest)
        elif not is_item(head.dest):
            _known("dest", head.dest)
    except ConfigError as error:
        return str(error)
    if not 0 <= head.stream <= ServiceClass.TRANSACTIONAL:
        return f"stream={head.stream}: unknown service class; use express (0), recoverable (1), transactional (2)"
    if not 0 <= head.follows < head.first:
        return f"first={head.first}, follows={head.follows}: ids start at 1 and rise"
    return batch_fault(head, body)


def batch_fault(part: Deposit | SendPart, body: bytes) -> str | None:
    """Of a batch in itself, alone or in a transaction."""
    if not 1 <= part.count <= BATCH_COUNT_MAX:
        return f"count={part.count}: a batch holds 1 to {BATCH_COUNT_MAX} messages"
    if not 1 <= part.first <= ID_MAX - part.count:
        return f"first={part.first}: ids start at 1 and end below 2**63"
    if not 0 <= part.flags <= 0xFFFF:
        return f"flags={part.flags}: must lie in 0..65535"
    if not 0 <= part.priority <= 9:
        return f"priority={part.priority}: must lie in 0..9"
    if not 0 <= part.ttl <= TTL_NS_MAX:
        return f"ttl={part.ttl}: must lie in 0..{TTL_NS_MAX} ns; 0 means for ever"
    if part.published is not None:
        sent = isinstance(part, Deposit) and is_seat(part.source)
        if (fault := published_fault(part.dest, part.published, sent=sent)) is not None:
            return fault
    if not 0 <= part.delay <= TTL_NS_MAX:
        return f"delay={part.delay}: must lie in 0..{TTL_NS_MAX} ns; 0 means at once"
    if len(body) > OPERATION_BYTES_MAX:
        return f"body: {len(body)} bytes; at most {OPERATION_BYTES_MAX} are allowed at once"
    if not bodies.check(body, part.count):
        return f"body: {len(body)} bytes do not match the length table of {part.count} messages"
    return None


def causal_fault(head: Deposit, causal: Causal) -> str | None:
    """Of a batch in causal order, of an application or of a seat."""
    between = is_seat(head.source)
    if (fault := seat_fault("dest", head.dest)) is not None:
        return fault
    if head.stream != ServiceClass.TRANSACTIONAL or head.priority != NORMAL_PRIORITY or head.delay:
        return "causal: is an ordered stream (class 2) of normal priority (4) without delay"
    if head.flags & (Flag.RETAIN | Flag.CONFIRM):
        return f"flags={head.flags}: nothing is retained or confirmed in causal order"
    if not 0 <= causal.service <= ServiceClass.TRANSACTIONAL or not 0 <= causal.ttl <= TTL_NS_MAX:
        return "causal: service must lie in 0..2, ttl in 0..100 years"
    if between != bool(causal.domain) or ((causal.stamp or causal.void or causal.to) and not between):
        return "causal.domain: a seat names it, with its stamp, and nobody else does"
    if between and (head.published is None or len(causal.domain) > NAME_BYTES_MAX or len(causal.to) > NAME_BYTES_MAX):
        return "causal: a seat says who sent it, and where it goes"
    if causal.stamp and (fault := stamp_fault(causal.stamp)) is not None:
        return fault
    after = causal.after
    sound = all(seat_fault("", seat) is None and 0 <= number <= ID_MAX for seat, number in after)
    if len(after) > MARKS_MAX or not sound:
        return f"causal.after: at most {MARKS_MAX} seats with numbers in 0..2**63-1"
    topic = head.published.topic if head.published is not None else ""
    if between and not topic and not causal.to:
        return "causal.to: a seat names the seat that a batch goes to, unless it is published"
    if causal.dest and not topic:
        return name_fault("causal.dest", causal.dest) if between else destination_fault("causal.dest", causal.dest)
    if causal.dest or not (topic or between):
        return "causal.dest: must name a mailbox, unless the batch is published"
    return None


def published_fault(dest: str, published: Published, *, sent: bool = False) -> str | None:
    """Of what a batch says about its topic; what was `sent` to a mailbox has none."""
    try:
        item = _item_of(published.topic) if published.topic or not sent else ""
        if published.source:
            _known("published.source", published.source)
    except ConfigError as error:
        return str(error)
    if is_item(dest) and item not in (dest, other_way(dest)):
        return f"dest={dest!r}: topic {published.topic!r} belongs to {item!r}"
    numbers = (published.incarnation, published.first, published.number)
    if not all(0 <= number <= ID_MAX for number in numbers) or not 0 <= published.stream <= ServiceClass.COMMITTED:
        return "published: numbers must lie in 0..2**63-1, stream in 0..3"
    picked = published.picked
    if len(picked) > BATCH_COUNT_MAX or not all(0 <= a <= b < BATCH_COUNT_MAX for a, b in picked):
        return f"published.picked: must be runs within {BATCH_COUNT_MAX} messages"
    return None


def interest_fault(interest: Interest) -> str | None:
    """Of what a subscription wants."""
    try:
        check_pattern_path("pattern", interest.pattern)
    except ConfigError as error:
        return str(error)
    if interest.overflow not in _OVERFLOWS:
        return f"overflow={interest.overflow}: use block (0), drop oldest (1) or disconnect (2)"
    if not (0 <= interest.bytes_max <= ID_MAX and 0 <= interest.keep <= TTL_NS_MAX):
        return "bytes_max, keep: must lie in 0..2**63-1"
    if len(interest.no_local) > NAME_BYTES_MAX + 20:
        return "no_local: must be the id of an application"
    if interest.seat:
        if interest.keep or interest.replay:
            return "keep, replay: histories know nothing of causal order"
        if (fault := seat_fault("seat", interest.seat)) is not None:
            return fault
    return selector_fault(interest.selector)


def register_fault(head: Register) -> str | None:
    """Of what the owner of a subscription says to an item."""
    if (fault := name_fault("mailbox", head.mailbox)) is not None:
        return fault
    if not 0 <= head.version <= ID_MAX:
        return f"version={head.version}: must lie in 0..2**63-1"
    return interest_fault(head.interest) if head.interest is not None else None


def spans_fault(spans: Sequence[Span]) -> str | None:
    """Of ranges of mailbox numbers."""
    if len(spans) > SPANS_MAX:
        return f"spans: {len(spans)} ranges; at most {SPANS_MAX} are allowed at once"
    for first, last in spans:
        if not 0 <= first <= last <= ID_MAX:
            return f"spans: {first}..{last} is not a range of numbers in 0..2**63-1"
    return None


def transaction_fault(head: Commit | TxPrepare, body: bytes) -> str | None:
    """Of a transaction, or of one mailbox's part of it."""
    if not 1 <= head.number <= ID_MAX:
        return f"number={head.number}: must lie in 1..2**63-1"
    count = len(head.sends) + len(head.settles)
    if count > TRANSACTION_PARTS_MAX:
        return f"sends, settles: {count} parts; at most {TRANSACTION_PARTS_MAX} are allowed"
    size = len(msgspec.msgpack.encode((head.sends, head.settles)))
    if size > TRANSACTION_HEAD_BYTES_MAX:
        return f"sends, settles: {size} bytes; at most {TRANSACTION_HEAD_BYTES_MAX} are allowed"
    if len(body) > OPERATION_BYTES_MAX:
        return f"body: {len(body)} bytes; at most {OPERATION_BYTES_MAX} are allowed at once"
    return _sends_fault(head.sends, body) or _settles_fault(head)


def _sends_fault(sends: Sequence[SendPart], body: bytes) -> str | None:
    at = 0
    for send in sends:
        if not 0 <= send.size <= len(body) - at:
            return f"size={send.size}: must fit the body of the transaction"
        fault = _forged(send) if send.published is not None else destination_fault("dest", send.dest)
        fault = fault or batch_fault(send, body[at : at + send.size])
        if fault is not None:
            return fault
        at += send.size
    return None if at == len(body) else f"body: has {len(body)} bytes; must be {at}, the sum of its parts"


def _forged(send: SendPart) -> str | None:
    """Only an item says of a message who published it."""
    if not is_item(send.dest):
        return f"dest={send.dest!r}: what is published goes to the topic's item"
    if send.published is not None and send.published.source:
        return f"published.source={send.published.source!r}: must be empty; the transaction says who publishes"
    return None


def _settles_fault(head: Commit | TxPrepare) -> str | None:
    for settle in head.settles:
        fault = name_fault("mailbox", settle.mailbox) or spans_fault(settle.spans)
        if fault is not None:
            return fault
    return spans_fault([span for settle in head.settles for span in settle.spans])
