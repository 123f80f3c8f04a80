"""Verdicts as a table, in Arrow and in Spark. Owns: its columns. Must not know: how verdicts are reached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
        t.StructField("tellers", t.ArrayType(t.StringType())),
        t.StructField("evidence", t.ArrayType(_EVIDENCE)),
        t.StructField("transaction", t.StringType()),
        t.StructField("doubt", t.StringType()),
    ]
)
"""`words.Judgement`, column by column."""

_ARROW_EVIDENCE: Final = pa.struct(
    [(name, pa.int64() if name in {"life", "sequence", "first", "last"} else pa.string()) for name in Evidence._fields]
)
_NAMES: Final = pa.list_(pa.string())
_LONG: Final = frozenset({"messages", "incarnation", "first", "last"})


def _arrow_type(name: str) -> pa.DataType:
    if name in _LONG:
        return pa.int64()
    return {"stream": pa.int32(), "domains": _NAMES, "tellers": _NAMES, "evidence": pa.list_(_ARROW_EVIDENCE)}.get(
        name, pa.string()
    )


ARROW_VERDICTS: Final = pa.schema([(name, _arrow_type(name)) for name in Judgement._fields])


def verdicts_in(batches: Iterable[pa.RecordBatch]) -> Iterator[Judgement]:
    """The verdicts of some rows."""
    for batch in batches:
        for row in batch.select(list(Judgement._fields)).to_pylist():
            shown = tuple(Evidence(**one) for one in row["evidence"])
            names = {name: tuple(row[name]) for name in ("domains", "tellers")}
            yield Judgement(**(row | names | {"evidence": shown}))


def verdict_table(verdicts: Iterable[Judgement]) -> pa.Table:
    """These verdicts in Arrow."""
    rows = [
        verdict._asdict()
        | {
            "domains": list(verdict.domains),
            "tellers": list(verdict.tellers),
            "evidence": [one._asdict() for one in verdict.evidence],
        }
        for verdict in verdicts
    ]
    return pa.Table.from_pylist(rows, schema=ARROW_VERDICTS)
