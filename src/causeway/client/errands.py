"""Questions that only the owner of a mailbox can answer, and the way there: ask at home, follow Moved, ask again.

Owns: where each errand was asked, when it is asked again. MailReaders, browsing, commits and looks at a broker are
errands; what they say and what an answer means is theirs. Stimuli: links, Moved, and time.
"""

from __future__ import annotations

import random
from typing import Final

from causeway.client.links import Uplink, Uplinks
from causeway.client.settings import Address, SessionConfig
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.machine import Turn
from causeway.core.messages import Moved
from causeway.errors import Code
from causeway.types import MILLISECOND, Duration

MOVED_WAIT_MIN: Duration = 50 * MILLISECOND
MOVED_WAIT_MAX: Duration = 200 * MILLISECOND
"""How long to wait when a mailbox has no owner yet, or its owner could not be reached."""

REFUSALS: Final = frozenset({Code.BAD_FIELD, Code.IN_USE, Code.NO_MAILBOX, Code.OVERFLOWED})
"""With these an owner refuses a question for good instead of sending us elsewhere."""

ONE_REQUEST: Final = REFUSALS | {Code.OVERLOADED}
"""Refusals that say nothing about where a mailbox is served: those it serves already stay."""

MOVES_MAX: Final = 8
"""More than the overlay needs to lead us anywhere: two brokers point at each other, and need a moment."""

COMMITS: Final = 1
"""The number of the errand that carries all transactions."""


class Errand:
    """Something to be asked at a mailbox's owner (or, with `address`, at one broker, or at any broker)."""

    __slots__ = ("address", "answered", "asked", "link", "mailbox", "moves", "number", "trouble")

    def __init__(self, number: int, mailbox: str, address: Address | None = None) -> None:
        self.number = number
        self.mailbox = mailbox
        self.address = address
        self.link: Uplink | None = None
        """Where it was asked, or will be once that link is up."""
        self.asked = False
        """On the present link."""
        self.answered = False
        self.moves = 0
        """Brokers that sent us on, one after the other."""
        self.trouble = ""
        """The last reason it could not be answered."""

    def ask(self, turn: Turn, link: Uplink) -> None:
        """Put the question on the link."""
        raise NotImplementedError

    def repeat(self, turn: Turn, link: Uplink) -> None:
        """Put it there again: nobody answered for a while."""
        self.ask(turn, link)

    def is_final(self, turn: Turn, refusal: Moved) -> bool:
        """Whether this refusal is the last word; otherwise it is asked again."""
        return False

    def on_lost(self, turn: Turn) -> None:
        """The link where this errand was asked is gone, or the mailbox has moved away from it."""


class Errands:
    """Every errand under way."""

    def __init__(
        self, config: SessionConfig, links: Uplinks, rng: random.Random, *, alarm: Alarm | None = None
    ) -> None:
        self._config = config
        self._links = links
        self._rng = rng
        self._all: dict[int, Errand] = {}
        self.deadlines: Deadlines[int] = Deadlines(alarm)
        """By errand: when to begin again, or to repeat an unanswered question."""

    def find(self, number: int) -> Errand | None:
        """The errand with this number."""
        return self._all.get(number)

    def asked_at(self, link: Uplink, mailbox: str) -> list[Errand]:
        """Errands for a mailbox whose question is on this link."""
        return [one for one in self._all.values() if one.link is link and one.asked and one.mailbox == mailbox]

    @property
    def committing(self) -> bool:
        """Whether a transaction is under way."""
        return COMMITS in self._all

    def all(self) -> list[Errand]:
        """Every errand."""
        return list(self._all.values())

    def start(self, turn: Turn, errand: Errand) -> None:
        """Take on an errand; one that knows a link begins there, if that is up."""
        self._all[errand.number] = errand
        if errand.link is not None and errand.link.up:
            self._go(turn, errand, errand.link)
        else:
            errand.link = None
            self._begin(turn, errand)

    def drop(self, errand: Errand) -> None:
        """Forget it, answered or not."""
        self._all.pop(errand.number, None)
        self.deadlines.cancel(errand.number)

    def clear(self) -> None:
        """Forget all."""
        self._all.clear()
        self.deadlines.clear()

    def on_answered(self, errand: Errand) -> None:
        """It reached the right place."""
        errand.answered = True
        errand.trouble = ""
        self.deadlines.cancel(errand.number)

    def on_progress(self, turn: Turn, errand: Errand) -> None:
        """Part of the answer came: the rest has as much time as the whole."""
        if errand.asked:
            self.deadlines.set(errand.number, turn.now + self._config.repeat_after)

    def adopt(self, errand: Errand, link: Uplink) -> None:
        """A broker answers although we have moved on: that is the right place, then."""
        errand.link = link
        errand.asked = True
        self.on_answered(errand)

    def links_used(self) -> dict[int, None]:
        """Connections some errand needs."""
        return {errand.link.conn: None for errand in self._all.values() if errand.link is not None}

    def on_link_up(self, turn: Turn, link: Uplink) -> None:
        """Ask what waited for this link; ask at home what had nowhere to go."""
        for errand in list(self._all.values()):
            if errand.link is None and errand.number not in self.deadlines:
                self._begin(turn, errand)
            elif errand.link is link and not errand.asked:
                self._ask(turn, errand, link)

    def on_link_down(self, turn: Turn, link: Uplink, reason: str) -> None:
        """Begin again: at once what had been asked, after a pause what could not even be asked."""
        for errand in list(self._all.values()):
            if errand.link is not link:
                continue
            errand.trouble = errand.trouble or reason
            was_asked = errand.asked
            self._withdraw(turn, errand)
            if was_asked:
                self._begin(turn, errand)
            else:
                self._pause(turn, errand, crowded=link.crowded)

    def on_moved(self, turn: Turn, link: Uplink, moved: Moved) -> None:
        """Go where the mailbox is served now."""
        for errand in list(self._all.values()):
            if errand.link is not link or errand.mailbox != moved.mailbox or not errand.asked:
                continue
            if errand.answered and moved.code in ONE_REQUEST:
                continue  # said to another one that asked for the same mailbox over the same link
            here = link.peer is not None and moved.peer is not None and moved.peer.id == link.peer.id
            if errand.answered and here:
                continue  # said to somebody who asked where it is: here, as we know
            errand.moves = 0 if errand.answered else errand.moves + 1
            self._withdraw(turn, errand)
            if moved.detail:
                errand.trouble = moved.detail
            if moved.peer is None or here or errand.moves > MOVES_MAX:
                self._pause(turn, errand)
            else:
                self._go(turn, errand, self._links.reach(turn, moved.peer))

    def put_off(self, turn: Turn, errand: Errand, trouble: str) -> None:
        """Nobody can answer it now: ask again in a while."""
        self._withdraw(turn, errand)
        errand.trouble = trouble
        self._pause(turn, errand)

    def on_deadlines(self, turn: Turn) -> None:
        """Begin again what paused; repeat what nobody answered."""
        for number in self.deadlines.pop_due(turn.now):
            errand = self._all.get(number)
            if errand is None:
                continue
            if errand.link is not None and errand.asked:
                self.deadlines.set(number, turn.now + self._config.repeat_after)
                errand.repeat(turn, errand.link)
            else:
                self._begin(turn, errand)

    def _begin(self, turn: Turn, errand: Errand) -> None:
        self.deadlines.cancel(errand.number)
        link = self._links.home
        if errand.address is not None:
            link = self._links.at(turn, errand.address)
        if link is not None:
            self._go(turn, errand, link)

    def _go(self, turn: Turn, errand: Errand, link: Uplink) -> None:
        errand.link = link
        errand.asked = False
        if link.up:
            self._ask(turn, errand, link)

    def _ask(self, turn: Turn, errand: Errand, link: Uplink) -> None:
        errand.asked = True
        self.deadlines.set(errand.number, turn.now + self._config.repeat_after)
        errand.ask(turn, link)

    def _withdraw(self, turn: Turn, errand: Errand) -> None:
        errand.link = None
        errand.asked = False
        errand.answered = False
        errand.on_lost(turn)

    def _pause(self, turn: Turn, errand: Errand, *, crowded: bool = False) -> None:
        errand.moves = 0
        shortest, longest = MOVED_WAIT_MIN, MOVED_WAIT_MAX
        if crowded:  # room comes when somebody leaves: many who ask all the time would only cost the broker more
            shortest, longest = self._config.retry_max // 2, self._config.retry_max
        self.deadlines.set(errand.number, turn.now + self._rng.randint(shortest, longest))
