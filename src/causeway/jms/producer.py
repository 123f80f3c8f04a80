"""JMS producers. Owns: what a producer says of every message it sends (mode, priority, life, delay)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, overload

import msgspec

from causeway.jms.destinations import Destination
from causeway.jms.errors import IllegalStateException, InvalidDestinationException, JMSException, MessageFormatException
from causeway.jms.message import DeliveryMode, Message

if TYPE_CHECKING:
    from causeway.jms.session import AnySession


class SendOptions(msgspec.Struct, frozen=True):
    """How one message is sent. Times are in milliseconds, as in JMS."""

    delivery_mode: int
    priority: int
    time_to_live: int
    """0 for ever."""
    delivery_delay: int

    def check(self) -> SendOptions:
        """Return self, or raise a JMSException that names the first wrong field."""
        if self.delivery_mode not in (DeliveryMode.PERSISTENT, DeliveryMode.NON_PERSISTENT):
            raise JMSException(f"delivery_mode={self.delivery_mode!r}: give DeliveryMode.PERSISTENT or NON_PERSISTENT")
        if type(self.priority) is not int or not 0 <= self.priority <= 9:
            raise JMSException(f"priority={self.priority!r}: must be a whole number from 0 (lowest) to 9 (highest)")
        for name, value in (("time_to_live", self.time_to_live), ("delivery_delay", self.delivery_delay)):
            if type(value) is not int or value < 0:
                raise JMSException(f"{name}={value!r}: must be a whole number of milliseconds, 0 for none")
        return self

    @property
    def service(self) -> str:
        """The service class that the mode means."""
        return "express" if self.delivery_mode == DeliveryMode.NON_PERSISTENT else "transactional"

    @property
    def ttl(self) -> float | None:
        """Seconds to live."""
        return self.time_to_live / 1000 or None

    @property
    def delay(self) -> float | None:
        """Seconds of delay."""
        return self.delivery_delay / 1000 or None


class MessageProducer:
    """Sends to one destination, or (made without one) to any."""

    def __init__(self, session: AnySession, destination: Destination | None) -> None:
        self._session = session
        self._destination = destination
        self._closed = False
        self._delivery_mode: int = Message.DEFAULT_DELIVERY_MODE
        self._priority: int = Message.DEFAULT_PRIORITY
        self._time_to_live: int = Message.DEFAULT_TIME_TO_LIVE
        self._delivery_delay: int = Message.DEFAULT_DELIVERY_DELAY
        self._disable_message_id = False
        self._disable_message_timestamp = False

    @overload
    def send(
        self, first: Message, second: int | None = ..., third: int | None = ..., fourth: int | None = ...
    ) -> None: ...
    @overload
    def send(
        self,
        first: Destination,
        second: Message,
        third: int | None = ...,
        fourth: int | None = ...,
        fifth: int | None = ...,
    ) -> None: ...
    def send(
        self,
        first: Message | Destination,
        second: Message | int | None = None,
        third: int | None = None,
        fourth: int | None = None,
        fifth: int | None = None,
    ) -> None:
        """send([destination,] message [, delivery_mode, priority, time_to_live]), as in JMS.

        Returns when the message is acknowledged with the meaning of its class; in a transacted session at once. Sets
        the message's JMSDestination, JMSDeliveryMode, JMSExpiration, JMSPriority, JMSTimestamp and (not in a transacted
        session, where it is known with the commit only) JMSMessageID.
        """
        if isinstance(first, Destination):
            self._send(self._target(first), second, (third, fourth, fifth))
        else:
            mode = second if second is None or isinstance(second, int) else -1
            self._send(self._target(None), first, (mode, third, fourth))

    def _target(self, said: Destination | None) -> Destination:
        if self._closed:
            raise IllegalStateException("the producer is closed")
        if said is None and self._destination is None:
            raise InvalidDestinationException("the producer was made without a destination: name one with each message")
        if said is not None and self._destination is not None:
            raise IllegalStateException(
                f"the producer sends to {self._destination} only; make one without a destination"
            )
        target = said if said is not None else self._destination
        assert target is not None
        return target

    def _send(self, target: Destination, message: object, said: tuple[int | None, int | None, int | None]) -> None:
        if not isinstance(message, Message):
            raise MessageFormatException(f"message={message!r}: make one with session.create_text_message and its like")
        mode, priority, life = said
        options = SendOptions(
            self._delivery_mode if mode is None else mode,
            self._priority if priority is None else priority,
            self._time_to_live if life is None else life,
            self._delivery_delay,
        ).check()
        now = time.time_ns() // 1_000_000
        message.set_jms_destination(target)
        message.set_jms_delivery_mode(options.delivery_mode)
        message.set_jms_priority(options.priority)
        message.set_jms_timestamp(now)
        message.set_jms_delivery_time(now + options.delivery_delay)
        message.set_jms_expiration(now + options.time_to_live if options.time_to_live else 0)
        message.set_jms_message_id(self._session.dispatch(target, message, options))

    # What it says of every message -----------------------------------------------------------------------------
    def set_delivery_mode(self, value: int) -> None:
        """DeliveryMode of what does not say otherwise."""
        self._delivery_mode = value

    def get_delivery_mode(self) -> int:
        return self._delivery_mode

    def set_priority(self, value: int) -> None:
        """0 to 9."""
        self._priority = value

    def get_priority(self) -> int:
        return self._priority

    def set_time_to_live(self, value: int) -> None:
        """Milliseconds until an undelivered message ends; 0 for never."""
        self._time_to_live = value

    def get_time_to_live(self) -> int:
        return self._time_to_live

    def set_delivery_delay(self, value: int) -> None:
        """Milliseconds before which nobody gets a message."""
        self._delivery_delay = value

    def get_delivery_delay(self) -> int:
        return self._delivery_delay

    def set_disable_message_id(self, value: bool) -> None:
        """A hint that is not followed: ids cost nothing here."""
        self._disable_message_id = value

    def get_disable_message_id(self) -> bool:
        return self._disable_message_id

    def set_disable_message_timestamp(self, value: bool) -> None:
        """A hint that is not followed: brokers note the time anyway."""
        self._disable_message_timestamp = value

    def get_disable_message_timestamp(self) -> bool:
        return self._disable_message_timestamp

    def get_destination(self) -> Destination | None:
        """Where it sends; None: each message says so."""
        return self._destination

    def close(self) -> None:
        """Send nothing more; idempotent."""
        self._closed = True

    def __enter__(self) -> MessageProducer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # As JMS spells it.
    setDeliveryMode = set_delivery_mode
    getDeliveryMode = get_delivery_mode
    setPriority = set_priority
    getPriority = get_priority
    setTimeToLive = set_time_to_live
    getTimeToLive = get_time_to_live
    setDeliveryDelay = set_delivery_delay
    getDeliveryDelay = get_delivery_delay
    setDisableMessageID = set_disable_message_id
    getDisableMessageID = get_disable_message_id
    setDisableMessageTimestamp = set_disable_message_timestamp
    getDisableMessageTimestamp = get_disable_message_timestamp
    getDestination = get_destination
