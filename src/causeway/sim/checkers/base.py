"""What a checker is told and how it complains.

Checkers know what applications did and saw, and what travelled between brokers; nothing of the product's inside.
One invariant per file. A complaint ends the run at once, with the evidence in its text.
"""

from __future__ import annotations

from collections.abc import Sequence

from causeway.sim.letters import Letter
from causeway.types import Instant


class Wrong(Exception):
    """An invariant does not hold."""

    def __init__(self, checker: str, evidence: str) -> None:
        self.checker, self.evidence = checker, evidence
        super().__init__(f"{checker}: {evidence}")


class Checker:
    """Observations an invariant may depend on; a checker overrides those it needs."""

    def __init__(self) -> None:
        self.now: Instant = 0
        """Virtual time of the observation being made."""

    @property
    def name(self) -> str:
        """For people."""
        return type(self).__name__

    def complain(self, evidence: str) -> None:
        """The invariant is broken."""
        raise Wrong(self.name, f"{evidence} (at {self.now / 1e9:.6f}s)")

    # What applications do and see --------------------------------------------------------------------------------
    def sent(self, letter: Letter) -> None:
        """An application handed a letter to its client."""

    def acknowledged(self, letter: Letter) -> None:
        """Its client said that the send succeeded."""

    def failed(self, letter: Letter, reason: str) -> None:
        """Its client gave up: the letter may or may not arrive."""

    def refused(self, letter: Letter) -> None:
        """Its client said that it was refused: it must not arrive. Told beside `failed`."""

    def delivered(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        """An application got a letter from its client."""

    def settled(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        """An application acknowledged a letter to its client."""

    def settlement_confirmed(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        """The client reported that the acknowledgement is on all copies."""

    def returned(self, mailbox: str, reader: Reader, letter: Letter) -> None:
        """An application gave a letter back."""

    def reader_ended(self, reader: Reader) -> None:
        """An application's life ended; what it held may be given to others."""

    def delivery_confirmed(self, letter: Letter) -> None:
        """The sender's client reported that an application has the letter."""

    def begun(self, transaction: Deed) -> None:
        """An application asked its client for a transaction."""

    def decided(self, transaction: Deed, *, committed: bool | None) -> None:
        """A transaction ended for its application; None: it will never know how."""

    def look_began(self, viewing: Viewing) -> None:
        """An application asked its client to browse a mailbox."""

    def look_ended(self, viewing: Viewing, shown: Sequence[Letter] | None) -> None:
        """What it was shown; None: it never got an answer."""

    def finish(self) -> None:
        """The run has converged: whatever must have happened by now has, or complain."""


Reader = tuple[str, int]
"""An application and which of its lives."""


class Deed:
    """A transaction as its application sees it: what it was meant to do, all or nothing."""

    __slots__ = ("number", "sends", "settles", "source")

    def __init__(self, source: Reader, number: int, sends: Sequence[Letter], settles: Sequence[Letter]) -> None:
        self.source = source
        self.number = number
        self.sends = tuple(sends)
        self.settles = tuple(settles)

    def __str__(self) -> str:
        return f"transaction {self.number} of {self.source[0]}/{self.source[1]}"


class Viewing:
    """A look into a mailbox."""

    __slots__ = ("exact", "mailbox", "number", "reader")

    def __init__(self, reader: Reader, number: int, mailbox: str, *, exact: bool) -> None:
        self.reader = reader
        self.number = number
        self.mailbox = mailbox
        self.exact = exact
        """Whether nobody but its owner took itself for the owner when the look began."""

    def __str__(self) -> str:
        return f"look {self.number} of {self.reader[0]}/{self.reader[1]} into {self.mailbox}"
