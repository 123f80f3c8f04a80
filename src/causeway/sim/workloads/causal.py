"""Talk in causal order: letters, publications, and answers to both, over a tree of domains.

Everybody reads its own mailbox, most of them with topics in it, so that what is sent to them and what is published have
one order. A queue with two readers lets causes pass over a mailbox whose seat is not its readers'.
"""

from __future__ import annotations

from causeway.sim.application import Application
from causeway.sim.held import Held
from causeway.sim.letters import CAUSAL
from causeway.sim.workloads.base import Workload
from causeway.types import MILLISECOND, ServiceClass

TOPICS = (f"{CAUSAL}/talk", f"{CAUSAL}/news/near", f"{CAUSAL}/news/far")
PATTERNS = (f"{CAUSAL}/#", f"{CAUSAL}/#", f"{CAUSAL}/news/*", f"{CAUSAL}/talk", "")
"""What mailboxes want besides what is sent to them."""
QUEUE = f"{CAUSAL}-queue"
SERVICES = (ServiceClass.TRANSACTIONAL, ServiceClass.RECOVERABLE, ServiceClass.EXPRESS)
ANSWERED = 0.5
"""Share of letters that are answered; of published ones by one reader, on average."""
PUBLISHED_SHARE = 0.3
QUEUE_SHARE = 0.1
"""Of letters, those that whoever of its readers is free gets."""
EARLY = 0.3
"""Share of applications that begin before everybody sits: they take part at the seats that are there."""


class CausalTalk(Workload):
    """Everybody to everybody, and to all at once."""

    def setup(self) -> None:
        options = self.scene.options
        self.talkers: list[Application] = []
        self.patterns: dict[str, str] = {}
        self.scene.mailbox(QUEUE)
        self.scene.panel.share(QUEUE)
        for number in range(max(3, 2 * options.clients)):
            talker = self.scene.application(f"{CAUSAL}-{number}", keep=self.rng.random() < 0.25)
            self.patterns[talker.name] = self.rng.choice(PATTERNS)
            self.scene.mailbox(talker.name)
            talker.on_letter = self._look
            talker.on_start = self._read
            self.talkers.append(talker)
            if self.rng.random() < EARLY:
                self.scene.launch(talker)
        self._begin()

    def _begin(self) -> None:
        """Talk when the domains are joined: what is published before reaches those that were."""
        options = self.scene.options
        if not self.scene.seated():
            if self.active:
                self.scene.world.after(100 * MILLISECOND, self._begin)
            return
        for talker in self.talkers:
            self.scene.launch(talker)
            self.every(options.rate / options.burst, lambda talker=talker: self._burst(talker))  # type: ignore[misc]

    def pending(self) -> str | None:
        owed = self.scene.panel.causality.owed()
        return f"{len(owed)} acknowledged letters have not come, first {owed[0][1]} to {owed[0][0]}" if owed else None

    def _read(self, talker: Application) -> None:
        credit, pattern = self.scene.options.credit, self.patterns[talker.name]
        if pattern:
            talker.read_with_topics(talker.name, pattern, credit)
        else:
            talker.read(talker.name, credit)
        if talker in self.talkers[:2]:
            talker.read(QUEUE, credit)

    def _burst(self, talker: Application) -> None:
        if talker.up:
            for _ in range(self.rng.randint(1, 2 * self.scene.options.burst - 1)):
                self._write(talker)

    def _write(self, talker: Application) -> None:
        options = self.scene.options
        service, size = self.rng.choice(SERVICES), self.rng.randint(1, options.letter_bytes)
        if self.rng.random() < PUBLISHED_SHARE:
            talker.publish(self.rng.choice(TOPICS), service, size, timeout=options.send_timeout)
            return
        dest = QUEUE if self.rng.random() < QUEUE_SHARE else self.rng.choice(self.talkers).name
        talker.send(dest, service, size, timeout=options.send_timeout)

    def _look(self, held: Held) -> None:
        """Answer it, perhaps to somebody else: what is written now happened after everything read before."""
        readers = len(self.talkers) if held.letter.topic else 1
        if self.active and self.rng.random() < ANSWERED / readers:
            self._write(held.application)
        self.think_and_settle(held)
