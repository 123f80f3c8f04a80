"""Subscriptions registered with a seat: what is published in causal order and they want, it hands to them.

Owns: the registrations and their rows. Must not know: clocks, what is on its way.
"""

from __future__ import annotations

from collections.abc import Sequence

from causeway.core.causal.rows import encode
from causeway.core.messages import Register, Registered
from causeway.core.topics.item import Registration
from causeway.core.topics.rows import RegistrationRow, read_registrations, registration_key
from causeway.core.topics.withdrawn import Withdrawn
from causeway.errors import Code
from causeway.store.base import Delete, Put, Row, Write
from causeway.topics import TopicIndex
from causeway.topics.limits import REGISTRATIONS_PER_ITEM_MAX
from causeway.types import Key


class Subscribers:
    """All subscriptions of one seat."""

    def __init__(self, seat: str, group: Key) -> None:
        self._seat = seat
        self._group = group
        self.all: dict[str, Registration] = {}
        self._withdrawn = Withdrawn(group)
        self._index = TopicIndex()

    def restore(self, rows: Sequence[Row]) -> None:
        """As they were when these were written."""
        self._withdrawn.restore(rows)
        for mailbox, row in read_registrations(rows):
            self._add(Registration(mailbox, row.version, row.interest, row.since, greeted=True))

    def wanting(self, topic: str) -> tuple[str, ...]:
        """Mailboxes that want a topic."""
        return tuple(self._index.match(topic)) if self.all else ()

    def register(self, head: Register, number: int, position: int) -> tuple[list[Write], Registered]:
        """What somebody wants from this number on, or (no interest) that it wants nothing more: rows and answer.

        What is late, or known, changes nothing and is answered.
        """
        answer = Registered(head.item, head.mailbox, head.version, number)
        known = self.all.get(head.mailbox)
        if known is not None and known.version > head.version:
            return [], answer
        if head.interest is None:
            return [*self._withdrawn.note(head.mailbox, head.version, position), *self.remove(head.mailbox)], answer
        if self._withdrawn.is_late(head.mailbox, head.version):
            return [], answer
        if known is not None and known.version == head.version:
            return [], answer
        if known is None and len(self.all) >= REGISTRATIONS_PER_ITEM_MAX:
            detail = f"the seat of {self._seat!r} has {REGISTRATIONS_PER_ITEM_MAX} subscriptions, its limit"
            return [], Registered(head.item, head.mailbox, head.version, 0, "", Code.OVERLOADED, detail)
        self._add(Registration(head.mailbox, head.version, head.interest, number, greeted=True))
        row = RegistrationRow(head.version, head.interest, number, True)
        begun = Put(self._group, registration_key(head.mailbox), position, encode(row))
        return [begun, *self._withdrawn.forget(head.mailbox)], answer

    def remove(self, mailbox: str) -> list[Write]:
        """Nothing that is published goes there any more."""
        known = self.all.pop(mailbox, None)
        if known is None:
            return []
        self._index.remove(known.interest.pattern, mailbox)
        return [Delete(self._group, registration_key(mailbox))]

    def _add(self, registration: Registration) -> None:
        known = self.all.get(registration.mailbox)
        if known is not None:
            self._index.remove(known.interest.pattern, known.mailbox)
        self.all[registration.mailbox] = registration
        self._index.add(registration.interest.pattern, registration.mailbox)
