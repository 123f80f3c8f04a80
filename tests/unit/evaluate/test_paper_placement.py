"""GEMOM's example, recomputed: the figures that its own tables give."""

from __future__ import annotations

from typing import Any

import pytest

from causeway.evaluate.paper_placement import OURS, SOLUTION_1, SOLUTION_2, example


@pytest.fixture(scope="module")
def found() -> dict[str, list[dict[str, Any]]]:
    return example()


@pytest.mark.parametrize(
    ("placement", "risks"), [(SOLUTION_1, (0.0086, 0.0180, 0.0034)), (SOLUTION_2, (0.0304, 0.0143, 0.0290))]
)
def test_overload_probabilities_are_not_those_printed(
    found: dict[str, list[dict[str, Any]]], placement: str, risks: tuple[float, ...]
) -> None:
    rows = [row for row in found["risks"] if row["placement"] == placement]
    assert tuple(round(row["recomputed"], 4) for row in rows) == risks
    assert all(row["recomputed"] > row["printed"] for row in rows)


def test_optimum_is_found_and_the_papers_solution_is_second(found: dict[str, list[dict[str, Any]]]) -> None:
    first, _second, ours, _robin = found["allocations"]
    assert (first["rank"], first["of"], first["utility"]) == (2, 729, 1216.294)
    assert (ours["placement"], ours["rank"], ours["items"]) == (OURS, 1, "{2,6} {1,4,5} {3}")
    assert ours["utility"] == 1216.707


def test_threshold_of_the_paper_is_proven_to_be_hopeless(found: dict[str, list[dict[str, Any]]]) -> None:
    assert [(row["feasible"], row["proven"]) for row in found["threshold"]] == [(False, True)] * 2
    assert {row["least_risky"] for row in found["threshold"]} == {"{2,6} {1,3} {4,5}"}


def test_gain_is_negative_at_one_broker_although_the_paper_prints_it_positive(
    found: dict[str, list[dict[str, Any]]],
) -> None:
    gains = {who: [row["gain"] for row in found["gains"] if row["of"] == who] for who in ("printed", "recomputed")}
    assert gains["printed"] == [0.7353, 0.7037, 0.9412]
    assert [gain > 0 for gain in gains["recomputed"]] == [True, False, True]
