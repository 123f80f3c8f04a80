"""What both client drivers share: a session behind a lock, and the callers that wait for its outcomes.

Owns: the session's lock, waiting callers (latches), answers to requests, the store of kept state. The machine driver
calls `handle`; the application's calls go to the session under `lock`, from the loop or from any thread, and then
`wake`. How a caller waits, `aio` and `threaded` add.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import threading
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from causeway.client.batches import SentBatch, Ticket
from causeway.client.forking import note_closed, note_open
from causeway.client.latches import TaskLatch
from causeway.client.message import CORRELATION, Delivery
from causeway.client.outcomes import (
    ConsumerRefused,
    DeliveryConfirmed,
    InquiryDone,
    MessagesArrived,
    Outcome,
    SendDone,
    SessionFailed,
    TransactionDone,
)
from causeway.client.reader import MailReader
from causeway.client.session import Session
from causeway.client.settings import SessionConfig
from causeway.client.tracing import ApplicationTrace
from causeway.core.effects import Effects
from causeway.core.events import DriverEvent
from causeway.drivers.aio.machine import MachineDriver
from causeway.drivers.aio.storage import Storage, ThreadStorage
from causeway.errors import CausewayError, LocalProtocolError, OutcomeUnknown, StoreError, TransportError
from causeway.lake.opening import open_recorder
from causeway.limits import REPLIES_UNREAD_MAX
from causeway.names import private_name
from causeway.store.disk import DiskStore
from causeway.types import Instant

if TYPE_CHECKING:
    from causeway.lake.recorder import Recorder

Found = TypeVar("Found")
"""What a caller waits for: true when it is there."""

LEAVE_SECONDS: Final = 5.0
"""How long a bus that ends waits for what is under way."""


class Firing(Protocol):
    """A caller that waits."""

    def fire(self) -> None:
        """Let it go on; called under the host's lock, maybe more than once."""


class Waitable(Protocol):
    """What a caller can wait for: batches, commitments, inquiries, consumers."""

    waiter: Any


class Request:
    """A request that waits for its answer."""

    __slots__ = ("answer", "waiter")

    def __init__(self) -> None:
        self.answer: Delivery | None = None
        self.waiter: Any = None


class Host:
    """The machine a driver drives: a session whose outcomes wake callers."""

    _loop: asyncio.AbstractEventLoop
    block = "a `with`"
    """How an application opens and closes it."""

    def __init__(
        self, config: SessionConfig, state: Path | None, message: Callable[..., Delivery], ticket: type[Ticket]
    ) -> None:
        self.lock = threading.Lock()
        rng = random.Random(secrets.randbits(128))
        # An incarnation names one life of an application; 53 bits survive every JSON reader.
        self.session = Session(config, config.life or rng.getrandbits(53) | 1, rng)
        self.session.use_tickets(ticket, self)
        self.next_deadline = self.session.next_deadline
        """One read, so it needs no lock."""
        self.make_ticket = ticket
        self.lanes = self.session.lanes
        self.append = self.session.append
        self.accept = self.session.accept
        """What is needed for every message, without a detour."""
        self.driver: MachineDriver | None = None
        self.over: CausewayError | None = LocalProtocolError(
            f"the bus is not open; use it in {self.block}, or open it first"
        )
        """Why nothing can be asked (any more)."""
        self._failed: dict[SentBatch, None] = {}
        """Batches with a failure that nobody was told of, as many as the window has messages; older ones: """
        self._unheard: CausewayError | None = None
        self.replies: MailReader | None = None
        self.requests: dict[int, Request] = {}
        self._make_message = message
        self._next_correlation = rng.getrandbits(48)
        self._state = state
        self._storage: Storage | None = None
        self._lake: Recorder | None = None
        self._conditions: list[tuple[Callable[[], bool], Firing]] = []
        self.waking = False
        self.began = ("", 0)
        """Where in the application's code the bus began."""
        self._deferred: deque[Callable[[], None]] = deque()

    # The machine contract --------------------------------------------------------------------------------------
    def handle(self, events: Sequence[DriverEvent], now: Instant) -> Effects:
        """One turn of the session, then wake whoever it concerns."""
        if self.driver is None:
            return Effects()  # a child has forked out of the event loop, and goes on with it
        with self.lock:
            self.waking = False
            if self._deferred:
                self.run_deferred()
            session = self.session
            effects = session.handle(events, now)
            for outcome in session.outcomes():
                self._pass_on(outcome)
            if self._conditions:
                self._check_conditions()
            return effects

    # For callers -----------------------------------------------------------------------------------------------
    def wake(self) -> None:
        """The session was changed: give it a turn. Called under the lock."""
        if not self.waking:
            self.waking = True
            self._wake_driver()

    def defer(self, action: Callable[[], None]) -> None:
        """Run an action under the lock with the next turn; for finalizers, which may run anywhere, even under it."""
        self._deferred.append(action)
        with suppress(RuntimeError):  # its loop was closed this very moment
            self._wake_soon()

    def run_deferred(self) -> None:
        """Called under the lock."""
        while self._deferred:
            self._deferred.popleft()()

    def detach_later(self, reader: MailReader) -> None:
        """End a reader with the next turn; for finalizers."""

        def act() -> None:
            self.session.detach(reader)
            _fire(reader)

        self.defer(act)

    def warn_unclosed(self, what: str, began: tuple[str, int]) -> None:
        """Tell of what nobody closed; for finalizers. Nobody needs to hear it when the bus is over."""
        if self.over is None:
            file, line = began
            text = f"{what}, begun at {file}:{line}, was not closed; close it, or use it in a `with`"
            warnings.warn_explicit(text, ResourceWarning, file, line)

    def abandon(self, seconds: float) -> None:
        """Nobody will close the bus any more: let what is under way finish in so many seconds, then end. A failure that
        nobody was told of is a warning: there is no caller to raise it to. For finalizers."""
        self.warn_unclosed(f"the bus of {self.session.name!r}", self.began)
        try:
            self._loop.call_soon_threadsafe(self._begin_leaving, seconds)
        except RuntimeError:  # its loop is closed
            self._warn_cut_short()

    def watch(self, *what: Waitable) -> Any:
        """A latch that fires when any of these has news. Called under the lock."""
        latch = self._new_latch()
        for one in what:
            if one.waiter is None:
                one.waiter = [latch]
            else:
                one.waiter.append(latch)
        return latch

    def unwatch(self, latch: object, *what: Waitable) -> None:
        """Its caller has stopped waiting. Called under the lock."""
        for one in what:
            if one.waiter is not None and latch in one.waiter:
                one.waiter.remove(latch)
                one.waiter = one.waiter or None

    def expect(self, condition: Callable[[], bool], latch: Any = None) -> Any:
        """A latch that fires once the condition holds after some turn. Called under the lock."""
        latch = latch or self._new_latch()
        self._conditions.append((condition, latch))
        return latch

    def forget(self, latch: object) -> None:
        """Its caller has stopped waiting. Called under the lock."""
        self._conditions = [entry for entry in self._conditions if entry[1] is not latch]

    def wake_reader(self, reader: MailReader) -> None:
        """Let callers that wait for its messages look again. Called under the lock."""
        _fire(reader)

    def hear(self, batch: SentBatch, index: int) -> None:
        """Somebody waits for the fate of this message, or is told of it now: nobody else needs to be."""
        with self.lock:
            batch.heard[index] = None
            if batch in self._failed and batch.unheard() is None:
                del self._failed[batch]

    def turn_away(self, batch: SentBatch, index: int) -> None:
        """Whoever waited for this message was stopped: its failure, if it comes or has come, is nobody's again."""
        with self.lock:
            del batch.heard[index]
            self._note_failure(batch)

    def take_failure(self) -> CausewayError | None:
        """The first failure that nobody was told of; from now on they all count as told."""
        with self.lock:
            error = self._unheard or next((batch.unheard() for batch in self._failed), None)
            self._failed, self._unheard = {}, None
            return error

    def unacknowledged(self, count: int) -> OutcomeUnknown | None:
        """What to tell of sends that are under way when the bus ends. None with kept state: they are sent again."""
        if self.session.config.keep:
            return None
        return OutcomeUnknown(f"{count} messages unacknowledged when the bus was closed (`flush` waits for them)")

    def _warn_cut_short(self) -> None:
        """The event loop has ended before the bus, and nothing leaves any more."""
        unresolved = self.session.unresolved
        self._warn_failed(self.take_failure() or (self.unacknowledged(unresolved) if unresolved else None))

    def _warn_failed(self, error: CausewayError | None) -> None:
        if error is not None:
            file, line = self.began
            text = f"the bus of {self.session.name!r}, begun at {file}:{line}, was not closed; a send failed: {error}"
            warnings.warn_explicit(text, RuntimeWarning, file, line)

    def _note_failure(self, batch: SentBatch) -> None:
        if batch.unheard() is not None:
            self._failed[batch] = None
            if len(self._failed) > self.session.config.window_messages:
                oldest = next(iter(self._failed))
                del self._failed[oldest]
                self._unheard = self._unheard or oldest.unheard()

    def check(self) -> None:
        """Raise why the session is over, if it is."""
        if self.over is not None:
            raise self.over

    def ask(self) -> tuple[int, Request]:
        """Register a request; the correlation to send with it. Called under the lock."""
        self._next_correlation += 1
        request = self.requests[self._next_correlation] = Request()
        return self._next_correlation, request

    @property
    def reply_mailbox(self) -> str:
        """Where answers to our requests go."""
        return private_name(self.session.name, self.session.incarnation)

    def unreachable(self) -> TransportError:
        """Why no broker was reached."""
        trouble = self.session.trouble  # which names one address
        tried = [f"{host}:{port}" for host, port in self.session.config.addresses]
        others = ", ".join(place for place in tried if not trouble.startswith(f"{place}: "))
        also = f"; nor at {others}" if others else ""
        return TransportError(f"no broker answered ({trouble}{also}); is the cluster running?")

    # For the drivers -------------------------------------------------------------------------------------------
    async def until_on_loop(self, condition: Callable[[], bool], seconds: float | None) -> bool:
        """Wait until a condition on the session holds or the session is over (True), or the time is over (False)."""
        with self.lock:
            if condition() or self.over is not None:
                return True
            latch: TaskLatch = self.expect(condition, TaskLatch(self._loop))
        fired = False
        timer = None if seconds is None else self._loop.call_later(max(0.0, seconds), latch.run_out)
        try:
            fired = await latch.future
        finally:
            if timer is not None:
                timer.cancel()
            if not fired:
                with self.lock:
                    self.forget(latch)
        return fired

    def _begin_leaving(self, seconds: float) -> None:
        self._leaving = self._loop.create_task(self._leave(seconds))
        self._leaving.add_done_callback(lambda task: self._warn_cut_short() if task.cancelled() else None)

    async def _leave(self, seconds: float) -> None:
        session = self.session
        await self.until_on_loop(lambda: session.idle, seconds)
        error, unresolved = self.take_failure(), session.unresolved
        with self.lock:
            session.close()
            self.wake()
        await self.until_on_loop(lambda: session.error is not None, 1.0)
        await self._stop_driver()
        left = self.take_failure()
        self._warn_failed(error or (self.unacknowledged(unresolved) if left else None))

    async def _start_driver(self) -> None:
        """On the event loop that will carry the session."""
        try:
            await self._open_driver()
        except BaseException:
            await self._stop_driver()  # kept state is free for the next that asks
            raise

    async def _open_driver(self) -> None:
        driver = MachineDriver(self, on_crash=self._on_crash)
        if self._state is not None:
            store = DiskStore(self._state)
            await asyncio.get_running_loop().run_in_executor(None, store.open)
            if store.recovered_from is not None:
                store.close()
                raise StoreError(
                    f"the kept state in {self._state} was damaged and is now {store.recovered_from}; restore it, or "
                    "connect again to begin without it (unanswered sends are lost, accepted messages may come again)"
                )
            self._storage = ThreadStorage(store, driver.stored, self._on_crash)
        if self.session.config.lake:
            clock = driver.clock.now
            self._lake = open_recorder(self.session.config.lake, (self.session.name, "application", clock(), ""), clock)
            self.session.trace_to(ApplicationTrace(clock, self._lake.add))
        self.driver = driver
        self.over = None
        note_open(self)
        driver.start(self._storage)

    async def _stop_driver(self) -> None:
        note_closed(self)
        if self.over is None:
            self.over = LocalProtocolError("the bus is closed; connect again")
        if self.driver is not None:
            await self.driver.stop()
        if self._storage is not None:
            self._storage.close()
        if self._lake is not None:
            try:
                await asyncio.get_running_loop().run_in_executor(None, self._lake.close)
            except RuntimeError:  # the program ends: no thread begins any more
                self._lake.close()

    def disown(self) -> None:
        """In a forked child: the session, its thread and its sockets are the parent's."""
        self.lock = threading.Lock()  # the old one may be held by a thread that only the parent has
        for connection in [] if self.driver is None else self.driver.connections:
            connection.disown()
        self.driver = self._storage = self._lake = None
        self.over = LocalProtocolError(
            "this process was forked from the one that connected; connect in the child (with gunicorn: in `post_fork`)"
        )
        self.lanes.clear()
        for reader in self.session.consumers():
            reader.queue.clear()

    def _on_crash(self, error: BaseException) -> None:
        with self.lock:
            self.over = error if isinstance(error, CausewayError) else None
            if self.over is None:
                self.over = LocalProtocolError(f"a bug in the client: {error!r}; connect again")
                self.over.__cause__ = error
            self._fire_all()

    def _pass_on(self, outcome: Outcome) -> None:
        if type(outcome) is MessagesArrived:
            if outcome.consumer is self.replies:
                self._take_replies(outcome.consumer)
            else:
                _fire(outcome.consumer)
            return
        match outcome:
            case SendDone():
                self._note_failure(outcome.batch)
                _fire(outcome.batch)
            case DeliveryConfirmed():
                _fire(outcome.batch)
            case TransactionDone():
                _fire(outcome.commitment)
            case ConsumerRefused():
                _fire(outcome.consumer)
            case InquiryDone():
                _fire(outcome.inquiry)
            case SessionFailed():
                self.over = outcome.error
                self._fire_all()
            case _:
                pass

    def _take_replies(self, consumer: MailReader) -> None:
        for message in self.session.take(consumer, REPLIES_UNREAD_MAX, self._make_message):
            lot, index = message._lot, message._index
            self.session.accept(lot, index, index)
            correlation = message.all_headers().get(CORRELATION)
            request = self.requests.pop(correlation, None) if isinstance(correlation, int) else None
            if request is not None:
                request.answer = message
                _fire(request)
        self.wake()

    def _check_conditions(self) -> None:
        still: list[tuple[Callable[[], bool], Firing]] = []
        for condition, latch in self._conditions:
            if condition():
                latch.fire()
            else:
                still.append((condition, latch))
        self._conditions = still

    def _fire_all(self) -> None:
        for _, latch in self._conditions:
            latch.fire()
        self._conditions = []
        for what in (*self.session.pending(), *self.requests.values()):
            _fire(what)

    def _wake_driver(self) -> None:
        """A turn, soon; from where callers are."""
        raise NotImplementedError

    def _wake_soon(self) -> None:
        """A turn, soon; from anywhere."""
        raise NotImplementedError

    def _new_latch(self) -> Firing:
        raise NotImplementedError


def _fire(what: Waitable) -> None:
    if what.waiter is not None:
        for latch in what.waiter:
            latch.fire()
        what.waiter = None
