"""Settings as frozen structs: default, unit and bound beside each other. Nothing here reads files or environment."""

from __future__ import annotations

from typing import Final

import msgspec

from causeway.domains import check_domain
from causeway.domains.limits import DOMAINS_PER_SEAT_MAX
from causeway.errors import ConfigError
from causeway.limits import (
    CAPABILITY_MAX,
    CAPACITY_MAX,
    CONNECTIONS_MAX,
    ID_MAX,
    LAKE_BYTES_MAX,
    LAKE_BYTES_MIN,
    MAILBOX_STORED_BYTES_MAX,
    MAILBOX_VOLATILE_BYTES_MAX,
    MAILBOX_WINDOW_BYTES,
    MAILBOXES_MAX,
    SHARDS,
    SHARDS_MAX,
    WITNESSES_MAX,
)
from causeway.names import check_name, check_seat
from causeway.probes.needs import DEFAULT_PROBES, read_needs
from causeway.types import MICROSECOND, MILLISECOND, SECOND, Duration

LAKE_EVERY: Final[Duration] = 5 * SECOND
"""Of every writer of the lake that is not told otherwise, brokers and applications."""
TIMING_MAX: Final[Duration] = 3600 * SECOND
"""Of any time a broker waits for others: longer is a mistake in the unit."""

ALERT_MAX: Final[Duration] = 10 * MILLISECOND
"""Who answers later than that is asleep too."""


class BrokerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What one broker needs to know about itself."""

    name: str
    """Unique in the cluster; its hash is the broker's place on the ring."""
    host: str = "127.0.0.1"
    """Address to listen on, and the one that others are told."""
    port: int = 0
    """Port to listen on; 0 lets the system choose."""
    seeds: tuple[tuple[str, int], ...] = ()
    """Addresses of brokers to join through; any one that answers is enough."""
    founder: bool = False
    """Begin a new cluster when the store is empty and no seed answers as a member of one. Exactly one broker of a
    cluster is started so."""
    domains: tuple[str, ...] = ()
    """Domains to be seated in, in addition to those it joined before; two or more make it a router. Domains form a
    tree: what would close a cycle is refused. Without any it takes no part in causal order."""
    spare: bool = False
    """It holds no seat: it stands by in its domains, votes there, and takes the seat of a broker that fails."""
    paths: int = 1
    """Disjoint ways that a batch in causal order takes to the next seat, 1 to 3: more than one so that it is not late
    when a link or a broker between fails."""
    durability: str = "disk"
    """`disk`: acknowledged means on stable storage. `memory`: the paper's mode, copies in memory only."""
    copies: int = 3
    """K: members of a mailbox's replica group, its owner included."""
    root_copies: int = 5
    """Members of the group that holds the directory."""
    witnesses: int = 4
    """Brokers beside the copies of a mailbox that vote on who is in charge of it, if there are so many: with four, any
    three brokers may fail at once as long as a copy is left."""
    heartbeat: Duration = 250 * MILLISECOND
    """How often a broker looks at its links: a peer that was not heard of until three of these before the silence is
    over is asked for a sign of life, and news is passed on."""
    silence: Duration = 1500 * MILLISECOND
    """A peer that said nothing for so long is taken for dead. Simulation range 0.5 s to 3 s."""
    retry: Duration = 200 * MILLISECOND
    """First wait before an unanswered message is sent again; doubles up to 8 times this."""
    migrate_after: Duration = 1 * SECOND
    """How long the ring must prefer another group before a mailbox moves there."""
    rates_every: Duration = 5 * SECOND
    """How often it tells its landmark what is published to its items: a sample of the load that decides their place."""
    alert: Duration = 500 * MICROSECOND
    """So long after a message a broker looks for the next one before it sleeps, if its core is free and answers have
    come that fast before; 0 for never. Shorter round trips for processor time that nobody wants."""
    connections_max: int = CONNECTIONS_MAX
    """Clients it takes; one more is refused and told where else to go. Locators fill brokers in proportion to it."""
    capability: int = 0
    """What it can compute beside others, 1000 is usual; 0 lets it be measured when the broker starts."""
    capacity: int = 0
    """Messages per second that it sustains; 0 lets it be measured, when the broker starts and from then on."""
    probes: str = DEFAULT_PROBES
    """What it needs of its machine, PROBE=NEED or PROBE=NEED*WEIGHT: by this a spare scores itself, and the best one is
    promoted. What is not named does not count."""
    shards: int = SHARDS
    """Replica groups that share the mailboxes of the cluster, a power of two, or 0: each mailbox is a group of its own.
    The same at all brokers, for ever."""
    mailboxes_max: int = MAILBOXES_MAX
    """Of the whole cluster; what counts is the setting of the brokers that hold the directory."""
    deliveries_max: int = 5
    """A message given back so often goes to the dead-letter mailbox."""
    window_bytes: int = MAILBOX_WINDOW_BYTES
    """Bodies of stored messages that an owner keeps in memory per mailbox; the rest is read from its disk when due."""
    volatile_bytes_max: int = MAILBOX_VOLATILE_BYTES_MAX
    """Express bodies of one mailbox in its owner's memory; above it express sends are refused (MAILBOX_FULL)."""
    stored_bytes_max: int = MAILBOX_STORED_BYTES_MAX
    """Stored bodies of one mailbox; above it sends are refused (MAILBOX_FULL) until somebody consumes."""
    lake: str = ""
    """Folder of the trace lake: what happens to every batch is written there, for the data pipeline (docs/lake.md)."""
    lake_bytes_max: int = LAKE_BYTES_MAX
    """What the segments of one broker may take on disk; beyond it the oldest are deleted."""
    lake_every: Duration = LAKE_EVERY
    """How often a segment is finished, if anything has happened: so late the lake knows what is going on."""

    def check(self) -> BrokerConfig:
        """Return self, or raise a ConfigError that names the first wrong field."""
        check_name("name", self.name)
        if not 0 <= self.port <= 65535:
            raise ConfigError("port", self.port, "must lie in 0..65535 (0 lets the system choose)")
        if len(self.domains) > DOMAINS_PER_SEAT_MAX or len(set(self.domains)) < len(self.domains):
            raise ConfigError("domains", self.domains, f"must be at most {DOMAINS_PER_SEAT_MAX} different names")
        for domain in self.domains:
            check_domain("domains", domain)
            check_seat("name", self.name)
        if self.spare and not self.domains:
            raise ConfigError("spare", self.spare, "a spare stands by in domains; name at least one in `domains`")
        if not 1 <= self.paths <= 3:
            raise ConfigError("paths", self.paths, "must lie in 1..3")
        if self.durability not in ("disk", "memory"):
            raise ConfigError("durability", self.durability, "must be 'disk' or 'memory'")
        if not 1 <= self.copies <= 7:
            raise ConfigError("copies", self.copies, "must lie in 1..7")
        if not 0 <= self.witnesses <= WITNESSES_MAX:
            raise ConfigError("witnesses", self.witnesses, f"must lie in 0..{WITNESSES_MAX}")
        if not 1 <= self.root_copies <= 9:
            raise ConfigError("root_copies", self.root_copies, "must lie in 1..9")
        for name in ("heartbeat", "silence", "retry", "migrate_after", "rates_every", "lake_every"):
            if not MILLISECOND <= getattr(self, name) <= TIMING_MAX:
                raise ConfigError(name, getattr(self, name), "is in nanoseconds and must lie between 1 ms and 1 hour")
        if not 0 <= self.alert <= ALERT_MAX:
            raise ConfigError("alert", self.alert, "is in nanoseconds and must lie between 0 (never) and 10 ms")
        if self.silence < 2 * self.heartbeat:
            raise ConfigError("silence", self.silence, "must be at least twice the heartbeat")
        if not 1 <= self.connections_max <= CONNECTIONS_MAX:
            raise ConfigError("connections_max", self.connections_max, f"must lie in 1..{CONNECTIONS_MAX}")
        if not 0 <= self.capability <= CAPABILITY_MAX:
            raise ConfigError("capability", self.capability, f"must lie in 1..{CAPABILITY_MAX}, or be 0 to be measured")
        if not 0 <= self.capacity <= CAPACITY_MAX:
            raise ConfigError("capacity", self.capacity, f"must lie in 1..{CAPACITY_MAX}, or be 0 to be measured")
        read_needs(self.probes)
        if not 0 <= self.shards <= SHARDS_MAX or self.shards & (self.shards - 1):
            raise ConfigError("shards", self.shards, f"must be 0, or a power of two in 1..{SHARDS_MAX}")
        for name in ("mailboxes_max", "deliveries_max", "window_bytes", "volatile_bytes_max", "stored_bytes_max"):
            if not 1 <= getattr(self, name) <= ID_MAX:
                raise ConfigError(name, getattr(self, name), f"must lie in 1..{ID_MAX}")
        if not LAKE_BYTES_MIN <= self.lake_bytes_max <= ID_MAX:
            raise ConfigError("lake_bytes_max", self.lake_bytes_max, f"must be at least {LAKE_BYTES_MIN} bytes")
        return self
