"""Drives one machine (a broker, a client session): events in, one `handle` per wake-up, effects out, one timer.

Owns: the turn. The stimuli are connections, the storage and time; each ends in `_wake`, which calls the machine,
performs its effects in the order of their fields, writes once per connection and re-arms the timer.
Must not know: what the machine is for.

When the machine is called:
- The first data of a loop iteration is handled at once, inside `data_received`: no hop through the loop, so the
  round trip is as short as it can be.
- Whatever else arrives in the same iteration is gathered and handled together at its end, or when it has become
  much: one iteration can read megabytes, and a turn over all of it would keep every answer waiting.
Nothing calls the machine while it runs: what its effects cause (a clogged buffer, a write to memory) is gathered
and handled next.

An exception out of a turn is a bug of ours: the driver logs it, never calls the machine again and tells its owner.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from causeway.core.effects import Close, Effects, Load, Persist, Send
from causeway.core.events import Clogged, Closed, Drained, DriverEvent, Lagged, Loaded, Opened, Persisted, Received
from causeway.core.machine import Machine
from causeway.core.messages import Beat, Echo, Hello, Message, Welcome
from causeway.drivers.aio.alertness import Alertness
from causeway.drivers.aio.clock import SystemClock
from causeway.drivers.aio.connection import Connection
from causeway.drivers.aio.dialer import Dialer
from causeway.drivers.aio.storage import Storage
from causeway.drivers.aio.timer import DeadlineTimer
from causeway.errors import LocalProtocolError, RemoteProtocolError
from causeway.limits import TURN_MESSAGES_MAX, TURNS_IN_A_ROW_MAX
from causeway.types import MILLISECOND, Duration, Instant
from causeway.wire.codec import encode_head

log: Final = logging.getLogger("causeway.driver")

SIGNS_OF_LIFE: Final = frozenset((Beat, Echo))
GREETINGS: Final = frozenset((Hello, Welcome))

LAG_MIN: Final[Duration] = 50 * MILLISECOND
"""Shorter times between two looks at the connections are not worth a word."""

SMALL_CHUNK: Final = 64
"""Frames that are handled in no time: signs of life among them need not be looked for."""

TURN_IDLE: Final[Duration] = MILLISECOND
"""Without a write for so long, nothing else is likely to be sent along in this loop iteration."""

Answer = Callable[[Connection, Message], None]
"""Answers a message in the machine's stead; called before the machine hears of anything that came with it."""


class MachineDriver:
    """One machine on the running event loop. Not for use from other threads."""

    def __init__(
        self,
        machine: Machine,
        *,
        on_crash: Callable[[BaseException], None],
        needed_by_others: bool = False,
        on_turn: Callable[[], None] | None = None,
        on_further: Callable[[Effects], None] | None = None,
        answers: Mapping[type, Answer] | None = None,
        clock: SystemClock | None = None,
        alert: Duration = 0,
    ) -> None:
        self.clock = clock or SystemClock()
        self.turns = 0
        """Calls of `handle` so far."""
        self.turned: Duration = 0
        """Time that turns took so far, their effects included; one more look at the clock for each wake-up."""
        self._machine = machine
        self._on_crash = on_crash
        self._needed_by_others = needed_by_others
        """More than one party depends on the machine: a bug about one of them must not end it."""
        self._on_turn = on_turn
        self._on_further = on_further
        """Performs what has to do with neither connections nor storage."""
        self._answers = answers
        self._loop = asyncio.get_running_loop()
        self.alertness = Alertness(self._loop, alert) if alert else None
        self._storage: Storage | None = None
        self._connections: dict[int, Connection] = {}
        self._dialer = Dialer(lambda number: Connection(self, number), self.dial_failed)
        self._draining: dict[Connection, None] = {}
        """Closed for the machine, not yet gone from the system."""
        self._drained: asyncio.Future[None] | None = None
        self._touched: list[Connection] = []
        self._events: list[DriverEvent] = []
        self._gathered = 0
        """Messages among them."""
        self._running = False
        self._now: Instant = 0
        self._last_write: Instant = 0
        """When the last turn began, and the last one that wrote."""
        self._busy: Duration = 0
        self._busy_before: Duration = 0
        """How long turns took since the connections were last looked at, and between the two looks before."""
        self._scheduled = False
        """`_breathe` will run at the end of this loop iteration."""
        self._wanted = False
        """Somebody wants the machine called even if nothing happens."""
        self._stopped = False
        self._timer = DeadlineTimer(self.clock, self._fire)

    # From the owner ----------------------------------------------------------------------------------------------
    def start(self, storage: Storage | None = None) -> None:
        """Let the machine have its first turn."""
        self._storage = storage
        self.wake()

    def post(self, event: DriverEvent) -> None:
        """Let an event happen at the end of this loop iteration."""
        self._events.append(event)
        self._schedule()

    def wake(self) -> None:
        """Call the machine at the end of this loop iteration, events or not (its owner changed something)."""
        self._wanted = True
        self._schedule()

    def prompt(self) -> None:
        """As `wake`, but at once when the machine has said nothing for a while: the first word of a conversation need
        not wait for company, while whoever says much says it in few turns."""
        if self._running or self._stopped or self.clock.now() - self._last_write < TURN_IDLE:
            self.wake()
        else:
            self._wake(())

    @property
    def connections(self) -> list[Connection]:
        """Those that hold a descriptor."""
        return [*self._connections.values(), *self._draining]

    async def stop(self, wait_seconds_max: float = 0.25) -> None:
        """Close every connection, sending what is buffered, and never call the machine again; idempotent."""
        self._stopped = True
        self._timer.cancel()
        await self._dialer.stop()
        for connection in list(self._connections.values()):
            self._drop(connection)
            connection.close()
        if self._draining:
            self._drained = self._loop.create_future()
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_seconds_max):
                    await self._drained
        for connection in list(self._draining):
            connection.abort()

    # From connections --------------------------------------------------------------------------------------------
    def opened(self, connection: Connection) -> None:
        """A connection is up."""
        self._dialer.settle(connection.number)
        if self._stopped:
            connection.abort()
            return
        self._connections[connection.number] = connection
        self.post(Opened(connection.number, "" if connection.number % 2 else connection.remote_host))

    def arrived(self, connection: Connection, messages: list[tuple[Message, bytes]]) -> None:
        """Frames came: handled at once if this is the first data of this loop iteration."""
        answers = self._answers
        if answers is not None:
            for head, _ in messages:
                if type(head) in answers:
                    messages = self._answer(connection, messages, answers)
                    break
        if self._needed_by_others and (self._scheduled or len(messages) > SMALL_CHUNK):
            messages = self._signs_first(connection, messages)
            if not messages:
                return
        event = Received(connection.number, messages)
        if self._scheduled or self._running or self._stopped:
            self._events.append(event)
            self._gathered += len(messages)
            if self._gathered >= TURN_MESSAGES_MAX and not self._running:
                self._wake(self._take_events())
            return
        # The end of this iteration handles whatever else arrives in it. Asked for after the turn: tasks that it woke
        # come first then, and what they answer leaves in the same breath.
        self._scheduled = True
        self._wake([event])
        self._loop.call_soon(self._breathe)
        if self.alertness is not None:
            self.alertness.heard()

    def _signs_first(
        self, connection: Connection, messages: list[tuple[Message, bytes]]
    ) -> list[tuple[Message, bytes]]:
        """Signs of life do not wait for the work that came with them, nor for what was gathered before; the rest."""
        kinds = {type(head) for head, _ in messages}
        if self._running or kinds.isdisjoint(SIGNS_OF_LIFE) or not kinds.isdisjoint(GREETINGS):
            return messages
        if any(getattr(event, "conn", 0) == connection.number for event in self._events):
            return messages  # perhaps its greeting
        gathered, waiting = self._gathered, self._take_events()
        signs = [message for message in messages if type(message[0]) in SIGNS_OF_LIFE]
        self._wake([Received(connection.number, signs)])
        self._events, self._gathered = waiting + self._events, self._gathered + gathered
        return [message for message in messages if type(message[0]) not in SIGNS_OF_LIFE]

    def broken(self, connection: Connection, messages: list[tuple[Message, bytes]], error: RemoteProtocolError) -> None:
        """The peer broke the protocol: it costs this connection and nothing else."""
        log.info("closed the connection of %s: %s", connection.remote, error)
        if messages:
            self.arrived(connection, messages)
        if connection.closed:
            return
        self._drop(connection)
        connection.say_goodbye(error)
        connection.close()
        self.post(Closed(connection.number, str(error)))

    def clogged(self, connection: Connection) -> None:
        """The peer reads too slowly."""
        self.post(Clogged(connection.number))

    def drained(self, connection: Connection) -> None:
        """The peer caught up."""
        self.post(Drained(connection.number))

    def overgrown(self, connection: Connection) -> None:
        """The peer has stopped reading and the machine kept writing."""
        reason = "its peer does not read; the write buffer passed its bound"
        log.info("cut the connection of %s: %s", connection.remote, reason)
        self._drop(connection)
        connection.abort()
        self.post(Closed(connection.number, reason))

    def lost(self, connection: Connection, reason: str) -> None:
        """The system let go of a connection; news to the machine only if it has not heard or said so before."""
        self._draining.pop(connection, None)
        if self._drained is not None and not self._draining and not self._drained.done():
            self._drained.set_result(None)
        if not connection.closed:
            connection.closed = True
            del self._connections[connection.number]
            self.post(Closed(connection.number, reason))

    def dial_failed(self, number: int, reason: str) -> None:
        """A dialled connection did not come up."""
        if self._dialer.settle(number):
            self.post(Closed(number, reason))

    # From the storage --------------------------------------------------------------------------------------------
    def stored(self, results: Sequence[Persist | Loaded]) -> None:
        """These are durable (release what waited for them), or were read."""
        if self._running:
            self._release(results)
            return
        if self._stopped:
            return
        try:
            self._release(results)
            if not self._events:
                self._write()
                return
        except Exception as error:
            self._crash(error)
            return
        self._wake(self._take_events())

    # The turn ----------------------------------------------------------------------------------------------------
    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._breathe)

    def _breathe(self) -> None:
        """The end of a loop iteration: handle what was gathered."""
        self._scheduled = False
        self._busy, self._busy_before = 0, self._busy
        if self._events or self._wanted:
            self._wanted = False
            self._wake(self._take_events())

    def _fire(self) -> None:
        """The timer. It may be early: deadlines move, and it is only ever set anew for an earlier one."""
        deadline = self._machine.next_deadline()
        if self._events or (deadline is not None and deadline <= self.clock.now()):
            self._wake(self._take_events())
        else:
            self._timer.arm(deadline)

    def _take_events(self) -> list[DriverEvent]:
        """What was gathered, for the next turn."""
        events, self._events, self._gathered = self._events, [], 0
        return events

    def _wake(self, events: Sequence[DriverEvent]) -> None:
        if self._stopped:
            return
        self._running = True
        try:
            self._turn(events)
            begun = self._now
            for _ in range(TURNS_IN_A_ROW_MAX - 1):
                if not self._events:
                    break
                self._turn(self._take_events())
            if self._touched:
                self._write()
            self._timer.arm(self._machine.next_deadline())
            took = self.clock.now() - begun
            self.turned += took
            self._busy += took
            if self._busy > LAG_MIN:
                self._schedule()
        except Exception as error:
            self._crash(error)
            return
        finally:
            self._running = False
        if self._events:
            self._schedule()
        if self._on_turn is not None:
            self._on_turn()

    def _turn(self, events: Sequence[DriverEvent]) -> None:
        self.turns += 1
        self._now = now = self.clock.now()
        if self._needed_by_others and self._busy + self._busy_before > LAG_MIN:
            events = [Lagged(self._busy + self._busy_before), *events]
        self._perform(self._machine.handle(events, now))

    def _perform(self, effects: Effects) -> None:
        """All that was asked for, in the order of the fields; recorded first, as a store in memory does so at once."""
        if (effects.traces or effects.plans) and self._on_further is not None:
            self._on_further(effects)
        if effects.persists or effects.loads:
            self._submit(effects.persists, effects.loads)
        for dial in effects.dials:
            self._dialer.dial(dial)
        if effects.sends:
            self._send(effects.sends)
        for pause in effects.pauses:
            if (connection := self._connections.get(pause.conn)) is not None:
                connection.pause(paused=pause.paused)
        for close in effects.closes:
            self._close(close)

    def _submit(self, persists: list[Persist], loads: list[Load]) -> None:
        if self._storage is None:
            raise LocalProtocolError("the machine asked for storage, but its driver was started without one")
        self._storage.submit(persists, loads)

    def _release(self, results: Sequence[Persist | Loaded]) -> None:
        events = self._events
        for result in results:
            if isinstance(result, Loaded):
                events.append(result)
                continue
            if result.traces and self._on_further is not None:
                self._on_further(Effects(traces=[*result.traces]))
            if result.then:
                self._send(result.then)
            if result.token:
                events.append(Persisted(result.token))

    def _send(self, sends: Sequence[Send]) -> None:
        """What a turn says on a connection shares a frame."""
        connections, touched = self._connections, self._touched
        for send in sends:
            connection = connections.get(send.conn)
            if connection is not None:
                if not connection.touched:
                    connection.touched = True
                    touched.append(connection)
                connection.say(send.head, send.body)

    def oversized(self, connection: Connection, head: Message, body: bytes) -> None:
        """A bug of ours, or the echo of a peer's absurdity: it costs that connection only, if others need us."""
        sizes = f"head {len(encode_head(head))}, body {len(body)} bytes"
        reason = f"a frame over its bound was to be sent, {type(head).__name__}: {sizes}"
        if connection.number % 2 and not self._needed_by_others:
            raise LocalProtocolError(reason)
        log.error("a bug in Causeway: closed the connection of %s: %s", connection.remote, reason)
        self._drop(connection)
        connection.close()
        self.post(Closed(connection.number, reason))

    def _write(self) -> None:
        """One write per connection for everything the turn sent to it."""
        self._last_write = self._now
        touched, self._touched = self._touched, []
        for connection in touched:
            connection.flush()

    def _close(self, close: Close) -> None:
        self._dialer.give_up(close.conn)
        connection = self._connections.get(close.conn)
        if connection is not None:
            self._drop(connection)
            connection.close()
        if self._events:
            # What it said before we closed it must not reach the machine afterwards.
            self._events = [event for event in self._events if getattr(event, "conn", None) != close.conn]

    def _drop(self, connection: Connection) -> None:
        """The machine has nothing to do with this connection any more."""
        connection.closed = True
        del self._connections[connection.number]
        self._draining[connection] = None

    def _answer(
        self, connection: Connection, messages: list[tuple[Message, bytes]], answers: Mapping[type, Answer]
    ) -> list[tuple[Message, bytes]]:
        rest: list[tuple[Message, bytes]] = []
        for head, body in messages:
            answer = answers.get(type(head))
            if answer is None:
                rest.append((head, body))
            else:
                answer(connection, head)
        return rest

    def _crash(self, error: Exception) -> None:
        self._stopped = True
        self._timer.cancel()
        log.critical("a bug in Causeway: the machine failed and will not be called again", exc_info=error)
        self._on_crash(error)
