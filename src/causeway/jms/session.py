"""JMS sessions: what was received and is not acknowledged, and the transaction under way.

Owns: the acknowledgement modes. A session is for one thread at a time, as in JMS: its listeners are called one after
the other, and beside them nobody may use it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from causeway import sync
from causeway.errors import CausewayError, DeadlineExceeded, LocalProtocolError
from causeway.jms import mapping
from causeway.jms.consumer import MessageConsumer
from causeway.jms.creation import Creation
from causeway.jms.destinations import Destination, Topic
from causeway.jms.errors import (
    IllegalStateException,
    JMSException,
    ResourceAllocationException,
    TransactionRolledBackException,
    do_all,
    jms_error,
    translated,
)
from causeway.jms.message import Message
from causeway.jms.producer import MessageProducer, SendOptions

if TYPE_CHECKING:
    from causeway.jms.connection import Connection


class AnySession(Creation):
    """What sessions and contexts share: when what was received counts as done, and the transaction under way."""

    SESSION_TRANSACTED: ClassVar = 0
    """Sends and acknowledgements happen with `commit`, together or not at all."""
    AUTO_ACKNOWLEDGE: ClassVar = 1
    """Done when `receive` returns it, or the listener has returned without an exception."""
    CLIENT_ACKNOWLEDGE: ClassVar = 2
    """Done when `message.acknowledge` is called, with all that the session received before."""
    DUPS_OK_ACKNOWLEDGE: ClassVar = 3
    """As AUTO_ACKNOWLEDGE: acknowledgements travel together anyway."""

    MODES: ClassVar = (SESSION_TRANSACTED, AUTO_ACKNOWLEDGE, CLIENT_ACKNOWLEDGE, DUPS_OK_ACKNOWLEDGE)

    def __init__(self, connection: Connection, mode: int) -> None:
        if mode not in self.MODES:
            known = "SESSION_TRANSACTED, AUTO_ACKNOWLEDGE, CLIENT_ACKNOWLEDGE or DUPS_OK_ACKNOWLEDGE"
            raise JMSException(f"session_mode={mode!r}: give {known}")
        super().__init__(connection)
        self._mode = mode
        self.keeps = mode in (self.SESSION_TRANSACTED, self.CLIENT_ACKNOWLEDGE)
        """Whether the application says when it is done with what it received."""
        self._consumers: list[MessageConsumer] = []
        self._unsettled: list[tuple[MessageConsumer, sync.Message]] = []
        self._transaction: sync.Transaction | None = None
        self._teller: int | None = None
        """The thread that is in a listener."""
        self.gate = connection.gate
        self.calling = threading.RLock()
        """Held while a listener runs, and by whatever must not happen meanwhile."""

    # Modes -----------------------------------------------------------------------------------------------------
    def get_transacted(self) -> bool:
        """Whether it commits."""
        return self._mode == self.SESSION_TRANSACTED

    def get_acknowledge_mode(self) -> int:
        """Its mode."""
        return self._mode

    def commit(self) -> None:
        """All that was sent and received since the last commit happens, together.

        Raises:
            TransactionRolledBackException: it did not happen; what was received comes again.
            JMSException: nobody answered in time; the outcome is unknown. Close the session, and look.
            IllegalStateException: the session is closed or not transacted.
        """
        self._check_transacted()
        with self.calling:
            transaction = self._begun()
            kept, self._unsettled, self._transaction = self._unsettled, [], None
            try:
                for _, native in kept:
                    transaction.ack(native)
                transaction.commit()
            except DeadlineExceeded as error:
                self._begin_again(kept)
                raise jms_error(error) from error
            except LocalProtocolError as error:
                with suppress(LocalProtocolError):  # if the bus is closed, everything has gone back anyway
                    transaction.rollback()
                    self._give_back(kept)
                raise jms_error(error) from error
            except CausewayError as error:
                self._give_back(kept)
                raise TransactionRolledBackException(str(error), jms_error(error).error_code) from error
            self._end_closed()

    def rollback(self) -> None:
        """Nothing that was sent since the last commit happens; what was received comes again, marked as redelivered."""
        self._check_transacted()
        with self.calling, translated():
            transaction, self._transaction = self._transaction, None
            if transaction is not None:
                transaction.rollback()
            kept, self._unsettled = self._unsettled, []
            self._give_back(kept)

    def recover(self) -> None:
        """What was received and not acknowledged comes again, marked as redelivered."""
        self._check_open()
        if self.get_transacted():
            raise IllegalStateException("a transacted session does not recover: roll it back")
        with self.calling, translated():
            kept, self._unsettled = self._unsettled, []
            self._give_back(kept)

    def _acknowledge(self) -> None:
        self._check_open()
        with self.calling, translated():
            kept, self._unsettled = self._unsettled, []
            for _, native in kept:
                native.ack()
            self._end_closed()

    def _give_back(self, kept: list[tuple[MessageConsumer, sync.Message]]) -> None:
        for _, native in kept:
            native.nack()
        self._begin_again(kept)

    def _begin_again(self, kept: list[tuple[MessageConsumer, sync.Message]]) -> None:
        for consumer in dict.fromkeys(consumer for consumer, _ in kept):
            consumer.begin_again()
        self._end_closed()

    # Of its consumers and producers ----------------------------------------------------------------------------
    def check_receive(self, consumer: MessageConsumer) -> None:
        """Whether a consumer may wait for a message: nobody listens, and there is room for one more."""
        if any(other.get_message_listener() is not None for other in self._consumers):
            raise IllegalStateException("the session has a message listener: receive in another session")
        if self._count_of(consumer) >= self._connection.prefetch:
            raise self._full()

    def _report_full(self, consumer: MessageConsumer) -> None:
        """A listener that gets no more messages for now hears why, once: with the message that is one too many."""
        if self._count_of(consumer) == self._connection.prefetch:
            self._connection.report(self._full())

    def _count_of(self, consumer: MessageConsumer) -> int:
        """How many unsettled messages are a consumer's; 0 where that cannot matter."""
        if len(self._unsettled) < self._connection.prefetch:
            return 0
        return sum(1 for owner, _ in self._unsettled if owner is consumer)

    def _full(self) -> ResourceAllocationException:
        how = "commit" if self.get_transacted() else "acknowledge"
        return ResourceAllocationException(
            f"{self._connection.prefetch} messages are received and not acknowledged: {how} them, or connect with a "
            "higher prefetch"
        )

    def hand_out(self, consumer: MessageConsumer, native: sync.Message) -> None:
        """The application gets a message: it is settled as the mode says."""
        if self.keeps:
            self._unsettled.append((consumer, native))
        else:
            with translated():
                native.ack()

    def tell(self, consumer: MessageConsumer, native: sync.Message, listener: Callable[[Message], None]) -> None:
        """Call a listener. If it raises, the message comes again unless the application says when it is done."""
        entry = (consumer, native)
        done = False
        self._teller = threading.get_ident()
        try:
            message = self.show(native)
            self._unsettled.append(entry)
            listener(message)
            done = True
        except BaseException as error:
            self._connection.report(error)
            if not isinstance(error, Exception):
                raise  # it ends the thread
        finally:
            self._teller = None
            # It may have recovered, hence given the message back, or closed the consumer, which ends now.
            if not self.keeps and entry in self._unsettled:
                self._unsettled.remove(entry)
                (native.ack if done else native.nack)()
            self._end_closed()
        if self.keeps and entry in self._unsettled:
            self._report_full(consumer)

    @property
    def is_telling(self) -> bool:
        """Whether this thread is in a listener of this session."""
        return self._teller == threading.get_ident()

    def show(self, native: sync.Message) -> Message:
        """A delivered message as the application sees it. One that cannot be shown goes back."""
        try:
            message = mapping.received(native, objects=self._connection.objects)
        except CausewayError as error:
            native.nack()
            raise jms_error(error) from error
        if self._mode == self.CLIENT_ACKNOWLEDGE:
            message.on_acknowledge(self._acknowledge)
        return message

    def dispatch(self, target: Destination, message: Message, options: SendOptions) -> str | None:
        """Send a message, or add it to the transaction; its id if that is known by now."""
        self._check_open()
        headers, body = mapping.headers_of(message), message.encoded_body()
        bus = self._connection.bus
        with translated():
            if self.get_transacted():
                transaction = self._begun()
                put = transaction.publish if isinstance(target, Topic) else transaction.send
                put(
                    target.name,
                    body,
                    priority=options.priority,
                    ttl=options.ttl,
                    delay=options.delay,
                    headers=headers,
                )
                return None
            send = bus.publish if isinstance(target, Topic) else bus.send
            receipt = send(
                target.name,
                body,
                service=options.service,
                priority=options.priority,
                ttl=options.ttl,
                delay=options.delay,
                headers=headers,
            )
            return f"ID:{receipt.id}"

    def failed(self, error: CausewayError) -> None:
        """A listener gets no more messages."""
        if not self._closed:
            self._connection.report(error)

    def reads(self, destination: Destination) -> bool:
        """Whether it has a consumer of a destination."""
        return any(consumer.destination == destination for consumer in self._consumers)

    def subscribes(self, name: str) -> bool:
        """Whether it has a consumer of a durable subscription."""
        return any(consumer.subscription == name for consumer in self._consumers)

    def adopt(self, consumer: MessageConsumer) -> None:
        """One more consumer to look after."""
        self._consumers.append(consumer)

    def forget(self, consumer: MessageConsumer) -> None:
        """A consumer was closed: it ends when nothing of it is unsettled."""
        if not any(owner is consumer for owner, _ in self._unsettled):
            self._drop(consumer)

    def _end_closed(self) -> None:
        for consumer in [one for one in self._consumers if one.closed]:
            self.forget(consumer)

    def _drop(self, consumer: MessageConsumer) -> None:
        if consumer in self._consumers:
            self._consumers.remove(consumer)
        consumer.end()

    # Life ------------------------------------------------------------------------------------------------------
    def close(self) -> None:
        """End, after a listener's current call; what was not acknowledged or committed goes back. Idempotent."""
        if self._closed:
            return
        if self.is_telling:
            raise IllegalStateException("a listener cannot close its own session")
        self._closed = True
        self.gate.interrupt()
        with self.calling:
            transaction, self._transaction = self._transaction, None
            self._unsettled = []
            do_all(
                *([] if transaction is None else [transaction.rollback]),
                *(partial(self._drop, consumer) for consumer in self._consumers),
                partial(self._connection.forget, self),
            )

    def _as_session(self) -> AnySession:
        return self

    def _begun(self) -> sync.Transaction:
        if self._transaction is None:
            self._transaction = self._connection.bus.transaction()
        return self._transaction

    def _check_transacted(self) -> None:
        self._check_open()
        if not self.get_transacted():
            raise IllegalStateException("the session is not transacted: create it with SESSION_TRANSACTED")

    # As JMS spells it.
    getTransacted = get_transacted
    getAcknowledgeMode = get_acknowledge_mode


class Session(AnySession):
    """Makes producers, consumers and messages, and says when what was received counts as done."""

    def create_producer(self, destination: Destination | None) -> MessageProducer:
        """A producer for one destination, or (None) for any."""
        self._check_open()
        return MessageProducer(self, destination)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # As JMS spells it.
    createProducer = create_producer
