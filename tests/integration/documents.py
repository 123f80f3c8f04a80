"""What documents print: code blocks to run and commands to look up, for the tests of documents."""

from __future__ import annotations

import re
from pathlib import Path

from tests.integration.processes import causeway

ROOT = Path(__file__).resolve().parents[2]
PRINTED_URL = "causeway://127.0.0.1:7400"
"""What documents use where a reader puts the own cluster's URL."""


def blocks(document: str, language: str) -> list[str]:
    """The fenced blocks of a language in a document, in order; each begins on the line it has there."""
    text = (ROOT / document).read_text()
    found = re.finditer(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return ["\n" * text.count("\n", 0, hit.start(1)) + hit[1] for hit in found]


def check_commands(shell: str) -> int:
    """Every `causeway` command and its options exist; how many there were."""
    lines = [line.split("#")[0].split() for line in shell.splitlines() if line.startswith("causeway ")]
    for line in lines:
        ended = causeway(line[1], "--help")
        assert ended.returncode == 0, f"{' '.join(line)}: {ended.stdout}{ended.stderr}"
        for option in (word for word in line if word.startswith("--")):
            assert option in ended.stdout, f"{' '.join(line)}: there is no {option}"
    return len(lines)


def code_of_example(name: str) -> str:
    """A program of examples/ without its docstring."""
    return (ROOT / "examples" / name).read_text().split('"""\n\n', 1)[1]
