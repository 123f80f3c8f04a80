"""JMS connections: one bus each, the sessions made from it, and whether messages are handed out.

Owns: the client id (the application's name), the temporary destinations, the exception listener. The bus is opened by
the first call that needs it, so that the client id can be set before.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from causeway import sync
from causeway.errors import CausewayError, ConfigError
from causeway.jms.destinations import Destination, TemporaryQueue, TemporaryTopic
from causeway.jms.errors import (
    IllegalStateException,
    InvalidClientIDException,
    InvalidDestinationException,
    JMSException,
    do_all,
    jms_error,
    translated,
)
from causeway.jms.gate import Gate
from causeway.jms.properties import SETTABLE
from causeway.jms.session import AnySession, Session

if TYPE_CHECKING:
    from causeway.jms.factory import ConnectionFactory

ANONYMOUS: Final = "jms"
"""The name of applications without a client id; all of them share it."""

log = logging.getLogger(__name__)


class ExceptionListener(Protocol):
    """What hears of failures that no call can report: an object with this method, or a function."""

    def on_exception(self, error: JMSException) -> None:
        """One failure."""


FailureListener = ExceptionListener | Callable[[JMSException], None]


class ConnectionMetaData:
    """What the provider is."""

    def get_jms_version(self) -> str:
        """The specification that the names come from."""
        return "2.0"

    def get_jms_provider_name(self) -> str:
        """Who provides it."""
        return "Causeway"

    def get_jmsx_property_names(self) -> tuple[str, ...]:
        """The properties with reserved names that there are."""
        return (*SETTABLE, "JMSXDeliveryCount")

    # As JMS spells it.
    getJMSVersion = get_jms_version
    getJMSProviderName = get_jms_provider_name
    getJMSXPropertyNames = get_jmsx_property_names


class Connection:
    """One application's connection; stopped at first: `start` it to receive."""

    META_DATA: ClassVar = ConnectionMetaData()

    def __init__(self, factory: ConnectionFactory) -> None:
        self._factory = factory
        self._client_id = factory.client_id
        self._bus: sync.Bus | None = None
        self._closed = False
        self._sessions: list[AnySession] = []
        self._temporary: dict[Destination, None] = {}
        self._failure_listener: FailureListener | None = None
        self._guard = threading.Lock()
        self.gate = Gate()

    # Life ------------------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Hand out messages from now on."""
        self._opened()
        self.gate.open()

    def stop(self) -> None:
        """Hand out none for now; returns when no listener runs any more. Sending goes on."""
        self._check_open()
        self._check_outside()
        self.gate.shut()
        for session in list(self._sessions):
            with session.calling:
                pass

    def close(self) -> None:
        """End sessions, temporary destinations and the connection; idempotent."""
        if self._closed:
            return
        self._check_outside()
        self._closed = True
        self.gate.end()
        do_all(
            *(session.close for session in self._sessions),
            *([] if self._bus is None else [self._bus.close]),
        )

    def __enter__(self) -> Connection:
        self._opened()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def bus(self) -> sync.Bus:
        """The idiomatic client below, for what JMS has no name for."""
        return self._opened()

    def _opened(self) -> sync.Bus:
        self._check_open()
        with self._guard:
            if self._bus is None:
                self._bus = self._open()
            return self._bus

    def _open(self) -> sync.Bus:
        factory = self._factory
        name = self._client_id or ANONYMOUS
        with translated():
            try:
                return sync.connect(
                    factory.url,
                    name=name,
                    timeout=factory.timeout,
                    connect_timeout=factory.connect_timeout,
                    state=factory.state,
                ).open()
            except ConfigError as error:
                if error.field == "name":
                    raise InvalidClientIDException(str(error), "ConfigError") from error
                raise

    # Sessions --------------------------------------------------------------------------------------------------
    def create_session(
        self, session_mode: int = Session.AUTO_ACKNOWLEDGE, acknowledge_mode: int | None = None
    ) -> Session:
        """A session of a mode; also, as in JMS 1.1, create_session(transacted, acknowledge_mode)."""
        self._opened()
        mode = session_mode
        if isinstance(session_mode, bool):
            later = Session.AUTO_ACKNOWLEDGE if acknowledge_mode is None else acknowledge_mode
            mode = Session.SESSION_TRANSACTED if session_mode else later
        session = Session(self, mode)
        self.adopt(session)
        return session

    def adopt(self, session: AnySession) -> None:
        """One more session to end with the connection."""
        self._sessions.append(session)

    def forget(self, session: AnySession) -> None:
        """It was closed."""
        if session in self._sessions:
            self._sessions.remove(session)

    @property
    def in_use(self) -> bool:
        """Whether it has sessions."""
        return bool(self._sessions)

    # Who we are ------------------------------------------------------------------------------------------------
    def get_client_id(self) -> str | None:
        """The application's name; None if it was not given."""
        return self._client_id

    def set_client_id(self, client_id: str) -> None:
        """Give the application's name, before anything else is done with the connection."""
        self._check_open()
        if self._client_id is not None or self._bus is not None:
            raise IllegalStateException("the client id is fixed: set it once, before anything else")
        self._client_id = client_id

    def check_client_id(self) -> None:
        """Raise unless there is a client id, by which a durable subscription is found again."""
        if not self._client_id:
            raise IllegalStateException("a durable subscription needs a client id: set_client_id, or share it")

    def check_unsubscribed(self, name: str) -> None:
        """Raise if a durable subscription has a consumer here."""
        if any(session.subscribes(name) for session in self._sessions):
            raise IllegalStateException(f"the subscription {name!r} has a consumer: close it first")

    def get_meta_data(self) -> ConnectionMetaData:
        """What the provider is."""
        return self.META_DATA

    @property
    def objects(self) -> bool:
        """Whether object messages are on."""
        return self._factory.object_messages

    @property
    def prefetch(self) -> int:
        """How many messages a consumer holds."""
        return self._factory.prefetch

    # Failures --------------------------------------------------------------------------------------------------
    def set_exception_listener(self, listener: FailureListener | None) -> None:
        """Call it with every failure that no call can report: of a listener, or of a consumer with a listener."""
        self._failure_listener = listener

    def get_exception_listener(self) -> FailureListener | None:
        """Who is called."""
        return self._failure_listener

    def report(self, error: BaseException) -> None:
        """A failure that no call can report."""
        if isinstance(error, CausewayError):
            shown = jms_error(error)
        else:
            shown = JMSException(f"a message listener raised {error!r}")
        if shown is not error:
            shown.__cause__ = error
        listener = self._failure_listener
        if listener is None:
            log.error("%s", shown, exc_info=error)
            return
        try:
            (listener if callable(listener) else listener.on_exception)(shown)
        except Exception:  # whoever reports goes on: it delivers messages
            log.exception("the exception listener raised; it was to hear of: %s", shown)

    # Temporary destinations ------------------------------------------------------------------------------------
    def make_temporary_queue(self) -> TemporaryQueue:
        """A queue of this connection."""
        bus = self._opened()
        with translated():
            name = bus.temporary_mailbox(prefetch=self.prefetch)
        queue = TemporaryQueue(name, lambda: self._end_temporary(queue))
        self._temporary[queue] = None
        return queue

    def make_temporary_topic(self) -> TemporaryTopic:
        """A topic of this connection."""
        with translated():
            name = self._opened().temporary_topic()
        topic = TemporaryTopic(name, lambda: self._end_temporary(topic))
        self._temporary[topic] = None
        return topic

    def check_reader(self, destination: Destination) -> None:
        """Raise if it is a temporary destination of another connection, or has ended."""
        if isinstance(destination, TemporaryQueue | TemporaryTopic) and destination not in self._temporary:
            raise InvalidDestinationException(
                f"{destination!r} has ended, or is another connection's: only that reads it"
            )

    def _end_temporary(self, destination: Destination) -> None:
        if self._closed or destination not in self._temporary:
            return
        if any(session.reads(destination) for session in self._sessions):
            raise IllegalStateException(f"{destination!r} has consumers: close them first")
        del self._temporary[destination]
        if isinstance(destination, TemporaryQueue):
            with translated():
                self._opened().end_temporary(destination.name)

    def _check_outside(self) -> None:
        if any(session.is_telling for session in self._sessions):
            raise IllegalStateException("a listener cannot stop or close its own connection: it would wait for itself")

    def _check_open(self) -> None:
        if self._closed:
            raise IllegalStateException("the connection is closed; create another one")

    # As JMS spells it.
    createSession = create_session
    getClientID = get_client_id
    setClientID = set_client_id
    getMetaData = get_meta_data
    setExceptionListener = set_exception_listener
    getExceptionListener = get_exception_listener
