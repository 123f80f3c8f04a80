"""The columns of the trace lake: what brokers, applications, the simulator and the generator write, and jobs read.

One definition: `pipeline/schemas.py` makes Spark's types from it, the segment writer pyarrow's. A lake is a folder

    day=2026-11-17/domain=north/kind=events/ROLE-WRITER-LIFE-000001.parquet

and what is being written begins with a dot, so that no reader sees it before it is whole.

Owns: names, types and meanings of columns. Must not know: who writes or reads them, any library.
"""

from __future__ import annotations

from typing import Final, NamedTuple

LAKE_VERSION: Final = 2
"""Written into every row. A later version adds columns and never changes what one means. Version 2 has the column
`transaction`, and rows with step `sealed`."""


class Column(NamedTuple):
    """One column of a table of the lake. None of them is ever null."""

    name: str
    type: str
    """`int32`, `int64`, `bool`, `string`, `list<int32>` or `list<int64>`."""
    meaning: str


_WRITER: Final = (
    Column("version", "int32", "version of this schema"),
    Column("writer", "string", "name of the broker or application that wrote the row"),
    Column("role", "string", "`broker` or `application`"),
    Column("life", "int64", "incarnation of the writer, higher in each of its lives"),
)

EVENTS: Final = (
    *_WRITER,
    Column("sequence", "int64", "counts the writer's events in this life from 1 on, without gaps: its local order"),
    Column("at", "int64", "nanoseconds since 1970 by the writer's clock; it proves nothing about order"),
    Column("step", "int32", "what happened (`causeway.trace.Step`)"),
    Column(
        "source",
        "string",
        "application that sent the batch; this, `incarnation`, `dest`, `stream` and the ids name its messages",
    ),
    Column("incarnation", "int64", "life of that application"),
    Column(
        "dest", "string", "destination of the batch: mailbox, item of the topic, or `causeway/seats` in causal order"
    ),
    Column("stream", "int32", "`types.ServiceClass` under which its ids count"),
    Column("first", "int64", "first id of the batch, or of the part that the row is about"),
    Column("last", "int64", "last id"),
    Column("service", "int32", "`types.ServiceClass` that its sender chose, which says what is promised"),
    Column("reliable", "bool", "whether its sender waits for an acknowledgement"),
    Column("causal", "bool", "whether it was sent in causal order"),
    Column("topic", "string", "topic that it was published on; empty if it was sent to a mailbox"),
    Column("mailbox", "string", "where the step happened: mailbox, item or subscription; empty if at none of these"),
    Column(
        "seat", "string", "in causal order, the seat that it is at or on its way to, or that handed it to the mailbox"
    ),
    Column(
        "peer",
        "string",
        "the other side: owner of what was copied, members of what was stored, next broker, reader",
    ),
    Column("epoch", "int64", "for what is stored or copied: epoch of the replica group; 0 otherwise"),
    Column("copies", "int32", "for what is stored: number of members of the epoch that confirmed it; 0 otherwise"),
    Column("bytes", "int64", "length of the bodies; 0 if it is not known"),
    Column("note", "string", "more about it, for people"),
    Column(
        "transaction",
        "string",
        "transaction in which it was sent or settled (`causeway.trace.transaction_name`); empty for none",
    ),
)
"""Steps in the lives of batches, and what agents found out."""

TELEMETRY: Final = (
    *_WRITER,
    Column("second", "int64", "seconds since 1970 by the writer's clock"),
    Column("name", "string", "topic (then `item` is not empty); or mailbox, subscriptions included"),
    Column("item", "string", "item that the topic belongs to; empty for a mailbox"),
    Column("service", "int32", "`types.ServiceClass`"),
    Column("messages_in", "int64", "messages taken in this second"),
    Column("bytes_in", "int64", "bytes of their bodies"),
    Column("messages_out", "int64", "messages handed to readers and subscriptions"),
    Column("bytes_out", "int64", "bytes of their bodies"),
    Column("depth", "int64", "messages waiting at the end of the second, among those that the writer saw arrive"),
)
"""One row per name, class and second in which anything happened, by the broker that owns it."""

LATENCY: Final = (
    *_WRITER,
    Column("second", "int64", "seconds since 1970 by the writer's clock"),
    Column("name", "string", "topic; or mailbox, if the messages were not published"),
    Column("service", "int32", "`types.ServiceClass`"),
    Column("hop", "string", "the two steps between which time was measured: see docs/lake.md"),
    Column("buckets", "list<int32>", "numbers of the buckets (`lake.sketch`), ascending"),
    Column("counts", "list<int64>", "messages in each bucket"),
)
"""Sketches of how long messages took, one row per name, class, hop and second; sums of counts are sketches again."""

KINDS: Final = {"events": EVENTS, "telemetry": TELEMETRY, "latency": LATENCY}
"""Tables of a lake, by the `kind` in their path."""

PARTITIONS: Final = ("day", "domain", "kind")
"""Folders of a lake, outermost first. `day` is that of the writer's clock, in UTC."""
