"""Cases over processes come back in the order given."""

from __future__ import annotations

import pytest

from causeway.evaluate.spreading import Processes, run_cases


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_have_the_order_of_their_cases(jobs: int) -> None:
    told: list[int] = []
    assert run_cases(abs, [-3, 2, -1], Processes(jobs), told.append) == [3, 2, 1]
    assert sorted(told) == [-3, -1, 2]


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_a_case_raises_is_raised(jobs: int) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        run_cases(int, ["1", "x"], Processes(jobs), lambda case: None)


def test_each_result_is_told_with_its_place() -> None:
    assert sorted(Processes(2).run(abs, [-3, 2])) == [(0, 3), (1, 2)]
