"""An office that owns one mailbox, with its neighbours, for tests."""

from __future__ import annotations

from causeway.config import BrokerConfig
from causeway.core.events import OwnershipGained
from causeway.core.machine import Turn
from causeway.core.mail.office import Office
from causeway.core.messages import Attach, Deliver, Deposit, Message
from causeway.store.base import Row
from causeway.types import key_of
from tests.unit.core.mail.neighbours import ME, OTHER, FakeCourier, FakeGroups, NoTopics, at, config_of, heads
from tests.unit.core.mail.postroom import NAME, body_of

CONN = 2


def gained(name: str, rows: list[Row] | None = None) -> OwnershipGained:
    return OwnershipGained(key_of(name), config_of(name, ME, OTHER), rows or [], None)


def attach(office: Office, conn: int = CONN, *, consumer: int = 1, credit: int = 100, name: str = "app") -> Turn:
    turn = at()
    assert office.attach(turn, conn, (name, 1), Attach(NAME, consumer, credit))
    return turn


class Stage:
    """An office that owns `orders`."""

    def __init__(self, name: str = NAME, **settings: object) -> None:
        self.groups, self.courier = FakeGroups(), FakeCourier()
        self.deciding = False
        self.config = BrokerConfig(name="b1", **settings)  # type: ignore[arg-type]
        self.office = Office(
            self.config, ME.id, self.groups, self.courier, topics=NoTopics(), is_deciding=lambda _: self.deciding
        )
        self.key = self.groups.own(name)
        self.office.on_ownership_gained(at(), gained(name))

    def deposit(self, head: Deposit, now: int = 0) -> list[Message]:
        """A batch arrives; what is answered before anything is committed."""
        assert self.office.deposit(at(now), self.key, head, body_of(head))
        return self.courier.said()

    def commit(self, now: int = 0) -> Turn:
        """All operations on their way arrive; the turn ends."""
        turn = at(now)
        for then in self.groups.take():
            then(turn)
        self.office.flush(turn)
        return turn

    def flush(self, now: int = 0) -> Turn:
        turn = at(now)
        self.office.flush(turn)
        return turn

    def fire(self) -> Turn:
        """The next timer."""
        due = self.office.next_deadline()
        assert due is not None
        turn = at(due)
        self.office.on_deadline(turn)
        self.office.flush(turn)
        return turn


def delivered(turn: Turn, conn: int = CONN) -> list[int]:
    """Ids handed to a connection."""
    found = [head for head in heads(turn, conn) if isinstance(head, Deliver)]
    return [head.first + n for head in found for n in range(head.count)]
