# Generated from client/_async/consumer.py by tools/unasync.py: edit that file, then run `make generate`.
"""Receiving: messages, consumers, and the loop `for message in bus.receive()`."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any

from causeway.client.leaving import left_willingly, looping_frame, origin
from causeway.client.message import CORRELATION, REPLY_TO, Delivery, joined
from causeway.client.reader import MailReader
from causeway.client.threaded import ThreadEngine
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

    def reply(self, body: bytes | str, *, headers: Headers | None = None) -> None:
        """Answer a request, in the class and order it was sent with; returns when the answer is acknowledged."""
        own = self.all_headers()
        target, correlation = own.get(REPLY_TO), own.get(CORRELATION)
        bus = getattr(self._handler, "bus", None)
        if not isinstance(target, str) or bus is None:
            raise LocalProtocolError(f"message {self.id} is not a request: nobody waits for an answer")
        service = "express" if self.stream == ServiceClass.EXPRESS else "recoverable"
        own_headers = joined(headers, {CORRELATION: correlation})
        bus.send_answer(target, body, own_headers, service=service, order=self.order)

    def _consumer(self) -> MailboxConsumer | None:
        """Who settles it; None for answers to requests, which are settled when they arrive."""
        handler = self._handler
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
            how = " when it was handed out (auto_ack=True)" if getattr(self._handler, "_auto_ack", False) else ""
            raise LocalProtocolError(f"message {self.id} was already {before}{how}; settle each message once")


def served(engine: ThreadEngine, reader: MailReader, timeout: float | None) -> None:
    """Until a broker serves this reader. Raises DeadlineExceeded, or Refused when none will."""
    if not engine.until(lambda: reader.begun or reader.error is not None, timeout):
        why = reader.trouble or engine.session.trouble
        raise DeadlineExceeded(f"no broker serves {reader.mailbox!r} within {timeout:g} s ({why})")
    if reader.error is not None:
        raise reader.error
    engine.check()


class MailboxConsumer:
    """One consumer of a mailbox; several compete. It attaches at once, and again wherever the mailbox goes.

    It lives as long as somebody holds it or one of its messages; then it is closed, if nobody did so before.
    """

    def __init__(self, bus: Any, engine: ThreadEngine, reader: MailReader, *, auto_ack: bool) -> None:
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

    def get(self, timeout: float | None = None) -> Message:
        """The next message. Raises DeadlineExceeded after `timeout` seconds without one."""
        found = self._engine.wait_for(lambda: self._take(1), self._reader, seconds=timeout)
        if not found:
            raise DeadlineExceeded(f"no message in {self.mailbox!r} within {timeout:g} s")
        return found[0]

    def get_batch(self, limit: int = 1000, timeout: float | None = None) -> list[Message]:
        """At least one and at most `limit` messages, oldest first; none after `timeout` seconds without any."""
        return self._engine.wait_for(lambda: self._take(limit), self._reader, seconds=timeout) or []

    def _take(self, limit: int) -> list[Message]:
        if self._closed:
            self._check()
        session = self._engine.session
        if not self._reader.queue:
            if self._reader.error is not None:
                raise self._reader.error
            session.want(self._reader)
            if session.urgent:
                self._engine.wake()
            return []
        found = session.take(self._reader, limit, Message, self, accept=self._auto_ack)
        if session.urgent:
            self._engine.wake()
        return found

    def attached(self, timeout: float | None = None) -> None:
        """Until a broker serves this consumer. Raises DeadlineExceeded, or Refused when none will."""
        served(self._engine, self._reader, timeout)

    def ready(self, timeout: float | None = None) -> None:
        """As `attached`, with the time limit of the bus if none is given."""
        self.attached(self._engine.session.config.timeout / SECOND if timeout is None else timeout)

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

    def close(self) -> None:
        """End; returns when what was acknowledged is confirmed. Unsettled messages go to others."""
        self.release()
        engine, reader = self._engine, self._reader
        engine.until(lambda: reader not in engine.session.consumers(), CLOSE_SECONDS_MAX)

    def __enter__(self) -> MailboxConsumer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Message]:
        return MessageLoop(MessageFeed(self, owns=False))

    def _check(self) -> None:
        self._engine.check()
        if self._closed:
            raise LocalProtocolError(
                f"the consumer of {self.mailbox!r} is closed; what it did not acknowledge is delivered again"
            )


class MessageFeed:
    """A mailbox to loop over. With `auto_ack` a message is acknowledged when the loop asks for the next one or is left
    by `break` or `return`, and given back when the loop is left by an exception or otherwise; unless its body has
    acknowledged it, given it back, or put it in a transaction itself."""

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

    def __iter__(self) -> Iterator[Message]:
        return MessageLoop(self)

    def __next__(self) -> Message:
        last = self._last
        if last is not None:
            self._last = None
            self._consumer.conclude(last)
        message = next(self._ready, None) or self._refill()
        if self._auto_ack:
            self._last = message
        return message

    def _refill(self) -> Message:
        found = [] if self.over else self._consumer.get_batch(CREDIT_MAX, self._timeout)
        if not found:
            self.close()
            raise StopIteration
        self._ready = iter(found)
        return next(self._ready)

    def ready(self, timeout: float | None = None) -> None:
        """Until a broker serves the loop: of a subscription, until what is published arrives. Raises as `attached`."""
        self._consumer.ready(timeout)

    def close(self) -> None:
        """End the loop from outside; the message it was at counts as done."""
        last = self._stop()
        if last is not None:
            self._consumer.conclude(last)
        self._consumer.close()

    def leave(self, *, done: bool) -> None:
        """The loop was left with the last message done, or not; maybe in a finalizer."""
        last, self._last = self._last, None
        if last is not None:
            self._consumer.conclude_later(last, done=done)

    def abandon(self) -> None:
        """End, and give back the message that a loop is at; maybe in a finalizer."""
        self.leave(done=False)
        self._stop()
        self._consumer.release_later()

    def _stop(self) -> Message | None:
        """No further message; the one the loop was at."""
        last, self._last = self._last, None
        self._auto_ack = False
        self.over = True
        return last

    def __del__(self) -> None:
        if self._owns and not self.over:
            self.abandon()

    def __enter__(self) -> MessageFeed:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.leave(done=False)
        self.close()


class MessageLoop:
    """One loop over a feed. Only the loop itself holds it, so it knows when and how the loop is left."""

    __slots__ = ("_feed", "_looping")

    def __init__(self, feed: MessageFeed) -> None:
        self._feed = feed
        self._looping = looping_frame()

    def __iter__(self) -> Iterator[Message]:
        return self

    def __next__(self) -> Any:
        return self._feed.__next__()

    def __del__(self) -> None:
        self._feed.leave(done=left_willingly(self._looping))
