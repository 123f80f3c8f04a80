"""JMS consumers: receive, and message listeners with a thread for each.

Owns: one consumer of the client at a time, and the messages that were fetched and not handed out. What becomes of a
message afterwards is the session's.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from causeway import sync
from causeway.errors import CausewayError, LocalProtocolError
from causeway.jms.destinations import Destination
from causeway.jms.errors import IllegalStateException, JMSException, jms_error, translated
from causeway.jms.message import Message

if TYPE_CHECKING:
    from causeway.jms.session import AnySession

ATTACH_SECONDS_MAX = 30.0
"""How long a broker may take to serve a new consumer."""
LOOK_SECONDS_MAX = 0.1
"""How long a reader waits for the client before it looks whether it is still wanted. A consumer that was closed with
unsettled messages, or has lost its listener, goes on below, so that nothing there would wake its reader."""


class MessageListener(Protocol):
    """What gets messages as they come: an object with this method, or a function."""

    def on_message(self, message: Message) -> None:
        """One message."""


Listener = MessageListener | Callable[[Message], None]


class Fetched(NamedTuple):
    """A message, and the consumer of the client it was read from: with that one it goes back."""

    source: sync.MailboxConsumer
    native: sync.Message


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
        self._changed = threading.Condition()
        """Guards `_closed`, `_native`, `_replacing` and `_held`; nobody waits for a broker in it."""
        self._replacing = False
        """Whether `_native` is being closed for the sake of another one."""
        self._held: deque[Fetched] = deque()
        """Fetched, and not handed out because the connection was stopped, the listener taken away, or the body not
        readable: at most one for each thread that reads, hence two."""
        self._listener: Listener | None = None
        self._thread: threading.Thread | None = None
        self._native = self._attached()

    # Receiving -------------------------------------------------------------------------------------------------
    def receive(self, timeout: int = 0) -> Message | None:
        """The next message within so many milliseconds (0: however long it takes); None if there is none, or the
        consumer was closed meanwhile."""
        return self._receive(_seconds(timeout))

    def receive_no_wait(self) -> Message | None:
        """The next message if one is here already."""
        return self._receive(0.0)

    def receive_body(self, timeout: int = 0) -> object:
        """The body of the next message, as `receive`; None if there is none. For messages that have one.

        Raises MessageFormatException when it cannot be read; without a transaction or CLIENT_ACKNOWLEDGE the message
        is still the next one then.
        """
        return self._receive_body(_seconds(timeout))

    def receive_body_no_wait(self) -> object:
        """The body of the next message if one is here already."""
        return self._receive_body(0.0)

    def _receive(self, seconds: float | None) -> Message | None:
        fetched = self._fetch_to_receive(seconds)
        if fetched is None:
            return None
        message = self._session.show(fetched.native)
        self._session.hand_out(self, fetched.native)
        return message

    def _receive_body(self, seconds: float | None) -> object:
        fetched = self._fetch_to_receive(seconds)
        if fetched is None:
            return None
        message = self._session.show(fetched.native)
        try:
            body = message.get_body()
        except BaseException:
            if self._session.keeps:
                self._session.hand_out(self, fetched.native)  # it comes again after a rollback or recover
            else:
                self._put_back(fetched)
            raise
        self._session.hand_out(self, fetched.native)
        return body

    def _fetch_to_receive(self, seconds: float | None) -> Fetched | None:
        self._check_open()
        self._session.check_receive(self)
        return self._fetch(seconds, lambda: not self._closed)

    def _fetch(self, seconds: float | None, wanted: Callable[[], bool]) -> Fetched | None:
        """The next message once the connection is started; None if there is none in time or nobody wants it."""
        end = None if seconds is None else time.monotonic() + seconds
        while wanted():
            if not self._held:
                last = _left(end)
                found = self._fetch_any(LOOK_SECONDS_MAX if last is None else min(last, LOOK_SECONDS_MAX))
                if found is None:
                    if end is not None and time.monotonic() >= end:
                        return None
                    continue
                with self._changed:
                    self._held.append(found)
            if not self._session.gate.wait(_left(end), wanted):
                return None
            fetched = self._take_held(wanted)
            if fetched is not None:
                return fetched
        return None

    def _put_back(self, fetched: Fetched) -> None:
        """It was taken, and is the next one all the same: what is held was fetched later."""
        with self._changed:
            self._held.appendleft(fetched)

    def _take_held(self, wanted: Callable[[], bool]) -> Fetched | None:
        with self._changed:
            while self._held and wanted():
                fetched = self._held.popleft()
                if fetched.source is self._native and not self._replacing:
                    return fetched
        return None

    def _fetch_any(self, seconds: float) -> Fetched | None:
        """At most one message of the consumer that is there now; None also if it is replaced meanwhile."""
        with self._changed:
            if not self._changed.wait_for(lambda: not self._replacing, seconds):
                return None
            source = self._native
        try:
            found = source.get_batch(1, seconds)
        except LocalProtocolError as error:
            with self._changed:
                if self._closed or self._replacing or source is not self._native:
                    return None
            raise jms_error(error) from error
        except CausewayError as error:
            raise jms_error(error) from error
        return Fetched(source, found[0]) if found else None

    # Listening -------------------------------------------------------------------------------------------------
    def set_message_listener(self, listener: Listener | None) -> None:
        """Call it with every message, in a thread of its own, while the connection is started; None ends that, after
        the listener's current call."""
        self._check_open()
        with self._session.calling:
            self._listener = listener
            thread = self._thread
            if listener is not None and thread is None:
                self._thread = threading.Thread(target=self._listen, name=f"jms-{self._destination}", daemon=True)
                self._thread.start()
        if listener is None and thread is not None and not self._session.is_telling:
            # A listener of the session cannot wait: the thread may wait for it to return.
            self._session.gate.interrupt()
            while thread.is_alive() and self._listener is None:
                thread.join(LOOK_SECONDS_MAX)

    def get_message_listener(self) -> Listener | None:
        """Who is called."""
        return self._listener

    def _listen(self) -> None:
        try:
            while self._goes_on():
                fetched = self._fetch(None, self._listens)
                if fetched is not None:
                    self._tell(fetched)
        except CausewayError as error:
            self._session.failed(error)
        except SystemExit:
            return  # of a listener, and reported: it ends this thread and nothing else
        finally:
            with self._session.calling:
                if self._thread is threading.current_thread():
                    self._thread = None

    def _listens(self) -> bool:
        return self._listener is not None and not self._closed

    def _goes_on(self) -> bool:
        with self._session.calling:
            if not self._listens():
                self._thread = None  # from here on another listener gets another thread
            return self._thread is not None

    def _tell(self, fetched: Fetched) -> None:
        """Call the listener, or keep the message if the connection was stopped before we could."""
        with self._session.calling:
            if self._closed or fetched.source is not self._native:
                return  # given back meanwhile: it comes again
            if not self._session.gate.is_open or self._listener is None:
                self._put_back(fetched)
            else:
                self._session.tell(self, fetched.native, _call_of(self._listener))

    # Life ------------------------------------------------------------------------------------------------------
    def begin_again(self) -> None:
        """Whatever was fetched and not handed out goes back to its place: what was given back comes before it."""
        if self._closed or not self._lasting:
            return
        with self._changed:
            self._replacing = True  # who reads is woken by the end of the old one, and waits for the new one
            self._held.clear()
            old = self._native
        new = old
        try:
            with translated():
                old.close()
                new = self._attach()
        finally:
            with self._changed:
                self._native, self._replacing = new, False
                self._changed.notify_all()

    def close(self) -> None:
        """End, after the listener's current call; idempotent. What was received and not acknowledged stays with the
        session until it commits, rolls back or recovers."""
        if self._closed:
            return
        self._stop_reading()
        with self._session.calling:
            self._session.forget(self)

    def end(self) -> None:
        """Leave the destination: the session holds nothing of it any more."""
        self._stop_reading()
        with translated():
            self._native.close()

    def _stop_reading(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._session.gate.interrupt()

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


def _seconds(timeout: object) -> float | None:
    """Milliseconds that an application wants to wait; None for 0, however long it takes."""
    if type(timeout) is not int or timeout < 0:
        raise JMSException(f"timeout={timeout!r}: must be a whole number of milliseconds, 0 for however long it takes")
    return timeout / 1000 if timeout else None


def _left(end: float | None) -> float | None:
    return None if end is None else max(0.0, end - time.monotonic())
