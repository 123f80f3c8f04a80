from __future__ import annotations

import random

from causeway.lake.runs import IdRun, Runs


def test_run_is_found_whole_in_parts_and_across_batches() -> None:
    runs = Runs(100)
    runs.put("s", IdRun(1, 4, 10))
    runs.put("s", IdRun(5, 9, 20))
    assert runs.take("s", 2, 3) == [IdRun(2, 3, 10)]
    assert runs.take("s", 1, 6) == [IdRun(1, 1, 10), IdRun(4, 4, 10), IdRun(5, 6, 20)]
    assert runs.take("other", 7, 9) == []
    assert runs.take("s", 7, 100) == [IdRun(7, 9, 20)]
    assert runs.count == 0


def test_quiet_streams_are_forgotten_first() -> None:
    runs = Runs(2)
    runs.put("a", IdRun(1, 1, 1))
    runs.put("b", IdRun(1, 1, 2))
    runs.put("a", IdRun(2, 2, 3))
    assert runs.take("b", 1, 1) == []
    assert runs.take("a", 1, 2) == [IdRun(1, 1, 1), IdRun(2, 2, 3)]
    for number in range(10):
        runs.put("c", IdRun(number, number, number))
    assert runs.count == 2
    assert runs.take("c", 8, 9) == [IdRun(8, 8, 8), IdRun(9, 9, 9)]


def test_every_id_is_found_once_whatever_is_cut() -> None:
    rng = random.Random(5)
    for _ in range(200):
        runs, ids = Runs(10_000), dict[int, int]()
        at = 1
        for batch in range(rng.randrange(1, 8)):
            size = rng.randrange(1, 6)
            runs.put("s", IdRun(at, at + size - 1, batch))
            ids.update(dict.fromkeys(range(at, at + size), batch))
            at += size + rng.randrange(2)
        for _ in range(30):
            first = rng.randrange(1, at + 2)
            last = first + rng.randrange(5)
            found = {n: run.at for run in runs.take("s", first, last) for n in range(run.first, run.last + 1)}
            assert found == {n: ids.pop(n) for n in range(first, last + 1) if n in ids}
