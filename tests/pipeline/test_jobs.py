"""Jobs as functions: what a notebook gets of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from causeway.pipeline import jobs
from causeway.pipeline.frame import JOBS
from tests.pipeline.fault_lake import healthy
from tests.pipeline.lakes import NOON, telemetry, write_lake, write_segment


def test_every_job_is_a_function_that_says_what_it_gives() -> None:
    for name in JOBS:
        assert getattr(jobs, name).__doc__, name


def test_function_returns_tables_and_a_page(spark: SparkSession, tmp_path: Path) -> None:
    rows = [telemetry("a", NOON + second, 2, item="i", writer="b") for second in range(60)]
    write_lake(tmp_path / "lake", "telemetry", rows)
    found = jobs.rates(spark, str(tmp_path / "lake"), str(tmp_path / "out"), period=10)
    assert [(row["item"], row["mean"]) for row in found["items"].collect()] == [("i", 2.0)]
    assert found.summary["items"] == 1
    assert "<svg" in found._repr_html_()
    page = (tmp_path / "out" / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<?xml" not in page, "a picture inside a page has no head of its own"
    assert json.loads((tmp_path / "out" / "result.json").read_text())["page"] == "page.html"
    with pytest.raises(KeyError, match="'item' is no table of rates; those are: topics, series"):
        found["item"]


def test_certificate_is_the_page_of_the_audit(spark: SparkSession, tmp_path: Path) -> None:
    for rows in healthy().finished().values():
        write_segment(tmp_path / "lake", "events", rows, day="2026-11-17", domain=rows[0]["domain"])
    found = jobs.audit(spark, str(tmp_path / "lake"), str(tmp_path / "out"))
    assert found.holds
    assert found["findings"].count() == 0
    assert json.loads((tmp_path / "out" / "result.json").read_text())["page"] == "certificate.html"
    assert not (tmp_path / "out" / "page.html").exists()
