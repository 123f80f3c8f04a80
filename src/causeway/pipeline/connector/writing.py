"""Sinks: every task sends its rows in a life of its own, so that a task that runs again sends nothing twice.

A life is named by what is written (the query and its micro-batch, or one batch write) and by the partition; ids count
from 1 for each destination. A second attempt, after a failed task, driver or broker, or a zombie beside it, uses the
same name, life and ids, and brokers know what they have (ADR 0019). A mailbox remembers the last lives of a name only:
so every query has a name of its own, and others do not push out the life that may come again. An attempt must send the
same rows in the same order. What was read from the bus in the same task comes in the source's order, every time, and is
sent so. Of other rows Spark promises which ones a partition has, but after a shuffle not their order: they are put in
order here, by their content, unless the user knows that the plan's own order is the same every time.

Owns: Spark's writer classes, and that order. Must not know: what a batch of rows means.
"""

from __future__ import annotations

import hashlib
import itertools
import uuid
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from causeway.client.message import check_headers, check_size, with_headers
from causeway.errors import Code, ConfigError, Refused
from causeway.limits import STREAMS_SENT_MAX
from causeway.pipeline.connector.bus import open_bus
from causeway.pipeline.connector.lineage import was_read_here
from causeway.pipeline.connector.options import PLAN, SOURCE, WriteOptions, check_queue
from causeway.pipeline.connector.schema import KEY_HEADER
from causeway.topics import parse_topic

BATCH_ID = "streaming.sql.batchId"
QUERY_ID = "sql.streaming.queryId"
"""Local properties of Spark's tasks."""

_COLUMNS = ("topic", "queue", "key", "properties", "body", "value")
_LIFE_BITS = 53
_PATIENCE_SECONDS = 7 * 24 * 3600.0
"""A send is never given up before its task is: what follows it would pass for all there was."""


class OutgoingRow(NamedTuple):
    """One message; sorted, the order in which a partition is sent."""

    topic: str
    queue: str
    headers: bytes
    """In order, so that equal ones are equal."""
    body: bytes
    said: dict[str, Any] | None


class Written(WriterCommitMessage):
    """What a task has done."""

    def __init__(self, rows: int) -> None:
        self.rows = rows


def life_of(*what: object) -> int:
    """The number of a life, the same for the same words."""
    digest = hashlib.blake2b("\0".join(map(str, what)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> (64 - _LIFE_BITS) | 1


def name_of(options: WriteOptions, query: str) -> str:
    """What a query is called on the bus."""
    return f"{options.connection.name}.{hashlib.blake2b(query.encode(), digest_size=4).hexdigest()}"


def send_rows(options: WriteOptions, batches: Iterable[pa.RecordBatch], name: str, life: int) -> int:
    """Send all rows of a partition; how many. Returns when all are acknowledged."""
    messages = repeatable(options, outgoing(options, batches))
    count = 0
    destinations: set[str] = set()
    with open_bus(options.connection, name=name, life=life) as bus:
        how = {"service": options.service, "priority": options.priority, "ttl": options.ttl}
        for one in messages:
            if one.topic:
                send = partial(bus.publish_nowait, one.topic, one.body, retain=options.retain)
            else:
                send = partial(bus.send_nowait, one.queue, one.body)
                destinations.add(one.queue)
            send_when_roomy(bus, partial(send, headers=one.said, timeout=_PATIENCE_SECONDS, **how), options)
            count += 1
            if len(destinations) > STREAMS_SENT_MAX // 2:
                remedy = f"a partition writes to at most {STREAMS_SENT_MAX // 2}; repartition by the queue"
                raise ConfigError("queue", one.queue, remedy)
        bus.flush(options.connection.timeout)
    return count


def repeatable(options: WriteOptions, messages: Iterator[OutgoingRow]) -> Iterator[OutgoingRow]:
    """The messages of a partition in the order in which another attempt would send them too."""
    first = next(messages, None)
    if first is None:
        return iter(())
    messages = itertools.chain([first], messages)
    # There are rows, so whoever reads in this task has begun.
    if options.order == PLAN or (options.order == SOURCE and was_read_here()):
        return messages
    return iter(in_order(messages, options.buffer_bytes))


def send_when_roomy(bus: Any, send: Callable[[], Any], options: WriteOptions) -> None:
    """Send, and first wait for room if the window is full. Raises DeadlineExceeded when it stays full."""
    while True:
        try:
            send()
        except Refused as refusal:
            if refusal.code != Code.OVERLOADED:
                raise
            bus.ready(options.connection.timeout)
        else:
            return


def in_order(messages: Iterator[OutgoingRow], bytes_max: int) -> list[OutgoingRow]:
    """The messages of a partition in an order that depends on nothing but them."""
    taken: list[OutgoingRow] = []
    size = 0
    for one in messages:
        taken.append(one)
        size += len(one.body) + len(one.headers)
        if size > bytes_max:
            remedy = (
                "a partition of more bytes cannot be put in order; write more partitions (repartition), say a larger "
                "bufferBytes, or order=plan if the plan gives the rows of a partition in the same order every time"
            )
            raise ConfigError("bufferBytes", bytes_max, remedy)
    taken.sort(key=lambda one: one[:4])
    return taken


def outgoing(options: WriteOptions, batches: Iterable[pa.RecordBatch]) -> Iterator[OutgoingRow]:
    """Rows as messages, checked: what a broker would refuse fails here, before anything of it is sent."""
    known: set[str] = set()
    for batch in batches:
        columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
        nothing = [None] * batch.num_rows
        for topic, queue, key, properties, body, value in zip(
            *(columns.get(name, nothing) for name in _COLUMNS), strict=True
        ):
            topic, queue = _target(options, topic, queue, known)
            said = _headers(key, properties)
            data = _bytes(value if body is None else body)
            headers = with_headers(dict(sorted(said.items())), b"") if said else b""
            check_size(headers + data if headers else data)
            yield OutgoingRow(topic, queue, headers, data, said)


def _target(options: WriteOptions, topic: str | None, queue: str | None, known: set[str]) -> tuple[str, str]:
    """Where a row goes: its own columns first, then the options."""
    if topic and queue:
        raise ConfigError("queue", queue, f"the row has the topic {topic!r} too; it goes to one of them")
    if not (topic or queue):
        topic, queue = options.topic, options.queue
    if not (topic or queue):
        raise ConfigError("topic", topic, "the row says neither topic nor queue, and there is no option for it")
    name = topic or queue
    assert name is not None
    if name not in known:
        parse_topic(name) if topic else check_queue(name)
        known.add(name)
    return topic or "", queue or ""


def _headers(key: Any, properties: Any) -> dict[str, Any] | None:
    if key is None and not properties:
        return None
    said = dict(properties or ())
    if key is not None:
        said[KEY_HEADER] = _text_if_it_is(key)
    check_headers(said)
    return said


def _text_if_it_is(key: str | bytes) -> str | bytes:
    """Keys are mostly text, and other readers want to see it as such."""
    try:
        return key if isinstance(key, str) else key.decode()
    except UnicodeDecodeError:
        return key


def _bytes(body: Any) -> bytes:
    if body is None:
        raise ConfigError("body", None, "the row has none; filter such rows out, or send an empty one")
    return body.encode() if isinstance(body, str) else bytes(body)


class CausewayWriter(DataSourceArrowWriter):
    """`df.write`. One write has one id, drawn here or said by the user; its tasks may run more than once."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options
        self._write = options.write_id or uuid.uuid4().hex

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """On an executor: a partition."""
        name = f"{self._options.connection.name}.{_task().partitionId()}"
        return Written(send_rows(self._options, iterator, name, life_of("write", self._write)))


class CausewayStreamWriter(DataSourceStreamArrowWriter):
    """`df.writeStream`. A micro-batch has the id of its query, which its checkpoint keeps, and its own number."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """On an executor: a partition of a micro-batch."""
        task = _task()
        query, batch = task.getLocalProperty(QUERY_ID), task.getLocalProperty(BATCH_ID)
        if query is None or batch is None:
            raise ConfigError("checkpointLocation", query, "Spark does not say which query and micro-batch this is")
        name = f"{name_of(self._options, query)}.{task.partitionId()}"
        return Written(send_rows(self._options, iterator, name, life_of("stream", query, batch)))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """All partitions are acknowledged already."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """What was sent stays; the next attempt adds what is missing."""


def _task() -> TaskContext:
    task = TaskContext.get()
    assert task is not None, "Spark calls this in a task"
    return task
