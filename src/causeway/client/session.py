"""The client as one machine: `handle(events, now) -> Effects`, the same under asyncio, a thread or the simulator.

Three stimuli move it: the application (plain methods, whose effects come out of the next `handle`), the network and the
store (events), and time (`next_deadline`). What the application must hear comes out of `outcomes()`.

    session = Session(config, incarnation, rng)
    ticket = session.send("orders", b"...", service=ServiceClass.TRANSACTIONAL)
    effects = session.handle([], now)          # numbered, batched, on its way
    ...
    effects = session.handle([Received(conn, [(Accepted(...), b"")])], now)
    session.outcomes()                         # [SendDone(batch)]; ticket.done and ticket.error tell

Owns: what an application may ask for, and the checks of its arguments.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from causeway.client.arguments import check_causal, check_limit, check_priority, check_selector, check_times
from causeway.client.batches import Lane, SentBatch, Ticket
from causeway.client.consumers import Shown
from causeway.client.inquiries import (
    BrowseInquiry,
    EndInquiry,
    FindInquiry,
    Inquiry,
    PlaceInquiry,
    StatusInquiry,
    StoryInquiry,
)
from causeway.client.lots import Lot
from causeway.client.machine import SessionMachine
from causeway.client.message import MessageId
from causeway.client.reader import MailReader
from causeway.client.settings import Address, SessionConfig
from causeway.client.stretches import EVERYTHING, ReadFilter, SettleInquiry, StretchInquiry
from causeway.client.subscriptions import check_forgettable
from causeway.client.transactions import Commitment, Parcel
from causeway.core.messages import Causal, Interest, ItemPlaced, Published
from causeway.errors import Code, ConfigError, Refused
from causeway.limits import CREDIT_MAX, ID_MAX
from causeway.names import (
    DURABLE_PREFIX,
    check_destination,
    check_mailbox,
    is_private,
    private_name,
    twin_name,
)
from causeway.topics import is_critical, item_of
from causeway.types import VOLATILE_FROM, Duration, Flag, ServiceClass
from causeway.wire.headers import Headers


class Session(SessionMachine):
    """One application's place on the bus. Not for use from several threads at once."""

    def __init__(self, config: SessionConfig, incarnation: int, rng: random.Random) -> None:
        super().__init__(config, incarnation, rng)
        self._privates = 0

    # Who and where ---------------------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        """The application."""
        return self.config.name

    @property
    def ready(self) -> bool:
        """Whether sends are taken, if only into the window."""
        return self._open or self._keeper is None

    @property
    def brokers(self) -> list[Address]:
        """The brokers known."""
        return self._links.brokers()

    @property
    def idle(self) -> bool:
        """Whether everything sent is resolved, everything settled is confirmed and no transaction is open."""
        quiet = not (self.unresolved or len(self._transactions) or self._fresh_commits)
        return quiet and self._consumers.quiet and (self._keeper is None or self._keeper.idle)

    def mark(self) -> int:
        """For `keeps`: where what was acknowledged until now ends."""
        return 0 if self._keeper is None else self._keeper.mark()

    def keeps(self, mark: int) -> bool:
        """Whether what was acknowledged before a mark is on our own disk, if it is to be."""
        return self._keeper is None or self._keeper.keeps(mark)

    @property
    def unresolved(self) -> int:
        """Messages sent and not yet acknowledged or failed."""
        return self._fates.count + self._streams.uncounted()

    def use_tickets(self, make: Callable[[SentBatch, int], Ticket], handler: object) -> None:
        """Let `append` return the driver's own kind of ticket; every batch carries `handler`."""
        self._streams.make_ticket, self._streams.handler = make, handler

    # Sending ---------------------------------------------------------------------------------------------------
    def lane(
        self,
        dest: str,
        service: ServiceClass = ServiceClass.RECOVERABLE,
        *,
        reliable: bool = True,
        confirm: bool = False,
        headers: bool = False,
        priority: int = 4,
        ttl: Duration = 0,
        delay: Duration = 0,
        timeout: Duration | None = None,
        published: bool = False,
        retain: bool = False,
        causal: bool = False,
    ) -> Lane:
        """Check where and how to send, once for many messages. Raises ConfigError.

        With `published`, `dest` is the canonical path of a topic: its batches go to the topic's item. With `causal` all
        batches go to our seat, as one ordered stream.
        """
        self._check_ready()
        check_priority(priority)
        check_times(ttl, timeout, delay)
        if not published:
            check_destination("dest", dest)
        if not reliable and service >= ServiceClass.TRANSACTIONAL:
            raise ConfigError("reliable", reliable, "transactional is always acknowledged; use express or recoverable")
        flags = (Flag.RELIABLE if reliable else 0) | (Flag.CONFIRM if confirm else 0) | (Flag.HEADERS if headers else 0)
        flags |= (Flag.RETAIN if retain else 0) | (Flag.DELAYED if published and delay else 0)
        mailbox, stream = item_of(dest) if published else dest, service
        if causal:
            check_causal(priority, delay, confirm=confirm, retain=retain)
            mailbox, stream = self._questions.seat, ServiceClass.TRANSACTIONAL
        lane = self._streams.lane(mailbox, stream, int(flags), priority, ttl=ttl, timeout=timeout)
        lane.delay = delay
        lane.published = Published(dest) if published else None
        if causal:
            lane.causal = Causal("" if published else dest, int(service))
            lane.silent = not reliable
        elif published and is_critical(dest):
            self._streams.double(lane)
        return lane

    @property
    def append(self) -> Callable[[Lane, object, Headers | None], Ticket]:
        """append(lane, body, headers): send one message.

        Raises Refused(OVERLOADED) when the window is full: wait for WindowOpened. A lane is good until `lanes` is
        emptied, which is also how the end of the session shows.
        """
        return self._streams.append

    def send(
        self,
        dest: str,
        body: bytes,
        *,
        service: ServiceClass = ServiceClass.RECOVERABLE,
        reliable: bool = True,
        headers: Headers | None = None,
        priority: int = 4,
        ttl: Duration = 0,
        delay: Duration = 0,
        confirm: bool = False,
        timeout: Duration | None = None,
        published: bool = False,
        retain: bool = False,
        causal: bool = False,
    ) -> Ticket:
        """`lane` and `append` in one; durations in nanoseconds."""
        how = (service, reliable, confirm, headers is None, priority, ttl, timeout, delay)
        key = (dest, *how, published, retain, causal)
        lane = self.lanes.get(key)
        if lane is None:
            lane = self.lanes[key] = self.lane(
                dest,
                service,
                reliable=reliable,
                confirm=confirm,
                headers=headers is not None,
                priority=priority,
                ttl=ttl,
                delay=delay,
                timeout=timeout,
                published=published,
                retain=retain,
                causal=causal,
            )
        return self._streams.append(lane, body, headers)

    # Receiving -------------------------------------------------------------------------------------------------
    def attach(
        self,
        mailbox: str,
        prefetch: int | None,
        *,
        selector: str | None = None,
        exclusive: bool = False,
        interest: Interest | None = None,
        seat_of: str = "",
    ) -> MailReader:
        """A new consumer; MessagesArrived tells when `take` has something, ConsumerRefused that it never will.

        With a selector it gets only messages that match it; exclusive, it is the only consumer or none; with an
        interest the mailbox is a subscription to it, in causal order if `seat_of` says whose seat hands on to it.
        """
        self._check_open()
        check_mailbox("mailbox", mailbox)
        if prefetch is not None and (type(prefetch) is not int or not 1 <= prefetch <= CREDIT_MAX):
            raise ConfigError("prefetch", prefetch, f"must be a whole number from 1 to {CREDIT_MAX}, or None")
        how = check_selector(selector)
        consumer = MailReader(
            self._number(), mailbox, prefetch, selector=how, exclusive=bool(exclusive), interest=interest
        )
        consumer.seat_of = seat_of
        self._fresh_consumers.append(consumer)
        if interest is not None and not seat_of and interest.has_twin(mailbox):
            self._fresh_consumers.append(self._twin_of(consumer, interest))
        return consumer

    def _twin_of(self, consumer: MailReader, interest: Interest) -> MailReader:
        """The reader of the other way of critical topics."""
        mailbox = check_mailbox("name", twin_name(consumer.mailbox))
        twin = MailReader(self._number(), mailbox, consumer.credit, exclusive=consumer.exclusive, interest=interest)
        twin.front, twin.ends = consumer, is_private(consumer.mailbox)
        consumer.twin = twin
        consumer.window = consumer.credit  # two readers cannot tell which of them is waited for
        return twin

    def take(
        self,
        consumer: MailReader,
        limit: int,
        make: Callable[..., Shown],
        handler: object = None,
        *,
        accept: bool = False,
    ) -> list[Shown]:
        """Hand up to `limit` messages to the application, each made by `make(lot, index, handler)`; with `accept` as
        done. The session never holds the handler, so that one which the application has forgotten can end."""
        return self._consumers.take(consumer, limit, make, handler, accept=accept)

    @property
    def urgent(self) -> bool:
        """Whether something was accepted or given back that should be seen to now."""
        return bool(self._consumers.dirty or self._consumers.late.news)

    @property
    def accept(self) -> Callable[[Lot, int, int], None]:
        """accept(lot, first, last): the application is done with these messages of a lot."""
        return self._consumers.accept

    def accept_through(self, lot: Lot, index: int) -> None:
        """The application is done with all messages handed out up to this one."""
        self._consumers.accept_through(lot, index)

    def give_back(self, lot: Lot, first: int, last: int) -> None:
        """The application wants these messages to be delivered again, to anybody."""
        self._consumers.give_back(lot, first, last)

    def consumers(self) -> list[MailReader]:
        """Every consumer that was not ended."""
        return [*self._consumers.all(), *self._fresh_consumers]

    def pending(self) -> list[SentBatch | MailReader | Commitment | Inquiry]:
        """Everything somebody may be waiting for."""
        inquiries = [errand for errand in self._errands.all() if isinstance(errand, Inquiry)]
        inquiries += [inquiry for inquiry, _ in self._fresh_inquiries]
        inquiries += [one.then for one in inquiries if isinstance(one, EndInquiry) and one.then is not None]
        commits = [*self._transactions.unresolved(), *(commitment for commitment, _ in self._fresh_commits)]
        return [*self._streams.unresolved(), *self.consumers(), *commits, *inquiries]

    def detach(self, consumer: MailReader) -> None:
        """End a consumer."""
        for one in (consumer, consumer.twin):
            if one in self._fresh_consumers:
                self._fresh_consumers.remove(one)
        self._consumers.close(consumer)

    # Transactions ----------------------------------------------------------------------------------------------
    def commit(
        self, parcels: Sequence[Parcel], accepted: Sequence[tuple[Lot, int]], timeout: Duration | None = None
    ) -> Commitment:
        """Do all of this or nothing; TransactionDone tells how it ended. Raises ConfigError when it is too large."""
        self._check_ready()
        if timeout is not None and timeout <= 0:
            raise ConfigError("timeout", timeout, "must be more than 0")
        commitment = self._transactions.prepare(self.incarnation, parcels, accepted)
        self._fresh_commits.append((commitment, self.config.timeout if timeout is None else timeout))
        return commitment

    # Looking ---------------------------------------------------------------------------------------------------
    def browse(
        self, mailbox: str, *, limit: int = 100, selector: str | None = None, timeout: Duration | None = None
    ) -> BrowseInquiry:
        """Up to `limit` messages of a mailbox without taking them: the first page, a list of lots."""
        check_mailbox("mailbox", mailbox)
        matching = check_selector(selector)
        check_limit(limit)
        page = BrowseInquiry(self._number(), mailbox, -1, limit, matching)
        self._inquire(page, timeout)
        return page

    def browse_on(self, page: BrowseInquiry, *, timeout: Duration | None = None) -> BrowseInquiry | None:
        """The page behind one that was answered; None if that was the last."""
        if not page.more:
            return None
        following = page.following(self._number())
        self._inquire(following, timeout)
        return following

    def read(
        self,
        mailbox: str,
        start: int,
        stop: int,
        *,
        row: int,
        limit: int = ID_MAX,
        wanted: ReadFilter = EVERYTHING,
        timeout: Duration | None = None,
    ) -> StretchInquiry:
        """The messages of a mailbox with numbers start .. stop-1, in stretches: the first page."""
        check_mailbox("mailbox", mailbox)
        for field, value in (("start", start), ("stop", stop)):
            if type(value) is not int or not 0 <= value <= ID_MAX:
                raise ConfigError(field, value, "must be a number in a mailbox, 0 or more")
        page = StretchInquiry(self._number(), mailbox, start - 1, stop, row=row, limit=limit, wanted=wanted.check())
        self._inquire(page, timeout)
        return page

    def settle_below(self, mailbox: str, below: int, *, timeout: Duration | None = None) -> Inquiry:
        """Everything in a mailbox below a number is done with."""
        check_destination("mailbox", mailbox)
        if type(below) is not int or not 1 <= below <= VOLATILE_FROM:
            raise ConfigError("below", below, "must be a number in a mailbox, 1 or more")
        return self._inquire(SettleInquiry(self._number(), mailbox, ((0, below - 1),)), timeout)

    def purge(self, mailbox: str, below: int, *, timeout: Duration | None = None) -> Inquiry:
        """Everything in a mailbox below a number is done with, and every express message that is there."""
        spans = ((0, max(0, below - 1)), (VOLATILE_FROM, ID_MAX))
        return self._inquire(SettleInquiry(self._number(), check_forgettable(mailbox), spans), timeout)

    def delete(self, mailbox: str, *, timeout: Duration | None = None) -> Inquiry:
        """Let an ordinary mailbox end that is empty and has no reader."""
        return self._inquire(EndInquiry(self._number(), check_forgettable(mailbox), delete=True), timeout)

    def status(self, address: Address | None = None, *, timeout: Duration | None = None) -> Inquiry:
        """What a broker (None: the one that takes our sends) says about itself and all its mailboxes."""
        return self._inquire(StatusInquiry(self._number(), address), timeout)

    def story(self, subject: MessageId, address: Address | None = None, *, timeout: Duration | None = None) -> Inquiry:
        """What a broker remembers of a message: a list of trace records."""
        return self._inquire(StoryInquiry(self._number(), subject, address), timeout)

    def find(self, mailbox: str, *, timeout: Duration | None = None) -> Inquiry:
        """Which broker serves a mailbox."""
        check_mailbox("mailbox", mailbox)
        return self._inquire(FindInquiry(self._number(), mailbox), timeout)

    def where(self, topic: str, *, timeout: Duration | None = None) -> ItemPlaced | Inquiry:
        """Who holds a topic (in its canonical form): at once if we are told of changes, else asked for."""
        item = item_of(topic)
        self._check_open()
        return self._placements.current(item) or self._inquire(PlaceInquiry(self._number(), item), timeout)

    def end_mailbox(self, mailbox: str, *, timeout: Duration | None = None) -> Inquiry:
        """Let a subscription or a private mailbox end, with all that is in it."""
        check_mailbox("mailbox", mailbox)
        inquiry = EndInquiry(self._number(), mailbox)
        if mailbox.startswith(DURABLE_PREFIX):
            # It may have a twin, which goes first: without it the subscription still has all it wants.
            self._inquire(EndInquiry(self._number(), twin_name(mailbox), inquiry), timeout)
        else:
            self._inquire(inquiry, timeout)
        return inquiry

    def forget_topics(self, mailbox: str, *, timeout: Duration | None = None) -> Inquiry:
        """No more of what is published comes into a mailbox; it stays, with all that is in it."""
        inquiry = self.end_mailbox(check_forgettable(mailbox), timeout=timeout)
        for consumer in self.consumers():
            if consumer.mailbox == mailbox:
                consumer.forget_topics()
        return inquiry

    @property
    def ending(self) -> bool:
        """Whether a mailbox that was to end has not done so yet."""
        asked = [*self._errands.all(), *(fresh for fresh, _ in self._fresh_inquiries), *self._answers.next_ends]
        return any(isinstance(errand, EndInquiry) for errand in asked)

    def private_mailbox(self) -> str:
        """The name of one more mailbox of this life, as no other life has used it."""
        self._check_ready()
        self._privates += 1
        identity = self._keeper.identity if self._keeper is not None else None
        # With kept state all lives have the incarnation of the first.
        life = "" if identity is None else f"{identity.life}."
        return private_name(f"{self.name}/{life}{self._privates}", self.incarnation)

    def _inquire(self, inquiry: Inquiry, timeout: Duration | None) -> Inquiry:
        self._check_open()
        if timeout is not None and timeout <= 0:
            raise ConfigError("timeout", timeout, "must be more than 0")
        self._fresh_inquiries.append((inquiry, self.config.timeout if timeout is None else timeout))
        return inquiry

    def close(self) -> None:
        """End at the next turn: whatever is still unresolved fails."""
        self._closing = True

    def _check_open(self) -> None:
        if self.error is not None:
            raise self.error

    def _check_ready(self) -> None:
        """With kept state, ids are known only once it was read."""
        self._check_open()
        if not self.ready:
            raise Refused(Code.NOT_READY, "the kept state is still being read; wait until the session is connected")
