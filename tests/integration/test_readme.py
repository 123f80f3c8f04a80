"""The README's promises to somebody in a hurry: its example runs as printed, its commands exist."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import causeway.sync
from causeway.testing import LocalCluster
from tests.integration.documents import PRINTED_URL, blocks, check_commands


def test_readme_example_runs_as_printed(causeway_cluster: LocalCluster, tmp_path: Path) -> None:
    (example,) = blocks("README.md", "python")
    assert PRINTED_URL in example
    script = tmp_path / "example.py"
    script.write_text(example.replace(PRINTED_URL, causeway_cluster.url))
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("acknowledged: shop:")
    with causeway.sync.connect(causeway_cluster.url, name="reader") as bus:
        bodies = [message.body for message in bus.receive("ledger", timeout=2)]
    assert bodies == [b"booked order 17"]


def test_readme_commands_exist() -> None:
    assert sum(map(check_commands, blocks("README.md", "sh"))) >= 6
