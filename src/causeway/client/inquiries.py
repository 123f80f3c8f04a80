"""Questions to be answered once: what a mailbox holds, a broker's status, a message's story, where a mailbox is served;
and the wish that a mailbox ends.
"""

from __future__ import annotations

from typing import Any

import msgspec

from causeway.client.errands import Errand
from causeway.client.links import Uplink
from causeway.client.lots import Lot
from causeway.client.message import MessageId
from causeway.client.pages import StatusPages
from causeway.client.settings import Address
from causeway.core.machine import Turn
from causeway.core.messages import (
    AskPlaced,
    Browse,
    Browsed,
    BrowsedBatch,
    EndMailbox,
    Find,
    ItemPlaced,
    MailboxEnded,
    Message,
    Moved,
    StatusReply,
    StatusRequest,
    StoryReply,
    StoryRequest,
)
from causeway.errors import CausewayError, Code, RemoteProtocolError
from causeway.limits import BROWSED_MESSAGES_MAX
from causeway.trace import TraceRecord
from causeway.types import Instant, Peer
from causeway.wire import body as bodies

_decode_story = msgspec.msgpack.Decoder(list[TraceRecord]).decode


class Inquiry(Errand):
    """One question; `result` holds the answer once `done` without `error`."""

    __slots__ = ("deadline", "done", "error", "result", "waiter")

    def __init__(self, number: int, mailbox: str, address: Address | None = None) -> None:
        super().__init__(number, mailbox, address)
        self.deadline: Instant = 0
        self.done = False
        self.error: CausewayError | None = None
        self.result: Any = None
        self.waiter: Any = None

    def on_answer(self, turn: Turn, head: Message, body: bytes) -> bool:
        """Take an answer; true when it was the last one needed. Raises RemoteProtocolError."""
        raise NotImplementedError


class BrowseInquiry(Inquiry):
    """One page of a mailbox's messages, without taking them: `result` is a list of lots."""

    __slots__ = ("after", "limit", "more", "row", "selector")

    def __init__(self, number: int, mailbox: str, after: int, limit: int, selector: str) -> None:
        super().__init__(number, mailbox)
        self.selector = selector
        self.after = after
        """The last message shown or passed over, or -1."""
        self.limit = limit
        """How many may still be shown."""
        self.row = -1
        """Where the owner finds what comes after `after`."""
        self.more = False
        """Whether there is a page behind this one."""
        self.result = []

    def following(self, number: int) -> BrowseInquiry:
        """The question for the next page, to be asked where this one was answered, if we still hear from there."""
        page = BrowseInquiry(number, self.mailbox, self.after, self.limit, self.selector)
        page.row = self.row
        page.link = self.link
        return page

    def is_final(self, turn: Turn, refusal: Moved) -> bool:
        """Where there is no mailbox, there is nothing to be seen."""
        return refusal.code == Code.NO_MAILBOX

    def ask(self, turn: Turn, link: Uplink) -> None:
        """Ask the owner, or who knows it."""
        limit = min(self.limit, BROWSED_MESSAGES_MAX)
        turn.send(link.conn, Browse(self.mailbox, self.number, self.after, limit, self.row, self.selector))

    def on_answer(self, turn: Turn, head: Message, body: bytes) -> bool:
        """The page's lots."""
        assert isinstance(head, Browsed)
        taken: list[Any] = []
        after = self.after
        at = 0
        for found in head.batches:
            stop = at + found.size
            part = body[at:stop]
            at = stop
            if found.count < 1 or not bodies.check(part, found.count):
                raise RemoteProtocolError(Code.BAD_FRAME, "a browsed batch does not match its length table")
            if found.seq <= after:
                continue
            one = self.take(found, part)
            if one is not None:
                taken.append(one)
            after = found.seq + found.count - 1
        after = max(after, head.through)
        self.limit -= sum(one.count for one in taken)
        # Without progress the next question would be this one again, for ever.
        self.more = after > self.after and not head.done and self.limit > 0
        self.result, self.after, self.row = taken, after, head.row
        return True

    def take(self, head: BrowsedBatch, body: bytes) -> Any:
        """One entry of the result, or None."""
        return Lot.browsed(self.mailbox, head, body)

    def lots(self) -> list[Lot]:
        """What the application is shown."""
        return [one for one in self.result if isinstance(one, Lot)]


class StatusInquiry(Inquiry):
    """What a broker says about itself, with all its mailboxes: `result` is what its JSON holds."""

    __slots__ = ("pages",)

    def __init__(self, number: int, address: Address | None) -> None:
        super().__init__(number, "", address)
        self.pages = StatusPages()

    def ask(self, turn: Turn, link: Uplink) -> None:
        """One page."""
        turn.send(link.conn, StatusRequest(self.number, self.pages.after))

    def on_answer(self, turn: Turn, head: Message, body: bytes) -> bool:
        """Keep the page; ask for the next one until the end."""
        assert isinstance(head, StatusReply)
        if self.link is None or not self.asked or head.after != self.pages.after:
            return False  # of a broker we lost, or a page we have: the question was repeated before its answer came
        if self.pages.add(body):
            self.result = self.pages.report
            return True
        self.ask(turn, self.link)
        return False

    def on_lost(self, turn: Turn) -> None:
        """Begin anew: another broker may be asked, and pages of two make no status."""
        self.pages = StatusPages()


class StoryInquiry(Inquiry):
    """What one broker's recent trace holds about a message: `result` is a list of TraceRecord."""

    __slots__ = ("subject",)

    def __init__(self, number: int, subject: MessageId, address: Address | None) -> None:
        super().__init__(number, subject.dest, address)
        self.subject = subject

    def ask(self, turn: Turn, link: Uplink) -> None:
        """Ask this broker."""
        it = self.subject
        turn.send(link.conn, StoryRequest(self.number, it.source, it.incarnation, it.dest, it.stream, it.number))

    def on_answer(self, turn: Turn, head: Message, body: bytes) -> bool:
        """The records."""
        assert isinstance(head, StoryReply)
        try:
            self.result = _decode_story(body)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise RemoteProtocolError(Code.BAD_FRAME, f"story is not a list of trace records: {error}") from error
        return True


class FindInquiry(Inquiry):
    """Which broker serves a mailbox: `result` is its Peer."""

    __slots__ = ()

    def is_final(self, turn: Turn, refusal: Moved) -> bool:
        """Nobody serves what does not exist."""
        return refusal.code == Code.NO_MAILBOX

    def ask(self, turn: Turn, link: Uplink) -> None:
        """Any broker can say."""
        turn.send(link.conn, Find(self.mailbox))

    def on_answer(self, turn: Turn, head: Message, body: bytes) -> bool:
        """A Moved that names a broker is the answer."""
        assert isinstance(head, Moved)
        self.result = head.peer
        return isinstance(head.peer, Peer)


class PlaceInquiry(Inquiry):
    """Who holds an item: `result` is an ItemPlaced."""

    __slots__ = ()

    def ask(self, turn: Turn, link: Uplink) -> None:
        """Any broker finds out, and tells us of changes from then on."""
        turn.send(link.conn, AskPlaced(self.mailbox, self.number))

    def on_answer(self, turn: Turn, head: Message, body: bytes) -> bool:
        """It is known."""
        assert isinstance(head, ItemPlaced)
        self.result = head
        return True


class EndInquiry(Inquiry):
    """Let a subscription or a private mailbox end, with all that is in it; or an ordinary one that is empty, or its
    topics alone: `result` says whether there was one."""

    __slots__ = ("delete", "followed", "repeated", "then")

    def __init__(self, number: int, mailbox: str, then: EndInquiry | None = None, *, delete: bool = False) -> None:
        super().__init__(number, mailbox)
        self.then = then
        """Asked when this one has ended, and nobody is told of this one."""
        self.delete = delete
        """An ordinary mailbox is meant, not its topics."""
        self.repeated = False
        """Whether it may have ended before, without our hearing of it."""
        self.followed = 0
        """How often we were sent on, which ends nothing."""

    def repeat(self, turn: Turn, link: Uplink) -> None:
        """Nobody answered; perhaps the answer was lost."""
        self.repeated = True
        self.ask(turn, link)

    def on_lost(self, turn: Turn) -> None:
        """Perhaps the answer with it; unless we were only sent on."""
        self.repeated = self.repeated or self.moves <= self.followed
        self.followed = self.moves

    def is_final(self, turn: Turn, refusal: Moved) -> bool:
        """The owner knows better, or there is nothing to end."""
        return refusal.code != Code.OVERFLOWED

    def ask(self, turn: Turn, link: Uplink) -> None:
        """Only its owner can end it."""
        turn.send(link.conn, EndMailbox(self.mailbox, self.number, self.delete))

    def on_answer(self, turn: Turn, head: Message, body: bytes) -> bool:
        """It has ended."""
        assert isinstance(head, MailboxEnded)
        self.result = head.existed or self.repeated
        return True
