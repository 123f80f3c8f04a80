"""Receiving: messages, consumers, and the loop `async for message in bus.receive()`."""

# ruff: noqa: ASYNC109  the sync API is generated from this one and needs its own time limits

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any

from causeway.client.aio import LoopEngine
from causeway.client.message import CORRELATION, REPLY_TO, Delivery, joined
from causeway.client.reader import MailReader
from causeway.errors import DeadlineExceeded, LocalProtocolError
from causeway.limits import CREDIT_MAX
from causeway.types import SECOND, ServiceClass
from causeway.wire.headers import Headers

CLOSE_SECONDS_MAX = 5.0
"""How long `close` waits for the broker to confirm what was acknowledged."""


class Message(Delivery, gc=False, eq=False):
    """A received message."""

    def ack(self) -> None:
        """Done with it, for ever: it is not delivered again. With kept state, on disk before the broker is told.

        Raises LocalProtocolError if it was acknowledged, given back or put in a transaction before, if it was only
        browsed, and if its consumer is closed. Messages of a history and answers to requests ignore it.
        """
        consumer = self._consumer()
        if consumer is not None:
            consumer.settle(self._lot, self._index)

    def ack_all(self) -> None:
        """Done with it and with every earlier message of the same consumer. Raises as `ack`."""
        consumer = self._consumer()
        if consumer is not None:
            consumer.settle_through(self._lot, self._index)

    def nack(self) -> None:
        """Give it back: it is delivered again, to this or another consumer, and its `deliveries` counts it. Raises as
        `ack`."""
        consumer = self._consumer()
        if consumer is not None:
            consumer.give_back(self._lot, self._index)

    @property
    def wants_reply(self) -> bool:
        """Whether its sender waits for an answer."""
        return REPLY_TO in self.all_headers()

    async def reply(self, body: bytes | str, *, headers: Headers | None = None) -> None:
        """Answer a request, in the class and order it was sent with; returns when the answer is acknowledged."""
        own = self.all_headers()
        target, correlation = own.get(REPLY_TO), own.get(CORRELATION)
        bus = getattr(self._lot.handler, "bus", None)
        if not isinstance(target, str) or bus is None:
            raise LocalProtocolError(f"message {self.id} is not a request: nobody waits for an answer")
        service = "express" if self.stream == ServiceClass.EXPRESS else "recoverable"
        own_headers = joined(headers, {CORRELATION: correlation})
        await bus.send_answer(target, body, own_headers, service=service, order=self.order)

    def _consumer(self) -> MailboxConsumer | None:
        """Who settles it; None for answers to requests, which are settled when they arrive."""
        handler = self._lot.handler
        if handler is None and self._lot.seen is None:
            raise LocalProtocolError(f"message {self.id} was only browsed: receive it to acknowledge it")
        if not isinstance(handler, MailboxConsumer):
            return None
        lot = self._lot
        if (self._index < lot.low or lot.done is not None or lot.reserved is not None) and not lot.replayed:
            self.check_unsettled()
        return handler

    def check_unsettled(self) -> None:
        """Raise LocalProtocolError unless it is still to be acknowledged or given back."""
        before = self._lot.settlement(self._index)
        if before:
            how = " when it was handed out (auto_ack=True)" if getattr(self._lot.handler, "_auto_ack", False) else ""
            raise LocalProtocolError(f"message {self.id} was already {before}{how}; settle each message once")


class MailboxConsumer:
    """One consumer of a mailbox; several compete. It attaches at once, and again wherever the mailbox goes."""

    def __init__(self, bus: Any, engine: LoopEngine, reader: MailReader, *, auto_ack: bool) -> None:
        self.bus = bus
        self._engine = engine
        self._reader = reader
        self._auto_ack = auto_ack
        self._closed = False
        reader.handler = self

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
        return await self._engine.wait_for(lambda: self._take(limit), self._reader, seconds=timeout) or []

    def _take(self, limit: int) -> list[Message]:
        if self._closed:
            self._check()
        if not self._reader.queue:
            if self._reader.error is not None:
                raise self._reader.error
            return []
        session = self._engine.session
        found = session.take(self._reader, limit, Message, accept=self._auto_ack)
        if session.urgent:
            self._engine.wake()
        return found

    async def attached(self, timeout: float | None = None) -> None:
        """Until a broker serves this consumer. Raises DeadlineExceeded, or Refused when none will."""
        engine, reader = self._engine, self._reader
        if not await engine.until(lambda: reader.begun or reader.error is not None, timeout):
            why = reader.trouble or engine.session.trouble
            raise DeadlineExceeded(f"no broker serves {self.mailbox!r} within {timeout:g} s ({why})")
        if reader.error is not None:
            raise reader.error
        engine.check()

    async def ready(self, timeout: float | None = None) -> None:
        """As `attached`, with the time limit of the bus if none is given."""
        await self.attached(self._engine.session.config.timeout / SECOND if timeout is None else timeout)

    def settle(self, lot: Any, index: int) -> None:
        """Acknowledge one message."""
        if self._closed:
            self._check()
        self._engine.settle(lot, index, index)

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

    def finish_later(self, last: Message | None) -> None:
        """A loop was left with this message, maybe in a finalizer: conclude it and end, with the next turn."""
        self._engine.defer(lambda: self._finish(last))

    def _finish(self, last: Message | None) -> None:
        session = self._engine.session
        if last is not None and not self._closed:
            lot, index = last._lot, last._index
            if lot.was_rolled_back(index):
                session.give_back(lot, index, index)
            else:
                session.accept(lot, index, index)
        self._closed = True
        session.detach(self._reader)

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

    def __aiter__(self) -> AsyncIterator[Message]:
        return MessageFeed(self, owns=False)

    def _check(self) -> None:
        self._engine.check()
        if self._closed:
            raise LocalProtocolError(
                f"the consumer of {self.mailbox!r} is closed; what it did not acknowledge is delivered again"
            )


class MessageFeed:
    """A loop over a mailbox. With `auto_ack` a message is acknowledged when the loop asks for the next one or ends,
    unless the loop's body has acknowledged it, given it back, or put it in a transaction itself."""

    def __init__(
        self, consumer: MailboxConsumer, *, auto_ack: bool = False, timeout: float | None = None, owns: bool = True
    ) -> None:
        self._consumer = consumer
        self._auto_ack = auto_ack
        self._timeout = timeout
        self._owns = owns
        self._ready: Iterator[Message] = iter(())
        self._last: Message | None = None
        self.over = False

    def __aiter__(self) -> MessageFeed:
        return self

    async def __anext__(self) -> Message:
        last = self._last
        if last is not None:
            self._last = None
            self._consumer.conclude(last)
        message = next(self._ready, None) or await self._refill()
        if self._auto_ack:
            self._last = message
        return message

    async def _refill(self) -> Message:
        found = [] if self.over else await self._consumer.get_batch(CREDIT_MAX, self._timeout)
        if not found:
            await self.aclose()
            raise StopAsyncIteration
        self._ready = iter(found)
        return next(self._ready)

    async def ready(self, timeout: float | None = None) -> None:
        """Until a broker serves the loop: of a subscription, until what is published arrives. Raises as `attached`."""
        await self._consumer.ready(timeout)

    async def aclose(self) -> None:
        """End the loop from outside; the message it was at counts as done."""
        last = self._stop()
        if last is not None:
            self._consumer.conclude(last)
        await self._consumer.aclose()

    def finish(self) -> None:
        """Acknowledge the message the loop was left with, and end the consumer."""
        self._consumer.finish_later(self._stop())

    def _stop(self) -> Message | None:
        """No further message; the one the loop was at."""
        last, self._last = self._last, None
        self._auto_ack = False
        self.over = True
        return last

    def __del__(self) -> None:
        # A loop left by `break` or an exception drops its feed here; its last message must not hang in the air.
        if self._owns and not self.over:
            self._consumer.finish_later(self._last)

    async def __aenter__(self) -> MessageFeed:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
