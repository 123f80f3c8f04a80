"""The files of this repository, as the tidy tests see them: no environments, caches or build results."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "causeway"
GENERATED = "_sync"
"""A folder or module of this name holds generated code (tools/unasync.py)."""

_SKIPPED = {"build", "dist", "__pycache__", "node_modules", "results"}
_KEPT_HIDDEN = {".ci", ".gitignore"}
_TEXT = {".py", ".md", ".toml", ".lock", ".sh", ".txt", ".cfg", ".ini", ".json", ".yaml", ".yml", ""}


def walk(folder: Path = ROOT) -> Iterator[Path]:
    """Every file and folder below, in order."""
    for path in sorted(folder.iterdir()):
        hidden = path.name.startswith(".") and path.name not in _KEPT_HIDDEN
        if hidden or path.name in _SKIPPED or path.name.endswith(".egg-info"):
            continue
        yield path
        if path.is_dir():
            yield from walk(path)


@functools.cache
def text_files() -> tuple[Path, ...]:
    """Everything a person can read."""
    return tuple(path for path in walk() if path.is_file() and path.suffix in _TEXT)


@functools.cache
def python_files(*tops: str) -> tuple[Path, ...]:
    """Written (not generated) Python below the given folders of the root."""
    found = (path for path in text_files() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in tops)
    return tuple(path for path in found if GENERATED not in path.with_suffix("").parts)


@functools.cache
def parse(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(), filename=str(path))


def shown(path: Path) -> str:
    """A path as messages name it."""
    return path.relative_to(ROOT).as_posix()


def expect_none(complaints: list[str]) -> None:
    """Fail with every complaint on its own line."""
    assert not complaints, "\n" + "\n".join(complaints)
