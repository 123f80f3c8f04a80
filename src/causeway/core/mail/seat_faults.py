"""What is wrong with a message about causal order that could be decoded: seats, domains, bindings, clocks.

Owns: the rules, as `faults` does for mail. Must not know: who asks, and what is answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from causeway.core.messages import (
    AskDomains,
    AskMark,
    Bind,
    Bound,
    Domains,
    DomainsHeld,
    Message,
    Relayed,
    SeatTaken,
    TakeSeat,
)
from causeway.core.messages.soundness import Rules, fault_by
from causeway.domains import check_domain
from causeway.domains.limits import DOMAINS_PER_SEAT_MAX, SEATS_MAX, SEATS_PER_DOMAIN_MAX
from causeway.errors import ConfigError
from causeway.limits import ID_MAX, NAMES_REMEMBERED_MAX
from causeway.names import check_mailbox, check_seat, is_seat
from causeway.types import KEY_BYTES, SEAT_PREFIX

CODE_MAX = 0xFFFF


@lru_cache(maxsize=NAMES_REMEMBERED_MAX)
def check_seat_group(field: str, group: str) -> str:
    """The name of a seat's group, or a ConfigError. A bad name raises, hence is never remembered."""
    if not is_seat(group):
        raise ConfigError(field, group, f"must be a seat, {SEAT_PREFIX}BROKER")
    check_seat(field, group[len(SEAT_PREFIX) :])
    return group


_domain = lru_cache(maxsize=NAMES_REMEMBERED_MAX)(check_domain)


def seat_fault(field: str, group: str) -> str | None:
    """Of the name of a seat's group."""
    try:
        check_seat_group(field, group)
    except ConfigError as error:
        return str(error)
    return None


def seating_fault(head: Message) -> str | None:
    """Of what brokers say about the map of domains and to seats; None also for messages about anything else."""
    return fault_by(_RULES, head)


def stamp_fault(stamp: Sequence[int]) -> str | None:
    """Of the cells of a clock that come with a batch: row, column, value, and so on."""
    if len(stamp) % 3 or len(stamp) > 3 * SEATS_PER_DOMAIN_MAX**2:
        return f"causal.stamp: {len(stamp)} numbers; give three for each of {SEATS_PER_DOMAIN_MAX}**2 cells at most"
    if min(stamp) < 0 or max(stamp) > ID_MAX or max(stamp[0::3]) >= SEATS_MAX or max(stamp[1::3]) >= SEATS_MAX:
        return f"causal.stamp: rows and columns lie below {SEATS_MAX}, values in 0..2**63-1"
    return None


# Messages --------------------------------------------------------------------------------------------------------
def _number_fault(field: str, number: int, most: int = ID_MAX) -> str | None:
    return None if 0 <= number <= most else f"{field}={number}: must lie in 0..{most}"


def _domains_fault(domains: Sequence[str], field: str = "domains", *, least: int = 1) -> str | None:
    if not least <= len(domains) <= DOMAINS_PER_SEAT_MAX or len(dict.fromkeys(domains)) < len(domains):
        return f"{field}: {len(domains)} names; must be {least} to {DOMAINS_PER_SEAT_MAX} different ones"
    for domain in domains:
        _domain(field, domain)
    return None


def _take_seat(head: TakeSeat) -> str | None:
    check_seat("name", head.name)
    return _domains_fault(head.domains, least=0 if head.leaving else 1)


def _seat_taken(head: SeatTaken) -> str | None:
    check_seat("name", head.name)
    fault = _domains_fault(head.domains, least=0) or _number_fault("code", head.code, CODE_MAX)
    return fault or _number_fault("number", head.number + 1, SEATS_MAX)


def _domains(head: Domains) -> str | None:
    if head.seat:
        check_seat_group("seat", head.seat)
    if len(head.seats) > SEATS_MAX:
        return f"seats: {len(head.seats)}; at most {SEATS_MAX} are allowed"
    sizes: dict[str, int] = {}
    for entry in head.seats:
        check_seat("seats.name", entry.name)
        fault = _domains_fault(entry.domains, "seats.domains") or _number_fault(
            "seats.number", entry.number, SEATS_MAX - 1
        )
        if fault is not None:
            return fault
        for domain in entry.domains:
            sizes[domain] = sizes.get(domain, 0) + 1
    if max(sizes.values(), default=0) > SEATS_PER_DOMAIN_MAX:
        return f"seats: a domain has at most {SEATS_PER_DOMAIN_MAX}"
    names, numbers = ({entry.name: None for entry in head.seats}, {entry.number: None for entry in head.seats})
    if len(names) < len(head.seats) or len(numbers) < len(head.seats):
        return "seats: a name or a number occurs twice"
    return _number_fault("version", head.version)


def _domains_held(head: DomainsHeld) -> str | None:
    check_seat_group("seat", head.seat)
    return _number_fault("version", head.version)


def _bound(head: Bind | Bound) -> str | None:
    check_mailbox("name", head.name)
    if head.seat:
        check_seat("seat", head.seat)
    return _number_fault("code", head.code, CODE_MAX) if isinstance(head, Bound) else None


def _ask_mark(head: AskMark) -> str | None:
    check_seat_group("seat", head.seat)
    check_seat_group("by", head.by)
    return _number_fault("number", head.number)


def _relayed(head: Relayed) -> str | None:
    return None if len(head.to) == KEY_BYTES else f"to: has {len(head.to)} bytes; must be {KEY_BYTES}"


_RULES: Rules = {
    TakeSeat: _take_seat,
    SeatTaken: _seat_taken,
    AskDomains: lambda head: _number_fault("version", head.version),
    Domains: _domains,
    DomainsHeld: _domains_held,
    Bind: _bound,
    Bound: _bound,
    AskMark: _ask_mark,
    Relayed: _relayed,
}
