"""The parts of a session, and what brokers' answers mean to them.

Owns: which part an answer is for, and who is told how it ended. The order of a turn is in `machine`.
"""

from __future__ import annotations

import random

from causeway.client.arguments import code_of
from causeway.client.batches import Lane
from causeway.client.consumers import MailReaders
from causeway.client.errands import COMMITS, REFUSALS, Errand, Errands
from causeway.client.fates import Fates
from causeway.client.inquiries import BrowseInquiry, EndInquiry, FindInquiry, Inquiry
from causeway.client.kept import Keeper
from causeway.client.links import Uplink, Uplinks
from causeway.client.outcomes import ConsumerAttached, ConsumerRefused, InquiryDone, Outcome
from causeway.client.reader import MailReader
from causeway.client.roaming import Roamer
from causeway.client.seat_questions import SeatErrand, SeatQuestions
from causeway.client.settings import SessionConfig
from causeway.client.streams import Streams
from causeway.client.transactions import Commitment, Transactions
from causeway.core.deadlines import Alarm, Deadlines
from causeway.core.machine import Turn
from causeway.core.messages import Attached, Browsed, Detach, MailboxEnded, Moved, SeatGiven, StatusReply, StoryReply
from causeway.core.messages import Outcome as TransactionOutcome
from causeway.errors import RETRIABLE_CODES, CausewayError, Code, Refused
from causeway.names import may_end
from causeway.types import Duration


class SessionParts:
    """Everything a session consists of; it does nothing by itself."""

    def __init__(self, config: SessionConfig, incarnation: int, rng: random.Random) -> None:
        self.config = config.check()
        self.error: CausewayError | None = None
        """Why the session is over, None while it is not."""
        self._alarm = alarm = Alarm()
        self._fates = Fates(alarm)
        self._streams = Streams(config, self._fates, alarm=alarm)
        self._streams.numbering.source = (config.name, incarnation)
        self._links = Uplinks(config, rng, alarm=alarm)
        self._errands = Errands(config, self._links, rng, alarm=alarm)
        self._consumers = MailReaders(config, self._errands, self._streams.causal.marks, alarm=alarm)
        self._questions = SeatQuestions(config.name, self._errands, self._number)
        self._transactions = Transactions(COMMITS, config, self._errands, self._consumers)
        self._roamer = Roamer(config, self._links, self._errands, rng, fates=self._fates, alarm=alarm)
        alarm.watch(self._transactions.next_deadline)
        self._keeper: Keeper | None = None
        if config.keep:
            self._streams.keeping = self._consumers.keeping = True
            self._keeper = Keeper(config.name, self._fates, self._streams, self._consumers, self._transactions)
            alarm.watch(self._keeper.next_deadline)
        self._begun = self._open = False
        """Whether `handle` was called; whether links may be made."""
        self._closing = False
        self._home: Uplink | None = None
        self._next_number = 2
        self._fresh_consumers: list[MailReader] = []
        self._fresh_inquiries: list[tuple[Inquiry, Duration]] = []
        self._fresh_commits: list[tuple[Commitment, Duration]] = []
        self._timers: Deadlines[int] = Deadlines(alarm)
        self._outcomes: list[Outcome] = []
        self.lanes: dict[tuple[object, ...], Lane] = self._streams.numbering.lanes
        """For the driver: lanes by the arguments of its own calls; emptied by the session when they become invalid."""

    @property
    def incarnation(self) -> int:
        """This life's, or with kept state that of the first life."""
        return self._streams.numbering.source[1]

    def _number(self) -> int:
        """Of one more errand."""
        self._next_number += 1
        return self._next_number

    def _on_attached(self, turn: Turn, link: Uplink, head: Attached) -> None:
        consumer = self._errands.find(head.consumer)
        if isinstance(consumer, MailReader) and self._consumers.on_attached(turn, link, consumer, head.mailbox):
            consumer.on_attached(head)
            self._outcomes.append(ConsumerAttached(consumer))
        elif consumer is None:
            turn.send(link.conn, Detach(head.mailbox, head.consumer))

    def _on_moved(self, turn: Turn, link: Uplink, head: Moved) -> None:
        refusal = head.peer is None and head.code in REFUSALS
        for errand in self._errands.asked_at(link, head.mailbox):
            if isinstance(errand, FindInquiry) and errand.on_answer(turn, head, b""):
                self._finish_inquiry(errand, None)
            elif refusal and errand.is_final(turn, head):
                self._refuse(errand, head)
        self._errands.on_moved(turn, link, head)

    def _refuse(self, errand: Errand, head: Moved) -> None:
        gone = head.code == Code.NO_MAILBOX and not (isinstance(errand, MailReader) and not errand.closing)
        error = None if gone else Refused(Code(head.code), head.detail)
        if isinstance(errand, MailReader):
            self._consumers.refuse(errand, error)
            self._outcomes.append(ConsumerRefused(errand))
        elif isinstance(errand, Inquiry):
            self._finish_inquiry(errand, error)

    def _on_answer(self, turn: Turn, head: Browsed | StatusReply | StoryReply | MailboxEnded, body: bytes) -> None:
        inquiry = self._errands.find(head.token)
        if not isinstance(inquiry, Inquiry):
            return
        if inquiry.on_answer(turn, head, body):
            self._finish_inquiry(inquiry, None)
        else:
            self._errands.on_progress(turn, inquiry)

    def _on_outcome(self, turn: Turn, head: TransactionOutcome) -> None:
        commitment = self._transactions.on_outcome(head, self.incarnation)
        if commitment is not None and self._keeper is not None:
            self._keeper.ended(commitment)

    def _finish_inquiry(self, inquiry: Inquiry, error: CausewayError | None) -> None:
        self._errands.drop(inquiry)
        self._timers.cancel(inquiry.number)
        inquiry.done = True
        inquiry.error = error
        if isinstance(inquiry, BrowseInquiry):
            for lot in inquiry.result:
                self._streams.causal.marks.note(lot, lot.count)
        mailbox = inquiry.mailbox
        if isinstance(inquiry, EndInquiry) and may_end(mailbox):
            if not any(one.mailbox == mailbox for one in self._consumers.all()):
                self._consumers.forget_mailbox(mailbox)
        self._outcomes.append(InquiryDone(inquiry))

    def _on_seat_given(self, turn: Turn, head: SeatGiven) -> None:
        errand = self._errands.find(head.token)
        if not isinstance(errand, SeatErrand):
            return
        if head.code:
            error = Refused(code_of(head.code, Code.UNAVAILABLE), head.detail)
            self._on_no_seat(turn, errand, error)
            return
        self._questions.found(errand)
        for consumer in self._fresh_consumers:
            if consumer.seat_of == errand.name:
                consumer.take_seat(head.seat)
        if errand.name == self.config.name:
            self._questions.seat = head.seat
            self._streams.causal.take_seat(head.seat)

    def _on_no_seat(self, turn: Turn, errand: SeatErrand, error: Refused) -> None:
        """For now, and it is asked again; or for good, and whoever waits is told."""
        own = errand.name == self.config.name
        if error.code in RETRIABLE_CODES:
            self._errands.put_off(turn, errand, str(error))
            if own:
                self._streams.causal.excuse_seat(error)
            return
        self._questions.found(errand)
        if own:
            self._streams.causal.refuse_seat(error)
        refused = [consumer for consumer in self._fresh_consumers if consumer.seat_of == errand.name]
        for consumer in refused:
            self._fresh_consumers.remove(consumer)
            consumer.error = error
            self._outcomes.append(ConsumerRefused(consumer))
