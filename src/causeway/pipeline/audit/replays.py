"""Causal order of applications that talk to each other: circles of them, and verdicts about one circle.

Owns: which applications belong together, and how what a replay found is said. Must not know: Spark, what order is right
(`happened`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from causeway.pipeline.audit.chains import Records
from causeway.pipeline.audit.happened import Replayed, codes, replay
from causeway.pipeline.audit.words import (
    CAUSAL,
    EVIDENCE_MAX,
    HELD,
    SHARED,
    STREAM,
    UNKNOWN,
    VIOLATED,
    Evidence,
    Judgement,
    class_name,
)
from causeway.trace import Step

_SENT: Final = int(Step.SENT)

CAUSAL_COLUMNS: Final = (
    "writer",
    "life",
    "sequence",
    "step",
    *STREAM,
    "first",
    "last",
    "mailbox",
    "service",
    "reliable",
)


def connected(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Names and circles from rows of source, mailbox and reader."""
    above: dict[str, str] = {}

    def top(name: str) -> str:
        while above.setdefault(name, name) != name:
            above[name] = above[above[name]]
            name = above[name]
        return name

    applications: dict[str, None] = {}
    for batch in batches:
        for source, mailbox, reader in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            applications |= {source: None, reader: None}
            for one in (source, reader):
                ours, theirs = top(f"a {one}"), top(f"m {mailbox}")
                above[max(ours, theirs)] = min(ours, theirs)  # the least name stands for all, in whatever order
    names = sorted(applications)
    if names:
        yield pa.RecordBatch.from_pydict({"name": names, "circle": [top(f"a {name}") for name in names]})


def causal_table_verdicts(table: pa.Table) -> Iterator[Judgement]:
    """Verdicts about one circle."""
    table = table.combine_chunks()
    records = records_of(table)
    found = replay(records)
    yield from _causal_counts(table, records, found)
    yield from _causal_findings(table, found)


def records_of(table: pa.Table) -> Records:
    """Names as numbers, columns as arrays."""
    size = table.num_rows
    names = _text_codes(pa.concat_arrays([_one(table, "writer"), _one(table, "source")]))
    dests = _text_codes(_one(table, "dest"))
    streams = codes(dests * 256 + _numbers(table, "stream"))
    return Records(
        names[:size],
        _numbers(table, "life"),
        _numbers(table, "sequence"),
        _numbers(table, "step") == _SENT,
        names[size:],
        _numbers(table, "incarnation"),
        streams,
        _numbers(table, "first"),
        _numbers(table, "last"),
        _text_codes(_one(table, "mailbox")),
    )


def _one(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name).combine_chunks()
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column


def _text_codes(texts: pa.Array) -> NDArray[np.int64]:
    indices = pc.dictionary_encode(texts).indices
    return np.asarray(indices.to_numpy(zero_copy_only=False), np.int64)


def _numbers(table: pa.Table, name: str) -> NDArray[np.int64]:
    return np.asarray(_one(table, name).to_numpy(zero_copy_only=False), np.int64)


def _causal_counts(table: pa.Table, records: Records, found: Replayed) -> Iterator[Judgement]:
    """How many messages of each stream were held against the order."""
    late = np.zeros(table.num_rows, np.int64)
    for one in found.late:
        late[one.taken] += one.last - one.first + 1
    how = _numbers(table, "service") * 2 + _numbers(table, "reliable")
    columns = np.stack([records.source, records.incarnation, records.stream, how], axis=1)
    _, examples, streams = np.unique(columns, axis=0, return_index=True, return_inverse=True)
    for outcome, messages in ((HELD, found.checked - late), (SHARED, found.shared)):
        totals = np.bincount(streams.ravel(), weights=messages.astype(np.float64))
        for code in np.flatnonzero(totals).tolist():
            one = table.slice(int(examples[code]), 1).to_pylist()[0]
            name = class_name(one["service"], reliable=one["reliable"], causal=True)
            whose = tuple(one[name] for name in STREAM)
            yield Judgement(name, CAUSAL, outcome, int(totals[code]), *whose)


def _causal_findings(table: pa.Table, found: Replayed) -> Iterator[Judgement]:
    for late in found.late:
        reason = "its mailbox had shown something that it happened before"
        yield _causal_verdict(table, late.taken, (late.first, late.last), (VIOLATED, reason), late.chain)
    for entry in found.impossible:
        one = table.slice(entry, 1).to_pylist()[0]
        reason = "the records have it that it was taken before it was sent"
        yield _causal_verdict(table, entry, (one["first"], one["last"]), (UNKNOWN, reason), (entry,))


def _causal_verdict(
    table: pa.Table, entry: int, ids: tuple[int, int], said: tuple[str, str], shown: tuple[int, ...]
) -> Judgement:
    one = table.slice(entry, 1).to_pylist()[0]
    name = class_name(one["service"], reliable=one["reliable"], causal=True)
    left_out = len(shown) - EVIDENCE_MAX
    if left_out > 0:
        half = EVIDENCE_MAX // 2
        shown = (*shown[:half], *shown[-half:])
    evidence = tuple(_evidence(table, step) for step in shown)
    who = (one["source"], one["incarnation"], one["dest"], one["stream"], *ids, one["mailbox"])
    reason = f"{said[1]} ({left_out} events in between left out)" if left_out > 0 else said[1]
    # What is missing elsewhere can only hide that something happened before: it is the reader's own records that count.
    return Judgement(name, CAUSAL, said[0], ids[1] - ids[0] + 1, *who, reason, (), (), evidence)


def _evidence(table: pa.Table, entry: int) -> Evidence:
    one = table.slice(entry, 1).to_pylist()[0]
    ids = (one["source"], one["first"], one["last"], one["mailbox"])
    return Evidence(one["writer"], one["life"], one["sequence"], Step(one["step"]).name, *ids)
