"""Writers of made-up records: each counts its own in each life, and has a clock of its own that is wrong.

Owns: the shape of a record. Must not know: what happens to messages (`world`).
"""

from __future__ import annotations

import random
from typing import Any, Final, NamedTuple
from zlib import crc32

from causeway.lake.days import DAY, day_name
from causeway.lake.schema import EVENTS, LAKE_VERSION, PARTITIONS
from causeway.lake.seal import row_digest
from causeway.trace import Step, transaction_name
from causeway.types import MILLISECOND, SECOND, ServiceClass

BEGINNING: Final = 1_790_000_000 * SECOND
"""When a made-up lake begins, by a right clock: in September 2026."""
COPIES: Final = 3
_NAMES: Final = tuple(column.name for column in EVENTS)
_COMMITTED: Final = int(ServiceClass.COMMITTED)
_TOGETHER: Final = (Step.SENT, Step.PREPARED, Step.ACKNOWLEDGED, Step.STORED)
"""Steps that name the transaction in which something was sent."""
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
        self._unsealed = 0
        """Digests of what was written in this life."""
        self._before = 0
        """The last life in which anything was."""
        self._copies = COPIES if role == "broker" else 0
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
        transaction = _transaction_of(batch) if step in _TOGETHER else ""
        values = (*whose, *batch[:10], mailbox, seat, peer, epoch, copies, batch.size, note, transaction)
        self._unsealed += row_digest(dict(zip(_NAMES, values, strict=True)))
        self._keep(values, at)

    def _keep(self, values: Record, at: int) -> None:
        self._out.append((*values, day_name(at // DAY), self._domain, "events"))

    def _seal(self, now: int) -> None:
        """All that was written in this life is one segment."""
        at = self.clock.read(now)
        whose = (LAKE_VERSION, self.name, self._role, self.life, 0, at, int(Step.SEALED))
        ids = ("", self._before, "", 0, 1, self._sequence, 0, False, False, "")
        values = (*whose, *ids, "", "", "", 0, self._copies, 0, "", "")
        total = self._unsealed + row_digest(dict(zip(_NAMES, values, strict=True)))
        self._keep((*values[:-2], str(total), ""), at)
        self._before = self.life

    def restart(self, now: int, *, closed: bool) -> None:
        """Its life ends, in order or not, and the next one begins."""
        if closed:
            self.write(now, Step.ENDED, NOTHING)
        if self._unsealed:
            self._seal(now)
        self.muted = False
        self.life += 1
        self._sequence = self._unsealed = 0


def _transaction_of(batch: MadeBatch) -> str:
    """Each batch to a mailbox is a transaction of its own: its number is that of its first message, and of where to."""
    if batch.stream != _COMMITTED:
        return ""
    return transaction_name(*batch[:2], batch.first << 32 | crc32(batch.dest.encode()))


NOTHING: Final = MadeBatch("", 0, "", 0, 0, 0, 0, False, False, "", 0)
