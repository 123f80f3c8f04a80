"""Everything a session sends in causal order: one stream to our seat, which waits until the seat is known.

Owns: when that stream gets its destination, and what each batch must come after. Must not know: links, when batches
leave (`streams`), who is asked for the seat (`seat_questions`). Stimuli: sends, batches that are given up, and answers
about our seat.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from causeway.client.batches import SentBatch, SentStream
from causeway.client.fates import Fates
from causeway.client.marks import Marks, merged
from causeway.client.numbering import Numbering
from causeway.core.messages import Causal
from causeway.errors import Refused
from causeway.types import ServiceClass

_UNSEATED: Final = ("", int(ServiceClass.TRANSACTIONAL))
"""Where our stream is found before it has a destination."""


class CausalStream:
    """The part of the sending side that causal order needs."""

    def __init__(self, numbering: Numbering, fates: Fates, close_gap: Callable[[list[SentBatch]], None]) -> None:
        self._numbering = numbering
        self._fates = fates
        self._close_gap = close_gap
        """What else must happen when ids are given up."""
        self.marks = Marks()
        """For the next batch."""

    # The seat --------------------------------------------------------------------------------------------------
    @property
    def needs_seat(self) -> bool:
        """Whether something was sent and cannot leave before our seat is known."""
        stream = self._unseated()
        return stream is not None and bool(stream.waiting)

    def take_seat(self, seat: str) -> None:
        """Our seat is known: what waited for it may leave."""
        stream = self._unseated()
        if stream is not None:
            stream.refusal = None
            self._numbering.redirect(stream, seat)

    def excuse_seat(self, error: Refused) -> None:
        """Nobody can say our seat now: that is why it takes long."""
        stream = self._unseated()
        if stream is not None:
            stream.refusal = error

    def refuse_seat(self, error: Refused) -> None:
        """There is no seat for us: what waited for it has failed."""
        stream = self._unseated()
        failed = list(stream.waiting.values()) if stream is not None else []
        for batch in failed:
            self._fates.settle(batch, batch.first, batch.last, error)
        if failed:
            self._close_gap(failed)

    def _unseated(self) -> SentStream | None:
        """What was sent while our seat was not known."""
        return self._numbering.streams.get(_UNSEATED)

    # What comes before -----------------------------------------------------------------------------------------
    def mark(self, batch: SentBatch) -> None:
        """It comes after whatever was shown before any of its messages was sent."""
        if batch.lane.causal is not None:
            batch.after = self.marks.take()

    def bequeath(self, given_up: list[SentBatch], heir: SentBatch | None) -> None:
        """What batches that will not arrive should have come after, the next one must; None if it is yet to be sent."""
        for batch in given_up:
            if heir is None:
                self.marks.give_back(batch.after)
            else:
                heir.after = merged(heir.after, batch.after)


def causal_of(batch: SentBatch) -> Causal | None:
    """What a batch in causal order says of itself; our own seat knows what it handed out."""
    lane = batch.lane
    after = tuple(mark for mark in batch.after if mark[0] != lane.stream.dest)
    return msgspec.structs.replace(lane.causal, after=after) if lane.causal is not None and after else lane.causal
