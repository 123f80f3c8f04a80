"""Who was served, and when not: from the diaries alone. Pure.

Owns: lanes (one sender to one mailbox, one mailbox to its readers), the gaps between what they got done, and those that
starve: nothing is broken, a reader has mail or a sender waits for its answer, and nothing moves.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from causeway.sim.letters import Letter
from causeway.types import SECOND, Duration, Instant
from faults.diary import Did, Line

STARVED: Duration = 2 * SECOND
"""So long nothing may stand still that could move."""


class Span(msgspec.Struct, frozen=True):
    """Time in which something was so."""

    name: str
    begin: Instant
    end: Instant

    @property
    def seconds(self) -> float:
        """How long."""
        return (self.end - self.begin) / SECOND


class Service:
    """What got done, in the order of time."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = sorted(lines, key=lambda line: line.at)
        self._done: dict[str, list[Instant]] = {}
        self.waits: list[tuple[Instant, Duration]] = []
        """When a send was acknowledged, and how long that took."""
        sent: dict[Letter, Instant] = {}
        for line in self.lines:
            for letter in line.letters:
                if line.did is Did.SENT:
                    sent[letter] = line.at
                elif line.did is Did.ACKNOWLEDGED:
                    self._done.setdefault(f"{line.who} to {letter.dest}", []).append(line.at)
                    self.waits.append((line.at, line.at - sent.get(letter, line.at)))
                elif line.did is Did.GOT:
                    self._done.setdefault(f"{line.place} to {line.who}", []).append(line.at)

    def gaps(self, begin: Instant, end: Instant) -> list[Span]:
        """Of each lane the longest time between `begin` and `end` in which it got nothing done."""
        found = []
        for lane, moments in self._done.items():
            inside = [begin, *(at for at in moments if begin < at < end), end]
            since, until = max(itertools.pairwise(inside), key=lambda pair: pair[1] - pair[0])
            found.append(Span(lane, since, until))
        return found

    def served_again(self, heal: Instant, end: Instant) -> list[Span]:
        """Of each lane how long after the heal it got something done; until `end` if never."""
        found = []
        for lane, moments in self._done.items():
            first = next((at for at in moments if at >= heal), end)
            found.append(Span(lane, heal, first))
        return found

    def handed_again(self, times_max: int) -> list[str]:
        """Letters that were handed to more lives than that, and the highest count of deliveries that came with them."""
        handed: dict[tuple[str, Letter], list[int]] = {}
        for line in self.lines:
            if line.did is Did.GOT:
                for letter in line.letters:
                    handed.setdefault((line.place, letter), []).append(line.number)
        return [
            f"{letter} was handed out {len(counts)} times from {place}; deliveries said {max(counts)} at most"
            for (place, letter), counts in handed.items()
            if len(counts) > times_max
        ]

    def starved(self, readers: Mapping[str, Sequence[str]], calm: Sequence[Span]) -> list[Span]:
        """Times in calm during which a mailbox had acknowledged letters and a reader, who got none of them."""
        lines = [line for line in self.lines if line.did in (Did.ACKNOWLEDGED, Did.GOT)]
        return _still(
            (
                (letter.dest if line.did is Did.ACKNOWLEDGED else line.place, letter, line)
                for line in lines
                for letter in line.letters
                if (letter.dest if line.did is Did.ACKNOWLEDGED else line.place) in readers
            ),
            Did.ACKNOWLEDGED,
            calm,
        )

    def stalled(self, calm: Sequence[Span]) -> list[Span]:
        """Times in calm during which a sender waited for the fate of what it had sent, and heard nothing."""
        dids = (Did.SENT, Did.ACKNOWLEDGED, Did.FAILED)
        lines = [line for line in self.lines if line.did in dids]
        return _still(
            ((f"{line.who} to {letter.dest}", letter, line) for line in lines for letter in line.letters),
            Did.SENT,
            calm,
        )


def _still(moves: Iterable[tuple[str, Letter, Line]], comes: Did, calm: Sequence[Span]) -> list[Span]:
    """Of each lane the times in which something that has come waits, and nothing goes."""
    found: list[Span] = []
    waiting: dict[str, dict[Letter, None]] = {}
    gone: dict[str, dict[Letter, None]] = {}
    since: dict[str, Instant] = {}
    for lane, letter, line in moves:
        owed, done = waiting.setdefault(lane, {}), gone.setdefault(lane, {})
        if line.did is comes:
            if letter not in done:
                since[lane] = since[lane] if owed else line.at
                owed[letter] = None
            continue
        if owed:
            found += _overlaps(Span(lane, since[lane], line.at), calm)
        done[letter] = None
        owed.pop(letter, None)
        since[lane] = line.at
    return found


def _overlaps(span: Span, calm: Sequence[Span]) -> list[Span]:
    """The parts of a span that lie in calm and are too long."""
    cut = [Span(span.name, max(span.begin, one.begin), min(span.end, one.end)) for one in calm]
    return [one for one in cut if one.end - one.begin >= STARVED]
