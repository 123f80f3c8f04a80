"""Which ready messages the consumers with selectors want. Used only while there is such a consumer.

Owns: what each selector was found to want, and how far it has looked. Must not know: credit, turns, rows.

Every message is looked at once for every selector. It leaves the lanes for that and is parked, in parts that a selector
wants wholly or not at all. Each selector has a heap of the parked parts that it wants, in the order of delivery, and
another of those that were parked before it came. What one turn looks at is bounded (`Sight`). What comes back into the
lanes is looked at anew. The heaps hold places, not parts; a place where nothing is parked any more means nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from causeway.core.mail.batches import BatchPart
from causeway.core.mail.lanes import Lanes, Parked
from causeway.core.mail.matching import matching, selector_of
from causeway.limits import SELECTED_BYTES_MAX, SELECTED_MESSAGES_MAX
from causeway.types import Instant

PARKED_OVERHEAD_BYTES: Final = 400
"""A parked part in memory, with its places in the heaps of two selectors."""
_PURGE_MIN: Final = 64


class Choice:
    """What one selector wants; the empty one wants everything."""

    __slots__ = ("selector", "text", "unseen", "wishes")

    def __init__(self, text: str) -> None:
        self.text = text
        self.selector = selector_of(text) if text else None
        self.wishes: list[int] = []
        """Places of parts that it wants: a heap."""
        self.unseen: list[int] = []
        """Places of parts that it was not asked about: a heap."""

    def first(self, parked: dict[int, Parked]) -> int | None:
        """The first place that matters to it."""
        wishes, unseen = self.wishes, self.unseen
        while wishes and (wishes[0] not in parked or self not in parked[wishes[0]].wants):
            heapq.heappop(wishes)
        while unseen and unseen[0] not in parked:
            heapq.heappop(unseen)
        if wishes and (not unseen or wishes[0] <= unseen[0]):
            return wishes[0]
        return unseen[0] if unseen else None

    def wishes_for(self, place: int) -> bool:
        """Whether its first place is one that it wants."""
        return bool(self.wishes) and self.wishes[0] == place


class Sight:
    """How much may still be looked at in one turn, in all mailboxes together; in each one message at least."""

    __slots__ = ("_bytes", "_messages", "_used")

    def __init__(self) -> None:
        self._messages, self._bytes = SELECTED_MESSAGES_MAX, SELECTED_BYTES_MAX
        self._used = False

    def renew(self) -> None:
        """The next mailbox."""
        self._used = False

    def share(self, part: BatchPart, selectors: int) -> int:
        """How many messages of a part may be looked at with so many selectors."""
        count, size = part.length, self._size(part) * selectors
        if count * selectors > self._messages or size > self._bytes:
            count = max(min(self._messages // selectors, count * self._bytes // size), 0 if self._used else 1)
        self._use(count * selectors, size * count // part.length)
        return count

    def reaches(self, part: BatchPart) -> bool:
        """Whether all of a part may be looked at with one selector. Parked ones are no longer than one turn's share."""
        size = self._size(part)
        if self._used and (part.length > self._messages or size > self._bytes):
            return False
        self._use(part.length, size)
        return True

    def _size(self, part: BatchPart) -> int:
        return len(part.batch.info.body) * part.length // part.batch.count + 1

    def _use(self, messages: int, size: int) -> None:
        self._used = True
        self._messages = max(self._messages - messages, 0)
        self._bytes = max(self._bytes - size, 0)


class Wanted(NamedTuple):
    """A part that somebody wants, and who."""

    part: BatchPart
    wants: tuple[Choice, ...] | None
    """None: it was not looked at, because only those ask who want everything."""


class Selection:
    """The selectors of one mailbox."""

    __slots__ = ("_lanes", "choices", "is_behind", "is_starved")

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self.choices: dict[str, Choice] = {}
        """By text; none while no consumer has a selector."""
        self.is_behind = False
        """Whether the last turn did not look at all it wanted to: there must be another one."""
        self.is_starved = False
        """Whether a consumer with credit was left in the last turn, and nothing for it in memory."""

    @property
    def parked_bytes(self) -> int:
        """Memory for what was looked at and waits."""
        return len(self._lanes.parked) * PARKED_OVERHEAD_BYTES

    def follow(self, texts: Iterable[str]) -> None:
        """The consumers have these selectors now."""
        texts = dict.fromkeys(texts)
        if not any(texts):
            if self.choices:
                self.choices.clear()
                self._lanes.unpark()
            self.is_behind = self.is_starved = False
            return
        self.choices = {text: self.choices.get(text) or self._begin(text) for text in texts}

    def _begin(self, text: str) -> Choice:
        """A selector that nobody had: it knows nothing of what is parked, or wants all of it."""
        choice, parked = Choice(text), self._lanes.parked
        if choice.selector is not None:
            choice.unseen = sorted(parked)
            return choice
        choice.wishes = sorted(parked)
        for place, (part, wants) in parked.items():
            parked[place] = Parked(part, (*wants, choice))
        return choice

    def next(self, texts: Iterable[str], now: Instant, sight: Sight) -> Wanted | None:
        """The first part that somebody with one of these selectors wants, taken out of its place.

        None when there is none; or when one turn cannot tell, then `is_behind`.
        """
        lanes, choices = self._lanes, [self.choices[text] for text in texts]
        selective = any(choice.selector is not None for choice in choices)
        while True:
            place, choice = None, None
            for one in choices:
                found = one.first(lanes.parked)
                if found is not None and (place is None or found < place):
                    place, choice = found, one
            part = lanes.first()
            if part is not None and (place is None or part.order < place):
                if selective and not part.batch.info.has_expired(now):
                    if not self._sift(part, sight):
                        self.is_behind = True
                        return None
                    continue
                lanes.take()
                if not part.batch.info.has_expired(now):
                    return Wanted(part, None)
            elif choice is None or place is None:
                return None
            elif choice.wishes_for(place):
                wanted = lanes.parked.pop(place)
                if not wanted.part.batch.info.has_expired(now):
                    return Wanted(*wanted)
            elif not self._look(choice, sight):
                self.is_behind = True
                return None

    def park(self, part: BatchPart, wants: tuple[Choice, ...]) -> None:
        """What is left of a part that was parked; whoever was not asked about all parked ones is asked about this."""
        self._park(part, wants, [choice for choice in self.choices.values() if choice.unseen])

    def _sift(self, part: BatchPart, sight: Sight) -> bool:
        """Look at the first part of the lanes for all selectors; false when this turn has looked at too much."""
        lanes, batch = self._lanes, part.batch
        choosers = [choice for choice in self.choices.values() if choice.selector is not None]
        count = sight.share(part, len(choosers))
        if count == 0:
            return False
        lanes.take()
        if count < part.length:
            lanes.requeue(batch.split(batch.index(part.start), part.start + count))
        masks = [0] * count
        for bit, choice in enumerate(choosers):
            _mark(masks, choice, part, 1 << bit)
        everything = tuple(choice for choice in self.choices.values() if choice.selector is None)
        for mask, piece in _divide(part, masks):
            self._park(piece, everything + tuple(one for bit, one in enumerate(choosers) if mask >> bit & 1), ())
        return True

    def _look(self, choice: Choice, sight: Sight) -> bool:
        """Look at a part that was parked before a selector came; false when this turn has looked at too much."""
        part, wants = self._lanes.parked[choice.unseen[0]]
        if not sight.reaches(part):
            return False
        heapq.heappop(choice.unseen)
        if choice in wants:
            return True
        masks = [0] * part.length
        _mark(masks, choice, part, 1)
        others = [other for other in self.choices.values() if other.unseen and other is not choice]
        if any(masks):
            for mask, piece in _divide(part, masks):
                self._park(piece, (*wants, choice) if mask else wants, others)
        return True

    def _park(self, part: BatchPart, wants: tuple[Choice, ...], unasked: Iterable[Choice]) -> None:
        parked, place = self._lanes.parked, part.order
        parked[place] = Parked(part, wants)
        for heap in (*(choice.wishes for choice in wants), *(choice.unseen for choice in unasked)):
            heapq.heappush(heap, place)
            if len(heap) > 2 * len(parked) + _PURGE_MIN:
                heap[:] = sorted(dict.fromkeys(kept for kept in heap if kept in parked))


def _mark(masks: list[int], choice: Choice, part: BatchPart, bit: int) -> None:
    """Set a bit for every message of a part that a selector wants."""
    assert choice.selector is not None
    for first, last in matching(choice.selector, part.batch.piece(part.start, part.stop)):
        for at in range(first, last + 1):
            masks[at] |= bit


def _divide(part: BatchPart, masks: Sequence[int]) -> list[tuple[int, BatchPart]]:
    """Cut a part where the masks of its messages change."""
    pieces: list[tuple[int, BatchPart]] = []
    batch, index = part.batch, part.batch.index(part.start)
    for mask, run in groupby(masks):
        stop = part.start + sum(1 for _ in run)
        pieces.append((mask, part))
        if stop < part.stop:
            part = batch.split(index, stop)
            index += 1
    return pieces
