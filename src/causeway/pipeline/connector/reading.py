"""Sources: partitions planned by the driver, read by executors.

Batch: what lies between two edges, looked at and not taken. Stream: the same for every micro-batch, from the end of the
last one; when Spark has written down that it is done with a micro-batch, a queue's messages are settled. Whatever is
read again, after a task, the driver or a broker has failed, is the same.

Owns: Spark's reader classes. Must not know: how positions are found (`positions`), how rows are made (`rows`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, Filter, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from causeway.client.stretches import ReadStretch
from causeway.errors import ConfigError, DataLost
from causeway.pipeline.connector.bus import open_bus
from causeway.pipeline.connector.filters import ALL, index_of, narrow
from causeway.pipeline.connector.lineage import mark_reading
from causeway.pipeline.connector.options import EARLIEST, Edge, ReadOptions
from causeway.pipeline.connector.positions import (
    Position,
    Positions,
    ReadPlace,
    Slice,
    as_offset,
    cut,
    divide,
    edge_of,
    find_places,
    find_position,
    find_range,
    first_behind,
    from_offset,
    last_position,
)
from causeway.pipeline.connector.progress import BEGUN, OLDEST_AGE
from causeway.pipeline.connector.rows import record_batches


class SlicePartition(InputPartition):
    """What one task reads."""

    def __init__(self, value: Slice) -> None:
        super().__init__(value)


def read_slice(options: ReadOptions, schema: StructType, value: Slice) -> Iterator[pa.RecordBatch]:
    """On an executor: the rows of a slice."""
    mark_reading()
    with open_bus(options.connection) as bus:
        stretches = _checked(bus, value, fail=options.fail_on_data_loss)
        yield from record_batches(_asked_for(stretches, value.place), to_arrow_schema(schema, timezone="UTC"))


def _checked(bus: Any, value: Slice, *, fail: bool) -> Iterator[ReadStretch]:
    """The stretches of a slice, with the certainty that none is missing, if that can be had."""
    following = value.before
    for page in bus.read_pages(value.place.mailbox, value.start, value.stop, wanted=value.place.wanted):
        if value.place.is_history and page.through >= 0:
            _check_gap(value, following, page.through - page.count, fail=fail)
            following = page.through
        yield from page.stretches
    if value.through >= 0:
        _check_gap(value, following, value.through, fail=fail)
    if fail and bus.extent(value.place.mailbox).born != value.born:
        raise _lost(value.place, "has ended and begun anew while it was read")


def _check_gap(value: Slice, expected: int, found: int, *, fail: bool) -> None:
    if fail and 0 <= expected < found:
        raise _lost(value.place, f"has lost {found - expected} messages that were to be read")


def _lost(place: ReadPlace, what: str) -> DataLost:
    remedy = "keep more of it (bus.keep_history: seconds, bytes_max)" if place.is_history else "read it more often"
    return DataLost(place.mailbox, what, f"{remedy}, or go on without them with failOnDataLoss=false")


def _asked_for(stretches: Iterator[ReadStretch], place: ReadPlace) -> Iterator[ReadStretch]:
    """A broker may show more topics than are read, and a queue express messages, which nobody can read twice."""
    if not place.is_history:
        return (stretch for stretch in stretches if stretch.before >= 0)
    index = index_of(place.patterns)
    return (stretch for stretch in stretches if stretch.topic is not None and index.wants(stretch.topic))


class PushFilters:
    """The method `pushFilters`, in a form that a session which pushes no filters accepts.

    Spark refuses a reader that has the method of its own in a session where spark.sql.python.filterPushdown.enabled is
    not set, as it usually is not. Our reader does without as well: it reads more. So it passes for inherited.
    """

    __func__ = staticmethod(DataSourceReader.pushFilters)

    def __init__(self, push: Callable[[list[Filter]], Iterable[Filter]]) -> None:
        self._push = push

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        """What Spark calls."""
        return self._push(filters)


class CausewayReader(DataSourceReader):
    """`spark.read`."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._narrowed = ALL

    @property
    def pushFilters(self) -> PushFilters:  # noqa: N802
        """Read less, as the query's WHERE says."""
        return PushFilters(self._push)

    def _push(self, filters: list[Filter]) -> Iterable[Filter]:
        """The filters that Spark has to check again."""
        self._narrowed, again = narrow(filters)
        return again

    def partitions(self) -> list[InputPartition]:
        """What there is now, divided."""
        options = self._options
        slices: list[Slice] = []
        with open_bus(options.connection) as bus:
            for place in find_places(bus, options, self._narrowed):
                start, end = find_range(bus, place, options, self._narrowed)
                slices += divide(place, start, end, options)
        return [SlicePartition(value) for value in slices]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """On an executor. Without partitions Spark asks for one that is none."""
        if partition.value is None:
            return iter(())
        return read_slice(self._options, self._schema, partition.value)


class CausewayStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """`spark.readStream`."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._bus: Any = None
        self._places: dict[str, ReadPlace] = {}
        self._target: Positions | None = None
        """With AvailableNow: what there was at the start."""
        self._begun: Positions = {}
        self._planned: Positions = {}
        """Where the last micro-batch began and ended."""
        self._settled: dict[str, int] = {}
        """Of queues: numbers below are done with."""

    def __getstate__(self) -> dict[str, Any]:
        """Executors only read: they open a bus of their own."""
        return {**self.__dict__, "_bus": None}

    # The driver ------------------------------------------------------------------------------------------------
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Where a new query begins."""
        self._open()
        return as_offset({place.mailbox: self._begin(place) for place in self._places.values()})

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """maxMessagesPerTrigger."""
        most = self._options.messages_max
        return ReadMaxRows(most) if most else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Remember what there is now: the query ends there."""
        self._open()
        self._target = self._ends()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The end of the next micro-batch."""
        self._open()
        positions = self._known(start)
        self._settle(positions)
        ends = self._ends() if self._target is None else self._target
        # What the query did not read before begins with the next micro-batch: where, is written down with this one.
        ends = {mailbox: _later(positions[mailbox], ends[mailbox]) for mailbox in from_offset(start)}
        if isinstance(limit, ReadMaxRows):
            ends = self._limited(positions, ends, limit.max_rows)
        self._begun, self._planned = positions, {**positions, **ends}
        return as_offset(self._planned)

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """For the query's progress: where each mailbox ends now, and how old the first message behind the last
        micro-batch is."""
        self._open()
        ends = self._ends()
        return {
            mailbox: {
                **end,
                OLDEST_AGE: self._age(mailbox, ends[mailbox]),
                BEGUN: self._begun.get(mailbox, ends[mailbox]).ever,
            }
            for mailbox, end in as_offset(ends).items()
        }

    def _age(self, mailbox: str, end: Position) -> float:
        """Seconds since the first message that is in no micro-batch yet was taken by its broker; 0 if there is none."""
        planned = self._planned.get(mailbox)
        if planned is None or planned.born != end.born or planned.number >= end.number:
            return 0.0
        first = first_behind(self._bus, mailbox, planned.number, end)
        return 0.0 if first is None else max(0.0, round(time.time() - first.at / 1e9, 3))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """A micro-batch, divided; of one that is read again, as it was."""
        self._open()
        positions, ends, begun = self._known(start), from_offset(end), from_offset(start)
        return [
            SlicePartition(value)
            for mailbox, stop in ends.items()
            if mailbox in begun
            for value in divide(self._places[mailbox], positions[mailbox], stop, self._options)
        ]

    def commit(self, end: dict[str, Any]) -> None:
        """Spark is done with what lies below, and has written that down."""
        self._open()
        self._settle(from_offset(end))

    def stop(self) -> None:
        """The query has ended."""
        bus, self._bus = self._bus, None
        if bus is not None:
            bus.close()

    # An executor -----------------------------------------------------------------------------------------------
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a slice."""
        return read_slice(self._options, self._schema, partition.value)

    # Inside ----------------------------------------------------------------------------------------------------
    def _open(self) -> None:
        if self._bus is None:
            self._bus = open_bus(self._options.connection).open()
            self._places = {place.mailbox: place for place in find_places(self._bus, self._options)}

    def _begin(self, place: ReadPlace) -> Position:
        return find_position(self._bus, place, edge_of(self._options.start, place))

    def _ends(self) -> Positions:
        return {mailbox: last_position(self._bus, mailbox) for mailbox in self._places}

    def _known(self, offset: dict[str, Any]) -> Positions:
        """Where each mailbox is read on; one that the query did not read before begins as a new one."""
        positions = from_offset(offset)
        for mailbox in positions:
            if mailbox not in self._places:
                remedy = f"the query has read {mailbox!r}, and its options do not mean that any more; begin a new one"
                raise ConfigError("checkpointLocation", ", ".join(self._places), remedy)
        found: Positions = {}
        for mailbox, place in self._places.items():
            position = positions.get(mailbox) or self._begin(place)
            found[mailbox] = self._same_life(place, position)
        return found

    def _same_life(self, place: ReadPlace, position: Position) -> Position:
        """The position, or the beginning if the mailbox has ended and begun anew since."""
        if last_position(self._bus, place.mailbox).born == position.born:
            return position
        if not position.born:  # there was no such queue then: all that is in it came later
            return find_position(self._bus, place, Edge(EARLIEST))
        if self._options.fail_on_data_loss:
            raise _lost(place, "has ended and begun anew since it was read")
        return find_position(self._bus, place, Edge(EARLIEST))

    def _limited(self, starts: Positions, ends: Positions, most: int) -> Positions:
        """Ends with at most so many messages in all, each mailbox in proportion to what it has."""
        waiting = {mailbox: end.ever - starts[mailbox].ever for mailbox, end in ends.items()}
        total = sum(waiting.values())
        if total <= most:
            return ends
        return {
            mailbox: cut(self._bus, mailbox, starts[mailbox], end, max(1, most * waiting[mailbox] // total))
            for mailbox, end in ends.items()
        }

    def _settle(self, positions: Positions) -> None:
        """Queues: whatever lies below was read, and the result written down."""
        for mailbox, position in positions.items():
            place = self._places.get(mailbox)
            if place is None or place.is_history or position.number <= self._settled.get(mailbox, 0):
                continue
            self._bus.settle_below(mailbox, position.number)
            self._settled[mailbox] = position.number


def _later(one: Position, other: Position) -> Position:
    """A broker that was just replaced may say less than we know."""
    return other if other.number > one.number and other.born == one.born else one
