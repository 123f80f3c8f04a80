"""What a follower holds and tells, without Spark: the findings of the batch, each once, in bounded memory."""

from __future__ import annotations

import random
import secrets
from pathlib import Path

import msgspec
import pytest

from causeway.pipeline.audit.pending import FOLLOWED, JUDGED, Bounds
from causeway.pipeline.audit.words import Judgement
from causeway.sim.run import SimRun
from causeway.trace import Step
from tests.pipeline.fault_lake import LIFE, Segments, Story, segments_of
from tests.pipeline.following import SmallFollower
from tests.pipeline.test_audit_faults import FAULTS, Verdict, planted
from tests.pipeline.test_audit_simulated import SEEDS, options, segments_in

SECOND = 1_000
Found = tuple[str, str, int, str, int, int, int, str]


def key(one: Judgement) -> Found:
    return one.guarantee, one.source, one.incarnation, one.dest, one.stream, one.first, one.last, one.outcome


def followed(segments: Segments, bounds: Bounds | None = None) -> SmallFollower:
    """A segment a second, in the order of their last records; all writers are heard again at the end."""
    follower = SmallFollower(bounds or Bounds(patience=200 * SECOND))
    order = sorted(segments.values(), key=lambda rows: max((row["at"] for row in rows), default=0))
    for number, rows in enumerate(order, 1):
        follower.batch((number * SECOND, row) for row in rows)
    follower.rest()
    return follower


@pytest.mark.parametrize("name", FAULTS)
def test_follower_finds_what_the_batch_finds_and_nothing_else(name: str) -> None:
    segments = planted(name)
    rows = [row for segment in segments.values() for row in segment]
    causal = {(row["source"], row["dest"], row["first"]) for row in rows if row["causal"]}
    batch = [one for one in Verdict(segments).findings if one.guarantee in FOLLOWED]
    batch = [one for one in batch if (one.source, one.dest, one.first) not in causal]
    found = followed(segments).findings
    assert sorted(map(key, found)) == sorted(map(key, batch))


@pytest.mark.parametrize("seed", SEEDS)
def test_follower_finds_nothing_in_the_lake_of_a_run_that_was_right(seed: int, tmp_path: Path) -> None:
    check_right(seed, tmp_path)


def test_follower_finds_nothing_in_lakes_of_seeds_that_nobody_has_run(tmp_path: Path) -> None:
    for number in range(3):
        check_right(secrets.randbits(31), tmp_path / str(number))


def check_right(seed: int, lake: Path) -> None:
    """Segments of a quarter of a second, patience of three: as five seconds are to a minute. Of a run whose clocks
    agree, as `at` says here when a segment appeared; the follower does not read it."""
    lake.mkdir(exist_ok=True)
    assert SimRun(msgspec.structs.replace(options(seed), skew=0), lake=lake).run().ok, seed
    chance = random.Random(seed)
    rows = [row for segment in segments_in(lake).values() for row in segment]
    slow = {row["writer"]: chance.randrange(250) for row in rows}
    seen = [(row["at"] // 250_000_000 * 250 + 250 + slow[row["writer"]], row) for row in rows]
    follower = SmallFollower(Bounds(patience=3 * SECOND, memory=60 * SECOND))
    for tick in sorted({at // 250 for at, _ in seen}):
        follower.batch((at, row) for at, row in seen if at // 250 == tick)
    follower.rest()
    assert follower.findings == [], seed
    messages = any(row["step"] == Step.SENT and not row["causal"] for row in rows)
    assert follower.counts.get(JUDGED, 0) > 0 or not messages


# What is bounded -----------------------------------------------------------------------------------------------------
def post(count: int, *, lost: int = 0) -> list[tuple[int, Segments]]:
    """Messages a second apart, each stored, handed out and settled at once but the lost one: by second."""
    lake = Story()
    for number in range(1, count + 1):
        if number == lost:
            ids = lake.ids("shop", "orders", 1, number, number)
            lake.sent(ids)
            lake.stored(ids)
            lake.acknowledged(ids)
        else:
            lake.mail("shop", "orders", 1, number, number, "desk")
        for row in lake.rows:
            row.setdefault("number", number)
    numbers = [row.pop("number") for row in lake.rows]
    counts: dict[str, int] = {}
    found: dict[int, list[dict[str, object]]] = {}
    for number, row in zip(numbers, lake.rows, strict=True):
        counts[row["writer"]] = counts.get(row["writer"], 0) + 1
        found.setdefault(number, []).append({**row, "sequence": counts[row["writer"]]})
    return [(number, segments_of(rows)) for number, rows in sorted(found.items())]


def run(parts: list[tuple[int, Segments]], bounds: Bounds) -> tuple[SmallFollower, list[int]]:
    follower, held = SmallFollower(bounds), []
    for number, segments in parts:
        follower.batch((number * SECOND, row) for segment in segments.values() for row in segment)
        held.append(follower.held)
    return follower, held


def test_what_is_held_does_not_grow_with_time() -> None:
    follower, held = run(post(300), Bounds(patience=10 * SECOND, memory=60 * SECOND))
    assert follower.findings == []
    assert max(held[150:]) <= 1.1 * max(held[50:150])
    assert follower.counts[JUDGED] > 280


def test_lost_message_is_told_once_while_the_lake_grows_and_is_certain_while_writers_go_on() -> None:
    follower, _ = run(post(100, lost=40), Bounds(patience=10 * SECOND, memory=60 * SECOND))
    [found] = follower.findings
    assert (found.guarantee, found.first, found.outcome, found.doubt) == ("kept", 40, "violated", "")


def test_writers_that_fell_silent_put_a_finding_in_doubt() -> None:
    parts = post(100, lost=40)
    silent = [
        (number, {name: rows for name, rows in segments.items() if number <= 42 or not name.startswith("b3")})
        for number, segments in parts
    ]
    follower, _ = run(silent, Bounds(patience=10 * SECOND, memory=60 * SECOND))
    [found] = [one for one in follower.findings if one.first == 40]
    assert (found.outcome, found.doubt) == ("unknown", f"its last records may be missing: b3 in its life {LIFE}")


def test_gap_puts_in_doubt_what_was_seen_within_the_memory_and_no_more() -> None:
    def outcomes(lost: int) -> set[str]:
        parts = post(300, lost=lost)
        number, segments = parts[9]
        parts[9] = (number, {name: rows for name, rows in segments.items() if not name.startswith("b3")})
        follower, _ = run(parts, Bounds(patience=10 * SECOND, memory=60 * SECOND))
        return {one.outcome for one in follower.findings if one.first == lost}

    assert outcomes(20) == {"unknown"}
    assert outcomes(200) == {"violated"}


def test_records_that_come_late_are_counted_and_put_findings_in_doubt() -> None:
    parts = post(100, lost=60)
    late = {name: rows for name, rows in parts[39][1].items() if name.startswith("b2")}
    parts[39] = (40, {name: rows for name, rows in parts[39][1].items() if name not in late})
    follower = SmallFollower(Bounds(patience=10 * SECOND, memory=60 * SECOND))
    for number, segments in parts:
        follower.batch((number * SECOND, row) for segment in segments.values() for row in segment)
        if number == 58:
            follower.batch((40 * SECOND, row) for segment in late.values() for row in segment)
    assert {one.outcome for one in follower.findings} == {"unknown"}


def test_destination_with_too_many_open_messages_lets_the_oldest_go() -> None:
    lake = Story()
    for number in range(1, 101):
        ids = lake.ids("shop", "orders", 1, number, number)
        lake.sent(ids)
        lake.stored(ids)
    follower = SmallFollower(Bounds(patience=10 * SECOND, memory=10_000 * SECOND, rows_max=300))
    for at, row in enumerate(lake.finished().values(), 1):
        follower.batch((at * SECOND, one) for one in row)
    follower.rest()
    assert follower.findings == []
    assert follower.counts[JUDGED] == 100
