"""The evaluation of AAA: its claims on the committed quick run, and a run that is what the code of today measures."""

from __future__ import annotations

import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

from causeway.evaluate import aaa
from causeway.evaluate.aaa_words import (
    LINEAR,
    QUADRATIC,
    _exactly,
    _formula,
    fit_of,
    logarithm_power,
    rows_of,
    tree_power,
)
from causeway.evaluate.evaluation import Evaluation, Extent
from causeway.evaluate.seat_costs import AGREEMENT, PING, PING_ALL, UNICAST, SeatCost, measure
from causeway.evaluate.writing import as_report


@pytest.fixture(scope="module")
def quick(committed: dict[str, Any]) -> Evaluation:
    """What the committed measurements say."""
    return aaa.evaluated([SeatCost(**row) for row in committed["measurements"]], Extent(quick=True, seed=0))


def test_committed_report_is_what_its_measurements_say(committed: dict[str, Any], quick: Evaluation) -> None:
    """Otherwise: causeway evaluate aaa --quick --seed 0 --out docs/evaluation/aaa."""
    assert json.loads(json.dumps(quick.as_json())) == committed
    assert len(committed["measurements"]) == len(aaa.plan_cases(aaa.QUICK, 0))


def exponent(quick: Evaluation, layout: str, metric: str) -> float:
    found: float = fit_of(quick.tables["fits"], UNICAST, layout, metric)["exponent"]
    return found


@pytest.mark.parametrize("metric", ["cells", "operations"])
def test_one_domain_is_quadratic_and_a_bus_linear(quick: Evaluation, metric: str) -> None:
    assert QUADRATIC[0] <= exponent(quick, "flat", metric) <= QUADRATIC[1]
    assert LINEAR[0] <= exponent(quick, "bus", metric) <= LINEAR[1]


@pytest.mark.parametrize("metric", ["cells", "operations", "stamp_bytes"])
def test_tree_grows_from_100_to_1000_seats_no_faster_than_a_logarithm(quick: Evaluation, metric: str) -> None:
    sizes = [row["seats"] for row in rows_of(quick.tables["means"], UNICAST, "tree")]
    assert 900 <= max(sizes) <= 1100
    assert tree_power(quick.tables["means"], metric) <= logarithm_power(quick.tables["means"]) < 0.2


def test_every_claim_but_that_of_the_ping_pong_holds(quick: Evaluation) -> None:
    assert [conclusion.claim[:13] for conclusion in quick.claims if not conclusion.held] == ["The ping-pong"]
    two_agents = rows_of(quick.tables["means"], PING, "flat")
    assert {row["operations"] for row in two_agents} == {8.0}


def test_claims_that_are_exact_are_not_taken_on_trust() -> None:
    """What is said of every seed is not said any more when one differs."""
    row = {"traffic": PING_ALL, "layout": "flat", "seats": 9}
    row |= {f"cells_{end}": 112.0 for end in ("least", "greatest")}
    row |= {f"operations_{end}": 512.0 for end in ("least", "greatest")}
    assert "8(n-1)²" in _exactly([row])
    assert _exactly([row | {"operations_greatest": 513.0}]) == ""


@pytest.mark.parametrize("more", [1.0, 1.2])
def test_bound_of_a_message_is_broken_by_clocks_that_do_more(quick: Evaluation, more: float) -> None:
    """It is judged by operations: with a fifth more of them it does not hold any longer."""
    means = [row | {"operations": row["operations"] * more} for row in quick.tables["means"]]
    assert _formula(means).held == (more == 1)


def test_everything_was_measured_in_a_steady_state(quick: Evaluation) -> None:
    assert max(row["agreement"] for row in quick.tables["measurements"]) <= AGREEMENT


def test_report_names_every_figure_and_every_claim(quick: Evaluation) -> None:
    report = as_report(quick)
    assert [figure.name for figure in quick.figures if f"({figure.name}.png)" not in report] == []
    assert [conclusion.claim for conclusion in quick.claims if conclusion.claim not in report] == []
    assert quick.command == "causeway evaluate aaa --quick --seed 0"


def test_same_seed_gives_the_same_numbers_in_another_process(quick: Evaluation) -> None:
    """A fresh interpreter has another hash seed."""
    small = [case for case in aaa.plan_cases(aaa.QUICK, 0) if case.seats <= 16 and case.seed == 1]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        again = list(pool.map(measure, small))
    assert len(again) >= 5
    for cost in again:
        assert numbers(quick, cost.layout, cost.traffic, cost.seats) == (cost.operations, cost.row_bytes, cost.hops)


def numbers(quick: Evaluation, layout: str, traffic: str, seats: int) -> tuple[Any, ...]:
    rows = quick.tables["measurements"]
    (row,) = [r for r in rows if (r["layout"], r["traffic"], r["seats"], r["seed"]) == (layout, traffic, seats, 1)]
    return row["operations"], row["row_bytes"], row["hops"]


def test_another_seed_gives_other_numbers(quick: Evaluation) -> None:
    rows = [row for row in quick.tables["measurements"] if (row["layout"], row["seats"]) == ("tree", 969)]
    assert len({row["operations"] for row in rows}) == aaa.QUICK.seeds


@pytest.mark.parametrize("seed", [3, 4])
def test_another_seed_gives_exponents_inside_the_stated_intervals(quick: Evaluation, seed: int) -> None:
    """Of seeds that no part of the report was measured with."""
    flat = [case for case in aaa.plan_cases(aaa.QUICK, seed) if (case.layout, case.traffic) == ("flat", UNICAST)]
    other = aaa.fits_of([measure(case) for case in flat if case.seed == seed])
    for metric in ("cells", "operations", "stamp_bytes"):
        stated = fit_of(quick.tables["fits"], UNICAST, "flat", metric)
        assert stated["plus_minus"] < stated["another_seed"]
        assert abs(fit_of(other, UNICAST, "flat", metric)["exponent"] - stated["exponent"]) <= stated["another_seed"]


def test_full_plan_has_the_sizes_of_the_paper_and_a_thousand() -> None:
    largest = {
        layout: max(
            case.seats for case in aaa.plan_cases(aaa.FULL, 0) if (case.layout, case.traffic) == (layout, UNICAST)
        )
        for layout in ("flat", "bus", "daisy", "tree")
    }
    assert largest == {"flat": 150, "bus": 1000, "daisy": 1000, "tree": 969}
