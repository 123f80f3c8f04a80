"""What an application does, as trace records: sent, acknowledged, refused, received, settled, given back.

Records come in the order in which the application saw things: what it received stands before whatever it sent because
of that. One record is about a run of ids, never about a single message of many. Owns: the shape of the records, and
what is certain about a refusal. Must not know: who writes them down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from causeway.errors import CausewayError, Refused
from causeway.limits import DETAIL_CHARS_MAX
from causeway.names import SEATS
from causeway.topics import item_of
from causeway.trace import Step, TraceRecord, transaction_name
from causeway.types import SEAT_PREFIX, TWIN_PREFIX, Flag, Instant, ServiceClass, Span

if TYPE_CHECKING:
    from causeway.client.batches import SentBatch
    from causeway.client.lots import Lot
    from causeway.core.messages import Commit

_RELIABLE: Final = int(Flag.RELIABLE)
_ORDERED: Final = int(ServiceClass.TRANSACTIONAL)
_COMMITTED: Final = int(ServiceClass.COMMITTED)


class NoTrace:
    """Nobody wants to know."""

    def sent(self, batch: SentBatch) -> None:
        """A batch was handed to the bus."""

    def answered(self, batch: SentBatch, spans: Sequence[Span], error: CausewayError | None) -> None:
        """The application hears what became of these ids."""

    def handed(self, step: Step, lot: Lot, first: int, last: int) -> None:
        """The application did something with these messages of a lot."""

    def committing(self, head: Commit) -> None:
        """A transaction was handed to the bus."""

    def committed(self, head: Commit, error: CausewayError | None) -> None:
        """The application hears how it ended."""


class ApplicationTrace(NoTrace):
    """Somebody does."""

    def __init__(self, now: Callable[[], Instant], emit: Callable[[Sequence[TraceRecord]], None]) -> None:
        self._now = now
        self._emit = emit

    def sent(self, batch: SentBatch) -> None:
        self._batch(Step.SENT, batch, (batch.first, batch.last), "", batch.size)

    def answered(self, batch: SentBatch, spans: Sequence[Span], error: CausewayError | None) -> None:
        step, note = _end(error)
        for span in spans:
            self._batch(step, batch, span, note, 0)

    def _batch(self, step: Step, batch: SentBatch, span: Span, note: str, size: int) -> None:
        lane, stream, causal = batch.lane, batch.lane.stream, batch.lane.causal
        topic = "" if lane.published is None else lane.published.topic
        reliable = bool(lane.flags & _RELIABLE) and not lane.silent
        ids, how = (*batch.source, stream.dest, stream.service, *span), (stream.service, reliable, False, topic)
        where = (stream.dest, "")
        if causal is not None:
            ids, how = (*batch.source, SEATS, _ORDERED, *span), (causal.service, reliable, True, topic)
            where = (causal.dest, stream.dest.removeprefix(SEAT_PREFIX))
        self._write(step, ids, how, where, note=note, size=size)

    def handed(self, step: Step, lot: Lot, first: int, last: int) -> None:
        if last < first:
            return
        was, mailbox = lot.published, lot.mailbox.removeprefix(TWIN_PREFIX)
        size = sum(map(len, lot.bodies[first : last + 1])) if step == Step.RECEIVED else 0
        reliable = bool(lot.flags & _RELIABLE)
        if was is None:
            ids = (lot.source, lot.incarnation, lot.mailbox, lot.stream, lot.first + first, lot.first + last)
            self._write(step, ids, (lot.stream, reliable, False, ""), (mailbox, ""), size=size)
            return
        dest, stream, seat = item_of(was.topic) if was.topic else "", was.stream, ""
        if lot.causal:
            dest, stream, seat = SEATS, _ORDERED, lot.source.removeprefix(SEAT_PREFIX)
        for span in was.ids(last - first + 1, first):
            ids = (was.source, was.incarnation, dest, stream, *span)
            self._write(step, ids, (was.stream, reliable, lot.causal, was.topic), (mailbox, seat), size=size)
            size = 0

    def committing(self, head: Commit) -> None:
        self._commit(Step.SENT, head, "")

    def committed(self, head: Commit, error: CausewayError | None) -> None:
        step, note = _end(error)
        self._commit(step, head, note)

    def _commit(self, step: Step, head: Commit, note: str) -> None:
        for part in head.sends:
            last = part.first + part.count - 1
            ids = (head.source, head.incarnation, part.dest, _COMMITTED, part.first, last)
            topic = "" if part.published is None else part.published.topic
            size = part.size - 4 * part.count if step == Step.SENT else 0
            name = transaction_name(head.source, head.incarnation, head.number)
            how = (_COMMITTED, True, False, topic)
            self._write(step, ids, how, (part.dest, ""), note=note, size=size, transaction=name)

    def _write(
        self,
        step: Step,
        ids: tuple[str, int, str, int, int, int],
        how: tuple[int, bool, bool, str],
        where: tuple[str, str],
        *,
        note: str = "",
        size: int = 0,
        transaction: str = "",
    ) -> None:
        source, incarnation, dest, stream, first, last = ids
        service, reliable, causal, topic = how
        # fmt: off
        self._emit((TraceRecord(
            self._now(), "", step, source, incarnation, dest, stream, first, last, note,
            service, reliable, causal, topic, where[0], where[1], "", 0, 0, size, transaction,
        ),))
        # fmt: on


def _end(error: CausewayError | None) -> tuple[Step, str]:
    """How a send ended: what is not certain may arrive all the same."""
    if error is None:
        return Step.ACKNOWLEDGED, ""
    if isinstance(error, Refused):
        return Step.REFUSED, error.code.name.lower()
    return Step.REFUSED, f"unknown: {error}"[:DETAIL_CHARS_MAX]
