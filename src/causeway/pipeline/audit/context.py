"""What rules must know beside the rows of one stream: how many copies brokers keep, and who had subscribed.

Few rows, which the driver gathers and every task gets. Owns: these lookups. Must not know: Spark, the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from causeway.topics import TopicIndex, is_temporary
from causeway.trace import Step

CONTEXT_STEPS: Final = (int(Step.SUBSCRIBED), int(Step.UNSUBSCRIBED))
CONTEXT_COLUMNS: Final = ("writer", "life", "sequence", "step", "dest", "mailbox", "topic", "note")
_FOREVER: Final = 1 << 62


class Subscribed(NamedTuple):
    """A stretch of the life of an item's owner in which it forwarded to a subscription."""

    mailbox: str
    pattern: str
    since: int
    until: int


class Context:
    """All of it."""

    def __init__(
        self,
        copies: Mapping[tuple[str, int], int],
        spans: Mapping[tuple[str, str, int], list[Subscribed]],
        patterns: Mapping[str, frozenset[str]],
        ended: Mapping[str, Mapping[tuple[str, int], int]] | None = None,
    ) -> None:
        self.copies = dict(copies)
        """By broker and life: how many it was told to keep."""
        self._spans = dict(spans)
        self._patterns = dict(patterns)
        self._ended = dict(ended or {})

    def has_ended(self, mailbox: str) -> bool:
        """Whether an item has ceased to forward to a subscription: what lay in it may have ended with it."""
        return mailbox in self._ended

    def has_ended_since(self, mailbox: str, owner: tuple[str, int], sequence: int) -> bool:
        """Whether that happened behind a record of the same life of a broker."""
        return self._ended.get(mailbox, {}).get(owner, -1) > sequence

    def subscribed(self, item: str, owner: tuple[str, int], topic: str, since: int, until: int) -> Iterator[str]:
        """Subscriptions that wanted all of a topic during the whole of a stretch of an owner's life."""
        for span in self._spans.get((item, *owner), ()):
            if span.since < since and until < span.until and _wants(span.pattern, topic):
                yield span.mailbox

    def never_wanted(self, mailbox: str, topic: str) -> bool:
        """Whether a subscription is known, and none of its patterns ever matched a topic."""
        patterns = self._patterns.get(mailbox, frozenset())
        return bool(patterns) and not any(_wants(pattern, topic) for pattern in patterns)


def _wants(pattern: str, topic: str) -> bool:
    if is_temporary(topic) and not is_temporary(pattern):
        return False
    index = TopicIndex()
    index.add(pattern, "")
    return index.wants(topic)


NO_CONTEXT: Final = Context({}, {}, {})


def context_of(rows: Iterable[Mapping[str, Any]], copies: Mapping[tuple[str, int], int]) -> Context:
    """From rows of CONTEXT_STEPS with CONTEXT_COLUMNS, in any order, and what brokers were told to keep."""
    told: dict[tuple[str, str, int], list[Mapping[str, Any]]] = {}
    patterns: dict[str, frozenset[str]] = {}
    ended: dict[str, dict[tuple[str, int], int]] = {}
    for row in rows:
        if row["step"] == Step.UNSUBSCRIBED:
            mine, owner = ended.setdefault(row["mailbox"], {}), (row["writer"], row["life"])
            mine[owner] = max(mine.get(owner, -1), row["sequence"])
        told.setdefault((row["dest"], row["writer"], row["life"]), []).append(row)
        patterns[row["mailbox"]] = patterns.get(row["mailbox"], frozenset()) | {row["topic"]}
    return Context(copies, {where: list(_spans(mine)) for where, mine in told.items()}, patterns, ended)


def _spans(rows: list[Mapping[str, Any]]) -> Iterator[Subscribed]:
    """Stretches of one owner's life at one item. What a selector chooses is not known: then nothing is owed."""
    begun: dict[str, Mapping[str, Any]] = {}
    for row in sorted(rows, key=lambda row: row["sequence"]):
        was = begun.pop(row["mailbox"], None)
        if was is not None and not was["note"]:
            yield Subscribed(was["mailbox"], was["topic"], was["sequence"], row["sequence"])
        if row["step"] == Step.SUBSCRIBED:
            begun[row["mailbox"]] = row
    for was in begun.values():
        if not was["note"]:
            yield Subscribed(was["mailbox"], was["topic"], was["sequence"], _FOREVER)
