"""The README's promises to somebody in a hurry: its commands and its code work as printed, in a fresh clone."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.documents import ROOT, blocks, code_of_example

PRINTED_PORT = "7400"
BROKERS = 5
NOT_RUN = "make test"
"""It would run this test."""
SECONDS_MAX = 150
"""About 40 s with pip's cache; a first install downloads some tens of megabytes."""


def free_ports() -> int:
    """The first of as many free ports in a row as the README's cluster has: its own may be in use on this machine."""
    for first in random.sample(range(20_000, 30_000, BROKERS), 100):
        with contextlib.suppress(OSError), contextlib.ExitStack() as bound:
            for port in range(first, first + BROKERS):
                bound.enter_context(socket.create_server(("127.0.0.1", port)))
            return first
    raise AssertionError(f"no {BROKERS} free ports in a row")


def fresh_clone(folder: Path) -> Path:
    """What is committed, with another default port."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    port = str(free_ports())
    for name in ("src/causeway/client/url.py", "examples/hello.py"):
        text = (clone / name).read_text()
        assert PRINTED_PORT in text, name
        (clone / name).write_text(text.replace(PRINTED_PORT, port))
    return clone


def clean_environment(folder: Path) -> dict[str, str]:
    """A user's variables, a home of its own, and what pip needs to fetch nothing twice."""
    asked = subprocess.run([sys.executable, "-m", "pip", "cache", "dir"], capture_output=True, text=True, check=True)
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    home = folder / "home"
    home.mkdir()
    (home / "tmp").mkdir()
    path = f"/usr/local/bin:{os.defpath}"
    return {**kept, "PIP_CACHE_DIR": asked.stdout.strip(), "HOME": str(home), "TMPDIR": str(home / "tmp"), "PATH": path}


def test_readme_prints_the_examples_that_it_names() -> None:
    hello, average = (block.lstrip("\n") for block in blocks("README.md", "python"))
    assert code_of_example("hello.py") == hello
    assert code_of_example("average.py").endswith(f"\n\n{average}")


@pytest.mark.slow
@pytest.mark.timeout(SECONDS_MAX + 60)
def test_commands_of_the_readme_work_in_order_in_a_fresh_clone(tmp_path: Path) -> None:
    clone, environ = fresh_clone(tmp_path), clean_environment(tmp_path)
    lines = [line for block in blocks("README.md", "sh") for line in block.splitlines() if line not in ("", NOT_RUN)]
    assert lines[0] == "make run"

    def run(script: str, seconds: int) -> subprocess.CompletedProcess[str]:
        command = ["timeout", str(seconds), "bash", "-exc", script]  # ends what the script started, too
        return subprocess.run(command, cwd=clone, env=environ, capture_output=True, text=True, check=False)

    try:
        ended = run("\n".join(lines), SECONDS_MAX)
    finally:
        stopped = run(".venv/bin/causeway down", 60)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert stopped.returncode == 0, stopped.stderr
    for shown in ("every guarantee held", "signals: signal 12 is red", " 0 missing, 0 doubled, 0 out of order", "22.5"):
        assert shown in ended.stdout
