"""What is wrong with a message about causal order that could be decoded: seats, domains, bindings, clocks.

Owns: the rules, as `faults` does for mail. Must not know: who asks, and what is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from causeway.core.messages import (
    AskDomains,
    AskMark,
    Bind,
    Bound,
    Causal,
    Deposit,
    Domains,
    DomainsHeld,
    Message,
    Relayed,
    SeatTaken,
    TakeSeat,
)
from causeway.domains import check_domain
from causeway.errors import ConfigError
from causeway.limits import (
    BATCH_COUNT_MAX,
    DOMAINS_PER_SEAT_MAX,
    ID_MAX,
    NAMES_REMEMBERED_MAX,
    SEATS_MAX,
    SEATS_PER_DOMAIN_MAX,
)
from causeway.names import check_destination, check_mailbox, check_seat, is_seat
from causeway.types import KEY_BYTES, SEAT_PREFIX, Flag, ServiceClass

CODE_MAX = 0xFFFF
_REFUSED_FLAGS = int(Flag.CONFIRM | Flag.RETAIN)
_ORDERED = int(ServiceClass.TRANSACTIONAL)


@lru_cache(maxsize=NAMES_REMEMBERED_MAX)
def check_seat_group(field: str, group: str) -> str:
    """The name of a seat's group, or a ConfigError. A bad name raises, hence is never remembered."""
    if not is_seat(group):
        raise ConfigError(field, group, f"must be a seat, {SEAT_PREFIX}BROKER")
    check_seat(field, group[len(SEAT_PREFIX) :])
    return group


_domain = lru_cache(maxsize=NAMES_REMEMBERED_MAX)(check_domain)
_sendable = lru_cache(maxsize=NAMES_REMEMBERED_MAX)(check_destination)


def seat_fault(field: str, group: str) -> str | None:
    """Of the name of a seat's group."""
    try:
        check_seat_group(field, group)
    except ConfigError as error:
        return str(error)
    return None


def seating_fault(head: Message) -> str | None:
    """Of what brokers say about the map of domains and to seats; None also for messages about anything else."""
    rule = _RULES.get(type(head))
    if rule is None:
        return None
    try:
        return rule(head)
    except ConfigError as error:
        return str(error)


def causal_fault(head: Deposit) -> str | None:
    """Of a batch to a seat, or from one."""
    causal, from_seat = head.causal, is_seat(head.source)
    if causal is None:
        if is_seat(head.dest):
            return f"dest={head.dest!r}: is a seat, which takes what is sent in causal order and nothing else"
        return None if head.published is not None else "published: a seat says who sent what it delivers"
    try:
        check_seat_group("dest", head.dest)
        for seat, number in causal.after:
            check_seat_group("causal.after", seat)
            if not 0 <= number <= ID_MAX:
                return f"causal.after: number {number} must lie in 0..2**63-1"
        if causal.dest and not (from_seat and is_seat(causal.dest)):
            _sendable("causal.dest", causal.dest)
        if from_seat:
            _domain("causal.domain", causal.domain)
    except ConfigError as error:
        return str(error)
    if len(causal.after) > SEATS_MAX:
        return f"causal.after: names {len(causal.after)} seats; there are at most {SEATS_MAX}"
    if not 0 <= causal.service <= _ORDERED:
        return f"causal.service={causal.service}: use express (0), recoverable (1), transactional (2)"
    return _stamp_fault(causal) if from_seat else _sent_fault(head, causal)


def _sent_fault(head: Deposit, causal: Causal) -> str | None:
    """Of what an application sends in causal order."""
    if causal.domain or causal.stamp or causal.void:
        return "causal: domain, stamp and void are between seats; leave them out"
    if bool(causal.dest) == (head.published is not None):
        return "causal.dest: name the mailbox, or publish to a topic"
    if head.stream != _ORDERED:
        return f"stream={head.stream}: what is sent in causal order is one ordered stream ({_ORDERED})"
    if head.priority != 4 or head.delay:
        return f"priority={head.priority}, delay={head.delay}: causal order knows neither; leave them at 4 and 0"
    if head.flags & _REFUSED_FLAGS:
        return f"flags={head.flags}: delivery confirmations and retained messages are not for causal order"
    return None


def _stamp_fault(causal: Causal) -> str | None:
    stamp = causal.stamp
    if len(stamp) % 3 or len(stamp) > 3 * SEATS_PER_DOMAIN_MAX**2:
        return f"causal.stamp: {len(stamp)} numbers; give three for each of {SEATS_PER_DOMAIN_MAX}**2 cells at most"
    if not stamp:
        return None
    if min(stamp) < 0 or max(stamp) > ID_MAX or max(stamp[0::3]) >= SEATS_MAX or max(stamp[1::3]) >= SEATS_MAX:
        return f"causal.stamp: rows and columns lie below {SEATS_MAX}, values in 0..2**63-1"
    return None


def void_body(head: Deposit) -> bytes:
    """The body that a batch would have whose place alone is kept: nothing for each of its messages."""
    return bytes(4 * head.count) if 1 <= head.count <= BATCH_COUNT_MAX else b""


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
    return _domains_fault(head.domains)


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


_RULES: dict[type, Callable[[Any], str | None]] = {
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
