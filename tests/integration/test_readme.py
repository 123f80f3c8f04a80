"""The README's promises to somebody in a hurry: its example runs as printed, its commands exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import causeway.sync
from causeway.testing import LocalCluster

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
PRINTED_URL = "causeway://127.0.0.1:7400"


def test_readme_example_runs_as_printed(causeway_cluster: LocalCluster, tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
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
    section = README.split("## On the command line", 1)[1].split("\n## ", 1)[0]
    lines = [line.split("#")[0].split() for line in section.splitlines() if line.startswith("causeway ")]
    assert len(lines) >= 6
    for line in lines:
        asked = [sys.executable, "-m", "causeway", line[1], "--help"]
        ended = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode == 0, f"{' '.join(line)}: {ended.stdout}{ended.stderr}"
        for option in (word for word in line if word.startswith("--")):
            assert option in ended.stdout, f"{' '.join(line)}: there is no {option}"
