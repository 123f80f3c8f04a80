"""The front desk of a broker: every message about mail, from clients and from brokers, reaches the part it is for.

Owns: which client is connected where, and the order of things: outbox for what is sent, office for what is owned.
Must not know: the ring, epochs.
"""

from __future__ import annotations

from collections.abc import Iterable

from causeway.config import BrokerConfig
from causeway.core.deadlines import Alarm
from causeway.core.events import (
    ClientMessage,
    OwnershipGained,
    OwnershipLost,
    OwnershipResumed,
    PageLoaded,
    PeerMessage,
)
from causeway.core.machine import Turn
from causeway.core.mail import faults
from causeway.core.mail.coordinator import Coordinator
from causeway.core.mail.counter import BrokerLinks, Counter
from causeway.core.mail.courier import MailCourier, key_of, place_of
from causeway.core.mail.dead_letters import Burials
from causeway.core.mail.office import Office
from causeway.core.mail.outbox import BURIED, FORWARDED, Outbox
from causeway.core.mail.seat_faults import seating_fault
from causeway.core.messages import (
    Accepted,
    AskDomains,
    AskInterest,
    AskMark,
    AskPlaced,
    AskSeat,
    Attach,
    Bind,
    Bound,
    Browse,
    Chosen,
    Commit,
    Confirmed,
    Credit,
    Deposit,
    Detach,
    Domains,
    DomainsHeld,
    EndMailbox,
    Find,
    JoinDomain,
    Message,
    Moved,
    NotMember,
    Outcome,
    Outdated,
    Postable,
    ProposePolicy,
    Register,
    Registered,
    Rejected,
    Relayed,
    Resend,
    Return,
    Routed,
    SeatTaken,
    Settle,
    Summary,
    SummaryHeld,
    TakeSeat,
    ToLandmark,
    TxAsk,
    TxDecide,
    TxDone,
    TxPrepare,
    TxPrepared,
)
from causeway.core.ports import CausalOrder, Groups, Management, Ring, Topics
from causeway.errors import Code
from causeway.limits import ID_MAX, NAME_BYTES_MAX, STATUS_ENTRIES_MAX
from causeway.names import is_seat
from causeway.topics import is_item
from causeway.types import Instant, Key

_FOR_GROUPS = Register | AskInterest | SummaryHeld | TakeSeat | AskDomains | DomainsHeld | Bind | ToLandmark
"""What other brokers say to the owner of a group."""


class Desk:
    """Mail of one broker."""

    def __init__(
        self,
        config: BrokerConfig,
        incarnation: int,
        links: BrokerLinks,
        ring: Ring,
        groups: Groups,
        *,
        topics: Topics,
        causal: CausalOrder,
        management: Management,
        alarm: Alarm,
    ) -> None:
        self._me = links.me
        self._links = links
        self.clogged = links.clogged
        self._groups = groups
        self._clients: dict[tuple[str, int], int] = {}
        self._of_conn: dict[int, tuple[str, int]] = {}
        self.courier = MailCourier(config.name, links, ring, groups, self, alarm=alarm)
        self._coordinator = Coordinator(config, self._me.id, groups, self.courier, alarm=alarm)
        self._topics, self._causal = topics, causal
        self._management = management
        is_deciding = self._coordinator.is_deciding
        self.office = Office(
            config, self._me.id, groups, self.courier, topics=topics, is_deciding=is_deciding, alarm=alarm
        )
        self.outbox = Outbox(config, self._me.id, config.name, self.courier, alarm=alarm)
        self._burials = Burials(self.office, self.outbox, incarnation)
        durable = config.durability == "disk"
        self._counter = Counter(self.office, links, groups, self.courier, durable=durable, introduce=self._introduced)
        self._timed = (self.outbox, self.office, self._coordinator, self.courier, topics, causal)

    # courier.Local ---------------------------------------------------------------------------------------------
    def arrived(self, turn: Turn, key: Key, head: Postable, body: bytes) -> bool:
        if isinstance(head, Deposit):
            taken = self.office.deposit(turn, key, head, body)
            return taken or (head.causal is not None and self._causal.arrived(turn, key, head, body))
        if isinstance(head, Confirmed):
            conn = self._clients.get((head.source, head.incarnation))
            if conn is not None:
                turn.send(conn, head)
            elif key in self.office.boxes:
                self.office.boxes[key].notices.append(head)  # until the application is back
            return True
        if not self._groups.serving(key):
            return False
        if isinstance(head, ToLandmark):
            return self._management.arrived(turn, key, head)
        if isinstance(head, TxPrepare):
            self.office.on_prepare(turn, key, head, body)
        elif isinstance(head, TxDecide):
            self.office.on_decide(turn, key, head)
        elif isinstance(head, TxAsk):
            self._coordinator.on_ask(turn, key, head)
        elif key in self.office.boxes:
            if isinstance(head, Register | AskInterest | SummaryHeld):
                self._topics.arrived(turn, key, head)
        else:
            return self._causal.arrived(turn, key, head, body)
        return True

    def answered(self, turn: Turn, head: Message) -> None:
        match head:
            case Accepted():
                whose = self.outbox.on_accepted(turn, head)
                if whose == BURIED:
                    self.office.buried(turn, head.source, head.first, head.last)
                elif whose == FORWARDED:
                    (self._causal if is_seat(head.source) else self._topics).answered(turn, head)
            case Rejected():
                if head.code == Code.NO_MAILBOX and is_item(head.source):
                    self._topics.answered(turn, head)
                elif head.code == Code.NO_MAILBOX and is_seat(head.source):
                    self._causal.answered(turn, head)
                else:
                    self.outbox.on_rejected(turn, head)
            case Registered() | Summary():
                self._topics.answered(turn, head)
            case SeatTaken() | Domains() | Bound():
                self._causal.answered(turn, head)
            case Resend():
                self.outbox.on_resend(turn, head)
            case Confirmed():
                conn = self._clients.get((head.source, head.incarnation))
                if conn is not None:
                    turn.send(conn, head)
                else:
                    self.courier.post(turn, head.source, head)
            case TxPrepared():
                self._coordinator.on_prepared(turn, key_of(head.source), head)
            case TxDone():
                self._coordinator.on_done(turn, key_of(head.source), head)
            case _:
                pass

    # Clients ---------------------------------------------------------------------------------------------------
    def on_client_message(self, turn: Turn, event: ClientMessage) -> None:
        """A frame from a client."""
        conn, head = event.conn, event.head
        if isinstance(head, Deposit):
            identity = (head.source, head.incarnation)
            if self._of_conn.get(conn) != identity and not self._introduce(turn, conn, identity):
                return
            if head.causal is not None:
                self._causal.submit(turn, conn, head, event.body)
            elif head.published is None:
                self.outbox.take(turn, conn, head, event.body)
            else:
                self._topics.publish(turn, conn, head, event.body)
            return
        match head:
            case Settle() | Return() | Credit() | Detach():
                self._counter.serve(turn, event, head.mailbox)
            case Commit():
                self._on_commit(turn, event, head)
            case Attach() if head.interest is not None and not self._knows_seat(turn, head.interest.seat):
                detail = f"seat={head.interest.seat[:NAME_BYTES_MAX]!r}: is not on the map known here"
                turn.send(conn, Moved(head.mailbox[:NAME_BYTES_MAX], None, Code.NOT_READY, detail))
            case Attach() | Browse() | Find() | EndMailbox():
                self._counter.request(turn, event, head.mailbox)
            case AskSeat() | JoinDomain():
                self._causal.ask(turn, event)
            case AskPlaced():
                self._topics.place(turn, conn, head)
            case ProposePolicy():
                self._management.propose(turn, conn, head, event.body)
            case _:
                self._links.refuse(turn, conn, Code.BAD_FRAME, f"{type(head).__name__} is not something a client says")

    def _knows_seat(self, turn: Turn, seat: str) -> bool:
        """Whether a reader can be registered there, if it wants to be: a seat that nobody has must not begin."""
        return not is_seat(seat) or self._causal.knows(turn, seat)

    def _introduce(self, turn: Turn, conn: int, identity: tuple[str, int]) -> bool:
        """A client sends under the name it said hello with, and no other."""
        client = self._links.client(conn)
        if client is None:
            return False
        if client != identity:
            field, at = ("source", 0) if client[0] != identity[0] else ("incarnation", 1)
            said = f"this connection said hello as {client[0]!r}, incarnation {client[1]}"
            detail = f"{field}={identity[at]!r}: {said}"
            self._links.refuse(turn, conn, Code.BAD_FIELD, detail)
            return False
        self._introduced(conn, identity)
        return True

    def _introduced(self, conn: int, identity: tuple[str, int]) -> None:
        self._clients[identity] = conn
        self._of_conn[conn] = identity

    def _on_commit(self, turn: Turn, event: ClientMessage, head: Commit) -> None:
        """A transaction is decided where its sender's own mailbox lives."""
        identity = (head.source, head.incarnation)
        if self._of_conn.get(event.conn) != identity and not self._introduce(turn, event.conn, identity):
            return
        fault = faults.name_fault("source", head.source)
        if fault is not None:
            turn.send(event.conn, Outcome(*identity, head.number, False, Code.BAD_FIELD, fault))
            return
        key = key_of(head.source)
        if self._groups.serving(key) and key in self.office.boxes:
            self._coordinator.commit(turn, key, head, event.body)
        else:
            self._counter.seek(turn, event, head.source)

    def on_client_gone(self, turn: Turn, conn: int) -> None:
        identity = self._of_conn.pop(conn, None)
        if identity is not None and self._clients.get(identity) == conn:
            del self._clients[identity]
        self._topics.on_client_gone(conn, identity)
        self._causal.on_client_gone(conn)
        self.outbox.on_client_gone(turn, conn)
        self.office.on_client_gone(turn, conn)

    def on_drained(self, conn: int) -> None:
        self.office.on_drained(conn)

    # Brokers ---------------------------------------------------------------------------------------------------
    def on_peer_message(self, turn: Turn, event: PeerMessage) -> None:
        """A frame about mail from another broker (or what waited here, again)."""
        head = event.head
        if event.peer.id != self._me.id and not self._is_sound(turn, head, event.body):
            return
        match head:
            case Deposit():
                if event.peer.id in (self._me.id, head.origin):
                    self.courier.on_direct(turn, event.peer, head.dest, head, event.body)
            case Routed():
                self.courier.on_routed(turn, event.peer, head, event.body)
            case TxPrepare() | TxDecide():
                self.courier.on_direct(turn, event.peer, head.mailbox, head, event.body)
            case TxAsk():
                self.courier.on_direct(turn, event.peer, head.source, head, event.body)
            case _ if isinstance(head, _FOR_GROUPS):
                self.courier.on_direct(turn, event.peer, place_of(head), head, event.body)
            case AskMark() | Domains() if head.seat:
                self.courier.on_direct(turn, event.peer, head.seat, head, event.body)
            case Accepted() | Rejected() | Resend() | Confirmed() | TxPrepared() | TxDone() | Registered() | Summary():
                self.answered(turn, head)
            case SeatTaken() | Domains() | Bound():
                self.answered(turn, head)
            case Relayed():
                self._causal.relay(turn, event.peer, head, event.body)
            case _:
                pass

    def _is_sound(self, turn: Turn, head: Message, body: bytes) -> bool:
        """Whether another broker's message may be acted on. Absurd ones are answered if they say where to."""
        if isinstance(head, Routed):
            if head.mailbox != place_of(head.head) or not head.hops >= 0:
                return False
            head = head.head
        if faults.naming_fault(head) is not None:
            return False
        if isinstance(head, Deposit):
            fault = faults.deposit_fault(head, body)
            if fault is not None and 1 <= head.first <= ID_MAX:
                self.courier.reject(turn, head, Code.BAD_FIELD, fault)
            return fault is None
        if isinstance(head, Register):
            return faults.register_fault(head) is None
        if isinstance(head, TxPrepare):
            fault = faults.transaction_fault(head, body)
            if fault is not None:
                self.courier.decline(turn, head, Code.BAD_FIELD, fault)
            return fault is None
        return seating_fault(head) is None

    def on_group_hearsay(self, turn: Turn, event: PeerMessage) -> None:
        """News about where a mailbox is may let go what waits for it."""
        head = event.head
        match head:
            case Chosen() | Outdated():
                self.courier.release(turn, head.group)
            case NotMember():
                config = self._groups.config(head.group)
                if config is not None and config.owner == event.peer.id and not head.epoch:
                    self._groups.forget(head.group)

    def on_ways_changed(self, turn: Turn) -> None:
        """A broker died: other ways may be needed, and some mailboxes may have lost too many copies."""
        self.outbox.on_ways_changed(turn)
        for key in self.office.boxes:
            reason = self._groups.blocked(key)
            if reason is not None:
                self.office.refuse_pending(turn, key, Code.NO_QUORUM, reason)

    # Ownership -------------------------------------------------------------------------------------------------
    def on_ownership_gained(self, turn: Turn, event: OwnershipGained) -> None:
        self.office.on_ownership_gained(turn, event)
        self._coordinator.restore(turn, event.group, event.config.name, event.rows)
        self.courier.release(turn, event.group)

    def on_ownership_resumed(self, turn: Turn, event: OwnershipResumed) -> None:
        config = self._groups.config(event.group)
        assert config is not None
        self.office.on_ownership_resumed(turn, event.group, config)
        self.courier.release(turn, event.group)

    def on_ownership_lost(self, turn: Turn, event: OwnershipLost) -> None:
        self.office.on_ownership_lost(turn, event)
        self._coordinator.lose(event.group)
        self.courier.release(turn, event.group)

    def on_page(self, turn: Turn, event: PageLoaded) -> None:
        self.office.on_page(turn, event)

    # Time ------------------------------------------------------------------------------------------------------
    def next_deadline(self) -> Instant | None:
        return min((due for part in self._timed if (due := part.next_deadline()) is not None), default=None)

    def on_deadline(self, turn: Turn) -> None:
        for part in self._timed:
            part.on_deadline(turn)

    def flush(self, turn: Turn) -> None:
        """End of a turn: deliveries, dead letters, refusals."""
        self._burials.flush(turn)
        lapsed, self.outbox.lapsed = self.outbox.lapsed, []
        for head in lapsed:
            (self._causal if is_seat(head.source) else self._topics).lapsed(turn, head)
        self._causal.flush(turn)
        while self._coordinator.outcomes:
            outcome = self._coordinator.outcomes.pop(0)
            conn = self._clients.get((outcome.source, outcome.incarnation))
            if conn is not None:
                turn.send(conn, outcome)
        self.office.flush(turn)

    def statistics(self, names: Iterable[str]) -> dict[str, object]:
        """Mail, for people: of these mailboxes those we own. Lists end somewhere, so that the whole fits a frame."""
        clients = sorted(name for name, _ in self._clients)
        return {
            "mailboxes": self.office.statistics(names),
            "outbox": self.outbox.statistics(),
            "clients": clients[:STATUS_ENTRIES_MAX],
            "clients_truncated": max(0, len(clients) - STATUS_ENTRIES_MAX),
            "deposits": self.outbox.taken,
            "topics": self._topics.statistics(),
            "causal": self._causal.statistics(),
            "waiting": self.courier.waiting_count,
        }
