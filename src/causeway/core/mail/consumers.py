"""Competing consumers of one mailbox: their credit, what they hold, whose turn it is.

Owns: fairness (least recently served first). Must not know: what a message is, beyond a key and a count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from causeway.limits import CREDIT_MAX

if TYPE_CHECKING:
    from causeway.core.mail.batches import BatchPart


class Consumer:
    """One consumer on one connection."""

    __slots__ = ("conn", "credit", "held", "id", "served", "unsettled")

    def __init__(self, conn: int, consumer: int, credit: int) -> None:
        self.conn = conn
        self.id = consumer
        self.credit = credit
        self.unsettled = 0
        """Messages it holds; never more than its credit."""
        self.held: dict[int, BatchPart] = {}
        self.served = 0

    @property
    def room(self) -> int:
        """How many more messages it takes."""
        return self.credit - self.unsettled


class Consumers:
    """All consumers of a mailbox."""

    __slots__ = ("_all", "_tick", "sole")

    def __init__(self) -> None:
        self._all: dict[tuple[int, int], Consumer] = {}
        self._tick = 0
        self.sole: Consumer | None = None
        """The one consumer, if there is exactly one."""

    def __len__(self) -> int:
        return len(self._all)

    def names(self) -> list[tuple[int, int]]:
        """(conn, consumer) of all, in the order they attached."""
        return list(self._all)

    def find(self, conn: int, consumer: int) -> Consumer | None:
        """The consumer, if it is attached."""
        return self._all.get((conn, consumer))

    def attach(self, conn: int, consumer: int, credit: int) -> None:
        """A new consumer, or another credit for a known one."""
        credit = min(max(credit, 0), CREDIT_MAX)
        known = self._all.get((conn, consumer))
        if known is None:
            self._all[conn, consumer] = Consumer(conn, consumer, credit)
            self._find_sole()
        else:
            known.credit = credit

    def remove(self, conn: int, consumer: int) -> Consumer | None:
        """Take a consumer off the list."""
        found = self._all.pop((conn, consumer), None)
        self._find_sole()
        return found

    def _find_sole(self) -> None:
        self.sole = next(iter(self._all.values())) if len(self._all) == 1 else None

    def of_conn(self, conn: int) -> list[int]:
        """The consumers of a connection."""
        return [consumer for owner, consumer in self._all if owner == conn]

    def has_room(self) -> bool:
        """Whether anybody takes a message."""
        return any(consumer.unsettled < consumer.credit for consumer in self._all.values())

    def unsettled(self) -> int:
        """Messages with consumers."""
        return sum(consumer.unsettled for consumer in self._all.values())

    def able(self, clogged: Callable[[int], bool]) -> list[Consumer]:
        """Those that take messages now, in the order of their turns."""
        found: list[Consumer] = []
        for one in self._all.values():
            if one.unsettled < one.credit and not clogged(one.conn):
                found.append(one)
        if len(found) > 1:
            found.sort(key=_served)
        return found

    def serve(self, consumer: Consumer) -> None:
        """It had its turn."""
        self._tick += 1
        consumer.served = self._tick


def _served(consumer: Consumer) -> int:
    return consumer.served
