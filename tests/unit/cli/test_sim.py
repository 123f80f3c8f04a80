"""`causeway sim`: what it prints and what it exits with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from causeway.cli.main import main
from causeway.sim.faults import options_swarm
from causeway.sim.run import SimRun

FEW = ["--brokers", "2", "--clients", "2", "--seconds", "1"]


def test_all_options_are_printed_first_and_the_digest_last(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "--seed", "5", *FEW, "--trace-digest"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "seed=5"
    assert [line.split("=")[0] for line in lines[: len(options_swarm(5).lines())]] == list(
        options_swarm(5).__struct_fields__
    )
    assert lines[-1].startswith("digest=")
    assert lines[-2].startswith("ok: ")


def test_json_is_one_object_with_the_same_digest_every_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "--seed", "5", *FEW, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert main(["sim", "--seed", "5", *FEW, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["digest"] == first["digest"]
    assert (first["seed"], first["ending"], first["options"]["brokers"]) == (5, "ok", 2)


def test_failure_names_the_seed_and_exits_with_its_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(SimRun, "pending", lambda self: "never ready")
    assert main(["sim", "--seed", "5", *FEW]) == 4
    assert "seed=5 commit=" in capsys.readouterr().out


def test_log_holds_a_line_per_event(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert main(["sim", "--seed", "5", *FEW, "--log", str(log)]) == 0
    assert "Hello(version=1" in log.read_text()


@pytest.mark.parametrize("flag", ["--brokers", "--clients"])
def test_numbers_that_make_no_sense_are_refused(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", flag, "0"]) == 2
    assert "must be at least 1" in capsys.readouterr().err
