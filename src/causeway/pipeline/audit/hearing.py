"""What a follower knows of writers, and which of them put a finding in doubt now.

The batch asks whether records are missing anywhere in a lake. A follower tells of messages whose records were all seen
within `memory`, so only what may be missing of that time counts: a gap that was found since, a life that was cut off
since. A life that goes on is not in doubt if it was heard after the messages in question: it numbers its records
without gaps. One that is silent may be idle or dead, and is in doubt.

Owns: this memory, and this choice. Must not know: how records are added up (`doubts`), Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from causeway.pipeline.audit.doubts import CUT, Doubt, LifeSums, Mention, added_up, doubtful
from causeway.pipeline.audit.pending import Bounds

LATE: Final = "some of its records came too late to be judged"
FORGOTTEN: Final = "it may have sent that longer ago than is remembered"


class Heard(msgspec.Struct):
    """A life of a writer."""

    sums: LifeSums
    since: int
    """When it was heard first."""
    seen: int
    """When it was heard last."""
    changed: int = 0
    """When it came to be known that more is missing than before; 0 if nothing is."""
    late: int = 0
    """When some of its records came too late to be judged; 0 if none did."""


class Hearing(msgspec.Struct):
    """All that are remembered."""

    lives: list[Heard] = []
    told: list[tuple[int, Mention]] = []
    failed: dict[str, int] = {}
    """Brokers that have failed or left, and when others told of that last."""

    def hear(
        self,
        lives: Iterable[Heard],
        told: Iterable[tuple[int, Mention]],
        failed: Mapping[str, int],
        late: Collection[tuple[str, int]] = (),
    ) -> None:
        """What a batch of records says; `late` are lives some of whose records came late."""
        known = {one.sums[:2]: one for one in self.lives}
        for new in lives:
            had = known.get(new.sums[:2])
            was = (0, 0, False) if had is None else _missing(had.sums)
            sums = new.sums if had is None else added_up((had.sums, new.sums))[0]
            since, changed = (new.since, 0) if had is None else (had.since, had.changed)
            seen = max(new.seen, had.seen if had else 0)
            slow = seen if sums[:2] in late else had.late if had else 0
            known[sums[:2]] = Heard(sums, since, seen, changed if _missing(sums) == was else seen, slow)
        self.lives = list(known.values())
        mentions = {mention: seen for seen, mention in [*self.told, *told]}
        self.told = [(seen, mention) for mention, seen in mentions.items()]
        self.failed |= failed

    def forget(self, now: int, bounds: Bounds) -> None:
        """Leave out what explains nothing any more."""
        self.lives = [one for one in self.lives if one.seen > now - bounds.forget]
        self.told = [(seen, mention) for seen, mention in self.told if seen > now - bounds.memory]
        self.failed = {name: seen for name, seen in self.failed.items() if seen > now - bounds.forget}

    def sums(self) -> list[LifeSums]:
        """Of all lives."""
        return [one.sums for one in self.lives]

    def doubts(self, before: int, now: int, bounds: Bounds) -> list[Doubt]:
        """Those that may explain what is found of messages that were last seen after `before`, and not after `now`."""
        old = before - bounds.memory
        known = {one.sums[:2]: one for one in self.lives}
        found = doubtful(self.sums(), (mention for seen, mention in self.told if seen > old))
        counting = [
            one
            for one in found
            if self._counts(one, known.get((one.writer, one.life)), old, now + bounds.patience // 2)
        ]
        for one in self.lives:
            if one.late > max(0, old):
                counting.append(Doubt(one.sums.writer, one.sums.life, one.sums.broker, one.sums.domains, LATE))
            if one.since <= now - bounds.forget and not one.sums.broker:
                counting.append(Doubt(one.sums.writer, one.sums.life, False, one.sums.domains, FORGOTTEN))
        return counting

    def _counts(self, doubt: Doubt, heard: Heard | None, old: int, since: int) -> bool:
        """Whether what is missing may be of the time after `old`; who was heard after `since` has told all of it."""
        after = [one.since for one in self.lives if one.sums.writer == doubt.writer and one.sums.life > doubt.life]
        if heard is None:  # a writer, or the life before another one, of which nothing was ever read
            return not after or min(after) > old
        if doubt.doubt != CUT:
            return heard.changed > old
        if after:
            return min(after) > old  # it was dead when its next life began
        if heard.seen >= since:
            return False
        return not heard.seen < self.failed.get(doubt.writer, 0) <= old


def _missing(life: LifeSums) -> tuple[int, int, bool]:
    """What is wrong with the records of a life: it changes whenever one more is missing, doubled or changed."""
    return life.high - life.records, life.digests - life.seals, life.damaged
