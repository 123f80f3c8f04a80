"""What an application was shown at other seats than its own since its last send in causal order.

A seat knows what it handed out itself. What its application read at another one it cannot know, unless the next batch
says so: with the number up to which that seat had handed out. Owns: those numbers. Must not know: batches, links.
"""

from __future__ import annotations

from causeway.client.lots import Lot
from causeway.domains.limits import MARKS_MAX

After = tuple[tuple[str, int], ...]
"""Seats, each with the highest number of its own that was shown; the one shown last first."""


class Marks:
    """Of one session."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def note(self, lot: Lot, shown: int) -> None:
        """The first `shown` messages of a lot were handed to the application."""
        if lot.causal:
            self._add(lot.source, lot.first + shown - 1)

    def take(self) -> After:
        """All there is, for a batch that says it."""
        numbers, self._numbers = self._numbers, {}
        return tuple(reversed(numbers.items()))

    def give_back(self, after: After) -> None:
        """The batch that was to say this will not arrive: the next one must."""
        newer = self.take()
        for seat, number in reversed(merged(newer, after)):
            self._add(seat, number)

    def _add(self, seat: str, number: int) -> None:
        self._numbers[seat] = max(self._numbers.pop(seat, 0), number)  # what was shown last comes last
        if len(self._numbers) > MARKS_MAX:
            del self._numbers[next(iter(self._numbers))]


def merged(newer: After, older: After) -> After:
    """Both in one."""
    numbers = dict(newer)
    for seat, number in older:
        numbers[seat] = max(number, numbers.get(seat, 0))
    return tuple(numbers.items())[:MARKS_MAX]
