"""The publisher's side: a batch that nobody wants goes no further than the broker it was published to.

Owns: what this broker was told of the interest in items, and batches that wait for a first answer.
Must not know: subscriptions, who owns an item.
"""

from __future__ import annotations

from collections import deque

import msgspec

from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.machine import Turn
from causeway.core.mail.faults import deposit_fault, published_fault
from causeway.core.mail.outbox import Outbox
from causeway.core.mail.replies import rejected
from causeway.core.mail.tracer import Tracer
from causeway.core.messages import Accepted, AskInterest, Deposit, Summary, SummaryHeld
from causeway.core.ports import Courier
from causeway.core.topics.leases import LEASE
from causeway.errors import Code
from causeway.limits import ITEM_OVERHEAD_BYTES
from causeway.topics import TopicIndex, is_item, is_second_way, quiet
from causeway.topics.limits import PUBLISHING_BYTES_MAX, SUMMARY_PATTERNS_MAX
from causeway.trace import Step
from causeway.types import MILLISECOND, SECOND, Duration, Flag, Instant, ServiceClass

PATIENCE: Duration = 500 * MILLISECOND
"""A batch waits so long to hear whether anybody wants it; then it is sent anyway."""

REMEMBERED: Duration = 60 * SECOND
"""So long after a batch the interest in its item is asked for again and again, so that the next one need not wait."""

UNWANTED = "unwanted: nobody subscribes to it"
"""Why, in the trace, a batch is settled that nobody got."""

_RETAIN, _RELIABLE, _APART = int(Flag.RETAIN), int(Flag.RELIABLE), int(Flag.APART)
_ORDERED = int(ServiceClass.TRANSACTIONAL)

StreamId = tuple[str, int, int]
"""Source, incarnation, class."""


class KnownInterest:
    """What is known of the interest in one item."""

    __slots__ = ("asked", "epoch", "index", "passed", "until", "used", "version", "waiting")

    def __init__(self) -> None:
        self.epoch = 0
        self.version = -1
        self.index = TopicIndex()
        self.until: Instant = 0
        """So long we may go by it."""
        self.used: Instant = 0
        """When something was last published."""
        self.asked: Instant = -1
        """When we last asked, while there is no answer; -1 when nobody was asked."""
        self.waiting: deque[tuple[int, Deposit, bytes]] = deque()
        self.passed: dict[StreamId, int] = {}
        """Of ordered streams of which something was left out: the last id that was sent on."""


class Publishing:
    """Batches that clients of this broker publish."""

    def __init__(self, me: bytes, name: str, outbox: Outbox, courier: Courier, *, alarm: Alarm | None = None) -> None:
        self._me = me
        self._tracer = Tracer(name)
        self._outbox = outbox
        self._courier = courier
        self._known: dict[str, KnownInterest] = {}
        self._waiting_bytes = 0
        self._deadlines: Deadlines[str] = Deadlines(alarm)
        self.unwanted = 0
        """Batches that nobody wanted."""

    def publish(self, turn: Turn, conn: int, head: Deposit, body: bytes) -> None:
        """A client publishes: on to the item, if anybody may want it there."""
        fault = _fault(head)
        if fault is not None:
            turn.send(conn, rejected(head, Code.BAD_FIELD, fault))
            return
        known = self._known.get(head.dest)
        if known is None:
            known = self._known[head.dest] = KnownInterest()
        known.used = turn.now
        if turn.now >= known.until and not known.waiting and known.asked < 0:
            self._ask(turn, head.dest, known)
        if known.waiting or turn.now >= known.until:
            self._wait(turn, known, (conn, head, body))
            return
        self._decide(turn, known, conn, head, body)

    def _wait(self, turn: Turn, known: KnownInterest, entry: tuple[int, Deposit, bytes]) -> None:
        size = len(entry[2]) + ITEM_OVERHEAD_BYTES
        if self._waiting_bytes + size > PUBLISHING_BYTES_MAX:
            self._release(turn, known, wanted=True)
            self._send(turn, known, *entry)
            return
        self._waiting_bytes += size
        known.waiting.append(entry)

    def _ask(self, turn: Turn, item: str, known: KnownInterest) -> None:
        known.asked = turn.now
        self._deadlines.set(item, turn.now + PATIENCE)
        self._courier.post(turn, item, AskInterest(item, self._me, turn.now))

    def _decide(self, turn: Turn, known: KnownInterest, conn: int, head: Deposit, body: bytes) -> None:
        assert head.published is not None
        wanted = head.flags & _RETAIN or known.index.wants(head.published.topic)
        if wanted or self._outbox.holds(head):  # what is on its way already is not left out: others follow it
            self._send(turn, known, conn, head, body)
            return
        fault = deposit_fault(head, body)  # what is sent on, the outbox looks at
        if fault is not None:
            turn.send(conn, rejected(head, Code.BAD_FIELD, fault))
            return
        self.unwanted += 1
        self._tracer.deposit(turn, Step.SENT, head, size=len(body))
        self._tracer.deposit(turn, Step.SETTLED, head, UNWANTED)
        if head.flags & _RELIABLE or head.stream == _ORDERED:
            self._tracer.deposit(turn, Step.ACKNOWLEDGED, head, UNWANTED)
            last = head.first + head.count - 1
            whose = (head.source, head.incarnation, head.dest, head.stream)
            turn.send(conn, Accepted(*whose, head.first, last, unwanted=True))
        if head.stream == _ORDERED:
            stream = (head.source, head.incarnation, head.stream)
            # Not what was sent before, if that was refused since and this is part of it: the item never had it.
            known.passed[stream] = min(known.passed.get(stream, head.follows), head.follows)

    def _send(self, turn: Turn, known: KnownInterest, conn: int, head: Deposit, body: bytes) -> None:
        stream = (head.source, head.incarnation, head.stream)
        if stream in known.passed:
            # The item never hears of what nobody wanted, and must not wait for it.
            follows = known.passed[stream]
            known.passed[stream] = max(follows, head.first + head.count - 1)
            if head.follows > follows:
                head = msgspec.structs.replace(head, follows=follows)
        if is_second_way(head.dest):
            assert head.published is not None
            if turn.now >= known.until or known.index.wants(quiet(head.published.topic)):
                head = msgspec.structs.replace(head, flags=head.flags | _APART)
        self._outbox.take(turn, conn, head, body)

    # Answers ---------------------------------------------------------------------------------------------------
    def on_summary(self, turn: Turn, head: Summary) -> None:
        """The owner of an item says what is wanted."""
        known = self._known.get(head.item)
        if known is None or len(head.patterns) > SUMMARY_PATTERNS_MAX:
            return
        if (head.epoch, head.version) < (known.epoch, known.version):
            return
        if (head.epoch, head.version) != (known.epoch, known.version):
            known.epoch, known.version = head.epoch, head.version
            known.index = TopicIndex()
            for pattern in head.patterns:
                known.index.add(pattern, "")
        if known.asked == head.asked >= 0:
            # Any other one may have been sent before the owner heard that we go on asking: it promises nothing more.
            known.until = known.asked + min(max(head.lease, 0), LEASE)
            known.asked = -1
            self._deadlines.set(head.item, max(known.until - PATIENCE, turn.now + 1))
        self._courier.post(turn, head.item, SummaryHeld(head.item, head.epoch, head.version, self._me))
        if turn.now < known.until:
            self._release(turn, known)
        elif known.asked < 0:
            self._release(turn, known, wanted=True)

    def on_client_gone(self, conn: int, identity: tuple[str, int] | None) -> None:
        """What it published and is still here goes with it: it sends that again elsewhere."""
        for known in self._known.values():
            for stream in [stream for stream in known.passed if stream[:2] == identity]:
                del known.passed[stream]
            if known.waiting:
                self._waiting_bytes -= sum(len(b) + ITEM_OVERHEAD_BYTES for c, _, b in known.waiting if c == conn)
                known.waiting = deque(entry for entry in known.waiting if entry[0] != conn)

    def next_deadline(self) -> Instant | None:
        return self._deadlines.next()

    def on_deadline(self, turn: Turn) -> None:
        """Nobody answered: better one batch too many than one that waits. And who published lately will do so again."""
        for item in self._deadlines.pop_due(turn.now):
            known = self._known[item]
            if known.asked >= 0:
                known.asked = -1
                self._release(turn, known, wanted=True)
            elif turn.now - known.used < REMEMBERED:
                self._ask(turn, item, known)

    def _release(self, turn: Turn, known: KnownInterest, *, wanted: bool = False) -> None:
        """Batches that waited, in order; all of them if `wanted`, else what is."""
        waiting, known.waiting = known.waiting, deque()
        for conn, head, body in waiting:
            self._waiting_bytes -= len(body) + ITEM_OVERHEAD_BYTES
            if wanted:
                self._send(turn, known, conn, head, body)
            else:
                self._decide(turn, known, conn, head, body)


def _fault(head: Deposit) -> str | None:
    """Of what a client says it publishes."""
    if head.published is None:
        return "published: must name the topic"
    if not is_item(head.dest):
        return f"dest={head.dest!r}: what is published goes to the topic's item"
    if head.published.source:
        return f"published.source={head.published.source!r}: must be empty; the batch says who publishes"
    return published_fault(head.dest, head.published)
