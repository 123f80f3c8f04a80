"""The receiving side of a session: consumers, what they hold, and the messages that must not be shown twice.

Owns: attaching (an errand), deliveries, duplicates, settling and its repetition until it is confirmed. A message counts
as accepted when the application settled it; one that was given back, or dropped unsettled, does not. Stimuli: the
application's calls, frames from the owner, the loss of its link.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Final, TypeVar

from causeway.client.errands import Errands
from causeway.client.late import LateSettles
from causeway.client.links import Uplink
from causeway.client.lots import Lot, SeenStream
from causeway.client.marks import Marks
from causeway.client.merging import doubled_key, is_doubled, overtaken, runs_of
from causeway.client.message import Delivery
from causeway.client.reader import MailReader
from causeway.client.seen import SeenStreams
from causeway.client.settings import SessionConfig
from causeway.client.tracing import NoTrace
from causeway.core.deadlines import Alarm
from causeway.core.machine import Turn
from causeway.core.messages import Deliver, Detach, Settled
from causeway.errors import CausewayError, Code, RemoteProtocolError
from causeway.limits import SPANS_PER_FRAME_MAX
from causeway.ranges import IdSet, merged
from causeway.trace import Step
from causeway.types import VOLATILE_FROM, Instant, ServiceClass, Span
from causeway.wire import body as bodies

Shown = TypeVar("Shown", bound=Delivery)
Make = Callable[..., Shown]

_EXPRESS: Final = int(ServiceClass.EXPRESS)


class MailReaders:
    """All consumers of a session and, per mailbox, the streams they saw."""

    def __init__(self, config: SessionConfig, errands: Errands, marks: Marks, *, alarm: Alarm | None = None) -> None:
        self._config = config
        self._marks = marks
        self._errands = errands
        self._all: dict[int, MailReader] = {}
        self.late = LateSettles(alarm)
        self.seen = SeenStreams()
        self._serial = 0
        self.dirty: dict[int, MailReader] = {}
        """Those with something to pass on at the end of the turn."""
        self.arrived: dict[MailReader, None] = {}
        """Got something this turn, for the session to tell."""
        self.trace = NoTrace()
        self.ended: list[str] = []
        """Mailboxes of no use any more: their only readers have ended."""

    def all(self) -> list[MailReader]:
        """Every consumer."""
        return list(self._all.values())

    def mailbox_of(self, number: int) -> str | None:
        """What a consumer reads; None when it has ended."""
        consumer = self._all.get(number)
        return None if consumer is None else consumer.mailbox

    @property
    def quiet(self) -> bool:
        """Whether every settlement was said and confirmed."""
        return not self.dirty and not any(consumer.unconfirmed for consumer in self._all.values())

    # Asked by the application ----------------------------------------------------------------------------------
    def add(self, turn: Turn, consumer: MailReader) -> None:
        """Attach as soon as a broker can be asked."""
        self._all[consumer.number] = consumer
        self._errands.start(turn, consumer)

    def take(self, consumer: MailReader, limit: int, make: Make[Shown], whose: object, *, accept: bool) -> list[Shown]:
        """Hand out up to `limit` messages, oldest first; with `accept` they count as done at once."""
        shown, queue = list[Shown](), consumer.queue
        if not queue and consumer.want():
            self.dirty[consumer.number] = consumer
        while queue and len(shown) < limit:
            lot = queue[0]
            taken = lot.take(limit - len(shown))
            self.trace.handed(Step.RECEIVED, lot, taken.start, taken.stop - 1)
            if lot.published is not None:
                self._marks.note(lot, lot.taken)
            shown.extend(map(make, repeat(lot), taken, repeat(whose)))
            if lot.taken == lot.count:
                queue.popleft()
            if accept:
                lot.low = lot.taken
                self._pass_on(self._all.get(lot.consumer, consumer), lot, len(taken))
            if lot.low < lot.count:
                consumer.held[lot.serial] = lot
        consumer.taken += len(shown)
        return shown

    def accept(self, lot: Lot, first: int, last: int) -> None:
        """The application is done with these messages of a lot it holds."""
        if first == lot.low and lot.done is None and lot.reserved is None:
            lot.low = last + 1  # what Lot.accept does for the usual case, without the call
        elif not lot.accept(first, last):
            return
        consumer = self._all.get(lot.consumer)
        if consumer is not None:
            if lot.low >= lot.count:
                consumer.front.held.pop(lot.serial, None)
            self._pass_on(consumer, lot, last - first + 1)

    def _pass_on(self, consumer: MailReader, lot: Lot, count: int) -> None:
        """So many more messages of a lot are accepted: somebody is to hear of it."""
        if not lot.dirty:
            lot.dirty = True
            consumer.dirty.append(lot)
        if lot.stream == _EXPRESS and not self.seen.keeping:
            self.late.note(consumer, count)
        else:
            self.dirty[consumer.number] = consumer

    def accept_through(self, lot: Lot, index: int) -> None:
        """The application is done with everything its consumer handed out up to this message."""
        consumer = self._all.get(lot.consumer)
        if consumer is None or lot.serial not in consumer.front.held:
            return
        for earlier in list(consumer.front.held.values()):
            if earlier is lot:
                self.accept(lot, lot.low, index)
                return
            self.accept(earlier, earlier.low, earlier.taken - 1)

    def give_back(self, lot: Lot, first: int, last: int) -> None:
        """The application does not want these messages; somebody else may get them."""
        consumer = self._all.get(lot.consumer)
        if consumer is None:
            return
        for start, stop in lot.give_back(first, last):
            self.trace.handed(Step.RETURNED, lot, start, stop)
            if not lot.stale:
                consumer.returns.append((lot.seq + start, lot.seq + stop))
            for number, alias in lot.take_aliases(start, stop):
                other = self._all.get(number)
                if other is not None:
                    other.returns.append((alias, alias))
                    self.dirty[number] = other
            self.dirty[consumer.number] = consumer
        if not lot.dirty:
            self._release(consumer, lot)

    def conclude(self, lot: Lot, index: int, *, committed: bool) -> None:
        """A transaction that had reserved this message has ended; the owner already knows."""
        lot.conclude(index, committed=committed)
        consumer = self._all.get(lot.consumer)
        if committed and lot.seen is not None:
            self.trace.handed(Step.SETTLED, lot, index, index)
            self.seen.accept(lot.seen, lot.first + index, lot.first + index)
            self._settle_aliases(lot, index, index)  # those that came after the transaction had left
        if consumer is not None and not lot.dirty:
            self._release(consumer, lot)

    def close(self, consumer: MailReader) -> None:
        """No more deliveries; what is unsettled goes to others once our settlements have arrived."""
        if consumer.closing or consumer.number not in self._all:
            return
        consumer.closing = True
        self.dirty[consumer.number] = consumer
        if consumer.twin is not None:
            self.close(consumer.twin)

    def leave(self, turn: Turn) -> None:
        """The session ends on purpose: what is unsettled goes to others at once, and nothing has killed us."""
        for consumer in self._all.values():
            if consumer.attached_on is not None and consumer.attached_on.up:
                turn.send(consumer.attached_on.conn, Detach(consumer.mailbox, consumer.number))

    # What happened ---------------------------------------------------------------------------------------------
    def on_attached(self, turn: Turn, link: Uplink, consumer: MailReader, mailbox: str) -> bool:
        """A broker serves a consumer; whether that is where it belongs.

        A broker can first send us elsewhere and serve us after all, when it takes the mailbox over in between. Whoever
        serves us and is not wanted must know, or it would keep what it delivers for ever.
        """
        if consumer.mailbox != mailbox:
            return False
        if consumer.link is not link:
            if consumer.answered or consumer.closing:
                turn.send(link.conn, Detach(mailbox, consumer.number))
                return False
            self._errands.adopt(consumer, link)
            consumer.attached_on = link
        self._become_attached(turn, consumer, link)
        return True

    def refuse(self, consumer: MailReader, error: CausewayError | None) -> None:
        """Its owner will not serve it (any more). What is queued may still be read; nobody is told of it."""
        consumer.error = error
        consumer.answered = False
        consumer.link = consumer.attached_on = None
        consumer.unconfirmed.clear()
        self._forget(consumer)

    def let_go(self, mailbox: str) -> list[MailReader]:
        """A mailbox has ended: readers that only wait for their settlements to be confirmed there have none; these."""
        closing = [one for one in self._all.values() if one.mailbox == mailbox and one.closing]
        for consumer in closing:
            self.refuse(consumer, None)
        return closing

    def _become_attached(self, turn: Turn, consumer: MailReader, link: Uplink) -> None:
        """Served here: before anything else, settle again what was not confirmed."""
        self._errands.on_answered(consumer)
        spans = consumer.unconfirmed.spans()
        if spans:
            consumer.say_settled(turn, link, spans)
            self._errands.deadlines.set(consumer.number, turn.now + self._config.repeat_after)

    def on_deliver(self, turn: Turn, link: Uplink, head: Deliver, body: bytes) -> None:
        """New messages go to the queue; accepted ones are settled again; those in hand learn their new number."""
        consumer = self._all.get(head.consumer)
        if consumer is None or consumer.link is not link or consumer.mailbox != head.mailbox:
            turn.send(link.conn, Detach(head.mailbox, head.consumer))
            return
        if consumer.closing or not consumer.answered:
            return  # about to be detached; or of an attachment that we had ended, and all of it will come again
        if not bodies.check(body, head.count):
            raise RemoteProtocolError(Code.BAD_FRAME, "a delivered batch does not match its length table")
        doubled = consumer.partner is not None and is_doubled(head)
        mailbox = consumer.front.mailbox if doubled else head.mailbox
        key = doubled_key(head) if doubled else (head.source, head.incarnation, head.stream)
        seen = self.seen.find(mailbox, key, doubled=doubled)
        lot = Lot.delivered(self._next_serial(), head, body, seen)
        for part in runs_of(lot, self._next_serial) if doubled else (lot,):
            self._admit(consumer, seen, part)

    def _admit(self, consumer: MailReader, seen: SeenStream, lot: Lot) -> None:
        late = overtaken(seen, lot, twin=consumer.front is not consumer) if lot.doubled else 0
        if lot.first > seen.high:
            seen.high = lot.first + lot.count - 1
            self._enqueue(consumer, lot)
            return
        self._collect_express()
        for first, last in self._sift(consumer, seen, lot):
            if first <= late:
                self._skip(consumer, lot, first, min(last, late))
                first = late + 1
            if first > last:
                continue
            whole = last - first + 1 == lot.count
            self._enqueue(consumer, lot if whole else lot.part(self._next_serial(), first, last))

    def _skip(self, consumer: MailReader, lot: Lot, first: int, last: int) -> None:
        """These ids come too late to be shown."""
        consumer.settles.append((lot.seq + first - lot.first, lot.seq + last - lot.first))
        self.dirty[consumer.number] = consumer

    def _next_serial(self) -> int:
        self._serial += 1
        return self._serial

    def on_settled(self, link: Uplink, head: Settled) -> None:
        """Those messages will not come again."""
        consumer = self._all.get(head.consumer)
        if consumer is not None and consumer.mailbox == head.mailbox:
            for first, last in (*head.spans, *head.dead):
                consumer.unconfirmed.remove(first, last)
            consumer.dead.merge(head.dead, SPANS_PER_FRAME_MAX)
            if not consumer.unconfirmed:
                self._errands.deadlines.cancel(consumer.number)
                if consumer.closing:
                    self.dirty[consumer.number] = consumer

    def collect(self) -> list[tuple[MailReader, list[Span]]]:
        """Record what the application accepted since last time; what each consumer must settle for it."""
        # What one of them accepted may be settled by another one too, which then has its say in this turn as well.
        while collected := [consumer for consumer in self.dirty.values() if consumer.dirty]:
            for consumer in collected:
                lots, consumer.dirty = consumer.dirty, []
                for lot in lots:
                    self._collect_lot(consumer, lot)
        found: list[tuple[MailReader, list[Span]]] = []
        for consumer in self.dirty.values():
            if consumer.settles:
                found.append((consumer, merged(consumer.settles)))
                consumer.settles.clear()
        return found

    def hear_late(self, now: Instant) -> None:
        """Let those speak whose express settlements have waited long enough."""
        for consumer in self.late.pressing(now):
            if consumer.number in self._all:
                self.dirty[consumer.number] = consumer

    def _collect_express(self) -> None:
        """Something came again: before judging it, record what was accepted and not looked at yet."""
        for consumer in self._all.values():
            express = [lot for lot in consumer.dirty if lot.stream == _EXPRESS]
            consumer.dirty = [lot for lot in consumer.dirty if lot.stream != _EXPRESS]
            for lot in express:
                self._collect_lot(consumer, lot)

    def settle(self, turn: Turn, consumer: MailReader, spans: list[Span]) -> None:
        """Tell the owner (now or after the next attach); remember until it confirms. Express is said at most once."""
        for first, last in spans:
            if first < VOLATILE_FROM:
                consumer.unconfirmed.add(first, last)
        if consumer.answered and consumer.link is not None:
            consumer.say_settled(turn, consumer.link, spans)
            if consumer.unconfirmed:
                self._errands.deadlines.set_if_unset(consumer.number, turn.now + self._config.repeat_after)

    def finish_turn(self, turn: Turn, awaiting: dict[int, None]) -> None:
        """Say what was given back; let consumers end whose settlements are through (`awaiting`: not yet said)."""
        closing: list[MailReader] = []
        for consumer in self.dirty.values():
            self.late.said(consumer)
            if consumer.late:
                if consumer.link is not None:
                    consumer.say_settled(turn, consumer.link, merged(consumer.late))
                consumer.late.clear()
            consumer.say_returned(turn)
            if consumer.wanting:
                consumer.widen(turn)
            if consumer.closing:
                closing.append(consumer)
        self.dirty = {}
        for consumer in closing:
            waits = consumer.twin is not None and consumer.twin.number in self._all
            if consumer.number in awaiting or consumer.unconfirmed or waits:
                self.dirty[consumer.number] = consumer
            else:
                self._remove(turn, consumer)

    # Inside ----------------------------------------------------------------------------------------------------
    def _enqueue(self, consumer: MailReader, lot: Lot) -> None:
        assert lot.seen is not None
        lot.seen.lots[lot.serial] = lot
        consumer.front.queue.append(lot)
        self.arrived[consumer.front] = None

    def _sift(self, consumer: MailReader, seen: SeenStream, came: Lot) -> list[Span]:
        """The ids of a delivery that the application has neither accepted nor in hand."""
        first, last = came.first, came.first + came.count - 1
        offset = came.seq - came.first
        unknown = seen.accepted.missing(first, last)
        for start, stop in IdSet(unknown).missing(first, last):
            consumer.settles.append((start + offset, stop + offset))
            self.dirty[consumer.number] = consumer
        fresh = IdSet(unknown)
        for lot in seen.lots.values():
            low, high = max(first, lot.first), min(last, lot.first + lot.count - 1)
            for number in range(low, high + 1):
                index = number - lot.first
                if number in fresh and lot.is_open(index):
                    fresh.remove(number, number)
                    same = lot.seq + index == number + offset and lot.consumer == consumer.number
                    if lot.stale or not same:
                        lot.alias(index, consumer.number, number + offset)
        seen.high = max(seen.high, last)
        return fresh.spans()

    def _collect_lot(self, consumer: MailReader, lot: Lot) -> None:
        lot.dirty = False
        assert lot.seen is not None
        for start, stop in lot.fresh_spans():
            self.trace.handed(Step.SETTLED, lot, start, stop)
            self.seen.accept(lot.seen, lot.first + start, lot.first + stop)
            if not lot.stale:
                express = lot.stream == _EXPRESS
                (consumer.late if express else consumer.settles).append((lot.seq + start, lot.seq + stop))
            self._settle_aliases(lot, start, stop)
        self._release(consumer, lot)

    def _settle_aliases(self, lot: Lot, first: int, last: int) -> None:
        for number, alias in lot.take_aliases(first, last):
            other = self._all.get(number)
            if other is not None:
                other.settles.append((alias, alias))
                self.dirty.setdefault(number, other)

    def _release(self, consumer: MailReader, lot: Lot) -> None:
        if lot.finished:
            consumer.front.held.pop(lot.serial, None)
            if lot.seen is not None:
                lot.seen.lots.pop(lot.serial, None)

    def _remove(self, turn: Turn, consumer: MailReader) -> None:
        if consumer.attached_on is not None:
            turn.send(consumer.attached_on.conn, Detach(consumer.mailbox, consumer.number))
        self._forget(consumer)
        consumer.queue.clear()
        mailbox = consumer.mailbox
        if consumer.ends and not any(other.mailbox == mailbox for other in self._all.values()):
            self.ended.append(mailbox)
            self.seen.forget_mailbox(mailbox)

    def _forget(self, consumer: MailReader) -> None:
        for lot in (*consumer.queue, *consumer.held.values()):
            if lot.seen is not None:
                lot.seen.lots.pop(lot.serial, None)
        consumer.held.clear()
        self._all.pop(consumer.number, None)
        self.dirty.pop(consumer.number, None)
        self._errands.drop(consumer)
