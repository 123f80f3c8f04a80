"""Where a subscription must be known: which items (or which seat), and what each of them is told.

Critical topics have two ways. A subscription reads one of them with its mailbox and the other one with its twin, each
the way of the half of the ring that it lies in. What several readers share, and what begins in the past, reads way 0
alone; way 1 is told so, because an acknowledgement from there must not count alone then (`publishing`).

Pure functions of names and interests. Must not know: owners, who has answered.
"""

from __future__ import annotations

import msgspec

from causeway.core.messages import Interest
from causeway.names import is_twin
from causeway.topics import critical_items, critical_part, is_second_way, ordinary_items, other_way, quiet
from causeway.types import half_of, key_of


def places_of(mailbox: str, interest: Interest) -> tuple[str, ...]:
    """Who must know of an interest: every item that may have such topics, or the seat that hands on in causal order."""
    if interest.seat:
        return (interest.seat,)
    part = critical_part(interest.pattern)
    ordinary = () if is_twin(mailbox) else ordinary_items(interest.pattern)
    if part is None:
        return ordinary
    if interest.is_lone(mailbox):
        return (*ordinary, *critical_items(part, 0), *critical_items(part, 1))
    return (*ordinary, *critical_items(part, half_of(key_of(mailbox))))


def interest_at(place: str, mailbox: str, interest: Interest) -> Interest:
    """What an item is told."""
    if other_way(place) is None:
        return interest
    part = critical_part(interest.pattern)
    assert part is not None
    if serves(place, mailbox, interest):
        return msgspec.structs.replace(interest, pattern=part)
    return Interest(pattern=quiet(part), retained=False)


def serves(place: str, mailbox: str, interest: Interest) -> bool:
    """Whether an item hands on to a subscription, or only knows of it."""
    return not (is_second_way(place) and interest.is_lone(mailbox))
