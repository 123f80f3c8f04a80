# Generated from client/_async/looking.py by tools/unasync.py: edit that file, then run `make generate`.
"""Looking at mailboxes, brokers and messages without changing anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from causeway.client._sync.base import BusBase, wait_of
from causeway.client._sync.consumer import Message
from causeway.client.arguments import duration_of
from causeway.client.inquiries import BrowseInquiry
from causeway.client.message import MessageId
from causeway.client.placements import Placed, placed
from causeway.core.messages import ItemPlaced
from causeway.errors import CausewayError, Code, ConfigError, Refused
from causeway.trace import TraceRecord


class BusLooking(BusBase):
    """The part of a bus that asks."""

    def browse(
        self, mailbox: str | None = None, limit: int = 100, *, selector: str | None = None, timeout: float | None = None
    ) -> Iterator[Message]:
        """Look at up to `limit` messages of a mailbox without taking them; with a selector, at those that it matches.

        They come page by page, the next one when the loop asks for it; `timeout` is for each page.
        """
        session = self._engine.session
        wait = wait_of(timeout)
        with self._engine.lock:
            where = self.name if mailbox is None else mailbox
            first = session.browse(where, limit=limit, selector=selector, timeout=wait)
        page: BrowseInquiry | None = first
        while page is not None:
            for lot in self._answer(page):
                for index in range(min(lot.count, limit)):
                    yield Message(lot, index)
                limit -= lot.count
            with self._engine.lock:
                page = session.browse_on(page, timeout=wait)

    def status(self, *, timeout: float | None = None) -> dict[str, Any]:
        """What the broker that takes our sends says about itself, the cluster and the mailboxes it holds.

        `groups_truncated` is how many it left out: 0, unless it holds more than a million.
        """
        wait = wait_of(timeout)
        with self._engine.lock:
            inquiry = self._engine.session.status(timeout=wait)
        found: dict[str, Any] = self._answer(inquiry)
        return found

    def story(self, message_id: str, *, timeout: float = 3.0) -> list[TraceRecord]:
        """What the brokers remember about a message, oldest first; brokers that do not answer are left out.

        Raises ConfigError for text that is no message id, and the first failure if no broker answers.
        """
        subject = MessageId.parse(message_id)
        wait = duration_of("timeout", timeout)
        session = self._engine.session
        with self._engine.lock:
            inquiries = [session.story(subject, address, timeout=wait) for address in session.brokers]
        records: list[TraceRecord] = []
        failures: list[CausewayError] = []
        for inquiry in inquiries:
            try:
                records += self._answer(inquiry)
            except CausewayError as error:
                failures.append(error)
        if failures and len(failures) == len(inquiries):
            raise failures[0]
        return sorted(dict.fromkeys(records), key=lambda record: (record.at, record.step))

    def find(self, mailbox: str, *, timeout: float | None = None) -> str:
        """The name of the broker that serves a mailbox.

        Raises Refused (NO_MAILBOX) when there is none of this name, and DeadlineExceeded when nobody answers in time.
        """
        wait = wait_of(timeout)
        with self._engine.lock:
            inquiry = self._engine.session.find(mailbox, timeout=wait)
        peer = self._answer(inquiry)
        if peer is None:
            raise Refused(Code.NO_MAILBOX, f"mailbox={mailbox!r}: there is none of this name")
        return str(peer.name)

    def where(self, topic: str, *, timeout: float | None = None) -> Placed:
        """Which brokers hold a topic: its owner, its mirror, the epoch in which they do, and their domain.

        Brokers tell us of the topics that we publish or subscribe to, and of every change, so this mostly asks nobody.
        A topic that was never used begins with the question.
        """
        wait = wait_of(timeout)
        if not isinstance(topic, str):
            raise ConfigError("topic", topic, "must be str")
        path = self._naming.path(topic)
        with self._engine.lock:
            found = self._engine.session.where(path, timeout=wait)
        return placed(found if isinstance(found, ItemPlaced) else self._answer(found))
