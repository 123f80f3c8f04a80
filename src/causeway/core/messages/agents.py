"""The management plane: what agents and the landmark of a domain tell each other. Tags 140 to 159.

The landmark of a domain is the owner of the group `causeway/agents/DOMAIN`, its term the group's epoch (ADR 0015). What
agents say is posted to that group, so it finds whoever is landmark now; what the landmark says goes to brokers.
"""

from __future__ import annotations

import enum

import msgspec

from causeway.types import BrokerId, Duration, Key, Peer


class AgentCard(msgspec.Struct, frozen=True, array_like=True):
    """What a broker says of itself to its domain."""

    peer: Peer
    spare: bool
    """It was started to hold no seat until one is empty."""
    capability: int
    """What it can compute, 1000 is usual: who is most capable is landmark."""
    capacity: int
    """Messages a second that it sustains; 0 while it has not measured."""
    fitness: int
    """How well its machine meets the needs of a broker, in thousandths: the fittest spare takes an empty seat."""
    home: bool = True
    """Whether this is the first of its domains."""
    leaving: bool = False
    """It goes for good: it is to be forgotten, and its seat with it."""


class SeatHolder(msgspec.Struct, frozen=True, array_like=True):
    """Who holds a seat of the domain."""

    seat: str
    """The broker it belongs to."""
    holder: BrokerId
    since: int
    """Version of the directory that said so first."""
    home: bool = True
    """Whether it was the first domain of the broker it belongs to: a seat is given items in one domain only."""


class Announce(msgspec.Struct, frozen=True, array_like=True, tag=140):
    """An agent to its landmark: I am here, or I go. Repeated until the directory says so, on a change, and slowly for
    ever."""

    domain: str
    card: AgentCard
    version: int
    """Of the directory that it holds: the landmark answers when it has a later one."""
    policy: int = 0
    """Likewise of the policy for items."""


class DomainDirectory(msgspec.Struct, frozen=True, array_like=True, tag=141):
    """The landmark to its agents: who is there, and who holds which seat."""

    domain: str
    term: int
    version: int
    landmark: BrokerId
    agents: tuple[AgentCard, ...]
    seats: tuple[SeatHolder, ...]


class LinkReport(msgspec.Struct, frozen=True, array_like=True, tag=142):
    """An agent to its landmark: my link to a fellow is down, or up again."""

    domain: str
    by: BrokerId
    about: BrokerId
    up: bool


class Holding(msgspec.Struct, frozen=True, array_like=True):
    """A group and who holds it, as its owner reports."""

    group: Key
    name: str
    epoch: int
    owner: BrokerId
    members: tuple[BrokerId, ...]
    """None when it has ended."""


class Holdings(msgspec.Struct, frozen=True, array_like=True, tag=143):
    """An agent to its landmark: groups of mine that changed; queues, subscriptions and items alike."""

    domain: str
    by: BrokerId
    term: int
    """Of the landmark they are meant for."""
    groups: tuple[Holding, ...]


class Measure(msgspec.Struct, frozen=True, array_like=True, tag=144):
    """The landmark to an agent: how far is it from you to these?"""

    domain: str
    about: tuple[BrokerId, ...]


class Distances(msgspec.Struct, frozen=True, array_like=True, tag=145):
    """An agent to its landmark: round trips that it has measured."""

    domain: str
    by: BrokerId
    trips: tuple[tuple[BrokerId, Duration], ...]


class BottleneckKind(enum.IntEnum):
    """What falls behind."""

    QUEUE = 1
    """More comes than goes, or it is full."""
    LATENCY = 2
    """Operations take long to be on all copies."""
    CONSUMER = 3
    """A consumer holds all that it may for long, and more waits."""


class Bottleneck(msgspec.Struct, frozen=True, array_like=True):
    """One thing that falls behind at one broker."""

    about: str
    """A mailbox (a subscription's or an item's too), or the broker itself."""
    kind: int
    """BottleneckKind."""
    note: str
    """The figures, for people."""
    lasting: Duration
    """Since it was found, by the clock of its finder."""


class Bottlenecks(msgspec.Struct, frozen=True, array_like=True, tag=148):
    """An agent to its landmark: all that falls behind at my broker; nothing else does any more.

    Told when it changes, and repeated while there is any: what is not repeated is forgotten.
    """

    domain: str
    by: BrokerId
    found: tuple[Bottleneck, ...]


class ItemRates(msgspec.Struct, frozen=True, array_like=True, tag=146):
    """An agent to its landmark: what was published to the items it owns."""

    domain: str
    by: BrokerId
    span: Duration
    """So long it was counted."""
    counts: tuple[tuple[str, int], ...]
    """Messages by item; none of those to which nothing was published twice in a row."""


class ItemPolicy(msgspec.Struct, frozen=True, array_like=True, tag=147):
    """The landmark to its agents: who should hold which item, also when brokers fail. The body is a PlannedItems."""

    domain: str
    term: int
    version: int
    """Of the directory that said so first."""
    landmark: BrokerId


class ProposePolicy(msgspec.Struct, frozen=True, array_like=True, tag=150):
    """A client to the landmark: place your items so. The body is a PlannedItems."""

    token: int
    domain: str


class PolicyTaken(msgspec.Struct, frozen=True, array_like=True, tag=151):
    """The landmark to that client: it is on all copies, and agents go by it; or it is not, and why."""

    token: int
    domain: str
    version: int = 0
    """Of the directory that said so first."""
    code: int = 0
    detail: str = ""


AgentMessage = DomainDirectory | Measure | ItemPolicy | ProposePolicy | PolicyTaken
"""From the landmark to a broker, and between it and a client."""
ToLandmark = Announce | LinkReport | Holdings | Distances | ItemRates | Bottlenecks
"""Posted to the domain's group."""
