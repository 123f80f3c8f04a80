"""How sends end: the window, acknowledgements of parts, failures, confirmations and time limits.

Owns: the place of every unresolved message in the window, and what became of it. Does not know links or order.
"""

from __future__ import annotations

from collections import deque

from causeway.client.batches import SentBatch, SentStream
from causeway.client.tracing import NoTrace
from causeway.core.deadlines import NEVER, Alarm
from causeway.errors import CausewayError, Code, DeadlineExceeded, OutcomeUnknown, Refused
from causeway.limits import CONFIRMING_MAX
from causeway.types import Duration, Flag, Instant, Span

_CONFIRM, _RETAIN = int(Flag.CONFIRM), int(Flag.RETAIN)


class Fates:
    """Resolves batches and remembers which ones to tell about."""

    __slots__ = ("_alarm", "_confirming", "_expiring", "bytes", "confirmed", "count", "departed", "resolved", "trace")

    def __init__(self, alarm: Alarm | None = None) -> None:
        self._alarm = alarm or Alarm()
        self._alarm.watch(self.next_deadline)
        self.count = 0
        self.bytes = 0
        """Unresolved messages and their bytes: what the window bounds."""
        self.resolved: list[SentBatch] = []
        self.confirmed: list[SentBatch] = []
        self.departed: list[SentBatch] = []
        """For the session to tell."""
        self._expiring: dict[Duration, deque[SentBatch]] = {}
        """Per time limit, and so in the order of their deadlines."""
        self._confirming: deque[SentBatch] = deque()
        self.trace = NoTrace()

    def count_in(self, batch: SentBatch) -> None:
        """Let the window know of the messages that joined an open batch since the last time."""
        fresh = batch.bodies[batch.counted :] if batch.counted else batch.bodies
        count, size = len(fresh), sum(map(len, fresh))
        batch.counted += count
        batch.size += size
        self.count += count
        self.bytes += size

    def no_room(self) -> Refused:
        """What to say to an application whose window is full."""
        detail = f"the send window is full: {self.count} messages, {self.bytes} bytes unacknowledged"
        detail += "; wait with `ready`, or send with `wait=False`, which waits for room"
        return Refused(Code.OVERLOADED, detail)

    # Answers ---------------------------------------------------------------------------------------------------
    def settle(
        self, batch: SentBatch, first: int, last: int, error: CausewayError | None, *, delivered: bool = False
    ) -> None:
        """Some or all ids of a batch are answered: acknowledged (as stored, or as delivered), or failed."""
        if batch.resolved:
            return
        left = batch.unresolved if batch.unresolved is not None else [(batch.first, batch.last)]
        rest = without(left, first, last) if (first > batch.first or last < batch.last) else []
        if not batch.left and batch.original is None:
            self.trace.answered(batch, _within(left, first, last), error)
        answered = _count(left) - _count(rest)
        if error is None:
            batch.accepted += answered
            if not delivered:
                for start, stop in rest:
                    left = without(left, start, stop)
                batch.stored += left
        elif answered and not (batch.left and batch.copy is not None):  # else it was told how it ended
            batch.failures.append(((max(first, batch.first), min(last, batch.last)), error))
        batch.unresolved = rest or None
        if not rest:
            self._resolve(batch)

    def sent_off(self, batch: SentBatch) -> None:
        """A batch that nobody answers is on its way: that is all there is to know of it."""
        batch.accepted = batch.count
        batch.stored = [(batch.first, batch.last)]
        self._resolve(batch)

    def take_in(self, batch: SentBatch) -> None:
        """A batch that takes up room in the window."""
        self.count += batch.count
        self.bytes += batch.size

    def take_copy(self, batch: SentBatch) -> None:
        """A copy for another way: it takes up room, and unless it is one and the same message it is one more send."""
        self.take_in(batch)
        if batch.original is None:
            self.trace.sent(batch)

    def copied(self, copy: SentBatch, *, unwanted: bool) -> None:
        """Way 1 has answered for a copy: if it has all of it, that counts, unless only way 0 serves somebody."""
        original = copy.original
        assert original is not None
        copy.apart = copy.apart or unwanted
        counts = copy.resolved and not copy.failures and not copy.apart
        if counts and not original.over and not original.lane.flags & _RETAIN:
            self.trace.answered(original, [(original.first, original.last)], None)
            self.leave(original)

    def excuse(self, batch: SentBatch, error: CausewayError) -> None:
        """The time of a batch of a critical topic is over. Its sender is told; it goes on, because ways that carry
        different messages could not be made one again in order. Its time to live ends it."""
        if not batch.over:
            batch.failures.append(((batch.first, batch.last), error))
            self.trace.answered(batch, [(batch.first, batch.last)], error)
            self.leave(batch)
        if batch.dies:
            self._expire_at(batch)

    def leave(self, batch: SentBatch) -> None:
        """A batch that is kept until it is answered, though nobody waits for that, is on its way."""
        batch.left = True
        self.departed.append(batch)

    def confirm(self, stream: SentStream, first: int, last: int) -> None:
        """The application settled these ids."""
        for start in [start for start in stream.confirming if start <= last]:
            batch = stream.confirming[start]
            left = without(batch.unresolved or [(batch.first, batch.last)], first, last)
            batch.unresolved = left or None
            if not left:
                self._confirm(stream, batch)

    def _resolve(self, batch: SentBatch) -> None:
        batch.resolved = True
        batch.body = b""
        stream = batch.lane.stream
        stream.waiting.pop(batch.first, None)
        self.count -= batch.count
        self.bytes -= batch.size
        self.resolved.append(batch)
        batch.delivered = not batch.stored and not batch.failures
        if batch.lane.flags & _CONFIRM and not batch.failures:
            if batch.stored:
                batch.unresolved = batch.stored
                self._await_confirmation(stream, batch)
            else:
                self._confirm(stream, batch)

    def _await_confirmation(self, stream: SentStream, batch: SentBatch) -> None:
        stream.confirming[batch.first] = batch
        self._confirming.append(batch)
        if len(self._confirming) > CONFIRMING_MAX:
            oldest = self._confirming.popleft()
            oldest.lane.stream.confirming.pop(oldest.first, None)

    def _confirm(self, stream: SentStream, batch: SentBatch) -> None:
        stream.confirming.pop(batch.first, None)
        batch.confirmed = True
        self.confirmed.append(batch)
        while self._confirming and self._confirming[0].confirmed:
            self._confirming.popleft()

    def unconfirmed_on(self) -> dict[int, None]:
        """Connections on which batches were sent whose delivery confirmation is still to come."""
        return {batch.sent: None for batch in self._confirming if not batch.confirmed}

    # Time ------------------------------------------------------------------------------------------------------
    def limit(self, batch: SentBatch, now: Instant) -> None:
        """Begin to count a sealed batch's time."""
        lane = batch.lane
        limit = lane.timeout
        if lane.ttl:
            limit = min(limit or lane.ttl, lane.ttl)
        if limit:
            batch.deadline = now + limit
            batches = self._expiring.setdefault(limit, deque())
            while batches and batches[0].resolved:
                batches.popleft()
            batches.append(batch)
            self._alarm.lower(batch.deadline)

    def take_over(self, batch: SentBatch) -> None:
        """A batch of an earlier life: it has no limit but its time to live."""
        self.take_in(batch)
        batch.sent_at = 1  # at any time: that life may have sent it
        batch.deadline = batch.dies or NEVER
        if batch.dies:
            self._expire_at(batch)

    def _expire_at(self, batch: SentBatch) -> None:
        # A queue of its own: those of this life's limits are in the order in which they run out.
        batch.deadline = batch.dies
        self._expiring.setdefault(-batch.dies, deque()).append(batch)
        self._alarm.lower(batch.deadline)

    def next_deadline(self) -> Instant | None:
        """When the next unresolved batch runs out of time."""
        earliest: Instant | None = None
        for batches in self._expiring.values():
            while batches and batches[0].resolved:
                batches.popleft()
            if batches and (earliest is None or batches[0].deadline < earliest):
                earliest = batches[0].deadline
        return earliest

    def late(self, now: Instant) -> list[SentBatch]:
        """Unresolved batches whose time is over."""
        found: list[SentBatch] = []
        for batches in self._expiring.values():
            while batches and (batches[0].resolved or batches[0].deadline <= now):
                batch = batches.popleft()
                if not batch.resolved:
                    found.append(batch)
        return found


def lateness(batch: SentBatch, now: Instant) -> CausewayError:
    """Why a batch whose time is over has failed."""
    stream, target = batch.lane.stream, batch.lane.target
    if batch.dies and batch.dies <= now:
        text = f"no acknowledgement from {target!r} within the message's time to live"
        return OutcomeUnknown(text, Code.EXPIRED) if batch.sent_at else Refused(Code.EXPIRED, text)
    refusal = stream.refusal
    if batch.sent_at and refusal is not None:
        # One copy was refused. Another one may lie with its owner, which could not confirm it yet, or be on its way.
        return OutcomeUnknown(f"no acknowledgement from {target!r} in time ({refusal})", refusal.code)
    if batch.sent_at:
        return OutcomeUnknown(f"no acknowledgement from {target!r} in time (sent, not answered)")
    return refusal or DeadlineExceeded(f"no broker was reached in time: the message to {target!r} was not sent")


def without(spans: list[Span], first: int, last: int) -> list[Span]:
    """What is left of the spans when first..last is taken out."""
    rest: list[Span] = []
    for start, stop in spans:
        if start < first:
            rest.append((start, min(stop, first - 1)))
        if stop > last:
            rest.append((max(start, last + 1), stop))
    return rest


def _within(spans: list[Span], first: int, last: int) -> list[Span]:
    """What the spans have of first..last."""
    return [(max(start, first), min(stop, last)) for start, stop in spans if start <= last and stop >= first]


def _count(spans: list[Span]) -> int:
    return sum(stop - start + 1 for start, stop in spans)
