"""Batches that came before something that must be delivered first. Owns: them, their bound, and why each waits.

Must not know: clocks beyond the question what is missing, what is done with a batch that waits no longer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from causeway.core.causal.clock import Predecessor
from causeway.core.messages import Deposit
from causeway.domains.limits import HELD_BYTES_PER_SEAT_MAX, HELD_SHOWN_MAX
from causeway.limits import ITEM_OVERHEAD_BYTES
from causeway.types import Instant

Obstacles = Callable[[str, str, Deposit], list[Predecessor]]
"""Domain, sender, batch: what must come before it."""


@dataclass(slots=True)
class HeldBatch:
    """One batch that waits."""

    head: Deposit
    body: bytes
    since: Instant

    @property
    def cost(self) -> int:
        return len(self.body) + ITEM_OVERHEAD_BYTES + 4 * len(self.head.causal.stamp if self.head.causal else ())


class HoldBack:
    """All batches held back at one seat."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], dict[int, HeldBatch]] = {}
        """By domain and sender, then by first id."""
        self.bytes = 0
        self.count = 0
        self.most = 0
        """The greatest number of batches ever held at once."""

    def keep(self, domain: str, sender: str, head: Deposit, body: bytes, now: Instant) -> bool:
        """Hold a batch; False when it is held already, or there is no room (its sender sends it again)."""
        waiting = self._held.setdefault((domain, sender), {})
        batch = HeldBatch(head, body, now)
        if head.first in waiting or (self.bytes and self.bytes + batch.cost > HELD_BYTES_PER_SEAT_MAX):
            if not waiting:
                del self._held[domain, sender]
            return False
        waiting[head.first] = batch
        self.bytes += batch.cost
        self.count += 1
        self.most = max(self.most, self.count)
        return True

    def next_ready(self, domain: str, expected: Callable[[str], int], missing: Obstacles) -> HeldBatch | None:
        """Take out a batch of the domain that need not wait any longer; those behind it come next."""
        for (where, sender), waiting in list(self._held.items()):
            if where != domain:
                continue
            following = expected(sender)
            for first in [first for first in waiting if first < following]:
                self._remove(domain, sender, first)  # it came again in the meantime, another way
            batch = waiting.get(following)
            if batch is not None and not missing(domain, sender, batch.head):
                self._remove(domain, sender, following)
                return batch
        return None

    def _remove(self, domain: str, sender: str, first: int) -> None:
        waiting = self._held[domain, sender]
        batch = waiting.pop(first)
        self.bytes -= batch.cost
        self.count -= 1
        if not waiting:
            del self._held[domain, sender]

    def listing(self, missing: Obstacles, name_of: Callable[[int], str]) -> list[dict[str, object]]:
        """What waits for what, for people."""
        found: list[dict[str, object]] = []
        for (domain, sender), waiting in self._held.items():
            for first in sorted(waiting):
                batch = waiting[first]
                if len(found) == HELD_SHOWN_MAX:
                    return found
                was, causal = batch.head.published, batch.head.causal
                found.append(
                    {
                        "domain": domain,
                        "from": sender,
                        "source": was.source if was is not None else "",
                        "first": was.first if was is not None else 0,
                        "count": batch.head.count,
                        "dest": causal.dest if causal is not None else "",
                        "topic": was.topic if was is not None else "",
                        "since": batch.since,
                        "waits_for": [
                            {"seat": name_of(gap.sender), "until": gap.until, "have": gap.have}
                            for gap in missing(domain, sender, batch.head)
                        ],
                    }
                )
        return found
