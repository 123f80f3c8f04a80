"""Verdicts as a table, in Arrow and in Spark. Owns: its columns. Must not know: how verdicts are reached."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa
from pyspark.sql import types as t

from causeway.pipeline.audit.words import Evidence, Judgement

_EVIDENCE: Final = t.StructType(
    [
        t.StructField("writer", t.StringType()),
        t.StructField("life", t.LongType()),
        t.StructField("sequence", t.LongType()),
        t.StructField("step", t.StringType()),
        t.StructField("source", t.StringType()),
        t.StructField("first", t.LongType()),
        t.StructField("last", t.LongType()),
        t.StructField("mailbox", t.StringType()),
    ]
)

VERDICTS: Final = t.StructType(
    [
        t.StructField("service", t.StringType()),
        t.StructField("guarantee", t.StringType()),
        t.StructField("outcome", t.StringType()),
        t.StructField("messages", t.LongType()),
        t.StructField("source", t.StringType()),
        t.StructField("incarnation", t.LongType()),
        t.StructField("dest", t.StringType()),
        t.StructField("stream", t.IntegerType()),
        t.StructField("first", t.LongType()),
        t.StructField("last", t.LongType()),
        t.StructField("mailbox", t.StringType()),
        t.StructField("reason", t.StringType()),
        t.StructField("domains", t.ArrayType(t.StringType())),
        t.StructField("evidence", t.ArrayType(_EVIDENCE)),
    ]
)
"""`words.Judgement`, column by column."""

_ARROW_EVIDENCE: Final = pa.struct(
    [(name, pa.int64() if name in {"life", "sequence", "first", "last"} else pa.string()) for name in Evidence._fields]
)
_LONG: Final = frozenset({"messages", "incarnation", "first", "last"})


def _arrow_type(name: str) -> pa.DataType:
    if name in _LONG:
        return pa.int64()
    return {"stream": pa.int32(), "domains": pa.list_(pa.string()), "evidence": pa.list_(_ARROW_EVIDENCE)}.get(
        name, pa.string()
    )


ARROW_VERDICTS: Final = pa.schema([(name, _arrow_type(name)) for name in Judgement._fields])


def verdict_table(verdicts: Iterable[Judgement]) -> pa.Table:
    """These verdicts in Arrow."""
    rows = [
        verdict._asdict() | {"domains": list(verdict.domains), "evidence": [one._asdict() for one in verdict.evidence]}
        for verdict in verdicts
    ]
    return pa.Table.from_pylist(rows, schema=ARROW_VERDICTS)
