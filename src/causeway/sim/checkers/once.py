"""No application gets a letter again that somebody is done with: the last column of docs/guarantees.md.

In every class a letter whose reader gives it back, or ends or is cut off before its acknowledgement is confirmed, may
be delivered again; after the confirmation nobody in charge hands it out (`handing`), and only where several read a
mailbox can it have been under way to another. Within one life of one reader the client suppresses what it has seen,
so there a second delivery needs a return in between. An application that keeps its state is not shown again what it
told a broker it was done with, confirmed or not.

A letter that was given back too often comes once more, as a dead letter; but not if somebody is done with it.
"""

from __future__ import annotations

from causeway.sim.checkers.base import Checker, Reader
from causeway.sim.letters import Letter


class ExactlyOnce(Checker):
    """Every class: that nothing comes again after a confirmed acknowledgement is part of all of them."""

    def __init__(self) -> None:
        super().__init__()
        self._held: dict[tuple[Letter, Reader], None] = {}
        """Delivered to this life of this reader, and not given back."""
        self._done: dict[Letter, Reader] = {}
        """Acknowledged, and the acknowledgement confirmed."""
        self._kept: dict[tuple[Letter, str], None] = {}
        """Accepted by an application that remembers over restarts, and told to a broker."""
        self._sent: dict[Letter, None] = {}
        self._shared: dict[str, None] = {}

    def share(self, mailbox: str) -> None:
        """A mailbox has several readers: one that was cut off may get late what another is done with by then."""
        self._shared[mailbox] = None

    def sent(self, letter: Letter) -> None:
        self._sent[letter] = None

    def delivered(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        if letter not in self._sent:
            self.complain(f"{letter} was delivered to {reader} and never sent")
        if (letter, reader) in self._held:
            self.complain(f"{letter} was delivered twice to {reader} from {mailbox}")
        if (letter, reader[0]) in self._kept:
            self.complain(f"{letter} was shown again to {reader}, which had kept that it accepted it")
        done = self._done.get(letter)
        if done is not None and mailbox not in self._shared:
            self.complain(f"{letter} was delivered to {reader} from {mailbox} after {done} was done with it")
        self._held[(letter, reader)] = None

    def kept(self, letter: Letter, application: str) -> None:
        """An application with kept state has told a broker that it is done with a letter."""
        self._kept[(letter, application)] = None

    def settlement_confirmed(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        self._done[letter] = reader

    def reader_ended(self, reader: Reader) -> None:
        for place in [place for place in self._held if place[1] == reader]:
            del self._held[place]

    def returned(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        self._held.pop((letter, reader), None)
