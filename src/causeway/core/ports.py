"""What the parts of a broker need of each other, as narrow protocols.

Parts never import one another; `node` wires them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from causeway.core.events import ClientMessage
from causeway.core.machine import Then, Turn
from causeway.core.messages import (
    AskInterest,
    AskPlaced,
    Attach,
    Config,
    Deposit,
    EndMailbox,
    Message,
    Postable,
    ProposePolicy,
    Register,
    Relayed,
    SummaryHeld,
    ToLandmark,
)
from causeway.errors import Code
from causeway.store.base import Row, Write
from causeway.types import BrokerId, Duration, Instant, Key, Peer


class Links(Protocol):
    """Connections to other brokers, by broker id."""

    me: Peer

    def send(self, turn: Turn, to: BrokerId, head: Message, body: bytes = b"") -> None:
        """Send if the link is up; otherwise dial and send when it comes up. May be lost: the caller has a retry."""

    def conn_of(self, broker: BrokerId) -> int | None:
        """The connection of an established link: for what must wait inside a Persist."""

    def up(self) -> list[Peer]:
        """Brokers whose links are established."""

    def learn(self, peer: Peer) -> None:
        """Remember how to reach a broker."""

    def is_up(self, broker: BrokerId) -> bool:
        """Whether the link is established (always for ourselves)."""

    def pin(self, broker: BrokerId) -> None:
        """Keep the link: its loss must be noticed even while nothing is sent."""

    def unpin(self, broker: BrokerId) -> None:
        """Take back one `pin`."""

    def peer(self, broker: BrokerId) -> Peer | None:
        """What is known of a broker."""

    def round_trip(self, broker: BrokerId) -> Duration | None:
        """Smoothed measured round trip, None when never measured."""


class SeatedLinks(Links, Protocol):
    """What agents need of the links."""

    def hold_seats(self, turn: Turn, seats: tuple[str, ...]) -> None:
        """The seats we hold from now on, as others should know."""


class Ring(Protocol):
    """Who should hold a key."""

    active: bool
    """Whether our join is complete; before that we answer for no key."""

    def next_hop(self, key: Key) -> BrokerId | None:
        """The next broker towards the one responsible for the key; None when that is us."""

    def replica_group(self, key: Key, count: int) -> list[Peer]:
        """The living brokers closest to the key, closest first."""


class Clients(Protocol):
    """Connections of applications."""

    def client(self, conn: int) -> tuple[str, int] | None:
        """Name and incarnation of the client on a connection."""

    def clogged(self, conn: int) -> bool:
        """Whether a connection takes nothing more for now."""

    def refuse(self, turn: Turn, conn: int, code: Code, detail: str) -> None:
        """End a connection whose other end broke the rules."""


class ReplicaGroups(Protocol):
    """Who may acknowledge for a key, and the one way to write for it."""

    def config(self, group: Key) -> Config | None:
        """The latest configuration known here."""

    def owned(self, group: Key) -> bool:
        """Whether we own the group as far as we know, perhaps without being able to append now."""

    def serving(self, group: Key) -> bool:
        """Whether we own the group and may append now."""

    def blocked(self, group: Key) -> str | None:
        """Why nobody can acknowledge for the group now, as far as can be seen from here."""

    def suspects(self, broker: BrokerId) -> bool:
        """Whether we take a broker for dead."""

    def position(self, group: Key) -> int:
        """The sequence number the next operation will take."""

    def append(self, turn: Turn, group: Key, writes: Sequence[Write], span: int, then: Then | None = None) -> None:
        """Replicate writes as one operation, which takes `span` numbers from `position` on; only while `serving`.

        Operations of a group commit in the order of their appends, each as a whole or not at all. `then` runs once, in
        that order, in the turn that learns that all members have the operation; or never, and then ownership is lost.
        It never runs within `append`, nor after OwnershipLost of the group. There is no order between groups. Whoever
        appends may count on the operation in its own memory at once, and lets nothing of it leave before `then`.
        """

    def load_page(self, turn: Turn, group: Key, start: bytes, bytes_max: int, stop: bytes = b"") -> int:
        """Read bulk rows of a group we own from our store, those below `stop`; PageLoaded(group, token) follows, or
        OwnershipLost."""

    def resolve(self, turn: Turn, group: Key, name: str, *, birth: bool = True) -> None:
        """Ask the directory who holds a group; if nobody, it is born (or not) with the brokers closest to its key."""

    def retire(self, turn: Turn, group: Key) -> None:
        """End a group we own, rows and all; OwnershipLost with a memberless configuration follows."""

    def wake(self, turn: Turn, group: Key) -> None:
        """Traffic for a group reached us as a member although another owns it: see whether that one lives."""

    def forget(self, group: Key) -> None:
        """What we heard of a group was wrong."""

    def remind(self, turn: Turn, group: Key, broker: BrokerId) -> None:
        """We sent somebody to a broker for a group: see that it knows of one that was just born, and that it lives."""


class Groups(ReplicaGroups, Protocol):
    """The same for mail: each mailbox is a group, wherever its rows are."""

    def home(self, key: Key) -> Key:
        """The replica group that a mailbox is in."""

    def hosts(self, key: Key) -> bool:
        """Whether a mailbox of this key begins here, or nowhere: its shard is ours, and has no such mailbox."""

    def begin(self, turn: Turn, key: Key, name: str) -> None:
        """A mailbox begins here (`hosts` says that it may): it is ours when this returns."""


class Topics(Protocol):
    """What mail asks of topics: items and subscriptions are mailboxes, and more than that."""

    def gain(self, turn: Turn, group: Key, rows: Sequence[Row]) -> None:
        """We own a mailbox; it may be an item or a subscription."""

    def lose(self, turn: Turn, group: Key) -> None:
        """Another broker owns it."""

    def hand_out(self, turn: Turn, group: Key) -> None:
        """An item has something to hand on, or may have."""

    def publish(self, turn: Turn, conn: int, head: Deposit, body: bytes) -> None:
        """A client publishes a batch."""

    def arrived(self, turn: Turn, group: Key, head: Register | AskInterest | SummaryHeld) -> None:
        """A message for an item that we own and may write."""

    def answered(self, turn: Turn, head: Message) -> None:
        """An answer of an item, or to one."""

    def subscribe(self, turn: Turn, conn: int, client: tuple[str, int], head: Attach) -> None:
        """A reader brings an interest to a mailbox we own and may write."""

    def end(self, turn: Turn, conn: int, head: EndMailbox) -> None:
        """A client ends a mailbox we own and may write."""

    def withdrawn(self, turn: Turn, group: Key) -> bool:
        """A mailbox is about to end: whether nobody forwards to it (any more)."""

    def overflow(self, turn: Turn, group: Key) -> None:
        """A subscription that would rather end than wait is full."""

    def place(self, turn: Turn, conn: int, head: AskPlaced) -> None:
        """A client wants to know who holds an item."""

    def on_client_gone(self, conn: int, identity: tuple[str, int] | None) -> None:
        """A client's connection ended."""

    def lapsed(self, turn: Turn, head: Deposit) -> None:
        """A batch that was forwarded has outlived its time on the way, or will never be taken."""

    def next_deadline(self) -> Instant | None: ...
    def on_deadline(self, turn: Turn) -> None: ...
    def statistics(self) -> dict[str, int]: ...


class CausalOrder(Protocol):
    """What mail asks of causal order: seats and the map are groups, and no mailboxes."""

    groups: dict[Key, None]
    """Those we own."""

    def arrived(self, turn: Turn, key: Key, head: Postable, body: bytes) -> bool:
        """A message for the map or a seat; False when it must wait until we may write."""

    def answered(self, turn: Turn, head: Message) -> None:
        """An answer of the map, or to what a seat sent."""

    def relay(self, turn: Turn, peer: Peer, head: Relayed, body: bytes) -> None:
        """A second way leads over us, or ends here."""

    def submit(self, turn: Turn, conn: int, head: Deposit, body: bytes) -> None:
        """A client sends or publishes a batch in causal order."""

    def knows(self, turn: Turn, seat: str) -> bool:
        """Whether a seat (its group's name) is on the map; if not, as far as we know, the map is asked for."""

    def lapsed(self, turn: Turn, head: Deposit) -> None:
        """A batch of a seat has outlived its time on the way, or will never be taken."""

    def ask(self, turn: Turn, event: ClientMessage) -> None:
        """A client asks for its seat, or for this broker to join a domain."""

    def on_client_gone(self, conn: int) -> None:
        """A client's connection ended."""

    def flush(self, turn: Turn) -> None:
        """End of a turn."""

    def next_deadline(self) -> Instant | None: ...
    def on_deadline(self, turn: Turn) -> None: ...
    def statistics(self) -> dict[str, object]: ...


class Management(Protocol):
    """What mail asks of agents: their groups are no mailboxes."""

    def arrived(self, turn: Turn, key: Key, head: ToLandmark) -> bool:
        """A message for a landmark; False when it must wait until we may write."""

    def propose(self, turn: Turn, conn: int, head: ProposePolicy, body: bytes) -> None:
        """A client proposes places for the items of a domain."""


class Courier(Protocol):
    """Takes what one part has to say to wherever the other side is."""

    def answer(self, turn: Turn, origin: bytes, head: Message) -> None:
        """To the source broker of a batch."""

    def post(self, turn: Turn, mailbox: str, head: Postable, body: bytes = b"") -> None:
        """To the owner of a mailbox, over as few hops as we know."""

    def clogged(self, conn: int) -> bool:
        """Whether a connection takes nothing more for now."""


class FullConsumer(NamedTuple):
    """A consumer that takes nothing more for now, although more waits for it."""

    who: tuple[int, int]
    """Connection and consumer."""
    client: str
    unsettled: int
    mark: int
    """What it was handed first of all that it holds: as long as that stays, it has not come to an end with it."""


class Figures(NamedTuple):
    """How much is in the way at one place, at one moment."""

    name: str
    """A mailbox, or the broker for what it keeps of its clients."""
    stored: int
    """Messages, and below their bytes."""
    bytes: int
    full: bool = False
    """Whether it is near its bound."""
    readers: int = 0
    latency: Duration | None = None
    """How long the operation that was on its way at the last look took from then on, or has taken if it still is."""
    waiting: int = 0
    """Messages that somebody could take now."""
    held: tuple[FullConsumer, ...] = ()


class Gauge(Protocol):
    """What mail tells those who look for bottlenecks."""

    def read(self, turn: Turn) -> list[Figures]:
        """Of the next places in turn, each about once a second."""
