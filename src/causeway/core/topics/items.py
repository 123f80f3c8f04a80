"""Items: what is published arrives here, and goes on to every subscription that wants it.

An item's owner is the only consumer of its mailbox. It takes batches in the order of their numbers and forwards each to
the subscriptions that match, under those numbers; when all have accepted, the batch is settled. A new owner forwards
again what is not settled, and subscriptions know the numbers they have. So a subscription gets everything from the
number of its registration on, once and in order, whoever fails.

Owns: registrations, forwards and retained messages of the items this broker owns.
Must not know: where subscriptions live, who publishes from where (`leases` does).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from causeway.core.machine import Turn
from causeway.core.mail.box import Box, Done
from causeway.core.mail.office import Office
from causeway.core.mail.outbox import Outbox
from causeway.core.mail.rows import StoredBatch, stretch
from causeway.core.mail.tracer import Tracer
from causeway.core.messages import Accepted, Deposit, Interest, Published, Register, Registered, Rejected
from causeway.core.ports import Courier, Groups
from causeway.core.topics.item import HandedBatch, Item, Registration
from causeway.core.topics.leases import Leases
from causeway.core.topics.picking import picked
from causeway.core.topics.rows import (
    RegistrationRow,
    encode,
    read_registrations,
    read_retained,
    registration_key,
    retained_key,
)
from causeway.errors import Code, RemoteProtocolError
from causeway.store.base import Delete, Put, Row, Write
from causeway.topics import TopicIndex, covers, is_ordinary_item, is_temporary
from causeway.topics.limits import FORWARDED_BYTES_PER_ITEM_MAX, GREETING_MAX, REGISTRATIONS_PER_ITEM_MAX
from causeway.trace import Step
from causeway.types import VOLATILE_FROM, Flag, Key, ServiceClass, key_of
from causeway.wire.body import split
from causeway.wire.headers import split_headers

_RETAIN, _RELIABLE, _HEADERS = int(Flag.RETAIN), int(Flag.RELIABLE), int(Flag.HEADERS)
_PASSED_ON = int(Flag.HEADERS | Flag.DELAYED)
_EXPRESS, _ORDERED = int(ServiceClass.EXPRESS), int(ServiceClass.TRANSACTIONAL)


class Items:
    """All items of one broker."""

    def __init__(
        self, office: Office, outbox: Outbox, groups: Groups, courier: Courier, leases: Leases, *, tracer: Tracer
    ) -> None:
        self._tracer = tracer
        self._office = office
        self._outbox = outbox
        self._groups = groups
        self._courier = courier
        self._leases = leases
        self.all: dict[Key, Item] = {}
        self.forwarded = 0
        self.handled = 0
        """Messages published to items while we owned them."""
        """Batches sent to subscriptions."""

    # Ownership -------------------------------------------------------------------------------------------------
    def gain(self, turn: Turn, box: Box, rows: Sequence[Row]) -> None:
        """Take up an item where its former owner left it."""
        item = self.all[box.mailbox.key] = Item(box)
        for mailbox, row in read_registrations(rows):
            registration = Registration(
                mailbox, row.version, row.interest, row.since, greeted=row.greeted, greets=row.greets
            )
            registration.safe = True
            item.register(registration)
            self._trace(turn, Step.SUBSCRIBED, item, registration)
        item.withdrawn.restore(rows)
        for batch in read_retained(item.name, rows):
            item.retain(batch)
        self._leases.begin(turn, item)

    def lose(self, turn: Turn, group: Key) -> None:
        """Another broker owns the item."""
        item = self.all.pop(group, None)
        if item is not None:
            self._leases.end(group)
            for mailbox, registration in item.registrations.items():
                self._outbox.forget_forwards(turn, item.name, mailbox)
                self._trace(turn, Step.UNSUBSCRIBED, item, registration)

    def _trace(self, turn: Turn, step: Step, item: Item, registration: Registration) -> None:
        """What an audit must know to say that a subscription missed something; a note if it does not get everything."""
        wants = registration.interest
        note = "selected" if wants.selector or wants.no_local or wants.seat else ""
        whose = {"mailbox": registration.mailbox, "pattern": wants.pattern, "note": note}
        self._tracer.subscription(turn, step, item.name, **whose)

    # Registering -----------------------------------------------------------------------------------------------
    def register(self, turn: Turn, group: Key, head: Register) -> None:
        """A subscription says what it wants (we may write)."""
        item = self.all[group]
        known = item.registrations.get(head.mailbox)
        if head.interest is None:
            if known is None or known.version <= head.version:  # else it has begun again since
                noted = item.withdrawn.note(head.mailbox, head.version, self._groups.position(group))
                self.withdraw(turn, item, head.mailbox, noted)
            item.box.after(turn, lambda turn: self._answer(turn, head, 0))
            return
        if item.withdrawn.is_late(head.mailbox, head.version):
            return
        if known is not None and known.version >= head.version:
            if known.version == head.version:
                item.box.after(turn, lambda turn: self._begun(turn, item, known, head))
            return
        if known is None and len(item.registrations) >= REGISTRATIONS_PER_ITEM_MAX:
            detail = f"item {item.name!r} has {REGISTRATIONS_PER_ITEM_MAX} subscriptions, its limit"
            refusal = Registered(item.name, head.mailbox, head.version, 0, "", Code.OVERLOADED, detail)
            self._courier.answer(turn, head.origin, refusal)
            return
        if known is not None and _is_same(known.interest, head.interest):
            anew = head.interest.retained and not known.interest.retained
            fresh = Registration(
                head.mailbox,
                head.version,
                head.interest,
                known.since,
                greeted=known.greeted and not anew,
                greets=self._groups.position(group) if anew else known.greets,
            )
            fresh.greeting, fresh.begun = known.greeting, known.begun
            span = GREETING_MAX if anew else 1
        else:
            fresh = Registration(
                head.mailbox,
                head.version,
                head.interest,
                self._groups.position(group),
                greeted=not head.interest.retained,
            )
            fresh.begun = turn.now
            span = 1 if fresh.greeted else GREETING_MAX
            if known is not None:
                self._trace(turn, Step.UNSUBSCRIBED, item, known)
        item.register(fresh)
        self._leases.changed(turn, item, head.interest.pattern)
        rows = [self._row(item, fresh), *item.withdrawn.forget(head.mailbox)]
        self._office.append_own(turn, item.box, rows, span, lambda turn: self._begun(turn, item, fresh, head))
        self._office.touch(group)

    def withdraw(self, turn: Turn, item: Item, mailbox: str, noted: Sequence[Write] = ()) -> None:
        """A subscription has ended, and this is noted of it (we may write)."""
        registration = item.remove(mailbox)
        rows = [*noted]
        if registration is not None:
            rows.append(Delete(item.box.mailbox.key, registration_key(mailbox)))
        if rows:
            self._write(turn, item, rows, None)
        if registration is not None:
            self._trace(turn, Step.UNSUBSCRIBED, item, registration)
            self._outbox.forget_forwards(turn, item.name, mailbox)
            self._leases.changed(turn, item, registration.interest.pattern)
            self._office.touch(item.box.mailbox.key)

    def _begun(self, turn: Turn, item: Item, registration: Registration, head: Register) -> None:
        """It is on all copies: say so when whoever publishes knows, and a history has what is older."""
        if not registration.safe and item.registrations.get(registration.mailbox) is registration:
            self._trace(turn, Step.SUBSCRIBED, item, registration)
        registration.safe = True
        self._leases.when_known(turn, item, lambda turn: self._when_kept(turn, item, registration, head))

    def _when_kept(self, turn: Turn, item: Item, registration: Registration, head: Register) -> None:
        history = ""
        if registration.interest.replay:
            if not item.has_arrived(registration.since):
                return  # it asks again, and soon enough the history has all that was published before
            history = self._history(item, registration.interest.pattern)
        self._answer(turn, head, registration.since, history)

    def _answer(self, turn: Turn, head: Register, since: int, history: str = "") -> None:
        self._courier.answer(turn, head.origin, Registered(head.item, head.mailbox, head.version, since, history))

    @staticmethod
    def _history(item: Item, pattern: str) -> str:
        """The history that keeps all a pattern wants, if there is one."""
        kept = (name for name, history in item.histories.items() if covers(history.interest.pattern, pattern))
        return next(kept, "")

    def _row(self, item: Item, r: Registration) -> Put:
        row = RegistrationRow(r.version, r.interest, r.since, r.greeted, r.greets)
        group = item.box.mailbox.key
        return Put(group, registration_key(r.mailbox), self._groups.position(group), encode(row))

    def published(self) -> Iterator[tuple[str, int]]:
        """Messages published to each item that landmarks place, since we own it."""
        return ((item.name, item.published) for item in self.all.values() if is_ordinary_item(item.name))

    # Handing on ------------------------------------------------------------------------------------------------
    def hand_out(self, turn: Turn, group: Key) -> None:
        """Forward what arrived, as far as subscriptions keep up, and settle what all have."""
        item = self.all.get(group)
        if item is None or not self._groups.serving(group):
            return
        for batch in item.box.mailbox.hand_over(turn.now, FORWARDED_BYTES_PER_ITEM_MAX - item.bytes):
            if batch.seq < VOLATILE_FROM:
                item.handed = batch.seq
                self._greet_all(turn, item, caught_up=False)
            self._hand_out(turn, item, batch)
        self._greet_all(turn, item, caught_up=item.box.mailbox.is_handed_over())
        self._settle(turn, item)

    def _hand_out(self, turn: Turn, item: Item, batch: StoredBatch) -> None:
        span = (batch.seq, batch.seq + batch.count - 1)
        item.published += batch.count
        self.handled += batch.count
        published = batch.published
        if published is None:
            item.done.append(span)  # nobody can have sent it: faults.deposit_fault
            return
        handed = HandedBatch(span)
        if batch.seq < VOLATILE_FROM:
            item.open[batch.seq] = handed
        for registration in item.matching(published.topic):
            stored = batch.seq < VOLATILE_FROM
            if batch.seq < registration.since if stored else batch.at < registration.begun:
                continue  # it waited here while the subscription began
            self._forward(turn, item, registration, batch, handed)
        if batch.flags & _RETAIN and not is_temporary(published.topic):  # nobody would ever end it
            self._retain(turn, item, batch)
        item.arrived(handed)

    def _forward(
        self, turn: Turn, item: Item, registration: Registration, piece: StoredBatch, handed: HandedBatch
    ) -> None:
        """What a subscription wants of a batch, in one piece; known there by the item's numbers.

        What a selector picks moves together and takes the first of the batch's numbers: still in order, and the same
        whoever forwards it, because of two owners that begin with one message both pick the same ones after it.
        """
        runs, body, count = picked(registration, piece)
        if not count:
            return
        stored = piece.seq < VOLATILE_FROM
        first = piece.seq + 1 if stored else piece.first
        last = first + count - 1
        was = piece.published
        assert was is not None
        greets = _RETAIN if handed.greets is not None else 0  # who merges two ways must know: it comes by one
        ttl = max(1, piece.expires - turn.now) if piece.expires else 0
        keep = registration.interest.keep
        if keep:
            ttl = min(ttl or keep, keep)
        whose = (piece.source, piece.incarnation, piece.stream, piece.first)
        head = Deposit(
            item.name,
            item.box.config.born if stored else _life_of(piece),
            registration.mailbox,
            _ORDERED if stored else _EXPRESS,
            first,
            count,
            registration.last if stored else 0,
            piece.flags & _PASSED_ON | (_RELIABLE if stored else piece.flags & _RELIABLE) | greets,
            piece.priority,
            ttl,
            self._office.me,
            Published(was.topic, *whose, first - 1, runs, piece.at),
            max(0, piece.ready - turn.now) if piece.ready else 0,
        )
        if stored:
            assert first > registration.last, "a subscription takes what comes late for something it has"
            registration.last = last
            registration.sent[first] = (last, handed)
            handed.left += 1
            handed.size += len(body)
            item.bytes += len(body)
        self.forwarded += 1
        self._outbox.forward(turn, head, body)

    def _settle(self, turn: Turn, item: Item) -> None:
        if item.greetings:
            greeted, item.greetings = item.greetings, []
            rows: list[Write] = []
            for registration in greeted:
                now = item.registrations.get(registration.mailbox)
                if now is not None and now.greets == registration.greets:  # it may want something more special by now
                    now.greeted = True
                    rows.append(self._row(item, now))
            self._write(turn, item, rows, None)
        if item.done:
            done, item.done = item.done, []
            self._office.settle_own(turn, item.box, done)

    # Retained messages -----------------------------------------------------------------------------------------
    def _retain(self, turn: Turn, item: Item, batch: StoredBatch) -> None:
        """The last message of a batch becomes its topic's; an empty one ends that."""
        assert batch.published is not None
        group, topic = item.box.mailbox.key, batch.published.topic
        newest = item.retained.get(topic)
        if newest is not None and batch.seq < newest.seq < VOLATILE_FROM:
            return  # handed out again by a new owner
        last = stretch(batch, batch.count - 1, batch.count)
        (message,) = split(last.body, 1)
        if not (_payload(message) if batch.flags & _HEADERS else message):
            last = msgspec.structs.replace(last, body=b"")
        write: Write = Delete(group, retained_key(topic))
        if item.retain(last):
            write = Put(group, retained_key(topic), self._groups.position(group), encode(last))
        self._write(turn, item, [write], None)

    def _greet_all(self, turn: Turn, item: Item, *, caught_up: bool) -> None:
        """New subscriptions get what is retained as soon as all that came before them has been handed out."""
        for mailbox in list(item.ungreeted):
            registration = item.registrations[mailbox]
            if registration.safe and (caught_up or item.handed >= registration.greets):
                del item.ungreeted[mailbox]
                self._greet(turn, item, registration)

    def _greet(self, turn: Turn, item: Item, registration: Registration) -> None:
        """What was retained before a subscription began goes to it first, under numbers that its registration took."""
        wanted = TopicIndex()
        wanted.add(registration.interest.pattern, registration.mailbox)
        kept = [
            batch
            for topic, batch in sorted(item.retained.items())
            if (batch.seq < registration.greets or batch.seq >= VOLATILE_FROM)
            and not 0 < batch.expires <= turn.now
            and registration.interest.no_local != f"{batch.source}:{batch.incarnation:x}"
            and wanted.wants(topic)
        ]
        if not kept:
            registration.greeted = True  # and a next owner will find nothing either
            return
        registration.greeting = True
        handed = HandedBatch((registration.greets, registration.greets), registration)
        for at, batch in enumerate(kept[:GREETING_MAX]):
            numbered = msgspec.structs.replace(batch, seq=registration.greets + at)
            self._forward(turn, item, registration, numbered, handed)
        item.arrived(handed)

    # Answers of subscriptions ----------------------------------------------------------------------------------
    def on_accepted(self, turn: Turn, head: Accepted | Deposit) -> None:
        """A subscription has messages (or their time is over)."""
        group = key_of(head.source)
        item = self.all.get(group)
        if item is not None and head.stream == _ORDERED:
            last = head.last if isinstance(head, Accepted) else head.first + head.count - 1
            item.accepted(head.dest, head.first, last)
            self._office.touch(group)

    def on_gone(self, turn: Turn, head: Rejected) -> None:
        """The mailbox of a subscription does not exist any more, or did not: it may have begun again since."""
        group = key_of(head.source)
        item = self.all.get(group)
        registration = item.registrations.get(head.dest) if item is not None else None
        if item is None or registration is None:
            self._outbox.forget_forwards(turn, head.source, head.dest)
        elif head.stream != _ORDERED:
            self._outbox.forget_forwards(turn, head.source, head.dest, head.stream)
        elif head.first in registration.sent and self._groups.serving(group):
            self.withdraw(turn, item, head.dest)

    def _write(self, turn: Turn, item: Item, writes: Sequence[Write], done: Done | None) -> None:
        self._office.write_own(turn, item.box, writes, done)

    def statistics(self) -> dict[str, int]:
        """How much there is."""
        return {
            "items": len(self.all),
            "subscriptions": sum(len(item.registrations) for item in self.all.values()),
            "retained": sum(len(item.retained) for item in self.all.values()),
            "published": self.handled,
            "forwarded": self.forwarded,
        }


def _life_of(batch: StoredBatch) -> int:
    """Stands for one life of one publisher: express messages keep its ids, so that readers know what came twice."""
    return int.from_bytes(key_of(f"{batch.source}:{batch.incarnation:x}")[:8], "big") >> 1


def _payload(message: bytes) -> bytes:
    """What is behind the headers; of a message whose header block is broken, all of it."""
    try:
        return split_headers(message)[1]
    except RemoteProtocolError:
        return message


def _is_same(known: Interest, wanted: Interest) -> bool:
    """Whether it wants the same messages: then it goes on where it was, else it begins anew."""
    return (known.pattern, known.selector) == (wanted.pattern, wanted.selector)
