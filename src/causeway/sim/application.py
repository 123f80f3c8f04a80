"""An application of a run: the real client session in a simulated process, and what it sees reported to the checkers.

Owns: lives of the application, letters on their way out and in. Must not know: what it sends and why (see
`workloads`). Stimuli: the workload's calls; the session's outcomes after every turn.
"""

from __future__ import annotations

import enum
import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from causeway.client.batches import SentBatch, Ticket
from causeway.client.inquiries import BrowseInquiry, EndInquiry, Inquiry
from causeway.client.message import Delivery
from causeway.client.outcomes import (
    ConsumerAttached,
    ConsumerRefused,
    DeliveryConfirmed,
    InquiryDone,
    MessagesArrived,
    SendDone,
    SessionFailed,
    TransactionDone,
)
from causeway.client.reader import MailReader
from causeway.client.session import Session
from causeway.client.settings import SessionConfig
from causeway.client.subscriptions import topics_interest
from causeway.client.transactions import Commitment, Parcel
from causeway.core.messages import Interest, Settle
from causeway.errors import Refused
from causeway.sim.checkers.base import Deed, Reader, Viewing
from causeway.sim.checkers.panel import Panel
from causeway.sim.checkers.subscribing import Wish
from causeway.sim.clock import Clock
from causeway.sim.disk import Disk
from causeway.sim.held import Held
from causeway.sim.letters import PUBLISHED, Letter, letter_of
from causeway.sim.world import Process
from causeway.types import SECOND, VOLATILE_FROM, Flag, Instant, ServiceClass

PATIENCE = 100_000 * SECOND
"""Longer than any run: an application that stopped waiting could not tell what became of what it holds."""

BROWSE_LIMIT = 1 << 40
"""More than any mailbox holds."""

COLOUR = "colour"
"""The header of published letters that selectors look at."""

MakeSession = Callable[[SessionConfig, int, random.Random], Session]


class DeedEnd(enum.Enum):
    """How a transaction ended, as far as its application will ever know."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


DEED_ENDS = {True: DeedEnd.COMMITTED, False: DeedEnd.ABORTED, None: DeedEnd.UNKNOWN}


class Application:
    """One application through all its lives."""

    def __init__(self, process: Process, panel: Panel, make_session: MakeSession, *, keeps: bool = False) -> None:
        self.process = process
        self.keeps = keeps
        """Whether its session remembers over its lives."""
        self.name = process.name
        self.panel = panel
        self.make_session = make_session
        self.life = 0
        self.session: Session | None = None
        self.on_letter: Callable[[Held], None] | None = None
        """What to do with a letter that arrived."""
        self.on_decided: Callable[[Deed, DeedEnd], None] | None = None
        self.on_start: Callable[[Application], None] | None = None
        """What each life does first."""
        self.on_ended: Callable[[str], None] | None = None
        """Told which subscription has ended."""
        self.may_start: Callable[[], bool] = lambda: True
        """Whether it wants to be there at all now."""
        self.crashable = True
        self.on_settled: Callable[[], None] | None = None
        """Called once, the next time it has settled a letter."""
        self._numbers: dict[tuple[str, int], int] = {}
        self._out: dict[SentBatch, list[Letter]] = {}
        self._sent_at: dict[SentBatch, Instant] = {}
        self._transactions: dict[Commitment, tuple[Deed, list[Held]]] = {}
        self._look_number = 0
        self._looks: dict[BrowseInquiry, tuple[Viewing, list[Letter]]] = {}
        """Pages asked for: what for, and what the pages before showed."""
        self._confirming: dict[SentBatch, list[Letter]] = {}
        self._settling: dict[tuple[int, int], Held] = {}
        """Settled and not confirmed, by consumer and mailbox number."""
        self._said: dict[tuple[int, int], None] = {}
        """Those of them the session has taken note of."""
        self._accepted: dict[tuple[int, int], Letter] = {}
        """Everything this life settled, by consumer and mailbox number."""
        self._noted: deque[tuple[int, Letter]] = deque()
        """Settled, and with kept state perhaps not on disk: with the marks that tell."""
        self._consumers: dict[int, MailReader] = {}
        self._subscribed: dict[str, MailReader] = {}
        """The reader of each subscription that is not to end."""
        self._wanting: dict[str, MailReader] = {}
        """The reader of each mailbox with topics."""

    @property
    def reader(self) -> Reader:
        """Who reads, for the checkers."""
        return self.name, self.life

    @property
    def up(self) -> bool:
        """Whether it runs."""
        return self.session is not None

    def unanswered(self, since: Instant) -> tuple[Instant, Letter] | None:
        """Of what it sent since then, the first letter that nothing is known of yet, and when that was."""
        waiting = [(at, self._out[batch][0]) for batch, at in self._sent_at.items() if at >= since]
        return min(waiting, key=lambda found: found[0], default=None)

    # Lives -----------------------------------------------------------------------------------------------------
    def start(self, config: SessionConfig, rng: random.Random, clock: Clock, disk: Disk | None) -> None:
        """Begin a life."""
        self.life += 1
        self.session = self.make_session(config, (self.life << 20) + self.process.index + 1, rng)
        self.process.start(self.session, clock, disk)
        self.process.after_turn = self._after_turn
        if self.on_start is not None:
            self.on_start(self)

    def crash(self) -> None:
        """End at once; what is on its way has an unknown fate."""
        self._end()
        self.process.crash(noticed=True)

    def close(self) -> None:
        """Leave politely: the session says goodbye, then the process ends."""
        if self.session is not None:
            self.session.close()
            self.process.poke()

    def _end(self) -> None:
        for letters in self._out.values():
            for letter in letters:
                self.panel.failed(letter, "the sender ended")
        for transaction, _ in self._transactions.values():
            self.panel.decided(transaction, committed=None)
            if self.on_decided is not None:
                self.on_decided(transaction, DeedEnd.UNKNOWN)
        self.panel.reader_ended(self.reader)
        for viewing, _ in self._looks.values():
            self.panel.look_ended(viewing, None)
        self._out, self._transactions, self._confirming, self._looks = {}, {}, {}, {}
        self._sent_at = {}
        self._settling, self._said, self._accepted, self._consumers, self._subscribed = {}, {}, {}, {}, {}
        self._wanting = {}
        self._noted.clear()
        self.session = None

    # Sending ---------------------------------------------------------------------------------------------------
    def send(
        self, dest: str, service: ServiceClass, size: int, *, reliable: bool = True, **options: int | bool
    ) -> Letter | None:
        """Write a letter and hand it to the session; None when its window is full."""
        session = self.session
        assert session is not None
        letter = self._letter(dest, service)
        how: dict[str, Any] = {"reliable": reliable, "causal": letter.causal, **options}
        try:
            ticket = session.send(dest, letter.payload(size), service=service, **how)
        except Refused:
            return None
        self._note_sent(letter, ticket)
        return letter

    def publish(self, topic: str, service: ServiceClass, size: int, **options: int | bool) -> Letter | None:
        """As `send`, to whoever wants messages of a topic."""
        session = self.session
        assert session is not None
        letter = self._letter(PUBLISHED + topic, service)
        headers = {COLOUR: letter.colour} if letter.colour else None
        how: dict[str, Any] = {"published": True, "headers": headers, "retain": letter.retained, **options}
        how["causal"] = letter.causal
        try:
            ticket = session.send(topic, letter.payload(size), service=service, **how)
        except Refused:
            return None
        self._note_sent(letter, ticket)
        return letter

    def _note_sent(self, letter: Letter, ticket: Ticket) -> None:
        self._numbers[(letter.dest, ServiceClass(letter.stream))] = letter.number
        self.panel.sent(letter)
        self._out.setdefault(ticket.batch, []).append(letter)
        self._sent_at.setdefault(ticket.batch, self.process.world.now)
        self.process.poke()

    def _letter(self, dest: str, service: ServiceClass) -> Letter:
        return Letter(self.name, self.life, dest, int(service), self._numbers.get((dest, service), 0) + 1)

    # Receiving -------------------------------------------------------------------------------------------------
    def read(self, mailbox: str, credit: int, *, exclusive: bool = False) -> None:
        """Attach a consumer; one that is to be alone asks until it is."""
        assert self.session is not None
        consumer = self.session.attach(mailbox, credit, exclusive=exclusive)
        self._consumers[consumer.number] = consumer
        self.process.poke()

    def read_with_topics(self, mailbox: str, pattern: str, credit: int) -> None:
        """Attach the one consumer of a mailbox that also gets, in causal order, what is published on topics."""
        assert self.session is not None
        interest, seat_of = topics_interest(mailbox, self.name, pattern)
        consumer = self.session.attach(mailbox, credit, exclusive=True, interest=interest, seat_of=seat_of)
        self._consumers[consumer.number] = self._wanting[mailbox] = consumer
        self.panel.topics_wanted(mailbox, [pattern])
        self.process.poke()

    def subscribe(self, mailbox: str, wish: Wish, credit: int) -> None:
        """Attach the one consumer of a durable subscription."""
        assert self.session is not None
        selector = f"{COLOUR} = '{wish.colour}'" if wish.colour else ""
        interest = Interest(wish.pattern, selector, retained=wish.retained)
        consumer = self.session.attach(mailbox, credit, exclusive=True, interest=interest)
        self._consumers[consumer.number] = self._subscribed[mailbox] = consumer
        if consumer.twin is not None:
            self._consumers[consumer.twin.number] = consumer.twin
        self.panel.subscribed(mailbox, wish)
        self.process.poke()

    def end_subscription(self, mailbox: str) -> None:
        """Read nothing more of a subscription, and let it end."""
        assert self.session is not None
        consumer = self._subscribed.pop(mailbox, None)
        if consumer is not None:
            self.session.detach(consumer)
        self.session.end_mailbox(mailbox, timeout=PATIENCE)
        self.panel.subscription_ending(mailbox)
        self.process.poke()

    def _on_ended(self, inquiry: Inquiry) -> None:
        if inquiry.error is not None:
            if self.session is not None and self.session.error is None:
                self.end_subscription(inquiry.mailbox)
            return
        self.panel.subscription_ended(inquiry.mailbox)
        if self.on_ended is not None:
            self.on_ended(inquiry.mailbox)

    def settle(self, held: Held) -> None:
        """The application is done with a letter."""
        if held.life != self.life or self.session is None:
            return
        self.session.accept(held.lot, held.index, held.index)
        self.panel.settled(held.mailbox, self.reader, held.letter)
        self._accepted[held.settled_as] = held.letter
        if self.keeps:
            self._noted.append((self.session.mark(), held.letter))
        certain = self.process.disk is not None or not held.lot.doubled  # by two ways only who remembers it is sure
        if certain and not held.lot.stale and held.number < VOLATILE_FROM:
            self._settling[held.settled_as] = held
        if self.on_settled is not None:
            told, self.on_settled = self.on_settled, None
            told()
        self.process.poke()

    def told_broker(self, settle: Settle) -> None:
        """A kept session told a broker of a settlement: it must be on its own disk by now."""
        for first, last in settle.spans:
            for number in range(first, last + 1):
                letter = self._accepted.get((settle.consumer, number))
                if letter is not None:
                    self.panel.once.kept(letter, self.name)

    def give_back(self, held: Held) -> None:
        """The application wants it delivered again."""
        if held.life != self.life or self.session is None:
            return
        self.session.give_back(held.lot, held.index, held.index)
        self.panel.returned(held.mailbox, self.reader, held.letter)
        self.process.poke()

    # Looking ---------------------------------------------------------------------------------------------------
    @property
    def looking(self) -> bool:
        """Whether it waits for what a mailbox shows."""
        return bool(self._looks)

    def look(self, mailbox: str, *, exact: bool) -> None:
        """Browse a mailbox to its end."""
        assert self.session is not None
        self._look_number += 1
        viewing = Viewing(self.reader, self._look_number, mailbox, exact=exact)
        self._looks[self.session.browse(mailbox, limit=BROWSE_LIMIT, timeout=PATIENCE)] = (viewing, [])
        self.panel.look_began(viewing)
        self.process.poke()

    def _on_looked(self, inquiry: Inquiry) -> None:
        if not isinstance(inquiry, BrowseInquiry):
            return
        session = self.session
        look = self._looks.pop(inquiry, None)
        if look is None or session is None:
            return
        viewing, shown = look
        if inquiry.error is not None or session.error is not None:
            self.panel.look_ended(viewing, None)
            return
        shown += [letter_of(Delivery(lot, index).body) for lot in inquiry.result for index in range(lot.count)]
        following = session.browse_on(inquiry, timeout=PATIENCE)
        if following is None:
            self.panel.look_ended(viewing, shown)
            return
        self._looks[following] = look
        self.process.poke()

    # Transactions ----------------------------------------------------------------------------------------------
    def commit(self, number: int, dests: Sequence[str], settles: Sequence[Held], size: int) -> Deed | None:
        """Send one letter to each destination and settle what is held, all or nothing."""
        session = self.session
        if session is None or any(held.life != self.life for held in settles):
            return None
        letters: list[Letter] = []
        for dest in dests:
            letter = self._letter(dest, ServiceClass.COMMITTED)
            self._numbers[(dest, ServiceClass.COMMITTED)] = letter.number
            letters.append(letter)
            self.panel.sent(letter)
        parcels = [Parcel(letter.dest, letter.payload(size), int(Flag.RELIABLE)) for letter in letters]
        commitment = session.commit(parcels, [(held.lot, held.index) for held in settles], PATIENCE)
        transaction = Deed(self.reader, number, letters, [held.letter for held in settles])
        self.panel.begun(transaction)
        self._transactions[commitment] = (transaction, list(settles))
        self.process.poke()
        return transaction

    # What the session tells ------------------------------------------------------------------------------------
    def _after_turn(self) -> None:
        session = self.session
        if session is None:
            return
        for outcome in session.outcomes():
            match outcome:
                case SendDone():
                    self._on_sent(outcome.batch)
                case MessagesArrived():
                    self._on_arrived(session, outcome.consumer)
                case ConsumerAttached():
                    if outcome.consumer in self._subscribed.values():
                        self.panel.subscription_begun(outcome.consumer.mailbox)
                    elif outcome.consumer in self._wanting.values():
                        self.panel.topics_begun(outcome.consumer.mailbox)
                case ConsumerRefused():
                    if outcome.consumer in self._subscribed.values():
                        self.panel.subscription_refused(outcome.consumer.mailbox, str(outcome.consumer.error))
                    elif outcome.consumer.exclusive and outcome.consumer.interest is None:
                        self.read(outcome.consumer.mailbox, outcome.consumer.credit, exclusive=True)
                case TransactionDone():
                    self._on_decided(outcome.commitment)
                case InquiryDone(inquiry=EndInquiry() as inquiry):
                    self._on_ended(inquiry)
                case InquiryDone():
                    self._on_looked(outcome.inquiry)
                case DeliveryConfirmed():
                    self._on_confirmed(outcome.batch)
                case SessionFailed():
                    self._end()
                    self.process.crash(noticed=True)
                    return
                case _:
                    pass
        while self._noted and session.keeps(self._noted[0][0]):
            self.panel.once.kept(self._noted.popleft()[1], self.name)
        if self._settling:
            self._look_for_confirmations()

    def _on_sent(self, batch: SentBatch) -> None:
        letters = self._out.pop(batch, [])
        self._sent_at.pop(batch, None)
        answered = bool(batch.lane.flags & Flag.RELIABLE)
        for index, letter in enumerate(letters):
            error = batch.error_of(index)
            if error is not None:
                self.panel.failed(letter, str(error))
                if isinstance(error, Refused):
                    self.panel.refused(letter)
            elif answered:
                self.panel.acknowledged(letter)
        if batch.lane.flags & Flag.CONFIRM and letters and not batch.failures:
            self._confirming[batch] = letters

    def _on_confirmed(self, batch: SentBatch) -> None:
        for letter in self._confirming.pop(batch, ()):
            self.panel.delivery_confirmed(letter)

    def _on_arrived(self, session: Session, consumer: MailReader) -> None:
        for delivery in session.take(consumer, 1 << 20, Delivery):
            held = Held(self, consumer, delivery._lot, delivery._index, letter_of(delivery.body))
            self.panel.delivered(held.mailbox, self.reader, held.letter)
            if self.on_letter is not None:
                self.on_letter(held)

    def _on_decided(self, commitment: Commitment) -> None:
        transaction, settles = self._transactions.pop(commitment)
        committed = None if not commitment.resolved else commitment.error is None
        self.panel.decided(transaction, committed=committed)
        if committed:
            for held in settles:
                if held.lot.stale:
                    continue  # the number it had went with its connection: it comes again, and is settled then
                self.panel.settlement_confirmed(held.mailbox, self.reader, held.letter, held.place)
        if self.on_decided is not None:
            self.on_decided(transaction, DEED_ENDS[committed])

    def _look_for_confirmations(self) -> None:
        for place in list(self._settling):
            if place[1] in self._consumers[place[0]].unconfirmed:
                self._said[place] = None
            elif place in self._said:
                del self._said[place]
                held = self._settling.pop(place)
                if place[1] not in self._consumers[place[0]].dead:
                    self.panel.settlement_confirmed(held.mailbox, self.reader, held.letter, held.place)
