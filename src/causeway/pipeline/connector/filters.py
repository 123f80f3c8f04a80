"""What a query's WHERE leaves to be read: of Spark's filters, those that a broker or a position can answer.

Topics and queues are narrowed exactly, and Spark need not look again. Times and offsets only make what is read smaller:
Spark checks them again, and so it does with every filter that is not known here.

Owns: what each filter means for a source. Must not know: the bus.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)

from causeway.errors import ConfigError
from causeway.limits import BROWSED_TOPICS_MAX, ID_MAX
from causeway.topics import TopicIndex, parse_topic

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Narrowed(msgspec.Struct, frozen=True):
    """Bounds of what is read. None of a set: all there are."""

    topics: tuple[str, ...] | None = None
    """Canonical topics, none of them a pattern."""
    under: str = ""
    """A pattern that all topics match which are asked for, and perhaps more; empty: any topic."""
    queues: tuple[str, ...] | None = None
    since: int = 0
    """Nanoseconds since 1970, as `until`; the end is not read. 0 for none."""
    until: int = 0
    first: int = 0
    """Of offsets."""
    stop: int = ID_MAX

    def patterns(self, patterns: Iterable[str]) -> tuple[str, ...]:
        """Which patterns of a source can have anything that is asked for."""
        if self.topics is None:
            return tuple(patterns)
        return tuple(one for one in patterns if any(map(index_of([one]).wants, self.topics)))

    def asked(self, patterns: Iterable[str]) -> tuple[str, ...]:
        """What to ask a broker for, of a history with these patterns; empty: all, and to be looked through here."""
        if self.topics is not None:
            index = index_of(patterns)
            asked = tuple(topic for topic in self.topics if index.wants(topic))
        else:
            asked = (self.under,) if self.under else tuple(patterns)
        return asked if len(asked) <= BROWSED_TOPICS_MAX else ()


ALL: Final = Narrowed()


def index_of(patterns: Iterable[str]) -> TopicIndex:
    """For `wants`."""
    index = TopicIndex()
    for pattern in patterns:
        index.add(pattern, pattern)
    return index


def narrow(filters: Iterable[Filter]) -> tuple[Narrowed, list[Filter]]:
    """What they leave, and those that Spark has to check again."""
    found, again = Narrowed(), []
    for one in filters:
        narrower, exact = _narrow(found, one)
        found = narrower
        if not exact:
            again.append(one)
    return found, again


def _narrow(so_far: Narrowed, one: Filter) -> tuple[Narrowed, bool]:
    """With one filter more, and whether that says all of it."""
    match one:
        case EqualTo(("topic",), value) | EqualNullSafe(("topic",), value):
            return _topics(so_far, [value])
        case In(("topic",), values):
            return _topics(so_far, list(values))
        case IsNotNull(("topic",)):
            return msgspec.structs.replace(so_far, queues=()), True
        case StringStartsWith(("topic",), value):
            return _under(so_far, value), False
        case EqualTo(("queue",), value) | EqualNullSafe(("queue",), value):
            return _queues(so_far, [value])
        case In(("queue",), values):
            return _queues(so_far, list(values))
        case IsNotNull(("queue",)):
            return msgspec.structs.replace(so_far, topics=()), True
        case (
            EqualTo((name,), value)
            | GreaterThan((name,), value)
            | GreaterThanOrEqual((name,), value)
            | LessThan((name,), value)
            | LessThanOrEqual((name,), value)
        ) if name in ("offset", "time", "timestamp"):
            return _range(so_far, one, name, value), False
    return so_far, False


def _topics(so_far: Narrowed, values: list[Any]) -> tuple[Narrowed, bool]:
    if None in values:  # then rows of queues are wanted too
        return so_far, False
    topics = tuple(dict.fromkeys(value for value in values if _is_topic(value)))
    if so_far.topics is not None:
        topics = tuple(topic for topic in so_far.topics if topic in topics)
    return msgspec.structs.replace(so_far, topics=topics, queues=()), True


def _is_topic(text: Any) -> bool:
    """Whether this can be in the column `topic`: a path as it is kept, and no pattern."""
    try:
        return isinstance(text, str) and parse_topic(text) == text
    except ConfigError:
        return False


def _under(so_far: Narrowed, prefix: Any) -> Narrowed:
    levels = str(prefix).rpartition("/")[0]
    if so_far.under or not _is_topic(levels):
        return so_far
    return msgspec.structs.replace(so_far, under=f"{levels}/#")


def _queues(so_far: Narrowed, values: list[Any]) -> tuple[Narrowed, bool]:
    if None in values:
        return so_far, False
    queues = tuple(dict.fromkeys(map(str, values)))
    if so_far.queues is not None:
        queues = tuple(queue for queue in so_far.queues if queue in queues)
    return msgspec.structs.replace(so_far, queues=queues, topics=()), True


def _range(so_far: Narrowed, one: Filter, name: str, value: Any) -> Narrowed:
    """Bounds of offsets or times."""
    if name != "offset":
        if not isinstance(value, datetime) or value.tzinfo is None or value < _EPOCH:
            return so_far
        value = (value - _EPOCH) // _MICROSECOND
    elif type(value) is not int:
        return so_far
    low, high = 0, ID_MAX
    if isinstance(one, EqualTo | GreaterThanOrEqual):
        low = value
    if isinstance(one, GreaterThan):
        low = value + 1
    if isinstance(one, EqualTo | LessThanOrEqual):
        high = value + 1
    if isinstance(one, LessThan):
        high = value
    if name == "offset":
        first, stop = max(so_far.first, low), min(so_far.stop, max(high, 0))
        return msgspec.structs.replace(so_far, first=min(first, ID_MAX), stop=stop)
    since, until = max(so_far.since, low * 1000), so_far.until
    if high < ID_MAX:
        # A time that nothing can lie before is no bound on the wire.
        until = max(1, min(until or ID_MAX, high * 1000))
    return msgspec.structs.replace(so_far, since=min(since, ID_MAX), until=until)
