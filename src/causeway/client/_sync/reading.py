# Generated from client/_async/reading.py by tools/unasync.py: edit that file, then run `make generate`.
"""Reading mailboxes and histories by number: a range at a time, as often as wanted, taking nothing."""

from __future__ import annotations

from collections.abc import Iterator

from causeway.client._sync.base import wait_of
from causeway.client._sync.receiving import BusReceiving
from causeway.client.arguments import check_wait
from causeway.client.stretches import EVERYTHING, MailboxExtent, ReadFilter, ReadPage, ReadStretch, StretchInquiry
from causeway.errors import Code, Refused
from causeway.limits import ID_MAX
from causeway.types import VOLATILE_FROM


class BusReading(BusReceiving):
    """The part of a bus that reads by number."""

    def extent(self, mailbox: str, *, timeout: float | None = None) -> MailboxExtent:
        """How far a mailbox reaches: what `read` can show now has lower numbers, what comes later does not."""
        with self._engine.lock:
            question = self._engine.session.read(
                mailbox, VOLATILE_FROM, VOLATILE_FROM, row=VOLATILE_FROM, timeout=wait_of(timeout)
            )
        self._answer(question)
        return question.extent

    def read(
        self,
        mailbox: str,
        start: int = 0,
        stop: int = VOLATILE_FROM,
        *,
        row: int = -1,
        limit: int = ID_MAX,
        timeout: float | None = None,
    ) -> Iterator[ReadStretch]:
        """The stored messages with numbers start .. stop-1, in stretches; nothing is taken.

        The next page is asked for before this one is shown; `timeout` is for each. With `limit` it ends after so many
        messages. `row` is the number of the batch in which `start` lies, if you know it: it saves the search.
        """
        for page in self.read_pages(mailbox, start, stop, row=row, limit=limit, timeout=timeout):
            for stretch in page.stretches:
                yield stretch

    def read_pages(
        self,
        mailbox: str,
        start: int = 0,
        stop: int = VOLATILE_FROM,
        *,
        wanted: ReadFilter = EVERYTHING,
        row: int = -1,
        limit: int = ID_MAX,
        timeout: float | None = None,
    ) -> Iterator[ReadPage]:
        """The same page by page, and only what is wanted: the broker says how many others it passed over."""
        wait = wait_of(timeout)
        session, lock = self._engine.session, self._engine.lock
        with lock:
            page: StretchInquiry | None = session.read(
                mailbox, start, stop, row=row, limit=limit, wanted=wanted, timeout=wait
            )
        while page is not None:
            found: ReadPage = self._answer(page)
            with lock:
                following = session.browse_on(page, timeout=wait)
                self._engine.wake()
            yield found
            assert following is None or isinstance(following, StretchInquiry)
            page = following

    def settle_below(self, mailbox: str, number: int, *, timeout: float | None = None) -> None:
        """Acknowledge everything in a mailbox that has a lower number, also what consumers have in hand.

        Raises Refused, or DeadlineExceeded when nobody answers in time.
        """
        with self._engine.lock:
            inquiry = self._engine.session.settle_below(mailbox, number, timeout=wait_of(timeout))
        self._answer(inquiry)

    def purge(self, mailbox: str, *, timeout: float | None = None) -> None:
        """Drop every message that is in a mailbox now, also what consumers have in hand; what comes later stays.

        Raises Refused, or DeadlineExceeded when nobody answers in time.
        """
        wait_of(timeout)
        extent = self.extent(mailbox, timeout=timeout)
        with self._engine.lock:
            inquiry = self._engine.session.purge(mailbox, extent.number, timeout=wait_of(timeout))
        self._answer(inquiry)

    def delete(self, mailbox: str, *, timeout: float | None = None) -> None:
        """Drop every message that is in a mailbox, and let it end: some seconds later it is gone, with all it knew.

        What is sent a second time meanwhile, because an acknowledgement was lost, does not bring it back; what is sent
        anew does, as to any name. Raises Refused: NO_MAILBOX if there is none, IN_USE while somebody reads it or sends
        to it; and DeadlineExceeded when nobody answers in time.
        """
        self.purge(mailbox, timeout=timeout)
        with self._engine.lock:
            inquiry = self._engine.session.delete(mailbox, timeout=wait_of(timeout))
        if not self._answer(inquiry):
            raise Refused(Code.NO_MAILBOX, f"mailbox={mailbox!r}: there is none of this name")

    def history_of(self, pattern: str, *, timeout: float | None = None) -> str:
        """The mailbox, to be read by number, that keeps what is published on these topics, and perhaps on more.

        Raises Refused (NO_MAILBOX) when nobody keeps a history of all of them.
        """
        check_wait(timeout)
        subscription = self.subscription(pattern, start="earliest")
        try:
            subscription.ready(timeout)
            return subscription.history
        finally:
            subscription.close()
