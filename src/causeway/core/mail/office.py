"""The owner's side: the mailboxes whose groups this broker owns, their consumers, and what they answer.

Owns: one Box per owned mailbox; turns a mailbox's answers into operations and messages.
Must not know: routing, how operations are replicated, connections beyond their numbers.
Stimuli: batches, consumers, committed operations, ownership won and lost, time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from causeway.config import BrokerConfig
from causeway.core.deadlines import Alarm
from causeway.core.effects import Send
from causeway.core.events import OwnershipGained, OwnershipLost, PageLoaded
from causeway.core.machine import Turn
from causeway.core.mail.answers import Verdict
from causeway.core.mail.box import Box, Done
from causeway.core.mail.consumers import Consumer
from causeway.core.mail.expiry import Expiry
from causeway.core.mail.mailbox import Mailbox
from causeway.core.mail.parts import DOUBT, Parts
from causeway.core.mail.readers import Readers
from causeway.core.mail.selection import Sight
from causeway.core.mail.views import described
from causeway.core.messages import Deliver, Deposit, Moved, Resend, TxDecide, TxPrepare
from causeway.core.messages.groups import Config
from causeway.core.ports import Courier, Groups, Topics
from causeway.errors import Code
from causeway.limits import CREDIT_MAX
from causeway.store.base import Write
from causeway.trace import Step
from causeway.types import Instant, Key, Overflow, ServiceClass, Span, key_of

PASS_FACTOR = 5
"""A batch let through to an online application is stored after all when it is unsettled after so many retries."""


class Office(Readers):
    """All owned mailboxes."""

    def __init__(
        self,
        config: BrokerConfig,
        me: bytes,
        groups: Groups,
        courier: Courier,
        *,
        topics: Topics,
        is_deciding: Callable[[Key], bool],
        alarm: Alarm | None = None,
    ) -> None:
        super().__init__(config, me, groups, courier, topics=topics, is_deciding=is_deciding, alarm=alarm)
        self._parts = Parts(me, groups, courier, self._operations, self._replies, tracer=self._tracer)
        self._expiry = Expiry(groups, self.looks, self._operations.write, self._tracer)
        self._passes = config.durability == "memory"
        self._me = me
        self.messages = 0
        """That came from other brokers for mailboxes of ours; those of our own clients are counted by the outbox."""

    # Ownership -------------------------------------------------------------------------------------------------
    def on_ownership_gained(self, turn: Turn, event: OwnershipGained) -> Box:
        """Rebuild the mailbox from the rows of its group."""
        mailbox = Mailbox(event.config.name, event.group, self._config)
        mailbox.restore(event.rows, event.next)
        box = self.boxes[event.group] = Box(mailbox, event.config)
        self.bury += [(mailbox.name, event.config, batch) for batch in mailbox.condemned()]
        if mailbox.in_doubt:
            self._deadlines.set(event.group, turn.now + self._config.retry)
        self._endings.watch(turn, box)
        if mailbox.is_item:
            mailbox.attach(0, 0, CREDIT_MAX, turn.now)
        self.topics.gain(turn, event.group, event.rows)
        self.touch(event.group)
        return box

    def on_ownership_resumed(self, turn: Turn, group: Key, config: Config) -> None:
        """A new epoch, still ours: carry out what had to wait."""
        box = self.boxes.get(group)
        if box is not None:
            box.config = msgspec.structs.replace(config, name=box.config.name, born=box.config.born)
            self.touch(group)

    def on_ownership_lost(self, turn: Turn, event: OwnershipLost) -> None:
        """Send consumers and senders to the new owner."""
        box = self.boxes.pop(event.group, None)
        self._deadlines.cancel(event.group)
        if box is None:
            return
        self.topics.lose(turn, event.group)
        peer = next((m.peer for m in event.config.members if m.peer.id == event.config.owner), None)
        for conn in dict.fromkeys(conn for conn, _ in box.mailbox.consumers() if conn):
            turn.send(conn, Moved(box.mailbox.name, peer, Code.NOT_OWNER, "the mailbox has moved"))
            self._attendance.end(conn, event.group)
        self.looks.on_ownership_lost(turn, event.group, box.mailbox.name, peer)
        for deposit in box.waiting_senders():
            self._replies.reject(turn, deposit, Code.NOT_OWNER, "the mailbox has moved")

    # Batches ---------------------------------------------------------------------------------------------------
    def deposit(self, turn: Turn, group: Key, head: Deposit, body: bytes) -> bool:
        """Take a batch; False when it must wait until we may write."""
        box = self.boxes.get(group)
        is_express = head.stream == ServiceClass.EXPRESS
        if box is None or not (is_express or self._groups.serving(group)):
            return False
        mailbox = box.mailbox
        if head.origin != self._me:
            self.messages += head.count
        if is_express:
            if not (box.gone or box.buried) and self._relay(turn, mailbox, head, body):
                return True
            number = mailbox.hold(head, body, turn.now)
            if number is None and self._make_room(turn, box, len(body), stored=False):
                number = mailbox.hold(head, body, turn.now)
            if number is None:
                self._replies.refuse(turn, head, crowded=mailbox.is_crowded(turn.now))
                return True
            if number:
                self._tracer.deposit(turn, Step.TAKEN, head, size=len(body))
            if head.flags:
                self._replies.accept(turn, head)
            self._dirty[group] = None
            return True
        admission = mailbox.admit(head, len(body), turn.now)
        if admission.verdict == Verdict.FULL and self._make_room(turn, box, len(body), stored=True):
            admission = mailbox.admit(head, len(body), turn.now)
        verdict = admission.verdict
        if verdict == Verdict.NEW:
            self._take(turn, box, head, body, admission.skip)
        elif verdict == Verdict.DUPLICATE:
            self._tracer.deposit(turn, Step.DUPLICATE, head, size=len(body))
            if admission.pending:
                box.senders.setdefault(admission.seq, []).append(head)
            else:
                self._replies.accept(turn, head)
        elif verdict == Verdict.GAP:
            resend = Resend(head.source, head.incarnation, head.dest, head.stream, admission.after)
            self._courier.answer(turn, head.origin, resend)
        else:
            self._replies.refuse(turn, head, crowded=verdict == Verdict.CROWDED)
        return True

    def _relay(self, turn: Turn, mailbox: Mailbox, head: Deposit, body: bytes) -> bool:
        relayed = mailbox.relay(head, body, turn.now, self._courier.clogged)
        if relayed is None:
            return False
        turn.send(*relayed, body)
        self._trace_delivery(turn, relayed[1], len(body), mailbox.audience.sole)
        return True

    def _trace_delivery(self, turn: Turn, head: Deliver, size: int, reader: Consumer | None) -> None:
        """Write down to whom, and whether it picks: what a selector passes over is not lost."""
        picks = reader is not None and reader.selector
        peer = reader.terms.client[0] if reader is not None else ""
        self._tracer.delivery(turn, head, size, peer, "selector" if picks else "")

    def _make_room(self, turn: Turn, box: Box, size: int, *, stored: bool) -> bool:
        """A mailbox is full: whether it is a subscription that has dropped its oldest messages, and is not."""
        if box.overflow == Overflow.DISCONNECT:
            self.topics.overflow(turn, box.mailbox.key)
        spans = box.mailbox.oldest(size, stored=stored) if box.overflow == Overflow.DROP_OLDEST else []
        if spans and (not stored or self._groups.serving(box.mailbox.key)):
            box.dropped += sum(last - first + 1 for first, last in spans)
            self.settle_own(turn, box, spans, "dropped: the subscription was full")
        return bool(spans)

    def _take(self, turn: Turn, box: Box, head: Deposit, body: bytes, skip: int) -> None:
        mailbox, group = box.mailbox, box.mailbox.key
        if self._passes and not head.delay and mailbox.can_pass():
            number = mailbox.hold(head, body, turn.now)
            if number:
                self._tracer.deposit(turn, Step.TAKEN, head, size=len(body))
                box.senders.setdefault(number, []).append(head)
                self._schedule(turn, group, box)
                self.touch(group)
                return
        self._operations.store(turn, box, head, body, skip)

    # Transactions, the holding side ----------------------------------------------------------------------------
    def on_prepare(self, turn: Turn, group: Key, head: TxPrepare, body: bytes) -> None:
        """Hold a part ready, invisible (we may write)."""
        box = self.boxes.get(group)
        if box is None:
            return
        if any(part.spans for part in head.settles):
            # A lock must outlive us: what only passes through our memory gets a number of the group first.
            self._operations.store_passing(turn, box)
        self._parts.prepare(turn, box, head, body)
        self._deadlines.set_if_unset(group, turn.now + DOUBT)
        self.touch(group)

    def on_decide(self, turn: Turn, group: Key, head: TxDecide) -> None:
        """Carry out a decision (we may write)."""
        box = self.boxes.get(group)
        if box is not None:
            self._parts.decide(turn, box, head)
            self.touch(group)

    # Time and paging -------------------------------------------------------------------------------------------
    def on_page(self, turn: Turn, event: PageLoaded) -> None:
        """More of a long mailbox is in memory, or can be looked at."""
        box = self.boxes.get(event.group)
        if box is not None and not self.looks.on_page(turn, box, event) and box.loading == event.token:
            box.loading = 0
            dead = box.mailbox.page_in(event.rows, event.next)
            self.bury += [(box.mailbox.name, box.config, batch) for batch in dead]
        self.touch(event.group)

    def next_deadline(self) -> Instant | None:
        return self._deadlines.next()

    def on_deadline(self, turn: Turn) -> None:
        """Expiry, and batches that passed too long unsettled."""
        for group in self._deadlines.pop_due(turn.now):
            box = self.boxes.get(group)
            if box is None:
                continue
            if not self._groups.serving(group):
                self._deadlines.set(group, turn.now + self._config.retry)
                continue
            since = box.mailbox.passing()
            if since is not None and turn.now - since >= PASS_FACTOR * self._config.retry:
                self._operations.store_passing(turn, box)
            self._expiry.expire(turn, box)
            if self._endings.end(turn, box):
                continue
            if box.mailbox.in_doubt:
                if turn.now >= box.ask_after:  # there are deadlines for other things, one after the other at times
                    box.ask_after = turn.now + self._config.retry
                    self._parts.ask(turn, box)
                self._deadlines.set_if_unset(group, turn.now + DOUBT)
            self.touch(group)

    def flush(self, turn: Turn) -> None:
        """End of the turn: deliver, page and set timers for every mailbox that was touched."""
        sight: Sight | None = None
        while self._dirty:  # an item hands on to subscriptions, which may be ours
            dirty, self._dirty = self._dirty, {}
            for group in dirty:
                box = self.boxes.get(group)
                if box is None or ((box.gone or box.buried) and not self._catch_up(turn, box) and box.gone):
                    continue  # nothing may overtake what a vanished consumer still holds by our account
                if sight is None and box.mailbox.audience.selective:
                    sight = Sight()
                self._deliver(turn, box, sight)

    def _deliver(self, turn: Turn, box: Box, sight: Sight | None) -> None:
        group, mailbox = box.mailbox.key, box.mailbox
        if mailbox.is_item:
            self.topics.hand_out(turn, group)
        else:
            for conn, head, body in mailbox.pump(turn.now, self._courier.clogged, sight):
                turn.effects.sends.append(Send(conn, head, body))
                self._trace_delivery(turn, head, len(body), mailbox.audience.find(conn, head.consumer))
        wanted = mailbox.page_wanted()
        if wanted is not None and not box.loading:
            box.loading = self._groups.load_page(turn, group, wanted[0], self._config.window_bytes // 2)
        if mailbox.timed:
            self._schedule(turn, group, box)

    def _schedule(self, turn: Turn, group: Key, box: Box) -> None:
        due = box.due(PASS_FACTOR * self._config.retry)
        if due is not None:
            self._deadlines.set(group, max(due, turn.now))

    # For topics ------------------------------------------------------------------------------------------------
    def write_own(self, turn: Turn, box: Box, writes: Sequence[Write], done: Done | None) -> None:
        """Rows of an item or a subscription, as one operation (we may write)."""
        self._operations.write(turn, box, writes, done)

    def append_own(self, turn: Turn, box: Box, writes: Sequence[Write], span: int, done: Done | None) -> None:
        """As `write_own`, and the operation takes `span` numbers."""
        self._operations.append(turn, box, writes, span, done)

    def settle_own(self, turn: Turn, box: Box, spans: Sequence[Span], note: str = "") -> None:
        """We are done with messages ourselves (we may write)."""
        settled = box.mailbox.settle(0, 0, spans, turn.now)
        self._operations.write(
            turn, box, settled.writes, lambda turn: self._replies.confirm(turn, box, settled.confirm, note=note)
        )
        self.touch(box.mailbox.key)

    # Answers ---------------------------------------------------------------------------------------------------
    def refuse_pending(self, turn: Turn, group: Key, code: Code, detail: str) -> None:
        """Tell the senders of unconfirmed batches that nobody can acknowledge them now."""
        box = self.boxes.get(group)
        if box is not None:
            for head in box.waiting_senders():
                self._replies.reject(turn, head, code, detail)
            box.senders.clear()

    def names(self) -> Iterator[str]:
        """Of the mailboxes that we own."""
        return (box.mailbox.name for box in self.boxes.values())

    def statistics(self, names: Iterable[str]) -> list[dict[str, object]]:
        """One entry for each of these mailboxes that we own."""
        entries: list[dict[str, object]] = []
        for name in names:
            box = self.boxes.get(key_of(name))
            config = self._groups.config(box.mailbox.key) if box is not None else None
            if box is not None and config is not None:
                entries.append({**described(box.mailbox), "group": config.name})
        return entries
