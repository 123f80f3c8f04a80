"""Many brokers' own statistics, put together to one picture of the cluster. Pure.

Every broker reports what it knows of itself; a mailbox's line is its owner's, the one with the latest epoch. Keys
that a broker of another release leaves out count as nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from causeway.cli.landmarks import WatchedDomain, domain_lines
from causeway.local.health import latest_groups
from causeway.names import RESERVED_PREFIX, is_shard
from causeway.types import TWIN_PREFIX

_HIDDEN = (RESERVED_PREFIX, TWIN_PREFIX)
"""Begin the names of what people do not know: the brokers' own, and second mailboxes of subscriptions."""


class BrokerLine(msgspec.Struct, kw_only=True):
    """One broker, as `status` shows it."""

    name: str
    """As its configuration says; its address when it does not answer and is not of the local cluster."""
    address: str
    """host:port."""
    state: str
    """`active`; `joining` (it answers, and serves nothing yet); or `down` (with `error`)."""
    id: str = ""
    """Its place on the ring, in hexadecimal digits."""
    pid: int | None = None
    """Its process, if it belongs to the local cluster and lives."""
    cluster: str = ""
    """Of which cluster it is a part; two that differ never merge."""
    connections: int = 0
    """Clients connected to it."""
    connections_max: int = 0
    """Clients it takes at most."""
    peers: int = 0
    """Brokers it is connected to."""
    bypassed: dict[str, str] = {}
    """Brokers whose link to it is broken or slow, with the third broker that its messages to them go over."""
    leaves: int = 0
    """Its neighbours on the ring, at most 16."""
    owned: int = 0
    """Mailboxes it answers for."""
    copies: int = 0
    """Groups of others, mailboxes or shards, that it holds a copy of."""
    deposits: int = 0
    """Batches it took from applications since it started."""
    outbox_bytes: int = 0
    """What it keeps of them until their mailboxes' owners have acknowledged."""
    refusal: str = ""
    """Why it is not seated in the domains of its configuration."""
    error: str = ""
    """Why it could not be asked."""


class MailboxLine(msgspec.Struct, kw_only=True):
    """One mailbox, as its owner sees it."""

    name: str
    """The mailbox."""
    owner: str
    """The broker that acknowledges for it."""
    epoch: int
    """Rises with every change of owner or copies."""
    members: list[str]
    """The owner and the brokers with a copy."""
    incomplete: list[str] = []
    """Those of them that are still being filled; they take part in every write, and cannot take over."""
    serving: bool = False
    """Whether its owner may acknowledge now."""
    blocked: str = ""
    """Why it may not: which copies cannot be reached, and how many are needed."""
    exposed: bool = False
    """Whether the next broker that fails may stop it, until its copies are filled and its voters are replaced."""
    stored: int = 0
    """Messages on stable storage, not yet acknowledged by an application."""
    volatile: int = 0
    """Express messages in the owner's memory."""
    consumers: int = 0
    """Who reads it now."""
    unsettled: int = 0
    """Messages in their hands."""
    starved: bool = False
    """They wait, but its memory is full of messages that are delayed or that no selector wants; more lie on disk."""


class ClusterView(msgspec.Struct, kw_only=True):
    """Brokers in ring order, mailboxes by name, and who holds the directory."""

    brokers: list[BrokerLine]
    mailboxes: list[MailboxLine]
    root: dict[str, Any]
    agents: list[WatchedDomain] = []
    """Domains, as their landmarks and agents see them."""
    exposed: list[str] = []
    """Mailboxes and groups of the brokers' own that may stop with the next broker that fails."""

    @property
    def split(self) -> str:
        """Which brokers belong to which cluster, if there are several; then the mailboxes shown are of all of them."""
        clusters: dict[str, list[str]] = {}
        for line in self.brokers:
            if line.cluster:
                clusters.setdefault(line.cluster, []).append(line.name)
        if len(clusters) < 2:
            return ""
        named = "; ".join(f"{cluster}: {', '.join(names)}" for cluster, names in sorted(clusters.items()))
        return f"these brokers are of {len(clusters)} clusters, which never merge: {named}"

    @property
    def broken_links(self) -> list[str]:
        """Pairs of brokers whose link is broken or slow, each once, with the brokers between."""
        found: dict[tuple[str, str], dict[str, None]] = {}
        for line in self.brokers:
            for other, relay in line.bypassed.items():
                pair = (min(line.name, other), max(line.name, other))
                found.setdefault(pair, {})[relay] = None
        return [f"{a} - {b} (over {' and '.join(found[a, b])})" for a, b in sorted(found)]

    @property
    def healthy(self) -> bool:
        """Every broker is active, all are of one cluster, the directory has a holder, every mailbox is served (one that
        lost all copies only a landmark can name), every landmark can decide, and any one broker may fail."""
        active = all(line.state == "active" for line in self.brokers) and not self.split
        watched = not any(domain.blocked or domain.lost for domain in self.agents)
        served = all(line.serving for line in self.mailboxes)
        return active and watched and bool(self.root) and served and not self.exposed


def broker_line(report: Mapping[str, Any], *, address: str, pid: int | None = None) -> BrokerLine:
    """The line of a broker that answered."""
    name = str(report.get("broker", address))
    return BrokerLine(
        name=name,
        address=address,
        state="active" if report.get("active") else "joining",
        id=str(report.get("id", "")),
        pid=pid,
        cluster=str(report.get("cluster", "")),
        connections=int(report.get("connections", 0)),
        connections_max=int(report.get("connections_max", 0)),
        peers=len(report.get("peers", [])),
        bypassed={str(name): str(relay) for name, relay in report.get("bypassed", {}).items()},
        leaves=int(report.get("leaves", 0)),
        owned=len(owned_by(report)),
        copies=sum(1 for group in _groups(report) if group.get("owner") != name),
        deposits=int(report.get("deposits", 0)),
        outbox_bytes=int(report.get("outbox", {}).get("bytes", 0)),
        refusal=str(report.get("causal", {}).get("refusal", "")),
    )


def merge(lines: Iterable[BrokerLine], reports: Iterable[Mapping[str, Any]]) -> ClusterView:
    """Put the brokers' reports together."""
    reports = list(reports)
    latest = latest_groups(reports)
    mailboxes: dict[str, MailboxLine] = {}
    root: dict[str, Any] = {}
    for report in reports:
        theirs = report.get("root") or {}
        if theirs.get("epoch", 0) > root.get("epoch", -1):
            root = dict(theirs)
        for line in _mailbox_lines(report):
            known = mailboxes.get(line.name)
            if known is None or (line.epoch, line.serving) > (known.epoch, known.serving):
                mailboxes[line.name] = line
    for name, group in latest.items():
        if is_shard(name) and not group.get("serving"):  # then nobody can tell which mailboxes it has
            mailboxes[name] = _mailbox_line({"name": name}, group)
    return ClusterView(
        brokers=sorted(lines, key=lambda line: (line.id == "", line.id, line.name)),
        mailboxes=[mailboxes[name] for name in sorted(mailboxes)],
        root=root,
        agents=domain_lines(reports),
        exposed=sorted(name for name, group in latest.items() if group.get("exposed")),
    )


def busiest(reports: Mapping[str, Mapping[str, Any]]) -> str:
    """The broker that did most: batches it took from applications, and messages stored in mailboxes it owns."""

    def work(name: str) -> tuple[int, str]:
        report = reports[name]
        stored = sum(int(group.get("seq", 0)) for group in _groups(report) if group.get("owner") == name)
        return int(report.get("deposits", 0)) + stored, name

    return max(reports, key=work)


def owned_by(report: Mapping[str, Any]) -> list[str]:
    """Mailboxes that a broker owns, by its own word."""
    name = report.get("broker")
    return sorted(line.name for line in _mailbox_lines(report) if line.owner == name)


def _groups(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The replica groups of a broker that hold mailboxes which people know."""
    named = [(str(group.get("name")), group) for group in report.get("groups", [])]
    return [group for name, group in named if is_shard(name) or not name.startswith(_HIDDEN)]


def _mailbox_lines(report: Mapping[str, Any]) -> Iterator[MailboxLine]:
    """The mailboxes that a broker can name: those that it owns, and those that are groups of their own."""
    boxes: dict[str, list[Mapping[str, Any]]] = {}
    for box in report.get("mailboxes", []):
        boxes.setdefault(str(box.get("group", box.get("name"))), []).append(box)
    for group in _groups(report):
        name = str(group.get("name", ""))
        own = boxes.get(name, []) if group.get("owner") == report.get("broker") else []
        if not is_shard(name):
            own = own or [{"name": name}]
        yield from (_mailbox_line(box, group) for box in own if not str(box.get("name")).startswith(_HIDDEN))


def _mailbox_line(depth: Mapping[str, Any], group: Mapping[str, Any]) -> MailboxLine:
    return MailboxLine(
        name=str(depth.get("name", "")),
        owner=str(group.get("owner", "")),
        epoch=int(group.get("epoch", 0)),
        members=[str(member) for member in group.get("members", [])],
        incomplete=[str(member) for member in group.get("incomplete", [])],
        serving=bool(group.get("serving")),
        blocked=str(group.get("blocked") or ""),
        exposed=bool(group.get("exposed")),
        stored=int(depth.get("stored", 0)),
        volatile=int(depth.get("volatile", 0)),
        consumers=int(depth.get("consumers", 0)),
        unsettled=int(depth.get("unsettled", 0)),
        starved=bool(depth.get("starved")),
    )
