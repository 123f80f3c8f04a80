"""Writes the sync client from the async one: src/causeway/client/_async -> src/causeway/client/_sync.

    python tools/unasync.py            write it
    python tools/unasync.py --check    fail if what is written differs from what would be, whole files compared

Words are replaced by the table below; a definition whose first line ends in `# async only` is left out; ruff then drops
imports that nothing uses any more and lays the text out.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).resolve().parent.parent / "src" / "causeway" / "client"
SOURCE, TARGET = CLIENT / "_async", CLIENT / "_sync"
NOTE = "# Generated from client/_async/{name} by tools/unasync.py: edit that file, then run `make generate`.\n"
FIRST_PARTY = ("--config", "lint.isort.known-first-party = ['causeway']")
"""Said outright: ruff would look for files, and the first time there are none."""
ASYNC_ONLY = "# async only"
ASYNC_LINT = "# ruff: noqa: ASYNC"

WORDS = {
    r"async (def|with|for)\b": r"\1",
    r"\bawait ": "",
    r"\b__aenter__\b": "__enter__",
    r"\b__aexit__\b": "__exit__",
    r"\b__aiter__\b": "__iter__",
    r"\b__anext__\b": "__next__",
    r"\baclose\b": "close",
    r"\bAsyncIterator\b": "Iterator",
    r"\bStopAsyncIteration\b": "StopIteration",
    r"\bLoopEngine\b": "ThreadEngine",
    r"\bclient\.aio\b": "client.threaded",
    r"\bclient\._async\b": "client._sync",
}
IMPORT = re.compile(r"^(from \S+ import )([\w, ]+)$", re.MULTILINE)


def convert(text: str, name: str) -> str:
    """One async module as its sync twin, not yet laid out."""
    if not text.strip():
        return text
    kept = without_async_only(text.splitlines(keepends=True))
    text = "".join(line for line in kept if not line.startswith(ASYNC_LINT))
    for pattern, replacement in WORDS.items():
        text = re.sub(pattern, replacement, text)
    text = IMPORT.sub(lambda found: found[1] + ", ".join(dict.fromkeys(found[2].split(", "))), text)
    return NOTE.format(name=name) + text


def without_async_only(lines: list[str]) -> list[str]:
    """The lines without the definitions that are marked as async only."""
    kept: list[str] = []
    skipping: int | None = None
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if skipping is not None and (not line.strip() or depth > skipping):
            continue
        skipping = None
        if line.rstrip().endswith(ASYNC_ONLY):
            skipping = depth
        else:
            kept.append(line)
    return kept


def lay_out(text: str, name: str) -> str:
    """The text as ruff would have it."""
    path = str(TARGET / name)
    for command in (
        ["check", "--quiet", "--fix-only", "--select", "F401,I", *FIRST_PARTY, "--stdin-filename", path, "-"],
        ["format", "--quiet", "--stdin-filename", path, "-"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command], input=text, capture_output=True, text=True, check=True
        )
        text = done.stdout
    return text


def generate() -> dict[str, str]:
    """Every sync module by its file name."""
    return {path.name: lay_out(convert(path.read_text(), path.name), path.name) for path in sorted(SOURCE.glob("*.py"))}


def differences(wanted: dict[str, str]) -> list[str]:
    """What is written but should not be, or should be and is not, or differs."""
    written = {path.name: path.read_text() for path in TARGET.glob("*.py")}
    return [name for name in sorted({*wanted, *written}) if wanted.get(name) != written.get(name)]


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing, fail on a difference")
    check: bool = parser.parse_args().check
    wanted = generate()
    wrong = differences(wanted)
    if check:
        for name in wrong:
            print(f"client/_sync/{name} differs from what client/_async gives; run `make generate`", file=sys.stderr)
        return 1 if wrong else 0
    TARGET.mkdir(exist_ok=True)
    for name in wrong:
        if name in wanted:
            (TARGET / name).write_text(wanted[name])
        else:
            (TARGET / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
