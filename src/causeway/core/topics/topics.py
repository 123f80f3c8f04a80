"""Topics of one broker (ports.Topics): what is published here, the items we own, the subscriptions we own.

Owns: which of the three a message is for. Must not know: mail beyond the office and the outbox it stands on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from causeway.config import BrokerConfig
from causeway.core.deadlines import Alarm
from causeway.core.events import ClientMessage
from causeway.core.machine import Turn
from causeway.core.mail.desk import Desk
from causeway.core.mail.tracer import Tracer
from causeway.core.messages import (
    Accepted,
    AskInterest,
    AskPlaced,
    Attach,
    Deposit,
    EndMailbox,
    Message,
    Register,
    Registered,
    Rejected,
    Summary,
    SummaryHeld,
)
from causeway.core.ports import Clients, Groups
from causeway.core.topics.items import Items
from causeway.core.topics.leases import Leases
from causeway.core.topics.places import places_of
from causeway.core.topics.publishing import Publishing
from causeway.core.topics.signposts import Signposts
from causeway.core.topics.subscriptions import Subscriptions
from causeway.errors import Code
from causeway.limits import NAME_BYTES_MAX
from causeway.store.base import Row
from causeway.topics import is_item
from causeway.types import BrokerId, Instant, Key, key_of


class BrokerTopics:
    """The part of a broker that knows topics. It stands on the desk, which asks it back: `open` joins the two."""

    def open(self, config: BrokerConfig, desk: Desk, groups: Groups, clients: Clients, alarm: Alarm) -> None:
        """Before anything else is asked."""
        office, outbox, courier = desk.office, desk.outbox, desk.courier
        self._clients = clients
        self._office = office
        self._outbox = outbox
        self._courier = courier
        self._leases = Leases(courier, lambda turn, box, done: office.append_own(turn, box, (), 1, done), alarm=alarm)
        self._items = Items(office, outbox, groups, courier, self._leases, tracer=Tracer(config.name))
        self._publishing = Publishing(office.me, config.name, outbox, courier, alarm=alarm)
        self._subscriptions = Subscriptions(config, office, groups, courier, serve=self.serve, alarm=alarm)
        self._signposts = Signposts(office.me, groups, courier, alarm=alarm)
        self._timed = (self._leases, self._publishing, self._subscriptions, self._signposts)

    def name_domains(self, domain_of: Callable[[BrokerId], str]) -> None:
        """Who knows in which domain a broker is."""
        self._signposts.domain_of = domain_of

    # Ownership -------------------------------------------------------------------------------------------------
    def gain(self, turn: Turn, group: Key, rows: Sequence[Row]) -> None:
        box = self._office.boxes[group]
        if box.mailbox.is_item:
            self._items.gain(turn, box, rows)
        else:
            self._subscriptions.gain(turn, box, rows)

    def lose(self, turn: Turn, group: Key) -> None:
        self._items.lose(turn, group)
        self._subscriptions.lose(turn, group)

    # Messages --------------------------------------------------------------------------------------------------
    def publish(self, turn: Turn, conn: int, head: Deposit, body: bytes) -> None:
        self._signposts.follow(turn, conn, head.dest)
        self._publishing.publish(turn, conn, head, body)

    def hand_out(self, turn: Turn, group: Key) -> None:
        self._items.hand_out(turn, group)

    def arrived(self, turn: Turn, group: Key, head: Register | AskInterest | SummaryHeld) -> None:
        match head:
            case Register():
                self._items.register(turn, group, head)
            case AskInterest():
                self._leases.on_ask(turn, group, head)
            case SummaryHeld():
                self._leases.on_held(turn, group, head)

    def answered(self, turn: Turn, head: Message) -> None:
        match head:
            case Registered():
                self._subscriptions.on_registered(turn, head)
            case Summary():
                self._publishing.on_summary(turn, head)
                self._signposts.heard(turn, head.item, head.epoch)
            case Accepted():
                self._items.on_accepted(turn, head)
            case Rejected():
                self._items.on_gone(turn, head)
            case _:
                pass

    # Clients ---------------------------------------------------------------------------------------------------
    def subscribe(self, turn: Turn, conn: int, client: tuple[str, int], head: Attach) -> None:
        if self._office.refuses(turn, conn, client, head):
            return  # before what it wants changes anything for those who are there
        for item in places_of(head.mailbox, head.interest) if head.interest is not None else ():
            self._signposts.follow(turn, conn, item)
        if self._subscriptions.attach(turn, conn, head):
            self.serve(turn, conn, head)

    def serve(self, turn: Turn, conn: int, head: Attach) -> None:
        """All items know what a subscription wants: serve its reader, if it is still there."""
        client = self._clients.client(conn)
        known = self._subscriptions.all.get(key_of(head.mailbox))
        if client is not None and known is not None:
            answer = self._subscriptions.answer(known, head)
            if not self._office.attach(turn, conn, client, head, answer):
                self._courier.wait(turn, head.mailbox, ClientMessage(conn, head, b""))

    def end(self, turn: Turn, conn: int, head: EndMailbox) -> None:
        self._subscriptions.end(turn, conn, head)

    def withdrawn(self, turn: Turn, group: Key) -> bool:
        return self._subscriptions.withdrawn(turn, group)

    def overflow(self, turn: Turn, group: Key) -> None:
        self._subscriptions.overflow(turn, group)

    def place(self, turn: Turn, conn: int, head: AskPlaced) -> None:
        if is_item(head.item):
            self._signposts.ask(turn, conn, head)
        else:
            detail = f"item={head.item[:NAME_BYTES_MAX]!r}: must be the item of a topic"
            self._clients.refuse(turn, conn, Code.BAD_FIELD, detail)

    def on_client_gone(self, conn: int, identity: tuple[str, int] | None) -> None:
        self._signposts.on_client_gone(conn)
        self._publishing.on_client_gone(conn, identity)

    # Time ------------------------------------------------------------------------------------------------------
    def next_deadline(self) -> Instant | None:
        return min((due for part in self._timed if (due := part.next_deadline()) is not None), default=None)

    def on_deadline(self, turn: Turn) -> None:
        for part in self._timed:
            part.on_deadline(turn)

    def lapsed(self, turn: Turn, head: Deposit) -> None:
        self._items.on_accepted(turn, head)

    def published(self) -> Iterator[tuple[str, int]]:
        """Messages published to each item that we own, since we own it."""
        return self._items.published()

    def statistics(self) -> dict[str, int]:
        return {**self._items.statistics(), "unwanted": self._publishing.unwanted}
