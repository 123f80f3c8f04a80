"""Every rule catches its planted violation and lets its neighbour pass."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.tidy import rules

TreeRule = Callable[[ast.Module], Iterator[rules.Complaint]]


def complaints(rule: TreeRule, code: str) -> list[rules.Complaint]:
    return list(rule(ast.parse(textwrap.dedent(code))))


BAD: list[tuple[TreeRule, str]] = [
    (rules.long_functions, "def f():\n" + "    x = 1\n" * 70),
    (rules.crowded_signatures, "def f(a, b, c, d, e, g): ..."),
    (rules.crowded_signatures, "class C:\n    def f(self, a, b, c, d, e, g): ..."),
    (rules.logic_in_init, "def f(): ..."),
    (rules.logic_in_init, "LIMIT = compute()"),
    (rules.logic_in_init, "if TYPE_CHECKING:\n    LIMIT = 1"),
    (rules.logic_in_init, "if TYPE_CHECKING:\n    from a import B\nelse:\n    from c import B"),
    (rules.logic_in_init, "__getattr__ = compute()"),
    (rules.missing_docstring, "x = 1"),
    (rules.impure_imports, "import asyncio"),
    (rules.impure_imports, "import os.path"),
    (rules.impure_imports, "from time import monotonic"),
    (rules.impure_imports, "def f():\n    import logging"),
    (rules.impure_imports, "from random import choice"),
    (rules.impure_calls, "random.random()"),
    (rules.impure_calls, "print(1)"),
    (rules.impure_calls, "x = hash(name)"),
    (rules.set_iteration, "for x in {1, 2}: ..."),
    (rules.set_iteration, "for x in set(y): ..."),
    (rules.set_iteration, "z = [x for x in frozenset(y)]"),
    (rules.set_iteration, "s: set[int] = make()\nfor x in s: ..."),
    (
        rules.set_iteration,
        "class C:\n    def __init__(self):\n        self.s = set()\n    def f(self):\n        return list(self.s)",
    ),
    (rules.set_iteration, "def f(s: frozenset[int]):\n    return [x for x in s]"),
    (rules.set_iteration, "s = {1}\nfor x in s | other: ..."),
    (rules.set_iteration, "s = {1}\nx = s.pop()"),
    (rules.set_iteration, "s = {1}\nx = [*s]"),
    (rules.set_iteration, "s = {1}\nx = ','.join(s)"),
    (rules.set_iteration, "x = {1}.union(y)\nfor z in x.union(a): ..."),
    (rules.placeholders, "x = y or '?'"),
    (rules.placeholders, "x = y.get('epoch', '?')"),
    (rules.placeholders, "x = y if y else 'none'"),
    (rules.placeholders, "f'the matrix is none (because {x})'"),
    (rules.bare_sleeps, "def test():\n    time.sleep(1)"),
    (rules.bare_sleeps, "async def test():\n    await asyncio.sleep(0.5)"),
]

GOOD: list[tuple[TreeRule, str]] = [
    (rules.placeholders, "x = y or 'nobody'\nz = f'{x} is none of the brokers'"),
    (rules.long_functions, "def f():\n" + "    x = 1\n" * 69),
    (rules.crowded_signatures, "class C:\n    def f(self, a, b, c, d, e, *, g): ..."),
    (rules.logic_in_init, '"""Doc."""\nfrom a import B, C\nMessage = B | C\n"""Any."""\n__all__ = ["B"]'),
    (rules.logic_in_init, "if TYPE_CHECKING:\n    from a import B\n__getattr__ = later(__name__, {'a': ('B',)})"),
    (rules.missing_docstring, ""),
    (rules.missing_docstring, '"""What it owns."""'),
    (rules.impure_imports, "import random\nfrom random import Random\nfrom causeway.core.machine import Turn"),
    (rules.impure_calls, "def f(rng: random.Random):\n    rng.random()"),
    (rules.set_iteration, "for x in sorted({1, 2}): ..."),
    (rules.set_iteration, "s = {1}\nok = any(x > 1 for x in s)"),
    (rules.set_iteration, "s = {1}\nok = len(s), min(s), 1 in s, s <= t"),
    (rules.set_iteration, "d = {1: 2}\nfor x in d: ...\nd.pop(1)"),
    (rules.bare_sleeps, "def test():\n    while not ready():\n        time.sleep(0.01)"),
    (rules.bare_sleeps, "async def test():\n    await asyncio.sleep(0)"),
]


@pytest.mark.parametrize(("rule", "code"), BAD)
def test_rule_complains_about_a_planted_violation(rule: TreeRule, code: str) -> None:
    assert complaints(rule, code)


@pytest.mark.parametrize(("rule", "code"), GOOD)
def test_rule_lets_the_right_way_pass(rule: TreeRule, code: str) -> None:
    assert complaints(rule, code) == []


def test_docstrings_name_modules_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "here.py").touch()
    tree = ast.parse('"""See core/here.py, `here.py` and away.py; $FOLDER/other.py is of nobody."""')
    folders = (tmp_path, tmp_path / "core")
    assert [what.split(":")[0] for _, what in rules.missing_files(tree, folders)] == ["there is no away.py"]


def test_text_rules_complain_about_planted_violations() -> None:
    assert list(rules.leftovers("x = 1  # TO" + "DO later"))
    assert list(rules.machine_traces("path = '/ho" + "me/me/x'"))
    assert list(rules.machine_traces("see https" + "://pypi.example/simple"))


def test_text_rules_let_the_right_way_pass() -> None:
    assert not list(rules.leftovers("the tasks to do today"))
    assert not list(rules.machine_traces("f'{tmp_path}/work/x' ../work/y http://127.0.0.1:80/ /usr/lib/jvm"))
