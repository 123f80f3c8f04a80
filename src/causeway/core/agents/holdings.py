"""Who holds which group: reported by owners when it changes, so that a landmark can say what is lost with whom.

`HoldingsTold` is the side of a broker, `HoldingsKnown` that of a landmark. Must not know: what is in a group.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from causeway.core.messages import Config, Holding, Holdings
from causeway.domains.limits import HOLDINGS_AT_ONCE_MAX, HOLDINGS_MAX
from causeway.limits import STATUS_ENTRIES_MAX
from causeway.topics import is_ordinary_item
from causeway.types import BrokerId, Key


class HoldingsTold:
    """The groups we own, and those of them that a landmark has not heard of."""

    def __init__(self, me: BrokerId) -> None:
        self._me = me
        self._owned: dict[Key, Holding] = {}
        self._news: dict[Key, Holding] = {}

    def owned(self, group: Key, config: Config) -> None:
        """We own a group, in this configuration."""
        members = tuple(member.peer.id for member in config.members)
        held = Holding(group, config.name, config.epoch, config.owner, members)
        self._owned[group] = self._news[group] = held

    def lost(self, group: Key, config: Config) -> None:
        """We own it no longer; that it has ended only we can say."""
        self._owned.pop(group, None)
        self._news.pop(group, None)
        if not config.members:
            self._news[group] = Holding(group, config.name, config.epoch, config.owner, ())

    def repeat(self) -> None:
        """A new landmark knows nothing of them."""
        self._news = dict(self._owned)

    @property
    def has_news(self) -> bool:
        return bool(self._news)

    def take(self, domain: str, term: int) -> list[Holdings]:
        """What is to be told, in reports of a bounded size."""
        news, self._news = list(self._news.values()), {}
        parts = [news[at : at + HOLDINGS_AT_ONCE_MAX] for at in range(0, len(news), HOLDINGS_AT_ONCE_MAX)]
        return [Holdings(domain, self._me, term, tuple(part)) for part in parts]


class HoldingsKnown:
    """All groups that agents of a domain own."""

    def __init__(self) -> None:
        self._all: dict[Key, Holding] = {}

    @property
    def count(self) -> int:
        return len(self._all)

    def report(self, head: Holdings) -> None:
        """Later epochs count."""
        for held in head.groups:
            known = self._all.get(held.group)
            if known is not None and known.epoch > held.epoch:
                continue
            if not held.members:
                self._all.pop(held.group, None)
            elif known is not None or len(self._all) < HOLDINGS_MAX:
                self._all[held.group] = held

    def items(self) -> list[Holding]:
        """Those that are items, by name."""
        return sorted((held for held in self._all.values() if is_ordinary_item(held.name)), key=lambda held: held.name)

    def lost(self, failed: Iterable[BrokerId]) -> list[str]:
        """Names of groups all of whose holders have failed: nobody has a copy before one of them is back."""
        gone = dict.fromkeys(failed)
        if not gone:
            return []
        found = (held.name for held in self._all.values() if all(member in gone for member in held.members))
        return sorted(islice(found, STATUS_ENTRIES_MAX))
