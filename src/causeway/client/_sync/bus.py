# Generated from client/_async/bus.py by tools/unasync.py: edit that file, then run `make generate`.
"""The bus as an application sees it: connect, send, receive, transaction, request, browse."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from causeway.client._sync.consumer import MailboxConsumer, Message, MessageFeed
from causeway.client._sync.receipt import Receipt
from causeway.client._sync.transaction import Transaction
from causeway.client.arguments import duration_of, service_of
from causeway.client.batches import Lane
from causeway.client.inquiries import BrowseInquiry
from causeway.client.message import CORRELATION, REPLY_TO, MessageId, check_headers
from causeway.client.settings import SessionConfig
from causeway.client.threaded import ThreadEngine
from causeway.client.url import parse_url
from causeway.errors import CausewayError, ConfigError, DeadlineExceeded, LocalProtocolError
from causeway.limits import MIB, REPLIES_UNREAD_MAX, REPLY_SECONDS_MAX
from causeway.names import check_mailbox
from causeway.trace import TraceRecord
from causeway.wire.headers import Headers

ROOM_MIN = 1024
"""What `ready` makes sure there is room for (or a quarter of the window, if that is less)."""


def connect(
    url: str,
    *,
    name: str,
    state: str | Path | None = None,
    timeout: float = 30.0,
    connect_timeout: float = 10.0,
    window_messages: int = 65_536,
    window_bytes: int = 16 * MIB,
) -> Bus:
    """A bus for `with`.

    Args:
        url: causeway://host:port[,host:port...]; one address is enough, more help while brokers are down.
        name: the application, and its own mailbox.
        state: a directory for what exactly-once needs to survive a restart of this application (see `client.kept`);
            one application at a time may use it.
        timeout: seconds that sends, questions and commits may take when they do not say otherwise.
        connect_timeout: seconds until a broker must have answered.
        window_messages, window_bytes: bounds of what may be sent and unacknowledged.
    """
    if not isinstance(name, str):
        raise ConfigError("name", name, "must be str")
    config = SessionConfig(
        name=name,
        addresses=parse_url(url),
        timeout=duration_of("timeout", timeout),
        window_messages=window_messages,
        window_bytes=window_bytes,
        keep=state is not None,
    ).check()
    duration_of("connect_timeout", connect_timeout)
    return Bus(config, None if state is None else Path(state), connect_timeout)


class Bus:
    """One application's connection to the cluster; survives the loss of brokers by itself."""

    def __init__(self, config: SessionConfig, state: Path | None, connect_timeout: float) -> None:
        self._engine = ThreadEngine(config, state, Message, Receipt)
        self._connect_timeout = connect_timeout
        self._close_timeout = 5.0
        self._started = False
        self._feeds: weakref.WeakSet[MessageFeed] = weakref.WeakSet()

    # Life ------------------------------------------------------------------------------------------------------
    def open(self) -> Bus:
        """Connect. Raises TransportError when no broker answers in time, StoreError when the state is unusable."""
        engine = self._engine
        if self._started:
            raise LocalProtocolError("the bus was opened before; connect again")
        self._started = True
        engine.start()
        try:
            connected = engine.until(lambda: engine.session.connected, self._connect_timeout)
            engine.check()
            if not connected:
                raise engine.unreachable()
        except BaseException:
            engine.stop()
            raise
        return self

    def close(self) -> None:
        """Wait a little for what is under way, then leave. What is unacknowledged then has failed."""
        engine = self._engine
        if not self._started:
            return
        for feed in list(self._feeds):
            feed.finish()
        with engine.lock:
            engine.run_deferred()
            engine.wake()
        if engine.over is None:
            engine.until(lambda: engine.session.idle, self._close_timeout)
            with engine.lock:
                engine.session.close()
                engine.wake()
            engine.until(lambda: engine.session.error is not None, 1.0)
        engine.stop()

    def __enter__(self) -> Bus:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The application."""
        return self._engine.session.name

    @property
    def id(self) -> str:
        """The application and this incarnation of it: the beginning of every message id it sends."""
        return f"{self.name}:{self._engine.session.incarnation:x}"

    @property
    def connected(self) -> bool:
        """Whether a broker takes sends at this moment."""
        return self._engine.session.connected

    # Sending ---------------------------------------------------------------------------------------------------
    def send(
        self,
        dest: str,
        body: bytes | str,
        *,
        service: str = "recoverable",
        reliable: bool = True,
        priority: int = 4,
        ttl: float | None = None,
        headers: Headers | None = None,
        confirm: bool = False,
        timeout: float | None = None,
    ) -> Receipt:
        """Send and wait for the acknowledgement (see README for what it means in each class).

        Args:
            service: express, recoverable or transactional.
            reliable: False asks for no acknowledgement (express and recoverable).
            priority: 0 to 9.
            ttl: seconds after which an undelivered message is dropped.
            confirm: ask for a delivery confirmation, see `Receipt.confirmed`.
            timeout: seconds until an unacknowledged send fails.
        """
        while self._engine.session.room() == 0:
            self.ready(timeout)
        receipt = self.send_nowait(
            dest,
            body,
            service=service,
            reliable=reliable,
            priority=priority,
            ttl=ttl,
            headers=headers,
            confirm=confirm,
            timeout=timeout,
        )
        return receipt.wait()

    def send_nowait(
        self,
        dest: str,
        body: bytes | str,
        *,
        service: str = "recoverable",
        reliable: bool = True,
        priority: int = 4,
        ttl: float | None = None,
        headers: Headers | None = None,
        confirm: bool = False,
        timeout: float | None = None,
    ) -> Receipt:
        """Send without waiting; the receipt, or `flush`, or neither. Raises Refused when the window is full:
        `bus.ready()` once in a while, at least every thousand messages."""
        key = (dest, service, reliable, priority, ttl, headers is None, confirm, timeout)
        if headers is not None:
            check_headers(headers)
        receipt = self._engine.submit(key, body, headers)
        if receipt is None:
            return self._submit_first(key, body, headers)
        return receipt  # type: ignore[return-value]

    def ready(self, timeout: float | None = None) -> None:
        """Until there is room for a thousand messages; lets what was sent leave. Raises DeadlineExceeded."""
        engine = self._engine
        engine.breathe()
        session = engine.session
        wanted = min(ROOM_MIN, max(1, session.config.window_messages // 4))
        if session.room() >= wanted:
            return
        if not engine.until(lambda: session.room() >= wanted, timeout):
            raise DeadlineExceeded(f"the send window is full since {timeout:g} s; {session.trouble}")
        engine.check()

    def flush(self, timeout: float | None = None) -> None:
        """Until everything sent is acknowledged or has failed. Raises the first failure nobody waited for."""
        engine = self._engine
        session = engine.session
        if not engine.until(lambda: session.unresolved == 0, timeout):
            raise DeadlineExceeded(f"{session.unresolved} messages are not acknowledged after {timeout:g} s")
        engine.check()
        with engine.lock:
            error, engine.unheard = engine.unheard, None
        if error is not None:
            raise error

    def _submit_first(self, key: tuple[Any, ...], body: bytes | str, headers: Headers | None) -> Receipt:
        """Check where and how, then send; later messages of the same kind go the short way."""
        engine = self._engine
        with engine.lock:
            engine.check()
            receipt = engine.append(self._lane(key), body, headers)
            engine.wake()
        return receipt  # type: ignore[return-value]

    def _lane(self, key: tuple[Any, ...]) -> Lane:
        dest, service, reliable, priority, ttl, bare, confirm, timeout = key
        check_mailbox("dest", dest)
        session = self._engine.session
        lane = session.lanes[key] = session.lane(
            dest,
            service_of(service),
            reliable=bool(reliable),
            confirm=bool(confirm),
            headers=not bare,
            priority=priority,
            ttl=0 if ttl is None else duration_of("ttl", ttl),
            timeout=None if timeout is None else duration_of("timeout", timeout),
        )
        return lane

    # Receiving -------------------------------------------------------------------------------------------------
    def consumer(self, mailbox: str | None = None, *, prefetch: int = 1024, auto_ack: bool = False) -> MailboxConsumer:
        """A consumer of a mailbox (None: the application's own). With `auto_ack` messages are acknowledged as they
        are handed out. `prefetch` bounds how many messages it holds unacknowledged."""
        engine = self._engine
        with engine.lock:
            engine.check()
            reader = engine.session.attach(self.name if mailbox is None else mailbox, prefetch)
            engine.wake()
        return MailboxConsumer(self, engine, reader, auto_ack=auto_ack)

    def receive(
        self,
        mailbox: str | None = None,
        *,
        prefetch: int = 1024,
        auto_ack: bool = True,
        timeout: float | None = None,
    ) -> MessageFeed:
        """`for message in bus.receive():` over a mailbox (None: the application's own).

        With `auto_ack` a message is acknowledged when the loop asks for the next one or ends, unless its body did so,
        gave it back or put it in a transaction. With `timeout` the loop ends after so many seconds without a message.
        """
        consumer = self.consumer(mailbox, prefetch=prefetch)
        feed = MessageFeed(consumer, auto_ack=auto_ack, timeout=timeout)
        self._feeds.add(feed)
        return feed

    # Transactions and requests ---------------------------------------------------------------------------------
    def transaction(self, *, timeout: float | None = None) -> Transaction:
        """`with bus.transaction() as tx:` sends and acknowledgements that happen together or not at all."""
        return Transaction(self._engine, None if timeout is None else duration_of("timeout", timeout))

    def request(
        self,
        dest: str,
        body: bytes | str,
        *,
        timeout: float = 30.0,
        service: str = "recoverable",
        priority: int = 4,
        ttl: float | None = None,
        headers: Headers | None = None,
    ) -> Message:
        """Send and wait for the receiver's `message.reply`. Raises DeadlineExceeded, or why the request failed."""
        engine = self._engine
        duration_of("timeout", timeout)
        check_headers(headers or {})
        with engine.lock:
            engine.check()
            if engine.replies is None:
                engine.replies = engine.session.attach(engine.reply_mailbox, REPLIES_UNREAD_MAX)
            correlation, request = engine.ask()
        try:
            own: dict[str, Any] = {**(headers or {}), REPLY_TO: engine.reply_mailbox, CORRELATION: correlation}
            receipt = self._send_own(dest, body, (service, True, priority, ttl, False, False, timeout), own)
            # The answer may come before the acknowledgement, and then that is as good as one.
            batch = receipt.batch
            engine.wait_for(lambda: request.answer is not None or bool(batch.failures), request, batch, seconds=timeout)
            if request.answer is None:
                if batch.resolved:
                    receipt.wait()
                raise DeadlineExceeded(f"{dest!r} did not reply to {receipt.id} within {timeout:g} s")
            assert isinstance(request.answer, Message)
            return request.answer
        finally:
            with engine.lock:
                engine.requests.pop(correlation, None)

    def send_answer(self, dest: str, body: bytes | str, service: str, headers: dict[str, Any]) -> None:
        """The other half of `request`; applications call `message.reply`."""
        # With a time to live: who asked may be gone, and nobody else ever reads its private mailbox.
        how = (service, True, 4, REPLY_SECONDS_MAX, False, False, None)
        self._send_own(dest, body, how, headers).wait()

    def _send_own(self, dest: str, body: bytes | str, rest: tuple[Any, ...], headers: dict[str, Any]) -> Receipt:
        """As `send_nowait`, with headers that only we may use."""
        key = (dest, *rest)
        receipt = self._engine.submit(key, body, headers)
        if receipt is None:
            return self._submit_first(key, body, headers)
        return receipt  # type: ignore[return-value]

    # Looking ---------------------------------------------------------------------------------------------------
    def browse(
        self, mailbox: str | None = None, limit: int = 100, *, selector: str | None = None, timeout: float | None = None
    ) -> Iterator[Message]:
        """Look at up to `limit` messages of a mailbox without taking them; with a selector, at those that it matches.

        They come page by page, the next one when the loop asks for it; `timeout` is for each page.
        """
        session = self._engine.session
        wait = None if timeout is None else duration_of("timeout", timeout)
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
        wait = None if timeout is None else duration_of("timeout", timeout)
        with self._engine.lock:
            inquiry = self._engine.session.status(timeout=wait)
        found: dict[str, Any] = self._answer(inquiry)
        return found

    def story(self, message_id: str, *, timeout: float = 3.0) -> list[TraceRecord]:
        """What the brokers remember about a message, oldest first; brokers that do not answer are left out."""
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
        """The name of the broker that serves a mailbox."""
        wait = None if timeout is None else duration_of("timeout", timeout)
        with self._engine.lock:
            inquiry = self._engine.session.find(mailbox, timeout=wait)
        return str((self._answer(inquiry)).name)

    def _answer(self, inquiry: Any) -> Any:
        engine = self._engine
        with engine.lock:
            engine.wake()
        engine.wait_for(lambda: inquiry.done, inquiry)
        if inquiry.error is not None:
            raise inquiry.error
        return inquiry.result
