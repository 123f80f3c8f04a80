"""What documents and docstrings say is there: links, paths, the folder map, the change log; nothing of one machine."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.tidy import rules
from tests.tidy.tree import ROOT, SOURCE, expect_none, parse, python_files, shown, text_files, walk
from tools import record_demo

DOCUMENTS = [path for path in text_files() if path.suffix == ".md"]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
PATH = re.compile(r"`((?:src|tests|tools|docs|bench|examples|faults|core|sim|store|wire|drivers|client|cli)/[\w./-]*)`")
TEST = re.compile(r"`(tests/[\w./-]*)::(\w+)`")
MAPPED = ("", "docs", "src", "src/causeway", "src/causeway/core", "src/causeway/drivers", "src/causeway/sim", "tests")
"""Folders whose sub-folders the map in ARCHITECTURE.md names."""


def test_links_lead_somewhere() -> None:
    broken = []
    for document in DOCUMENTS:
        for target in LINK.findall(FENCE.sub("", document.read_text())):
            name = target.split("#")[0]
            if name and "://" not in name and not (document.parent / name).exists():
                broken.append(f"{shown(document)}: {target}")
    expect_none(broken)


def test_paths_in_documents_exist() -> None:
    missing = []
    for document in DOCUMENTS:
        for name in PATH.findall(document.read_text()):
            if not any((base / name).exists() for base in (ROOT, SOURCE)):
                missing.append(f"{shown(document)}: `{name}`")
    expect_none(missing)


def test_tests_in_documents_exist() -> None:
    missing = []
    for document in DOCUMENTS:
        for file, test in TEST.findall(document.read_text()):
            path = ROOT / file
            if not path.exists() or f"def {test}(" not in path.read_text():
                missing.append(f"{shown(document)}: {file}::{test}")
    expect_none(missing)


def test_modules_in_docstrings_exist() -> None:
    missing = []
    for path in python_files("src", "tests", "tools", "bench", "examples", "faults"):
        found = rules.missing_files(parse(path), (ROOT, SOURCE, *path.parents[: len(path.relative_to(ROOT).parts)]))
        missing += [f"{shown(path)}:{line}: {what}" for line, what in found]
    expect_none(missing)


def folder_map() -> list[str]:
    """The folders that the map lists."""
    section = (ROOT / "ARCHITECTURE.md").read_text().split("## Where things are", 1)[1]
    block = FENCE.search(section)
    assert block is not None, "ARCHITECTURE.md: the folder map is a fenced block under `## Where things are`"
    return [line.split()[0] for line in block[0].splitlines()[1:-1]]


def test_map_has_the_folders_that_exist() -> None:
    real = []
    for path in walk():
        parent = path.parent.relative_to(ROOT).as_posix().removeprefix(".")
        if (
            path.is_dir()
            and parent in MAPPED
            and shown(path) != "src"
            and any(inner.is_file() for inner in path.rglob("*"))
        ):
            real.append(shown(path) + "/")
    assert folder_map() == sorted(real)


def test_readme_fits_into_a_minute() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 120
    assert [len(block.splitlines()) for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL)] == [10, 5]


def test_picture_of_the_readme_is_small_and_was_recorded_as_the_tool_says() -> None:
    text = record_demo.PICTURE.read_text()
    assert f"]({shown(record_demo.PICTURE)})" in (ROOT / "README.md").read_text()
    assert len(text) < 200_000
    lines = ["".join(node.itertext()) for node in ET.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]
    assert [line for line in lines if line.startswith("$ ")] == [f"$ {command}" for command in record_demo.SCRIPT]
    assert any("0 missing, 0 doubled, 0 out of order" in line for line in lines)


def test_changelog_says_what_is_unreleased() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(r"^## Unreleased\n(?:(?!^## ).*\n)*- ", text, re.MULTILINE)


def complaints(rule: object, *, skip: tuple[str, ...] = ()) -> list[str]:
    assert callable(rule)
    return [
        f"{shown(path)}:{line}: {what}"
        for path in text_files()
        if shown(path) not in skip
        for line, what in rule(path.read_text())
    ]


def test_nothing_is_left_for_later() -> None:
    expect_none(complaints(rules.leftovers))


def test_files_do_not_know_the_machine_they_were_written_on() -> None:
    expect_none(complaints(rules.machine_traces))


def test_files_do_not_name_the_machine_they_were_written_on() -> None:
    name = socket.gethostname()
    if len(name) >= 8 and name not in ("localhost", "causeway"):
        expect_none([shown(path) for path in text_files() if name in path.read_text()])


def test_lock_has_hashes_and_names_no_registry() -> None:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    expect_none([line for line in lines if re.match(r"\s*--(index|extra|find|trusted)|.*://", line)])
    pins = [index for index, line in enumerate(lines) if re.match(r"[a-z0-9]", line)]
    assert pins
    expect_none([lines[index] for index in pins if "--hash=sha256:" not in lines[index + 1]])


def locked() -> dict[str, str]:
    found = re.findall(r"^([a-z0-9._-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    return dict(found)


def test_lock_covers_every_declared_dependency() -> None:
    declared = re.findall(r'"([a-zA-Z0-9_.-]+)(?:\[[a-z,]+\])?>=', (ROOT / "pyproject.toml").read_text())
    expect_none([name for name in declared if name.lower() not in locked()])


def test_scripts_are_executable() -> None:
    scripts: list[Path] = [ROOT / ".ci" / "run", *sorted((ROOT / "tools").glob("*.sh"))]
    expect_none([shown(path) for path in scripts if not path.stat().st_mode & 0o100])
