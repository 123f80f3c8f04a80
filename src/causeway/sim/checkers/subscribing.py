"""Subscriptions: what is published after one has begun reaches it, once, in order per publisher; nothing else does.

Whether a topic is wanted is decided here by comparing levels one by one, not by the product's index.
"""

from __future__ import annotations

from causeway.sim.checkers.base import Checker, Reader
from causeway.sim.letters import Letter
from causeway.types import Instant, ServiceClass

SHOWN_MAX = 5


def wants(pattern: str, topic: str) -> bool:
    """Whether a pattern (`*` one level, `#` at its end the rest) wants a topic: the obvious way."""
    wanted, given = pattern.split("/"), topic.split("/")
    if wanted[-1] == "#":
        wanted.pop()
        given = given[: len(wanted)]
    return len(wanted) == len(given) and all(w in ("*", g) for w, g in zip(wanted, given, strict=True))


class Watched:
    """One subscription, as its applications know it."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.begun: Instant | None = None
        """When it was first said to have begun."""
        self.owed: dict[Letter, Instant] = {}
        self.seen: dict[Letter, None] = {}
        self.held: dict[tuple[Letter, Reader], None] = {}
        self.done: dict[Letter, Reader] = {}
        self.last: dict[tuple[str, int, str, Reader], Letter] = {}
        """By publisher, its life, topic and reader."""


class Subscribing(Checker):
    """All durable subscriptions of a run, by mailbox; each has one reader at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._watched: dict[str, Watched] = {}
        self._sent: dict[Letter, Instant] = {}

    def subscribed(self, mailbox: str, pattern: str) -> None:
        """An application asks for a subscription."""
        self._watched.setdefault(mailbox, Watched(pattern))

    def subscription_begun(self, mailbox: str) -> None:
        """It was told that the subscription has begun."""
        watched = self._watched[mailbox]
        if watched.begun is None:
            watched.begun = self.now

    def sent(self, letter: Letter) -> None:
        self._sent[letter] = self.now

    def acknowledged(self, letter: Letter) -> None:
        if letter.stream == ServiceClass.EXPRESS:
            return
        for watched in self._watched.values():
            since = watched.begun
            owed = since is not None and self._sent[letter] >= since and wants(watched.pattern, letter.topic)
            if owed and letter not in watched.seen:
                watched.owed[letter] = self.now

    def delivered(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        watched = self._watched[mailbox]
        if letter not in self._sent:
            self.complain(f"{letter} was delivered to {mailbox} and never published")
        if not wants(watched.pattern, letter.topic):
            self.complain(f"{letter} was delivered to {mailbox}, which wants {watched.pattern}")
        if (letter, reader) in watched.held:
            self.complain(f"{letter} was delivered twice to {reader} from {mailbox}")
        if letter in watched.done:
            self.complain(f"{letter} was delivered to {reader} from {mailbox} after {watched.done[letter]} was done")
        watched.held[letter, reader] = None
        watched.seen[letter] = None
        watched.owed.pop(letter, None)
        if letter.stream == ServiceClass.TRANSACTIONAL:
            place = (letter.source, letter.life, letter.dest, reader)
            last = watched.last.get(place)
            if last is not None and letter.number < last.number:
                self.complain(f"{letter} reached {reader} after {last}")
            watched.last[place] = letter

    def settlement_confirmed(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        self._watched[mailbox].done[letter] = reader

    def reader_ended(self, reader: Reader) -> None:
        for watched in self._watched.values():
            for place in [place for place in watched.held if place[1] == reader]:
                del watched.held[place]

    def owed(self) -> list[tuple[str, Letter]]:
        """Acknowledged, and not at a subscription that wants it."""
        return [(mailbox, letter) for mailbox, watched in self._watched.items() for letter in watched.owed]

    def finish(self) -> None:
        owed = self.owed()
        if owed:
            shown = "; ".join(f"{letter} at {mailbox}" for mailbox, letter in owed[:SHOWN_MAX])
            self.complain(f"{len(owed)} acknowledged letters never reached a subscription: {shown}")
