"""Large rings: the model agrees with real brokers within what is stated, and the report is what they do now."""

from __future__ import annotations

import json
from typing import Any

import pytest

from causeway.evaluate import internet, ring_model
from causeway.evaluate.internet_words import TOLERANCES, _agrees
from causeway.evaluate.ring_counts import JOINED, KNOWN, TABLES, RingCount, measure
from causeway.evaluate.ring_model import ModelCase, ModelledRing


@pytest.fixture(scope="module")
def counted() -> dict[str, RingCount]:
    """Two rings of the quick plan: upkeep event by event, and the tables of 16,384 brokers."""
    return {
        case.how: measure(case)
        for case in internet.QUICK.rings
        if (case.how, case.brokers) in ((KNOWN, 128), (TABLES, 16_384))
    }


def models(brokers: int) -> list[ModelledRing]:
    return [ring_model.measure(ModelCase(brokers, 20_000, min(brokers, 4_000), seed)) for seed in range(3)]


@pytest.mark.slow
@pytest.mark.parametrize("how", [KNOWN, TABLES])
def test_model_agrees_with_brokers_within_its_tolerances(counted: dict[str, RingCount], how: str) -> None:
    rows = internet.agreement(counted[how], models(counted[how].brokers))
    assert {row["what"] for row in rows} == set(TOLERANCES if how == KNOWN else ["hops", "table entries"])
    assert [row for row in rows if abs(row["difference"]) > row["tolerance"]] == []
    assert counted[how].wrong == 0


@pytest.mark.slow
def test_committed_report_is_what_brokers_do_now(committed: dict[str, Any], counted: dict[str, RingCount]) -> None:
    """Otherwise: causeway evaluate internet --quick --seed 0 --out docs/evaluation/internet."""
    again = [json.loads(json.dumps(internet._flat(count))) for count in counted.values()]
    assert [row for row in again if row not in committed["simulated"]] == []


def test_committed_report_agrees_for_all_rings_and_every_claim_holds(committed: dict[str, Any]) -> None:
    assert {(row["how"], row["brokers"]) for row in committed["agreement"]} == {
        (JOINED, 256),
        (KNOWN, 128),
        (KNOWN, 1_024),
        (TABLES, 16_384),
    }
    assert [row for row in committed["agreement"] if abs(row["difference"]) > row["tolerance"]] == []
    assert [claim["claim"] for claim in committed["claims"] if not claim["held"]] == []
    assert [row["brokers"] for row in committed["rings"]][-2:] == [100_000, 1_000_000]


@pytest.mark.parametrize("brokers", [1_024, 16_384])
def test_another_seed_gives_hops_inside_the_stated_interval(committed: dict[str, Any], brokers: int) -> None:
    (row,) = [row for row in committed["rings"] if row["brokers"] == brokers]
    seeds = range(row["seeds"], row["seeds"] + 5)
    others = [ring_model.measure(ModelCase(brokers, 20_000, 1, seed)).hops_mean for seed in seeds]
    assert [hops for hops in others if abs(hops - row["hops"]) > row["plus_minus"]] == []


def test_full_plan_has_the_two_sizes_that_the_model_is_shown_at() -> None:
    sizes = {(case.how, case.brokers) for case in internet.FULL.rings}
    assert {(JOINED, 1_024), (KNOWN, 16_384)} <= sizes


def test_rings_of_tables_alone_are_not_said_to_agree_event_by_event(committed: dict[str, Any]) -> None:
    rows = committed["agreement"]
    assert "16,384 brokers the tables alone" in _agrees(rows).found
    whole = [row for row in rows if row["how"] != TABLES]
    assert "tables alone" not in _agrees(whole).found
    assert not _agrees([row | {"difference": 0.11} for row in whole]).held


def test_figures_show_both_heartbeats_and_call_tables_what_they_are(committed: dict[str, Any]) -> None:
    hops, _tables, upkeep = internet.figures(committed)
    by_label = {curve.label: curve for curve in hops.curves}
    assert by_label[internet.SEEN[TABLES]].xs == (16_384,)
    assert 16_384 not in by_label[internet.SEEN[KNOWN]].xs
    usual, calm = (curve for curve in upkeep.curves if curve.label.startswith("modelled"))
    assert min(usual.ys) > 10 * max(calm.ys)
