"""Transactions: sends and acknowledgements that happen together or not at all."""

from __future__ import annotations

import warnings
from functools import partial
from types import TracebackType

from msgspec.structs import replace

from causeway.client._async.consumer import Message
from causeway.client.aio import NOTED, LoopEngine, Noted
from causeway.client.arguments import check_no_order, check_priority, check_times, duration_of
from causeway.client.leaving import origin
from causeway.client.lots import Lot
from causeway.client.message import check_size, to_bytes, with_headers
from causeway.client.transactions import Parcel
from causeway.core.messages import Published
from causeway.errors import ConfigError, LocalProtocolError
from causeway.names import check_mailbox
from causeway.topics import Naming, item_of
from causeway.types import Duration, Flag
from causeway.wire.headers import Headers


class Transaction:
    """Gathers sends and acknowledgements; leaving its `async with` commits them, an exception rolls them back."""

    def __init__(self, engine: LoopEngine, timeout: Duration | None, naming: Naming) -> None:
        self._engine = engine
        self._timeout = timeout
        self._naming = naming
        self._parcels: list[Parcel] = []
        self._accepted: list[tuple[Lot, int]] = []
        self._over = False
        self._began = origin()

    def send(
        self,
        dest: str,
        body: bytes | str,
        *,
        priority: int = 4,
        ttl: float | None = None,
        delay: float | None = None,
        headers: Headers | None = None,
        order: None = None,
    ) -> Noted:
        """A message that leaves when the transaction commits."""
        self._check_open()
        check_no_order(order)
        parcel = _parcel(body, headers, priority, ttl=ttl, delay=delay)
        self._parcels.append(replace(parcel, dest=check_mailbox("dest", dest)))
        return NOTED

    def publish(
        self,
        topic: str,
        body: bytes | str,
        *,
        priority: int = 4,
        ttl: float | None = None,
        delay: float | None = None,
        headers: Headers | None = None,
        retain: bool = False,
        order: None = None,
    ) -> Noted:
        """A message that is published when the transaction commits."""
        self._check_open()
        check_no_order(order)
        parcel = _parcel(body, headers, priority, ttl=ttl, delay=delay)
        flags = parcel.flags | (int(Flag.RETAIN) if retain else 0)
        if not isinstance(topic, str):
            raise ConfigError("topic", topic, "must be str")
        path = self._naming.path(topic)
        self._parcels.append(replace(parcel, dest=item_of(path), flags=flags, published=Published(path)))
        return NOTED

    def ack(self, message: Message) -> Noted:
        """Acknowledge a message when the transaction commits; until then it stays in your hands.

        Raises LocalProtocolError if it was acknowledged, given back or put in a transaction before.
        """
        self._check_open()
        if not isinstance(message, Message):
            raise ConfigError("message", message, "must be a message that this bus has received")
        lot, index = message._lot, message._index
        if message.replayed:
            return NOTED
        with self._engine.lock:
            message.check_unsettled()
            lot.reserve(index)
            self._accepted.append((lot, index))
        return NOTED

    async def commit(self) -> None:
        """Make it happen; returns when it has.

        Raises:
            Refused: it did not happen, and will not.
            OutcomeUnknown: nobody answered in time; the session goes on asking.
        """
        self._check_open()
        self._over = True
        if not self._parcels and not self._accepted:
            return
        engine = self._engine
        with engine.lock:
            try:
                engine.check()
                commitment = engine.session.commit(self._parcels, self._accepted, self._timeout)
            except BaseException:
                _unreserve(self._accepted)
                raise
            engine.wake()
        await engine.wait_for(lambda: commitment.done, commitment)
        if commitment.error is not None:
            raise commitment.error

    def rollback(self) -> Noted:
        """Forget it: nothing is sent, and the messages are still yours to acknowledge or give back."""
        self._check_open()
        self._over = True
        with self._engine.lock:
            _unreserve(self._accepted)
        return NOTED

    def __del__(self) -> None:
        if not self._over and (self._parcels or self._accepted):
            self._engine.defer(partial(_unreserve, self._accepted))
            file, line = self._began
            text = f"the transaction, begun at {file}:{line}, was not committed, so nothing of it happened; "
            text += "use it in a `with`, or call `commit`"
            warnings.warn_explicit(text, RuntimeWarning, file, line)

    async def __aenter__(self) -> Transaction:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._over:
            return
        if kind is None:
            await self.commit()
        else:
            self.rollback()

    def _check_open(self) -> None:
        if self._over:
            raise LocalProtocolError("the transaction is over; begin another one")


def _unreserve(accepted: list[tuple[Lot, int]]) -> None:
    for lot, index in accepted:
        lot.conclude(index, committed=False)


def _parcel(
    body: bytes | str, headers: Headers | None, priority: int, *, ttl: float | None, delay: float | None
) -> Parcel:
    """A message for a destination yet to be named, checked."""
    check_priority(priority)
    flags = int(Flag.RELIABLE)
    data = to_bytes(body)
    if headers is not None:
        data = with_headers(headers, data)
        flags |= int(Flag.HEADERS)
    check_size(data)
    life = 0 if ttl is None else duration_of("ttl", ttl)
    wait = 0 if delay is None else duration_of("delay", delay)
    check_times(life, None, wait)
    return Parcel("", data, flags, priority, life, wait)
