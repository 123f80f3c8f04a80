"""Causal order at one broker (ports.CausalOrder): the map of domains, the seats it holds, what clients send to them.

Owns: which of the three a message is for. Must not know: mail beyond the outbox and the courier it stands on.
"""

from __future__ import annotations

from causeway.config import BrokerConfig
from causeway.core.causal.chart import Chart
from causeway.core.causal.registrar import MAP, Registrar
from causeway.core.causal.seats import Seats
from causeway.core.deadlines import Alarm
from causeway.core.events import ClientMessage, OwnershipGained
from causeway.core.machine import Turn
from causeway.core.mail.desk import Desk
from causeway.core.messages import (
    Accepted,
    AskDomains,
    AskMark,
    AskSeat,
    Bind,
    Bound,
    Deposit,
    Domains,
    DomainsHeld,
    JoinDomain,
    Message,
    Postable,
    Register,
    Rejected,
    Relayed,
    SeatTaken,
    TakeSeat,
)
from causeway.core.ports import Links, ReplicaGroups
from causeway.names import is_seat
from causeway.types import Instant, Key, Peer


class BrokerCausal:
    """The part of a broker that knows causal order. It stands on the desk, which asks it back: `open` joins the two."""

    def open(self, config: BrokerConfig, desk: Desk, groups: ReplicaGroups, links: Links, alarm: Alarm) -> None:
        """Before anything else is asked."""
        self.groups: dict[Key, None] = {}
        """The map, if we own it, and the seats we hold."""
        self._chart = Chart(config, links, alarm=alarm)
        self._registrar = Registrar(groups, desk.courier, alarm=alarm)
        self._seats = Seats(config, desk, groups, links, self._chart, alarm=alarm)
        self._timed = (self._chart, self._registrar, self._seats)

    # Ownership -------------------------------------------------------------------------------------------------
    def gain(self, turn: Turn, event: OwnershipGained) -> bool:
        """We own a group; whether it is one of ours."""
        if is_seat(event.config.name):
            self._seats.gain(turn, event)
            self._chart.want(turn, 1)  # who holds a seat goes by some map, also one that was started without domains
        elif event.group == MAP:
            self._registrar.gain(turn, event)
        else:
            return False
        self.groups[event.group] = None
        return True

    def resume(self, turn: Turn, group: Key) -> None:
        """We still own a group, in a new epoch."""
        (self._registrar if group == MAP else self._seats).resume(turn, group)

    def lose(self, turn: Turn, group: Key) -> None:
        """Another broker owns it."""
        self.groups.pop(group, None)
        (self._registrar if group == MAP else self._seats).lose(turn, group)

    # Messages --------------------------------------------------------------------------------------------------
    def arrived(self, turn: Turn, key: Key, head: Postable, body: bytes) -> bool:
        """A message for the map or a seat; False when it must wait until we may write."""
        match head:
            case Deposit() | Register() | Domains() | AskMark() if key in self.groups and key != MAP:
                return self._seats.arrived(turn, key, head, body)
            case TakeSeat() | AskDomains() | DomainsHeld() | Bind() if key == MAP:
                return key in self.groups and self._registrar.arrived(turn, head)
            case _:
                return key in self.groups  # nonsense for one of our groups is dropped; else it waits for an owner

    def answered(self, turn: Turn, head: Message) -> None:
        """An answer of the map, or to what a seat sent."""
        match head:
            case SeatTaken() | Domains() | Bound():
                self._chart.answered(turn, head)
                self._seats.on_chart(turn)
            case Accepted():
                self._seats.on_arrived(head.source, head.dest, head.first, head.last, refused=head.refused)
            case Rejected():
                self._seats.on_gone(turn, head)
            case _:
                pass

    def relay(self, turn: Turn, peer: Peer, head: Relayed, body: bytes) -> None:
        """A second way leads over us, or ends here."""
        self._seats.relay(turn, peer, head, body)

    def lapsed(self, turn: Turn, head: Deposit) -> None:
        """A batch of a seat has outlived its time on the way, or will never be taken."""
        self._seats.on_arrived(head.source, head.dest, head.first, head.first + head.count - 1)

    # Clients ---------------------------------------------------------------------------------------------------
    def submit(self, turn: Turn, conn: int, head: Deposit, body: bytes) -> None:
        """A client sends or publishes a batch in causal order."""
        self._seats.submit(turn, conn, head, body)

    def knows(self, turn: Turn, seat: str) -> bool:
        """Whether a seat is on the map; if not, as far as we know, the map is asked for."""
        return self._chart.knows(turn, seat)

    def ask(self, turn: Turn, event: ClientMessage) -> None:
        """A client asks for its seat, or for this broker to join a domain."""
        match event.head:
            case AskSeat() as head:
                self._chart.on_ask_seat(turn, event.conn, head)
            case JoinDomain() as head:
                self._chart.on_join(turn, event.conn, head)
            case _:
                pass

    def on_client_gone(self, conn: int) -> None:
        """A client's connection ended."""
        self._chart.on_client_gone(conn)
        self._seats.on_client_gone(conn)

    # Time ------------------------------------------------------------------------------------------------------
    def on_joined(self, turn: Turn) -> None:
        """We are in the ring: take the seat that our configuration says."""
        self._chart.on_joined(turn)

    def leave(self, turn: Turn) -> None:
        """We go for good: the map of domains shall say so."""
        self._chart.leave(turn)

    @property
    def lingering(self) -> bool:
        """Whether we are leaving and the map may not say so yet."""
        return self._chart.lingering

    @property
    def refusal(self) -> str:
        """Why the domains of our configuration cannot be ours; empty when they are, or nobody has answered yet."""
        return self._chart.refusal

    def flush(self, turn: Turn) -> None:
        """End of a turn: one operation for all that happened to a seat."""
        self._seats.flush(turn)

    def next_deadline(self) -> Instant | None:
        return min((due for part in self._timed if (due := part.next_deadline()) is not None), default=None)

    def on_deadline(self, turn: Turn) -> None:
        for part in self._timed:
            part.on_deadline(turn)

    def statistics(self) -> dict[str, object]:
        """Seats held here, their clocks, and what waits for what."""
        return {**self._chart.statistics(), "seats": self._seats.statistics()}
