"""Topics: what subscriptions, items and source brokers say about interest. Tags 100 to 109.

A topic's batches are Deposits to its item's mailbox; a subscription is a mailbox with an Interest (ADR 0008).
"""

from __future__ import annotations

import msgspec

from causeway.names import HISTORY_PREFIX, SHARED_PREFIX
from causeway.topics import critical_part
from causeway.types import Duration, Instant, Peer, Span


class Published(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a batch was when it was published; from its item on it travels under the item's numbers."""

    topic: str
    """In its canonical form; empty for what was sent to a mailbox in causal order."""
    source: str = ""
    """Who published it; empty on its way to the item or seat, where the batch itself says so."""
    incarnation: int = 0
    stream: int = 0
    first: int = 0
    """Id and (below) number in the item of the first message of the batch that this one was taken from."""
    number: int = 0
    picked: tuple[Span, ...] = ()
    """A selector took these runs of that batch; empty when it took all from the first on."""
    at: Instant = 0
    """When the item took it."""

    def offset_of(self, index: int) -> int:
        """Where a message of this batch was in the one that it was taken from."""
        for first, last in self.picked:
            if index <= last - first:
                return first + index
            index -= last - first + 1
        return index

    def ids(self, count: int, start: int = 0) -> list[Span]:
        """What its publisher calls so many messages of this batch from `start` on: runs of ids."""
        if not self.picked:
            return [(self.first + start, self.first + start + count - 1)]
        found: list[Span] = []
        for first, last in self.picked:
            first += start
            start = max(0, first - last - 1)
            taken = min(last - first + 1, count)
            if taken > 0:
                found.append((self.first + first, self.first + first + taken - 1))
                count -= taken
        return found

    def without(self, count: int) -> Published:
        """The same for a batch without its first `count` messages."""
        if not count:
            return self
        if not self.picked:
            return msgspec.structs.replace(self, first=self.first + count, number=self.number + count)
        start = self.offset_of(count)
        left = tuple((max(first, start), last) for first, last in self.picked if last >= start)
        return msgspec.structs.replace(self, picked=left)


class Interest(msgspec.Struct, frozen=True, array_like=True):
    """What a subscription wants."""

    pattern: str
    """In its canonical form."""
    selector: str = ""
    """Only messages that it matches; empty for all."""
    no_local: str = ""
    """Nothing of the application of this id (name:incarnation)."""
    overflow: int = 0
    """Overflow: what happens when the subscription's store is full."""
    bytes_max: int = 0
    """Bound of its store; 0 for the broker's own."""
    keep: Duration = 0
    """A history: messages end after so long, read or not; 0 for a subscription."""
    retained: bool = True
    """Whether it begins with the retained messages of its topics."""
    replay: bool = False
    """Whether a history must hold everything older before the subscription counts as begun."""
    seat: str = ""
    """In causal order: the seat that hands on what is published so; empty for items, which hand on all else."""

    def is_lone(self, mailbox: str) -> bool:
        """Whether a subscription that wants this has one mailbox, although its topics may be critical."""
        return self.replay or mailbox.startswith((SHARED_PREFIX, HISTORY_PREFIX))

    def has_twin(self, mailbox: str) -> bool:
        """Whether a subscription that wants this reads two ways, with two mailboxes."""
        return not self.seat and critical_part(self.pattern) is not None and not self.is_lone(mailbox)


class Register(msgspec.Struct, frozen=True, array_like=True, tag=100):
    """Owner of a subscription to the owner of an item: forward what it wants from now on, or (None) nothing more."""

    item: str
    mailbox: str
    version: int
    """Rises with every change of the subscription: what comes late changes nothing."""
    interest: Interest | None
    origin: bytes
    """The subscription's broker, where the answer goes."""


class Registered(msgspec.Struct, frozen=True, array_like=True, tag=101):
    """The item forwards so; from `number` on, and `history` holds what came before, if anything does."""

    item: str
    mailbox: str
    version: int
    number: int = 0
    history: str = ""
    code: int = 0
    detail: str = ""


class AskInterest(msgspec.Struct, frozen=True, array_like=True, tag=102):
    """A source broker to the owner of an item: is anybody interested, and in what?"""

    item: str
    origin: bytes
    asked: int = -1
    """Says nothing to the owner, who repeats it: which question a summary answers."""


class Summary(msgspec.Struct, frozen=True, array_like=True, tag=103):
    """All that anybody wants of an item, perhaps more, never less; true for `lease` after it was asked for.

    One that nobody asked for (`asked` is -1) says what has changed, and no earlier lease becomes longer by it.
    """

    item: str
    epoch: int
    version: int
    patterns: tuple[str, ...]
    lease: Duration
    asked: int = -1


class SummaryHeld(msgspec.Struct, frozen=True, array_like=True, tag=104):
    """The source broker goes by this summary from now on."""

    item: str
    epoch: int
    version: int
    origin: bytes


class EndMailbox(msgspec.Struct, frozen=True, array_like=True, tag=105):
    """A client: end this subscription or private mailbox, with all that is in it; or the topics of an ordinary one."""

    mailbox: str
    token: int
    delete: bool = False
    """End an ordinary mailbox itself, if it is empty and nobody reads it."""


class MailboxEnded(msgspec.Struct, frozen=True, array_like=True, tag=106):
    """It has ended, and nobody forwards to it any more."""

    mailbox: str
    token: int
    existed: bool = True
    """False when there was nothing to end."""


class ItemPlaced(msgspec.Struct, frozen=True, array_like=True, tag=107):
    """A broker to its client: who holds an item. Said when the client first uses it, and again when that changes."""

    item: str
    epoch: int
    """Rises with every change: the highest one counts, whoever says it."""
    owner: Peer
    mirror: Peer | None = None
    """The copy that takes over first."""
    domain: str = ""
    """Of the owner, as far as this broker knows."""
    token: int = 0
    """Of the question, if there was one."""


class AskPlaced(msgspec.Struct, frozen=True, array_like=True, tag=108):
    """A client: who holds this item? From now on it is told of changes too."""

    item: str
    token: int


TopicMessage = (
    Register | Registered | AskInterest | Summary | SummaryHeld | EndMailbox | MailboxEnded | ItemPlaced | AskPlaced
)
"""About topics, whoever says it."""
