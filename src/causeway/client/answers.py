"""What brokers' answers mean to those who asked: consumers, inquiries and questions for seats.

Owns: whom an answer is for, and who is told how it ended. Must not know: links, the order of a turn (`machine`).
Stimuli: answers, and inquiries whose time is over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from causeway.client.arguments import code_of
from causeway.client.causal_stream import CausalStream
from causeway.client.consumers import MailReaders
from causeway.client.errands import REFUSALS, Errand, Errands
from causeway.client.inquiries import BrowseInquiry, EndInquiry, FindInquiry, Inquiry
from causeway.client.links import Uplink
from causeway.client.outcomes import ConsumerAttached, ConsumerRefused, InquiryDone, Outcome
from causeway.client.reader import MailReader
from causeway.client.seat_questions import SeatErrand, SeatQuestions
from causeway.core.deadlines import Deadlines
from causeway.core.machine import Turn
from causeway.core.messages import (
    Attached,
    Browsed,
    Detach,
    ItemPlaced,
    MailboxEnded,
    Moved,
    SeatGiven,
    Settled,
    StatusReply,
    StoryReply,
)
from causeway.errors import RETRIABLE_CODES, CausewayError, Code, Refused
from causeway.names import DURABLE_PREFIX, is_twin, may_end, twin_name

SUBSCRIPTION_OVER: Final = frozenset({Code.NO_MAILBOX, Code.OVERFLOWED})
"""With these a broker says that a subscription has ended."""


class Answers:
    """Hands answers to the errands that asked, and says how they ended."""

    def __init__(
        self,
        application: str,
        errands: Errands,
        consumers: MailReaders,
        causal: CausalStream,
        questions: SeatQuestions,
        *,
        timers: Deadlines[int],
        say: Callable[[Outcome], None],
    ) -> None:
        self._application = application
        self._errands = errands
        self._consumers = consumers
        self._causal = causal
        self._questions = questions
        self._timers = timers
        """Of inquiries, by their numbers."""
        self._say = say
        self.next_ends: list[EndInquiry] = []
        """To be asked now; for the session to start."""

    def on_attached(self, turn: Turn, link: Uplink, head: Attached) -> None:
        """A broker serves a consumer."""
        consumer = self._errands.find(head.consumer)
        if isinstance(consumer, MailReader) and self._consumers.on_attached(turn, link, consumer, head.mailbox):
            consumer.on_attached(head)
            if head.twinned and consumer.interest is not None and consumer.partner is None:
                self._consumers.ended.append(twin_name(head.mailbox))
            if consumer.front.begun:
                self._say(ConsumerAttached(consumer.front))
        elif consumer is None:
            turn.send(link.conn, Detach(head.mailbox, head.consumer))

    def on_moved(self, turn: Turn, link: Uplink, head: Moved) -> None:
        """Whoever asked there must go elsewhere, or hears that it is in vain."""
        refusal = head.peer is None and head.code in REFUSALS
        errands = self._errands.asked_at(link, head.mailbox)
        had_reader = any(isinstance(errand, MailReader) and errand.answered for errand in errands)
        for errand in errands:
            if isinstance(errand, EndInquiry):  # readers hear that it has ended before those who end it
                errand.result = had_reader or errand.repeated
            if isinstance(errand, FindInquiry) and errand.on_answer(turn, head, b""):
                self.finish_inquiry(errand, None)
            elif refusal and errand.is_final(turn, head):
                self._refuse(errand, head)
        self._errands.on_moved(turn, link, head)

    def _refuse(self, errand: Errand, head: Moved) -> None:
        gone = head.code == Code.NO_MAILBOX and not (isinstance(errand, MailReader) and not errand.closing)
        error = None if gone else Refused(Code(head.code), _detail(errand, head))
        if isinstance(errand, MailReader):
            self._consumers.refuse(errand, error)
            if errand.partner is not None and not errand.closing:
                self._refuse_partner(errand.partner, error, over=head.code in SUBSCRIPTION_OVER)
            self._say(ConsumerRefused(errand.front))
        elif isinstance(errand, Inquiry):
            self.finish_inquiry(errand, error)

    def _refuse_partner(self, partner: MailReader, error: CausewayError | None, *, over: bool) -> None:
        """What one of two ways is refused is of no use by the other; if the subscription is over, so is this half."""
        self._consumers.refuse(partner, error)
        if over:
            self._consumers.ended.append(partner.mailbox)

    def on_answer(
        self, turn: Turn, head: Browsed | StatusReply | StoryReply | MailboxEnded | ItemPlaced, body: bytes
    ) -> None:
        """What an inquiry asked for, or a part of it."""
        inquiry = self._errands.find(head.token)
        if not isinstance(inquiry, Inquiry):
            return
        if inquiry.on_answer(turn, head, body):
            self.finish_inquiry(inquiry, None)
        else:
            self._errands.on_progress(turn, inquiry)

    def on_settled(self, turn: Turn, head: Settled) -> None:
        """What is said of numbers that no consumer of ours settled."""
        inquiry = self._errands.find(head.consumer)
        if isinstance(inquiry, Inquiry) and inquiry.mailbox == head.mailbox and inquiry.on_answer(turn, head, b""):
            self.finish_inquiry(inquiry, None)

    def finish_inquiry(self, inquiry: Inquiry, error: CausewayError | None) -> None:
        """It is answered, or will not be."""
        self._errands.drop(inquiry)
        self._timers.cancel(inquiry.number)
        inquiry.done = True
        inquiry.error = error
        if isinstance(inquiry, EndInquiry) and error is None and may_end(inquiry.mailbox):
            for reader in self._consumers.let_go(inquiry.mailbox):
                if reader.front is reader:
                    self._say(ConsumerRefused(reader))
        if isinstance(inquiry, EndInquiry) and inquiry.then is not None:
            inquiry.then.repeated = bool(inquiry.result)  # whose twin there was, there was too
            self._end_next(inquiry.then, error)
            return
        if isinstance(inquiry, BrowseInquiry):
            for lot in inquiry.lots():
                self._causal.marks.note(lot, lot.count)
        mailbox = inquiry.mailbox
        if isinstance(inquiry, EndInquiry) and may_end(mailbox):
            if not any(one.mailbox == mailbox for one in self._consumers.all()):
                self._consumers.seen.forget_mailbox(mailbox)
        if not is_twin(mailbox):  # nobody asked for that
            self._say(InquiryDone(inquiry))

    def _end_next(self, inquiry: EndInquiry, error: CausewayError | None) -> None:
        """The twin of a subscription has ended: now the subscription itself."""
        if error is not None:
            self.finish_inquiry(inquiry, error)
        else:
            self.next_ends.append(inquiry)

    def on_seat_given(self, turn: Turn, head: SeatGiven, fresh: list[MailReader]) -> None:
        """A seat is known, or is not to be had; `fresh` are consumers that have not begun, some for want of a seat."""
        errand = self._errands.find(head.token)
        if not isinstance(errand, SeatErrand):
            return
        if head.code:
            error = Refused(code_of(head.code, Code.UNAVAILABLE), head.detail)
            self._on_no_seat(turn, errand, error, fresh)
            return
        self._questions.found(errand)
        for consumer in fresh:
            if consumer.seat_of == errand.name:
                consumer.take_seat(head.seat)
        if errand.name == self._application:
            self._questions.seat = head.seat
            self._causal.take_seat(head.seat)

    def _on_no_seat(self, turn: Turn, errand: SeatErrand, error: Refused, fresh: list[MailReader]) -> None:
        """For now, and it is asked again; or for good, and whoever waits is told."""
        own = errand.name == self._application
        if error.code in RETRIABLE_CODES:
            self._errands.put_off(turn, errand, str(error))
            if own:
                self._causal.excuse_seat(error)
            return
        self._questions.found(errand)
        if own:
            self._causal.refuse_seat(error)
        refused = [consumer for consumer in fresh if consumer.seat_of == errand.name]
        for consumer in refused:
            fresh.remove(consumer)
            consumer.error = error
            self._say(ConsumerRefused(consumer))


def _detail(errand: Errand, head: Moved) -> str:
    """What a broker says; of a subscription that has a consumer, also what its application can do."""
    if head.code != Code.IN_USE or not isinstance(errand, MailReader) or not head.mailbox.startswith(DURABLE_PREFIX):
        return head.detail
    name = head.mailbox.rpartition("/")[2]
    return f"{head.detail}; close the other consumer of the subscription {name!r}, or share it (shared=True)"
