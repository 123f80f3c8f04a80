"""Nobody in charge of a mailbox hands out what somebody is done with.

Watched where brokers put frames on connections, not where they arrive: what was handed out before may reach a reader
that was cut off at any later time, and no broker can call it back. A broker that was replaced while it was cut off may
hand out for a while too, until it hears of it; who is in charge is what the checker of owners knows.
"""

from __future__ import annotations

from causeway.core.messages import Deliver
from causeway.sim.checkers.base import Checker
from causeway.sim.checkers.owner import SingleOwner

Place = tuple[str, str, int, int, int]
"""A message as frames name it: mailbox, source, incarnation, stream, id."""


class Handing(Checker):
    """Fed by `watch` with frames as they are sent, by `done` with messages whose settlement was confirmed."""

    def __init__(self, owner: SingleOwner) -> None:
        super().__init__()
        self._owner = owner
        self._done: dict[Place, str] = {}

    def done(self, place: Place, who: str) -> None:
        """An application was told that its settlement is on all copies."""
        self._done[place] = who

    def watch(self, sender: str, receiver: str, head: Deliver) -> None:
        """A broker hands messages out."""
        if self._owner.is_replaced(sender, self._owner.home(head.mailbox)):
            return
        for number in range(head.first, head.first + head.count):
            who = self._done.get((head.mailbox, head.source, head.incarnation, head.stream, number))
            if who is not None:
                message = f"{head.source} -> {head.mailbox} #{number}"
                self.complain(f"{sender} handed out {message} to {receiver} after {who} was done with it")
