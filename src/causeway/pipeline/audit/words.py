"""The words of the audit: what it reads of an event, which guarantees there are, what a verdict is.

Owns: these records. Must not know: how a verdict is reached, Spark.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from causeway.trace import Step
from causeway.types import ServiceClass

KEPT: Final = "kept"
ONCE: Final = "once"
IN_ORDER: Final = "in order"
STORED_FIRST: Final = "stored before acknowledged"
CAUSAL: Final = "causal order"

VIOLATIONS: Final = {
    KEPT: "lost",
    ONCE: "doubled",
    IN_ORDER: "out of order",
    STORED_FIRST: "acknowledged too early",
    CAUSAL: "against causal order",
}
"""Each guarantee, and what a message is for which it did not hold."""

HELD: Final = "held"
WAITING: Final = "waiting"
"""Still in its mailbox, as far as the trace goes: nothing can be said yet."""
VIOLATED: Final = "violated"
UNKNOWN: Final = "unknown"
"""It would be violated, but records are missing that may tell otherwise."""
SHARED: Final = "shared"
"""Several read the mailbox: its order is nobody's."""

EVIDENCE_MAX: Final = 16
"""Events shown with one finding."""


STREAM: Final = ("source", "incarnation", "dest", "stream")
"""Columns that name a stream of messages; with an id they name a message."""


class AuditRow(NamedTuple):
    """What the audit reads of one event. `causeway.lake.schema` says what each of it means."""

    domain: str
    writer: str
    broker: bool
    """Whether its writer is a broker; an application otherwise."""
    life: int
    sequence: int
    step: int
    source: str
    incarnation: int
    dest: str
    stream: int
    first: int
    last: int
    service: int
    reliable: bool
    causal: bool
    topic: str
    mailbox: str
    epoch: int
    copies: int
    apart: bool
    """Whether its note says that it was let past others: a priority, a delay, a selector, kept by a topic."""
    retained: bool
    """Whether its note says that it is what a topic has kept, for a subscription that begins: perhaps not for the first
    time."""


STEPS: Final = tuple(
    int(step)
    for step in (
        Step.STORED,
        Step.DELIVERED,
        Step.SETTLED,
        Step.ACKNOWLEDGED,
        Step.RETURNED,
        Step.DEAD,
        Step.EXPIRED,
        Step.REFUSED,
        Step.RECEIVED,
        Step.COPIED,
        Step.TAKEN,
        Step.PREPARED,
    )
)
"""Steps that decide something about a single stream of messages."""

RETAINED: Final = "retained"
APART: Final = "priority|delay|selector|retained|redelivered"
"""Words in the note of a step that let a message past others."""


class Evidence(NamedTuple):
    """One event of a chain that shows what happened."""

    writer: str
    life: int
    sequence: int
    step: str
    source: str
    first: int
    last: int
    mailbox: str


class Judgement(NamedTuple):
    """What is said of messages of one stream under one guarantee. Those for which it held, or that wait, are only
    counted: then the fields from `first` on are empty."""

    service: str
    guarantee: str
    outcome: str
    messages: int
    source: str
    incarnation: int
    dest: str
    stream: int
    first: int = 0
    last: int = 0
    mailbox: str = ""
    reason: str = ""
    """What is wrong with them; empty for a count."""
    domains: tuple[str, ...] = ()
    """Where it happened: records that are missing there put it in doubt. None if they cannot."""
    evidence: tuple[Evidence, ...] = ()


_NAMES: Final = {int(one): one.name.lower() for one in ServiceClass}


def class_name(service: int, *, reliable: bool, causal: bool) -> str:
    """A line of the table in docs/guarantees.md."""
    name = _NAMES.get(service, str(service))
    if service < ServiceClass.TRANSACTIONAL and not reliable:
        name += ", unreliable"
    return f"{name}, causal" if causal else name


def evidence_of(rows: Iterable[AuditRow]) -> tuple[Evidence, ...]:
    """The first of these events, as a finding shows them."""
    shown: dict[tuple[str, int, int], Evidence] = {}
    for row in rows:
        if len(shown) == EVIDENCE_MAX:
            break
        where = (row.writer, row.life, row.sequence)
        shown[where] = Evidence(*where, Step(row.step).name, row.source, row.first, row.last, row.mailbox)
    return tuple(shown.values())
