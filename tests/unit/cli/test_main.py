"""Errors become exit codes, and only the command asked for is imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from causeway.cli.main import COMMANDS, main, make_app


def test_every_command_has_a_function_of_its_name() -> None:
    registered = [command.callback.__name__ for command in make_app(COMMANDS).registered_commands if command.callback]
    assert registered == [name.replace("-", "_") for name in COMMANDS]


def test_every_command_file_is_a_command() -> None:
    package = Path(sys.modules["causeway.cli.main"].__file__ or "").parent
    functions = {path.stem for path in package.glob("*.py") if f"\ndef {path.stem}(" in path.read_text()}
    assert functions - {"main"} == {name.replace("-", "_") for name in COMMANDS}


def test_config_error_is_exit_code_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["send", "box", "x", "--service", "quick", "--url", "causeway://h:1", "--json"]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["field"] == "service"
    assert err.startswith("error: service='quick'")


def test_nobody_listening_is_exit_code_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["send", "box", "x", "--timeout", "0.2", "--url", "causeway://127.0.0.1:1"]) == 1
    assert capsys.readouterr().err.startswith("error: ")


def test_unknown_command_suggests_and_is_exit_code_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sned"]) == 2
    err = capsys.readouterr().err
    assert "sned" in err
    assert "causeway --help" in err


def test_no_arguments_print_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    assert "Usage: causeway" in capsys.readouterr().out


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("causeway ")


def test_broker_does_not_import_the_simulator() -> None:
    code = (
        "import sys; from causeway.cli.main import make_app; make_app(['broker']); print('causeway.sim' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "False"
