"""Dead letters: messages given back too often leave for a mailbox of their own.

A message that reached its bound is *condemned*: it stays safe in its mailbox, and nobody gets it there any more. It is
*buried* when the dead-letter mailbox has it. Burying is a send that cannot be recalled. A former holder's settlement
that comes after the verdict is too late; it is told so, during the burial and after it, so that no message is ever both
settled and a dead letter. A condemned message that finds no room in the outbox is only remembered by its numbers, and
taken up again when an earlier one has arrived.

Owns: where dead letters go, and as what; what a mailbox knows of them; their way out of this broker.
Must not know: when a message is given back too often (Contents).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from causeway.core.machine import Turn
from causeway.core.mail.backlog import Backlog
from causeway.core.mail.batches import DEAD, LOCKED, Shelf
from causeway.core.mail.rows import BURIED, StoredBatch, encode
from causeway.core.messages import Config, Deposit
from causeway.limits import BURIED_RANGES_MAX, NAME_BYTES_MAX
from causeway.ranges import IdSet
from causeway.store.base import Put
from causeway.types import VOLATILE_FROM, Flag, Key, ServiceClass, Span, key_of

if TYPE_CHECKING:
    from causeway.core.mail.box import Box
    from causeway.core.mail.office import Office
    from causeway.core.mail.outbox import Outbox

DEAD_PREFIX = "dead/"


def dead_letter_name(mailbox: str) -> str:
    """Where messages of a mailbox go that were given back too often."""
    name = DEAD_PREFIX + mailbox
    if len(name.encode()) > NAME_BYTES_MAX:
        name = DEAD_PREFIX + key_of(mailbox).hex()
    return name


def dead_letter(mailbox: str, config: Config, batch: StoredBatch, incarnation: int) -> Deposit:
    """The batch that buries messages; their numbers make it exactly once. `incarnation` is this broker's."""
    return Deposit(
        mailbox,
        incarnation if batch.seq >= VOLATILE_FROM else config.born,
        dead_letter_name(mailbox),
        ServiceClass.RECOVERABLE,
        batch.seq,
        batch.count,
        0,
        batch.flags & Flag.HEADERS | Flag.RELIABLE,
        batch.priority,
        0,
    )


class DeadNumbers:
    """What one mailbox knows of its dead letters: how many are condemned, the numbers that were buried (a row)."""

    __slots__ = ("_changed", "_group", "buried", "condemned")

    def __init__(self, group: bytes) -> None:
        self._group = group
        self._changed = False
        self.condemned = 0
        """Messages in memory that wait for the dead-letter mailbox."""
        self.buried = IdSet()

    def restore(self, spans: Iterable[Span]) -> None:
        """What a former owner buried."""
        self.buried = IdSet(spans)

    def bury(self, first: int, count: int) -> None:
        """The dead-letter mailbox has these messages."""
        self.condemned -= count
        if first < VOLATILE_FROM:
            self.buried.add(first, first + count - 1)
            self.buried.forget_lowest(BURIED_RANGES_MAX)
            self._changed = True

    def rows(self) -> list[Put]:
        """What is to be written."""
        if not self._changed:
            return []
        self._changed = False
        return [Put(self._group, BURIED, 0, encode(self.buried.spans()))]


def beyond(
    spans: Sequence[Span], dead_numbers: DeadNumbers, backlog: Backlog, shelves: tuple[Shelf, Shelf], *, locks: bool
) -> tuple[list[Span], list[Span]]:
    """Of these numbers, those condemned or buried, and those locked (looked for only if there are `locks`)."""
    dead: list[Span] = []
    locked: list[Span] = []
    if not (locks or dead_numbers.condemned or dead_numbers.buried or backlog.condemned):
        return dead, locked
    for first, last in spans:
        dead += dead_numbers.buried.common(first, last)
        if backlog.is_open:
            dead += backlog.condemned.common(max(first, backlog.start), last)
        for number, batch in shelves[first >= VOLATILE_FROM].covering(first, last):
            for part in batch.parts:
                low, high = max(first, number + part.start), min(last, number + part.stop - 1)
                if part.state & (DEAD | LOCKED) and low <= high:
                    (dead if part.state == DEAD else locked).append((low, high))
    return dead, locked


class Burials:
    """Between the office, which condemns, and the outbox, which sends."""

    def __init__(self, office: Office, outbox: Outbox, incarnation: int) -> None:
        self._office = office
        self._outbox = outbox
        self._incarnation = incarnation
        self._waiting: dict[Key, None] = {}
        """Mailboxes with condemned messages that found no room; who got some is last."""

    def flush(self, turn: Turn) -> None:
        """End of a turn: what was condemned leaves, as far as there is room."""
        fresh, self._office.bury = self._office.bury, []
        for mailbox, config, batch in fresh:
            if self._outbox.can_bury(mailbox):
                self._bury(turn, mailbox, config, batch)
            else:
                self._put_off(mailbox, batch)
        if self._outbox.burials_ended:
            self._outbox.burials_ended = False
            self._take_up(turn)

    def _bury(self, turn: Turn, mailbox: str, config: Config, batch: StoredBatch) -> None:
        self._outbox.bury(turn, dead_letter(mailbox, config, batch, self._incarnation), batch.body)

    def _put_off(self, mailbox: str, batch: StoredBatch) -> None:
        group = key_of(mailbox)
        box = self._office.boxes.get(group)
        if box is not None:  # else the next owner finds it condemned, and buries it
            box.unburied.append((batch.seq, batch.seq + batch.count - 1))
            self._waiting[group] = None

    def _take_up(self, turn: Turn) -> None:
        """There is room again, for some mailbox at least."""
        for group in list(self._waiting):
            box = self._office.boxes.get(group)
            if box is None:
                del self._waiting[group]
            elif self._outbox.can_bury(box.mailbox.name):
                del self._waiting[group]
                self._go_on(turn, box)
                if box.unburied:
                    self._waiting[group] = None

    def _go_on(self, turn: Turn, box: Box) -> None:
        """Bury what was put off, oldest verdict first. What is sent twice is known by its numbers where it arrives."""
        name = box.mailbox.name
        while box.unburied:
            for batch in box.mailbox.condemned_among(*box.unburied[0]):
                if not self._outbox.can_bury(name):
                    return
                self._bury(turn, name, box.config, batch)
            box.unburied.popleft()
