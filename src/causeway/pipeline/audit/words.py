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
SENT: Final = "sent"
REFUSED: Final = "refused"
COPIES: Final = "copies"
MARKED: Final = "marked"
PUBLISHED: Final = "published"
TWO_WAYS: Final = "two ways"
ATOMIC: Final = "all or nothing"
UNCHANGED: Final = "size"
TAKEN_BY: Final = "taken"

VIOLATIONS: Final = {
    KEPT: "lost",
    ONCE: "doubled",
    IN_ORDER: "out of order",
    STORED_FIRST: "acknowledged too early",
    CAUSAL: "against causal order",
    SENT: "sent by nobody",
    REFUSED: "refused, yet delivered",
    COPIES: "on too few copies",
    MARKED: "came again unmarked",
    PUBLISHED: "missed by a subscription",
    TWO_WAYS: "by one way only",
    ATOMIC: "in half a transaction",
    UNCHANGED: "changed in size",
    TAKEN_BY: "settled for nobody",
}
"""Each guarantee, and what a message is for which it did not hold."""

PART: Final = "part"
"""No guarantee: what is known of a part of a transaction, on its way to whoever judges the whole (`transactions`)."""

HELD: Final = "held"
WAITING: Final = "waiting"
"""Still in its mailbox, as far as the trace goes: nothing can be said yet."""
VIOLATED: Final = "violated"
UNKNOWN: Final = "unknown"
"""It would be violated, but records are missing that may tell otherwise."""
SHARED: Final = "shared"
"""Several read the mailbox: its order is nobody's."""

FEWER: Final = "fewer"
"""On fewer copies than its broker was told to keep: others were away, or had not come yet. It may be lost sooner."""
UNRECORDED: Final = "not recorded"
"""Whoever would have to tell writes no lake."""

EVERYWHERE: Final = "*"
"""In place of domains: all that there are."""
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
    bytes: int
    peer: str
    transaction: str
    uncertain: bool
    """Of a refusal, whether its note says that what became of it is unknown."""
    dead_letter: bool
    """Whether its note says that a broker sends it in place of a message that nobody could take."""
    redelivered: bool
    """Whether its note says that it comes again."""
    apart: bool
    """Whether its note says that it was let past others: a priority, a delay, a selector, kept by a topic."""
    retained: bool
    """Whether its note says that it is what a topic has kept, for a subscription that begins: perhaps not for the first
    time."""


STEPS: Final = tuple(
    int(step)
    for step in (
        Step.SENT,
        Step.STORED,
        Step.DELIVERED,
        Step.SETTLED,
        Step.ACKNOWLEDGED,
        Step.RETURNED,
        Step.DEAD,
        Step.EXPIRED,
        Step.REFUSED,
        Step.DUPLICATE,
        Step.RECEIVED,
        Step.COPIED,
        Step.TAKEN,
        Step.PREPARED,
    )
)
"""Steps that decide something about a single stream of messages."""

RETAINED: Final = "retained"
REDELIVERED: Final = "redelivered"
DEAD_LETTERS: Final = "dead letters"
UNCERTAIN: Final = "unknown"
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
    tellers: tuple[str, ...] = ()
    """Applications whose records it rests on: if any of those may be missing, also the last ones, it is in doubt."""
    evidence: tuple[Evidence, ...] = ()
    transaction: str = ""
    """Of a PART: that it belongs to."""
    doubt: str = ""
    """Which missing records may explain it otherwise; empty for none."""


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
