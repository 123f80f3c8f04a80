"""One consumer of a session: what is queued for it, what the application holds, what must still be said to its owner.

Owns: its own errand (attach where the mailbox is served, settle again what may have been lost). Does not know other
consumers or what was seen before (`consumers`).
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

import msgspec

from causeway.client.errands import Errand
from causeway.client.links import Uplink
from causeway.client.lots import Lot
from causeway.client.settings import PREFETCH, PREFETCH_FIRST
from causeway.core.machine import Turn
from causeway.core.messages import Attach, Attached, Credit, Detach, Interest, Moved, Return, Settle
from causeway.errors import CausewayError, Code
from causeway.limits import SPANS_PER_FRAME_MAX
from causeway.ranges import IdSet, merged
from causeway.types import SECOND, VOLATILE_FROM, Duration, Instant, Span

FORMER_LIFE: Final[Duration] = 3 * SECOND
"""Who asks for a mailbox alone is told for so long that somebody has it: perhaps a former life of the same application,
whose end its broker has not noticed yet."""

QUICK: Final[Duration] = SECOND
"""Who takes its whole window within this and waits for more gets a larger one: it holds about a second of work."""

CONTEST: Final[Duration] = 10 * SECOND
"""Who had a mailbox alone and lost its link is told for a while that somebody has it: itself, until that is noticed."""


class MailReader(Errand):
    """One consumer of one mailbox: what is queued for it, what the application holds, what must still be said."""

    __slots__ = (
        "attached_on",
        "began",
        "closing",
        "contested_at",
        "credit",
        "dead",
        "dirty",
        "ends",
        "error",
        "exclusive",
        "fresh",
        "front",
        "held",
        "history",
        "interest",
        "late",
        "numbers",
        "prefetch",
        "queue",
        "returns",
        "seat_of",
        "selector",
        "served",
        "settles",
        "taken",
        "twin",
        "unconfirmed",
        "waiter",
        "wanting",
        "window",
    )

    def __init__(
        self,
        number: int,
        mailbox: str,
        prefetch: int | None,
        *,
        selector: str = "",
        exclusive: bool = False,
        interest: Interest | None = None,
    ) -> None:
        super().__init__(number, mailbox)
        self.prefetch = prefetch
        self.credit = PREFETCH if prefetch is None else prefetch
        self.window = PREFETCH_FIRST if prefetch is None and not exclusive else self.credit
        """How much of its credit is used: it doubles when the application has to wait for more."""
        self.wanting = False
        """Whether that may be so now."""
        self.taken = 0
        self.began: Instant | None = None
        """Messages handed out since then, which is when the window was last looked at."""
        self.selector = selector
        self.exclusive = exclusive
        self.interest = interest
        """What is published on these topics comes into the mailbox."""
        self.seat_of = ""
        """Of an interest in causal order: whose seat must be known before it can be told; empty when it is."""
        self.queue: deque[Lot] = deque()
        """Delivered, not wholly handed out."""
        self.held: dict[int, Lot] = {}
        """Handed out in part or whole, with messages still open; oldest first."""
        self.dirty: list[Lot] = []
        """Lots with acceptances to pass on."""
        self.settles: list[Span] = []
        """Numbers to settle at the end of this turn."""
        self.returns: list[Span] = []
        self.late: list[Span] = []
        """Express numbers settled and not yet said."""
        self.unconfirmed = IdSet()
        """Settled by us, not yet confirmed to be on all copies: said again after a reconnect."""
        self.dead = IdSet()
        """Settled by us too late, the latest of them: they were given back too often before, and are dead letters."""
        self.attached_on: Uplink | None = None
        """Where Attach was sent."""
        self.served = False
        """A broker has served it, now or before."""
        self.numbers: dict[str, int] = {}
        self.history = ""
        self.fresh = False
        """What the first Attached said of where a subscription begins, and who keeps what is older."""
        self.contested_at: Instant | None = None
        """Since when somebody else has what was ours alone."""
        self.error: CausewayError | None = None
        """Why no broker will serve it (any more)."""
        self.closing = False
        self.ends = False
        """Its mailbox is of no use to anybody without it."""
        self.twin: MailReader | None = None
        """Reads the other way of critical topics; what it gets is queued here (see `merging`)."""
        self.front: MailReader = self
        """Who hands out what it gets: itself, or the reader whose twin it is."""
        self.waiter: Any = None

    @property
    def partner(self) -> MailReader | None:
        """The reader of the other way, if there is one."""
        return self.twin if self.front is self else self.front

    @property
    def begun(self) -> bool:
        """Whether all it wants comes: a broker serves it, and its twin has been served."""
        if self.twin is None:
            return self.answered
        return self.served and self.twin.served and (self.answered or self.twin.answered)

    def want(self) -> bool:
        """The application waits for more; whether the window is a reason, and may have to be widened."""
        room = self.window < self.credit and self.answered
        self.wanting = room and self.taken + self._holding() >= self.window
        return self.wanting

    def widen(self, turn: Turn) -> None:
        """Twice the window for an application that waits, if it holds all of it, or took as much within a moment: for a
        slow one there is enough, and the rest is for others."""
        began, self.began = self.began, turn.now
        self.wanting, self.taken = False, 0
        quick = began is None or turn.now - began <= QUICK
        if self.answered and self.link is not None and (quick or self._holding() >= self.window):
            self.window = min(self.credit, 2 * self.window)
            turn.send(self.link.conn, Credit(self.mailbox, self.number, self.window))

    def _holding(self) -> int:
        return sum(lot.taken - lot.low for lot in self.held.values())

    def take_seat(self, seat: str) -> None:
        """The seat that hands on to it is known."""
        assert self.interest is not None
        self.interest = msgspec.structs.replace(self.interest, seat=seat)
        self.seat_of = ""

    def forget_topics(self) -> None:
        """Its mailbox has no topics any more: or it would bring them again, wherever it attaches next."""
        self.interest, self.seat_of = None, ""

    def ask(self, turn: Turn, link: Uplink) -> None:
        """Attach. What may not have been settled is said again as soon as somebody serves us: only the owner may hear
        it, anybody else would send us away. A consumer that ends wants nothing but to have settled."""
        if self.closing:
            self.say_settled(turn, link, self.unconfirmed.spans())
            return
        self.attached_on = link
        window = self.window if self.window < self.credit else 0
        how = (self.selector, self.exclusive, self.interest, window, self.served)
        turn.send(link.conn, Attach(self.mailbox, self.number, self.credit, *how))

    def on_attached(self, head: Attached) -> None:
        """A broker serves it. Where it begins is settled by the first one that does."""
        if not self.served:
            self.numbers, self.history, self.fresh = dict(head.numbers), head.history, head.fresh
        self.window = head.window or self.credit
        self.served = True
        self.contested_at = None

    def repeat(self, turn: Turn, link: Uplink) -> None:
        """Once attached, only settlements can be unanswered."""
        if self.answered:
            self.say_settled(turn, link, self.unconfirmed.spans())
        else:
            self.ask(turn, link)

    def is_final(self, turn: Turn, refusal: Moved) -> bool:
        """What an owner does not allow today it does not allow tomorrow."""
        if refusal.code == Code.NO_MAILBOX:
            # Nothing is left to be settled, or the subscription was ended by somebody else.
            return self.closing or (self.answered and self.interest is not None)
        if refusal.code == Code.OVERFLOWED:
            return True
        if self.answered:
            return False  # somebody else was refused
        if refusal.code == Code.IN_USE:
            if self.contested_at is None:
                self.contested_at = turn.now
            return turn.now - self.contested_at >= (CONTEST if self.served else FORMER_LIFE)
        return True

    def on_lost(self, turn: Turn) -> None:
        """Whatever was not handed out will be delivered again, to us or to a competitor; forget it here."""
        if self.attached_on is not None and self.attached_on.up:
            # It may still serve us, or do so later: then it must not keep what it delivers for us.
            turn.send(self.attached_on.conn, Detach(self.mailbox, self.number))
        self.attached_on = None
        left: list[Lot] = []
        for lot in self.queue:
            if lot.doubled or lot.consumer != self.number:
                # What comes by two ways stays: whoever delivers it again says so under the same number, and the other
                # way, which may have brought it too, does not.
                left.append(lot)
                continue
            lot.truncate()
            if lot.finished:
                self.held.pop(lot.serial, None)
                assert lot.seen is not None
                lot.seen.lots.pop(lot.serial, None)
        self.queue.clear()
        self.queue.extend(left)
        for pile in (self.returns, self.late):
            pile.clear()
        for lot in (*self.front.held.values(), *self.front.queue, *self.dirty):
            self._loosen(lot)

    def _loosen(self, lot: Lot) -> None:
        """Numbers that meant something on the lost link only."""
        partner = self.partner
        if lot.consumer != self.number:
            lot.keep_aliases(lambda consumer, number: consumer != self.number or number < VOLATILE_FROM)
            return
        lot.stale = lot.seq >= VOLATILE_FROM
        if partner is None:
            lot.aliases = None
        else:
            other = partner.number
            lot.keep_aliases(lambda consumer, _: consumer == other)

    def say_settled(self, turn: Turn, link: Uplink, spans: list[Span]) -> None:
        """Settle, in frames of a bounded size."""
        for at in range(0, len(spans), SPANS_PER_FRAME_MAX):
            turn.send(link.conn, Settle(self.mailbox, self.number, tuple(spans[at : at + SPANS_PER_FRAME_MAX])))

    def say_returned(self, turn: Turn) -> None:
        """Say what was given back, if anything was."""
        spans, self.returns = tuple(merged(self.returns)), []
        if spans and self.answered and self.link is not None:
            turn.send(self.link.conn, Return(self.mailbox, self.number, spans))
