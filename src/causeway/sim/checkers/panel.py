"""All checkers of a run behind one face: what is observed once is told to each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from causeway.core.messages import Deliver, Message
from causeway.limits import SHARDS
from causeway.sim.checkers.atomicity import Atomicity
from causeway.sim.checkers.base import Checker, Deed, Reader, Viewing
from causeway.sim.checkers.browsing import Browsing
from causeway.sim.checkers.causality import Causality
from causeway.sim.checkers.confirmation import Confirmation
from causeway.sim.checkers.conservation import Conservation
from causeway.sim.checkers.handing import Handing, Place
from causeway.sim.checkers.loss import NoLoss
from causeway.sim.checkers.once import ExactlyOnce
from causeway.sim.checkers.order import Order
from causeway.sim.checkers.owner import SingleOwner
from causeway.sim.checkers.refusal import Refusal
from causeway.sim.checkers.subscribing import Subscribing, Wish
from causeway.sim.letters import Letter
from causeway.types import Instant


class Panel(Checker):
    """Passes every observation on, with the virtual time at which it was made."""

    def __init__(self, clock: Callable[[], Instant], shards: int = SHARDS) -> None:
        super().__init__()
        self._clock = clock
        self.loss = NoLoss()
        self.once = ExactlyOnce()
        self.order = Order()
        self.owner = SingleOwner(shards)
        self.handing = Handing(self.owner)
        self.atomicity = Atomicity()
        self.refusal = Refusal()
        self.confirmation = Confirmation()
        self.conservation = Conservation()
        self.browsing = Browsing()
        self.subscribing = Subscribing()
        self.causality = Causality()
        self.checkers: tuple[Checker, ...] = (
            self.loss,
            self.once,
            self.order,
            self.owner,
            self.handing,
            self.atomicity,
            self.refusal,
            self.confirmation,
            self.conservation,
            self.browsing,
            self.subscribing,
            self.causality,
        )
        self.counts: dict[str, int] = {}

    def sent(self, letter: Letter) -> None:
        for checker in self._each("sent", letter):
            checker.sent(letter)

    def acknowledged(self, letter: Letter) -> None:
        for checker in self._each("acknowledged", letter):
            checker.acknowledged(letter)

    def failed(self, letter: Letter, reason: str) -> None:
        for checker in self._each("failed", letter):
            checker.failed(letter, reason)

    def refused(self, letter: Letter) -> None:
        for checker in self._each("refused", letter):
            checker.refused(letter)

    def delivered(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        for checker in self._each("delivered", letter):
            checker.delivered(mailbox, reader, letter)

    def settled(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        for checker in self._each("settled", letter):
            checker.settled(mailbox, reader, letter)

    def settlement_confirmed(self, mailbox: str, reader: Reader, letter: Letter, place: Place | None = None) -> None:
        if place is not None and not letter.topic:  # a subscription that begins anew may begin with it
            self.handing.done(place, reader[0])
        for checker in self._each("confirmed settlements", letter):
            checker.settlement_confirmed(mailbox, reader, letter)

    def returned(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        for checker in self._each("returned", letter):
            checker.returned(mailbox, reader, letter)

    def delivery_confirmed(self, letter: Letter) -> None:
        for checker in self._each("confirmed deliveries", letter):
            checker.delivery_confirmed(letter)

    def reader_ended(self, reader: Reader) -> None:
        for checker in self._each("ended readers"):
            checker.reader_ended(reader)

    def begun(self, transaction: Deed) -> None:
        for checker in self._each("transactions"):
            checker.begun(transaction)

    def decided(self, transaction: Deed, *, committed: bool | None) -> None:
        known = {True: "committed", False: "aborted", None: "unknown"}[committed]
        for checker in self._each(f"{known} transactions"):
            checker.decided(transaction, committed=committed)

    def look_began(self, viewing: Viewing) -> None:
        for checker in self._each("exact looks" if viewing.exact else "looks"):
            checker.look_began(viewing)

    def look_ended(self, viewing: Viewing, shown: Sequence[Letter] | None) -> None:
        for checker in self._each("looks without an answer" if shown is None else "views"):
            checker.look_ended(viewing, shown)

    def frame(self, sender: str, receiver: str, head: Message, *, brokers: bool) -> None:
        """A frame was put on a connection."""
        self.owner.now = self.handing.now = self._clock()
        if isinstance(head, Deliver):
            if self.handing in self.checkers:
                self.handing.watch(sender, receiver, head)
        else:
            self.owner.watch(sender, receiver, head, brokers=brokers)

    def share(self, mailbox: str) -> None:
        """A mailbox has several readers."""
        for checker in (self.once, self.order, self.causality):
            checker.share(mailbox)

    def finish(self) -> None:
        for checker in self._each("verdicts"):
            checker.finish()

    def subscribed(self, mailbox: str, wish: Wish) -> None:
        """An application asks for a durable subscription."""
        self._each("subscriptions")
        if self.subscribing.subscribed(mailbox, wish):
            self._each("changed subscriptions")

    def subscription_begun(self, mailbox: str) -> None:
        """It was told that the subscription has begun."""
        self._each("begun subscriptions")
        self.subscribing.subscription_begun(mailbox)

    def subscription_refused(self, mailbox: str, reason: str) -> None:
        """It was told that it will not be served, although it may ask for what it asks for."""
        self._each("refused subscriptions")
        self.subscribing.subscription_refused(mailbox, reason)

    def subscription_ending(self, mailbox: str) -> None:
        """An application wants no more of it."""
        self._each("ending subscriptions")
        self.subscribing.subscription_ending(mailbox)

    def subscription_ended(self, mailbox: str) -> None:
        """It was told that the subscription has ended."""
        self._each("ended subscriptions")
        self.subscribing.subscription_ended(mailbox)

    def topics_wanted(self, mailbox: str, patterns: Sequence[str]) -> None:
        """An application wants topics, in causal order, in a mailbox."""
        self._each("wanted topics")
        self.causality.subscribed(mailbox, patterns)

    def topics_begun(self, mailbox: str) -> None:
        """It was told that they come from now on."""
        self._each("begun topics")
        self.causality.subscription_begun(mailbox)

    def _each(self, what: str, letter: Letter | None = None) -> tuple[Checker, ...]:
        """Who is to be told: of letters in causal order and of published ones, who knows those; of others, the rest."""
        self.counts[what] = self.counts.get(what, 0) + 1
        now = self._clock()
        for checker in self.checkers:
            checker.now = now
        if letter is None:
            return self.checkers
        special = (self.subscribing, self.causality)
        expert = self.causality if letter.causal else self.subscribing if letter.topic else None
        return tuple([one for one in self.checkers if one is expert or (expert is None and one not in special)])
