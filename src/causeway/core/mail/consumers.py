"""Competing consumers of one mailbox: their credit, what they hold, whose turn it is.

Owns: fairness (least recently served first), who may consume beside whom.
Must not know: what a message is, beyond a key and a count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from causeway.errors import Code
from causeway.limits import CREDIT_MAX, SELECTORS_PER_MAILBOX_MAX
from causeway.types import SECOND, Instant

if TYPE_CHECKING:
    from causeway.core.mail.batches import BatchPart


SUSPECT: Final = 2
"""What so many readers were lost with is handed out alone from then on, so that it is known what kills them."""

ALONE_MAX: Final = 5 * SECOND
"""A reader that has had one message alone for so long, and lives, gets others beside it: it may wait for them."""


class Terms(NamedTuple):
    """What a consumer asked for, beside credit."""

    selector: str = ""
    """Only messages that it matches; empty for all."""
    exclusive: bool = False
    """No consumer beside this one."""
    client: tuple[str, int] = ("", 0)
    """Whose it is: name and incarnation."""


class Consumer:
    """One consumer on one connection."""

    __slots__ = ("alone", "alone_until", "conn", "credit", "held", "id", "selector", "served", "terms", "unsettled")

    def __init__(self, conn: int, consumer: int, credit: int, terms: Terms) -> None:
        self.conn = conn
        self.id = consumer
        self.credit = credit
        self.terms = terms
        self.selector = terms.selector
        self.unsettled = 0
        """Messages it holds; never more than its credit."""
        self.held: dict[BatchPart, None] = {}
        self.served = 0
        self.alone = False
        """What it holds was handed to it alone."""
        self.alone_until: Instant = 0

    @property
    def room(self) -> int:
        """How many more messages it takes."""
        return self.credit - self.unsettled


ANYTHING = Terms()


class Consumers:
    """All consumers of a mailbox."""

    __slots__ = ("_all", "_clients", "_exclusive", "_tick", "loners", "selective", "selectors", "sole")

    def __init__(self) -> None:
        self._all: dict[tuple[int, int], Consumer] = {}
        self._clients: dict[tuple[str, int], dict[tuple[int, int], Consumer]] = {}
        """The same by whose they are."""
        self._tick = 0
        self.loners: dict[tuple[int, int], Consumer] = {}
        """Those that get nothing beside the one message that they hold, for a while."""
        self.sole: Consumer | None = None
        """The one consumer, if there is exactly one, and it takes everything."""
        self.selectors: dict[str, int] = {}
        """How many have each selector; those that take everything have the empty one."""
        self.selective = False
        """Whether any of them has a selector."""
        self._exclusive = 0

    def __len__(self) -> int:
        return len(self._all)

    def names(self) -> list[tuple[int, int]]:
        """(conn, consumer) of all, in the order they attached."""
        return list(self._all)

    def all(self) -> Iterable[Consumer]:
        """Every one, in the order they attached."""
        return self._all.values()

    def find(self, conn: int, consumer: int) -> Consumer | None:
        """The consumer, if it is attached."""
        return self._all.get((conn, consumer))

    def widen(self, conn: int, consumer: int, credit: int) -> None:
        """Another credit for a known consumer, never less than it has."""
        known = self._all.get((conn, consumer))
        if known is not None:
            known.credit = max(known.credit, min(credit, CREDIT_MAX))

    def attach(self, conn: int, consumer: int, credit: int, terms: Terms = ANYTHING) -> None:
        """A new consumer, or another credit for a known one."""
        credit = min(max(credit, 0), CREDIT_MAX)
        known = self._all.get((conn, consumer))
        if known is None:
            self._all[conn, consumer] = known = Consumer(conn, consumer, credit, terms)
            self._clients.setdefault(terms.client, {})[conn, consumer] = known
            self._count(terms, 1)
        else:
            known.credit = credit

    def remove(self, conn: int, consumer: int) -> Consumer | None:
        """Take a consumer off the list."""
        found = self._all.pop((conn, consumer), None)
        if found is not None:
            mine = self._clients[found.terms.client]
            del mine[conn, consumer]
            if not mine:
                del self._clients[found.terms.client]
            self._count(found.terms, -1)
            self.loners.pop((conn, consumer), None)
        return found

    def _count(self, terms: Terms, by: int) -> None:
        self._exclusive += by * terms.exclusive
        count = self.selectors.pop(terms.selector, 0) + by
        if count:
            self.selectors[terms.selector] = count
        self.selective = any(self.selectors)
        self.sole = next(iter(self._all.values())) if len(self._all) == 1 and not self.selective else None

    # Who may be here -------------------------------------------------------------------------------------------
    def refusal(self, conn: int, consumer: int, terms: Terms) -> tuple[Code, str] | None:
        """Why one more consumer cannot be here."""
        leaving = [(conn, consumer), *((one.conn, one.id) for one in self.former(conn, consumer, terms))]
        for one in self._all.values() if self._exclusive or terms.exclusive else ():
            if (one.terms.exclusive or terms.exclusive) and (one.conn, one.id) not in leaving:
                name, incarnation = one.terms.client
                how = "alone" if one.terms.exclusive else "already, and this consumer is to be the only one"
                return Code.IN_USE, f"{name!r} (incarnation {incarnation}) consumes from this mailbox {how}"
        texts = len(self.selectors)
        if terms.selector and terms.selector not in self.selectors and texts >= SELECTORS_PER_MAILBOX_MAX:
            detail = f"selector: the consumers of this mailbox have {texts} different ones, the limit; use one of them"
            return Code.OVERLOADED, detail
        return None

    def former(self, conn: int, consumer: int, terms: Terms) -> list[Consumer]:
        """Consumers of the same client over an earlier connection, which end when it attaches over this one: the client
        has lost that connection before we have. The same consumer, and where either is to be alone all of them.

        What they hold goes back to its place first: they would compete with their own successor, and break the order.
        """
        return [one for one in self._selves(consumer, terms) if one.conn < conn]

    def is_late(self, conn: int, consumer: int, terms: Terms) -> bool:
        """Whether it has attached over a later connection since: this one was lost, and says its last."""
        return any(one.conn > conn for one in self._selves(consumer, terms))

    def _selves(self, consumer: int, terms: Terms) -> list[Consumer]:
        """All that one client has in place of a consumer, over whatever connection."""
        return [
            one
            for one in self._clients.get(terms.client, {}).values()
            if one.id == consumer or one.terms.exclusive or terms.exclusive
        ]

    def of_conn(self, conn: int) -> list[int]:
        """The consumers of a connection."""
        return [consumer for owner, consumer in self._all if owner == conn]

    def has_room(self) -> bool:
        """Whether anybody takes a message."""
        return any(consumer.unsettled < consumer.credit for consumer in self._all.values())

    def takes_anything(self) -> bool:
        """Whether anybody takes a message, whatever it says."""
        if not self.selective:
            return self.has_room()
        return any(one.unsettled < one.credit and not one.selector for one in self._all.values())

    def unsettled(self) -> int:
        """Messages with consumers."""
        return sum(consumer.unsettled for consumer in self._all.values())

    def able(self, clogged: Callable[[int], bool]) -> list[Consumer]:
        """Those that take messages now, in the order of their turns."""
        found: list[Consumer] = []
        for one in self._all.values():
            if one.unsettled < one.credit and not clogged(one.conn) and (one.conn, one.id) not in self.loners:
                found.append(one)
        if len(found) > 1:
            found.sort(key=_served)
        return found

    def isolate(self, consumer: Consumer, now: Instant) -> None:
        """It was just handed a message that may have killed others: nothing beside it until that is settled."""
        consumer.alone, consumer.alone_until = True, now + ALONE_MAX
        self.loners[consumer.conn, consumer.id] = consumer

    def release(self, now: Instant) -> None:
        """Whoever has settled its message, or has had it for long, gets others."""
        for place in [place for place, one in self.loners.items() if not one.unsettled or now >= one.alone_until]:
            del self.loners[place]

    def next_release(self) -> Instant | None:
        """When somebody has had its message for long."""
        return min((one.alone_until for one in self.loners.values()), default=None)

    def serve(self, consumer: Consumer) -> None:
        """It had its turn."""
        self._tick += 1
        consumer.served = self._tick


def _served(consumer: Consumer) -> int:
    return consumer.served
