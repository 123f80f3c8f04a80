"""Keeps the table of decisions in docs/adr/README.md equal to the files beside it.

    python tools/adr_index.py            write it
    python tools/adr_index.py --check    fail if it differs, or if a decision lacks a part

A decision is a file NNNN-title.md with `# NNNN. Title`, a line `Status: ...`, and the sections of the template.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "adr"
TITLE = re.compile(r"^# (\d{4})\. (.+)$", re.MULTILINE)
STATUS = re.compile(r"^Status: (.+)$", re.MULTILINE)
SECTIONS = ("## Context", "## Decision", "## Consequences")
INTRODUCTION = """\
# Decisions

One page per decision that is costly to reverse: what forced it, what was decided, what follows. A decision is
never rewritten; a later one supersedes it and both say so. Start from [the template](0000-template.md), then
`make generate`.

"""


class BadDecision(Exception):
    """A decision's file lacks something; the text names the file and the remedy."""


def entry(path: Path) -> str:
    """One row of the index."""
    text = path.read_text()
    title, status = TITLE.search(text), STATUS.search(text)
    if title is None or title[1] != path.name[:4]:
        raise BadDecision(f"{path.name}: begin with `# {path.name[:4]}. Title`")
    if status is None:
        raise BadDecision(f"{path.name}: add a line `Status: accepted`")
    for section in SECTIONS:
        if section not in text:
            raise BadDecision(f"{path.name}: add the section `{section}`")
    return f"| [{title[1]}]({path.name}) | {title[2]} | {status[1]} |\n"


def index() -> str:
    """The whole index."""
    paths = sorted(path for path in FOLDER.glob("[0-9]*.md") if not path.name.startswith("0000"))
    numbers = [path.name[:4] for path in paths]
    for number in numbers:
        if numbers.count(number) > 1:
            raise BadDecision(f"two decisions have the number {number}; give the newer one the next free number")
    return INTRODUCTION + "| | decision | status |\n|---|---|---|\n" + "".join(map(entry, paths))


def main() -> int:
    """Write or check the index."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing, fail on a difference")
    check: bool = parser.parse_args().check
    target = FOLDER / "README.md"
    try:
        wanted = index()
    except BadDecision as error:
        print(error, file=sys.stderr)
        return 1
    current = target.read_text() if target.exists() else ""
    if current == wanted:
        return 0
    if check:
        print("docs/adr/README.md differs from the decisions beside it; run `make generate`", file=sys.stderr)
        return 1
    target.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
