"""A follower without Spark: micro-batches of segments, in the order in which they appeared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from causeway.pipeline.audit.context import CONTEXT_STEPS
from causeway.pipeline.audit.doubts import Doubts, sums_of, told_in
from causeway.pipeline.audit.hearing import Heard, Hearing
from causeway.pipeline.audit.pending import Bounds, Pending
from causeway.pipeline.audit.whole import audit_row, is_judged
from causeway.pipeline.audit.words import Judgement
from causeway.trace import Step

Row = Mapping[str, Any]


class SmallFollower:
    """Keeps what it knows as bytes between two micro-batches, as a real one does."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.hearing = Hearing()
        self.findings: list[Judgement] = []
        self.counts: dict[str, int] = {}
        self._kept: dict[str, bytes] = {}
        self._read = self._now = 0

    def batch(self, rows: Iterable[tuple[int, Row]]) -> None:
        """Records, each with when it was seen."""
        rows, before = list(rows), self._now
        now = self._now = max(before, self._read - self.bounds.patience)
        self._hear(rows, now)
        mine: dict[str, list[tuple[int, Row]]] = {}
        for seen, row in rows:
            if not row["causal"] and (is_judged(row) or row["step"] in CONTEXT_STEPS) and seen > now:
                mine.setdefault(row["dest"], []).append((seen, row))
        found: list[Judgement] = []
        for dest in sorted({*mine, *self._kept}):
            pending = Pending(self.bounds, self._kept.get(dest, b""))
            for seen, row in mine.get(dest, ()):
                pending.hear(audit_row(row), seen, row["note"])
            found += pending.judge(now)
            self._kept[dest] = pending.kept()
            for name, count in pending.counts.items():
                self.counts[name] = self.counts.get(name, 0) + count
        doubts = Doubts(self.hearing.doubts(before, now, self.bounds), self.hearing.sums())
        self.findings += [doubts.judged(one) for one in found]
        self.hearing.forget(now, self.bounds)

    def rest(self) -> None:
        """Nothing new but a record of somebody else, long after."""
        self._read += 2 * self.bounds.memory
        self.batch([])

    @property
    def held(self) -> int:
        return sum(map(len, self._kept.values()))

    def _hear(self, rows: list[tuple[int, Row]], now: int) -> None:
        lives: dict[tuple[str, int], list[tuple[int, Row]]] = {}
        for seen, row in rows:
            lives.setdefault((row["writer"], row["life"]), []).append((seen, row))
        heard = []
        for mine in lives.values():
            [sums] = sums_of([row for _, row in mine])
            heard.append(Heard(sums, min(seen for seen, _ in mine), max(seen for seen, _ in mine)))
        self._read = max([self._read, *(one.seen for one in heard)])
        told = [(self._read, one) for one in told_in(row for _, row in rows)]
        gone = {row["source"]: self._read for _, row in rows if row["step"] in (Step.BROKER_FAILED, Step.BROKER_LEFT)}
        late = [one.sums[:2] for one in heard if one.since <= now]
        self.hearing.hear(heard, told, gone, late)
