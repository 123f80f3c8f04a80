"""Form of the code: length, names, docstrings, purity of the core, mirrors of the source in tests/unit."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from causeway import errors
from tests.tidy import rules
from tests.tidy.tree import ROOT, SOURCE, expect_none, parse, python_files, shown, walk

FILE_LINES_MAX = 700
"""A file is as long as its one idea. Only far above the usual length is that hard to believe."""

DETERMINISTIC = ("core", "domains", "evaluate", "placement", "selectors", "sim", "topics", "wire")
"""Packages in which the order of a set would leak into a trace; and client/session.py, which the simulator runs."""


def report(files: Iterable[Path], rule: Callable[[ast.Module], Iterator[rules.Complaint]]) -> list[str]:
    return [f"{shown(path)}:{line}: {what}" for path in files for line, what in rule(parse(path))]


def below(*packages: str) -> list[Path]:
    return [path for path in python_files("src") if any(path.is_relative_to(SOURCE / name) for name in packages)]


ALL = python_files("src", "tests", "tools", "bench", "examples", "faults")
SRC = python_files("src")
PURE = [
    *below("core", "domains", "placement", "selectors", "topics", "wire"),
    *(path for path in SRC if path == SOURCE / "client" / "session.py"),
]


def test_files_hold_one_idea() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in ALL}
    expect_none(
        [
            f"{shown(path)}: {lines} lines: which two ideas are in here?"
            for path, lines in lengths.items()
            if lines > FILE_LINES_MAX
        ]
    )


def test_functions_fit_on_one_screen() -> None:
    expect_none(report(ALL, rules.long_functions))


def test_signatures_are_short() -> None:
    """Commands are excepted: typer reads a command's options from its signature."""
    expect_none(report([path for path in SRC if path not in below("cli")], rules.crowded_signatures))


def test_modules_say_what_they_own() -> None:
    expect_none(report(SRC, rules.missing_docstring))


@pytest.mark.parametrize("rule", [rules.impure_imports, rules.impure_calls], ids=lambda rule: rule.__name__)
def test_core_decides_and_never_acts(rule: Callable[[ast.AST], Iterator[rules.Complaint]]) -> None:
    expect_none(report(PURE, rule))


def test_order_of_sets_never_leaks_into_a_trace() -> None:
    expect_none(report([*below(*DETERMINISTIC), *PURE], rules.set_iteration))


def test_tests_poll_instead_of_sleeping() -> None:
    expect_none(report(python_files("tests"), rules.bare_sleeps))


def test_packages_export_and_nothing_else() -> None:
    expect_none(report([path for path in SRC if path.name == "__init__.py"], rules.logic_in_init))


def test_nothing_has_a_name_that_says_nothing() -> None:
    empty = {"utils", "util", "common", "helpers", "helper", "models", "misc"}
    expect_none([shown(path) for path in walk() if path.stem in empty])


def test_public_classes_have_unique_names() -> None:
    """A port in core/ports.py may share its name with the part that implements it; JMS names its things itself."""
    homes: dict[tuple[str, bool], list[str]] = {}
    for path in SRC:
        if path == SOURCE / "core" / "ports.py":
            continue
        for node in parse(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault((node.name, path in below("jms")), []).append(f"{shown(path)}:{node.lineno}")
    expect_none([f"{name}: {', '.join(places)}" for (name, _), places in homes.items() if len(places) > 1])


def test_errors_are_where_the_generated_table_looks_for_them() -> None:
    """JMS names its own errors itself."""
    ours = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    strays = [
        f"{shown(path)}:{node.lineno}: {node.name} is an error; define it in errors.py, with its remedy"
        for path in SRC
        if path not in (SOURCE / "errors.py", SOURCE / "jms" / "errors.py")
        for node in ast.walk(parse(path))
        if isinstance(node, ast.ClassDef) and any(isinstance(base, ast.Name) and base.id in ours for base in node.bases)
    ]
    expect_none(strays)


def test_each_unit_test_mirrors_a_source_module() -> None:
    unit = ROOT / "tests" / "unit"
    orphans = []
    for path in unit.rglob("test_*.py"):
        twin = SOURCE / path.relative_to(unit).parent / path.name.removeprefix("test_")
        if not twin.exists() and not twin.with_suffix("").is_dir():
            orphans.append(f"{shown(path)}: there is no {shown(twin)}; move or rename the test")
    expect_none(orphans)


def test_people_are_told_in_words_what_is_not_there() -> None:
    """Drawing has its own words for nothing; the core's reports are for programs."""
    files = [path for path in SRC if path != SOURCE / "drawing.py" and path not in below("core")]
    expect_none(report(files, rules.placeholders))


def test_integration_tests_see_brokers_from_outside() -> None:
    inside = re.compile(r"causeway\.(drivers|sim|store|core\.(node|links|overlay|groups|mail))\b")
    strays = []
    for path in (ROOT / "tests" / "integration").rglob("*.py"):
        for node in ast.walk(parse(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            strays += [
                f"{shown(path)}:{node.lineno}: {name} is inside a broker; start one and talk to it"
                for name in names
                if inside.match(name)
            ]
    expect_none(strays)
