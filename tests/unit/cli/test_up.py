"""What `causeway up` shows of domains."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from causeway.cli.up import _announce, places
from causeway.local.cluster import ProcessCluster
from causeway.local.plan import plan
from causeway.local.runfile import default_data_dir
from causeway.local.seating import Seating


def shown(layout: str | None) -> str:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(places(plan(None, brokers=4, prefix="b", seating=Seating(layout=layout))))
    return console.export_text()


def test_one_domain_is_one_line() -> None:
    assert shown(None).strip() == "all of them in the domain main"


def test_domains_are_shown_with_their_routers() -> None:
    rows = [line.split() for line in shown("bus").splitlines()]
    assert ["d1", "b1", "b2"] in rows
    assert ["backbone", "b1,", "b3"] in rows


def test_hints_name_the_data_that_was_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = plan(None, brokers=1, prefix="b", seating=Seating())
    for data, flag in ((tmp_path / "my cluster", f" --data '{tmp_path}/my cluster'"), (default_data_dir(), "")):
        _announce(ProcessCluster(data, run), {}, detached=True, as_json=False)
        said = capsys.readouterr().err
        assert f"causeway send billing hello{flag};" in said
        assert f"'causeway down{flag}'" in said


def test_spares_are_no_seats() -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(places(plan(None, brokers=4, spares=1, prefix="b", seating=Seating(layout="bus"))))
    assert "b5" not in console.export_text()
