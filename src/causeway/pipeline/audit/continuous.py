"""The audit that goes on: a query of Structured Streaming which follows a lake and tells each finding once.

A record's event time is when its segment appeared in the lake, so there is one clock for all writers; the watermark
is `patience` behind the newest. Each destination is a group with state (`pending`), which the rules of the batch judge
when the watermark has passed. A micro-batch hands two kinds of rows to the driver: all new records, of which it keeps
who wrote how many (`hearing`), and findings, which it says with their doubts: as rows, as messages, and as numbers.

A micro-batch that is repeated after a crash has the same rows, and starts from what was known before it. Rows are
written under its number, messages under a `writeId` with its number, and last what is known after it, with its number:
where that is there already, all was told.

Owns: this query, what the driver keeps of it. Must not know: the rules, how findings are shown.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from causeway.errors import ConfigError, PipelineError
from causeway.lake.locations import locate
from causeway.lake.table import listing
from causeway.pipeline.audit.certificate import told
from causeway.pipeline.audit.context import CONTEXT_STEPS
from causeway.pipeline.audit.hearing import Heard, Hearing
from causeway.pipeline.audit.judging import audit_columns, life_in, life_sums, told_by, told_of, with_doubts
from causeway.pipeline.audit.pending import OUTCOMES, Bounds, Pending
from causeway.pipeline.audit.tables import VERDICTS, verdict_table
from causeway.pipeline.audit.words import STEPS, STREAM, UNRECORDED, AuditRow, Judgement
from causeway.pipeline.frame import JobRequest, number_option, stream_lake
from causeway.pipeline.increments import check_owner, check_unread, keep_seen
from causeway.trace import Step

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.state import GroupState

FINDINGS: Final = "followed"
"""Folder of the findings, by number of the micro-batch."""
TOPIC: Final = "audit/findings"
EVERY: Final = "5 seconds"
"""As often as writers finish a segment."""
FILES_MAX: Final = 1_000
"""Segments of one micro-batch."""
SHOWN_MAX: Final = 100
"""Findings of one micro-batch that are shown; all are rows and messages."""
_GONE: Final = (int(Step.BROKER_FAILED), int(Step.BROKER_LEFT))

Say = Callable[[list[dict[str, Any]]], None]


class Known(msgspec.Struct):
    """What the driver keeps between micro-batches."""

    name: str
    """Of this following, in the ids of its messages."""
    batch: int = -1
    """The last one that was told whole."""
    now: int = 0
    """What was seen until then was judged."""
    read: int = 0
    """The newest that was seen."""
    hearing: Hearing = msgspec.field(default_factory=Hearing)
    found: dict[str, dict[str, int]] = {}
    """Findings by guarantee and outcome."""
    counts: dict[str, int] = {}
    """Messages that were judged or let go, records that came late."""
    in_doubt: int = 0
    """Lives that put findings in doubt."""


class Follower:
    """Follows a lake."""

    def __init__(self, spark: SparkSession, request: JobRequest, say: Say) -> None:
        self._spark, self._request, self._say = spark, request, say
        self._bounds = bounds_of(request)
        self._folder = locate(request.checkpoint) / "follow"
        self._base = check_owner(self._folder, request, "events", f"{__name__} {self._bounds}")
        check_unread(self._folder, listing(request.lake, "events"), self._base)
        self._file = self._folder / "known.msgpack"
        self.failure: Exception | None = None
        """Why the query has ended, if it has by itself."""
        self._lock = threading.Lock()
        if not self._file.exists():
            self._keep(Known(uuid.uuid4().hex))
        self._known = msgspec.msgpack.decode(self._file.read(), type=Known)

    @property
    def known(self) -> Known:
        """What is known after the last micro-batch."""
        with self._lock:
            return self._known

    def start(self) -> StreamingQuery:
        """Begin, or go on where the last one stopped."""
        events = stream_lake(self._spark, self._request.lake, "events", self._base, files_max=FILES_MAX)
        seen = events.select("*", F.col("_metadata.file_modification_time").alias("seen"))
        marked = seen.withWatermark("seen", f"{self._bounds.patience} milliseconds")
        writer = both(marked, self._bounds).writeStream.foreachBatch(self._take_safely)
        return writer.option("checkpointLocation", str(self._folder / "spark")).trigger(processingTime=EVERY).start()

    def _take_safely(self, batch: DataFrame, number: int) -> None:
        """What Java hears of a failure is short: in a long text it looks for words of an interruption until its stack
        overflows, and then says nothing."""
        try:
            self._take(batch, number)
        except Exception as error:
            self.failure = error
            raise PipelineError(f"the follower failed in micro-batch {number}", "its own error says why") from None

    def _take(self, batch: DataFrame, number: int) -> None:
        if number <= self.known.batch:  # it was told, and Spark did not come to write that down
            batch.write.format("noop").mode("overwrite").save()  # its state is still to be kept
            return
        known = msgspec.msgpack.decode(self._file.read(), type=Known)
        before, read = known.now, known.read
        known.now = max(before, known.read - self._bounds.patience)  # the watermark of this micro-batch
        rows = batch.persist()
        try:
            self._hear(known, rows.where("record IS NOT NULL").select("record.*", "seen"))
            doubts = known.hearing.doubts(before, known.now, self._bounds)
            known.in_doubt = len(doubts)
            judged = rows.where("verdict IS NOT NULL").select("verdict").mapInArrow(_decoded, VERDICTS)
            if self._count(known, judged):
                found = with_doubts(judged.where("reason <> ''"), doubts, known.hearing.sums())
                self._tell(known, found.where(F.col("outcome") != UNRECORDED), number)
        finally:
            rows.unpersist()
        known.hearing.forget(known.now, self._bounds)
        known.batch = number
        self._keep(known)
        if known.read > read:
            lake = listing(self._request.lake, "events")
            keep_seen(self._folder, lake, self._base, until=known.read)  # Spark reads segments as they came

    def _hear(self, known: Known, new: DataFrame) -> None:
        """Who wrote how many records, and of whom they tell."""
        seen = F.unix_millis("seen")
        gone = F.collect_set(F.when(F.col("step").isin(*_GONE), F.col("source")))
        more = (F.min(seen).alias("first_seen"), F.max(seen).alias("last_seen"), gone.alias("gone"))
        rows = life_sums(new, *more).toArrow().to_pylist()
        if not rows:
            return
        known.read = max(known.read, *(row["last_seen"] for row in rows))
        lives = [Heard(life_in(row), row["first_seen"], row["last_seen"]) for row in rows]
        mentions = [(known.read, one) for one in told_by(told_of(new))]
        late = [one.sums[:2] for one in lives if one.since <= known.now]  # Spark lets none of these be judged
        known.hearing.hear(lives, mentions, {name: known.read for row in rows for name in row["gone"]}, late)

    def _count(self, known: Known, judged: DataFrame) -> int:
        """How many messages were judged; the number of findings."""
        found = F.count(F.when(F.col("reason") != "", 1)).alias("found")
        totals = judged.groupBy("outcome").agg(F.sum("messages").alias("messages"), found).toArrow().to_pylist()
        for row in totals:
            if row["outcome"] in OUTCOMES:
                known.counts[row["outcome"]] = known.counts.get(row["outcome"], 0) + row["messages"]
        return sum(row["found"] for row in totals)

    def _tell(self, known: Known, found: DataFrame, number: int) -> None:
        """Say what was found: as rows, and from these as messages and numbers."""
        place = str(locate(self._request.out) / FINDINGS / f"batch={number}")
        # By content, so that the same rows are in the same partitions when this is repeated.
        found.repartition(2, *STREAM).write.mode("overwrite").parquet(place)
        kept = self._spark.read.parquet(place)
        url = self._request.options.get("url")
        if url:
            topic = self._request.options.get("topic", TOPIC)
            messages = kept.repartition(2, *STREAM).mapInArrow(_messages, _MESSAGES)
            sink = messages.write.format("causeway").option("url", url).option("topic", topic).option("name", "audit")
            sink.option("writeId", f"{known.name}-{number}").mode("append").save()
        for row in kept.groupBy("guarantee", "outcome").count().toArrow().to_pylist():
            outcomes = known.found.setdefault(row["guarantee"], {})
            outcomes[row["outcome"]] = outcomes.get(row["outcome"], 0) + row["count"]
        self._say([told(row) for row in kept.limit(SHOWN_MAX).toArrow().to_pylist()])

    def _keep(self, known: Known) -> None:
        self._file.write(msgspec.msgpack.encode(known))
        with self._lock:
            self._known = known


def bounds_of(request: JobRequest) -> Bounds:
    """What the options say."""
    usual = Bounds()
    patience = number_option(request, "patience", usual.patience / 1000, 1, 3600)
    memory = number_option(request, "memory", usual.memory / 1000, 1, 24 * 3600)
    if memory < 2 * patience:
        raise ConfigError("set memory", f"{memory:g}", f"must be at least twice the patience, {patience:g} s")
    return usual._replace(patience=int(1000 * patience), memory=int(1000 * memory))


# The query -----------------------------------------------------------------------------------------------------------
def both(events: DataFrame, bounds: Bounds) -> DataFrame:
    """All that is new as `record`, with when it was `seen`; and each `verdict`."""
    names = [name for name in events.columns if name != "seen"]
    new = events.select(F.struct(*names).alias("record"), "seen", F.lit(None).cast("binary").alias("verdict"))
    is_context = F.col("step").isin(*CONTEXT_STEPS)
    rules = events.where(~F.col("causal") & (F.col("step").isin(*STEPS) | is_context)).select(
        *audit_columns(),
        F.when(is_context, F.col("note")).otherwise("").alias("note"),
        F.unix_millis("seen").alias("seen_at"),
        "seen",
    )
    judged = rules.groupBy("dest").applyInPandasWithState(
        partial(_held, bounds), "verdict binary", "kept binary", "append", "EventTimeTimeout"
    )
    empty = [F.lit(None).cast(new.schema[name].dataType).alias(name) for name in ("record", "seen")]
    return new.unionByName(judged.select(*empty, "verdict"))


def _held(
    bounds: Bounds, key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """One destination in one micro-batch."""
    import pandas as pd

    pending = Pending(bounds, bytes(state.get[0]) if state.exists else b"")
    for frame in frames:
        for *values, note, seen, _ in frame.itertuples(index=False, name=None):
            pending.hear(AuditRow._make(values), seen, note)
    now = max(0, state.getCurrentWatermarkMs())
    found = list(pending.judge(now))
    found += [
        Judgement("", "", outcome, messages, "", 0, "", 0) for outcome, messages in pending.counts.items() if messages
    ]
    kept = pending.kept()
    if kept:
        state.update((kept,))
        state.setTimeoutTimestamp(pending.due(now))
    elif state.exists:
        state.remove()
    if found:
        yield pd.DataFrame({"verdict": [msgspec.msgpack.encode(one) for one in found]})


def _decoded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What `_held` gave, as verdicts."""
    for batch in batches:
        if batch.num_rows:
            verdicts = (msgspec.msgpack.decode(one, type=Judgement) for one in batch.column("verdict").to_pylist())
            yield from verdict_table(verdicts).to_batches()


_MESSAGES: Final = "key string, properties map<string, string>, body string"
_ARROW_MESSAGES: Final = pa.schema(
    [("key", pa.string()), ("properties", pa.map_(pa.string(), pa.string())), ("body", pa.string())]
)


def _messages(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Findings as messages: JSON, and headers that selectors can ask for."""
    for batch in batches:
        rows = []
        for finding in batch.to_pylist():
            said = told(finding)
            headers = {name: said[name] for name in ("what", "outcome", "service", "mailbox")}
            rows.append({"key": said["mailbox"], "properties": list(headers.items()), "body": json.dumps(said)})
        yield from pa.Table.from_pylist(rows, schema=_ARROW_MESSAGES).to_batches()


# How far it is -------------------------------------------------------------------------------------------------------
class Behind(NamedTuple):
    """How far a follower is behind its lake."""

    segments: int
    """That were there when it last looked, and are not read."""
    seconds: float
    """Since the newest that was read appeared, while there is more to read; otherwise 0."""


def behind_of(query: StreamingQuery, known: Known) -> Behind:
    """As Spark says."""
    progress, status = query.lastProgress, query.status
    sources: Iterable[Mapping[str, Any]] = progress["sources"] if progress else ()
    segments = sum(int((source["metrics"] or {}).get("numFilesOutstanding", 0)) for source in sources)
    reading = segments > 0 or bool(status["isTriggerActive"] and status["isDataAvailable"])
    return Behind(segments, max(0.0, time.time() - known.read / 1000) if reading and known.read else 0.0)


def metrics_of(known: Known, behind: Behind) -> str:
    """Numbers in the text format of Prometheus."""
    found = Counter(
        {
            f'{{guarantee="{guarantee}",outcome="{outcome}"}}': count
            for guarantee, outcomes in known.found.items()
            for outcome, count in outcomes.items()
        }
    )
    metrics: dict[str, tuple[str, str, Mapping[str, float]]] = {
        "findings_total": ("counter", "Findings that were told.", found),
        "messages_judged_total": ("counter", "Messages that were judged.", {"": known.counts.get("judged", 0)}),
        "messages_let_go_total": (
            "counter",
            "Messages for which there was no room.",
            {"": known.counts.get("let go", 0)},
        ),
        "records_late_total": ("counter", "Records about messages judged before.", {"": known.counts.get("late", 0)}),
        "lives_in_doubt": (
            "gauge",
            "Lives of writers whose missing records may explain findings.",
            {"": known.in_doubt},
        ),
        "segments_behind": ("gauge", "Segments of the lake that are not read.", {"": behind.segments}),
        "behind_seconds": ("gauge", "Age of the newest segment read while there are more.", {"": behind.seconds}),
        "read_until_seconds": ("gauge", "When the newest segment that was read appeared.", {"": known.read / 1000}),
        "judged_until_seconds": ("gauge", "Until when messages were judged.", {"": known.now / 1000}),
    }
    lines = []
    for name, (kind, meaning, values) in metrics.items():
        full = f"causeway_audit_{name}"
        lines += [f"# HELP {full} {meaning}", f"# TYPE {full} {kind}"]
        lines += [f"{full}{labels} {value:.15g}" for labels, value in sorted(values.items())]
    return "\n".join(lines) + "\n"
