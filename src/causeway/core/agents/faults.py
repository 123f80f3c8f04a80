"""What is wrong with a message between agents that could be decoded: what passes can be kept and written to rows."""

from __future__ import annotations

from collections.abc import Sequence

from causeway.core.messages import (
    AgentCard,
    Announce,
    BottleneckKind,
    Bottlenecks,
    Distances,
    DomainDirectory,
    Holding,
    Holdings,
    ItemPolicy,
    ItemRates,
    LinkReport,
    Measure,
    Message,
    ProposePolicy,
    SeatHolder,
)
from causeway.core.messages.soundness import Rules, fault_by, peer_fault
from causeway.core.placing import NOBODY, PlannedItems
from causeway.domains import check_domain
from causeway.domains.limits import (
    AGENTS_PER_DOMAIN_MAX,
    BOTTLENECK_NOTE_BYTES_MAX,
    BOTTLENECKS_PER_BROKER_MAX,
    HOLDINGS_AT_ONCE_MAX,
    SEATS_PER_DOMAIN_MAX,
)
from causeway.errors import ConfigError
from causeway.limits import CAPABILITY_MAX, CAPACITY_MAX, EPOCH_MAX, GROUP_MEMBERS_MAX, ID_MAX
from causeway.names import check_name, check_seat
from causeway.topics import is_ordinary_item
from causeway.topics.limits import TOPIC_ITEMS
from causeway.types import KEY_BYTES, SECOND, Duration

FITNESS_MAX = 1000
TRIP_MAX: Duration = 3600 * SECOND


def agent_fault(head: Message) -> str | None:
    """Of what agents and landmarks say; None also for messages about anything else."""
    return fault_by(_RULES, head)


def card_fault(card: AgentCard) -> str | None:
    """Of what a broker says of itself."""
    try:
        check_seat("name", card.peer.name)
    except ConfigError as error:
        return str(error)
    return (
        peer_fault(card.peer)
        or _number_fault("capability", card.capability, 1, CAPABILITY_MAX)
        or _number_fault("capacity", card.capacity, 0, CAPACITY_MAX)
        or _number_fault("fitness", card.fitness, 0, FITNESS_MAX)
    )


def holder_fault(seat: SeatHolder) -> str | None:
    """Of who holds a seat."""
    try:
        check_seat("seat", seat.seat)
    except ConfigError as error:
        return str(error)
    return _broker_fault("holder", seat.holder) or _number_fault("since", seat.since, 0, ID_MAX)


def holding_fault(held: Holding) -> str | None:
    """Of who holds a group."""
    try:
        check_name("groups.name", held.name)
    except ConfigError as error:
        return str(error)
    return (
        _broker_fault("groups.group", held.group)
        or _number_fault("groups.epoch", held.epoch, 0, EPOCH_MAX)
        or _count_fault("groups.members", held.members, GROUP_MEMBERS_MAX)
        or next(filter(None, (_broker_fault("groups.members", m) for m in (held.owner, *held.members))), None)
    )


def plan_fault(plan: PlannedItems) -> str | None:
    """Of who should hold which item: what passes can be looked up."""
    items, seats = len(plan.items), len(plan.brokers)
    try:
        for seat in plan.brokers:
            check_seat("brokers", seat)
    except ConfigError as error:
        return str(error)
    changes = [*(case.changed for case in plan.cases), plan.spared.changed]
    fault = (
        _count_fault("items", plan.items, TOPIC_ITEMS)
        or _count_fault("brokers", plan.brokers, SEATS_PER_DOMAIN_MAX)
        or _count_fault("cases", plan.cases, seats * (seats + 1) // 2)
        or _count_fault("risks_after", plan.risks_after, seats)
        or next(
            (f"items: {name!r} is not the name of an item" for name in plan.items if not is_ordinary_item(name)), None
        )
        or next(filter(None, (_count_fault("changed", changed, items) for changed in changes)), None)
    )
    if fault is not None:
        return fault
    rows = (plan.risks, *plan.risks_after)
    if not len(plan.owners) == len(plan.mirrors) == items or any(len(row) != seats for row in rows):
        return "owners and mirrors must have one entry per item, risks one per broker"
    placings = [placing for changed in changes for placing in changed]
    placed = [*plan.owners, *plan.mirrors, *(seat for _, owner, mirror in placings for seat in (owner, mirror))]
    numbers_of_items = (item for item, _, _ in placings)
    spared = plan.spared.brokers
    if not all(NOBODY <= seat < seats for seat in (*placed, *spared)) or not all(
        0 <= i < items for i in numbers_of_items
    ):
        return "a broker or an item has a number that nobody has"
    return None


def _number_fault(field: str, number: int, least: int, most: int) -> str | None:
    return None if least <= number <= most else f"{field}={number}: must lie in {least}..{most}"


def _broker_fault(field: str, broker: bytes) -> str | None:
    return None if len(broker) == KEY_BYTES else f"{field} has {len(broker)} bytes; must be {KEY_BYTES}"


def _count_fault(field: str, given: Sequence[object], most: int) -> str | None:
    return None if len(given) <= most else f"{field}: {len(given)} of them; at most {most}"


def _announce(head: Announce) -> str | None:
    check_domain("domain", head.domain)
    return (
        card_fault(head.card)
        or _number_fault("version", head.version, 0, ID_MAX)
        or _number_fault("policy", head.policy, 0, ID_MAX)
    )


def _rates(head: ItemRates) -> str | None:
    check_domain("domain", head.domain)
    fault = (
        _broker_fault("by", head.by)
        or _number_fault("span", head.span, 1, TRIP_MAX)
        or _count_fault("counts", head.counts, TOPIC_ITEMS)
    )
    faults = (_number_fault("counts", count, 0, ID_MAX) for _, count in head.counts)
    return fault or next(filter(None, faults), None)


def _policy(head: ItemPolicy) -> str | None:
    check_domain("domain", head.domain)
    return (
        _number_fault("term", head.term, 0, EPOCH_MAX)
        or _number_fault("version", head.version, 0, ID_MAX // 2)
        or _broker_fault("landmark", head.landmark)
    )


def _proposal(head: ProposePolicy) -> str | None:
    check_domain("domain", head.domain)
    return None


def _directory(head: DomainDirectory) -> str | None:
    check_domain("domain", head.domain)
    fault = (
        _number_fault("term", head.term, 0, EPOCH_MAX)
        or _number_fault("version", head.version, 0, ID_MAX // 2)
        or _broker_fault("landmark", head.landmark)
        or _count_fault("agents", head.agents, AGENTS_PER_DOMAIN_MAX)
        or _count_fault("seats", head.seats, SEATS_PER_DOMAIN_MAX)
    )
    faults = (*map(card_fault, head.agents), *map(holder_fault, head.seats))
    return fault or next(filter(None, faults), None)


def _link_report(head: LinkReport) -> str | None:
    check_domain("domain", head.domain)
    return _broker_fault("by", head.by) or _broker_fault("about", head.about)


def _holdings(head: Holdings) -> str | None:
    check_domain("domain", head.domain)
    fault = (
        _broker_fault("by", head.by)
        or _number_fault("term", head.term, 0, EPOCH_MAX)
        or _count_fault("groups", head.groups, HOLDINGS_AT_ONCE_MAX)
    )
    return fault or next(filter(None, map(holding_fault, head.groups)), None)


def _measure(head: Measure) -> str | None:
    check_domain("domain", head.domain)
    return _count_fault("about", head.about, AGENTS_PER_DOMAIN_MAX)


def _distances(head: Distances) -> str | None:
    check_domain("domain", head.domain)
    fault = _broker_fault("by", head.by) or _count_fault("trips", head.trips, AGENTS_PER_DOMAIN_MAX)
    faults = (_broker_fault("trips", b) or _number_fault("trips", trip, 0, TRIP_MAX) for b, trip in head.trips)
    return fault or next(filter(None, faults), None)


def _bottlenecks(head: Bottlenecks) -> str | None:
    check_domain("domain", head.domain)
    fault = _broker_fault("by", head.by) or _count_fault("found", head.found, BOTTLENECKS_PER_BROKER_MAX)
    if fault is not None:
        return fault
    for one in head.found:
        check_name("found.about", one.about)
        fault = (
            _number_fault("found.kind", one.kind, min(BottleneckKind), max(BottleneckKind))
            or _number_fault("found.lasting", one.lasting, 0, ID_MAX)
            or _number_fault(
                "found.note (bytes)", len(one.note.encode("utf-8", "surrogatepass")), 0, BOTTLENECK_NOTE_BYTES_MAX
            )
        )
        if fault is not None:
            return fault
    return None


_RULES: Rules = {
    Announce: _announce,
    DomainDirectory: _directory,
    LinkReport: _link_report,
    Holdings: _holdings,
    Measure: _measure,
    Distances: _distances,
    ItemRates: _rates,
    ItemPolicy: _policy,
    ProposePolicy: _proposal,
    Bottlenecks: _bottlenecks,
}
