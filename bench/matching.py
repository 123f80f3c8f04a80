"""How long it takes to find the subscriptions of a topic among few and among many: `python -m bench.matching`.

Owns: the index alone, in one process. The two indexes are asked in turn, many times, so that a slow moment of the
machine meets both and the ratio stays true.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Iterator
from itertools import islice

from causeway.topics import TopicIndex

FEW = 1_000
MANY = 100_000
MATCHING = 10
"""Subscriptions that want a probe, in either index."""
PROBES = tuple(f"roads/a{number}/speed/lane{number % 3}" for number in range(60))
RATIO_MAX = 2.0
ROUNDS = 300
"""Of each index; one round asks for every probe."""


def wanted(probe: str) -> list[str]:
    """Patterns that match this probe and no other."""
    _, road, kind, lane = probe.split("/")
    return [
        *[probe] * 4,
        f"roads/{road}/*/{lane}",
        f"*/{road}/{kind}/*",
        f"roads/{road}/{kind}/#",
        f"roads/{road}/#",
    ]


SHARED = ("roads/*/speed/*", "roads/#")
"""Patterns that match every probe."""


def unwanted() -> Iterator[str]:
    """Patterns without end that match no probe, though many begin like one."""
    number = 0
    while True:
        number += 1
        yield f"roads/a{number % 50}/speed/camera{number}"
        yield f"roads/b{number}/speed/lane{number % 3}"
        yield f"roads/*/speed/camera{number}"
        yield f"*/b{number}/*/lane1"
        yield f"roads/b{number}/#"
        yield f"rails/c{number % 100}/d{number}/#"
        yield f"#/kind=speed/#/road=b{number}/#"
        yield f"roads/a{number % 50}/temperature/t{number}"


def built(size: int) -> TopicIndex:
    """An index of so many subscriptions, each with an entry of its own."""
    patterns = [pattern for probe in PROBES for pattern in wanted(probe)]
    patterns += SHARED
    patterns += islice(unwanted(), size - len(patterns))
    index = TopicIndex()
    for number, pattern in enumerate(patterns):
        index.add(pattern, f"sub/{number}")
    assert len(index) == size
    for probe in PROBES:
        assert len(index.match(probe)) == MATCHING, probe
    return index


def round_ns(index: TopicIndex) -> float:
    """One match, averaged over all probes."""
    began = time.perf_counter_ns()
    for probe in PROBES:
        index.match(probe)
    return (time.perf_counter_ns() - began) / len(PROBES)


def measure() -> dict[str, float]:
    """Medians in nanoseconds per match, and how much more it is among many."""
    few, many = built(FEW), built(MANY)
    gc.collect()
    few_ns: list[float] = []
    many_ns: list[float] = []
    for _ in range(ROUNDS):
        few_ns.append(round_ns(few))
        many_ns.append(round_ns(many))
    medians = statistics.median(few_ns), statistics.median(many_ns)
    return {
        f"match_ns_{FEW}": round(medians[0]),
        f"match_ns_{MANY}": round(medians[1]),
        "ratio": round(medians[1] / medians[0], 2),
    }


def sentence(found: dict[str, float]) -> str:
    """The result for people, with its goal."""
    few, many, ratio = found[f"match_ns_{FEW}"], found[f"match_ns_{MANY}"], found["ratio"]
    color = "green" if ratio <= RATIO_MAX else "red"
    return (
        f"goal: finding {MATCHING} subscriptions that match among {MANY:,} costs at most {RATIO_MAX:g} times what it "
        f"costs among {FEW:,}: [{color}]{ratio:.2f}[/] ({many / 1e3:.1f} µs, {few / 1e3:.1f} µs)"
    )


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
