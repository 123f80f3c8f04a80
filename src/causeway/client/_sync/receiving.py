# Generated from client/_async/receiving.py by tools/unasync.py: edit that file, then run `make generate`.
"""Receiving from mailboxes and topics: consumers, subscriptions, histories, temporary destinations."""

from __future__ import annotations

import weakref
from datetime import datetime
from typing import Any

from causeway.client._sync.base import BusBase, wait_of
from causeway.client._sync.consumer import MailboxConsumer, served
from causeway.client._sync.loops import MessageFeed
from causeway.client._sync.subscription import Subscription, TopicsConsumer
from causeway.client.arguments import check_order, check_wait
from causeway.client.reader import MailReader
from causeway.client.subscriptions import (
    Replay,
    SubscriptionTerms,
    check_pattern,
    durable_mailbox,
    history_interest,
    history_mailbox,
    start_of,
    topics_interest,
)
from causeway.client.threaded import ThreadEngine
from causeway.errors import Code, ConfigError, Refused
from causeway.topics import Naming, temporary_prefix, temporary_topic
from causeway.types import SECOND


class BusReceiving(BusBase):
    """The part of a bus that receives."""

    def __init__(self, engine: ThreadEngine, naming: Naming) -> None:
        super().__init__(engine, naming)
        self._feeds: weakref.WeakSet[MessageFeed] = weakref.WeakSet()
        self._temporary: dict[str, MailReader | None] = {}
        """Temporary mailboxes, each with the reader that keeps it alive until a consumer wants it."""
        self._topics_made = 0

    # Mailboxes -------------------------------------------------------------------------------------------------
    def consumer(
        self,
        mailbox: str | None = None,
        *,
        selector: str | None = None,
        exclusive: bool = False,
        topics: str | None = None,
        order: str | None = None,
        prefetch: int | None = None,
        auto_ack: bool = False,
    ) -> MailboxConsumer:
        """A consumer of a mailbox (None: the application's own).

        Args:
            selector: only messages whose headers it matches; the others stay for others.
            exclusive: be its only consumer, or be refused.
            topics: what is published in causal order on the topics of this pattern comes into the mailbox too, in one
                order with what is sent there (see docs/causal.md). From `ready` on, and also without this consumer,
                until `forget_topics` or until a consumer brings other topics.
            order: `causal`, and only with `topics`. A mailbox without topics shows messages in the order in which they
                came, which is causal for those that were sent so.
            prefetch: how many messages it holds unacknowledged at most. None: 16, doubled up to 1024 whenever it has to
                wait for more, so that consumers of one mailbox share it fairly.
            auto_ack: acknowledge messages as they are handed out.
        """
        engine, session = self._engine, self._engine.session
        where = self.name if mailbox is None else mailbox
        if check_order(order) != (topics is not None):
            field, value, other = ("topics", topics, "order") if order is None else ("order", order, "topics")
            raise ConfigError(field, value, f"needs `{other}` too: say topics='a/#', order='causal', or neither")
        with engine.lock:
            engine.check()
            interest, seat_of = None, ""
            if topics is not None:
                interest, seat_of = topics_interest(where, self.name, self._pattern(topics))
            waiting = self._temporary.get(where)
            if waiting is not None and exclusive:
                raise ConfigError("exclusive", exclusive, "a temporary mailbox is its bus's alone anyway; leave it out")
            reader = waiting
            if waiting is None or waiting.prefetch != prefetch or selector or interest:
                how: dict[str, Any] = {"selector": selector, "exclusive": exclusive}
                reader = session.attach(where, prefetch, interest=interest, seat_of=seat_of, **how)
            if waiting is not None:
                self._temporary[where] = None
                if waiting is not reader:
                    session.detach(waiting)
            engine.wake()
        assert reader is not None
        if topics is not None:
            return TopicsConsumer(self, engine, reader, auto_ack=auto_ack, form=self._naming.form(topics))
        return MailboxConsumer(self, engine, reader, auto_ack=auto_ack)

    def receive(
        self,
        mailbox: str | None = None,
        *,
        selector: str | None = None,
        exclusive: bool = False,
        topics: str | None = None,
        order: str | None = None,
        prefetch: int | None = None,
        auto_ack: bool = True,
        timeout: float | None = None,
    ) -> MessageFeed:
        """`for message in bus.receive():` over a mailbox; arguments as of `consumer`.

        With `auto_ack` a message is acknowledged when the loop asks for the next one or is left by `break` or `return`,
        and given back when the loop is left by an exception; unless its body did so or put it in a transaction itself.
        With `timeout` the loop ends after so many seconds without a message.
        """
        check_wait(timeout)
        consumer = self.consumer(
            mailbox, selector=selector, exclusive=exclusive, topics=topics, order=order, prefetch=prefetch
        )
        return self._feed(consumer, auto_ack=auto_ack, timeout=timeout)

    def _feed(self, consumer: MailboxConsumer, *, auto_ack: bool, timeout: float | None) -> MessageFeed:
        feed = MessageFeed(consumer, auto_ack=auto_ack, timeout=timeout)
        self._feeds.add(feed)
        return feed

    def forget_topics(self, mailbox: str | None = None, *, timeout: float | None = None) -> None:
        """No more of what is published comes into a mailbox (None: the application's own) that a consumer has given
        topics. The mailbox stays, with all that is in it. Raises Refused or DeadlineExceeded."""
        engine = self._engine
        with engine.lock:
            engine.check()
            where = self.name if mailbox is None else mailbox
            inquiry = engine.session.forget_topics(where, timeout=wait_of(timeout))
        self._answer(inquiry)

    # Topics ----------------------------------------------------------------------------------------------------
    def subscription(
        self,
        pattern: str,
        *,
        name: str | None = None,
        durable: bool = False,
        shared: bool = False,
        selector: str | None = None,
        no_local: bool = False,
        overflow: str = "block",
        bytes_max: int | None = None,
        retained: bool = True,
        start: str | int | float | datetime | None = None,
        order: str | None = None,
        prefetch: int | None = None,
        auto_ack: bool = False,
    ) -> Subscription:
        """A consumer of what is published on the topics of a pattern (`*` for one level, `#` for the rest).

        Args:
            name: of a durable or shared subscription, by which it is found again.
            durable: it goes on without its application, until `unsubscribe`; otherwise it ends with its last consumer.
            shared: consumers of this name, in whatever applications, share its messages; otherwise it has one.
            selector: only messages whose headers it matches.
            no_local: nothing that this bus published.
            overflow: what happens when its store is full: `block` (publishers wait), `drop_oldest`, `disconnect`.
            bytes_max: bound of that store; None for the brokers' own.
            retained: begin with the last retained message of each topic.
            start: begin with what a history keeps (see `keep_history`): `earliest`, a message's `offset`, or a time.
                Of a durable subscription only when it begins; what is not read of the past then is not kept for it.
            order: `causal` gets what is published in this order, in it, and nothing else (see docs/causal.md). Not with
                `start`; nothing is retained.
            prefetch, auto_ack: as of `consumer`.
        """
        engine, session = self._engine, self._engine.session
        with engine.lock:
            engine.check()
            path = self._pattern(pattern)
            terms = SubscriptionTerms(
                pattern=path,
                name=name,
                durable=durable,
                shared=shared,
                selector=selector,
                no_local=no_local,
                overflow=overflow,
                bytes_max=bytes_max,
                retained=retained,
                start=start,
                order=order,
            )
            interest = terms.interest(self.id)
            begin = None if start is None else start_of(start, path)
            named = terms.mailbox(self.name)
            mailbox = named or session.private_mailbox()
            seat_of = terms.seat_of(self.name)
            reader = session.attach(mailbox, prefetch, exclusive=not shared, interest=interest, seat_of=seat_of)
            reader.ends = named is None
            engine.wake()
        subscription = Subscription(self, engine, reader, auto_ack=auto_ack, form=self._naming.form(pattern))
        if begin is not None:
            subscription.replay(Replay(begin, interest))
        return subscription

    def subscribe(
        self,
        pattern: str,
        *,
        name: str | None = None,
        durable: bool = False,
        shared: bool = False,
        selector: str | None = None,
        no_local: bool = False,
        overflow: str = "block",
        bytes_max: int | None = None,
        retained: bool = True,
        start: str | int | float | datetime | None = None,
        order: str | None = None,
        prefetch: int | None = None,
        auto_ack: bool = True,
        timeout: float | None = None,
    ) -> MessageFeed:
        """`for message in bus.subscribe("roads/*/speed"):` over what is published.

        Arguments as of `subscription`, and `auto_ack` and `timeout` as of `receive`. It begins at once; the feed's
        `ready` tells when it has begun.
        """
        check_wait(timeout)
        consumer = self.subscription(
            pattern,
            name=name,
            durable=durable,
            shared=shared,
            selector=selector,
            no_local=no_local,
            overflow=overflow,
            bytes_max=bytes_max,
            retained=retained,
            start=start,
            order=order,
            prefetch=prefetch,
        )
        return self._feed(consumer, auto_ack=auto_ack, timeout=timeout)

    def unsubscribe(self, name: str, *, shared: bool = False, timeout: float | None = None) -> None:
        """End a durable subscription of this application (or a shared one), with all that nobody has read.

        Raises Refused (NO_MAILBOX) if there is none with this name, and DeadlineExceeded when nobody answers in time.
        """
        if not self._end(durable_mailbox(self.name, name, shared=shared), timeout):
            how = "shared" if shared else f"of {self.name!r}"
            raise Refused(Code.NO_MAILBOX, f"name={name!r}: there is no durable subscription {how} with this name")

    def keep_history(
        self, pattern: str, *, seconds: float, bytes_max: int | None = None, timeout: float | None = None
    ) -> None:
        """From now on keep what is published on these topics for so many seconds, for `subscribe(start=...)`.

            bus.keep_history("roads/#", seconds=3600)

        It goes on without this application, until `forget_history`. Beyond `bytes_max` its oldest messages make room.
        Raises Refused or DeadlineExceeded if no broker begins it.
        """
        check_wait(timeout)
        engine, session = self._engine, self._engine.session
        with engine.lock:
            engine.check()
            path = self._pattern(pattern)
            interest = history_interest(path, seconds, bytes_max)
            reader = session.attach(history_mailbox(path), 1, interest=interest)
            engine.wake()
        keeper = MailboxConsumer(self, engine, reader, auto_ack=False)
        try:
            keeper.ready(timeout)
        finally:
            keeper.close()

    def forget_history(self, pattern: str, *, timeout: float | None = None) -> None:
        """End the history of this very pattern, with all it holds. Raises as `unsubscribe`."""
        if not self._end(history_mailbox(self._pattern(pattern)), timeout):
            raise Refused(Code.NO_MAILBOX, f"pattern={pattern!r}: nobody keeps a history of this very pattern")

    # Temporary destinations ------------------------------------------------------------------------------------
    def temporary_mailbox(self, *, prefetch: int | None = None, timeout: float | None = None) -> str:
        """A mailbox of this bus, to be told to others; it takes messages from now on, and ends with the bus.

        Read it with `receive` or `consumer`, with the same `prefetch`. Once it has been read, it also ends a minute
        after its last consumer was closed.
        """
        check_wait(timeout)
        engine, session = self._engine, self._engine.session
        with engine.lock:
            engine.check()
            mailbox = session.private_mailbox()
            reader = self._temporary[mailbox] = session.attach(mailbox, prefetch)
            engine.wake()
        try:
            served(engine, reader, session.config.timeout / SECOND if timeout is None else timeout)
        except BaseException:
            with engine.lock:
                self._temporary.pop(mailbox, None)
                session.detach(reader)
                engine.wake()
            raise
        return mailbox

    def end_temporary(self, mailbox: str, *, timeout: float | None = None) -> None:
        """End a temporary mailbox now, with all that is in it. Close its consumers first."""
        wait_of(timeout)
        engine = self._engine
        with engine.lock:
            engine.check()
            if mailbox not in self._temporary:
                raise ConfigError("mailbox", mailbox, "is no temporary mailbox of this bus, or has ended")
            keeper = self._temporary.pop(mailbox)
            if keeper is not None:
                engine.session.detach(keeper)
        self._end(mailbox, timeout)

    def temporary_topic(self) -> str:
        """A topic of this bus, to be told to others: only this bus can subscribe to it."""
        self._topics_made += 1
        return temporary_topic(self.name, self._engine.session.incarnation, self._topics_made)

    # Inside ----------------------------------------------------------------------------------------------------
    def _pattern(self, text: str) -> str:
        return check_pattern(text, self._naming, temporary_prefix(self.name, self._engine.session.incarnation))

    def _end(self, mailbox: str, timeout: float | None) -> bool:
        """Whether there was something to end."""
        engine = self._engine
        with engine.lock:
            engine.check()
            inquiry = engine.session.end_mailbox(mailbox, timeout=wait_of(timeout))
        return bool(self._answer(inquiry))

    def _end_private(self, seconds: float) -> None:
        """Nobody needs the mailboxes of this life any more: end them, if their owners answer soon."""
        engine, session = self._engine, self._engine.session
        with engine.lock:
            leaving = [one for one in session.consumers() if one.ends or self._is_private(one)]
            read = [reader.mailbox for reader in leaving]
            for reader in leaving:
                reader.ends = True
                session.detach(reader)
            for mailbox in self._temporary:
                if mailbox not in read:  # its consumers were closed before
                    session.end_mailbox(mailbox)
            engine.wake()
        engine.until(lambda: not session.ending and not any(one in leaving for one in session.consumers()), seconds)

    def _is_private(self, reader: MailReader) -> bool:
        return reader is self._engine.replies or reader.mailbox in self._temporary
