"""Where a message for a mailbox goes next (its owner, a member of its group, along the ring), and where answers go.

Owns: the decision, and what waits here because nobody can take it yet (bounded).
Must not know: what the messages mean.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.events import ClientMessage, PeerMessage
from causeway.core.machine import Turn
from causeway.core.mail.replies import rejected
from causeway.core.mail.tracer import Tracer
from causeway.core.messages import (
    AskDomains,
    AskInterest,
    AskMark,
    Attach,
    Bind,
    Bound,
    Browse,
    Commit,
    Deposit,
    Detach,
    Domains,
    DomainsHeld,
    EndMailbox,
    Find,
    MailboxEnded,
    Message,
    Moved,
    NotMember,
    Postable,
    Register,
    Resolved,
    Return,
    Routed,
    Settle,
    SummaryHeld,
    TakeSeat,
    ToLandmark,
    TxDecide,
    TxPrepare,
    TxPrepared,
)
from causeway.core.messages.soundness import peer_fault
from causeway.core.ports import Groups, Links, Ring
from causeway.errors import REMEDIES, RETRIABLE_CODES, Code
from causeway.limits import (
    ITEM_OVERHEAD_BYTES,
    LESSONS_REMEMBERED_MAX,
    NAMES_REMEMBERED_MAX,
    ROUTE_HOPS_MAX,
    WAITING_BYTES_MAX,
    WAITING_PER_MAILBOX_BYTES_MAX,
    WAITING_PER_MAILBOX_MAX,
)
from causeway.names import MAP_NAME, agents_name, is_agents, is_named_subscription, is_private, is_seat
from causeway.topics import is_item
from causeway.trace import Step
from causeway.types import MILLISECOND, SECOND, BrokerId, Instant, Key, Peer
from causeway.types import key_of as hash_name

ASKED = Attach | Browse | Find | Settle | Return | EndMailbox
"""Requests that are answered with Moved when nobody can serve them."""

_BEGINS_NOTHING = EndMailbox | Settle | Browse | Find | AskDomains | DomainsHeld | Bind

LOOK_AGAIN = 50 * MILLISECOND

TEACH_AGAIN = 1 * SECOND
"""A broker that sends by detours is told so often where the owner is: its frames under way cannot heed it yet."""

NO_MAILBOX = "mailbox: it has ended, or has not begun: only its reader begins a private mailbox"

key_of = lru_cache(maxsize=NAMES_REMEMBERED_MAX)(hash_name)
"""Names repeat; the hash is worth remembering."""


class Local(Protocol):
    """Who takes what has arrived."""

    def arrived(self, turn: Turn, key: Key, head: Postable, body: bytes) -> bool:
        """A message for a mailbox we own; False when it must wait."""

    def answered(self, turn: Turn, head: Message) -> None:
        """An answer for a client of ours."""

    def clogged(self, conn: int) -> bool: ...


@dataclass(slots=True)
class Waiting:
    """Messages and requests for one mailbox that nobody can take yet."""

    mailbox: str
    events: deque[ClientMessage | PeerMessage] = field(default_factory=deque)
    bytes: int = 0


class MailCourier:
    """The courier of a broker (ports.Courier)."""

    def __init__(
        self, name: str, links: Links, ring: Ring, groups: Groups, local: Local, *, alarm: Alarm | None = None
    ) -> None:
        self._tracer = Tracer(name)
        self._links = links
        self._ring = ring
        self._groups = groups
        self._local = local
        self.clogged = local.clogged
        self._waiting: dict[Key, Waiting] = {}
        self._homes: dict[Key, dict[Key, None]] = {}
        """Mailboxes for which something waits, by the group they are in."""
        self._waiting_bytes = 0
        self._deadlines: Deadlines[Key] = Deadlines(alarm)
        self._taught: dict[tuple[BrokerId, Key], Instant] = {}
        """When a broker was last told where a mailbox is."""

    # ports.Courier ---------------------------------------------------------------------------------------------
    def answer(self, turn: Turn, origin: bytes, head: Message) -> None:
        if origin == self._links.me.id or not origin:
            self._local.answered(turn, head)
        else:
            self._links.send(turn, Key(origin), head)

    def post(self, turn: Turn, mailbox: str, head: Postable, body: bytes = b"") -> None:
        if not self._take_in(turn, key_of(mailbox), mailbox, head, body):
            self._forward(turn, mailbox, head, body, 0, by=self._links.me)

    def _take_in(self, turn: Turn, key: Key, mailbox: str, head: Postable, body: bytes) -> bool:
        """Hand over a message for a mailbox that we own, or that begins here; whether we do."""
        if not self._groups.owned(key):
            if not self._groups.hosts(key):
                return False
            if not self.begins(turn, key, mailbox, PeerMessage(self._links.me, head, body)):
                return True
        if not self._local.arrived(turn, key, head, body):
            self.wait(turn, mailbox, PeerMessage(self._links.me, head, body))
        return True

    def begins(self, turn: Turn, key: Key, mailbox: str, event: ClientMessage | PeerMessage) -> bool:
        """A message for a mailbox that our shard lacks: whether it has begun now; if not, its sender is told."""
        if may_begin(mailbox, event.head):
            self._groups.begin(turn, key, mailbox)
            return True
        self._refuse(turn, event, Code.NO_MAILBOX, NO_MAILBOX)
        return False

    # On the way ------------------------------------------------------------------------------------------------
    def on_routed(self, turn: Turn, peer: Peer, head: Routed, body: bytes) -> None:
        """An envelope from another broker."""
        if key_of(head.mailbox) != head.key or head.hops >= ROUTE_HOPS_MAX:
            return
        if self._groups.owned(head.key) or self._groups.hosts(head.key):
            sender = head.sender
            if sender is not None and self._links.peer(sender.id) is None and peer_fault(sender) is None:
                self._links.learn(sender)
            # Our own may come round to us: it was under way when the mailbox became ours.
            if sender is not None and sender.id != self._links.me.id and head.hops and isinstance(head.head, Deposit):
                self.teach(turn, sender.id, self._groups.home(head.key))
            self._take_in(turn, head.key, head.mailbox, head.head, body)
            return
        self._forward(turn, head.mailbox, head.head, body, head.hops + 1, by=head.sender, back=peer.id)

    def teach(self, turn: Turn, sender: BrokerId, key: Key) -> None:
        """A batch for a group came over others: from now on its sender can send to us at once."""
        taught = self._taught
        if turn.now - taught.get((sender, key), -TEACH_AGAIN) < TEACH_AGAIN or self._links.peer(sender) is None:
            return
        taught.pop((sender, key), None)
        if len(taught) >= LESSONS_REMEMBERED_MAX:
            del taught[next(iter(taught))]
        taught[(sender, key)] = turn.now
        self._links.send(turn, sender, Resolved(key, self._groups.config(key)))

    def on_direct(self, turn: Turn, peer: Peer, mailbox: str, head: Postable, body: bytes) -> None:
        """A message whose sender took us for the owner."""
        key = key_of(mailbox)
        if self._take_in(turn, key, mailbox, head, body):
            return
        if peer.id != self._links.me.id and self._groups.config(key) is None:
            self._links.send(turn, peer.id, NotMember(self._groups.home(key), 0, 0))
        self._forward(turn, mailbox, head, body, 1, by=peer, back=peer.id)

    def _forward(
        self,
        turn: Turn,
        mailbox: str,
        head: Postable,
        body: bytes,
        hops: int,
        *,
        by: Peer | None,
        back: bytes = b"",
    ) -> None:
        """To the owner if we know one that lives, else along the ring, else wait until the directory has spoken."""
        key = key_of(mailbox)
        birth = may_begin(mailbox, head)
        target = self.target(turn, key, mailbox, birth=birth)
        if target is not None and target[0] == back and self._groups.config(key) is None:
            # Who sent it takes us for the owner and we know nothing of that: before it goes to and fro, ask.
            self._groups.resolve(turn, key, mailbox, birth=birth)
            target = None
        if target is None:
            self.wait(turn, mailbox, PeerMessage(self._links.me, head, body))
            return
        broker, direct = target
        if isinstance(head, Deposit):
            to = self._links.peer(broker)
            self._tracer.deposit(turn, Step.FORWARDED, head, size=len(body), peer=to.name if to is not None else "")
        self._links.send(turn, broker, head if direct and not hops else Routed(key, mailbox, hops, head, by), body)

    def target(self, turn: Turn, key: Key, mailbox: str, *, birth: bool = True) -> tuple[Key, bool] | None:
        """The broker to try next and whether it is the owner; None when we must wait (and something is under way).

        A mailbox that nobody has begins now, if `birth`.
        """
        config = self._groups.config(key)
        me = self._links.me.id
        if config is not None:
            if config.owner != me and not self._groups.suspects(config.owner):
                return config.owner, True
            members = [m.peer.id for m in config.members]
            if me in members:
                self._groups.wake(turn, key)
                return None
            living = [b for b in members if not self._groups.suspects(b)]
            if living:
                return living[turn.now // LOOK_AGAIN % len(living)], False
            self._groups.resolve(turn, key, mailbox, birth=birth)
            return None
        if self._ring.active:
            # Who is closest to the group of a domain's agents need not be one of them, and could not let it be born.
            hop = self._ring.next_hop(self._groups.home(key)) if not is_agents(mailbox) else None
            if hop is not None:
                return hop, False
            self._groups.resolve(turn, key, mailbox, birth=birth)
        return None

    # Waiting ---------------------------------------------------------------------------------------------------
    def wait(self, turn: Turn, mailbox: str, event: ClientMessage | PeerMessage) -> None:
        """Keep something until the mailbox can take it; over the bound its sender is told."""
        key = key_of(mailbox)
        waiting = self._waiting.get(key) or Waiting(mailbox)
        size = len(event.body) + ITEM_OVERHEAD_BYTES
        if len(waiting.events) >= WAITING_PER_MAILBOX_MAX or waiting.bytes + size > WAITING_PER_MAILBOX_BYTES_MAX:
            self._refuse(turn, event, Code.OVERLOADED, "too much waits for this mailbox at this broker")
            return
        if self._waiting_bytes + size > WAITING_BYTES_MAX:
            self._refuse(turn, event, Code.OVERLOADED, f"{WAITING_BYTES_MAX} bytes wait at this broker, its limit")
            return
        self._waiting[key] = waiting
        self._homes.setdefault(self._groups.home(key), {})[key] = None
        waiting.events.append(event)
        waiting.bytes += size
        self._waiting_bytes += size
        self._deadlines.set_if_unset(key, turn.now + LOOK_AGAIN)

    def release(self, turn: Turn, key: Key) -> None:
        """Something changed for a mailbox, or for the mailboxes of a group: let everything that waits try again."""
        for each in self._waiting_in(key):
            for event in self._take(each):
                turn.tell(event)

    def _waiting_in(self, key: Key) -> list[Key]:
        """The mailboxes for which something waits in a group; or the one of this key."""
        return list(self._homes.get(key, ())) or ([key] if key in self._waiting else [])

    def refuse(self, turn: Turn, key: Key, code: Code, detail: str) -> None:
        """Nobody can take what waits for a mailbox, or for those of a group: tell the senders. Settlements and returns
        go on waiting, as some are never repeated; unless there is nothing left to settle."""
        for each in self._waiting_in(key):
            self._refuse_waiting(turn, each, code, detail)

    def _refuse_waiting(self, turn: Turn, key: Key, code: Code, detail: str) -> None:
        config = self._groups.config(key)
        ended = code == Code.NO_MAILBOX and not (config is not None and config.members)
        for event in self._take(key):
            head = event.head
            if isinstance(head, Settle | Return | Detach) and not ended:
                self.wait(turn, head.mailbox, event)
            else:
                self._refuse(turn, event, code, detail)

    def _take(self, key: Key) -> Iterable[ClientMessage | PeerMessage]:
        """What waits for a mailbox, which waits no longer."""
        waiting = self._waiting.pop(key, None)
        if waiting is None:
            return ()
        self._deadlines.cancel(key)
        self._waiting_bytes -= waiting.bytes
        home = self._groups.home(key)
        del self._homes[home][key]
        if not self._homes[home]:
            del self._homes[home]
        return waiting.events

    def _refuse(self, turn: Turn, event: ClientMessage | PeerMessage, code: Code, detail: str) -> None:
        head = event.head
        if isinstance(head, Deposit):
            self.reject(turn, head, code, detail)
        elif isinstance(head, TxPrepare):
            if code not in RETRIABLE_CODES:  # otherwise the coordinator tries again until its patience ends
                self.decline(turn, head, code, detail)
        elif isinstance(head, AskDomains) and code == Code.NO_MAILBOX:
            self.answer(turn, head.origin, Domains(0, ()))  # nobody ever took a seat
        elif isinstance(head, Bind) and code == Code.NO_MAILBOX:
            self.answer(turn, head.origin, Bound(head.name, "", Code.NO_SEAT, REMEDIES[Code.NO_SEAT]))
        elif isinstance(event, ClientMessage) and isinstance(head, Commit):
            # No Outcome: an earlier copy of this Commit may be under way, and an outcome is final.
            turn.send(event.conn, Moved(head.source, None, code, detail))
        elif isinstance(event, ClientMessage) and isinstance(head, EndMailbox) and code == Code.NO_MAILBOX:
            turn.send(event.conn, MailboxEnded(head.mailbox, head.token, False))
        elif isinstance(event, ClientMessage) and isinstance(head, ASKED):
            turn.send(event.conn, Moved(head.mailbox, None, code, detail))

    def reject(self, turn: Turn, head: Deposit, code: Code, detail: str) -> None:
        """Tell the source broker of a batch that it is not taken."""
        self.answer(turn, head.origin, rejected(head, code, detail))

    def decline(self, turn: Turn, head: TxPrepare, code: Code, detail: str) -> None:
        """Tell the coordinator of a transaction that a part cannot be held."""
        tx = (head.source, head.incarnation, head.number, head.attempt)
        self.answer(turn, head.origin, TxPrepared(*tx, head.mailbox, False, code, detail))

    def is_waiting(self, key: Key) -> bool:
        """Whether something waits for the mailbox: what comes later must not overtake it."""
        return key in self._waiting

    def next_deadline(self) -> Instant | None:
        return self._deadlines.next()

    def on_deadline(self, turn: Turn) -> None:
        """Look again at what waits; if nobody may acknowledge now, say so instead of letting senders wait."""
        for key in self._deadlines.pop_due(turn.now):
            waiting = self._waiting.get(key)
            if waiting is None:
                continue
            reason = self._groups.blocked(key)
            if reason is not None:
                self.refuse(turn, key, Code.NO_QUORUM, reason)
            elif self._can_try(turn, key, waiting):
                self.release(turn, key)
            else:
                self._deadlines.set(key, turn.now + LOOK_AGAIN)

    def _can_try(self, turn: Turn, key: Key, waiting: Waiting) -> bool:
        if self._groups.serving(key) or self._groups.hosts(key):
            return True
        if self._groups.owned(key):
            return False
        birth = any(may_begin(waiting.mailbox, event.head) for event in waiting.events)
        return self.target(turn, key, waiting.mailbox, birth=birth) is not None

    @property
    def waiting_count(self) -> int:
        """How many messages and requests wait here."""
        return sum(len(w.events) for w in self._waiting.values())


def may_begin(mailbox: str, head: Message) -> bool:
    """Whether a message makes a mailbox begin that nobody has.

    A private mailbox begins with its reader, a subscription with the wish for it: what somebody sends or forwards to
    one that has ended must not bring it to life again. Who only looks, or ends something, makes nothing begin. The map
    of domains begins with the first seat taken: who only asks must not cost the cluster a group.
    """
    if isinstance(head, Attach | Commit):
        return True
    forwarded = isinstance(head, Deposit) and (
        is_item(head.source) or (is_seat(head.source) and is_named_subscription(mailbox))
    )
    return not (forwarded or isinstance(head, _BEGINS_NOTHING) or is_private(mailbox))


def place_of(head: Postable) -> str:
    """The mailbox whose owner a message is for."""
    if isinstance(head, Deposit):
        return head.dest
    if isinstance(head, Register | AskInterest | SummaryHeld):
        return head.item
    if isinstance(head, TakeSeat | AskDomains | DomainsHeld | Bind):
        return MAP_NAME
    if isinstance(head, Domains | AskMark):
        return head.seat
    if isinstance(head, ToLandmark):
        return agents_name(head.domain)
    return head.mailbox if isinstance(head, TxPrepare | TxDecide) else head.source
