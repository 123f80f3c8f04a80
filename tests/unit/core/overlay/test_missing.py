"""Brokers that failed: looked for again and again, ever more slowly, never too many at once."""

from __future__ import annotations

import random
from itertools import pairwise

from causeway.core.overlay.missing import ASKED_AT_ONCE, PAUSE_MAX, PAUSE_MAX_LATER, PAUSE_MIN, Missing
from causeway.limits import MISSING_MAX
from causeway.types import SECOND, Peer, key_of


def peer(number: int) -> Peer:
    return Peer(key_of(f"m{number}"), f"m{number}", "host", 1, 1)


def test_missing_broker_is_asked_soon_and_then_more_seldom() -> None:
    missing = Missing(random.Random(1))
    assert missing.next_due(0) is None
    missing.add(peer(1), 0)
    assert peer(1).id in missing
    asked = []
    now = 0
    while now < 300 * SECOND:
        due = missing.next_due(now)
        assert due is not None
        assert due >= now + PAUSE_MIN
        now = due
        asked += [now] * len(missing.pop_due(now))
    assert asked[0] <= 2 * PAUSE_MIN
    pauses = [later - earlier for earlier, later in pairwise(asked)]
    assert max(pauses[:5]) <= 3 * PAUSE_MAX // 2
    assert PAUSE_MAX_LATER // 2 <= sum(pauses[-10:]) / 10 <= 3 * PAUSE_MAX_LATER // 2
    assert max(pauses) <= 3 * PAUSE_MAX_LATER // 2


def test_many_missing_brokers_cost_a_few_questions_per_second() -> None:
    missing = Missing(random.Random(1))
    for number in range(MISSING_MAX):
        missing.add(peer(number), 0)
    asked: dict[bytes, int] = {}
    now, total = 0, 0
    while (due := missing.next_due(now)) is not None and due < 120 * SECOND:
        now = due
        found = missing.pop_due(now)
        assert len(found) <= ASKED_AT_ONCE
        total += len(found)
        for one in found:
            asked[one.id] = asked.get(one.id, 0) + 1
    assert len(asked) == MISSING_MAX, "nobody is forgotten"
    assert total <= 120 * 10


def test_longest_missing_is_forgotten_first() -> None:
    missing = Missing(random.Random(1))
    for number in range(MISSING_MAX + 2):
        missing.add(peer(number), number)
    assert len(missing) == MISSING_MAX
    assert missing.peers()[0] == peer(2)
    missing.add(peer(2), 500)
    assert missing.peers()[-1] == peer(2)


def test_found_broker_is_no_longer_missing() -> None:
    missing = Missing(random.Random(1))
    missing.add(peer(1), 0)
    assert missing.discard(peer(1).id)
    assert not missing.discard(peer(1).id)
    assert missing.pop_due(10 * SECOND) == []
