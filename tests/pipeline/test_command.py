"""`causeway pipeline`: what people type, what comes out, what is said when it cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from causeway.cli.main import main
from causeway.lake.table import Segment
from causeway.pipeline import quality
from tests.pipeline.lakes import NOON, telemetry, write_lake


def test_rates_feed_a_placement(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        telemetry(f"t{topic}", NOON + second, 10 + second % (topic + 2), item=f"i{topic}", writer=f"b{topic % 2}")
        for topic in range(4)
        for second in range(60)
    ]
    write_lake(tmp_path / "lake", "telemetry", rows)
    command = ["pipeline", "rates", "--lake", str(tmp_path / "lake"), "--out", str(tmp_path / "out")]
    assert main([*command, "--set", "period=10", "--set", "capacity=50", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads((tmp_path / "out" / "result.json").read_text())
    assert told["summary"]["items"] == 4
    for name in (*told["tables"], *told["pictures"]):
        assert (tmp_path / "out" / name).exists(), name
    assert "rates.png" in told["pictures"]

    assert main(["plan", "placement", str(tmp_path / "out" / "model.json"), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert {item["name"]: item["rate"] for item in plan["items"]}.keys() == {"i0", "i1", "i2", "i3"}
    assert {broker["name"]: broker["capacity"] for broker in plan["brokers"]} == {"b0": 50.0, "b1": 50.0}


def test_segments_are_looked_at_once(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segments = write_lake(
        tmp_path / "lake", "telemetry", [telemetry("a", NOON + second, 3, item="i") for second in range(9)]
    )
    looked: list[Path] = []

    def whole(segment: Segment) -> bool:
        looked.append(Path(segment.location.path))
        return True

    monkeypatch.setattr(quality, "is_whole", whole)
    assert main(["pipeline", "rates", "--lake", str(tmp_path / "lake"), "--out", str(tmp_path), "--json"]) == 0
    assert looked == segments


def test_people_see_what_was_found(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("base=calm", "seeds=1", "safety=0.2", "clients=1", "brokers=1", "workloads=express")
    flags = [part for option in options for part in ("--set", option)]
    assert main(["pipeline", "sweep", "--out", str(tmp_path), *flags]) == 0
    shown = capsys.readouterr().out
    assert "endings" in shown
    assert "ok: 1" in shown
    assert "result.json, page.html, sweep" in shown


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["dance"], "job='dance'"),
        (["rates"], "rates reads a lake"),
        (["rates", "--lake", "/nowhere"], "no such folder"),
        (["rates", "--lake", ".", "--set", "period"], "must be NAME=VALUE"),
        (["rates", "--lake", ".", "--set", "peak=1", "--set", "peak=1"], "is there twice"),
        (["rates", "--lake", ".", "--checkpoint", "x"], "is for --stream"),
        (["domains", "--lake", ".", "--stream"], "leave --stream out"),
        (["latency", "--lake", ".", "--set", "peak=1"], "is no option of latency"),
    ],
)
def test_wrong_command_is_explained(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    assert main(["pipeline", *arguments, "--out", str(tmp_path), "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["kind"] == "ConfigError"
    assert complaint in error["message"]


def test_lake_without_rows_ends_with_code_one(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pipeline", "latency", "--lake", str(tmp_path), "--out", str(tmp_path / "out"), "--json"]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["kind"] == "LakeError"
    assert "wait for a writer" in error["remedy"]
