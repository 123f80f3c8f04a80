"""Where clients ask for mailboxes: those we own are served here, for others they are told where to go.

Owns: which request must wait, and which is answered at once. Must not know: what is sent, brokers' messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from causeway.core.events import ClientMessage
from causeway.core.machine import Turn
from causeway.core.mail import faults
from causeway.core.mail.courier import MailCourier, key_of, may_begin
from causeway.core.mail.office import Office
from causeway.core.messages import (
    Attach,
    Browse,
    Credit,
    Detach,
    EndMailbox,
    Message,
    Moved,
    Return,
    Settle,
)
from causeway.core.ports import Clients, Groups, Links
from causeway.errors import Code
from causeway.limits import NAME_BYTES_MAX
from causeway.types import VOLATILE_FROM, Key, Peer


class BrokerLinks(Links, Clients, Protocol):
    """Connections of both kinds."""


class Counter:
    """Requests of clients about mailboxes."""

    def __init__(
        self,
        office: Office,
        links: BrokerLinks,
        groups: Groups,
        courier: MailCourier,
        *,
        durable: bool,
        introduce: Callable[[int, tuple[str, int]], None],
    ) -> None:
        self._me = links.me
        self._durable = durable
        self._office = office
        self._links = links
        self._groups = groups
        self._courier = courier
        self._introduce = introduce
        """A reader is told what becomes of what its application sends."""

    def serve(self, turn: Turn, event: ClientMessage, mailbox: str) -> None:
        """Something only the owner can carry out, and mostly only while it may write."""
        head = event.head
        fault = faults.name_fault("mailbox", mailbox)
        if fault is None and isinstance(head, Settle | Return):
            fault = faults.spans_fault(head.spans)
        if fault is not None:
            turn.send(event.conn, Moved(mailbox[:NAME_BYTES_MAX], None, Code.BAD_FIELD, fault))
            return
        key = key_of(mailbox)
        if not self._groups.owned(key) or key not in self._office.boxes:
            config = self._groups.config(key)
            taking = config is not None and config.owner == self._me.id and bool(config.members)
            taking &= not self._groups.hosts(key)
            if self._courier.is_waiting(key) or taking:
                self._courier.wait(turn, mailbox, event)  # we are taking over; behind an Attach of the same connection
            elif isinstance(head, Settle) and self._owner(key) is None:
                self.seek(turn, event, mailbox)  # a reader that ends says nothing else, perhaps of what has ended
            elif not isinstance(head, Credit | Detach):
                turn.send(event.conn, Moved(mailbox, self._owner(key), Code.NOT_OWNER, "the mailbox is elsewhere"))
            return
        if not self._groups.serving(key) and not (self._durable and _express_only(head)):
            self._courier.wait(turn, mailbox, event)
            return
        match head:
            case Settle():
                self._office.settle(turn, event.conn, head)
            case Return():
                self._office.give_back(turn, event.conn, head)
            case Credit():
                self._office.widen(turn, event.conn, head)
            case Detach():
                self._office.detach(turn, event.conn, head)
            case _:
                pass

    def request(self, turn: Turn, event: ClientMessage, mailbox: str) -> None:
        """A client looks for a mailbox: serve it, or say where it is, or find out first."""
        fault = faults.name_fault("mailbox", mailbox)
        if fault is None and isinstance(event.head, Browse):
            fault = faults.browse_fault(event.head)
        if fault is None and isinstance(event.head, Attach):
            fault = faults.selector_fault(event.head.selector)
        client = self._links.client(event.conn)
        if fault is None and isinstance(event.head, Attach) and client is not None:
            fault = faults.attach_fault(event.head, client)
        if fault is None and isinstance(event.head, EndMailbox) and client is not None:
            fault = faults.use_fault(mailbox, client)
        if fault is not None:
            turn.send(event.conn, Moved(mailbox[:NAME_BYTES_MAX], None, Code.BAD_FIELD, fault))
            return
        head, key = event.head, key_of(mailbox)
        if self._groups.owned(key) and key in self._office.boxes:
            match head:
                case Attach():
                    if not self._attach(turn, event.conn, key, head):
                        self._courier.wait(turn, mailbox, event)
                case EndMailbox() if not self._groups.serving(key):
                    self._courier.wait(turn, mailbox, event)
                case EndMailbox(delete=True):
                    self._office.delete(turn, event.conn, head)
                case EndMailbox():
                    self._office.topics.end(turn, event.conn, head)
                case Browse():
                    self._office.looks.browse(turn, self._office.boxes[key], event.conn, head)
                case _:
                    turn.send(event.conn, Moved(mailbox, self._me))
            return
        self.seek(turn, event, mailbox)

    def _attach(self, turn: Turn, conn: int, key: Key, head: Attach) -> bool:
        """Serve a reader; False when it must wait until we may write."""
        client = self._links.client(conn)
        if client is None:
            return True
        self._introduce(conn, client)
        if self._courier.is_waiting(key):
            return False
        if head.interest is None:
            return self._office.attach(turn, conn, client, head)
        if self._groups.serving(key):
            self._office.topics.subscribe(turn, conn, client, head)
            return True
        return False

    def seek(self, turn: Turn, event: ClientMessage, mailbox: str) -> None:
        """Say where a mailbox is; if nobody knows, wait until somebody does."""
        key = key_of(mailbox)
        if self._groups.owned(key):
            self._courier.wait(turn, mailbox, event)
            return
        if self._groups.hosts(key):
            if self._courier.begins(turn, key, mailbox, event):
                turn.tell(event)
            return
        target = self._courier.target(turn, key, mailbox, birth=may_begin(mailbox, event.head))
        if target is not None:
            turn.send(event.conn, Moved(mailbox, self._links.peer(target[0])))
            self._groups.remind(turn, key, target[0])
            return
        reason = self._groups.blocked(key)
        if reason is not None:
            turn.send(event.conn, Moved(mailbox, None, Code.NO_QUORUM, reason))
        else:
            self._courier.wait(turn, mailbox, event)

    def _owner(self, key: Key) -> Peer | None:
        config = self._groups.config(key)
        if config is None or config.owner == self._me.id:
            return None
        return next((m.peer for m in config.members if m.peer.id == config.owner), None)


def _express_only(head: Message) -> bool:
    """Whether a settlement touches nothing durable (in `memory` mode such numbers may have been stored since)."""
    return isinstance(head, Settle) and all(first >= VOLATILE_FROM for first, _ in head.spans)
