"""The product in a world: a few real brokers, and applications around the real client session."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from causeway.client.batches import Ticket
from causeway.client.inquiries import BrowseInquiry, Inquiry
from causeway.client.message import Delivery
from causeway.client.outcomes import MessagesArrived, SessionFailed
from causeway.client.session import Session
from causeway.client.settings import SessionConfig
from causeway.client.transactions import Commitment, Parcel
from causeway.config import BrokerConfig
from causeway.core.node import Node
from causeway.types import MILLISECOND, SECOND, ServiceClass
from causeway.wire.headers import Headers
from tests.conformance.worlds import SECONDS_MAX, Address, Place, World

ROOT_COPIES = 3


class Ring:
    """Brokers of one cluster; the first one founds it."""

    def __init__(self, world: World, count: int = 3, **settings: int) -> None:
        self.world = world
        self.settings = settings
        self.places: dict[str, Place] = {}
        for number in range(1, count + 1):
            name = f"broker-{number}"
            self.places[name] = world.place(name)
            self.start(name)
        self.wait_formed()

    def start(self, name: str) -> None:
        """Begin a life, with the storage of the last one."""
        place = self.places[name]
        config = BrokerConfig(
            name=name,
            seeds=tuple(other.address for other in self.places.values() if other is not place and other.address[1]),
            founder=name == "broker-1",
            root_copies=ROOT_COPIES,
            heartbeat=100 * MILLISECOND,
            silence=1 * SECOND,
            retry=50 * MILLISECOND,
            migrate_after=200 * MILLISECOND,
            **self.settings,
        )
        self.world.start(place, Node, config)

    def crash(self, name: str) -> None:
        self.world.crash(self.places[name])

    def leave(self, name: str) -> None:
        """Ask it to hand over and go, and see that it does."""
        place = self.places.pop(name)
        node = place.machine
        assert isinstance(node, Node)
        self.world.leave(place)
        assert node.left

    def nodes(self) -> dict[str, Node]:
        """The machines of those that live."""
        return {name: place.machine for name, place in self.places.items() if isinstance(place.machine, Node)}

    def formed(self) -> bool:
        """Everybody that lives is connected to everybody else, and as many of them as shall keep the directory."""
        nodes = self.nodes()
        for name, node in nodes.items():
            found = node.statistics()
            root = found["root"]
            others = sorted(other for other in nodes if other != name)
            if not found["active"] or found["peers"] != others or not isinstance(root, dict):
                return False
            keepers = [member for member in root["members"] if member in nodes]
            if len(keepers) != min(ROOT_COPIES, len(nodes)) or root["owner"] not in keepers:
                return False
        return True

    def wait_formed(self) -> None:
        self.world.run_until(self.formed)

    @property
    def addresses(self) -> tuple[Address, ...]:
        return tuple(place.address for place in self.places.values())


class App:
    """One application. What arrives is remembered, then settled, unless `on_message` does something else."""

    def __init__(self, ring: Ring, name: str, **settings: object) -> None:
        """`settings` of its session, beside those that make the suite quick."""
        self.world = ring.world
        self.ring = ring
        self.name = name
        self.place = ring.world.place(name)
        self.settings = settings
        self.heard: dict[str, list[bytes]] = {}
        """Bodies by mailbox, as they came, over all lives."""
        self.on_message: Callable[[Delivery], None] = self.settle
        self._lives = 0
        self.start()

    # Lives -----------------------------------------------------------------------------------------------------
    def start(self) -> None:
        self._lives += 1
        settings: dict[str, object] = {
            "addresses": self.ring.addresses,
            "timeout": round(SECONDS_MAX * SECOND),
            "heartbeat": 200 * MILLISECOND,
            "silence": 1 * SECOND,
            "retry_min": 20 * MILLISECOND,
            "retry_max": 200 * MILLISECOND,
            "repeat_after": 1 * SECOND,
            **self.settings,
        }
        config = SessionConfig(name=self.name, **settings)  # type: ignore[arg-type]
        self.session = Session(config, self._lives, random.Random(f"{self.name}/{self._lives}"))
        self.world.start_client(self.place, self.session, self._after_turn)

    def crash(self) -> None:
        self.world.crash(self.place)

    # Sending ---------------------------------------------------------------------------------------------------
    def send(
        self,
        dest: str,
        *bodies: bytes,
        service: ServiceClass = ServiceClass.TRANSACTIONAL,
        headers: Headers | None = None,
    ) -> list[Ticket]:
        tickets = [self.session.send(dest, body, service=service, headers=headers) for body in bodies]
        self.world.poke(self.place)
        return tickets

    def send_all(self, dest: str, *bodies: bytes, service: ServiceClass = ServiceClass.TRANSACTIONAL) -> None:
        """Send and wait until everything is acknowledged."""
        self.acknowledged(self.send(dest, *bodies, service=service))

    def acknowledged(self, tickets: list[Ticket]) -> None:
        """Wait until all of these are."""
        self.world.run_until(lambda: all(ticket.done for ticket in tickets))
        assert [ticket.error for ticket in tickets if ticket.error is not None] == []

    def commit(self, *parcels: tuple[str, bytes], accepted: tuple[Delivery, ...] = ()) -> Commitment:
        commitment = self.session.commit(
            [Parcel(dest, body) for dest, body in parcels], [(one._lot, one._index) for one in accepted]
        )
        self.world.poke(self.place)
        return commitment

    # Receiving -------------------------------------------------------------------------------------------------
    def read(self, mailbox: str, credit: int = 64) -> None:
        self.heard.setdefault(mailbox, [])
        self.session.attach(mailbox, credit)
        self.world.poke(self.place)

    def settle(self, delivery: Delivery) -> None:
        self.session.accept(delivery._lot, delivery._index, delivery._index)
        self.world.poke(self.place)

    def give_back(self, delivery: Delivery) -> None:
        self.session.give_back(delivery._lot, delivery._index, delivery._index)
        self.world.poke(self.place)

    def _after_turn(self) -> None:
        for outcome in self.session.outcomes():
            assert not isinstance(outcome, SessionFailed), outcome.error
            if isinstance(outcome, MessagesArrived):
                for delivery in self.session.take(outcome.consumer, 1 << 20, Delivery):
                    self.heard[delivery.mailbox].append(delivery.body)
                    self.on_message(delivery)

    # Looking ---------------------------------------------------------------------------------------------------
    def browse(self, mailbox: str, limit: int = 100, selector: str | None = None) -> list[bytes]:
        """The bodies of what lies in a mailbox."""
        found: list[bytes] = []
        page: BrowseInquiry | None = self.session.browse(mailbox, limit=limit, selector=selector)
        while page is not None:
            found += [Delivery(lot, index).body for lot in self._answer(page) for index in range(lot.count)]
            page = self.session.browse_on(page)
        return found

    def owner(self, mailbox: str) -> str:
        """The broker that serves a mailbox."""
        return str(self._answer(self.session.find(mailbox)).name)

    def wait_idle(self) -> None:
        """Until everything sent is resolved and everything settled is on all copies."""
        self.world.run_until(lambda: self.session.idle)

    def _answer(self, inquiry: Inquiry) -> Any:
        self.world.poke(self.place)
        self.world.run_until(lambda: inquiry.done)
        assert inquiry.error is None, inquiry.error
        return inquiry.result
