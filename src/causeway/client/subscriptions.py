"""Subscriptions as applications ask for them: which mailbox each is, what it wants, and where a replay begins.

Owns: the names of subscriptions' mailboxes, and the checks of what is asked for. Must not know: links, the session's
turns, or how messages are handed out.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from causeway.client.arguments import check_order, check_selector, duration_of
from causeway.client.lots import Lot
from causeway.core.messages import Interest
from causeway.errors import Code, ConfigError, Refused
from causeway.limits import ID_MAX
from causeway.names import (
    DURABLE_PREFIX,
    HISTORY_PREFIX,
    PRIVATE,
    SHARED_PREFIX,
    check_destination,
    check_mailbox,
    check_name,
    is_named_subscription,
    is_private,
    may_end,
)
from causeway.topics import Naming, TopicIndex, is_temporary, items_of
from causeway.types import SECOND, Instant, Overflow, ServiceClass, key_of

OVERFLOWS: Final[dict[str, Overflow]] = {
    "block": Overflow.BLOCK,
    "drop_oldest": Overflow.DROP_OLDEST,
    "disconnect": Overflow.DISCONNECT,
}

_EXPRESS: Final = int(ServiceClass.EXPRESS)


# Names ---------------------------------------------------------------------------------------------------------
def check_subscription(name: object) -> str:
    """The name of a subscription, or what is wrong with it."""
    if not isinstance(name, str):
        raise ConfigError("name", name, "must be str")
    check_name("name", name)
    for mark in ("/", PRIVATE):
        if mark in name:
            raise ConfigError("name", name, f"{mark!r} is reserved in names of subscriptions; leave it out")
    return name


def durable_mailbox(application: str, name: object, *, shared: bool) -> str:
    """Where a durable subscription keeps what nobody has read."""
    checked = check_subscription(name)
    return check_mailbox("name", f"{SHARED_PREFIX}{checked}" if shared else f"{DURABLE_PREFIX}{application}/{checked}")


def shared_mailbox(name: object) -> str:
    """The private mailbox of all who share a subscription that is not durable; the digits make it one."""
    checked = check_subscription(name)
    return check_mailbox("name", f"{SHARED_PREFIX}{checked}{PRIVATE}{key_of(checked).hex()[:16]}")


def history_mailbox(pattern: str) -> str:
    """Where the history of this canonical pattern is kept."""
    return check_mailbox("pattern", f"{HISTORY_PREFIX}{pattern}")


# Terms --------------------------------------------------------------------------------------------------------
class SubscriptionTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What an application asks of a subscription; the canonical pattern aside, as it was given."""

    pattern: str
    name: object = None
    durable: bool = False
    shared: bool = False
    selector: object = None
    no_local: bool = False
    overflow: object = "block"
    bytes_max: object = None
    retained: bool = True
    start: object = None
    order: object = None

    def mailbox(self, application: str) -> str | None:
        """Its mailbox; None for a private one, which has no name before it is begun."""
        if not self.durable and not self.shared:
            if self.name is not None:
                remedy = "only a durable or shared subscription has one; say durable=True or shared=True, or leave it"
                raise ConfigError("name", self.name, remedy)
            return None
        if self.name is None:
            kind = "durable" if self.durable else "shared"
            raise ConfigError("name", None, f"a {kind} subscription needs one, by which it is found again")
        if self.durable:
            return durable_mailbox(application, self.name, shared=self.shared)
        return shared_mailbox(self.name)

    def seat_of(self, application: str) -> str:
        """In causal order: whose seat hands on to it; empty without."""
        if not check_order(self.order):
            return ""
        return f"{SHARED_PREFIX}{check_subscription(self.name)}" if self.shared else application

    def interest(self, me: str) -> Interest:
        """What its brokers must know; `me` is the id of this life of the application."""
        causal = check_order(self.order)
        if causal and self.start is not None:
            raise ConfigError("start", self.start, "histories know nothing of causal order; leave out one of the two")
        if self.shared and self.start is not None:
            raise ConfigError(
                "start", self.start, "who shares a subscription begins where the others are; leave it out"
            )
        if self.shared and self.no_local:
            raise ConfigError("no_local", self.no_local, "who shares a subscription shares what it gets; leave it out")
        overflow = OVERFLOWS.get(self.overflow) if isinstance(self.overflow, str) else None
        if overflow is None:
            raise ConfigError("overflow", self.overflow, f"must be one of {', '.join(OVERFLOWS)}")
        return Interest(
            pattern=self.pattern,
            selector=check_selector(self.selector),
            no_local=me if self.no_local else "",
            overflow=int(overflow),
            bytes_max=check_bytes_max(self.bytes_max),
            # What is retained is part of the past: a replay shows it where it belongs.
            retained=bool(self.retained) and self.start is None and not causal,
            replay=self.start is not None,
        )


def topics_interest(mailbox: str, application: str, pattern: str) -> tuple[Interest, str]:
    """What an ordinary mailbox wants besides what is sent to it, in causal order, and whose seat hands it on."""
    if is_named_subscription(mailbox):
        raise ConfigError("topics", pattern, f"{mailbox!r} is a subscription and has topics of its own; leave them out")
    # A mailbox of one life of ours goes with us; others have seats of their own.
    name = application if is_private(mailbox) else mailbox
    return Interest(pattern=pattern, retained=False), name


def check_forgettable(mailbox: str) -> str:
    """A mailbox that stays when its topics end. Raises ConfigError."""
    if may_end(check_destination("mailbox", mailbox)):
        raise ConfigError("mailbox", mailbox, "is temporary and ends as a whole; end it, or let its bus do so")
    return mailbox


def check_bytes_max(bytes_max: object) -> int:
    """The bound of a subscription's store; 0 for what the brokers allow."""
    if bytes_max is None:
        return 0
    if type(bytes_max) is not int or not 1 <= bytes_max <= ID_MAX:
        raise ConfigError("bytes_max", bytes_max, "must be a whole number of bytes, at least 1, or None")
    return bytes_max


def check_pattern(text: object, naming: Naming, mine: str) -> str:
    """The canonical pattern; of temporary topics only those that begin with the level `mine`."""
    if not isinstance(text, str):
        raise ConfigError("pattern", text, "must be str")
    pattern = naming.pattern(text)
    if is_temporary(pattern) and pattern.split("/", 1)[0] != mine:
        raise ConfigError("pattern", text, "only the bus that made a temporary topic can subscribe to it")
    return pattern


def history_interest(pattern: str, seconds: object, bytes_max: object) -> Interest:
    """What keeps a history."""
    keep = duration_of("seconds", seconds)
    room = check_bytes_max(bytes_max)
    return Interest(pattern=pattern, overflow=int(Overflow.DROP_OLDEST), bytes_max=room, keep=keep, retained=False)


# Replay --------------------------------------------------------------------------------------------------------
class Start(msgspec.Struct, frozen=True):
    """Where a replay begins."""

    offset: int = 0
    """In the topic's item."""
    since: Instant = 0


def start_of(start: object, pattern: str) -> Start:
    """From `earliest`, an offset, or a time."""
    match start:
        case "earliest":
            return Start()
        case bool():
            pass
        case int() if start >= 0:
            if len(items_of(pattern)) > 1:
                remedy = "offsets count per first level of topics; name the first level in the pattern, or give a time"
                raise ConfigError("start", start, remedy)
            return Start(offset=start)
        case float() if start >= 0:
            return Start(since=round(start * SECOND))
        case datetime():
            return Start(since=round(start.timestamp() * SECOND))
        case _:
            pass
    remedy = "must be 'earliest', the offset of a message (int), or a time (datetime, or float seconds since 1970)"
    raise ConfigError("start", start, remedy)


class Replay:
    """Which messages of a history come before the live ones of a subscription."""

    def __init__(self, start: Start, interest: Interest) -> None:
        self._start = start
        self._interest = interest
        self._index = TopicIndex()
        self._index.add(interest.pattern, "")
        self._ends: dict[str, int] = {}
        self._open: dict[str, None] = {}

    def begin(self, numbers: dict[str, int], history: str) -> None:
        """The items told from which number on messages come live. Raises Refused when nobody keeps what is older."""
        if not history:
            pattern = self._interest.pattern
            detail = (
                f"nobody keeps a history of {pattern!r}, or of more; begin one with bus.keep_history({pattern!r}, ...)"
            )
            raise Refused(Code.NO_MAILBOX, detail)
        self._ends = dict(numbers)
        self._open = {item: None for item, number in numbers.items() if number > 0}

    @property
    def over(self) -> bool:
        """Whether everything older than the live messages was looked at."""
        return not self._open

    def wanted(self, lot: Lot) -> list[int]:
        """The indexes of a browsed lot that belong to the replay."""
        published, end = lot.published, self._ends.get(lot.source, 0)
        first = lot.first - 1
        if published is None or lot.stream == _EXPRESS:
            return []
        if first + lot.count >= end:
            self._open.pop(lot.source, None)
        local = f"{published.source}:{published.incarnation:x}"
        if published.at < self._start.since or local == self._interest.no_local:
            return []
        if not self._index.wants(published.topic):
            return []
        low, high = max(0, self._start.offset - first), min(lot.count, end - first)
        return list(range(low, high))
