"""Where a message is now, by what brokers remember of it. Pure.

Owns: which of its steps counts, for each mailbox that it was in, and the sentence for people.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from causeway.core.mail.dead_letters import dead_letter_name
from causeway.trace import MEMBERS_APART, Step, TraceRecord

_STATES: Final = {
    Step.SENT: "on its way",
    Step.FORWARDED: "on its way",
    Step.RELEASED: "on its way",
    Step.HELD: "held",
    Step.REFUSED: "refused",
    Step.PREPARED: "prepared",
    Step.TAKEN: "waiting",
    Step.STORED: "waiting",
    Step.RETURNED: "waiting",
    Step.DELIVERED: "in hand",
    Step.SETTLED: "acknowledged",
    Step.DEAD: "dead letter",
    Step.EXPIRED: "expired",
    Step.LOST: "lost",
}
"""Other steps do not move a message."""

_ENDS: Final = (Step.SETTLED, Step.DEAD, Step.EXPIRED, Step.LOST)
_STAYS: Final = (Step.SENT, Step.FORWARDED, Step.TAKEN, Step.STORED)
"""Of a message that a reader has: it is sent again, or stored after all."""


class Whereabouts(msgspec.Struct, kw_only=True):
    """One mailbox that a message was sent to, or came to by its topic."""

    mailbox: str
    state: str
    """`on its way`, `held` (in causal order), `refused`, `prepared` (in a transaction), `waiting`, `in hand` (of a
    reader), `acknowledged`, `dead letter`, `expired` or `lost`."""
    broker: str
    """Who says so."""
    text: str
    """The same as a sentence."""


def where_now(records: Iterable[TraceRecord]) -> list[Whereabouts]:
    """Each mailbox with the last word about it, in the order in which the message came there."""
    last: dict[str, TraceRecord] = {}
    readers: dict[str, str] = {}
    for record in sorted(records, key=lambda record: record.at):
        if record.step not in _STATES:
            continue
        before = last.get(record.mailbox)
        if record.step == Step.DELIVERED:
            readers[record.mailbox] = record.peer
        if before is None or not _outlasts(before.step, record.step):
            last[record.mailbox] = record
    return [
        Whereabouts(
            mailbox=mailbox,
            state=_STATES[Step(record.step)],
            broker=record.broker,
            text=_sentence(record, readers.get(mailbox) or "its reader"),
        )
        for mailbox, record in last.items()
    ]


def _outlasts(before: int, step: int) -> bool:
    return before in _ENDS or (before == Step.DELIVERED and step in _STAYS)


def _sentence(record: TraceRecord, reader: str) -> str:
    mailbox = record.mailbox or record.topic
    is_topic = bool(record.topic) and record.mailbox == record.dest
    match record.step:
        case Step.HELD:
            return f"held back at the seat of {record.seat} on its way to {mailbox}: {record.note}"
        case Step.REFUSED:
            return f"{record.broker} refused it for {mailbox}: {record.note}"
        case Step.PREPARED:
            return f"in {mailbox}, and nobody can read it before its transaction is decided"
        case Step.TAKEN:
            return f"waits in {mailbox}, in the memory of {record.broker}"
        case Step.STORED:
            return f"waits in {mailbox}, stored on {', '.join(record.peer.split(MEMBERS_APART))}"
        case Step.RETURNED:
            return f"waits in {mailbox} again: {reader} gave it back"
        case Step.DELIVERED:
            return f"{reader} has it from {mailbox}, and has not acknowledged it"
        case Step.SETTLED if record.note:
            return f"{record.note}; nothing of it is kept"
        case Step.SETTLED if is_topic:
            return f"every subscription to {record.topic} has it"
        case Step.SETTLED:
            return f"{reader} has acknowledged it; it is no longer in {mailbox}"
        case Step.DEAD:
            return f"in the dead-letter mailbox {dead_letter_name(record.mailbox)}"
        case Step.EXPIRED:
            return f"expired in {mailbox}: nobody took it within its time to live"
        case Step.LOST:
            return f"lost from {mailbox}: {record.note}"
        case _:
            return f"on its way to {mailbox}, last seen at {record.broker}"
