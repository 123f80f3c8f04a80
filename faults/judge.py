"""What the diaries of all applications prove: which guarantee did not hold, and with which letters.

Owns: what each line of a diary means to the checkers of the simulator, which have the rules and know nothing of the
product. Whoever reads a topic's letters reads them by a subscription: to the checkers a letter for two subscriptions is
two letters, one for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from causeway.sim.checkers.atomicity import Atomicity
from causeway.sim.checkers.base import Checker, Deed
from causeway.sim.checkers.causality import Causality
from causeway.sim.checkers.loss import NoLoss
from causeway.sim.checkers.once import ExactlyOnce
from causeway.sim.checkers.order import Order
from causeway.sim.checkers.refusal import Refusal
from causeway.sim.checkers.subscribing import wants
from causeway.sim.letters import Letter
from faults.diary import Did, Line
from faults.jobs import Job, Reading, Subscribing

SHOWN_MAX = 5
REFUSED = "Refused"
"""How the reason of a failure begins when the client raised that."""


class Finding(msgspec.Struct, frozen=True):
    """A guarantee that did not hold."""

    rule: str
    count: int
    examples: tuple[str, ...]


class Judge:
    """Of one phase."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.loss = NoLoss()
        self.once = ExactlyOnce()
        self.order = Order()
        self.atomicity = Atomicity()
        self.refusal = Refusal()
        self.causality = Causality()
        self._plain: tuple[Checker, ...] = (self.loss, self.once, self.order, self.atomicity, self.refusal)
        self._complaints: dict[str, list[str]] = {}
        self._deeds: dict[tuple[str, int, int], Deed] = {}
        self._wishes = {role.name: role.pattern for job in jobs for role in job.roles if isinstance(role, Subscribing)}
        self._began = 0
        for checker in (*self._plain, self.causality):
            checker.complain = _Collector(checker, self._complaints)  # type: ignore[method-assign]
        readers: dict[str, int] = {}
        for job in jobs:
            for role in job.roles:
                if not isinstance(role, Subscribing) and hasattr(role, "mailbox"):
                    readers[role.mailbox] = readers.get(role.mailbox, 0) + 1
                elif isinstance(role, Subscribing) and role.shared:
                    readers[role.name] = 2
        self._shared = [mailbox for mailbox, count in readers.items() if count > 1]
        for mailbox in self._shared:
            self._share(mailbox)

    def _share(self, mailbox: str) -> None:
        self.once.share(mailbox)
        self.order.share(mailbox)

    def hear(self, lines: Iterable[Line]) -> None:
        """All that was written, in any order."""
        for line in sorted(lines, key=lambda line: line.at):
            self._began = self._began or line.at
            for checker in (*self._plain, self.causality):
                checker.now = line.at - self._began
            self._tell(line)

    def _tell(self, line: Line) -> None:
        reader = (line.who, line.life)
        match line.did:
            case Did.BORN:
                for checker in (*self._plain, self.causality):
                    checker.reader_ended((line.who, line.life - 1))
            case Did.SENT | Did.ACKNOWLEDGED | Did.FAILED | Did.GOT | Did.SETTLED | Did.KEPT | Did.RETURNED:
                for letter in line.letters:
                    self._tell_letter(line, letter)
            case Did.BEGUN:
                deed = Deed(reader, line.number, line.letters, line.settles)
                self._deeds[(*reader, line.number)] = deed
                for checker in self._plain:
                    for letter in line.letters:
                        checker.sent(letter)
                    checker.begun(deed)
            case Did.COMMITTED | Did.ABORTED | Did.UNKNOWN:
                deed = self._deeds[(*reader, line.number)]
                outcome = {Did.COMMITTED: True, Did.ABORTED: False, Did.UNKNOWN: None}[line.did]
                for checker in self._plain:
                    checker.decided(deed, committed=outcome)
            case Did.WANTED:
                self.causality.subscribed(line.place, [line.detail])
            case Did.PROMISED:
                self.causality.subscription_begun(line.place)
            case _:
                pass

    def _tell_letter(self, line: Line, letter: Letter) -> None:
        if letter.causal:
            self._tell_one(self.causality, line, line.place, letter)
            return
        for place, meant in self._copies(line, letter):
            for checker in self._plain:
                self._tell_one(checker, line, place, meant)

    def _copies(self, line: Line, letter: Letter) -> list[tuple[str, Letter]]:
        """The letter, or what it is to each subscription: a letter to a place that it has for the topic."""
        if not letter.topic:
            return [(line.place, letter)]
        if line.place in self._wishes:
            names = [line.place]
        else:
            names = [name for name, pattern in self._wishes.items() if wants(pattern, letter.topic)]
        copies = []
        for name in names:
            place = f"{name} of {letter.topic}"
            if name in self._shared:
                self._share(place)
            copies.append((place, letter._replace(dest=place)))
        return copies

    def _tell_one(self, checker: Checker, line: Line, place: str, letter: Letter) -> None:
        reader = (line.who, line.life)
        match line.did:
            case Did.SENT:
                checker.sent(letter)
            case Did.ACKNOWLEDGED:
                checker.acknowledged(letter)
            case Did.FAILED:
                checker.failed(letter, line.detail)
                if line.detail.startswith(REFUSED):
                    checker.refused(letter)
            case Did.GOT:
                checker.delivered(place, reader, letter)
            case Did.SETTLED:
                checker.settled(place, reader, letter)
            case Did.KEPT:
                if isinstance(checker, ExactlyOnce):
                    checker.kept(letter, line.who)
            case Did.RETURNED:
                checker.returned(place, reader, letter)
            case _:
                pass

    def owed(self) -> int:
        """Acknowledged letters that have not arrived so far."""
        return len(self.loss.owed())

    def verdict(self) -> list[Finding]:
        """What did not hold; everything must have arrived by now."""
        for checker in (*self._plain, self.causality):
            checker.finish()
        found = []
        for rule, complaints in self._complaints.items():
            count = len(self.loss.owed()) if rule == self.loss.name else len(complaints)
            found.append(Finding(rule, count, tuple(complaints[:SHOWN_MAX])))
        return found


class _Collector:
    """Instead of ending at the first complaint, as a run of the simulator does, a campaign counts them."""

    def __init__(self, checker: Checker, complaints: dict[str, list[str]]) -> None:
        self._checker = checker
        self._complaints = complaints

    def __call__(self, evidence: str) -> None:
        at = f" (at {self._checker.now / 1e9:.3f} s)"
        self._complaints.setdefault(self._checker.name, []).append(evidence + at)


def mailboxes_read(jobs: Sequence[Job]) -> Mapping[str, list[str]]:
    """Who reads what."""
    found: dict[str, list[str]] = {}
    for job in jobs:
        for role in job.roles:
            place = role.name if isinstance(role, Subscribing) else role.mailbox if isinstance(role, Reading) else ""
            if place:
                found.setdefault(place, []).append(job.name)
    return found
