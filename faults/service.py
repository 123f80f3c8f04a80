"""Who was served, and when not: from the diaries alone. Pure.

Owns: lanes (one sender to one mailbox, one mailbox to its readers), the gaps between what they got done, and readers
that starve: mail is there, its reader is there, nothing is broken, and nothing moves.
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
        """Times in calm during which a mailbox had acknowledged letters and a reader, who got none of it."""
        return [span for mailbox in readers for span in self._starved(mailbox, calm)]

    def _starved(self, mailbox: str, calm: Sequence[Span]) -> list[Span]:
        found: list[Span] = []
        owed: dict[Letter, None] = {}
        got: dict[Letter, None] = {}
        since: Instant = 0
        for line in self.lines:
            for letter in line.letters:
                if line.did is Did.ACKNOWLEDGED and letter.dest == mailbox and letter not in got:
                    since = since if owed else line.at
                    owed[letter] = None
                elif line.did is Did.GOT and line.place == mailbox:
                    if owed:
                        found += _overlaps(Span(mailbox, since, line.at), calm)
                    got[letter] = None
                    owed.pop(letter, None)
                    since = line.at
        return found


def _overlaps(span: Span, calm: Sequence[Span]) -> list[Span]:
    """The parts of a span that lie in calm and are too long."""
    cut = [Span(span.name, max(span.begin, one.begin), min(span.end, one.end)) for one in calm]
    return [one for one in cut if one.end - one.begin >= STARVED]
