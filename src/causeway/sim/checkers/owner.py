"""Single acknowledging owner: at no time do two brokers acknowledge for one mailbox.

Watched from outside, on the frames between brokers:
- in one epoch of a group only one broker replicates;
- a member that promised the next epoch confirms nothing beyond what it promised (the fence holds);
- once a newer epoch has acknowledged, an older owner acknowledges nothing that reached it afterwards. What reached
  it before may be confirmed late: its copies were made before the fence, so the newer owner has it too.
"""

from __future__ import annotations

from causeway.core.messages import (
    Accept,
    Accepted,
    Chosen,
    Config,
    Copied,
    Deposit,
    Enter,
    Message,
    Outdated,
    Promised,
    Replicate,
    Resolved,
)
from causeway.limits import SHARDS
from causeway.sim.checkers.base import Checker
from causeway.types import Instant, Key, ServiceClass, home_of, key_of

Stream = tuple[str, int, str, int]


class SingleOwner(Checker):
    """Fed by `watch` with frames as they are sent; names are those of the processes."""

    kinds = (Replicate, Promised, Copied, Deposit, Accepted, Accept, Chosen, Outdated, Enter, Resolved)
    """Frames to be shown."""

    def __init__(self, shards: int = SHARDS) -> None:
        super().__init__()
        self._shards = shards
        self._owner: dict[tuple[Key, int], str] = {}
        self._epoch: dict[tuple[str, Key], int] = {}
        """Latest epoch in which each broker replicated, or of which some frame says that it owns it."""
        self._latest: dict[Key, int] = {}
        """Highest epoch that was chosen."""
        self._fence: dict[tuple[str, Key], tuple[int, int]] = {}
        """Epoch each broker promised, and the position it promised with."""
        self._newest: dict[Key, tuple[int, Instant, str]] = {}
        """Highest epoch that acknowledged, since when, and who."""
        self._reached: dict[tuple[str, Stream, int], Instant] = {}
        """When a letter was first sent to a broker."""
        self._heard: dict[tuple[str, Stream, int], None] = {}
        """Letters a broker was told by another that they are acknowledged: it only passes that on."""

    def watch(self, sender: str, receiver: str, head: Message, *, brokers: bool) -> None:
        """A frame was put on a connection; `brokers`: both ends are."""
        if isinstance(head, Replicate):
            self._on_replicate(sender, head)
        elif isinstance(head, Promised):
            self._fence[(sender, head.group)] = (head.epoch, head.last_seq)
        elif isinstance(head, Copied):
            self._on_copied(sender, head)
        elif isinstance(head, Deposit):
            self._on_deposit(receiver, head)
        elif isinstance(head, Accepted):
            self._on_accepted(sender, receiver if brokers else "", head)
        elif isinstance(head, Accept):
            self._credit(head.group, head.next)
        elif isinstance(head, (Chosen, Outdated, Enter)) or (isinstance(head, Resolved) and head.config is not None):
            self._credit(head.group, head.config)
            if head.config is not None:
                self._choose(head.group, head.config.epoch)

    def home(self, mailbox: str) -> Key:
        """The group that a mailbox is in."""
        return home_of(key_of(mailbox), self._shards)

    def is_replaced(self, broker: str, group: Key) -> bool:
        """Whether a later epoch was chosen than any in which the broker is the owner."""
        return self._epoch.get((broker, group), 0) < self._latest.get(group, 0)

    def forget(self, broker: str) -> None:
        """The broker lost its storage: whatever it promised it no longer knows, and nobody counts on it."""
        for place in [place for place in self._fence if place[0] == broker]:
            del self._fence[place]

    def _choose(self, group: Key, epoch: int) -> None:
        self._latest[group] = max(epoch, self._latest.get(group, 0))

    def _credit(self, group: Key, config: Config | None) -> None:
        """Whoever a configuration names as its owner may have become that without replicating anything yet."""
        if config is None:
            return
        for member in config.members:
            if member.peer.id == config.owner:
                place = (member.peer.name, group)
                self._epoch[place] = max(config.epoch, self._epoch.get(place, 0))

    def _on_replicate(self, sender: str, head: Replicate) -> None:
        for group, epoch, *_ in head.operations:
            owner = self._owner.setdefault((group, epoch), sender)
            if owner != sender:
                self.complain(f"{owner} and {sender} both own {group.hex()} in epoch {epoch}")
            place = (sender, group)
            self._epoch[place] = max(epoch, self._epoch.get(place, 0))
            self._choose(group, epoch)

    def _on_copied(self, sender: str, head: Copied) -> None:
        for group, epoch, seq in head.positions:
            fence = self._fence.get((sender, group))
            if fence is not None and epoch < fence[0] and seq > fence[1]:
                self.complain(
                    f"{sender} promised epoch {fence[0]} of {group.hex()} with position {fence[1]} "
                    f"and then confirmed position {seq} of epoch {epoch}"
                )

    def _on_deposit(self, receiver: str, head: Deposit) -> None:
        stream = (head.source, head.incarnation, head.dest, head.stream)
        for number in range(head.first, head.first + head.count):
            self._reached.setdefault((receiver, stream, number), self.now)

    def _on_accepted(self, sender: str, receiver: str, head: Accepted) -> None:
        if head.stream == ServiceClass.EXPRESS or head.delivered or head.unwanted:
            return  # no claim that the group has it
        stream = (head.source, head.incarnation, head.dest, head.stream)
        numbers = range(head.first, head.last + 1)
        relayed = all((sender, stream, number) in self._heard for number in numbers)
        if receiver:
            for number in numbers:
                self._heard[(receiver, stream, number)] = None
        group = self.home(head.dest)
        epoch = self._epoch.get((sender, group))
        if relayed or epoch is None:
            return
        newest = self._newest.get(group)
        if newest is None or epoch > newest[0]:
            self._newest[group] = (epoch, self.now, sender)
            return
        if epoch == newest[0]:
            return
        for number in numbers:
            reached = self._reached.get((sender, stream, number))
            known = (sender, stream, number) in self._heard
            if reached is not None and reached > newest[1] and not known:
                self.complain(
                    f"{sender} acknowledged {stream} #{number} in epoch {epoch}, which reached it at "
                    f"{reached / 1e9:.6f}s, after {newest[2]} had acknowledged in epoch {newest[0]}"
                )
