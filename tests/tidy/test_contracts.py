"""The contracts of pyproject.toml about what is loaded name every part of the package, also one that is new."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from tests.tidy.tree import ROOT, SOURCE, expect_none

USERS = {"cli", "evaluate", "pipeline", "__main__"}
"""The command line, which loads what a command needs; and the parts that have something to draw, compute or read."""
LOADED = {"matplotlib": "drawing", "numpy": "placement", "pyspark": "", "pyarrow": "lake"}
"""What a contract keeps out of the package, and who beside the users may load it."""


def contracts() -> list[dict[str, Any]]:
    text = (ROOT / "pyproject.toml").read_text()
    found: list[dict[str, Any]] = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    return [contract for contract in found if contract["type"] == "forbidden"]


def parts() -> set[str]:
    return {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}


@pytest.mark.parametrize("library", LOADED)
def test_whoever_may_not_load_a_library_is_named_in_its_contract(library: str) -> None:
    (contract,) = [one for one in contracts() if library in one["forbidden_modules"]]
    expected = parts() - USERS - {LOADED[library], "__init__"}
    named = {name.removeprefix("causeway.") for name in contract["source_modules"]}
    expect_none([f"{contract['name']}: source_modules lack causeway.{part}" for part in sorted(expected - named)])
    expect_none([f"{contract['name']}: there is no causeway.{part} to name" for part in sorted(named - expected)])
