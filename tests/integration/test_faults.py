"""A short campaign: brokers and applications on hosts of their own, some faults of each kind, every guarantee judged.

`make faults` has the long ones, with seeds that nobody has run before.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from faults import hosts
from tests.tidy.tree import ROOT

PHASES = ("short",)
SEED = 21
SECONDS_MAX = 170

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(SECONDS_MAX + 10),
    pytest.mark.skipif(bool(hosts.missing()), reason=hosts.missing()),
]


def test_every_guarantee_holds_in_a_short_campaign(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "faults", *PHASES, "--seed", str(SEED), "--json", "--out", str(tmp_path)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    assert done.stdout, done.stderr
    phases = json.loads(done.stdout)["phases"]
    for phase in phases:
        print(phase["phase"], {name: phase[name] for name in ("sent", "acknowledged", "delivered", "longest_gap")})
        assert phase["findings"] == [], done.stderr
        assert phase["delivered"] >= phase["acknowledged"] > 1_000, "too little traffic to prove anything"
        assert phase["bands"], "nothing was hurt"
    assert done.returncode == 0
    assert [phase["phase"] for phase in phases] == list(PHASES)
