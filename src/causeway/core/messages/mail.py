"""Mailboxes: what clients, source brokers and owners say about messages. Tags 60 to 79, 90 to 99, and 10.

Routed has tag 10, among those of the overlay, because the overlay's path carries it; it is declared here because it
encloses messages of this module. The body of Deposit, Deliver and Browsed is described in `wire.body`.
"""

from __future__ import annotations

import msgspec

from causeway.core.messages.agents import ToLandmark
from causeway.core.messages.causal import AskDomains, AskMark, Bind, Causal, Domains, DomainsHeld, TakeSeat
from causeway.core.messages.topics import AskInterest, Interest, Published, Register, SummaryHeld
from causeway.core.messages.transactions import TxAsk, TxDecide, TxPrepare
from causeway.types import Key, Peer, Span


# Sending -------------------------------------------------------------------------------------------------------
class Deposit(msgspec.Struct, frozen=True, array_like=True, tag=60, gc=False):
    """A batch on its way: client -> source broker -> (overlay) -> owner."""

    source: str
    incarnation: int
    dest: str
    stream: int
    """ServiceClass; ids run per (source, incarnation, dest, stream)."""
    first: int
    count: int
    follows: int
    """Last id before `first` that the source still wants delivered; ids between were given up."""
    flags: int
    priority: int
    """0..9, 4 is normal."""
    ttl: int
    """Nanoseconds left to live when this frame was sent; 0 = for ever."""
    origin: bytes = b""
    """The source broker, where acknowledgements go."""
    published: Published | None = None
    """Of a batch for a topic: `dest` is the topic's item, or a subscription."""
    delay: int = 0
    """Nanoseconds from now before which nobody gets it."""
    causal: Causal | None = None
    """Of a batch in causal order: `dest` is a seat."""


class Accepted(msgspec.Struct, frozen=True, array_like=True, tag=61, gc=False):
    """The acknowledgement of ids first..last, with the meaning of their class."""

    source: str
    incarnation: int
    dest: str
    stream: int
    first: int
    last: int
    delivered: bool = False
    """The application itself acknowledged; otherwise stored (or, express, in the owner's memory)."""
    unwanted: bool = False
    """Published, and nobody wants it: it went no further than the source broker. Of way 1 of a critical topic, also:
    somebody may be served by way 0 alone, so that this is no acknowledgement without that one's."""
    refused: int = 0
    """In causal order: these had their place, so nobody waits for them, but did not arrive; the code says why."""


class Rejected(msgspec.Struct, frozen=True, array_like=True, tag=62):
    """Not acknowledged, and why; a source may try again when the code is retriable."""

    source: str
    incarnation: int
    dest: str
    stream: int
    first: int
    last: int
    code: int
    detail: str


class Resend(msgspec.Struct, frozen=True, array_like=True, tag=63):
    """The owner misses what comes after `after`: an earlier batch was lost on the way."""

    source: str
    incarnation: int
    dest: str
    stream: int
    after: int


class Confirmed(msgspec.Struct, frozen=True, array_like=True, tag=64, gc=False):
    """Delivery confirmation: the application settled messages that were acknowledged as stored before."""

    source: str
    incarnation: int
    dest: str
    stream: int
    first: int
    last: int


# Consuming -----------------------------------------------------------------------------------------------------
class Attach(msgspec.Struct, frozen=True, array_like=True, tag=70):
    """A client wants messages of a mailbox; several consumers compete."""

    mailbox: str
    consumer: int
    """Chosen by the client, unique on its connection."""
    credit: int
    """How many messages it will hold unsettled."""
    selector: str = ""
    """Only messages that it matches; empty for all."""
    exclusive: bool = False
    """No consumer beside this one."""
    interest: Interest | None = None
    """The mailbox is a subscription: Attached comes when whoever publishes knows of it."""
    window: int = 0
    """How many of its credit it takes at first, until it says `Credit`; 0 for all."""
    again: bool = False
    """It was served before, and its process has not ended since."""


class Attached(msgspec.Struct, frozen=True, array_like=True, tag=71):
    """The consumer is known; messages may follow."""

    mailbox: str
    consumer: int
    numbers: tuple[tuple[str, int], ...] = ()
    """A subscription with `replay`: per item, from which of its numbers on messages come; what is older is history."""
    history: str = ""
    """The mailbox that keeps what is older; empty when nobody does."""
    fresh: bool = False
    """A subscription that begins with this."""
    twinned: bool = False
    """A subscription that has, had or may have a second mailbox for critical topics: who does not read that ends it."""
    window: int = 0
    """The window that was asked for is kept; 0 when there is none: the whole credit is used."""


class Moved(msgspec.Struct, frozen=True, array_like=True, tag=72):
    """The mailbox is served by `peer` (ask there), or by nobody yet (None: ask again soon; `code` says why)."""

    mailbox: str
    peer: Peer | None
    code: int = 0
    detail: str = ""


class Credit(msgspec.Struct, frozen=True, array_like=True, tag=65):
    """The consumer will hold so many messages unsettled from now on."""

    mailbox: str
    consumer: int
    credit: int


class Detach(msgspec.Struct, frozen=True, array_like=True, tag=73):
    """The consumer ends; what it held unsettled goes to others."""

    mailbox: str
    consumer: int


class Deliver(msgspec.Struct, frozen=True, array_like=True, tag=74, gc=False):
    """Messages for a consumer: numbers seq .. seq+count-1 in the mailbox."""

    mailbox: str
    consumer: int
    seq: int
    source: str
    incarnation: int
    stream: int
    first: int
    count: int
    flags: int
    priority: int
    deliveries: int
    """How often these messages were given back before."""
    at: int = 0
    """When the owner took them."""
    expires: int = 0
    """When they end; 0 for never."""
    published: Published | None = None


class Settle(msgspec.Struct, frozen=True, array_like=True, tag=75, gc=False):
    """The application is done with these messages (ranges of mailbox numbers)."""

    mailbox: str
    consumer: int
    spans: tuple[Span, ...]


class Settled(msgspec.Struct, frozen=True, array_like=True, tag=76, gc=False):
    """The settlement is on all copies: those messages will not come again. Not said of messages in memory only."""

    mailbox: str
    consumer: int
    spans: tuple[Span, ...]
    dead: tuple[Span, ...] = ()
    """These were given back too often before the settlement came: they are not settled, they are dead letters."""


class Return(msgspec.Struct, frozen=True, array_like=True, tag=77):
    """Negative acknowledgement: give these messages to somebody again, and count it."""

    mailbox: str
    consumer: int
    spans: tuple[Span, ...]


class Browse(msgspec.Struct, frozen=True, array_like=True, tag=78):
    """Look without taking: messages with mailbox numbers above `after`."""

    mailbox: str
    token: int
    after: int
    limit: int
    row: int = -1
    """Where `after` comes from an earlier answer: its `row`, so that the owner need not search."""
    selector: str = ""
    """Only messages that it matches; empty for all."""
    topics: tuple[str, ...] = ()
    """Only messages published on topics that one of these patterns matches; empty for all."""
    since: int = 0
    """Only messages that were taken at this instant or later."""
    until: int = 0
    """Only messages that were taken before this instant; 0 for all."""
    stop: int = 0
    """Only messages with lower mailbox numbers; 0 for all."""
    part: int = 0
    parts: int = 0
    """Only this one of so many parts of the mailbox, each of which has whole topics, and of what was sent to it whole
    senders; 0 for all."""


class BrowsedBatch(msgspec.Struct, frozen=True, array_like=True):
    """One stretch of a Browsed answer; its bytes are `size` bytes of the body."""

    seq: int
    source: str
    incarnation: int
    stream: int
    first: int
    count: int
    flags: int
    priority: int
    deliveries: int
    size: int
    at: int = 0
    expires: int = 0
    published: Published | None = None
    before: int = -1
    """How many messages the mailbox had stored, ever, before the first of these; -1 of such as are in memory only."""


class Browsed(msgspec.Struct, frozen=True, array_like=True, tag=79):
    """What was found; the body holds the batches' bodies one after the other."""

    mailbox: str
    token: int
    batches: tuple[BrowsedBatch, ...]
    done: bool
    """Nothing lies behind these."""
    after: int = -1
    """As it was asked: tells the answers to two questions under one token apart."""
    row: int = -1
    """The batch in which the next message would lie: to be given back with the next question."""
    through: int = -1
    """All messages up to this number were looked at: those that are not here do not match, or are gone."""
    end: int = -1
    """Every stored message that can be seen now has a number below, and every later one this or a higher one."""
    ever: int = 0
    """How many messages were stored below `end`, ever."""
    born: int = 0
    """Tells the mailbox from one of the same name that has ended: their numbers have nothing in common."""
    passed: int = 0
    """How many stored messages were looked at and are not here, because they were not asked for."""
    ever_through: int = -1
    """How many messages were stored up to `through`, ever; -1 if none of them was looked at."""


# Looking at a broker -------------------------------------------------------------------------------------------
class StatusRequest(msgspec.Struct, frozen=True, array_like=True, tag=90):
    """What is going on?"""

    token: int
    after: str = ""
    """Show mailboxes whose names come after this one: `next` of the answer before."""


class StatusReply(msgspec.Struct, frozen=True, array_like=True, tag=91):
    """JSON in the body; its `next` says where to ask on when not all mailboxes did fit."""

    token: int
    after: str = ""
    """Of the request: an answer that comes twice is not taken for the next page."""


class StoryRequest(msgspec.Struct, frozen=True, array_like=True, tag=92):
    """What happened to this message? Answered from the broker's recent trace by its driver."""

    token: int
    source: str
    incarnation: int
    dest: str
    stream: int
    id: int


class StoryReply(msgspec.Struct, frozen=True, array_like=True, tag=93):
    """Trace records in the body (msgpack list)."""

    token: int


class Find(msgspec.Struct, frozen=True, array_like=True, tag=94):
    """Which broker serves this mailbox? Answered by Moved."""

    mailbox: str


# On the way ----------------------------------------------------------------------------------------------------
Postable = (
    Deposit
    | Confirmed
    | TxPrepare
    | TxDecide
    | TxAsk
    | Register
    | AskInterest
    | SummaryHeld
    | TakeSeat
    | AskDomains
    | Domains
    | DomainsHeld
    | Bind
    | AskMark
    | ToLandmark
)
"""What is addressed to a mailbox, or another group, rather than to a broker."""


class Routed(msgspec.Struct, frozen=True, array_like=True, tag=10):
    """An envelope for the owner of `key`, sent on by every broker that knows better where that is."""

    key: Key
    mailbox: str
    hops: int
    head: Postable
    sender: Peer | None = None
    """Who posted it: the owner may never have heard of that broker, and is to answer it."""


MailMessage = (
    Deposit
    | Accepted
    | Rejected
    | Resend
    | Confirmed
    | Attach
    | Attached
    | Moved
    | Credit
    | Detach
    | Deliver
    | Settle
    | Settled
    | Return
    | Browse
    | Browsed
    | StatusRequest
    | StatusReply
    | StoryRequest
    | StoryReply
    | Find
    | Routed
)
"""About mail, whoever says it."""
