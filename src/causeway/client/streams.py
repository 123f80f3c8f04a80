"""The sending side of a session: the window, resending in order, refusals and time limits.

Owns: every message from `append` until it is acknowledged or has failed. Ids of a stream rise; what is given up leaves
a gap that later batches step over with `follows`. Stimuli: the application's sends, answers of brokers, the home link
coming and going, and time.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from causeway.client.arguments import code_of
from causeway.client.batches import Lane, SentBatch, SentStream, Ticket
from causeway.client.causal_stream import CausalStream, causal_of
from causeway.client.fates import Fates, lateness
from causeway.client.links import Uplink
from causeway.client.message import check_size, to_bytes, with_headers
from causeway.client.numbering import Numbering
from causeway.client.settings import SessionConfig
from causeway.client.ways import WayLinks
from causeway.core.deadlines import Alarm
from causeway.core.machine import Turn
from causeway.core.messages import Accepted, Confirmed, Deposit, Rejected, Resend
from causeway.errors import RETRIABLE_CODES, CausewayError, Code, OutcomeUnknown, Refused
from causeway.limits import (
    BATCH_BYTES_MAX,
    BATCH_COUNT_MAX,
    LANES_MAX,
    RESENT_AT_ONCE_MAX,
)
from causeway.topics import other_way
from causeway.types import MILLISECOND, Duration, Flag, ServiceClass
from causeway.wire import body as bodies
from causeway.wire.headers import Headers

RESEND_PAUSE: Duration = 50 * MILLISECOND
"""An owner that misses a batch says so for each later one; beginning again once per this time is enough."""

REFUSED_ON_ITS_WAY = "the mailbox did not take it; what was sent after it in causal order goes on"

SMALL_BYTES = 4096
UNCOUNTED_MAX = 128
"""Up to so many messages of up to so many bytes join a batch between two looks at the window."""

_FULL_BYTES = BATCH_BYTES_MAX - SMALL_BYTES * UNCOUNTED_MAX
_ANSWERED = int(Flag.RELIABLE)
_EXPRESS = int(ServiceClass.EXPRESS)


class Streams:
    """Everything sent and not yet resolved."""

    def __init__(self, config: SessionConfig, fates: Fates, *, alarm: Alarm | None = None) -> None:
        self.numbering = Numbering(config.name, alarm)
        self._config = config
        self._window_count, self._window_bytes = config.window_messages, config.window_bytes
        self._sealed: list[SentBatch] = []
        """Full before their turn ended."""
        self.gathered: list[SentStream] = []
        """Sent to since the last turn."""
        self._link: Uplink | None = None
        self._ways: WayLinks = (None, None)
        self.critical = False
        """Whether there are critical topics, and what they use."""
        self._fates = fates
        self.causal = CausalStream(self.numbering, fates, self._close_gap)
        self.make_ticket: Callable[[SentBatch, int], Ticket] = Ticket
        self.handler: object = None
        """Both the driver's: what `append` returns, and what its batches carry."""
        self.starved = False
        """A send was refused for lack of room."""
        self.keeping = False
        """Batches wait for our own disk before they leave."""
        self.unkept: list[SentBatch] = []
        """Sealed this turn, or changed, to be put on disk."""

    # Asked by the application ----------------------------------------------------------------------------------
    def lane(
        self, dest: str, service: ServiceClass, flags: int, priority: int, *, ttl: Duration, timeout: Duration | None
    ) -> Lane:
        """Where and how to send, as the session has checked it."""
        if service >= ServiceClass.TRANSACTIONAL:
            flags |= _ANSWERED
        if len(self.numbering.lanes) >= LANES_MAX:
            self.numbering.lanes.clear()
        limit = self._config.timeout if timeout is None else timeout
        return Lane(self.numbering.stream(dest, service), flags, priority, ttl=ttl, timeout=limit)

    def double(self, lane: Lane) -> None:
        """The lane is of a critical topic: copies of its batches go by way 1."""
        second = other_way(lane.stream.dest)
        assert second is not None
        lane.copy = lane.second(self.numbering.stream(second, lane.stream.service))
        self.critical = True

    def append(self, lane: Lane, body: object, headers: Headers | None = None) -> Ticket:
        """Send one message with this turn's batch. Raises Refused(OVERLOADED) when the window is full."""
        data = body if type(body) is bytes else to_bytes(body)
        if lane.headed:
            data = with_headers({} if headers is None else headers, data)
        batch = lane.open
        if batch is None or len(data) > SMALL_BYTES or len(batch.bodies) >= batch.limit:
            batch = self._make_room(lane, data)
        messages = batch.bodies
        index = len(messages)
        messages.append(data)
        return self.make_ticket(batch, index)

    def _make_room(self, lane: Lane, data: bytes) -> SentBatch:
        """The batch for the next messages: so the window and the bounds of a batch cost nothing for most of them."""
        fates = self._fates
        batch = lane.open
        if batch is not None:
            fates.count_in(batch)
        room = self._window_count - fates.count
        if room <= 0 or fates.bytes >= self._window_bytes:
            self.starved = True
            raise fates.no_room()
        size = len(data)
        if size > BATCH_BYTES_MAX:
            check_size(data)
        if batch is None or batch.size + size > _FULL_BYTES or len(batch.bodies) >= BATCH_COUNT_MAX:
            batch = self._open(lane)
        batch.limit = min(BATCH_COUNT_MAX, len(batch.bodies) + min(room, UNCOUNTED_MAX))
        return batch

    def _open(self, lane: Lane) -> SentBatch:
        stream = lane.stream
        if stream.open is not None:
            self._seal(stream)
        batch = stream.open = lane.open = SentBatch(lane, self.numbering.source, self.handler)
        self.gathered.append(stream)
        return batch

    def _seal(self, stream: SentStream) -> None:
        batch = stream.open
        assert batch is not None
        self._fates.count_in(batch)
        stream.open = batch.lane.open = None
        messages = batch.bodies
        batch.count = len(messages)
        batch.first = stream.next_id
        stream.next_id += batch.count
        batch.body = bodies.join(messages)
        batch.bodies = []
        self.causal.mark(batch)
        self._fates.trace.sent(batch)
        self._sealed.append(batch)
        for copy in batch.copies():
            self._fates.take_copy(copy)
            self._sealed.append(copy)

    # Turns -----------------------------------------------------------------------------------------------------
    def flush(self, turn: Turn) -> None:
        """Number what was gathered and send it, unless something holds it back."""
        for stream in self.gathered:
            if stream.open is not None:
                self._seal(stream)
        self.gathered.clear()
        sealed, self._sealed = self._sealed, []
        for batch in sealed:
            self._launch(turn, batch)

    def _launch(self, turn: Turn, batch: SentBatch) -> None:
        lane, stream = batch.lane, batch.lane.stream
        link = self._link if stream.way is None else self._ways[stream.way]
        loose = not lane.flags & _ANSWERED
        if lane.ttl:
            batch.dies = turn.now + lane.ttl
        if lane.delay:
            batch.due = turn.now + lane.delay
        if loose and link is not None and not link.clogged and not stream.loose:
            self._transmit(turn, link, batch, 0)
            self._fates.sent_off(batch)
            return
        self._fates.limit(batch, turn.now)
        if loose:
            stream.loose.append(batch)
            self.numbering.lag(stream)
            return
        previous = next(reversed(stream.waiting), 0)
        stream.waiting[batch.first] = batch
        if self.keeping and stream.service != _EXPRESS:
            batch.durable = False
            if batch.original is None:
                self.unkept.append(batch)
        if link is None or link.clogged or stream.paused or stream.lagging or not batch.durable:
            self.numbering.lag(stream)
            return
        follows = stream.waiting[previous].last if previous else 0
        self._transmit(turn, link, batch, follows)

    # Links -----------------------------------------------------------------------------------------------------
    def on_home(self, turn: Turn, link: Uplink | None) -> None:
        """Sends go through another link from now on (None: through nobody): begin again with what is unanswered."""
        self._link = link
        for stream in self.numbering.streams.values():
            if stream.waiting or stream.loose:
                self.numbering.lag(stream)
        self.catch_up(turn)

    def on_ways(self, turn: Turn, ways: WayLinks) -> None:
        """Critical topics use other links from now on."""
        if ways != self._ways:
            self._ways = ways
            for stream in self.numbering.streams.values():
                if stream.way is not None and (stream.waiting or stream.loose):
                    self.numbering.lag(stream)

    def catch_up(self, turn: Turn) -> None:
        """Send what was held back."""
        if not self.critical and (self._link is None or self._link.clogged):
            return
        numbering = self.numbering
        lagging, numbering.lagging = numbering.lagging, {}
        for stream in lagging:
            link = self._link if stream.way is None else self._ways[stream.way]
            if link is None or link.clogged:
                numbering.lag(stream)
                continue
            stream.lagging = False
            self._send_loose(turn, link, stream)
            self._send_waiting(turn, link, stream)

    def release(self, turn: Turn, batch: SentBatch) -> None:
        """The batch is on our own disk."""
        for one in (batch, batch.copy):
            if one is not None:
                one.durable = True
                if not one.resolved:
                    self.numbering.lag(one.lane.stream)

    def _send_loose(self, turn: Turn, link: Uplink, stream: SentStream) -> None:
        for batch in stream.loose:
            if not batch.resolved and self._transmit(turn, link, batch, 0):
                self._fates.sent_off(batch)
        stream.loose = []

    def _send_waiting(self, turn: Turn, link: Uplink, stream: SentStream) -> None:
        """Whatever was not sent on this link, in order; nothing overtakes a batch that is not durable yet."""
        if stream.paused:
            return
        follows = 0
        for batch in stream.waiting.values():
            if not batch.durable and stream.ordered:
                break
            if batch.durable and batch.sent != link.conn:
                if not self._transmit(turn, link, batch, follows):
                    continue  # nobody may wait for it
            follows = batch.last

    def _transmit(self, turn: Turn, link: Uplink, batch: SentBatch, follows: int) -> bool:
        lane = batch.lane
        stream = lane.stream
        left = batch.dies - turn.now if batch.dies else 0
        if batch.dies and left <= 0:
            return False  # its deadline is due in this very turn; a time to live of 0 would mean for ever
        batch.sent = link.conn
        batch.sent_at = turn.now
        source, incarnation = self.numbering.source
        how = (lane.flags, lane.priority, left, b"", lane.published, max(0, batch.due - turn.now), causal_of(batch))
        head = Deposit(source, incarnation, stream.dest, stream.service, batch.first, batch.count, follows, *how)
        turn.send(link.conn, head, batch.body)
        if lane.silent and not batch.left:
            self._fates.leave(batch)
        return True

    # Answers ---------------------------------------------------------------------------------------------------
    def on_accepted(self, head: Accepted) -> None:
        """Acknowledged: typically one or several whole batches."""
        stream = self.numbering.stream_of(head)
        if stream is None:
            return
        stream.backoff = 0
        stream.refusal = None
        error = Refused(code_of(head.refused, Code.UNAVAILABLE), REFUSED_ON_ITS_WAY) if head.refused else None
        for batch in stream.answered(head.first, head.last):
            self._fates.settle(batch, head.first, head.last, error, delivered=head.delivered)
            if batch.original is not None:
                self._fates.copied(batch, unwanted=head.unwanted)

    def on_confirmed(self, head: Confirmed) -> None:
        """The application settled them."""
        stream = self.numbering.stream_of(head)
        if stream is not None:
            self._fates.confirm(stream, head.first, head.last)

    def on_rejected(self, turn: Turn, head: Rejected) -> None:
        """Refused: for good, or for now."""
        stream = self.numbering.stream_of(head)
        if stream is None:
            return
        batches = stream.answered(head.first, head.last)
        if not batches:
            return
        error = Refused(code_of(head.code, Code.UNAVAILABLE), head.detail)
        if head.code not in RETRIABLE_CODES:
            late = OutcomeUnknown(head.detail, Code.EXPIRED) if error.code == Code.EXPIRED else None
            for batch in batches:
                self._fates.settle(batch, head.first, head.last, late or error)
            self._close_gap(batches)
            return
        stream.refusal = error
        start = batches[0].first
        for first, batch in stream.waiting.items():
            if first >= start and (stream.ordered or batch in batches):
                batch.sent = 0
        if not stream.paused:
            stream.paused = True
            config = self._config
            stream.backoff = min(config.retry_max, max(config.retry_min, 2 * stream.backoff))
            self.numbering.retries.set((stream.dest, stream.service), turn.now + stream.backoff)

    def on_resend(self, turn: Turn, head: Resend) -> None:
        """The owner misses something: begin again after the id it names."""
        stream = self.numbering.stream_of(head)
        if stream is None:
            return
        after, at = stream.resent
        if after == head.after and turn.now - at < RESEND_PAUSE:
            return
        stream.resent = (head.after, turn.now)
        for batch in stream.waiting.values():
            if batch.last > head.after:
                batch.sent = 0
        self.numbering.lag(stream)

    # Ends ------------------------------------------------------------------------------------------------------
    def _close_gap(self, given_up: list[SentBatch]) -> None:
        """Ids were given up: batches behind them must say again what they follow, or the owner waits for ever. What the
        first of them must come after is what those should have come after."""
        stream = given_up[0].lane.stream
        if not stream.ordered:
            return
        behind = [batch for batch in stream.waiting.values() if batch.first > given_up[0].first]
        for batch in behind:
            batch.sent = 0
        behind += [batch for batch in self._sealed if batch.lane.stream is stream]  # sent, and not in a turn yet
        heir = behind[0] if behind else None
        self.causal.bequeath(given_up, heir)
        if self.keeping and heir is not None and heir.first in stream.waiting and any(one.after for one in given_up):
            self.unkept.append(heir)  # its next life must know too
        self.numbering.lag(stream)

    def uncounted(self) -> int:
        """Messages in open batches that the window does not know of yet."""
        return sum(len(s.open.bodies) - s.open.counted for s in dict.fromkeys(self.gathered) if s.open is not None)

    def unresolved(self) -> list[SentBatch]:
        """Every batch whose fate is open."""
        found = [*self._sealed]
        for stream in self.numbering.streams.values():
            found += [*stream.waiting.values(), *stream.loose, *([stream.open] if stream.open else ())]
        return [batch for batch in found if not batch.resolved]

    def fail_all(self, error: CausewayError) -> None:
        """The session is over."""
        for stream in self.numbering.streams.values():
            if stream.open is not None:
                self._seal(stream)
        for batch in self.unresolved():
            self._fates.settle(batch, batch.first, batch.last, error)
        self._sealed.clear()
        self.gathered.clear()

    # Time ------------------------------------------------------------------------------------------------------
    def on_deadlines(self, turn: Turn) -> None:
        """Give up what took too long; try again what was refused."""
        for batch in self._fates.late(turn.now):
            if batch.copy is not None and batch.lane.flags & _ANSWERED and not 0 < batch.dies <= turn.now:
                self._fates.excuse(batch, lateness(batch, turn.now))
                continue
            self._fates.settle(batch, batch.first, batch.last, lateness(batch, turn.now))
            self._close_gap([batch])
        for key in self.numbering.retries.pop_due(turn.now):
            stream = self.numbering.streams[key]
            stream.paused = False
            self.numbering.lag(stream)

    def repeat_silent(self, turn: Turn, older_than: Duration) -> None:
        """Send again what a living broker did not answer for long: an answer may have been lost on its way.

        Only the oldest: if they are merely slow, so is everything behind them, and saying it all again helps nobody.
        """
        for stream in self.numbering.streams.values() if self._link is not None else ():
            for batch in islice(stream.waiting.values(), RESENT_AT_ONCE_MAX):
                if batch.sent and turn.now - batch.sent_at >= older_than:
                    batch.sent = 0
                    self.numbering.lag(stream)

    def restore(self, batch: SentBatch) -> None:
        """A batch that an earlier life left unanswered: sent again, with no limit but its time to live."""
        lane = batch.lane
        if lane.causal is None and other_way(lane.stream.dest) is not None:
            self.double(lane)
            assert lane.copy is not None
            batch.by_second_way(lane.copy)
        for one in (batch, batch.copy):
            if one is not None:
                one.lane.stream.waiting[one.first] = one
                self._fates.take_over(one)
                self.numbering.lag(one.lane.stream)
