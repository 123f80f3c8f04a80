"""Runs one phase and says what came of it.

Owns: the order of things: brokers, applications, faults, heal, calm, the end of sending, what is still owed, the
verdict. Every wait has a bound; what does not happen within it is a finding, not a hang.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from causeway.errors import CausewayError
from causeway.types import SECOND, Instant
from faults.diary import Did
from faults.field import Field, Nobody, Stuck
from faults.harm import Arena, Remedy
from faults.hosts import Hosts
from faults.judge import SHOWN_MAX, Finding, Judge, mailboxes_read
from faults.phases import Phase
from faults.service import Service, Span
from faults.slow_road import SlowRoad

RECOVERY_SECONDS = 5.0
"""After a fault is over, until everything must move."""
WHOLE_SECONDS_MAX = 60.0
QUIET_SECONDS_MAX = 75.0
OWED_SECONDS_MAX = 30.0
HANDED_MAX = 10
"""Lives that one letter may end until it is a dead letter; the product says five."""
WINDOW = SECOND // 2
"""Of a time line."""


class Outcome(msgspec.Struct, kw_only=True):
    """What came of a phase."""

    phase: str
    seed: int
    seconds: float = 0.0
    sent: int = 0
    acknowledged: int = 0
    failed: int = 0
    delivered: int = 0
    served_again: float = 0.0
    """Seconds after the heal until the last lane got something done."""
    longest_gap: float = 0.0
    """Seconds that some lane got nothing done while there were faults."""
    findings: list[Finding] = []
    bands: list[tuple[str, float, float]] = []
    """The faults: what, from when to when, in seconds since everybody was served."""
    rate: list[tuple[float, int, float, int]] = []
    """The time line: when, acknowledgements per second, the middle of how long they took, deliveries per second."""

    @property
    def holds(self) -> bool:
        """Whether everything is as promised."""
        return not self.findings


class Run:
    """One phase, once."""

    def __init__(self, phase: Phase, seed: int, folder: Path, hosts: Hosts, slow_road: SlowRoad) -> None:
        self.phase = phase
        self.outcome = Outcome(phase=phase.name, seed=seed)
        self.field = Field(folder, hosts, phase.jobs, phase.setting)
        self.arena = Arena(self.field, slow_road, random.Random(f"{seed} {phase.name}"))
        self.judge = Judge(phase.jobs)
        self._faults: list[tuple[str, Instant, Instant]] = []
        self._owed = Judge(phase.jobs)
        """Asked only for what is still owed, so the order in which it hears does not matter."""

    async def run(self, say: Callable[[str], None]) -> Outcome:
        """From nothing to the verdict."""
        began = time.monotonic()
        try:
            await self.field.start()
            served = time.monotonic_ns()
            holders = await self.field.holders() if self.phase.keeps_owners else {}
            await self._harm(say)
            heal = time.monotonic_ns()
            say("calm")
            await asyncio.sleep(max(self.phase.calm, self.phase.serves_within + 2.0))
            self.field.note_crashes()
            end = time.monotonic_ns()
            if holders:
                now = await self.field.holders()
                self._find(
                    "Changed hands",
                    [
                        f"{name}: {held} to {now.get(name, 'nobody')}"
                        for name, held in holders.items()
                        if now.get(name) != held
                    ],
                )
            await self._finish(say)
            self._judge(served, heal, end)
        except (Stuck, CausewayError) as error:
            self._find("Stuck", [str(error)])
        finally:
            await self.field.end()
        self.outcome.seconds = time.monotonic() - began
        if self.outcome.holds:
            self.field.clear()
        return self.outcome

    def _find(self, rule: str, examples: list[str]) -> None:
        if examples:
            self.outcome.findings.append(Finding(rule, len(examples), tuple(examples[:SHOWN_MAX])))

    # Faults --------------------------------------------------------------------------------------------------------
    async def _harm(self, say: Callable[[str], None]) -> None:
        running: list[asyncio.Task[None]] = []
        due = time.monotonic()
        for step in self.phase.steps:
            if step.whole:
                await asyncio.gather(*running)
                if not await self.field.wait_whole(WHOLE_SECONDS_MAX):
                    self._find("Whole", [f"not whole again within {WHOLE_SECONDS_MAX:g} s, before {step.fault}"])
                due = time.monotonic()
            due += step.wait
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            self.arena.meant.clear()
            began = time.monotonic_ns()
            try:
                remedy = await step.fault.begin(self.arena)
            except Nobody as reason:
                say(f"left out: {step.fault} ({reason})")
                self._find("Left out", [] if self.phase.mixed else [f"{step.fault}: {reason}"])
                continue
            name = self.arena.named(step.fault)
            say(name)
            running.append(asyncio.create_task(self._undo(name, step.lasts, remedy, began)))
        await asyncio.gather(*running)

    async def _undo(self, name: str, lasts: float, remedy: Remedy, began: Instant) -> None:
        await asyncio.sleep(lasts)
        await remedy()
        self._faults.append((name, began, time.monotonic_ns()))

    # Verdict -------------------------------------------------------------------------------------------------------
    async def _finish(self, say: Callable[[str], None]) -> None:
        """Sending ends, and what is owed arrives."""
        say("finish")
        waiting = await self.field.hush(QUIET_SECONDS_MAX)
        self._find("Quiet", [f"{name} was not told what became of its sends" for name in waiting])
        self._owed.hear(self.field.lines)
        deadline = time.monotonic() + OWED_SECONDS_MAX
        while self._owed.owed() and time.monotonic() < deadline:
            await asyncio.sleep(0.1)
            self._owed.hear(self.field.catch_up())
        # What comes twice comes a little later.
        await asyncio.sleep(0.5)

    def _judge(self, served: Instant, heal: Instant, end: Instant) -> None:
        self.field.catch_up()
        lines, outcome, phase = self.field.lines, self.outcome, self.phase
        self.judge.hear(lines)
        outcome.findings += self.judge.verdict()
        service = Service(lines)
        late = service.served_again(heal, end)
        outcome.served_again = max((span.seconds for span in late), default=0.0)
        self._find(
            "Served again",
            [f"{s.name} after {s.seconds:.1f} s" for s in late if s.seconds > phase.serves_within],
        )
        gaps = service.gaps(served, heal)
        outcome.longest_gap = max((span.seconds for span in gaps), default=0.0)
        if phase.gap_max:
            self._find(
                "Served on",
                [f"{g.name}: nothing for {g.seconds:.1f} s" for g in gaps if g.seconds > phase.gap_max],
            )
        calm = self._calm(served, end)
        self._find(
            "Starved",
            [
                f"{s.name}: nothing for {s.seconds:.1f} s from {(s.begin - served) / SECOND:.1f} s on"
                for s in [*service.starved(mailboxes_read(phase.jobs), calm), *service.stalled(calm)]
            ],
        )
        self._find("Handed out again", service.handed_again(HANDED_MAX))
        self._find("Crashed", self.field.crashes)
        parts: dict[tuple[str, int, int], int] = {}
        for line in lines:
            outcome.sent += len(line.letters) if line.did in (Did.SENT, Did.BEGUN) else 0
            if line.did is Did.BEGUN:
                parts[(line.who, line.life, line.number)] = len(line.letters)
            elif line.did is Did.COMMITTED:
                outcome.acknowledged += parts[(line.who, line.life, line.number)]
            outcome.acknowledged += line.did is Did.ACKNOWLEDGED
            outcome.failed += line.did is Did.FAILED
            outcome.delivered += line.did is Did.GOT
        outcome.bands = [(name, (a - served) / SECOND, (b - served) / SECOND) for name, a, b in self._faults]
        outcome.rate = _time_line(service, served, end)

    def _calm(self, served: Instant, end: Instant) -> list[Span]:
        """When no fault was on, nor one just over."""
        calm, since = [], served
        for _name, begin, over in sorted(self._faults, key=lambda fault: fault[1]):
            if begin > since:
                calm.append(Span("calm", since, begin))
            since = max(since, over + int(RECOVERY_SECONDS * SECOND))
        if end > since:
            calm.append(Span("calm", since, end))
        return calm


def _time_line(service: Service, begin: Instant, end: Instant) -> list[tuple[float, int, float, int]]:
    """Of whole windows."""
    count = (end - begin) // WINDOW
    waits: list[list[int]] = [[] for _ in range(count)]
    got = [0] * count
    for at, wait in service.waits:
        if 0 <= (place := (at - begin) // WINDOW) < count:
            waits[place].append(wait)
    for line in service.lines:
        if line.did is Did.GOT and 0 <= (place := (line.at - begin) // WINDOW) < count:
            got[place] += 1
    return [
        (
            place * WINDOW / SECOND,
            round(len(one) * SECOND / WINDOW),
            sorted(one)[len(one) // 2] / SECOND if one else 0.0,
            round(got[place] * SECOND / WINDOW),
        )
        for place, one in enumerate(waits)
    ]
