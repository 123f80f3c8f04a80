"""The source's side: a copy of every batch an application sent through this broker, until it is acknowledged.

Owns: the copies, their order per stream, and when to send them again (PBM section 2.3: the source broker keeps a copy).
Must not know: who owns a mailbox (the courier does), what an acknowledgement means.
Stimuli: batches of our clients, answers of owners, lost links, time.
"""

from __future__ import annotations

from itertools import islice

import msgspec

from causeway.config import BrokerConfig
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.effects import Pause
from causeway.core.machine import Turn
from causeway.core.mail.copies import Copy, Stream, StreamId
from causeway.core.mail.faults import deposit_fault, spans_fault
from causeway.core.mail.replies import rejected
from causeway.core.mail.tracer import Tracer
from causeway.core.messages import Accepted, Deposit, Rejected, Resend
from causeway.core.ports import Courier
from causeway.errors import RETRIABLE_CODES, Code
from causeway.limits import (
    BURIALS_BYTES_MAX,
    BURIALS_PER_MAILBOX_BYTES_MAX,
    DETAIL_CHARS_MAX,
    ITEM_OVERHEAD_BYTES,
    OUTBOX_BYTES_PER_CLIENT_MAX,
    RESENT_AT_ONCE_MAX,
    STREAM_BATCHES_MAX,
    STREAMS_PER_CLIENT_MAX,
)
from causeway.trace import Step
from causeway.types import Duration, Flag, Instant, ServiceClass

SOON = frozenset({Code.NOT_OWNER, Code.NOT_READY, Code.OVERLOADED, Code.MAILBOX_FULL, Code.UNAVAILABLE})
"""Refusals the source broker waits out itself; others are the application's to hear."""

RELIABLE = int(Flag.RELIABLE)
END_TO_END_FACTOR = 5
"""So much longer than others a batch in causal order waits for an answer; a broker that dies is noticed at once."""

ANSWER_TIMES = 4
"""A batch is sent again when it has waited for so many times as long as answers take now: owners that are merely busy
must not be given everything twice."""
WAIT_FACTOR = 8
"""However slow answers are, no batch waits longer than so many times the setting `retry`."""

BURIED = 0
FORWARDED = -1
"""In place of a connection, for what this broker sends itself: dead letters, and what items forward."""


class Outbox:
    """All streams that enter the network here."""

    def __init__(
        self, config: BrokerConfig, me: bytes, name: str, courier: Courier, *, alarm: Alarm | None = None
    ) -> None:
        self._config = config
        self._me = me
        self._tracer = Tracer(name)
        self._courier = courier
        self._streams: dict[StreamId, Stream] = {}
        self._by_conn: dict[int, dict[StreamId, None]] = {}
        self.bytes: dict[int, int] = {}
        self._forwards: dict[tuple[str, str], dict[StreamId, None]] = {}
        """What items forward, by item and subscription."""
        self._paused: dict[int, None] = {}
        self._deadlines: Deadlines[StreamId] = Deadlines(alarm)
        self._burials: dict[str, int] = {}
        """Bytes of dead letters on their way, by the mailbox they come from."""
        self.burials_ended = False
        """Whether a dead letter has arrived, so that there may be room again; for `Burials` to clear."""
        self.lapsed: list[Deposit] = []
        """Forwarded batches that outlived their time on the way; for the items to clear."""
        self.taken = self.messages = 0
        self._answer_time: Duration = 0
        """How long answers take, smoothed."""

    # From clients ----------------------------------------------------------------------------------------------
    def take(self, turn: Turn, conn: int, head: Deposit, body: bytes) -> None:
        """A batch from a client of ours: keep a copy if it wants an answer, and send it on its way."""
        fault = deposit_fault(head, body)
        if fault is not None:
            turn.send(conn, rejected(head, Code.BAD_FIELD, fault))
            return
        self.taken += 1
        self.messages += head.count
        head = msgspec.structs.replace(head, origin=self._me)
        self._tracer.deposit(turn, Step.SENT, head, size=len(body))
        if head.flags & RELIABLE or head.stream == ServiceClass.TRANSACTIONAL:
            self._keep(turn, conn, head, body)
        else:
            self._courier.post(turn, head.dest, head, body)

    def _keep(self, turn: Turn, conn: int, head: Deposit, body: bytes) -> None:
        """Hold a copy, and send it as soon as the window allows."""
        key = (head.source, head.incarnation, head.dest, head.stream)
        stream = self._streams.get(key)
        if stream is None or stream.conn != conn:
            if stream is not None:
                self._drop(turn, key, stream)
            if conn > 0 and not self._has_room(conn):
                detail = f"{STREAMS_PER_CLIENT_MAX} streams of this client wait for acknowledgements, its limit here"
                turn.send(conn, rejected(head, Code.OVERLOADED, detail))
                return
            if conn > 0 and head.follows and head.stream == ServiceClass.TRANSACTIONAL:
                # What comes before it was refused for want of room, and not answered otherwise: begin with that.
                turn.send(conn, Resend(*key, 0))
                return
            # What goes to a seat is answered when it has arrived at its end, several brokers further on.
            patience = self._config.retry * (END_TO_END_FACTOR if head.causal is not None else 1)
            stream = self._streams[key] = Stream(conn, patience=patience)
            self._by_conn.setdefault(conn, {})[key] = None
            if conn == FORWARDED:
                self._forwards.setdefault((head.source, head.dest), {})[key] = None
        stream.note(head)
        if head.first <= stream.newest:
            kept = stream.sent.get(head.first) or stream.queue.get(head.first)
            if kept is not None and head.follows < kept.head.follows:
                # What was between has been given up since: the owner must not wait for it.
                kept.head = msgspec.structs.replace(kept.head, follows=head.follows, causal=head.causal)
            if kept is not None or conn > 0:
                if kept is None:
                    self._courier.post(turn, head.dest, head, body)
                return  # the client sends again what it has not heard of: we are at it
            # Dead letters come as they die, not in the order of their numbers.
        late = head.causal is not None and head.first < stream.newest
        stream.newest = max(stream.newest, head.first)
        if head.first <= stream.dropped:
            stream.dropped = 0
        copy = Copy(head, body, turn.now + head.ttl if head.ttl else 0, turn.now + head.delay if head.delay else 0)
        if head.causal is not None and head.causal.ttl:
            copy.fades = turn.now + head.causal.ttl
        copy.at = turn.now
        cost = len(body) + ITEM_OVERHEAD_BYTES
        held = self.bytes[conn] = self.bytes.get(conn, 0) + cost
        if conn == BURIED:
            self._burials[head.source] = self._burials.get(head.source, 0) + cost
        if held > OUTBOX_BYTES_PER_CLIENT_MAX and conn > 0 and conn not in self._paused:
            self._paused[conn] = None
            turn.effects.pauses.append(Pause(conn, True))
        self._deadlines.set_if_unset(key, turn.now + self._patience(stream))
        if late:
            # A seat that was taken over got its bodies in any order: the window may be full of what waits for this one.
            stream.sent = dict(sorted([*stream.sent.items(), (head.first, copy)]))
            self._courier.post(turn, head.dest, head, body)
        elif stream.queue or len(stream.sent) >= STREAM_BATCHES_MAX:
            stream.queue[head.first] = copy
        else:
            stream.sent[head.first] = copy
            self._courier.post(turn, head.dest, head, body)

    def holds(self, head: Deposit) -> bool:
        """Whether a copy of this batch is on its way."""
        stream = self._streams.get((head.source, head.incarnation, head.dest, head.stream))
        return stream is not None and (head.first in stream.sent or head.first in stream.queue)

    def can_bury(self, mailbox: str) -> bool:
        """Whether there is room for dead letters of this mailbox; one batch may go beyond the bounds."""
        mine = self._burials.get(mailbox, 0)
        return mine < BURIALS_PER_MAILBOX_BYTES_MAX and self.bytes.get(BURIED, 0) < BURIALS_BYTES_MAX

    def bury(self, turn: Turn, head: Deposit, body: bytes) -> None:
        """A batch of this broker itself: dead letters, if `can_bury`."""
        head = msgspec.structs.replace(head, origin=self._me)
        self._tracer.deposit(turn, Step.SENT, head, "dead letters", size=len(body))
        self._keep(turn, BURIED, head, body)

    def forward(self, turn: Turn, head: Deposit, body: bytes) -> None:
        """A batch of an item of this broker, for a subscription; items bound how many bytes are on their way."""
        if head.flags & RELIABLE and not self._is_late_express(head):
            self._keep(turn, FORWARDED, head, body)
        else:
            self._courier.post(turn, head.dest, head, body)

    def _is_late_express(self, head: Deposit) -> bool:
        """Whether a window of express messages waits for answers: nobody bounds how many come, so others go once."""
        if head.stream != ServiceClass.EXPRESS:
            return False
        stream = self._streams.get((head.source, head.incarnation, head.dest, head.stream))
        return stream is not None and len(stream.sent) >= STREAM_BATCHES_MAX

    def forget_forwards(self, turn: Turn, item: str, mailbox: str, kind: int | None = None) -> None:
        """Nothing more (of this class) is to arrive there from this item."""
        for key in [key for key in self._forwards.get((item, mailbox), ()) if kind in (None, key[3])]:
            self._drop(turn, key, self._streams[key])

    def on_client_gone(self, turn: Turn, conn: int) -> None:
        """Its copies go with it: the application sends what it has not heard of through another broker."""
        for key in list(self._by_conn.pop(conn, {})):
            stream = self._streams.get(key)
            if stream is not None and stream.conn == conn:
                self._drop(turn, key, stream)
        self.bytes.pop(conn, None)
        self._paused.pop(conn, None)

    # From owners -----------------------------------------------------------------------------------------------
    def on_accepted(self, turn: Turn, head: Accepted) -> int | None:
        """Forget the copies, tell the client; BURIED or FORWARDED when the batch was this broker's own."""
        key = (head.source, head.incarnation, head.dest, head.stream)
        stream = self._streams.get(key)
        if stream is None or spans_fault([(head.first, head.last)]) is not None:
            return None
        self._forget(turn, key, stream, head.first, head.last)
        if stream.conn > 0:
            turn.send(stream.conn, stream.told(head))
        elif stream.is_idle and stream.conn == FORWARDED:
            self._drop(turn, key, stream)
        return stream.conn

    def on_rejected(self, turn: Turn, head: Rejected) -> None:
        """Try again later, or hand the refusal to the application together with all that stood behind it."""
        key = (head.source, head.incarnation, head.dest, head.stream)
        stream = self._streams.get(key)
        if stream is None or head.first < 1:
            return
        code = Code.of(head.code)
        if stream.conn == FORWARDED and code not in RETRIABLE_CODES and code != Code.CLUSTER_FULL:
            # (A letter from a seat whose mailbox cannot begin now must not count as delivered.)
            self._give_up(turn, key, stream, head)
            return
        if code in SOON or stream.conn <= 0:
            stream.wait = min(max(stream.wait * 2, self._config.retry // 4), self._config.retry * WAIT_FACTOR)
            self._deadlines.set(key, turn.now + stream.wait)
            return
        held = [*stream.sent.values(), *stream.queue.values()]
        stream.sent = {c.head.first: c for c in stream.sent.values() if c.last < head.first}
        stream.queue.clear()
        for copy in held:
            if copy.last >= head.first:
                self._tracer.deposit(turn, Step.REFUSED, copy.head, code.name.lower())
                turn.send(stream.conn, rejected(copy.head, code, head.detail[:DETAIL_CHARS_MAX]))
                self._release(turn, stream.conn, copy)
        stream.dropped = min(head.first, stream.dropped or head.first)
        stream.newest = min(stream.newest, head.first - 1)
        if not stream.sent:
            self._deadlines.cancel(key)

    def _give_up(self, turn: Turn, key: StreamId, stream: Stream, head: Rejected) -> None:
        """A subscription will never take these: what comes behind them must not wait for ever."""
        for copy in [copy for copy in stream.sent.values() if head.first <= copy.head.first <= head.last]:
            del stream.sent[copy.head.first]
            self._tracer.deposit(turn, Step.REFUSED, copy.head, head.detail[:DETAIL_CHARS_MAX])
            self.lapsed.append(copy.head)
            self._release(turn, stream.conn, copy)
        self._refill(turn, stream)
        if not stream.sent:
            self._drop(turn, key, stream)

    def on_resend(self, turn: Turn, head: Resend) -> None:
        """The owner misses something."""
        key = (head.source, head.incarnation, head.dest, head.stream)
        stream = self._streams.get(key)
        if stream is None:
            return
        if stream.dropped and stream.conn > 0:
            turn.send(stream.conn, head)  # only the application has what is missing
        pause = self._config.retry // 8
        if stream.resent >= 0 and turn.now - stream.resent < pause:
            self._deadlines.set(key, stream.resent + pause)
        else:
            self._resend(turn, key, stream)

    def on_ways_changed(self, turn: Turn) -> None:
        """A broker died or a mailbox moved: do not wait for the timers."""
        for key, stream in self._streams.items():
            if stream.sent:
                stream.wait = 0
                self._deadlines.set(key, turn.now + self._config.retry // 8)

    # Time ------------------------------------------------------------------------------------------------------
    def next_deadline(self) -> Instant | None:
        return self._deadlines.next()

    def on_deadline(self, turn: Turn) -> None:
        """Send again what went unanswered."""
        for key in self._deadlines.pop_due(turn.now):
            stream = self._streams.get(key)
            if stream is not None and stream.sent:
                self._resend(turn, key, stream)

    def _resend(self, turn: Turn, key: StreamId, stream: Stream) -> None:
        stream.wait = min(max(stream.wait * 2, self._patience(stream)), self._config.retry * WAIT_FACTOR)
        self._deadlines.set(key, turn.now + stream.wait)
        stream.resent = turn.now
        for copy in [copy for copy in stream.sent.values() if 0 < copy.dies <= turn.now]:
            del stream.sent[copy.head.first]  # the others step over it
            self._end(turn, stream, copy)
        before = 0
        for copy in list(islice(stream.sent.values(), RESENT_AT_ONCE_MAX)):
            head = copy.head
            follows = before if before < head.first else 0
            if not before and stream.dropped and head.follows >= stream.dropped:
                follows = head.follows  # it was never acknowledged: the owner must not take this one first
            if follows != head.follows:
                head = copy.head = msgspec.structs.replace(head, follows=follows)
            before = copy.last
            self._post(turn, copy)
        self._repeat_behind(turn, stream)
        self._refill(turn, stream)
        if not stream.sent:
            self._deadlines.cancel(key)

    def _repeat_behind(self, turn: Turn, stream: Stream) -> None:
        """A new holder of a seat lacks all bodies, also behind what does not arrive: by and by it gets them."""
        oldest = next(iter(stream.sent.values()), None)
        if oldest is None or oldest.head.causal is None:
            return  # all of a stream go to a seat, or none
        behind = list(islice(stream.sent.values(), RESENT_AT_ONCE_MAX, None))
        for copy in ([copy for copy in behind if copy.head.first > stream.repeated] or behind)[:RESENT_AT_ONCE_MAX]:
            stream.repeated = copy.head.first
            self._post(turn, copy)

    def _end(self, turn: Turn, stream: Stream, copy: Copy) -> None:
        """A copy's time is over."""
        self._tracer.deposit(turn, Step.EXPIRED, copy.head, "on its way")
        if stream.conn > 0:
            detail = f"no acknowledgement from {copy.head.dest!r} within the message's time to live"
            turn.send(stream.conn, rejected(copy.head, Code.EXPIRED, detail))
        elif stream.conn == FORWARDED:
            self.lapsed.append(copy.head)
        self._release(turn, stream.conn, copy)

    def _post(self, turn: Turn, copy: Copy) -> None:
        """Send a copy that waited: its time to live did not stand still, nor did its delay."""
        head = copy.head
        if copy.dies:
            head = msgspec.structs.replace(head, ttl=copy.dies - turn.now)
        if copy.ripe:
            head = msgspec.structs.replace(head, delay=max(copy.ripe - turn.now, 0))
        if copy.fades and head.causal is not None:
            causal = msgspec.structs.replace(head.causal, ttl=max(1, copy.fades - turn.now))
            head = msgspec.structs.replace(head, causal=causal)
        self._courier.post(turn, head.dest, head, copy.body)

    def _refill(self, turn: Turn, stream: Stream) -> None:
        """Send what was behind the window, as far as it reaches now."""
        while stream.queue and len(stream.sent) < STREAM_BATCHES_MAX:
            copy = stream.queue.pop(next(iter(stream.queue)))
            if 0 < copy.dies <= turn.now:
                self._end(turn, stream, copy)
                continue
            stream.sent[copy.head.first] = copy
            copy.at = turn.now
            self._post(turn, copy)

    # Inside ----------------------------------------------------------------------------------------------------
    def _forget(self, turn: Turn, key: StreamId, stream: Stream, first: int, last: int) -> None:
        """An answer covers whole batches, one or several; what it covers in part stays until the rest is answered."""
        progress = False
        while first <= last:
            copy = stream.sent.get(first)
            if copy is None or copy.last > last:
                break
            if stream.conn > 0:
                self._tracer.deposit(turn, Step.ACKNOWLEDGED, copy.head, size=len(copy.body))
            del stream.sent[first]
            self._release(turn, stream.conn, copy)
            first = copy.last + 1
            progress = True
            self._answer_time += (turn.now - copy.at - self._answer_time) >> 3
        self._refill(turn, stream)
        if not stream.sent:
            self._deadlines.cancel(key)
        elif progress:
            stream.wait = 0
            self._deadlines.set(key, turn.now + self._patience(stream))

    def _patience(self, stream: Stream) -> Duration:
        """How long to wait for an answer before sending again, at first."""
        return max(stream.patience, min(ANSWER_TIMES * self._answer_time, self._config.retry * WAIT_FACTOR))

    def _release(self, turn: Turn, conn: int, copy: Copy) -> None:
        cost = len(copy.body) + ITEM_OVERHEAD_BYTES
        held = self.bytes[conn] = self.bytes.get(conn, 0) - cost
        if conn == BURIED:
            self.burials_ended = True
            left = self._burials.pop(copy.head.source, 0) - cost
            if left > 0:
                self._burials[copy.head.source] = left
        if conn in self._paused and held < OUTBOX_BYTES_PER_CLIENT_MAX // 2:
            del self._paused[conn]
            turn.effects.pauses.append(Pause(conn, False))

    def _drop(self, turn: Turn, key: StreamId, stream: Stream) -> None:
        for copy in (*stream.sent.values(), *stream.queue.values()):
            self._release(turn, stream.conn, copy)
        self._deadlines.cancel(key)
        del self._streams[key]
        self._by_conn.get(stream.conn, {}).pop(key, None)
        if stream.conn == FORWARDED:
            streams = self._forwards.get((key[0], key[2]), {})
            streams.pop(key, None)
            if not streams:
                self._forwards.pop((key[0], key[2]), None)

    def _has_room(self, conn: int) -> bool:
        """Whether one more stream may begin; at the bound, those that wait for nothing are forgotten first."""
        streams = self._by_conn.get(conn, {})
        full = len(streams) >= STREAMS_PER_CLIENT_MAX
        for key in [key for key in streams if full and self._streams[key].is_idle]:
            del streams[key], self._streams[key]
        return len(streams) < STREAMS_PER_CLIENT_MAX

    def statistics(self) -> dict[str, int]:
        """How much waits for an acknowledgement."""
        return {
            "streams": len(self._streams),
            "batches": sum(len(s.sent) + len(s.queue) for s in self._streams.values()),
            "bytes": sum(self.bytes.values()),
        }
