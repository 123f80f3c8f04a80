"""Writers of made-up records: each counts its own in each life, and has a clock of its own that is wrong.

Owns: the shape of a record. Must not know: what happens to messages (`world`).
"""

from __future__ import annotations

import random
from typing import Any, Final, NamedTuple

from causeway.lake.days import DAY, day_name
from causeway.lake.schema import EVENTS, LAKE_VERSION, PARTITIONS
from causeway.trace import Step
from causeway.types import MILLISECOND, SECOND

BEGINNING: Final = 1_790_000_000 * SECOND
"""When a made-up lake begins, by a right clock: in September 2026."""
COLUMNS: Final = (*(column.name for column in EVENTS), *PARTITIONS)

Record = tuple[Any, ...]


class MadeBatch(NamedTuple):
    """Messages that are sent together, as their sender calls them."""

    source: str
    incarnation: int
    dest: str
    stream: int
    first: int
    last: int
    service: int
    reliable: bool
    causal: bool
    topic: str
    size: int


class MadeClock:
    """Reads the time with an error that drifts, and jumps now and then."""

    def __init__(self, chance: random.Random) -> None:
        self._offset = int(chance.gauss(0, 200 * MILLISECOND))
        self._drift = chance.uniform(-2e-5, 2e-5)

    def jump(self, chance: random.Random) -> None:
        """Somebody has set it."""
        self._offset += int(chance.gauss(0, 5 * SECOND))

    def read(self, now: int) -> int:
        return BEGINNING + now + self._offset + int(now * self._drift)


class Writer:
    """A broker or an application, life after life."""

    def __init__(self, name: str, role: str, domain: str, out: list[Record], chance: random.Random) -> None:
        self.name = name
        self.life = 1
        self._role, self._domain = role, domain
        self._out = out
        self._sequence = 0
        self.clock = MadeClock(chance)
        self.muted = False
        """Its records do not reach the lake any more, because it will be killed before they are written."""
        self.dropping = False
        """Its records are counted and lost."""

    def write(
        self,
        now: int,
        step: Step,
        batch: MadeBatch,
        mailbox: str = "",
        *,
        peer: str = "",
        seat: str = "",
        epoch: int = 0,
        copies: int = 0,
        note: str = "",
    ) -> None:
        """One record."""
        if self.muted:
            return
        self._sequence += 1
        if self.dropping:
            return
        at = self.clock.read(now)
        whose = (LAKE_VERSION, self.name, self._role, self.life, self._sequence, at, int(step))
        more = (seat, peer, epoch, copies, batch.size, note, day_name(at // DAY), self._domain, "events")
        self._out.append((*whose, *batch[:10], mailbox, *more))

    def restart(self, now: int, *, closed: bool) -> None:
        """Its life ends, in order or not, and the next one begins."""
        if closed:
            self.write(now, Step.ENDED, NOTHING)
        self.muted = False
        self.life += 1
        self._sequence = 0


NOTHING: Final = MadeBatch("", 0, "", 0, 0, 0, 0, False, False, "", 0)
