"""Receiving: messages and consumers; the loop `async for message in bus.receive()` is in `loops`."""

# ruff: noqa: ASYNC109  the sync API is generated from this one and needs its own time limits

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, NoReturn

from causeway.client._async.loops import MessageFeed, MessageLoop
from causeway.client.aio import NOTED, LoopEngine, Noted
from causeway.client.arguments import check_limit
from causeway.client.leaving import origin
from causeway.client.message import CORRELATION, REPLY_TO, Delivery, joined
from causeway.client.reader import MailReader
from causeway.errors import DeadlineExceeded, LocalProtocolError
from causeway.types import SECOND, ServiceClass
from causeway.wire.headers import Headers

CLOSE_SECONDS_MAX = 5.0
"""How long `close` waits for the broker to confirm what was acknowledged."""


class Message(Delivery, gc=False, eq=False):
    """A received message."""

    def ack(self) -> Noted:
        """Done with it, for ever: it is not delivered again. With kept state, await it to have that on disk.

        Raises LocalProtocolError if it was acknowledged, given back or put in a transaction before, if it was only
        browsed, and if its consumer is closed. Messages of a history and answers to requests ignore it.
        """
        consumer = self._consumer()
        if consumer is None:
            return NOTED
        consumer.settle(self._lot, self._index)
        return consumer.noted()

    def ack_all(self) -> Noted:
        """Done with it and with every earlier message of the same consumer. May be awaited, and raises, as `ack`."""
        consumer = self._consumer()
        if consumer is None:
            return NOTED
        consumer.settle_through(self._lot, self._index)
        return consumer.noted()

    def nack(self) -> Noted:
        """Give it back: it is delivered again, to this or another consumer, and its `deliveries` counts it. Raises as
        `ack`."""
        consumer = self._consumer()
        if consumer is not None:
            consumer.give_back(self._lot, self._index)
        return NOTED

    @property
    def wants_reply(self) -> bool:
        """Whether its sender waits for an answer."""
        return REPLY_TO in self.all_headers()

    async def reply(self, body: bytes | str, *, headers: Headers | None = None) -> None:
        """Answer a request, in the class and order it was sent with; returns when the answer is acknowledged."""
        own = self.all_headers()
        target, correlation = own.get(REPLY_TO), own.get(CORRELATION)
        bus = getattr(self._handler, "bus", None)
        if not isinstance(target, str) or bus is None:
            raise LocalProtocolError(f"message {self.id} is not a request: nobody waits for an answer")
        service = "express" if self.stream == ServiceClass.EXPRESS else "recoverable"
        own_headers = joined(headers, {CORRELATION: correlation})
        await bus.send_answer(target, body, own_headers, service=service, order=self.order)

    def _consumer(self) -> MailboxConsumer | None:
        """Who settles it; None for answers to requests, which are settled when they arrive."""
        handler = self._handler
        if handler is None and self._lot.seen is None:
            raise LocalProtocolError(f"message {self.id} was only browsed: receive it to acknowledge it")
        if not isinstance(handler, MailboxConsumer):
            return None
        lot = self._lot
        if (self._index < lot.low or lot.done is not None or lot.reserved is not None) and not self.replayed:
            self.check_unsettled()
        return handler

    def check_unsettled(self) -> None:
        """Raise LocalProtocolError unless it is still to be acknowledged or given back."""
        before = self._lot.settlement(self._index)
        if before:
            how = " when it was handed out (auto_ack=True)" if getattr(self._handler, "_auto_ack", False) else ""
            raise LocalProtocolError(f"message {self.id} was already {before}{how}; settle each message once")


async def served(engine: LoopEngine, reader: MailReader, timeout: float | None) -> None:
    """Until a broker serves this reader. Raises DeadlineExceeded, or Refused when none will."""
    if not await engine.until(lambda: reader.begun or reader.error is not None, timeout):
        why = reader.trouble or engine.session.trouble
        what = repr(reader.mailbox) if reader.interest is None else f"the subscription to {reader.interest.pattern!r}"
        raise DeadlineExceeded(f"no broker serves {what} within {timeout:g} s ({why})")
    if reader.error is not None:
        raise reader.error
    engine.check()


class MailboxConsumer:
    """One consumer of a mailbox; several compete. It attaches at once, and again wherever the mailbox goes.

    It lives as long as somebody holds it or one of its messages; then it is closed, if nobody did so before.
    """

    def __init__(self, bus: Any, engine: LoopEngine, reader: MailReader, *, auto_ack: bool) -> None:
        self.bus = bus
        self._engine = engine
        self._reader = reader
        self._auto_ack = auto_ack
        self._closed = False
        self._began = origin()

    @property
    def mailbox(self) -> str:
        """The mailbox it reads."""
        return self._reader.mailbox

    async def get(self, timeout: float | None = None) -> Message:
        """The next message. Raises DeadlineExceeded after `timeout` seconds without one."""
        found = await self._engine.wait_for(lambda: self._take(1), self._reader, seconds=timeout)
        if not found:
            raise DeadlineExceeded(f"no message in {self.mailbox!r} within {timeout:g} s")
        return found[0]

    async def get_batch(self, limit: int = 1000, timeout: float | None = None) -> list[Message]:
        """At least one and at most `limit` messages, oldest first; none after `timeout` seconds without any."""
        check_limit(limit)
        return await self._engine.wait_for(lambda: self._take(limit), self._reader, seconds=timeout) or []

    def _take(self, limit: int) -> list[Message]:
        if self._closed:
            self._check()
        session = self._engine.session
        if not self._reader.queue and self._reader.error is not None:
            raise self._reader.error
        found = session.take(self._reader, limit, Message, self, accept=self._auto_ack)
        if session.urgent:
            self._engine.wake()
        return found

    async def attached(self, timeout: float | None = None) -> None:
        """Until a broker serves this consumer. Raises DeadlineExceeded, or Refused when none will."""
        await served(self._engine, self._reader, timeout)

    async def ready(self, timeout: float | None = None) -> None:
        """As `attached`, with the time limit of the bus if none is given."""
        await self.attached(self._engine.session.config.timeout / SECOND if timeout is None else timeout)

    def settle(self, lot: Any, index: int) -> None:
        """Acknowledge one message."""
        if self._closed:
            self._check()
        self._engine.settle(lot, index, index)

    def noted(self) -> Noted:
        """What an acknowledgement returns."""
        return self._engine.noted()

    def settle_through(self, lot: Any, index: int) -> None:
        """Acknowledge everything handed out up to this message."""
        engine = self._engine
        with engine.lock:
            self._check()
            engine.session.accept_through(lot, index)
            engine.wake()

    def give_back(self, lot: Any, index: int) -> None:
        """Return one message."""
        engine = self._engine
        with engine.lock:
            self._check()
            engine.session.give_back(lot, index, index)
            engine.wake()

    def release(self) -> None:
        """End without waiting: unsettled messages go to others."""
        engine = self._engine
        with engine.lock:
            engine.run_deferred()
            if not self._closed:
                self._closed = True
                engine.session.detach(self._reader)
                engine.wake_reader(self._reader)
                engine.wake()

    def conclude(self, message: Message) -> None:
        """A loop is through with a message: acknowledge it, or give it back if its transaction failed."""
        lot, index = message._lot, message._index
        if lot.rolled_back is not None and lot.was_rolled_back(index):
            self.give_back(lot, index)
        else:
            self.settle(lot, index)

    def conclude_later(self, message: Message, *, done: bool) -> None:
        """The same with the next turn, for finalizers; or give it back, if the loop was not done with it."""
        session, lot, index = self._engine.session, message._lot, message._index

        def act() -> None:
            (session.accept if done and not lot.was_rolled_back(index) else session.give_back)(lot, index, index)

        self._engine.defer(act)

    def release_later(self) -> None:
        """End with the next turn; for finalizers."""
        if not self._closed:
            self._closed = True
            self._engine.detach_later(self._reader)

    def __del__(self) -> None:
        if not self._closed and self._reader.error is None:
            self.release_later()
            self._engine.warn_unclosed(f"the consumer of {self.mailbox!r}", self._began)

    async def aclose(self) -> None:
        """End; returns when what was acknowledged is confirmed. Unsettled messages go to others."""
        self.release()
        engine, reader = self._engine, self._reader
        await engine.until(lambda: reader not in engine.session.consumers(), CLOSE_SECONDS_MAX)

    async def __aenter__(self) -> MailboxConsumer:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __iter__(self) -> NoReturn:  # async only
        raise TypeError("messages of an async bus are awaited: write `async for`, or use causeway.sync")

    def __aiter__(self) -> AsyncIterator[Message]:
        return MessageLoop(MessageFeed(self, owns=False))

    def _check(self) -> None:
        self._engine.check()
        if self._closed:
            raise LocalProtocolError(
                f"the consumer of {self.mailbox!r} is closed; what it did not acknowledge is delivered again"
            )
