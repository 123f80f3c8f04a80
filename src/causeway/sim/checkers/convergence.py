"""Convergence: once everything is healed, the cluster is what it should be; and why not, in words, while it is not.

The ring is compared with brute force over all brokers; groups are taken from what brokers report about themselves.
"""

from __future__ import annotations

from typing import Any

from causeway.core.agents.choosing import VOTERS_MAX
from causeway.core.groups.registry import ROOT_NAME
from causeway.core.node import Node
from causeway.names import agents_name, is_agents
from causeway.sim.cluster import Broker, Cluster
from causeway.sim.faults import Options
from causeway.topics import is_ordinary_item
from causeway.types import BrokerId, Key, key_of

RING = 1 << 128
SAMPLES = 32
"""Keys looked up besides those of the brokers and the mailboxes."""


def distance(a: bytes, b: bytes) -> int:
    """Numerical distance on the ring."""
    gap = abs(int.from_bytes(a, "big") - int.from_bytes(b, "big"))
    return min(gap, RING - gap)


def closest(brokers: list[Broker], key: Key) -> Broker:
    """Who is responsible for a key, by brute force; ties go to the smaller id."""
    return min(brokers, key=lambda broker: (distance(broker.id, key), broker.id))


class Convergence:
    """Looks at the brokers of a cluster from outside."""

    def __init__(self, cluster: Cluster, options: Options) -> None:
        self.cluster = cluster
        self.options = options

    def pending(self) -> str | None:
        """Why the cluster is not what it should be, None when it is."""
        return self._absent() or self._ring() or self.groups_whole()

    def unhealthy(self) -> str | None:
        """Why `causeway status` would not exit with 0, None when it would: then any one broker may be lost."""
        absent = self._absent()
        if absent is not None:
            return absent
        latest: dict[str, dict[str, Any]] = {}
        for broker in self.cluster.members():
            for group in self._groups_of(broker):
                known = latest.get(group["name"])
                if known is None or (group["epoch"], group["serving"]) > (known["epoch"], known["serving"]):
                    latest[group["name"]] = group
        for name, group in latest.items():
            if not group["serving"]:
                return f"group {name} is not served"
            if group["exposed"]:
                return f"group {name} would stop with the next broker that fails"
        return None if latest else "there is no group"

    def _absent(self) -> str | None:
        for broker in self.cluster.members():
            if not broker.up:
                return f"{broker.name} is down"
            if broker.leaving:
                return f"{broker.name} is leaving and has not left"
            if not self._statistics(broker)["active"]:
                return f"{broker.name} has not joined"
        return None

    def groups_whole(self) -> str | None:
        """Why not every group is whole (all copies complete, in one epoch, a voter to spare); None when all are."""
        brokers = self.cluster.members()
        for broker in brokers:
            if not broker.up:
                return f"{broker.name} is down"
        latest: dict[str, dict[str, Any]] = {}
        members: dict[str, dict[str, int]] = {}
        for broker in brokers:
            for group in self._groups_of(broker):
                name = group["name"]
                members.setdefault(name, {})[broker.name] = group["epoch"]
                if name not in latest or group["epoch"] > latest[name]["epoch"]:
                    latest[name] = group
        for name, group in latest.items():
            reason = self._whole(name, group, members[name], len(brokers))
            if reason is not None:
                return reason
        return None if latest else "there is no group"

    def in_one_hand(self, name: str) -> bool:
        """Whether all brokers that know a group are up and see it in one epoch, served by its owner."""
        known = {b.name: g for b in self.cluster.members() if b.up for g in self._groups_of(b) if g["name"] == name}
        owner = known.get(next(iter(known.values()))["owner"]) if known else None
        return (
            owner is not None
            and bool(owner["serving"])
            and all(broker.up for broker in self.cluster.members())
            and len({group["epoch"] for group in known.values()}) == 1
        )

    def _groups_of(self, broker: Broker) -> list[dict[str, Any]]:
        groups: list[dict[str, Any]] = self._statistics(broker)["groups"]
        return groups

    def undrained(self) -> str | None:
        """Which mailbox or which source broker still holds messages."""
        for broker in self.cluster.members():
            statistics = self._statistics(broker)
            if statistics["outbox"]["batches"]:
                return f"{broker.name} still keeps {statistics['outbox']} for senders"
            for seat in statistics["causal"]["seats"]:
                if seat["held_count"] or seat["waiting"]:
                    return f"seat {seat['seat']} on {broker.name} holds {seat['held']} and waits with {seat['waiting']}"
            for mailbox in statistics["mailboxes"]:
                for what in ("stored", "volatile", "prepared"):
                    if mailbox[what]:
                        return f"mailbox {mailbox['name']} on {broker.name} still has {what}={mailbox[what]}"
        return None

    def seated(self) -> bool:
        """Whether all brokers that began sit in their domains, and all of a domain know each other."""
        seating = self.cluster.seating
        first = self.cluster.brokers[: self.options.brokers]
        for broker in first:
            if not broker.up and not broker.gone:
                return False
            known: dict[str, list[str]] = self._statistics(broker)["causal"]["domains"] if broker.up else {}
            for domain in seating[broker.name] if broker.up else ():
                if not all(domain not in seating[one.name] or one.name in known.get(domain, ()) for one in first):
                    return False
        return True

    def registrations(self) -> int:
        """How many subscriptions all items together know."""
        return sum(self._statistics(broker)["topics"]["subscriptions"] for broker in self.cluster.members())

    def _whole(self, name: str, group: dict[str, Any], epochs: dict[str, int], brokers: int) -> str | None:
        wanted = self._wanted(name, group["owner"], brokers)
        epoch = group["epoch"]
        if len(group["members"]) != wanted:
            return f"group {name} has members {group['members']} in epoch {epoch}, wanted {wanted}"
        if group["incomplete"]:
            return f"group {name} lacks rows at {group['incomplete']} in epoch {epoch}"
        for member in group["members"]:
            if epochs.get(member) != epoch:
                return f"group {name} is in epoch {epoch}, its member {member} in {epochs.get(member)}"
        owner = next((b for b in self.cluster.members() if b.name == group["owner"]), None)
        if owner is None:
            return f"group {name} is owned by {group['owner']}, which has left"
        own = next(g for g in self._statistics(owner)["groups"] if g["name"] == name)
        if not own["serving"]:
            return f"group {name} is not served by its owner {owner.name}"
        if own["exposed"]:
            return f"group {name} would stop with the next broker that fails"
        return None

    def _wanted(self, name: str, owner: str, brokers: int) -> int:
        """How many copies a group should have."""
        wanted = min(self.options.root_copies if name == ROOT_NAME else self.options.copies, brokers)
        if is_agents(name):  # all agents of a domain, and of small ones others as well
            seated = sum(name == agents_name(d) for b in self.cluster.members() for d in self.cluster.seating[b.name])
            return max(wanted, min(seated, VOTERS_MAX))
        if is_ordinary_item(name):  # an item that a policy places has its mirror, also where one copy was asked for
            machine = next((b.machine for b in self.cluster.members() if b.name == owner), None)
            placed = machine._agents.wanted(name) if isinstance(machine, Node) else None
            return max(wanted, len(placed or ()))
        return wanted

    def _ring(self) -> str | None:
        brokers = self.cluster.members()
        ids: dict[BrokerId, Broker] = {broker.id: broker for broker in brokers}
        keys = [*ids, *(key_of(f"sample-{n}") for n in range(SAMPLES))]
        for key in keys:
            right = closest(brokers, key)
            for broker in brokers:
                machine = broker.machine
                assert isinstance(machine, Node)
                told = machine._overlay.responsible(key)
                if told.id not in ids:
                    return f"{broker.name} counts on {told.name}, which is not there"
                if len(brokers) <= 16 and told.id != right.id:
                    return f"{broker.name} thinks {told.name} is responsible for a key of {right.name}"
        return None

    def _statistics(self, broker: Broker) -> dict[str, Any]:
        assert broker.machine is not None
        return broker.machine.statistics()
