# Generated from client/_async/sending.py by tools/unasync.py: edit that file, then run `make generate`.
"""Sending to mailboxes and publishing on topics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from causeway.client._sync.base import BusBase, wait_of
from causeway.client._sync.receipt import Receipt
from causeway.client.arguments import check_order, check_wait, duration_of, service_of
from causeway.client.batches import Lane
from causeway.errors import Code, ConfigError, DeadlineExceeded, Refused
from causeway.names import check_mailbox
from causeway.wire.headers import Headers

ROOM_MIN = 1024
"""What `ready` makes sure there is room for (or a quarter of the window, if that is less)."""


class BusSending(BusBase):
    """The part of a bus that sends."""

    def send(
        self,
        dest: str,
        body: bytes | str,
        *,
        service: str = "recoverable",
        reliable: bool = True,
        priority: int = 4,
        ttl: float | None = None,
        delay: float | None = None,
        headers: Headers | None = None,
        confirm: bool = False,
        order: str | None = None,
        timeout: float | None = None,
        wait: bool = True,
    ) -> Receipt:
        """Send and wait for the acknowledgement (docs/guarantees.md says what it means in each class).

        Args:
            service: express, recoverable or transactional.
            reliable: False asks for no acknowledgement (express and recoverable).
            priority: 0 to 9.
            ttl: seconds after which an undelivered message is dropped.
            delay: seconds before which nobody gets it.
            confirm: ask for a delivery confirmation, see `Receipt.confirmed`.
            order: `causal` for an order with all else that is sent so, see docs/causal.md. Not with priorities, `delay`
                or `confirm`.
            timeout: seconds until an unacknowledged send fails.
            wait: False waits only for room in the window of unacknowledged messages. The receipt tells the rest; if you
                leave it alone, `flush` or `close` raises the failure.

        Raises:
            Refused: brokers do not take it: it does not arrive.
            OutcomeUnknown: its time was over; it may have arrived, or arrive still.
            DeadlineExceeded: its time was over before it could be sent: it does not arrive.
            ConfigError: an argument is wrong; nothing was sent.
        """
        submit = partial(
            self.send_nowait,
            dest,
            body,
            service=service,
            reliable=reliable,
            priority=priority,
            ttl=ttl,
            delay=delay,
            headers=headers,
            confirm=confirm,
            order=order,
            timeout=timeout,
        )
        return self._submitted(submit, timeout, wait=wait)

    def send_nowait(
        self,
        dest: str,
        body: bytes | str,
        *,
        service: str = "recoverable",
        reliable: bool = True,
        priority: int = 4,
        ttl: float | None = None,
        delay: float | None = None,
        headers: Headers | None = None,
        confirm: bool = False,
        order: str | None = None,
        timeout: float | None = None,
    ) -> Receipt:
        """Send without waiting, not even for room: raises Refused (OVERLOADED) when the window is full.

        Call `ready` at least every thousand messages, or use `send` with `wait=False`, which waits for room by itself.
        Await the receipt, or leave it alone: then `flush` or `close` raises the failure.
        """
        key = (dest, service, reliable, priority, ttl, headers is None, confirm, timeout, delay, order)
        return self._submit(key, body, headers)

    def publish(
        self,
        topic: str,
        body: bytes | str,
        *,
        service: str = "recoverable",
        reliable: bool = True,
        priority: int = 4,
        ttl: float | None = None,
        delay: float | None = None,
        headers: Headers | None = None,
        retain: bool = False,
        confirm: bool = False,
        order: str | None = None,
        timeout: float | None = None,
        wait: bool = True,
    ) -> Receipt:
        """Publish on a topic and wait for the acknowledgement: every subscription of that moment will get it.

        Args and errors as of `send`, and
            retain: keep it as the topic's last message for later subscribers; an empty body ends that.
            confirm: ask to hear when it is in the store of every subscription.
            order: `causal` for this order in subscriptions and consumers that ask for it; all others, and histories,
                get the message without it.
        """
        submit = partial(
            self.publish_nowait,
            topic,
            body,
            service=service,
            reliable=reliable,
            priority=priority,
            ttl=ttl,
            delay=delay,
            headers=headers,
            retain=retain,
            confirm=confirm,
            order=order,
            timeout=timeout,
        )
        return self._submitted(submit, timeout, wait=wait)

    def publish_nowait(
        self,
        topic: str,
        body: bytes | str,
        *,
        service: str = "recoverable",
        reliable: bool = True,
        priority: int = 4,
        ttl: float | None = None,
        delay: float | None = None,
        headers: Headers | None = None,
        retain: bool = False,
        confirm: bool = False,
        order: str | None = None,
        timeout: float | None = None,
    ) -> Receipt:
        """As `publish` without waiting; otherwise as `send_nowait`. What follows each other on one topic shares
        batches: publish many messages on one topic before you turn to the next."""
        # One field more than the key of a send has: the two never meet.
        key = (topic, service, reliable, priority, ttl, headers is None, confirm, timeout, delay, order, retain)
        return self._submit(key, body, headers)

    def ready(self, timeout: float | None = None) -> None:
        """Until there is room for a thousand messages; lets what was sent leave. Raises DeadlineExceeded."""
        check_wait(timeout)
        engine = self._engine
        engine.breathe()
        session = engine.session
        window = session.config.window_messages
        wanted = min(ROOM_MIN, max(1, window // 4))

        def is_roomy() -> bool:
            # Messages of this moment may not be counted yet; they take their room all the same.
            return session.room() >= wanted and window - session.unresolved >= wanted

        with engine.lock:
            if is_roomy():
                return
        if not engine.until(is_roomy, timeout):
            raise DeadlineExceeded(f"the send window is full since {timeout:g} s; {session.trouble}")
        engine.check()

    def flush(self, timeout: float | None = None) -> None:
        """Until everything sent is acknowledged or has failed, and with kept state what you acknowledged is on disk.
        Raises the first failure nobody waited for."""
        engine = self._engine
        session = engine.session
        mark = session.mark()
        if not engine.until(lambda: session.unresolved == 0 and session.keeps(mark), timeout):
            raise DeadlineExceeded(f"{session.unresolved} messages are not acknowledged after {timeout:g} s")
        engine.check()
        error = engine.take_failure()
        if error is not None:
            raise error

    def _submitted(self, submit: Callable[[], Receipt], timeout: float | None, *, wait: bool) -> Receipt:
        """Submit as soon as there is room, and wait for the acknowledgement if somebody wants it."""
        wait_of(timeout)
        while True:
            try:
                receipt = submit()
                break
            except Refused as refusal:
                if refusal.code != Code.OVERLOADED:
                    raise
            self.ready(timeout)
        if wait:
            receipt.wait()
        elif receipt.index % ROOM_MIN == ROOM_MIN - 1:
            self._engine.breathe()  # a loop that only sends must let its messages leave
        return receipt

    def _submit(self, key: tuple[Any, ...], body: bytes | str, headers: Headers | None) -> Receipt:
        """Send where and how the key says."""
        try:
            receipt = self._engine.submit(key, body, headers)
        except TypeError:  # something that no key holds, such as a list: `_lane` says what is wrong with it
            receipt = None
        if receipt is None:
            return self._submit_first(key, body, headers)
        return receipt  # type: ignore[return-value]

    def _submit_first(self, key: tuple[Any, ...], body: bytes | str, headers: Headers | None) -> Receipt:
        """Check where and how, then send; later messages of the same kind go the short way."""
        engine = self._engine
        with engine.lock:
            engine.check()
            receipt = engine.append(self._lane(key), body, headers)
            engine.wake()
        return receipt  # type: ignore[return-value]

    def _lane(self, key: tuple[Any, ...]) -> Lane:
        where, service, reliable, priority, ttl, bare, confirm, timeout, delay, order, *retain = key
        published = bool(retain)
        session = self._engine.session
        make = partial(
            session.lane,
            self._topic(where) if published else check_mailbox("dest", where),
            service_of(service),
            reliable=bool(reliable),
            confirm=bool(confirm),
            headers=not bare,
            priority=priority,
            ttl=0 if ttl is None else duration_of("ttl", ttl),
            delay=0 if delay is None else duration_of("delay", delay),
            timeout=wait_of(timeout),
            published=published,
            retain=published and bool(retain[0]),
        )
        causal = check_order(order)
        lane = make(causal=causal)
        if causal and published:
            lane.echo = make()
        session.lanes[key] = lane
        return lane

    def _topic(self, text: object) -> str:
        if not isinstance(text, str):
            raise ConfigError("topic", text, "must be str")
        return self._naming.path(text)
