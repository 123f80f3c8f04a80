"""Who holds which group: reported by owners when it changes, so that a landmark can say what is lost with whom.

`HoldingsTold` is the side of a broker, `HoldingsKnown` that of a landmark. Must not know: what is in a group.
"""

from __future__ import annotations

from collections.abc import Callable
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
        self._owned[group] = self._news[group] = _holding(group, config)

    def lost(self, group: Key, config: Config, *, stays: bool) -> None:
        """We own it no longer. Its new owner tells the landmark if it `stays` in the domain; that it has ended, or went
        elsewhere, only we can say."""
        self._owned.pop(group, None)
        self._news.pop(group, None)
        if not config.members or not stays:
            self._news[group] = _holding(group, config)

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


def _holding(group: Key, config: Config) -> Holding:
    members = tuple(member.peer.id for member in config.members)
    return Holding(group, config.name, config.epoch, config.owner, members)


class HoldingsKnown:
    """All groups that agents of a domain own: as the last landmark wrote them down, and as their owners report."""

    def __init__(self) -> None:
        self._all: dict[Key, Holding] = {}
        self._unwritten: dict[Key, Holding] = {}

    def start(self, written: dict[Key, Holding]) -> None:
        """Go on with what the last landmark knew."""
        self._all = dict(islice(written.items(), HOLDINGS_MAX))

    @property
    def count(self) -> int:
        return len(self._all)

    def report(self, head: Holdings) -> None:
        """Later epochs count."""
        for held in head.groups:
            known = self._all.get(held.group)
            if known == held or (known is not None and known.epoch > held.epoch):
                continue
            if known is None and (not held.members or len(self._all) >= HOLDINGS_MAX):
                continue
            self._all[held.group] = self._unwritten[held.group] = held
            if not held.members:
                del self._all[held.group]

    @property
    def has_unwritten(self) -> bool:
        return bool(self._unwritten)

    def take_unwritten(self, most: int) -> list[Holding]:
        """What the next landmark would not know, the first of it."""
        return [self._unwritten.pop(group) for group in list(islice(self._unwritten, most))]

    def items(self) -> list[Holding]:
        """Those that are items, by name."""
        return sorted((held for held in self._all.values() if is_ordinary_item(held.name)), key=lambda held: held.name)

    def lost(self, is_gone: Callable[[BrokerId], bool]) -> list[str]:
        """Names of groups all of whose holders are gone: nobody has a copy before one of them is back."""
        found = (held.name for held in self._all.values() if all(map(is_gone, held.members)))
        return sorted(islice(found, STATUS_ENTRIES_MAX))
