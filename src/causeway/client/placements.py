"""Who holds the items that an application uses, as brokers have told us.

Owns: the latest word on each item, and whether who gave it would tell us of a change. Must not know: who asks.
"""

from __future__ import annotations

from dataclasses import dataclass

from causeway.client.links import Uplink
from causeway.core.messages import ItemPlaced
from causeway.topics import is_item, other_way
from causeway.types import BrokerId, Peer


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a topic is: its owner acknowledges what is published, its mirror takes over first when the owner fails."""

    owner: str
    """A broker's name."""
    owner_address: str
    """host:port."""
    mirror: str
    """A broker's name; empty when the topic has no whole copy beside its owner's."""
    mirror_address: str
    epoch: int
    """Rises with every change of owner or copies."""
    domain: str
    """That the owner is in; empty when the broker we asked does not know."""


def placed(head: ItemPlaced) -> Placed:
    """As an application sees it."""
    mirror = head.mirror
    name, address = (mirror.name, _address(mirror)) if mirror is not None else ("", "")
    return Placed(head.owner.name, _address(head.owner), name, address, head.epoch, head.domain)


def _address(peer: Peer) -> str:
    return f"{peer.host}:{peer.port}"


class Placements:
    """The directory of one client: as many entries as there are items at most."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[ItemPlaced, Uplink]] = {}

    def learn(self, link: Uplink, head: ItemPlaced) -> list[Peer]:
        """A broker's word: the highest epoch counts, and of the same the latest. Brokers it names."""
        known = self._known.get(head.item)
        if not is_item(head.item) or (known is not None and head.epoch < known[0].epoch):
            return []
        self._known[head.item] = (head, link)
        return [peer for peer in (head.owner, head.mirror) if peer is not None]

    def critical(self) -> dict[BrokerId, None]:
        """Owners of the items of critical topics that we use, as far as was heard."""
        return {head.owner.id: None for head, _ in self._known.values() if other_way(head.item) is not None}

    def of(self, item: str) -> ItemPlaced | None:
        """Who holds an item, as far as was ever heard."""
        known = self._known.get(item)
        return None if known is None else known[0]

    def current(self, item: str) -> ItemPlaced | None:
        """The same, if whoever told us is still there to tell us of changes."""
        known = self._known.get(item)
        return known[0] if known is not None and known[1].up else None
