"""What applications do: plain values, so that a process can be told by a file what it is.

Owns: the words. `application` does it, `workloads` composes jobs to traffic.
"""

from __future__ import annotations

import msgspec


class Sending(msgspec.Struct, frozen=True, tag=True):
    """Letters at a steady tempo, to each destination in turn."""

    dests: tuple[str, ...]
    """Mailboxes; topics begin with `#`."""
    service: str = "transactional"
    burst: int = 5
    """Letters per turn; all to one destination."""
    every: float = 0.05
    """Seconds from one turn to the next."""
    size: int = 128
    timeout: float = 60.0
    outstanding_max: int = 5_000
    causal: bool = False


class Reading(msgspec.Struct, frozen=True, tag=True):
    """The letters of a mailbox, acknowledged one by one."""

    mailbox: str
    topics: str = ""
    """A pattern whose letters come into the mailbox too, in causal order."""
    exclusive: bool = False
    fatal_every: int = 0
    """Of so many letters one kills its reader, whoever that is."""


class Subscribing(msgspec.Struct, frozen=True, tag=True):
    """The letters of a subscription."""

    name: str
    pattern: str
    durable: bool = True
    shared: bool = False


class Forwarding(msgspec.Struct, frozen=True, tag=True):
    """Takes from a mailbox and sends to others in one transaction."""

    mailbox: str
    dests: tuple[str, ...]
    batch: int = 20


class Committing(msgspec.Struct, frozen=True, tag=True):
    """Transactions with a letter to each destination."""

    dests: tuple[str, ...]
    every: float = 0.1


class Carrying(msgspec.Struct, frozen=True, tag=True):
    """Takes from a mailbox and sends the same to another one, on Spark."""

    mailbox: str
    dest: str


Role = Sending | Reading | Subscribing | Forwarding | Committing | Carrying


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One application."""

    name: str
    roles: tuple[Role, ...]
    keeps_state: bool = False
    looked_after: bool = False
    """Whether it is started again whenever it ends."""

    @property
    def on_spark(self) -> bool:
        """Whether its process is a driver of Spark."""
        return any(isinstance(role, Carrying) for role in self.roles)

    @property
    def sends(self) -> bool:
        """Whether anybody waits for what became of its sends."""
        return any(isinstance(role, Sending | Committing) for role in self.roles)


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """One life of it, as its process is told."""

    job: Job
    life: int
    url: str
    diary: str
    state: str = ""
    """The directory of its state, if it keeps it."""
    waits: bool = False
    """Whether it sends nothing before it is told to."""
