"""What source brokers are told about the interest in an item, and for how long they may go by it.

A source broker that knows what anybody wants does not send what nobody wants. What it was told stays true until its
lease ends: interest that grows is told to every holder first, and a subscription counts as begun when all have said so
or cannot go by the old summary any more. A new owner does not know the holders of the former one: it waits for a lease.
A former owner that does not know that it is one must not promise anything beyond that: whoever answers has just seen
that all copies still follow it.

Owns: summaries and their holders at the owner of items. Must not know: registrations beyond their patterns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.machine import Turn
from causeway.core.mail.box import Box, Done
from causeway.core.messages import AskInterest, Summary, SummaryHeld
from causeway.core.ports import Courier
from causeway.core.topics.item import Item
from causeway.topics import covers, summarise
from causeway.topics.limits import SUMMARY_HOLDERS_MAX, SUMMARY_PATTERNS_MAX, SUMMARY_RECOUNTED_MAX
from causeway.types import SECOND, Duration, Instant, Key

LEASE: Duration = 2 * SECOND
"""As long as a source broker may go by a summary that it cannot be told to be outdated."""

SURE_FOR: Duration = LEASE // 2
"""So long after all copies followed us we promise something without asking them again."""


class Holder:
    """A source broker that was told."""

    __slots__ = ("held", "until")

    def __init__(self, until: Instant) -> None:
        self.until = until
        self.held = -1
        """The version it goes by, as far as it said so."""


class Outlook:
    """The interest in one item, as others are told."""

    __slots__ = ("asking", "fence", "holders", "item", "patterns", "proving", "sure", "version", "waiting")

    def __init__(self, item: Item, fence: Instant) -> None:
        self.item = item
        self.version = 0
        self.patterns: tuple[str, ...] = ()
        self.fence = fence
        """Until then somebody may go by what a former owner said."""
        self.holders: dict[bytes, Holder] = {}
        self.waiting: deque[tuple[int, Done]] = deque()
        """What happens when all holders know a version; in order."""
        self.sure: Instant = -LEASE
        """When all copies followed us, as far as we know."""
        self.proving = False
        """Whether we are finding out."""
        self.asking: dict[bytes, AskInterest] = {}
        """Who waits for that."""

    def count(self) -> None:
        """Take in all that is wanted, and nothing else."""
        self.patterns = summarise(self.item.index.patterns(), SUMMARY_PATTERNS_MAX)

    def grow(self, pattern: str) -> bool:
        """Take in a change of this pattern; whether others must be told."""
        before = self.patterns
        if len(self.item.registrations) <= SUMMARY_RECOUNTED_MAX:
            self.count()
        elif not any(covers(one, pattern) for one in before):
            self.patterns = summarise((*before, pattern), SUMMARY_PATTERNS_MAX)
        if self.patterns == before:
            return False
        self.version += 1
        return True

    def known(self, now: Instant) -> int:
        """The version that everybody goes by, or a later one."""
        if now < self.fence:
            return -1
        self.prune(now)
        return min((holder.held for holder in self.holders.values()), default=self.version)

    def prune(self, now: Instant) -> None:
        """Forget who goes by nothing any more."""
        self.holders = {broker: holder for broker, holder in self.holders.items() if holder.until > now}


class Leases:
    """Of all items this broker owns."""

    def __init__(
        self, courier: Courier, prove: Callable[[Turn, Box, Done], None], *, alarm: Alarm | None = None
    ) -> None:
        self._courier = courier
        self._prove = prove
        """Have something done when all copies of an item have followed us (we may write)."""
        self._outlooks: dict[Key, Outlook] = {}
        self._deadlines: Deadlines[Key] = Deadlines(alarm)

    def begin(self, turn: Turn, item: Item) -> None:
        """We own an item."""
        config = item.box.config
        reborn = config.epoch == config.born
        outlook = self._outlooks[item.box.mailbox.key] = Outlook(item, 0 if reborn else turn.now + LEASE)
        outlook.count()

    def end(self, group: Key) -> None:
        """Another broker owns it; whoever waits asks there."""
        self._outlooks.pop(group, None)
        self._deadlines.cancel(group)

    def changed(self, turn: Turn, item: Item, pattern: str) -> None:
        """The interest in an item has changed by this pattern: tell those who go by a summary."""
        outlook = self._outlooks[item.box.mailbox.key]
        if outlook.grow(pattern):
            for broker, holder in outlook.holders.items():
                if holder.until > turn.now:
                    self._courier.answer(turn, broker, self._summary(outlook, 0))

    def when_known(self, turn: Turn, item: Item, then: Done) -> None:
        """Do something when nobody goes by an older summary any more."""
        group = item.box.mailbox.key
        outlook = self._outlooks.get(group)
        if outlook is None:
            return
        outlook.waiting.append((outlook.version, then))
        self._look(turn, group, outlook)

    def on_ask(self, turn: Turn, group: Key, head: AskInterest) -> None:
        """A source broker wants to know what to send (we may write)."""
        outlook = self._outlooks.get(group)
        if outlook is None:
            return
        if turn.now - outlook.sure < SURE_FOR:
            self._grant(turn, outlook, head)
        elif len(outlook.asking) < SUMMARY_HOLDERS_MAX:
            outlook.asking[head.origin] = head
            if not outlook.proving:
                outlook.proving = True
                now = turn.now
                self._prove(turn, outlook.item.box, lambda turn: self._proven(turn, outlook, now))

    def _proven(self, turn: Turn, outlook: Outlook, sure: Instant) -> None:
        outlook.proving, outlook.sure = False, sure
        asking, outlook.asking = outlook.asking, {}
        for head in asking.values():
            self._grant(turn, outlook, head)

    def _grant(self, turn: Turn, outlook: Outlook, head: AskInterest) -> None:
        holder = outlook.holders.get(head.origin)
        if holder is None:
            if len(outlook.holders) >= SUMMARY_HOLDERS_MAX:
                outlook.prune(turn.now)
            if len(outlook.holders) >= SUMMARY_HOLDERS_MAX:
                return  # it sends everything, then
            holder = outlook.holders[head.origin] = Holder(turn.now)
        holder.until = turn.now + LEASE
        lease = max(0, LEASE - (turn.now - outlook.sure))
        self._courier.answer(turn, head.origin, self._summary(outlook, lease, head.asked))

    def on_held(self, turn: Turn, group: Key, head: SummaryHeld) -> None:
        """A source broker goes by a summary."""
        outlook = self._outlooks.get(group)
        if outlook is None or head.epoch != outlook.item.box.config.epoch:
            return
        holder = outlook.holders.get(head.origin)
        if holder is not None:
            holder.held = max(holder.held, head.version)
            self._look(turn, group, outlook)

    def next_deadline(self) -> Instant | None:
        return self._deadlines.next()

    def on_deadline(self, turn: Turn) -> None:
        for group in self._deadlines.pop_due(turn.now):
            outlook = self._outlooks.get(group)
            if outlook is not None:
                self._look(turn, group, outlook)

    def _look(self, turn: Turn, group: Key, outlook: Outlook) -> None:
        known = outlook.known(turn.now)
        while outlook.waiting and outlook.waiting[0][0] <= known:
            outlook.waiting.popleft()[1](turn)
        if outlook.waiting:
            latest = max((holder.until for holder in outlook.holders.values()), default=turn.now)
            self._deadlines.set_sooner(group, max(outlook.fence, latest, turn.now + 1))

    @staticmethod
    def _summary(outlook: Outlook, lease: Duration, asked: int = -1) -> Summary:
        item = outlook.item
        return Summary(item.name, item.box.config.epoch, outlook.version, outlook.patterns, lease, asked)
