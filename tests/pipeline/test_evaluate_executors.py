"""Cases of an experiment on the executors of a Spark session."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from causeway.evaluate.executors import Executors
from causeway.evaluate.seat_costs import UNICAST, CostCase, measure


def test_executors_measure_what_this_process_measures(spark: SparkSession) -> None:
    cases = [CostCase("flat", UNICAST, seats, 1, 20, 20) for seats in (6, 4, 5)]
    told: dict[int, int] = {}
    found = Executors(spark).run(measure, cases, lambda place, one: told.update({place: one.seats}))
    assert found == [measure(case) for case in cases]
    assert told == {0: 6, 1: 4, 2: 5}


def test_what_a_case_raises_names_its_cause(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="invalid literal for int"):
        Executors(spark).run(int, ["1", "x"], lambda place, found: None)
