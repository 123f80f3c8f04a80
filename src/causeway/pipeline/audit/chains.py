"""What applications did, which batch each message that was taken belongs to, and chains of events between two of them.

Owns: these lookups. Must not know: what order is right (`happened`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Records(NamedTuple):
    """What applications that talk to each other did: one entry per SENT or RECEIVED, in any order. Codes are numbers
    from 0 on that stand for names."""

    writer: NDArray[np.int64]
    """Code of the application."""
    life: NDArray[np.int64]
    sequence: NDArray[np.int64]
    sent: NDArray[np.bool_]
    """SENT; otherwise RECEIVED."""
    source: NDArray[np.int64]
    """Code of the sender, among those of `writer`."""
    incarnation: NDArray[np.int64]
    stream: NDArray[np.int64]
    """Code of destination and class under which the ids count."""
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    mailbox: NDArray[np.int64]
    """Code."""


class TakenPart(NamedTuple):
    """Messages of one batch that were taken together."""

    first: int
    last: int
    batch: int
    """Entry in which they were sent."""


Parts = Mapping[int, tuple[TakenPart, ...]]
"""By entry that took something: of which batches. What nobody is known to have sent is in none."""


def matched(records: Records, sender: NDArray[np.int64]) -> Parts:
    """Which batches were taken in which entries."""
    streams: dict[tuple[int, int], list[int]] = {}
    sends = np.flatnonzero(records.sent)
    for entry in sends[np.argsort(records.first[sends], kind="stable")].tolist():
        streams.setdefault((int(sender[entry]), int(records.stream[entry])), []).append(entry)
    firsts = {stream: records.first[entries] for stream, entries in streams.items()}
    found: dict[int, tuple[TakenPart, ...]] = {}
    for entry in np.flatnonzero(~records.sent).tolist():
        stream = (int(sender[entry]), int(records.stream[entry]))
        if stream in streams:
            found[entry] = tuple(_parts(records, entry, streams[stream], firsts[stream]))
    return found


def _parts(records: Records, entry: int, batches: list[int], firsts: NDArray[np.int64]) -> Iterator[TakenPart]:
    first, last = int(records.first[entry]), int(records.last[entry])
    for at in range(max(0, int(np.searchsorted(firsts, first, "right")) - 1), len(batches)):
        batch = batches[at]
        if records.first[batch] > last:
            return
        low, high = max(first, int(records.first[batch])), min(last, int(records.last[batch]))
        if low <= high:
            yield TakenPart(low, high, batch)


class Chains:
    """Walks through a replay to show how one event led to another."""

    def __init__(
        self,
        sequence: NDArray[np.int64],
        process: NDArray[np.int64],
        mailbox: NDArray[np.int64],
        parts: Parts,
        log: Sequence[int],
    ) -> None:
        self._sequence, self._process, self._mailbox = sequence, process, mailbox
        self._parts = parts
        self._log = log
        self._places: dict[int, int] | None = None

    def of(self, taken: int, late: TakenPart) -> tuple[int, ...]:
        """From the SENT of messages that came late to the entry that took what came before, and theirs."""
        if self._places is None:
            self._places = {entry: place for place, entry in enumerate(self._log)}
        cause, mailbox = late.batch, self._mailbox[taken]
        begun = int(self._process[cause])
        reached: dict[int, int] = {begun: cause}
        """By life: the entry from which on everything it sends comes after the cause."""
        for place in range(self._places.get(cause, 0), self._places[taken]):
            entry = self._log[place]
            for part in self._parts.get(entry, ()):
                sender = int(self._process[part.batch])
                since = reached.get(sender)
                if since is None or self._sequence[part.batch] < self._sequence[since]:
                    continue
                if self._mailbox[entry] == mailbox and (part.batch != cause or part.last > late.last):
                    return (*self._back(reached, part.batch, cause), entry, taken)
                reached.setdefault(int(self._process[entry]), entry)
        return cause, taken

    def _back(self, reached: Mapping[int, int], batch: int, cause: int) -> list[int]:
        """From the cause to the SENT of a batch."""
        steps = [batch]
        while self._process[steps[-1]] != self._process[cause]:
            got = reached[int(self._process[steps[-1]])]
            before = next(
                part.batch
                for part in self._parts[got]
                if int(self._process[part.batch]) in reached
                and self._sequence[part.batch] >= self._sequence[reached[int(self._process[part.batch])]]
            )
            steps += [got, before]
        return [cause, *(step for step in reversed(steps) if step != cause)]
