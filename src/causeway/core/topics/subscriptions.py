"""Subscriptions: mailboxes that want messages of topics, and see to it that the items know.

Owns: what each subscription wants (a row of its group), and registering it with every item that may have such topics,
or in causal order with its seat: again after a take-over, until each has said yes; and withdrawing it before the
mailbox ends. An ordinary mailbox may want topics in causal order too, and outlives that.
Must not know: what is published, how messages are delivered (a subscription is a mailbox like any other).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from causeway.config import BrokerConfig
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.machine import Turn
from causeway.core.mail.box import Box
from causeway.core.mail.office import Office
from causeway.core.messages import Attach, Attached, EndMailbox, Interest, MailboxEnded, Moved, Register, Registered
from causeway.core.ports import Courier, Groups
from causeway.core.topics.places import interest_at, places_of, serves
from causeway.core.topics.rows import SUBSCRIPTION, SubscriptionRow, encode, read_subscription
from causeway.errors import Code
from causeway.limits import ID_MAX
from causeway.names import DURABLE_PREFIX, is_twin, may_end
from causeway.store.base import Put, Row
from causeway.topics.limits import SUBSCRIBING_MAX
from causeway.types import Instant, Key, Overflow, key_of

VERSIONS_PER_LIFE_BITS = 16
"""So many changes of a subscription are told apart before its versions run into those of a next life of its mailbox."""

Askers = list[tuple[int, Attach | EndMailbox]]
"""Connections, and what each of them waits for."""


class OwnedSubscription:
    """One subscription at its owner."""

    __slots__ = (
        "askers",
        "box",
        "ending",
        "fresh",
        "interest",
        "items",
        "leaving",
        "numbers",
        "registered",
        "safe",
        "tries",
        "twinned",
        "version",
    )

    def __init__(self, box: Box, version: int, interest: Interest) -> None:
        self.box = box
        self.version = version
        self.interest = interest
        self.fresh = False
        """Whether nobody has been told yet that it has begun."""
        self.safe = False
        """Whether what it wants is on all copies."""
        self.registered = False
        """Whether every item knows, or knew before we owned it."""
        self.ending = False
        self.items: dict[str, None] = dict.fromkeys(self.places())
        """Those that have not answered yet; in causal order, its seat."""
        self.leaving: dict[str, None] = {}
        """Those that have nothing of what it wants now, and have not said that they have forgotten it."""
        self.numbers: dict[str, tuple[int, str]] = {}
        """Of those that have: from which number on, and which history has what is older."""
        self.twinned = not is_twin(box.mailbox.name) and (
            interest.has_twin(box.mailbox.name) or box.mailbox.name.startswith(DURABLE_PREFIX)
        )
        """Whether it may have a twin. Of a durable one nobody can tell: its reader may have begun the twin, wanted
        something else by the time it began the subscription itself, and died before it had heard of either."""
        self.tries = 0
        self.askers: Askers = []
        """Who waits until all have answered."""

    def places(self) -> tuple[str, ...]:
        """Who must know what it wants."""
        return places_of(self.box.mailbox.name, self.interest)

    @property
    def ended(self) -> bool:
        """Of an ordinary mailbox: nobody hands on to it any more. Its row stays, so that versions go on rising."""
        return self.ending and self.registered


class Subscriptions:
    """All subscriptions whose mailboxes this broker owns."""

    def __init__(
        self,
        config: BrokerConfig,
        office: Office,
        groups: Groups,
        courier: Courier,
        *,
        serve: Callable[[Turn, int, Attach], None],
        alarm: Alarm | None = None,
    ) -> None:
        self._config = config
        self._office = office
        self._groups = groups
        self._courier = courier
        self._serve = serve
        """What happens to a reader when every item has answered."""
        self.all: dict[Key, OwnedSubscription] = {}
        self._deadlines: Deadlines[Key] = Deadlines(alarm)

    # Ownership -------------------------------------------------------------------------------------------------
    def gain(self, turn: Turn, box: Box, rows: Sequence[Row]) -> None:
        """Take up a subscription where its former owner left it: the items may not know of it yet."""
        row = read_subscription(rows)
        if row is not None:
            subscription = self._begin(box, row.version, row.interest)
            subscription.safe = True
            subscription.registered = row.registered
            subscription.ending = row.ending
            subscription.leaving = dict.fromkeys(row.leaving)
            subscription.twinned = row.twinned
            if not row.registered or row.leaving:
                self._register(turn, subscription)

    def lose(self, turn: Turn, group: Key) -> None:
        """Another broker owns it; who waits asks there."""
        known = self.all.pop(group, None)
        self._deadlines.cancel(group)
        for conn, asker in known.askers if known is not None else ():
            turn.send(conn, Moved(asker.mailbox, None, Code.NOT_OWNER, "the subscription has moved"))

    def _begin(self, box: Box, version: int, interest: Interest) -> OwnedSubscription:
        subscription = self.all[box.mailbox.key] = OwnedSubscription(box, version, interest)
        box.overflow = interest.overflow
        box.shown_only = interest.keep > 0
        box.mailbox.bound(interest.bytes_max or ID_MAX)
        return subscription

    # Subscribing -----------------------------------------------------------------------------------------------
    def attach(self, turn: Turn, conn: int, head: Attach) -> bool:
        """A reader brings its wish (we may write): whether it is known, so that the reader can be served at once.

        Otherwise it is served when every item has answered.
        """
        assert head.interest is not None
        group = key_of(head.mailbox)
        box = self._office.boxes[group]
        known = self.all.get(group)
        if known is not None and known.ending and not known.ended:
            turn.send(conn, Moved(head.mailbox, None, Code.NOT_READY, "the subscription is ending"))
            return False
        if known is not None and self._contradicts(known, conn, head):
            detail = f"its other readers want {known.interest.pattern!r}, selector {known.interest.selector!r}"
            turn.send(conn, Moved(head.mailbox, None, Code.IN_USE, detail))
            return False
        if known is None or known.ended or known.interest != head.interest:
            # A mailbox that is born again must not be taken for its former life.
            version = known.version + 1 if known is not None else (box.config.born << VERSIONS_PER_LIFE_BITS) + 1
            fresh = self._begin(box, version, head.interest)
            fresh.fresh = known is None
            if known is not None:
                fresh.fresh = known.fresh
                fresh.twinned = fresh.twinned or known.twinned
                fresh.askers = [(conn, asker) for conn, asker in known.askers if isinstance(asker, Attach)]
                left = {**known.leaving, **({} if known.ended else dict.fromkeys(known.places()))}
                fresh.leaving = {item: None for item in left if item not in fresh.items}
            known = fresh
            self._office.write_own(turn, box, [self._row(fresh)], lambda turn: self._written(turn, fresh))
        if known.registered and not (head.interest.replay and known.items):
            return True
        self._wait(turn, known, conn, head)
        if known.registered and known.safe:
            self._register(turn, known)  # its numbers were told to a former owner
        return False

    @staticmethod
    def _contradicts(known: OwnedSubscription, conn: int, head: Attach) -> bool:
        """Whether a reader wants other messages than those who read beside it."""
        assert head.interest is not None
        wanted, given = head.interest, known.interest
        others = [place for place in known.box.mailbox.consumers() if place != (conn, head.consumer)]
        same = (wanted.pattern, wanted.selector) == (given.pattern, given.selector)
        return not same and not known.ended and not head.exclusive and bool(others)

    def _row(self, subscription: OwnedSubscription) -> Put:
        row = SubscriptionRow(
            subscription.version,
            subscription.interest,
            subscription.registered,
            subscription.ending,
            tuple(subscription.leaving),
            subscription.twinned,
        )
        group = subscription.box.mailbox.key
        return Put(group, SUBSCRIPTION, self._groups.position(group), encode(row))

    def _wait(self, turn: Turn, known: OwnedSubscription, conn: int, head: Attach | EndMailbox) -> None:
        known.askers = [entry for entry in known.askers if entry[0] != conn or not _is_again(entry[1], head)]
        if len(known.askers) >= SUBSCRIBING_MAX:
            turn.send(conn, Moved(head.mailbox, None, Code.OVERLOADED, f"{SUBSCRIBING_MAX} wait for it already"))
        else:
            known.askers.append((conn, head))

    def _written(self, turn: Turn, subscription: OwnedSubscription) -> None:
        subscription.safe = True
        if self.all.get(subscription.box.mailbox.key) is subscription:
            self._register(turn, subscription)

    def _register(self, turn: Turn, subscription: OwnedSubscription) -> None:
        """Tell every item that has not answered; again after a while."""
        subscription.tries += 1
        interest = None if subscription.ending else subscription.interest
        if not subscription.registered or subscription.askers:
            for item in list(subscription.items):
                self._say(turn, subscription, item, interest)
        for item in list(subscription.leaving):
            self._say(turn, subscription, item, None)
        if self._is_waiting(subscription):
            wait = min(self._config.retry * subscription.tries, 8 * self._config.retry)
            self._deadlines.set(subscription.box.mailbox.key, turn.now + wait)

    @staticmethod
    def _is_waiting(subscription: OwnedSubscription) -> bool:
        """Whether items have yet to answer something that somebody wants to know."""
        asked = bool(subscription.items) and (not subscription.registered or bool(subscription.askers))
        return asked or bool(subscription.leaving)

    def _say(self, turn: Turn, subscription: OwnedSubscription, item: str, interest: Interest | None) -> None:
        name = subscription.box.mailbox.name
        if interest is not None:
            interest = interest_at(item, name, interest)
        self._courier.post(turn, item, Register(item, name, subscription.version, interest, self._office.me))

    def on_registered(self, turn: Turn, head: Registered) -> None:
        """An item knows."""
        group = key_of(head.mailbox)
        known = self.all.get(group)
        if known is None or head.version != known.version:
            return
        left = head.item in known.leaving
        known.leaving.pop(head.item, None)
        if head.item not in known.items and not (left and known.ending):
            return
        if head.code:
            for conn, asker in known.askers:
                turn.send(conn, Moved(asker.mailbox, None, head.code, head.detail))
            known.askers = []
            return
        known.items.pop(head.item, None)
        if serves(head.item, head.mailbox, known.interest):
            known.numbers[head.item] = (head.number, head.history)
        # A change does not wait for items that have nothing of what is wanted now. An end does: who tells them later?
        if not known.items and not (known.ending and known.leaving):
            if not known.leaving:
                self._deadlines.cancel(group)
            self._complete(turn, group, known)

    def _complete(self, turn: Turn, group: Key, known: OwnedSubscription) -> None:
        """All items have answered."""
        askers, known.askers = known.askers, []
        if known.ending:
            self._end(turn, group, known, askers)
            return
        if not known.registered:
            known.registered = True
            if self._groups.serving(group):  # else the next owner asks the items once more
                self._office.write_own(turn, known.box, [self._row(known)], None)
        for conn, head in askers:
            if isinstance(head, Attach):
                self._serve(turn, conn, head)

    def answer(self, known: OwnedSubscription, head: Attach) -> Attached:
        """What a reader is told when it is served."""
        fresh, known.fresh = known.fresh, False
        if head.interest is None or not head.interest.replay:
            return Attached(head.mailbox, head.consumer, fresh=fresh, twinned=known.twinned)
        histories = list(dict.fromkeys(history for _, history in known.numbers.values()))
        numbers = tuple((item, number) for item, (number, _) in known.numbers.items())
        history = histories[0] if len(histories) == 1 else ""
        return Attached(head.mailbox, head.consumer, numbers, history, fresh, known.twinned)

    # Ending ----------------------------------------------------------------------------------------------------
    def end(self, turn: Turn, conn: int, head: EndMailbox) -> None:
        """A client ends a subscription, a private mailbox, or what an ordinary one gets of topics (we may write)."""
        group = key_of(head.mailbox)
        known = self.all.get(group)
        if known is not None and not known.ended:
            self._wait(turn, known, conn, head)
            self._withdraw(turn, known)
        elif may_end(head.mailbox):  # also a subscription whose first owner died before it had written what it wants
            self._groups.retire(turn, group)
            turn.send(conn, MailboxEnded(head.mailbox, head.token))
        else:
            detail = "mailbox: has no topics that could be ended, and is itself kept for its readers"
            turn.send(conn, Moved(head.mailbox, None, Code.BAD_FIELD, detail))

    def withdrawn(self, turn: Turn, group: Key) -> bool:
        """The mailbox is about to end: whether no item forwards to it; if one does, it is told to stop."""
        known = self.all.get(group)
        if known is None:
            return True
        self._withdraw(turn, known)
        return False

    def overflow(self, turn: Turn, group: Key) -> None:
        """A subscription that would rather end than wait is full."""
        known = self.all.get(group)
        if known is not None and not known.ending and self._groups.serving(group):
            assert known.interest.overflow == Overflow.DISCONNECT
            detail = "its reader was too slow, and the subscription has ended"
            self._office.dismiss(turn, known.box, Code.OVERFLOWED, detail)
            self._withdraw(turn, known)

    def _withdraw(self, turn: Turn, known: OwnedSubscription) -> None:
        if not known.ending:
            known.ending = True
            known.version += 1
            known.registered = known.safe = False
            known.tries = 0
            known.items = dict.fromkeys(known.places())
            known.numbers = {}
            # Before any item forgets it: a next owner would take it for registered.
            self._office.write_own(turn, known.box, [self._row(known)], lambda turn: self._written(turn, known))

    def _end(self, turn: Turn, group: Key, known: OwnedSubscription, askers: Askers) -> None:
        if may_end(known.box.mailbox.name):
            self._office.dismiss(turn, known.box, Code.NO_MAILBOX, "the subscription has ended")
            self._retire(turn, group)
        else:
            known.registered = True  # and so it has ended; the mailbox stays
            if self._groups.serving(group):
                self._office.write_own(turn, known.box, [self._row(known)], None)
        for conn, head in askers:
            if isinstance(head, EndMailbox):
                turn.send(conn, MailboxEnded(head.mailbox, head.token))

    def _retire(self, turn: Turn, group: Key) -> None:
        """No item knows it any more. Its group forgets that it shall end whenever another epoch comes first: until it
        is lost to us we say it again."""
        self._deadlines.set(group, turn.now + 2 * self._config.retry)
        self._groups.retire(turn, group)

    # Time ------------------------------------------------------------------------------------------------------
    def next_deadline(self) -> Instant | None:
        return self._deadlines.next()

    def on_deadline(self, turn: Turn) -> None:
        """Ask again those that did not answer."""
        for group in self._deadlines.pop_due(turn.now):
            known = self.all.get(group)
            if known is None or not known.safe:
                continue
            if self._is_waiting(known):
                self._register(turn, known)
            elif known.ending and not known.ended:
                self._retire(turn, group)


def _is_again(earlier: Attach | EndMailbox, head: Attach | EndMailbox) -> bool:
    """Whether a connection asks for the same thing once more; it may have several readers of one subscription."""
    if isinstance(earlier, Attach) and isinstance(head, Attach):
        return earlier.consumer == head.consumer
    return earlier == head
