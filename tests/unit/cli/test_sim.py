"""`causeway sim`: what it prints and what it exits with."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from rich.console import Console

from causeway.cli import sim
from causeway.cli.main import main
from causeway.cli.sim import progress, ticker
from causeway.core.messages import PROTOCOL_VERSION
from causeway.sim.faults import options_swarm
from causeway.sim.run import SimRun
from causeway.types import SECOND

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


def test_json_has_the_digest_that_is_printed_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "--seed", "5", *FEW, "--trace-digest"]) == 0
    printed = capsys.readouterr().out.splitlines()[-1]
    assert main(["sim", "--seed", "5", *FEW, "--json", "--trace-digest"]) == 0
    assert printed == f"digest={json.loads(capsys.readouterr().out)['digest']}"


def test_crash_has_a_code_that_no_wrong_flag_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash(self: SimRun) -> str:
        raise RuntimeError("planted")

    monkeypatch.setattr(SimRun, "pending", crash)
    assert main(["sim", "--seed", "5", *FEW]) == 5
    assert "planted" in capsys.readouterr().out
    assert main(["sim", "--nonsense"]) == 2


def test_progress_goes_by_virtual_time_and_is_full_while_it_converges() -> None:
    options = options_swarm(5, brokers=2, clients=2, seconds=4)
    bar = progress(Console(file=io.StringIO()))
    tick = ticker(bar, options)
    (task,) = bar.tasks
    tick(1 * SECOND)
    assert (task.description, task.percentage, task.fields["now"]) == ("faults", 25, 1.0)
    tick(6 * SECOND)
    assert (task.description, task.percentage, task.fields["now"]) == ("converging", 100, 6.0)


def test_progress_is_shown_on_standard_error_also_beside_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sim", "--seed", "5", *FEW]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sim, "notices", lambda: Console(file=sys.stderr, force_terminal=True))
    assert main(["sim", "--seed", "5", *FEW, "--json"]) == 0
    out, err = capsys.readouterr()
    assert "virtual seconds" in err
    assert out.count("\n") == 1


def test_failure_names_the_seed_and_exits_with_its_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(SimRun, "pending", lambda self: "never ready")
    assert main(["sim", "--seed", "5", *FEW]) == 4
    assert "seed=5 commit=" in capsys.readouterr().out


def test_log_holds_a_line_per_event(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert main(["sim", "--seed", "5", *FEW, "--log", str(log)]) == 0
    assert f"Hello(version={PROTOCOL_VERSION}" in log.read_text()


@pytest.mark.parametrize("flag", ["--brokers", "--clients"])
def test_numbers_that_make_no_sense_are_refused(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", flag, "0"]) == 2
    assert "must be at least 1" in capsys.readouterr().err
