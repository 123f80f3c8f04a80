"""What is installed beside us: a clear word where something is missing, or in the way; and what nobody pays for."""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import logging
import subprocess
import sys

import pytest

import causeway
from causeway import extras
from causeway.cli.main import main
from causeway.core.effects import PlanItems
from causeway.core.placing import PlanRequest
from causeway.drivers.aio.loops import new_event_loop
from causeway.drivers.aio.planning import Planning
from causeway.errors import ConfigError

HEAVY = ("asyncio", "matplotlib", "msgspec", "numpy", "psutil", "rich", "scipy", "sqlite3", "ssl", "typer", "uvloop")


def without(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in modules else real(name))


def loaded_by(code: str) -> set[str]:
    code = f"import sys; {code}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def test_import_of_causeway_loads_nothing_heavy() -> None:
    found = loaded_by("import causeway")
    assert not found.intersection(HEAVY)
    assert not {name for name in found if name.startswith("causeway.client")}


def test_import_of_the_client_loads_neither_the_command_line_nor_arrays() -> None:
    found = loaded_by("from causeway import connect")
    assert "causeway.client.session" in found
    assert not found.intersection({"matplotlib", "numpy", "rich", "scipy", "typer", "uvloop"})


def test_pytest_plugin_loads_nothing_of_causeway_before_its_fixture_is_asked_for() -> None:
    (module,) = {one.module for one in importlib.metadata.entry_points(group="pytest11") if one.name == "causeway"}
    found = {name for name in loaded_by(f"import {module}") if name.startswith("causeway.")}
    assert found == {"causeway.errors", "causeway.later", "causeway.testing", "causeway.testing.plugin"}


def test_every_public_name_is_there_and_an_unknown_one_is_named() -> None:
    assert {name for name in causeway.__all__ if getattr(causeway, name).__name__ == name} == set(causeway.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = causeway.nonsense


@pytest.mark.parametrize(
    ("arguments", "absent", "extra"),
    [
        (["plan", "placement", "examples/placement.json"], "scipy", "placement"),
        (["sim", "--seed", "7"], "numpy", "placement"),
        (["evaluate", "gemom", "--quick"], "scipy", "evaluate"),
        (["evaluate", "gemom", "--quick"], "matplotlib", "evaluate"),
        (["pipeline", "rates", "--lake", "nowhere"], "matplotlib", "pipeline"),
    ],
)
def test_command_without_its_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], absent: str, extra: str
) -> None:
    without(monkeypatch, absent)
    assert main(arguments) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"needs {absent}" in said
    assert f"pip install 'causeway-mq[{extra}]'" in said


def test_setting_without_its_extra_names_field_value_and_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pyarrow")
    with pytest.raises(ConfigError, match=r"lake='there': needs pyarrow.*pip install 'causeway-mq\[lake\]'"):
        extras.require("lake", "pyarrow", field="lake", value="there")


async def test_landmark_without_placement_says_so_once_and_plans_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    without(monkeypatch, "scipy")
    posted: list[object] = []
    planning = Planning(posted.append)
    request = PlanRequest(items=(), brokers=(), capacities=(), samples=(), owners=(), mirrors=())
    with caplog.at_level(logging.WARNING, "causeway.driver"):
        for group in (b"one", b"two"):
            planning.start([PlanItems(group, request)])
    assert not planning._tasks
    (record,) = caplog.records
    assert "pip install 'causeway-mq[placement]'" in record.getMessage()


def test_without_uvloop_asyncio_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    loop = new_event_loop()
    try:
        assert isinstance(loop, asyncio.SelectorEventLoop)
    finally:
        loop.close()


def test_other_causeway_is_pointed_out_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(extras, "version", lambda name: "0.3.5")
    assert main(["--version"]) == 0
    assert "pip uninstall causeway causeway-mq" in capsys.readouterr().err
