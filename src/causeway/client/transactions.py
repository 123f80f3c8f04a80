"""Atomic transactions of a session: what each holds, its number, and asking until the coordinator has answered.

The coordinator is the owner of the application's own mailbox. All unanswered commits travel together, in the order of
their numbers, so that numbers rise at the coordinator too. A commit that nobody answered in time is reported as unknown
and is still repeated: its acknowledgements stay reserved until the outcome is known. Stimuli: the application's calls,
Outcome frames, links (through `errands`), and time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from causeway.client.arguments import code_of
from causeway.client.consumers import MailReaders
from causeway.client.errands import Errand, Errands
from causeway.client.links import Uplink
from causeway.client.lots import Lot
from causeway.client.settings import SessionConfig
from causeway.client.tracing import NoTrace
from causeway.core.deadlines import NEVER
from causeway.core.machine import Turn
from causeway.core.messages import Commit, Outcome, Published, SendPart, SettlePart
from causeway.errors import CausewayError, Code, ConfigError, OutcomeUnknown, Refused
from causeway.limits import (
    BATCH_COUNT_MAX,
    OPERATION_BYTES_MAX,
    SPANS_MAX,
    TRANSACTION_HEAD_BYTES_MAX,
    TRANSACTION_PARTS_MAX,
)
from causeway.ranges import merged
from causeway.types import Duration, Flag, Instant, Span
from causeway.wire import body as bodies


class Parcel(msgspec.Struct, frozen=True):
    """One message of a transaction."""

    dest: str
    body: bytes
    flags: int = int(Flag.RELIABLE)
    priority: int = 4
    ttl: Duration = 0
    delay: Duration = 0
    published: Published | None = None
    """Of a topic; `dest` is its item."""

    def like(self, other: Parcel) -> bool:
        """Whether both can travel in one batch."""
        mine = (self.flags, self.priority, self.ttl, self.delay, self.published)
        return mine == (other.flags, other.priority, other.ttl, other.delay, other.published)


class AcceptedIds(msgspec.Struct, frozen=True, array_like=True):
    """Ids that count as accepted once the transaction is committed."""

    mailbox: str
    source: str
    incarnation: int
    stream: int
    first: int
    last: int


class Commitment:
    """One transaction on its way."""

    __slots__ = ("accepts", "body", "deadline", "done", "durable", "error", "head", "reserved", "resolved", "waiter")

    def __init__(self, head: Commit, body: bytes, reserved: Sequence[tuple[Lot, int]]) -> None:
        self.head = head
        self.body = body
        self.reserved = list(reserved)
        """Messages in the application's hands that the transaction acknowledges."""
        self.accepts: list[AcceptedIds] = []
        """The same as ids: what an application that was restarted needs to know."""
        self.deadline: Instant = NEVER
        self.durable = True
        self.done = False
        """The application was told."""
        self.resolved = False
        """The coordinator has answered."""
        self.error: CausewayError | None = None
        self.waiter: Any = None


class Transactions(Errand):
    """All transactions of a session: one errand, so that they stay in order."""

    __slots__ = (
        "_config",
        "_consumers",
        "_errands",
        "_next_ids",
        "_pending",
        "_under_way",
        "base",
        "ended",
        "last",
        "trace",
    )

    def __init__(self, number: int, config: SessionConfig, errands: Errands, consumers: MailReaders) -> None:
        super().__init__(number, config.name)
        self._config = config
        self._errands = errands
        self._consumers = consumers
        self._next_ids: dict[str, int] = {}
        self._pending: dict[int, Commitment] = {}
        """Not resolved, by number."""
        self._under_way = False
        self.base = 0
        """Ids of new destinations begin above."""
        self.last = 0
        """The highest number given out."""
        self.trace = NoTrace()
        self.ended: list[Commitment] = []
        """Done this turn, for the session to tell."""

    def __len__(self) -> int:
        return len(self._pending)

    def unresolved(self) -> list[Commitment]:
        """Every transaction that was not answered."""
        return list(self._pending.values())

    # Asked by the application ----------------------------------------------------------------------------------
    def prepare(self, incarnation: int, parcels: Sequence[Parcel], reserved: Sequence[tuple[Lot, int]]) -> Commitment:
        """Number a transaction and reserve what it acknowledges. Raises ConfigError when it is too large."""
        ids = dict(self._next_ids)
        sends: list[SendPart] = []
        chunks: list[bytes] = []
        for run in _runs(parcels):
            first = ids.get(run[0].dest, self.base + 1)
            ids[run[0].dest] = first + len(run)
            chunk = bodies.join([parcel.body for parcel in run])
            chunks.append(chunk)
            like = run[0]
            how = (like.flags, like.priority, like.ttl, len(chunk), like.published, like.delay)
            sends.append(SendPart(like.dest, first, len(run), *how))
        head = Commit(self._config.name, incarnation, self.last + 1, tuple(sends), self._settles(reserved))
        body = b"".join(chunks)
        _check(head, body)
        commitment = Commitment(head, body, reserved)
        commitment.accepts = [_ids_of(lot, index) for lot, index in reserved]
        for lot, index in reserved:
            lot.reserve(index)
        self._next_ids = ids
        self.last += 1
        self.trace.committing(head)
        return commitment

    def _settles(self, reserved: Sequence[tuple[Lot, int]]) -> tuple[SettlePart, ...]:
        numbers: dict[str, list[Span]] = {}
        for lot, index in reserved:
            number = lot.seq + index
            if not lot.stale:
                numbers.setdefault(lot.mailbox, []).append((number, number))
            for consumer, alias in (lot.aliases or {}).get(index, ()):
                mailbox = self._consumers.mailbox_of(consumer)
                if mailbox is not None:
                    numbers.setdefault(mailbox, []).append((alias, alias))
        return tuple(SettlePart(mailbox, tuple(merged(spans))) for mailbox, spans in numbers.items())

    def begin(self, turn: Turn, commitment: Commitment, timeout: Duration) -> None:
        """Take a prepared transaction on; it leaves as soon as it may."""
        if timeout:
            commitment.deadline = turn.now + timeout
        self._pending[commitment.head.number] = commitment
        if commitment.durable:
            self.release(turn, commitment)

    def restore(self, commitment: Commitment) -> None:
        """A transaction that an earlier life left unanswered."""
        commitment.done = True
        self._pending[commitment.head.number] = commitment

    @property
    def in_doubt(self) -> bool:
        """Whether an earlier life's transaction is unresolved: what it acknowledged must not be shown until then."""
        return any(not commitment.reserved and commitment.accepts for commitment in self._pending.values())

    def resume(self, turn: Turn) -> None:
        """Begin with what an earlier life left."""
        for commitment in self._pending.values():
            self.release(turn, commitment)

    def abandon(self, commitment: Commitment, error: CausewayError) -> None:
        """It never left, and will not."""
        for lot, index in commitment.reserved:
            lot.conclude(index, committed=False)
        self._end(commitment, error)

    def release(self, turn: Turn, commitment: Commitment) -> None:
        """It is on our own disk, if it must be: let it go."""
        commitment.durable = True
        if not self._under_way:
            self._under_way = True
            self._errands.start(turn, self)
        elif self.asked and self.link is not None:
            turn.send(self.link.conn, commitment.head, commitment.body)

    # Errand ----------------------------------------------------------------------------------------------------
    def ask(self, turn: Turn, link: Uplink) -> None:
        """Everything unanswered, in order."""
        for commitment in self._pending.values():
            if commitment.durable:
                turn.send(link.conn, commitment.head, commitment.body)

    # What happened ---------------------------------------------------------------------------------------------
    def on_outcome(self, head: Outcome, incarnation: int) -> Commitment | None:
        """A transaction has ended; None if we were not waiting for it."""
        if head.source != self._config.name or head.incarnation != incarnation:
            return None
        commitment = self._pending.pop(head.number, None)
        if commitment is None:
            return None
        commitment.resolved = True
        error = (
            None
            if head.committed
            else Refused(code_of(head.code, Code.ABORTED), head.detail or "the transaction was aborted")
        )
        for lot, index in commitment.reserved:
            self._consumers.conclude(lot, index, committed=head.committed)
        if head.committed and not commitment.reserved:
            for ids in commitment.accepts:
                key = (ids.source, ids.incarnation, ids.stream)
                self._consumers.seen.accepted_in(ids.mailbox, key, ids.first, ids.last)
        self._end(commitment, error)
        if not self._pending:
            self._errands.drop(self)
            self._under_way = self.asked = self.answered = False
            self.link = None
        return commitment

    def fail_all(self, error: CausewayError) -> None:
        """The session is over; outcomes stay unknown."""
        for commitment in self._pending.values():
            self._end(commitment, error)
        self._pending.clear()

    def on_deadline(self, now: Instant) -> None:
        """Report what took too long."""
        for commitment in self._pending.values():
            if commitment.deadline <= now:
                trouble = f" ({self.trouble})" if self.trouble else ""
                text = f"transaction {commitment.head.number} was not answered in time{trouble}"
                self._end(commitment, OutcomeUnknown(text))

    def next_deadline(self) -> Instant | None:
        """When somebody must be told."""
        waiting = [commitment.deadline for commitment in self._pending.values() if commitment.deadline != NEVER]
        return min(waiting, default=None)

    def _end(self, commitment: Commitment, error: CausewayError | None) -> None:
        commitment.deadline = NEVER
        if not commitment.done:
            commitment.done = True
            commitment.error = error
            self.trace.committed(commitment.head, error)
            self.ended.append(commitment)


def _runs(parcels: Sequence[Parcel]) -> list[list[Parcel]]:
    """Messages to one destination with equal properties that follow each other, in the order of their destination."""
    by_dest: dict[str, list[list[Parcel]]] = {}
    for parcel in parcels:
        runs = by_dest.setdefault(parcel.dest, [])
        if runs and runs[-1][-1].like(parcel) and len(runs[-1]) < BATCH_COUNT_MAX:
            runs[-1].append(parcel)
        else:
            runs.append([parcel])
    return [run for runs in by_dest.values() for run in runs]


def _check(head: Commit, body: bytes) -> None:
    """Say here what a broker would refuse: nothing of a transaction that is too large is sent."""
    parts = len(head.sends) + len(head.settles)
    spans = sum(len(part.spans) for part in head.settles)
    size = len(msgspec.msgpack.encode((head.sends, head.settles)))
    for field, value, limit, what in (
        ("transaction.parts", parts, TRANSACTION_PARTS_MAX, "destinations, runs of equal properties and mailboxes"),
        ("transaction.acknowledgements", spans, SPANS_MAX, "messages that do not follow each other"),
        ("transaction.body", len(body), OPERATION_BYTES_MAX, "bytes of messages"),
        ("transaction.head", size, TRANSACTION_HEAD_BYTES_MAX, "bytes of names and numbers"),
    ):
        if value > limit:
            raise ConfigError(field, value, f"at most {limit} {what} are allowed in one; split the transaction")


def _ids_of(lot: Lot, index: int) -> AcceptedIds:
    number = lot.first + index
    if lot.doubled and lot.seen is not None:  # known by its publisher's ids
        return AcceptedIds(lot.seen.mailbox, *lot.seen.key, number, number)
    return AcceptedIds(lot.mailbox, lot.source, lot.incarnation, lot.stream, number, number)
