"""JMS consumers: receive, and message listeners with a thread for each.

Owns: one consumer of the client, and the message that was fetched while the connection is stopped. What becomes of a
message afterwards is the session's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from causeway import sync
from causeway.errors import CausewayError, LocalProtocolError
from causeway.jms.destinations import Destination
from causeway.jms.errors import IllegalStateException, jms_error, translated
from causeway.jms.message import Message

if TYPE_CHECKING:
    from causeway.jms.session import AnySession

ATTACH_SECONDS_MAX = 30.0
"""How long a broker may take to serve a new consumer."""


class MessageListener(Protocol):
    """What gets messages as they come: an object with this method, or a function."""

    def on_message(self, message: Message) -> None:
        """One message."""


Listener = MessageListener | Callable[[Message], None]


class MessageConsumer:
    """Reads one destination. Times are in milliseconds, as in JMS."""

    def __init__(
        self,
        session: AnySession,
        destination: Destination,
        attach: Callable[[], sync.MailboxConsumer],
        *,
        selector: str | None = None,
        no_local: bool = False,
        lasting: bool = True,
        subscription: str | None = None,
    ) -> None:
        self._session = session
        self._destination = destination
        self._attach = attach
        self._selector = selector
        self._no_local = no_local
        self._lasting = lasting
        """Whether what it reads outlasts it, so that it can be left and entered again."""
        self.subscription = subscription
        """The name of a durable subscription."""
        self._closed = False
        self._held: sync.Message | None = None
        """Fetched, and not handed out because the connection was stopped."""
        self._listener: Listener | None = None
        self._thread: threading.Thread | None = None
        self._native = self._attached()

    # Receiving -------------------------------------------------------------------------------------------------
    def receive(self, timeout: int = 0) -> Message | None:
        """The next message within so many milliseconds (0: however long it takes); None if there is none, or the
        consumer was closed meanwhile."""
        return self._receive(timeout / 1000 if timeout else None)

    def receive_no_wait(self) -> Message | None:
        """The next message if one is here already."""
        return self._receive(0.0)

    def receive_body(self, timeout: int = 0) -> object:
        """The body of the next message, as `receive`; None if there is none. For messages that have one."""
        message = self.receive(timeout)
        return None if message is None else message.get_body()

    def receive_body_no_wait(self) -> object:
        """The body of the next message if one is here already."""
        message = self.receive_no_wait()
        return None if message is None else message.get_body()

    def _receive(self, seconds: float | None) -> Message | None:
        self._check_open()
        self._session.check_receive(self)
        native = self._fetch(seconds)
        return None if native is None else self._session.hand_out(self, native)

    def _fetch(self, seconds: float | None) -> sync.Message | None:
        """The next message once the connection is started; None if there is none in time or we are closed."""
        end = None if seconds is None else time.monotonic() + seconds
        while not self._closed:
            if self._held is None:
                found = self._fetch_any(self._native, _left(end))
                if found is None:
                    continue  # the session gave everything back: look at the new consumer
                if not found:
                    return None
                self._held = found[0]
            if not self._session.gate.wait(_left(end), lambda: not self._closed):
                return None
            native, self._held = self._held, None
            if native is not None:
                return native
        return None

    def _fetch_any(self, source: sync.MailboxConsumer, seconds: float | None) -> list[sync.Message] | None:
        """At most one message; None if the source was replaced meanwhile."""
        try:
            return source.get_batch(1, seconds)
        except LocalProtocolError as error:
            if self._closed:
                return []
            if source is self._native:
                raise jms_error(error) from error
            return None
        except CausewayError as error:
            raise jms_error(error) from error

    # Listening -------------------------------------------------------------------------------------------------
    def set_message_listener(self, listener: Listener | None) -> None:
        """Call it with every message, in a thread of its own, while the connection is started; None ends that."""
        self._check_open()
        with self._session.calling:
            self._listener = listener
            if listener is not None and self._thread is None:
                self._thread = threading.Thread(target=self._listen, name=f"jms-{self._destination}", daemon=True)
                self._thread.start()

    def get_message_listener(self) -> Listener | None:
        """Who is called."""
        return self._listener

    def _listen(self) -> None:
        try:
            while self._goes_on():
                source = self._native
                native = self._fetch(None)
                if native is not None:
                    self._tell(source, native)
        except CausewayError as error:
            self._thread = None
            self._session.failed(error)

    def _goes_on(self) -> bool:
        with self._session.calling:
            if self._listener is None or self._closed:
                self._thread = None
            return self._thread is not None

    def _tell(self, source: sync.MailboxConsumer, native: sync.Message) -> None:
        """Call the listener, or keep the message if the connection was stopped before we could."""
        with self._session.calling:
            if self._closed or source is not self._native:
                return  # given back meanwhile: it comes again
            if not self._session.gate.is_open or self._listener is None:
                self._held = native
            else:
                self._session.tell(self, native, _call_of(self._listener))

    # Life ------------------------------------------------------------------------------------------------------
    def begin_again(self) -> None:
        """Whatever was fetched and not handed out goes back to its place: what was given back comes before it."""
        if self._closed or not self._lasting:
            return
        old, self._held = self._native, None
        with translated():
            old.close()
            self._native = self._attach()

    def close(self) -> None:
        """End, after the listener's current call; idempotent. What was received and not acknowledged stays with the
        session until it commits, rolls back or recovers."""
        if self._closed:
            return
        self._closed = True
        self._session.gate.interrupt()
        with self._session.calling:
            self._session.forget(self)

    def end(self) -> None:
        """Leave the destination: the session holds nothing of it any more."""
        self._closed = True
        self._session.gate.interrupt()
        with translated():
            self._native.close()

    def __enter__(self) -> MessageConsumer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """Whether it takes no more messages."""
        return self._closed

    @property
    def destination(self) -> Destination:
        """What it reads."""
        return self._destination

    def get_message_selector(self) -> str | None:
        """The selector it was made with."""
        return self._selector

    def get_no_local(self) -> bool:
        """Whether it leaves out what its own connection published."""
        return self._no_local

    def _attached(self) -> sync.MailboxConsumer:
        with translated():
            native = self._attach()
            try:
                native.attached(ATTACH_SECONDS_MAX)
            except BaseException:
                native.release()
                raise
        return native

    def _check_open(self) -> None:
        if self._closed:
            raise IllegalStateException(f"the consumer of {self._destination} is closed")

    # As JMS spells it.
    receiveNoWait = receive_no_wait
    receiveBody = receive_body
    receiveBodyNoWait = receive_body_no_wait
    setMessageListener = set_message_listener
    getMessageListener = get_message_listener
    getMessageSelector = get_message_selector
    getNoLocal = get_no_local


def _call_of(listener: Listener) -> Callable[[Message], None]:
    return listener if callable(listener) else listener.on_message


def _left(end: float | None) -> float | None:
    return None if end is None else max(0.0, end - time.monotonic())
