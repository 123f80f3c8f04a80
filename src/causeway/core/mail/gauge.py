"""Reads how much is in the way at this broker: in the mailboxes that it owns, and in its outbox (ports.Gauge).

Owns: whose turn it is, and one sample of latency per mailbox. Must not know: what is too much. Costs nothing between
two looks: all that is read is there already, and the sample waits with an operation that is on its way in any case.
"""

from __future__ import annotations

from collections.abc import Callable

from causeway.core.machine import Turn
from causeway.core.mail.box import Box
from causeway.core.mail.office import Office
from causeway.core.mail.outbox import Outbox
from causeway.core.ports import Figures
from causeway.domains.limits import GAUGED_AT_ONCE_MAX
from causeway.types import Duration, Instant, Key


class LatencySample:
    """One operation of a mailbox, from a look until it is on all copies."""

    __slots__ = ("begun", "taken")

    def __init__(self, now: Instant) -> None:
        self.begun = now
        self.taken: Duration | None = None

    def end(self, turn: Turn) -> None:
        """It is."""
        self.taken = turn.now - self.begun

    def latency(self, now: Instant) -> Duration:
        """What it took, or has taken so far."""
        return now - self.begun if self.taken is None else self.taken


class MailGauge:
    """The figures of one broker's mail."""

    def __init__(self, name: str, office: Office, outbox: Outbox, clogged: Callable[[int], bool]) -> None:
        self._name = name
        self._clogged = clogged
        self._office = office
        self._outbox = outbox
        self._round: list[Key] = []
        """Mailboxes whose turn is still to come."""
        self._samples: dict[Key, LatencySample] = {}

    def read(self, turn: Turn) -> list[Figures]:
        """The next mailboxes, and the outbox."""
        boxes = self._office.boxes
        if not self._round:
            self._round = list(reversed(boxes))
            self._samples = {group: sample for group, sample in self._samples.items() if group in boxes}
        found = [Figures(self._name, 0, sum(self._outbox.bytes.values()))]
        for _ in range(min(GAUGED_AT_ONCE_MAX, len(self._round))):
            group = self._round.pop()
            box = boxes.get(group)
            if box is not None and not box.shown_only:  # a history keeps what nobody consumes, on purpose
                found.append(self._read(turn, group, box))
        return found

    def _read(self, turn: Turn, group: Key, box: Box) -> Figures:
        figures = box.mailbox.figures(self._clogged)
        sample = self._samples.get(group)
        if sample is not None:
            figures = figures._replace(latency=sample.latency(turn.now))
            if sample.taken is None:
                return figures  # it is still on its way
            del self._samples[group]
        if box.done:
            # The youngest one: nothing is known of when those on their way began, but it is the last of them.
            sample = self._samples[group] = LatencySample(turn.now)
            box.after(turn, sample.end)
        return figures
