"""Subscriptions: what is published after one has begun reaches it, once, in order per publisher; nothing else does.

What a subscription wants may change, and it may end and begin again: each time it begins anew, with what is published
from then on, and with what is retained if it wants that. Whether a letter is wanted is decided here by comparing levels
one by one and by the letter's own colour, not by the product's index or its selectors.
"""

from __future__ import annotations

from typing import NamedTuple

from causeway.sim.checkers.base import Checker, Reader
from causeway.sim.letters import Letter
from causeway.topics.critical import CRITICAL, is_critical
from causeway.topics.limits import CRITICAL_PAIRS, TOPIC_ITEMS
from causeway.types import MILLISECOND, Instant, ServiceClass

SHOWN_MAX = 5

REMEMBERED_AFTER = 500 * MILLISECOND
"""Until then a publisher that keeps its state may have an acknowledgement in memory only. If it ends, its next life
publishes again: whoever has the letter does not get it twice, but who began to want it meanwhile does get it."""


def wants(pattern: str, topic: str) -> bool:
    """Whether a pattern (`*` one level, `#` at its end the rest) wants a topic: the obvious way."""
    wanted, given = pattern.split("/"), topic.split("/")
    if wanted[-1] == "#":
        wanted.pop()
        given = given[: len(wanted)]
    return len(wanted) == len(given) and all(w in ("*", g) for w, g in zip(wanted, given, strict=True))


class Wish(NamedTuple):
    """What a subscription wants."""

    pattern: str
    colour: str = ""
    """Only letters of it; empty for all."""
    retained: bool = False
    """Whether it begins with what is retained."""

    def wants(self, letter: Letter) -> bool:
        """Whether a letter is meant for it."""
        return wants(self.pattern, letter.topic) and self.colour in ("", letter.colour)

    def asks_where(self, letter: Letter) -> bool:
        """Whether whoever has the letter's topic was told of this wish."""
        levels = 2 if is_critical(letter.topic) else 1
        pairs = zip(self.pattern.split("/")[:levels], letter.topic.split("/"), strict=False)
        return all(wanted in ("*", "#", given) for wanted, given in pairs)

    @property
    def registrations(self) -> int:
        """How many items must know it."""
        levels = self.pattern.split("/")
        if levels[0] in "*#":
            # Of critical topics both ways: once for each of the two mailboxes.
            return TOPIC_ITEMS + (2 if levels[0] == "*" and levels[1:] else 2 * CRITICAL_PAIRS)
        if levels[0] != CRITICAL:
            return 1
        return 2 * CRITICAL_PAIRS if levels[1:] and levels[1] in "*#" else 2

    def __str__(self) -> str:
        return f"{self.colour or 'all'} of {self.pattern}{' and what is retained' if self.retained else ''}"


class Period:
    """A time in which a subscription wants one thing."""

    __slots__ = ("asked", "begun", "closed", "wish")

    def __init__(self, wish: Wish, asked: Instant) -> None:
        self.wish = wish
        self.asked = asked
        self.begun: Instant | None = None
        """When it was first said to have begun."""
        self.closed: Instant | None = None
        """When that was said of the next one."""

    def __str__(self) -> str:
        times = (self.asked, self.begun, self.closed)
        asked, begun, closed = ("never" if time is None else f"{time / 1e9:.6f}s" for time in times)
        return f"{self.wish} (asked {asked}, begun {begun}, changed {closed})"


class Watched:
    """One subscription, as its applications know it."""

    def __init__(self) -> None:
        self.periods: list[Period] = []
        """Since it last began; empty while there is none."""
        self.ending = False
        self.owed: dict[Letter, Instant] = {}
        self.notices: dict[str, Letter] = {}
        """Topics of which it is owed a retained letter, with one that this one may not be older than."""
        self.seen: dict[Letter, None] = {}
        self.held: dict[tuple[Letter, Reader], None] = {}
        self.done: dict[Letter, Reader] = {}
        self.last: dict[tuple[str, int, str, Reader], Letter] = {}
        """By publisher, its life, topic and reader."""

    @property
    def wanted(self) -> Period | None:
        """What it wants, as far as anybody is owed it."""
        return self.periods[-1] if self.periods and not self.ending else None

    @property
    def greets(self) -> bool:
        """Whether what is retained may come to it, and more than once: whenever it begins anew."""
        return any(period.wish.retained for period in self.periods)


class Subscribing(Checker):
    """All durable subscriptions of a run, by mailbox; each has one reader at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._watched: dict[str, Watched] = {}
        self._sent: dict[Letter, Instant] = {}
        self._acknowledged: dict[Letter, Instant] = {}
        self._forgotten: dict[Letter, None] = {}
        """Acknowledged to a life that ended before it need have remembered that."""
        self._retained: dict[str, list[Letter]] = {}
        """By topic, in the order of their acknowledgements."""
        self.registrations: int | None = None
        """How many all items together know, when somebody last looked."""

    # Subscriptions ---------------------------------------------------------------------------------------------
    def subscribed(self, mailbox: str, wish: Wish) -> bool:
        """An application asks for a subscription; whether for something else than it had."""
        watched = self._watched.setdefault(mailbox, Watched())
        before = watched.periods[-1] if watched.periods else None
        if before is not None and before.wish == wish:
            return False
        watched.owed, watched.notices = {}, {}
        watched.periods.append(Period(wish, self.now))
        # Else nobody knows whether it begins anew; or, of a colour, whether another one took its place before it began.
        if wish.retained and not wish.colour and (before is None or before.begun is not None):
            kept = {topic: letters[-1] for topic, letters in self._retained.items()}
            watched.notices = {topic: letter for topic, letter in kept.items() if wish.wants(letter)}
        return before is not None

    def subscription_begun(self, mailbox: str) -> None:
        """It was told that the subscription has begun."""
        watched = self._watched[mailbox]
        if watched.wanted is not None and watched.wanted.begun is None:
            watched.wanted.begun = self.now
            for period in watched.periods[:-1]:
                period.closed = self.now if period.closed is None else period.closed

    def subscription_refused(self, mailbox: str, reason: str) -> None:
        """It will not be served."""
        self.complain(f"{mailbox} is not served although its only application wants it: {reason}")

    def subscription_ending(self, mailbox: str) -> None:
        """An application wants no more of it."""
        watched = self._watched[mailbox]
        watched.ending = True
        watched.owed, watched.notices = {}, {}

    def subscription_ended(self, mailbox: str) -> None:
        """It was told that there is nothing left of it."""
        watched = self._watched[mailbox]
        watched.ending = False
        watched.periods = []

    # Letters ---------------------------------------------------------------------------------------------------
    def sent(self, letter: Letter) -> None:
        self._sent[letter] = self.now

    def acknowledged(self, letter: Letter) -> None:
        self._acknowledged[letter] = self.now
        if letter.stream == ServiceClass.EXPRESS:
            return
        if letter.retained:
            self._retained.setdefault(letter.topic, []).append(letter)
        for watched in self._watched.values():
            period = watched.wanted
            if period is None or period.begun is None or self._sent[letter] < period.begun:
                continue
            if period.wish.wants(letter) and letter not in watched.seen:
                watched.owed[letter] = self.now

    def delivered(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        watched = self._watched[mailbox]
        if letter not in self._sent:
            self.complain(f"{letter} was delivered to {mailbox} and never published")
        if not any(self._may_come(watched, period, letter) for period in watched.periods):
            self.complain(f"{letter} was delivered to {mailbox}, which wants {self._story(watched, letter)}")
        again = watched.greets and letter.retained
        if (letter, reader) in watched.held and not again:
            self.complain(f"{letter} was delivered twice to {reader} from {mailbox}")
        if letter in watched.done and not again:
            self.complain(f"{letter} was delivered to {reader} from {mailbox} after {watched.done[letter]} was done")
        # What comes by two ways may come again to a next life of its reader, when its place has passed.
        again = again or (is_critical(letter.topic) and letter in watched.seen)
        watched.held[letter, reader] = None
        watched.seen[letter] = None
        watched.owed.pop(letter, None)
        begun = watched.periods[-1].begun
        if letter.retained and (begun is None or self._sent[letter] <= begun):  # else it would have come anyway
            watched.notices.pop(letter.topic, None)
        if letter.stream == ServiceClass.TRANSACTIONAL and not again:
            self._check_order(watched, reader, letter)

    def _check_order(self, watched: Watched, reader: Reader, letter: Letter) -> None:
        place = (letter.source, letter.life, letter.dest, reader)
        last = watched.last.get(place)
        if last is not None and letter.number < last.number:
            self.complain(f"{letter} reached {reader} after {last}")
        watched.last[place] = letter

    def _may_come(self, watched: Watched, period: Period, letter: Letter) -> bool:
        """Whether a subscription may get a letter for what it wanted in a period.

        A change does not wait for items that have nothing of what is wanted now: they may hear of it later.
        """
        over = period.closed is not None and self._sent[letter] > period.closed
        if not period.wish.wants(letter) or (over and watched.periods[-1].wish.asks_where(letter)):
            return False
        known = self._acknowledged.get(letter)
        # By one of two ways a critical letter may be acknowledged while the other one has yet to take it.
        if known is None or known >= period.asked or letter in self._forgotten or is_critical(letter.topic):
            return True
        return period.wish.retained and letter.retained and not self._is_replaced(letter, known, period.asked)

    def _is_replaced(self, letter: Letter, known: Instant, until: Instant) -> bool:
        """Whether a letter was retained in its place: published after its acknowledgement, known before a time."""
        others = self._retained.get(letter.topic, ())
        return any(self._sent[other] > known and self._acknowledged[other] < until for other in others)

    def _story(self, watched: Watched, letter: Letter) -> str:
        wanted = "; before it: ".join(str(period) for period in reversed(watched.periods)) or "nothing any more"
        known = self._acknowledged.get(letter)
        when = "" if known is None else f", acknowledged {known / 1e9:.6f}s"
        return f"{wanted}: sent {self._sent[letter] / 1e9:.6f}s{when}, colour {letter.colour!r}"

    def settlement_confirmed(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        self._watched[mailbox].done[letter] = reader

    def reader_ended(self, reader: Reader) -> None:
        for letter, known in self._acknowledged.items():
            if (letter.source, letter.life) == reader and self.now - known <= REMEMBERED_AFTER:
                self._forgotten[letter] = None
        for watched in self._watched.values():
            for place in [place for place in watched.held if place[1] == reader]:
                del watched.held[place]

    # The end ---------------------------------------------------------------------------------------------------
    def owed(self) -> list[tuple[str, Letter]]:
        """Acknowledged, and not at a subscription that wants it."""
        owed = [(mailbox, letter) for mailbox, watched in self._watched.items() for letter in watched.owed]
        return owed + [(box, letter) for box, watched in self._watched.items() for letter in watched.notices.values()]

    def misregistered(self) -> str | None:
        """Why items know too much or too little, as far as somebody looked; None if they do not."""
        wishes = {box: watched.wanted.wish for box, watched in self._watched.items() if watched.wanted is not None}
        expected = sum(wish.registrations for wish in wishes.values())
        if self.registrations is None or self.registrations == expected:
            return None
        told = ", ".join(f"{box} ({wish})" for box, wish in wishes.items())
        return f"items know {self.registrations} subscriptions instead of {expected}: {told}"

    def finish(self) -> None:
        owed = self.owed()
        if owed:
            shown = "; ".join(f"{letter} at {mailbox}" for mailbox, letter in owed[:SHOWN_MAX])
            self.complain(f"{len(owed)} acknowledged letters never reached a subscription: {shown}")
        reason = self.misregistered()
        if reason is not None:
            self.complain(reason)
