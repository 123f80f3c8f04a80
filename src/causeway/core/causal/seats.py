"""The seats this broker holds: what each decides becomes operations of its group, then messages, when they are safe.

Owns: one Seat per seat group we own, and the bond between an operation and what may leave after it.
Must not know: what a seat decides, how operations are replicated.
"""

from __future__ import annotations

from causeway.config import BrokerConfig
from causeway.core.causal.chart import Chart
from causeway.core.causal.detours import Detours
from causeway.core.causal.entry import SeatDecision
from causeway.core.causal.seat import Seat
from causeway.core.causal.senders import ASK_AGAIN
from causeway.core.causal.views import described
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.events import OwnershipGained, PeerMessage
from causeway.core.machine import Turn
from causeway.core.mail.desk import Desk
from causeway.core.mail.faults import deposit_fault
from causeway.core.mail.replies import rejected
from causeway.core.mail.tracer import Tracer
from causeway.core.messages import (
    Accepted,
    AskMark,
    Deposit,
    Domains,
    DomainsHeld,
    Message,
    Register,
    Rejected,
    Relayed,
    Routed,
)
from causeway.core.ports import Links, ReplicaGroups
from causeway.errors import Code, RemoteProtocolError
from causeway.names import MAP_NAME, is_seat, may_end
from causeway.types import MILLISECOND, SEAT_PREFIX, BrokerId, Duration, Instant, Key, Peer, key_of
from causeway.wire.codec import decode_head

PAUSE_PER_BATCH: Duration = 3 * MILLISECOND
PAUSE_MAX: Duration = 30 * MILLISECOND
"""How long after an operation began the next one may, for each batch in it but the first: an operation is a commit on
every copy, so a busy seat gathers. Where batches pass one by one nothing waits."""


class Seats:
    """All seats of one broker."""

    def __init__(
        self, config: BrokerConfig, desk: Desk, groups: ReplicaGroups, links: Links, chart: Chart, *, alarm: Alarm
    ) -> None:
        self._desk = desk
        self._groups = groups
        self._links = links
        self._chart = chart
        self._tracer = Tracer(config.name)
        self._detours = Detours(links, config.paths)
        self._deadlines: Deadlines[Key] = Deadlines(alarm)
        self.me: bytes = links.me.id
        self.all: dict[Key, Seat] = {}
        self._writing: dict[Key, None] = {}
        """Seats with an operation on its way to the copies."""
        self._pause_until: dict[Key, Instant] = {}
        """When the next operation may begin: under load, waiting a little makes them fewer."""
        self._dirty: dict[Key, None] = {}
        self._refused: dict[int, int] = {}
        """By client: the first id that was refused because its seat was not on our map, and has not come again."""

    # Ownership -------------------------------------------------------------------------------------------------
    def gain(self, turn: Turn, event: OwnershipGained) -> None:
        """We hold a seat: go on where its former holder was."""
        name = event.config.name.removeprefix(SEAT_PREFIX)
        seat = self.all[event.group] = Seat(name, event.config.born, self._chart, self, self._tracer)
        self._writing.pop(event.group, None)
        seat.restore(turn, event.rows)
        self._dirty[event.group] = None
        if not seat.is_ready:
            self._chart.want(turn, self._chart.version + 1)

    def resume(self, turn: Turn, group: Key) -> None:
        """A new epoch, still ours: what was heard while we could not write counts now."""
        seat = self.all.get(group)
        if seat is not None and self._groups.serving(group) and seat.is_ready:
            seat.on_chart(turn)
        self._dirty[group] = None

    def lose(self, turn: Turn, group: Key) -> None:
        """Another broker holds the seat."""
        seat = self.all.pop(group, None)
        self._deadlines.cancel(group)
        self._dirty.pop(group, None)
        if seat is not None:
            self._writing.pop(group, None)
            self._pause_until.pop(group, None)
            seat.out.forget(turn)

    def _committed(self, turn: Turn, group: Key, decided: SeatDecision) -> None:
        """What was decided is on all copies: it takes effect."""
        del self._writing[group]
        self.all[group].committed(turn, decided)
        self._dirty[group] = None

    # Messages --------------------------------------------------------------------------------------------------
    def arrived(self, turn: Turn, key: Key, head: Deposit | Register | Domains | AskMark, body: bytes) -> bool:
        """A message for a seat we hold; False when it must wait until we may write."""
        seat = self.all.get(key)
        if seat is None or not self._groups.serving(key):
            return False
        if isinstance(head, Domains):
            self._chart.learn(turn, head)
            held = DomainsHeld(head.seat, self._chart.version)
            seat.go_by(held.version, lambda turn: self._desk.courier.post(turn, MAP_NAME, held))
            self._dirty[key] = None
            self.on_chart(turn)
            return True
        if not seat.is_ready:
            self._chart.want(turn, self._chart.version + 1)
            return False
        match head:
            case Deposit():
                seat.offer(turn, head, body)
            case Register():
                seat.register(turn, head, self._groups.position(key))
            case AskMark():
                seat.on_ask_mark(turn, head)
        self._dirty[key] = None
        return True

    def on_chart(self, turn: Turn) -> None:
        """The map, or a binding, came to our ears: what waited for it goes on."""
        for key, seat in self.all.items():
            if self._groups.serving(key) and seat.is_ready:
                seat.on_chart(turn)
                self._dirty[key] = None

    def on_arrived(self, source: str, dest: str, first: int, last: int, *, refused: int = 0) -> None:
        """Another seat, or a mailbox, has what a seat of ours sent; `refused`: why a mailbox behind it has not."""
        key = key_of(source)
        if key in self.all:
            self.all[key].on_accepted(dest, first, last, refused)
            self._dirty[key] = None

    def on_gone(self, turn: Turn, head: Rejected) -> None:
        """A mailbox does not exist any more; of one that never ends, and of a seat, that is not believed."""
        key = key_of(head.source)
        if key in self.all and may_end(head.dest):
            self.all[key].on_gone(turn, head.dest)
            self._dirty[key] = None

    def relay(self, turn: Turn, peer: Peer, head: Relayed, body: bytes) -> None:
        """A second way leads over us, or ends here."""
        if head.to != self.me:
            if peer.id != head.to and self._links.peer(head.to) is not None:
                self._links.send(turn, head.to, head, body)
            return
        try:
            inner = decode_head(head.head)
        except RemoteProtocolError:
            return
        match inner:
            case Deposit():
                envelope = Routed(key_of(inner.dest), inner.dest, 1, inner)
                self._desk.on_peer_message(turn, PeerMessage(peer, envelope, body))
            case Accepted():
                self._desk.on_peer_message(turn, PeerMessage(peer, inner, b""))
            case _:
                pass

    def submit(self, turn: Turn, conn: int, head: Deposit, body: bytes) -> None:
        """A client sends or publishes a batch in causal order: on to its seat."""
        fault = deposit_fault(head, body)
        if fault is None and head.published is not None and head.published.source:
            fault = f"published.source={head.published.source!r}: must be empty; the batch says who publishes"
        if fault is not None:
            turn.send(conn, rejected(head, Code.BAD_FIELD, fault))
            return
        refused = self._refused.pop(conn, 0)
        if not self._chart.knows(turn, head.dest) or head.follows >= refused > 0:
            # What is behind it may be here already: it must not be the first that the seat hears of.
            self._refused[conn] = min(head.first, refused or head.first)
            turn.send(conn, rejected(head, Code.NOT_READY, f"dest={head.dest!r}: is not on the map known here"))
            return
        self._desk.outbox.take(turn, conn, head, body)

    def on_client_gone(self, conn: int) -> None:
        """A client's connection ended."""
        self._refused.pop(conn, None)

    # SeatPort --------------------------------------------------------------------------------------------------
    def forward(self, turn: Turn, head: Deposit, body: bytes) -> None:
        self._desk.outbox.forward(turn, head, body)
        if head.causal is not None and self._detours.wanted:
            target = self._desk.courier.target(turn, key_of(head.dest), head.dest, birth=False)
            if target is not None:
                self._detours.take(turn, target[0], head, body)

    def forget(self, turn: Turn, seat: str, dest: str) -> None:
        self._desk.outbox.forget_forwards(turn, seat, dest)

    def answer(self, turn: Turn, origin: bytes, head: Message) -> None:
        self._desk.courier.answer(turn, origin, head)
        if isinstance(head, Accepted) and is_seat(head.source):
            self._detours.take(turn, BrokerId(origin), head)

    def ask(self, turn: Turn, head: AskMark) -> None:
        self._desk.courier.post(turn, head.seat, head)

    def write(self, turn: Turn, seat: str) -> None:
        key = key_of(seat)
        self._append(turn, key, self.all[key])

    # Time ------------------------------------------------------------------------------------------------------
    def flush(self, turn: Turn) -> None:
        """End of a turn: one operation for all that a seat decided in it."""
        while self._dirty:  # what one seat answers may be for another one here
            dirty, self._dirty = self._dirty, {}
            for key in dirty:
                seat = self.all.get(key)
                if seat is None or not self._groups.serving(key):
                    continue  # `resume` looks again
                if seat.is_dirty and key not in self._writing:
                    # One at a time: what is decided meanwhile goes together, and the copies write less often.
                    if turn.now >= self._pause_until.get(key, 0):
                        self._append(turn, key, seat)
                    else:
                        self._deadlines.set_sooner(key, self._pause_until[key])
                if seat.senders.asks:
                    self._deadlines.set_sooner(key, turn.now + ASK_AGAIN)
                elif seat.void_at:
                    self._deadlines.set_if_unset(key, seat.void_at)

    def _append(self, turn: Turn, key: Key, seat: Seat) -> None:
        writes, decided = seat.collect(self._groups.position(key))
        if writes:
            self._writing[key] = None
            self._groups.append(turn, key, writes, 1, lambda turn: self._committed(turn, key, decided))
            self._pause_until[key] = turn.now + min((decided.size - 1) * PAUSE_PER_BATCH, PAUSE_MAX)
        else:
            seat.committed(turn, decided)

    def next_deadline(self) -> Instant | None:
        return self._deadlines.next()

    def on_deadline(self, turn: Turn) -> None:
        """Ask again for marks; give up places whose batches nobody has sent again."""
        for key in self._deadlines.pop_due(turn.now):
            seat = self.all.get(key)
            if seat is None:
                continue
            if self._groups.serving(key):
                if 0 < seat.void_at <= turn.now:
                    seat.give_up(turn)
                if seat.is_ready:
                    seat.senders.advance_all(turn)
            self._dirty[key] = None

    def statistics(self) -> list[dict[str, object]]:
        """Each seat held here."""
        return [described(seat) for seat in self.all.values()]
