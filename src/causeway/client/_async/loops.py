"""The loop `async for message in bus.receive()`: when its messages are acknowledged, and when given back."""

# ruff: noqa: ASYNC109  the sync API is generated from this one and needs its own time limits

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from causeway.client.leaving import left_willingly, looping_frame
from causeway.limits import CREDIT_MAX

if TYPE_CHECKING:
    from causeway.client._async.consumer import MailboxConsumer, Message


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

    def __aiter__(self) -> AsyncIterator[Message]:
        return MessageLoop(self)

    def __iter__(self) -> NoReturn:  # async only
        raise TypeError("messages of an async bus are awaited: write `async for`, or use causeway.sync")

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

    async def __aenter__(self) -> MessageFeed:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.leave(done=False)
        await self.aclose()


class MessageLoop:
    """One loop over a feed. Only the loop itself holds it, so it knows when and how the loop is left."""

    __slots__ = ("_feed", "_looping")

    def __init__(self, feed: MessageFeed) -> None:
        self._feed = feed
        self._looping = looping_frame()

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    def __anext__(self) -> Any:
        return self._feed.__anext__()

    def __del__(self) -> None:
        self._feed.leave(done=left_willingly(self._looping))
