"""Where a reader stands in each mailbox, and how positions are found, bounded and divided.

A position is a number in a mailbox, with the count of messages that were ever stored below it and the life of the
mailbox. Numbers never change and never come again, so the range between two positions always holds the same messages;
the count tells when some of them have ended, the life when the mailbox itself has.

Owns: that arithmetic. Must not know: Spark.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from causeway.client.stretches import EVERYTHING, ReadFilter, ReadStretch
from causeway.errors import CausewayError, ConfigError
from causeway.limits import ID_MAX
from causeway.pipeline.connector.filters import ALL, Narrowed
from causeway.pipeline.connector.options import EARLIEST, LATEST, PARTITIONS_MAX, TOPICS, Edge, ReadOptions
from causeway.topics import items_of

CUT_STEPS_MAX = 8
"""Steps to find the end of a bounded range: one is enough where numbers have no gaps."""


class Position(msgspec.Struct, frozen=True):
    """A place between two messages of a mailbox."""

    number: int
    ever: int
    born: int


class ReadPlace(msgspec.Struct, frozen=True):
    """A mailbox to be read: a queue, or a history with the patterns that are wanted of it."""

    mailbox: str
    patterns: tuple[str, ...] = ()
    wanted: ReadFilter = EVERYTHING
    """What to ask the broker for; what it shows may still be more than the patterns say."""

    def part(self, part: int, parts: int) -> ReadPlace:
        """The same of some of its topics, or senders."""
        wanted = msgspec.structs.replace(self.wanted, part=part, parts=parts)
        return msgspec.structs.replace(self, wanted=wanted)

    @property
    def is_history(self) -> bool:
        """Whether it keeps topics."""
        return bool(self.patterns)

    @property
    def names(self) -> tuple[str, ...]:
        """How the user calls it."""
        return self.patterns or (self.mailbox,)


Positions = dict[str, Position]
"""By mailbox."""


def as_offset(positions: Mapping[str, Position]) -> dict[str, Any]:
    """As Spark keeps it in its checkpoint."""
    return {mailbox: msgspec.to_builtins(position) for mailbox, position in positions.items()}


def from_offset(offset: Mapping[str, Any]) -> Positions:
    """Back again. Raises ConfigError."""
    try:
        return {mailbox: msgspec.convert(one, Position) for mailbox, one in offset.items()}
    except msgspec.ValidationError as error:
        remedy = f"is no offset of a causeway source ({error}); begin with a new checkpoint"
        raise ConfigError("checkpointLocation", dict(offset), remedy) from None


# Finding -------------------------------------------------------------------------------------------------------
def find_places(bus: Any, options: ReadOptions, narrowed: Narrowed = ALL) -> list[ReadPlace]:
    """The mailboxes to read. Raises Refused when nobody keeps a history of some topics and none is asked for."""
    histories: dict[str, list[str]] = {}
    for pattern in narrowed.patterns(options.topics):
        if options.history_seconds:
            bus.keep_history(pattern, seconds=options.history_seconds)
        try:
            histories.setdefault(bus.history_of(pattern), []).append(pattern)
        except CausewayError as error:
            error.add_note(f"A source reads topics from a history; option historySeconds begins one of {pattern!r}.")
            raise
    return [
        *(
            ReadPlace(mailbox, tuple(patterns), ReadFilter(narrowed.asked(patterns), narrowed.since, narrowed.until))
            for mailbox, patterns in histories.items()
        ),
        *(
            ReadPlace(queue, (), ReadFilter((), narrowed.since, narrowed.until))
            for queue in options.queues
            if narrowed.queues is None or queue in narrowed.queues
        ),
    ]


def last_position(bus: Any, mailbox: str) -> Position:
    """Above everything that can be read now."""
    extent = bus.extent(mailbox)
    return Position(extent.number, extent.ever, extent.born)


def edge_of(edges: Mapping[str, Edge], place: ReadPlace) -> Edge:
    """What was said about a place; of several patterns in one history, all the same must be."""
    said = [edges.get(name, edges[""]) for name in place.names]
    if any(one != said[0] for one in said):
        remedy = f"are kept in one history, {place.mailbox!r}, and begin and end together; say the same for all of them"
        raise ConfigError("startingOffsets", ", ".join(place.names), remedy)
    return said[0]


def find_position(bus: Any, place: ReadPlace, edge: Edge) -> Position:
    """Where reading begins or ends."""
    end = last_position(bus, place.mailbox)
    if edge.where == LATEST:
        return end
    if edge.since:
        return _search(bus, place.mailbox, end, lambda stretch: stretch.at >= edge.since)
    if edge.where == EARLIEST:
        return _at(bus, place.mailbox, 0, end)
    assert isinstance(edge.where, int)
    wanted: int = edge.where
    if len(_items(place.patterns)) > 1:
        remedy = "offsets count per first level of topics; name the first level in the pattern, or give a timestamp"
        raise ConfigError("startingOffsets", wanted, remedy)
    return _find_offset(bus, place, wanted)


def _items(patterns: tuple[str, ...]) -> set[str]:
    """Offsets count per item: only in a queue, and of topics of one item, do they rise with the numbers."""
    return {item for pattern in patterns for item in items_of(pattern)}


def _find_offset(bus: Any, place: ReadPlace, wanted: int) -> Position:
    """Before the first message with this offset or a higher one."""
    end = last_position(bus, place.mailbox)
    if not place.is_history:
        return _at(bus, place.mailbox, min(wanted, end.number), end)
    return _search(bus, place.mailbox, end, lambda stretch: (stretch.offset or 0) >= wanted)


def find_range(bus: Any, place: ReadPlace, options: ReadOptions, narrowed: Narrowed) -> tuple[Position, Position]:
    """What `spark.read` reads of a place: between the edges that were said, and those of the offsets asked for."""
    start = find_position(bus, place, edge_of(options.start, place))
    end = find_position(bus, place, edge_of(options.end, place))
    if len(_items(place.wanted.topics or place.patterns)) <= 1:
        if narrowed.first > 0:
            start = max(start, _find_offset(bus, place, narrowed.first), key=lambda one: one.number)
        if narrowed.stop < ID_MAX:
            end = min(end, _find_offset(bus, place, narrowed.stop), key=lambda one: one.number)
    return start, end


def first_behind(bus: Any, mailbox: str, number: int, end: Position) -> ReadStretch | None:
    """The first message that lies at or behind a number."""
    return next(iter(bus.read(mailbox, number, end.number, limit=1)), None)


def _at(bus: Any, mailbox: str, number: int, end: Position) -> Position:
    """The position before the first message at or behind a number."""
    first = first_behind(bus, mailbox, number, end)
    return end if first is None else Position(first.number, first.before, end.born)


def _search(bus: Any, mailbox: str, end: Position, is_behind: Callable[[ReadStretch], bool]) -> Position:
    """The position before the first message that is behind what is looked for; it must be so of all later ones."""
    low, high = 0, end.number
    while low < high:
        middle = (low + high) // 2
        found = first_behind(bus, mailbox, middle, end)
        if found is None or is_behind(found):
            high = middle
        else:
            low = found.number + found.count
    return _at(bus, mailbox, low, end)


# Bounding and dividing -----------------------------------------------------------------------------------------
def cut(bus: Any, mailbox: str, start: Position, end: Position, messages_max: int) -> Position:
    """A position with at most so many messages behind `start`, and not many fewer if there are as many."""
    at = start
    for _ in range(CUT_STEPS_MAX):
        left = messages_max - (at.ever - start.ever)
        if left <= 0:
            break
        # There are at least as many numbers as messages, so this is never too far.
        if at.number + left >= end.number:
            return end
        at = _at(bus, mailbox, at.number + left, end)
    return at


class Slice(msgspec.Struct, frozen=True):
    """A part of a range: what one task reads."""

    place: ReadPlace
    start: int
    stop: int
    born: int
    before: int = -1
    """How many messages must have been stored below its first; -1 if that is not known."""
    through: int = -1
    """How many must have been, with its last."""


def divide(place: ReadPlace, start: Position, end: Position, options: ReadOptions) -> list[Slice]:
    """A range as slices. Depends on nothing else: a range read again is divided again so.

    By topics, each slice has all of some topics, in a queue of some senders, in their order. By numbers, each has a
    stretch of the range, of about the same length.
    """
    numbers = end.number - start.number
    if numbers <= 0:
        return []
    count = max(options.partitions_min, -(-(end.ever - start.ever) // options.records_max))
    count = max(1, min(count, numbers, PARTITIONS_MAX))
    if options.divide == TOPICS and count > 1:
        before, through = (start.ever, end.ever) if place.is_history else (-1, -1)
        return [
            Slice(place.part(part, count), start.number, end.number, end.born, before, through) for part in range(count)
        ]
    edges = [start.number + numbers * part // count for part in range(count + 1)]
    slices = [Slice(place, low, high, end.born) for low, high in itertools.pairwise(edges)]
    if place.is_history:  # in a queue others may have been at work
        slices[0] = msgspec.structs.replace(slices[0], before=start.ever)
        slices[-1] = msgspec.structs.replace(slices[-1], through=end.ever)
    return slices
