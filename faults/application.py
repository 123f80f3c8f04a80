"""One application as a process: does its job with the client library like any other, and keeps a diary.

Owns: the roles at work. SIGUSR2 lets it begin to send, SIGUSR1 lets it send nothing more and await what it sent;
SIGTERM lets it close. Must not know: which faults there are. What it is told, it writes down;
what that means is judged elsewhere.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path

import msgspec

from causeway import Bus, CausewayError, Code, DeadlineExceeded, Message, Receipt, Refused, connect
from causeway.sim.letters import PUBLISHED, Letter, letter_of
from causeway.types import ServiceClass
from faults.diary import Diary, Did
from faults.jobs import Committing, Forwarding, Life, Reading, Role, Sending, Subscribing

SERVICES = {one.name.lower(): one for one in ServiceClass}
RETRY_SECONDS = 0.2
CONNECT_SECONDS_MAX = 60.0
COMMIT_SECONDS_MAX = 30.0


class Application:
    """One life."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.diary = Diary(Path(life.diary), life.job.name, life.life)
        self.quiet = asyncio.Event()
        """Set when nothing more is to be sent."""
        self.bus: Bus
        self.go = asyncio.Event()
        """Set when sending may begin."""
        if not life.waits:
            self.go.set()
        self._numbers: dict[tuple[str, ServiceClass], int] = {}

    async def live(self, ended: asyncio.Event) -> None:
        """Until told to end."""
        self.diary.note(Did.BORN)
        life = self.life
        how = {"name": life.job.name, "connect_timeout": CONNECT_SECONDS_MAX}
        self.bus = connect(life.url, state=Path(life.state) if life.state else None, **how)  # type: ignore[arg-type]
        async with self.bus:
            tasks = []
            for role in life.job.roles:
                if type(role) in _READERS:
                    served = asyncio.Event()
                    tasks.append(asyncio.create_task(self._again(_READERS[type(role)](self, role, served))))
                    await served.wait()
            self.diary.note(Did.READY)
            await self.go.wait()
            senders = [_SENDERS[type(role)](self, role) for role in life.job.roles if type(role) in _SENDERS]
            await asyncio.gather(*senders)
            await self.quiet.wait()
            self.diary.note(Did.QUIET)
            await ended.wait()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self.diary.note(Did.ENDED)

    async def _again(self, work: Callable[[], Awaitable[None]]) -> None:
        """What ends with an error begins anew, as an application that is looked after would."""
        while True:
            try:
                await work()
            except CausewayError as error:
                self.diary.note(Did.TROUBLE, detail=said(error))
            await asyncio.sleep(RETRY_SECONDS)

    def letter(self, dest: str, service: ServiceClass) -> Letter:
        """The next one of its kind."""
        number = self._numbers.get((dest, service), 0) + 1
        self._numbers[(dest, service)] = number
        return Letter(self.life.job.name, self.life.life, dest, int(service), number)

    # Sending ---------------------------------------------------------------------------------------------------
    async def send(self, role: Sending) -> None:
        """Letters at a steady tempo, until quiet; returns when the fate of all is known."""
        outstanding: set[asyncio.Task[None]] = set()
        loop = asyncio.get_running_loop()
        due = loop.time()
        for dest in itertools.cycle(role.dests):
            if self.quiet.is_set():
                break
            outstanding = {one for one in outstanding if not one.done()}
            if len(outstanding) * role.burst < role.outstanding_max:
                outstanding.add(loop.create_task(self._hear([self._post(dest, role) for _ in range(role.burst)])))
            due = max(due + role.every, loop.time() - 1.0)
            await asyncio.sleep(max(0.0, due - loop.time()))
        if outstanding:
            await asyncio.wait(outstanding)

    def _post(self, dest: str, role: Sending) -> tuple[Letter, Receipt | CausewayError]:
        letter = self.letter(dest, SERVICES[role.service])
        self.diary.note(Did.SENT, dest, letter)
        body = letter.payload(role.size)
        order = "causal" if role.causal else None
        try:
            if dest.startswith(PUBLISHED):
                topic = dest.removeprefix(PUBLISHED)
                return letter, self.bus.publish_nowait(
                    topic, body, service=role.service, timeout=role.timeout, order=order
                )
            return letter, self.bus.send_nowait(dest, body, service=role.service, timeout=role.timeout, order=order)
        except CausewayError as error:
            return letter, error

    async def _hear(self, posted: list[tuple[Letter, Receipt | CausewayError]]) -> None:
        for letter, receipt in posted:
            try:
                if isinstance(receipt, CausewayError):
                    raise receipt
                await receipt.wait()
            except CausewayError as error:
                self.diary.note(Did.FAILED, letter.dest, letter, detail=said(error))
            else:
                self.diary.note(Did.ACKNOWLEDGED, letter.dest, letter)

    async def commit(self, role: Committing) -> None:
        """Transactions one after the other, until quiet."""
        for number in itertools.count(1):
            if self.quiet.is_set():
                return
            await self._transact(number, role.dests, [])
            await asyncio.sleep(role.every)

    async def _transact(self, number: int, dests: tuple[str, ...], messages: list[Message]) -> bool:
        """One letter to each destination per message, all or nothing; whether the messages are still ours."""
        copies = max(1, len(messages))
        letters = tuple(self.letter(dest, ServiceClass.COMMITTED) for _ in range(copies) for dest in dests)
        settles = tuple(letter_of(message.body) for message in messages)
        self.diary.note(Did.BEGUN, "", *letters, settles=settles, number=number)
        transaction = self.bus.transaction(timeout=COMMIT_SECONDS_MAX)
        for letter in letters:
            transaction.send(letter.dest, letter.payload(128))
        for message in messages:
            transaction.ack(message)
        try:
            await transaction.commit()
        except Refused as error:
            self.diary.note(Did.ABORTED, number=number, detail=said(error))
            return error.code in (Code.ABORTED, Code.BAD_FIELD) or error.retriable
        except CausewayError as error:
            self.diary.note(Did.UNKNOWN, number=number, detail=said(error))
            if not isinstance(error, DeadlineExceeded):
                raise
        else:
            self.diary.note(Did.COMMITTED, number=number)
        return False

    # Receiving -------------------------------------------------------------------------------------------------
    def read(self, role: Reading, served: asyncio.Event) -> Callable[[], Awaitable[None]]:
        """A mailbox, each letter acknowledged as soon as it was seen."""

        async def work() -> None:
            order = "causal" if role.topics else None
            how = {"exclusive": role.exclusive or bool(role.topics), "topics": role.topics or None, "order": order}
            async with self.bus.consumer(role.mailbox, **how) as consumer:  # type: ignore[arg-type]
                if role.topics:
                    self.diary.note(Did.WANTED, role.mailbox, detail=role.topics)
                await consumer.ready()
                if role.topics:
                    self.diary.note(Did.PROMISED, role.mailbox)
                served.set()
                while True:
                    await self._settle(role.mailbox, await consumer.get_batch(100), role.fatal_every)

        return work

    def subscribe(self, role: Subscribing, served: asyncio.Event) -> Callable[[], Awaitable[None]]:
        """A subscription, each letter acknowledged as soon as it was seen."""

        async def work() -> None:
            how = {"name": role.name, "durable": role.durable, "shared": role.shared}
            async with self.bus.subscription(role.pattern, **how) as subscription:  # type: ignore[arg-type]
                await subscription.ready()
                served.set()
                while True:
                    await self._settle(role.name, await subscription.get_batch(100))

        return work

    async def _settle(self, place: str, messages: list[Message], fatal_every: int = 0) -> None:
        noted = []
        for message in messages:
            letter = letter_of(message.body)
            self.diary.note(Did.GOT, place, letter, number=message.deliveries)
            if fatal_every and letter.number % fatal_every == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            self.diary.note(Did.SETTLED, place, letter)
            noted.append((letter, message.ack()))
        for letter, on_disk in noted if self.life.state else ():
            await on_disk
            self.diary.note(Did.KEPT, place, letter)

    def forward(self, role: Forwarding, served: asyncio.Event) -> Callable[[], Awaitable[None]]:
        """From one mailbox to others, in transactions."""
        numbers = itertools.count(1)

        async def work() -> None:
            async with self.bus.consumer(role.mailbox) as consumer:
                await consumer.attached()
                served.set()
                while True:
                    messages = await consumer.get_batch(role.batch)
                    for message in messages:
                        self.diary.note(Did.GOT, role.mailbox, letter_of(message.body))
                    if await self._transact(next(numbers), role.dests, messages):
                        for message in messages:
                            self.diary.note(Did.RETURNED, role.mailbox, letter_of(message.body))
                            message.nack()

        return work


_READERS: dict[type[Role], Callable[..., Callable[[], Awaitable[None]]]] = {
    Reading: Application.read,
    Subscribing: Application.subscribe,
    Forwarding: Application.forward,
}
_SENDERS: dict[type[Role], Callable[..., Coroutine[None, None, None]]] = {
    Sending: Application.send,
    Committing: Application.commit,
}


def said(error: CausewayError) -> str:
    """What a diary keeps of an error: its class, its code if it has one, its words."""
    code = getattr(error, "code", None)
    return f"{type(error).__name__} {code.name if isinstance(code, Code) else ''}: {error}"


async def _main(life: Life) -> None:
    application, ended = Application(life), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR2, application.go.set)
    loop.add_signal_handler(signal.SIGUSR1, application.quiet.set)

    def end() -> None:
        application.go.set()
        application.quiet.set()
        ended.set()

    loop.add_signal_handler(signal.SIGTERM, end)
    await application.live(ended)


if __name__ == "__main__":
    asyncio.run(_main(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Life)))
