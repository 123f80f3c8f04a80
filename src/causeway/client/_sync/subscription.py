# Generated from client/_async/subscription.py by tools/unasync.py: edit that file, then run `make generate`.
"""Consumers of what is published: into a mailbox, or as a subscription, which may begin with what a history kept."""

from __future__ import annotations

from collections import deque
from typing import Any

from causeway.client._sync.base import wait_of
from causeway.client._sync.consumer import MailboxConsumer, Message
from causeway.client.arguments import check_limit
from causeway.client.inquiries import BrowseInquiry
from causeway.client.lots import Lot
from causeway.client.reader import MailReader
from causeway.client.subscriptions import Replay
from causeway.client.threaded import ThreadEngine
from causeway.limits import ID_MAX
from causeway.names import is_named_subscription
from causeway.topics import Naming, TopicForm


class TopicsConsumer(MailboxConsumer):
    """One consumer of a mailbox into which topics come."""

    def __init__(self, bus: Any, engine: ThreadEngine, reader: MailReader, *, auto_ack: bool, form: TopicForm) -> None:
        super().__init__(bus, engine, reader, auto_ack=auto_ack)
        self._naming: Naming = bus._naming
        self._form = form

    def show_topic(self, path: str) -> str:
        """A topic in the form in which the pattern was written."""
        return self._naming.shown(path, self._form)


class Subscription(TopicsConsumer):
    """One consumer of a subscription. It begins at once; what is published before `ready` may not be heard."""

    def __init__(self, bus: Any, engine: ThreadEngine, reader: MailReader, *, auto_ack: bool, form: TopicForm) -> None:
        super().__init__(bus, engine, reader, auto_ack=auto_ack, form=form)
        self._replay: Replay | None = None
        self._begun = False
        """Whether the replay knows its end."""
        self._page: BrowseInquiry | None = None
        self._past: deque[tuple[Lot, int]] = deque()

    @property
    def pattern(self) -> str:
        """The topics it is for, in canonical form."""
        interest = self._reader.interest
        assert interest is not None
        return interest.pattern

    @property
    def history(self) -> str:
        """The mailbox that keeps what is older; known once it is ready, if it begins in the past."""
        return self._reader.history

    def replay(self, replay: Replay) -> None:
        """Begin with what a history kept."""
        self._replay = replay

    def ready(self, timeout: float | None = None) -> None:
        """Until every publisher's broker knows of it: what is published from then on arrives.

        Raises:
            Refused: no broker will have it; its code says why (in use, no history, overflowed).
            DeadlineExceeded: nobody answered within `timeout` seconds (None: those of the bus).
        """
        super().ready(timeout)
        if self._replay is not None and not self._begun:
            if self._reader.fresh or not is_named_subscription(self._reader.mailbox):
                self._replay.begin(self._reader.numbers, self._reader.history)
            else:
                self._replay = None  # it goes on where an earlier life of it was
            self._begun = True

    def get(self, timeout: float | None = None) -> Message:
        """The next message. Raises DeadlineExceeded after `timeout` seconds without one."""
        past = self._get_past(1, timeout)
        return past[0] if past else super().get(timeout)

    def get_batch(self, limit: int = 1000, timeout: float | None = None) -> list[Message]:
        """At least one and at most `limit` messages, oldest first; none after `timeout` seconds without any."""
        check_limit(limit)
        return self._get_past(limit, timeout) or super().get_batch(limit, timeout)

    def _get_past(self, limit: int, timeout: float | None) -> list[Message]:
        """The next messages of the history; none when those that live in the mailbox are next."""
        if self._replay is None and not self._past:
            return []
        if not self._begun:
            self.ready(timeout)
        while self._replay is not None and not self._past:
            self._read_page(self._replay)
        return [Message(*self._past.popleft(), self) for _ in range(min(limit, len(self._past)))]

    def _read_page(self, replay: Replay) -> None:
        engine, session = self._engine, self._engine.session
        if replay.over:
            self._replay = None
            return
        interest = self._reader.interest
        assert interest is not None
        if self._page is None:
            with engine.lock:
                selector = interest.selector or None
                self._page = session.browse(self._reader.history, limit=ID_MAX, selector=selector)
        page = self._page
        for lot in self.bus._answer(page):
            self._past.extend((lot, index) for index in replay.wanted(lot))
        with engine.lock:
            self._page = session.browse_on(page)
        if self._page is None:
            self._replay = None

    def unsubscribe(self, timeout: float | None = None) -> None:
        """End the subscription itself, for everybody, with all that nobody has read."""
        wait_of(timeout)
        self._reader.ends = False
        self.close()
        self.bus._end(self.mailbox, timeout)
