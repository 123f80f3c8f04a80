"""Applications that talk in causal order, each with a log of its own, and what the logs of all of them prove.

Owns: what a talker says and answers, and its log. The verdict is that of the simulator's checker of causality: it
computes from the logs alone what happened before what. All talkers run on one machine, whose clock merges their logs;
no verdict depends on it, because everybody's own order and who got what are in the logs themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import heapq
import random
import time
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from causeway import Bus, MessageFeed, Receipt, connect
from causeway.errors import CausewayError, LocalProtocolError
from causeway.sim.checkers.base import Wrong
from causeway.sim.checkers.causality import Causality
from causeway.sim.letters import CAUSAL, PUBLISHED, Letter, letter_of
from causeway.types import Instant, ServiceClass

TOPIC: Final = f"{CAUSAL}/talk"
SERVICES: Final = {
    ServiceClass.EXPRESS: "express",
    ServiceClass.RECOVERABLE: "recoverable",
    ServiceClass.TRANSACTIONAL: "transactional",
}
SEND_SECONDS_MAX: Final = 120.0


class Did(enum.Enum):
    """What an application writes down."""

    WANTED = "wanted"
    """It asked for the topic in its mailbox."""
    BEGUN = "begun"
    """It was told that the topic comes from now on."""
    SENT = "sent"
    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"
    GOT = "got"


class LogLine(NamedTuple):
    """One thing an application did or saw."""

    at: Instant
    who: str
    did: Did
    letter: Letter | None = None
    detail: str = ""


class TalkLog:
    """Of one life of one application, in its own order."""

    def __init__(self, who: str, life: int = 1, clock: Callable[[], Instant] = time.monotonic_ns) -> None:
        self.who = who
        self.life = life
        self.lines: list[LogLine] = []
        self._clock = clock

    def note(self, did: Did, letter: Letter | None = None, detail: str = "") -> None:
        """Write it down now."""
        self.lines.append(LogLine(self._clock(), self.who, did, letter, detail))


def judge(logs: Iterable[TalkLog]) -> str:
    """What is wrong with what these applications saw, with the evidence; empty when nothing is."""
    checker = Causality()
    kept = list(logs)
    lives = {log.who: log.life for log in kept}
    try:
        for line in heapq.merge(*(log.lines for log in kept), key=lambda line: line.at):
            checker.now = line.at
            _tell(checker, line, lives[line.who])
        checker.finish()
    except Wrong as wrong:
        return str(wrong)
    return ""


def _tell(checker: Causality, line: LogLine, life: int) -> None:
    letter = line.letter
    if letter is None:
        if line.did is Did.WANTED:
            checker.subscribed(line.who, [TOPIC])
        else:
            checker.subscription_begun(line.who)
    elif line.did is Did.SENT:
        checker.sent(letter)
    elif line.did is Did.ACKNOWLEDGED:
        checker.acknowledged(letter)
    elif line.did is Did.FAILED:
        checker.failed(letter, line.detail)
    else:
        checker.delivered(line.who, (line.who, life), letter)


class Talker:
    """One application: it writes to the others and to all of them, and answers what it reads."""

    def __init__(self, name: str, url: str, others: list[str], *, published: float = 0.2, answers: float = 0.5) -> None:
        self.name = name
        self.log = TalkLog(name)
        self._url = url
        self._others = others
        self._published = published
        """Share of what it says that is for all."""
        self._answers = answers
        """Share of letters it answers; of what was published, divided by the number of readers."""
        self._rng = random.Random(name)
        self._bus: Bus | None = None
        self._feed: MessageFeed | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: dict[asyncio.Task[None], None] = {}
        self._number = 0
        self._talking = True

    async def open(self) -> None:
        """Come online; returns when what is published from now on will come."""
        self._bus = await connect(self._url, name=self.name, timeout=SEND_SECONDS_MAX).open()
        self.log.note(Did.WANTED)
        self._feed = self._bus.receive(topics=TOPIC, order="causal", exclusive=True)
        await self._feed.ready()
        self.log.note(Did.BEGUN)
        self._reading = asyncio.create_task(self._read(self._feed), name=f"{self.name} reads")

    async def talk(self, interval: float, stop: asyncio.Event) -> None:
        """Say something about every `interval` seconds."""
        while not stop.is_set():
            self.say()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), self._rng.uniform(0.0, 2 * interval))

    def say(self) -> None:
        """To somebody, or to all."""
        assert self._bus is not None
        self._number += 1
        service = self._rng.choice(list(SERVICES))
        published = self._rng.random() < self._published
        dest = PUBLISHED + TOPIC if published else self._rng.choice(self._others)
        letter = Letter(self.name, 1, dest, int(service), self._number)
        self.log.note(Did.SENT, letter)
        how = {"service": SERVICES[service], "order": "causal", "timeout": SEND_SECONDS_MAX}
        post = self._bus.publish_nowait if published else self._bus.send_nowait
        receipt = post(TOPIC if published else dest, letter.payload(64), **how)  # type: ignore[arg-type]
        task = asyncio.create_task(self._hear(letter, receipt))
        self._waiting[task] = None
        task.add_done_callback(lambda done: self._waiting.pop(done, None))

    async def finish(self) -> None:
        """Say nothing more, and wait for the fate of what was said."""
        self._talking = False
        while self._waiting:
            await asyncio.wait(list(self._waiting))

    async def close(self) -> None:
        """Go offline."""
        assert self._bus is not None
        assert self._feed is not None
        assert self._reading is not None
        await self._feed.aclose()
        with contextlib.suppress(LocalProtocolError):  # the loop was ended from outside, by ourselves
            await self._reading
        await self._bus.aclose()

    @property
    def got(self) -> int:
        """Messages it read."""
        return sum(line.did is Did.GOT for line in self.log.lines)

    async def _hear(self, letter: Letter, receipt: Receipt) -> None:
        try:
            await receipt.wait()
        except CausewayError as error:
            self.log.note(Did.FAILED, letter, str(error))
        else:
            self.log.note(Did.ACKNOWLEDGED, letter)

    async def _read(self, feed: MessageFeed) -> None:
        async for message in feed:
            letter = letter_of(message.body)
            self.log.note(Did.GOT, letter)
            share = self._answers / len(self._others) if letter.topic else self._answers
            if self._talking and self._rng.random() < share:
                self.say()
