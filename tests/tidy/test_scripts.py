"""The tools behind the Makefile: generators notice drift, set-up scripts find or name what is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.tidy.tree import ROOT
from tools import adr_index, gen_docs

NEEDED = ("bash", "env", "id", "sed", "head", "cat")


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A PATH with next to nothing on it: no Java, no Python, no package manager."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in NEEDED:
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    return folder


def fake(folder: Path, name: str, script: str) -> Path:
    program = folder / name
    program.write_text(f"#!/usr/bin/env bash\n{script}\n")
    program.chmod(0o755)
    return program


def run(script: str, path: Path, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "PYTHON")}
    environment = kept | {"PATH": str(path)} | extra
    return subprocess.run(
        [ROOT / "tools" / script, *arguments], env=environment, capture_output=True, text=True, timeout=30, check=False
    )


def java(version: str) -> str:
    return f"echo 'openjdk version \"{version}\" 2024-01-01' >&2"


@pytest.mark.parametrize("version", ["17.0.12", "21", "25-ea"])
def test_java_is_found_on_the_path(bare_path: Path, version: str) -> None:
    program = fake(bare_path, "java", java(version))
    found = run("java.sh", bare_path)
    assert (found.returncode, found.stdout.strip()) == (0, str(program))


def test_java_home_is_found_before_the_path(bare_path: Path, tmp_path: Path) -> None:
    fake(bare_path, "java", java("21.0.1"))
    home = tmp_path / "jdk"
    (home / "bin").mkdir(parents=True)
    program = fake(home / "bin", "java", java("17.0.1"))
    assert run("java.sh", bare_path, JAVA_HOME=str(home)).stdout.strip() == str(program)


@pytest.mark.parametrize("version", ["", "1.8.0_392", "11.0.2"])
def test_missing_or_old_java_is_named_with_what_to_install(bare_path: Path, version: str) -> None:
    if version:
        fake(bare_path, "java", java(version))
    found = run("java.sh", bare_path)
    assert found.returncode == 1
    assert found.stdout == ""
    assert "apt-get install openjdk-17-jre-headless" in found.stderr
    assert ("java on PATH: none" in found.stderr) == (not version)


@pytest.mark.parametrize(("which", "expected"), [("oldest", "python3.11"), ("newest", "python3.13")])
def test_oldest_and_newest_python_are_found_also_below_pyenv(
    bare_path: Path, tmp_path: Path, which: str, expected: str
) -> None:
    for name in ("sort", "cut", "grep", "ls"):
        found = shutil.which(name)
        assert found is not None
        (bare_path / name).symlink_to(found)
    managed = tmp_path / "pyenv" / "versions" / "3.13.0" / "bin"
    managed.mkdir(parents=True)
    programs = {
        f"python3.{minor}": fake(folder, name, f'case "$2" in *print*) echo 3.{minor};; esac')
        for minor, folder, name in (
            (12, bare_path, "python3.12"),
            (11, bare_path, "python3.11"),
            (13, managed, "python3"),
        )
    }
    found = run("python.sh", bare_path, which, PYENV_ROOT=str(tmp_path / "pyenv"))
    assert (found.returncode, found.stdout.strip()) == (0, str(programs[expected]))


def planned(target: str, venv: Path) -> str:
    """What `make` would do in an empty tree."""
    make = shutil.which("make")
    assert make is not None
    command = [make, "--dry-run", f"VENV={venv}", target]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=True).stdout


def test_run_needs_neither_java_nor_what_developers_install(tmp_path: Path) -> None:
    plan = planned("run", tmp_path / "venv")
    assert "-r run.lock" in plan
    assert "requirements.lock" not in plan
    assert "java.sh" not in plan


def test_tests_ask_for_java_before_anything_is_installed(tmp_path: Path) -> None:
    plan = planned("test", tmp_path / "venv")
    assert plan.index("java.sh") < plan.index("-r run.lock") < plan.index("-r requirements.lock")


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text().splitlines()
    return dict(line.split(" ")[0].split("==") for line in lines if line[:1].isalnum())


def test_small_lock_has_what_the_product_needs_in_the_versions_of_the_large_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    small, large = pins("run.lock"), pins("requirements.lock")
    assert small.items() <= large.items()
    needed = {re.split(r"[>=<;\[ ]", one)[0] for one in project["project"]["dependencies"]}
    assert needed <= set(small)
    assert not {"numpy", "scipy", "pyspark", "pyarrow"} & set(small)


def test_python_that_runs_and_is_new_enough_is_found(bare_path: Path) -> None:
    fake(bare_path, "python3.13", "echo 'no such version' >&2; exit 127")  # a version manager's stub
    program = fake(bare_path, "python3", "exit 0")
    found = run("python.sh", bare_path)
    assert (found.returncode, found.stdout.strip()) == (0, str(program))


def test_python_built_with_optimisation_is_preferred(bare_path: Path) -> None:
    fake(bare_path, "python3.12", 'case "$2" in *sysconfig*) exit 1;; esac')
    better = fake(bare_path, "python3.11", "exit 0")
    assert run("python.sh", bare_path).stdout.strip() == str(better)
    better.unlink()
    assert run("python.sh", bare_path).stdout.strip() == str(bare_path / "python3.12")


def test_named_python_is_taken_or_refused_by_its_name(bare_path: Path) -> None:
    fake(bare_path, "python3.12", "exit 0")
    (bare_path / "a b").mkdir()
    named = fake(bare_path / "a b", "mine", 'case "$2" in *sysconfig*) exit 1;; esac')
    assert run("python.sh", bare_path, PYTHON=str(named)).stdout.strip() == str(named)
    found = run("python.sh", bare_path, PYTHON="python9")
    assert found.returncode == 1
    assert "python9: not on PATH" in found.stderr
    assert "python3.12" not in found.stderr


def test_missing_python_is_named_with_what_to_install(bare_path: Path) -> None:
    fake(bare_path, "python3", 'case "$2" in *print*) echo 3.9.1;; *) exit 1;; esac')
    found = run("python.sh", bare_path)
    assert found.returncode == 1
    assert "python3: is 3.9.1, too old" in found.stderr
    assert "python3.12: not on PATH" in found.stderr
    assert "python3-venv" in found.stderr


def test_generated_sections_follow_the_code() -> None:
    text = "before\n<!-- generated:codes -->\nstale text\n<!-- end -->\nafter\n"
    rendered = gen_docs.render(text)
    assert "stale text" not in rendered
    assert "`BAD_FRAME`" in rendered
    assert rendered.startswith("before\n")
    assert rendered.endswith("<!-- end -->\nafter\n")
    assert gen_docs.render(rendered) == rendered


def test_field_without_a_meaning_cannot_be_shown() -> None:
    class Shown:
        name: str
        """What it is called."""
        size: int

    assert gen_docs.described(Shown) == {"name": "What it is called.", "size": ""}
    with pytest.raises(SystemExit, match=r"Shown\.size needs its meaning"):
        gen_docs.meaning_table("field", Shown)


def test_decision_without_its_parts_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adr_index, "FOLDER", tmp_path)
    whole = "# 0001. Title\n\nStatus: accepted\n\n## Context\n\n## Decision\n\n## Consequences\n"
    (tmp_path / "0001-title.md").write_text(whole)
    assert "| [0001](0001-title.md) | Title | accepted |" in adr_index.index()
    for missing in ("# 0001. Title", "Status: accepted", "## Decision"):
        (tmp_path / "0001-title.md").write_text(whole.replace(missing, ""))
        with pytest.raises(adr_index.BadDecision, match=r"0001-title\.md"):
            adr_index.index()


def test_limit_never_borrows_the_reason_of_another() -> None:
    source = 'A: int = 1\nB: int = 2\n"""Of B."""\n\nC: int = 3\n\n"""Of nobody."""\nD: int = 4\n"""Of D."""\n'
    assert list(gen_docs.constants(source)) == [("A", ""), ("B", "Of B."), ("C", ""), ("D", "Of D.")]
