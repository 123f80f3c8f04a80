"""What records of one destination wait for, so that rules can judge messages while more records come.

A record is *seen* when its segment appeared in the lake: by one clock, whoever wrote it. Records that speak of the same
ids, directly or over others (a stretch), are judged when nothing new was seen about them for `patience`; until then
whoever wrote more of them has the time to. They are judged by the rules of the batch, beside all others of their stream
that are held, and told of once. Then only their ids are remembered. A stretch that is open (not acknowledged, or in a
mailbox and not settled) is held longer and judged again, as it may turn out to be lost.

Everything is bounded: what is held by `memory` and `rows_max`; ids of what was judged by `forget`. Whatever comes later
about such ids is counted, and judged by the batch alone.

Owns: what is held, and when it is judged. Must not know: the rules, Spark, what is missing (`hearing`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final, NamedTuple

import msgspec

from causeway.pipeline.audit.context import CONTEXT_STEPS, Context, context_of
from causeway.pipeline.audit.streams import judge, stretches
from causeway.pipeline.audit.whole import sweep_order
from causeway.pipeline.audit.words import ATOMIC, CAUSAL, VIOLATIONS, AuditRow, Judgement
from causeway.ranges import IdSet
from causeway.trace import Step
from causeway.types import Span

BATCH_ALONE: Final = (CAUSAL, ATOMIC)
"""Guarantees that need more than one destination: the records of all applications that talk to each other, the parts of
a transaction. Nor is anything judged of messages in causal order: their order is that of all seats."""
FOLLOWED: Final = tuple(name for name in VIOLATIONS if name not in BATCH_ALONE)

JUDGED: Final = "judged"
LATE: Final = "late"
"""Records about messages that were judged already, or let go."""
LET_GO: Final = "let go"
"""Messages that were never judged: there was no room for them."""
OUTCOMES: Final = (JUDGED, LATE, LET_GO)

_DONE: Final = frozenset(map(int, (Step.SETTLED, Step.EXPIRED, Step.DEAD, Step.REFUSED)))
_TOLD: Final = frozenset(map(int, (Step.ACKNOWLEDGED, Step.REFUSED)))


class Bounds(NamedTuple):
    """How long records are held, in milliseconds, and how many."""

    patience: int = 60_000
    memory: int = 3_600_000
    forget: int = 7 * 24 * 3_600_000
    """As long as a mailbox remembers ids: a stream of which nothing was seen for so long begins anew."""
    rows_max: int = 50_000


class _Told(NamedTuple):
    """A subscription that began or ended."""

    seen: int
    writer: str
    life: int
    sequence: int
    step: int
    dest: str
    mailbox: str
    topic: str
    note: str


class _Stream(msgspec.Struct):
    """A stream of messages to the destination."""

    seen: int = 0
    looked: int = 0
    """When it was judged last."""
    judged: list[Span] = []
    rows: list[tuple[int, AuditRow]] = []


class _Held(msgspec.Struct):
    """All that is kept of a destination."""

    streams: dict[str, _Stream] = {}
    told: list[_Told] = []


class _Stretch(NamedTuple):
    """Records of a stream that speak of the same ids."""

    first: int
    last: int
    since: int
    seen: int
    rows: list[AuditRow]


class Pending:
    """Records of one destination."""

    def __init__(self, bounds: Bounds, kept: bytes = b"") -> None:
        self._bounds = bounds
        self._held = msgspec.msgpack.decode(kept, type=_Held) if kept else _Held()
        self._judged = {name: IdSet(stream.judged) for name, stream in self._held.streams.items()}
        self.counts = dict.fromkeys(OUTCOMES, 0)
        """Messages, or records that came late, since this was made."""

    def kept(self) -> bytes:
        """All of it, to be given to the next one; empty if there is nothing."""
        for name, stream in self._held.streams.items():
            stream.judged = self._judged[name].spans()
        return msgspec.msgpack.encode(self._held) if self._held.streams or self._held.told else b""

    def hear(self, row: AuditRow, seen: int, note: str = "") -> None:
        """One more record. Of its `note` only that of a subscription counts."""
        if row.step in CONTEXT_STEPS:
            where = (row.writer, row.life, row.sequence, row.step, row.dest, row.mailbox, row.topic)
            self._held.told.append(_Told(seen, *where, note))
            return
        name = f"{row.source}\n{row.incarnation}\n{row.stream}"
        stream = self._held.streams.setdefault(name, _Stream())
        stream.seen = max(stream.seen, seen)
        if self._judged.setdefault(name, IdSet()).missing(row.first, row.last):
            stream.rows.append((seen, row))
        else:
            self.counts[LATE] += 1

    def judge(self, now: int) -> Iterator[Judgement]:
        """Findings about what is ripe: of which nothing was seen after `now`, which is `patience` before the newest."""
        context = context_of((told._asdict() for told in self._held.told), {})
        for name, stream in self._held.streams.items():
            if stream.rows:
                yield from self._judge(self._judged[name], stream, context, now)
        self._forget(now)

    def due(self, now: int) -> int:
        """The instant from which on something is to be judged or forgotten."""
        times = [stream.seen + self._bounds.forget for stream in self._held.streams.values()]
        times += [told.seen + 2 * self._bounds.memory for told in self._held.told]
        for stream in self._held.streams.values():
            for one in _stretches(stream):
                times.append(one.seen if one.seen > now else one.since + self._bounds.memory)
        return max(now + 1, min((time for time in times if time > now), default=now + self._bounds.forget))

    # Inside ----------------------------------------------------------------------------------------------------
    def _judge(self, judged: IdSet, stream: _Stream, context: Context, now: int) -> Iterator[Judgement]:
        held = _stretches(stream)
        quiet = [one for one in held if one.seen <= now and judged.missing(one.first, one.last)]
        old = now - self._bounds.memory
        if not any(one.seen > stream.looked or one.since <= old for one in quiet):
            return
        stream.looked = now
        found = [one for one in judge(_swept(stream), context) if one.reason and one.guarantee in FOLLOWED]
        told = IdSet()
        for one in found:
            stretch = next((some for some in quiet if some.first <= one.last <= some.last), None)
            if stretch is not None and one.last not in judged:
                told.add(stretch.first, stretch.last)
                yield one
        for stretch in quiet:
            if stretch.last in told or stretch.since <= old or not is_open(stretch.rows):
                self._close(judged, stretch, JUDGED)
        self._make_room(judged, held, now)
        # What was judged stays as long as something with lower ids is not quiet: it shows what overtook that.
        active = min((one.first for one in held if judged.missing(one.first, one.last) and one.seen > now), default=0)
        stream.rows = [
            (seen, row)
            for seen, row in stream.rows
            if judged.missing(row.first, row.last) or (active and row.last > active)
        ]

    def _close(self, judged: IdSet, stretch: _Stretch, why: str) -> None:
        for first, last in judged.missing(stretch.first, stretch.last):
            judged.add(first, last)
            self.counts[why] += last - first + 1

    def _make_room(self, judged: IdSet, held: list[_Stretch], now: int) -> None:
        """More records than there is room for: what is open and quiet goes first, the oldest; then the oldest."""
        waiting = [one for one in held if judged.missing(one.first, one.last)]
        count = sum(len(one.rows) for one in waiting)
        for stretch in sorted(waiting, key=lambda one: (one.seen > now, one.since)):
            if count <= self._bounds.rows_max:
                return
            self._close(judged, stretch, JUDGED if stretch.seen <= now else LET_GO)
            count -= len(stretch.rows)

    def _forget(self, now: int) -> None:
        for name, stream in list(self._held.streams.items()):
            if not stream.rows and stream.seen <= now - self._bounds.forget:
                del self._held.streams[name], self._judged[name]
        self._held.told = list(_current(self._held.told, now - 2 * self._bounds.memory))


def is_open(rows: list[AuditRow]) -> bool:
    """Whether more is to come: its sender waits for an answer, or it lies in a mailbox."""
    sent = any(row.step == Step.SENT and row.reliable and not row.broker for row in rows)
    if sent and not any(row.step in _TOLD and not row.broker for row in rows):
        return True
    stored = {row.mailbox for row in rows if row.step == Step.STORED}
    return not stored.issubset(row.mailbox for row in rows if row.step in _DONE)


def _swept(stream: _Stream) -> list[AuditRow]:
    return sorted((row for _, row in stream.rows), key=sweep_order)


def _stretches(stream: _Stream) -> list[_Stretch]:
    times = {(row.writer, row.life, row.sequence): seen for seen, row in stream.rows}
    found = []
    for _, rows in stretches(_swept(stream)):
        seen = [times[row.writer, row.life, row.sequence] for row in rows]
        found.append(_Stretch(min(r.first for r in rows), max(r.last for r in rows), min(seen), max(seen), rows))
    return found


def _current(told: list[_Told], since: int) -> Iterator[_Told]:
    """Without what no message that is held can depend on: subscriptions that ended before, and what owners before the
    present one had said before."""
    if not told:
        return
    owner = max(told, key=lambda one: one.seen)[1:3]
    taken_over = min(one.seen for one in told if one[1:3] == owner) < since
    for (*whose, _), mine in groupby(sorted(told, key=_by_mailbox), key=_by_mailbox_alone):
        rows = list(mine)
        old = tuple(whose) != owner and taken_over
        last_end = max((at for at, one in enumerate(rows) if one.step == Step.UNSUBSCRIBED), default=-1)
        for at, one in enumerate(rows):
            if one.seen >= since or not (old or at <= last_end):
                yield one


def _by_mailbox(one: _Told) -> tuple[str, int, str, int]:
    return one.writer, one.life, one.mailbox, one.sequence


def _by_mailbox_alone(one: _Told) -> tuple[str, int, str]:
    return one.writer, one.life, one.mailbox
