"""Which cluster `causeway down` stops."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from causeway.cli.main import main
from causeway.local import runfile
from causeway.local.pids import identify
from causeway.local.runfile import BrokerEntry, RunFile


def test_down_does_not_choose_among_several_clusters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("CAUSEWAY_DATA", raising=False)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        runfile.save(tmp_path / name, RunFile([BrokerEntry(name, process=identify(os.getppid()))]))
        runfile.remember(tmp_path / name)
    monkeypatch.setattr("causeway.cli.down.ProcessCluster", None)  # nobody is stopped
    assert main(["down"]) == 2
    said = capsys.readouterr().err
    assert f"{tmp_path}/one, {tmp_path}/two" in said
    assert "say which one" in said


def test_down_of_a_directory_without_a_cluster_names_flags_that_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["down", "--data", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "--data" in said
    assert "--url" not in said
