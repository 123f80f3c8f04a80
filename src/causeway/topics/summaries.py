"""Few patterns that stand for many: what one broker tells another about the interest of all its subscriptions.

A summary may match too much, never too little.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from causeway.topics.index import TopicIndex
from causeway.topics.limits import TOPIC_LEVELS_MAX, TOPIC_SUMMARY_COMPARED_MAX
from causeway.topics.paths import MANY, ONE, SEPARATOR

_EVERYTHING = (MANY,)

_Levels = tuple[str, ...]


def covers(general: str, special: str) -> bool:
    """Whether each topic that `special` matches is matched by `general`. If MANY stands inside of a pattern, the answer
    may be no although it is so; never the other way round."""
    index = TopicIndex()
    index.add(_text(_normal(general.split(SEPARATOR))), general)
    return index.wants(_text(_normal(special.split(SEPARATOR))))


def summarise(patterns: Iterable[str], limit: int) -> tuple[str, ...]:
    """At most `limit` canonical patterns, sorted, that together match whatever one of the given ones matches."""
    kept = dict.fromkeys(_normal(pattern.split(SEPARATOR)) for pattern in patterns)
    limit = max(limit, 1)
    kept = _coarsened(kept, max(limit, TOPIC_SUMMARY_COMPARED_MAX))
    kept = _without_covered(kept)
    if len(kept) > limit:
        kept = _without_covered(_coarsened(kept, limit))
    return tuple(sorted(_text(levels) for levels in kept))


def _text(levels: Sequence[str]) -> str:
    return SEPARATOR.join(levels)


def _normal(levels: Sequence[str]) -> _Levels:
    """The one form of several that mean the same."""
    found: list[str] = []
    many = False
    for level in levels:
        if level == MANY:
            many = True
            continue
        if many and level != ONE:  # of a run of wildcards MANY is the last
            found.append(MANY)
            many = False
        found.append(level)
    if not many:
        return tuple(found)
    if found == [ONE]:  # every topic has a level
        return _EVERYTHING
    if len(found) == TOPIC_LEVELS_MAX and MANY not in found:  # no topic has more
        return tuple(found)
    return (*found, MANY)


def _depth(levels: _Levels) -> int:
    return len(levels) - levels.count(MANY)


def _without_covered(patterns: dict[_Levels, None]) -> dict[_Levels, None]:
    """Those that no other one covers; of those that cover each other, one."""
    index = TopicIndex()
    for levels in patterns:
        index.add(_text(levels), "")
    kept: dict[_Levels, None] = {}
    for levels in sorted(patterns):
        text = _text(levels)
        index.remove(text, "")
        if not index.wants(text):
            index.add(text, "")
            kept[levels] = None
    return kept


def _coarsened(patterns: dict[_Levels, None], limit: int) -> dict[_Levels, None]:
    """At most so many: from the deepest level upwards, patterns that differ from there on only become one that leaves
    it open, the largest groups first. A pattern that resembles no other one stays as it is for as long as possible."""
    deepest = max((_depth(levels) for levels in patterns), default=0)
    for depth in range(deepest - 1, -1, -1):
        if len(patterns) <= limit:
            break
        groups: dict[_Levels, list[_Levels]] = {}
        for levels in patterns:
            if _depth(levels) > depth:
                groups.setdefault(_opened(levels, depth), []).append(levels)
        patterns = dict(patterns)
        for opened, members in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
            if len(members) == 1 or len(patterns) <= limit:
                break
            for levels in members:
                del patterns[levels]
            patterns[opened] = None
    return patterns


def _opened(levels: _Levels, depth: int) -> _Levels:
    """The pattern that leaves open what follows so many levels."""
    place = counted = 0
    while counted < depth:
        counted += levels[place] != MANY
        place += 1
    return _normal((*levels[:place], MANY))
