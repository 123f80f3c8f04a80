"""One broker on a host of a campaign: `causeway broker` that serves the host's address.

Brokers serve loopback addresses alone until TLS and authentication are there. This program lifts that on a host that
no road leads out of, and nowhere else; no option of the product does (ADR 0030). It may also have a wrong clock:
the file that FAULTS_CLOCK names holds the nanoseconds that its wall clock is ahead.
"""

from __future__ import annotations

import mmap
import os
import sys
import time
from functools import partial
from pathlib import Path

from causeway.cli.main import main
from causeway.drivers.aio import runner
from faults.hosts import is_closed


def use_clock(path: Path) -> None:
    """From now on the wall clock of this process is off by what the file says at that moment."""
    with path.open("r+b") as file:
        offset = mmap.mmap(file.fileno(), 8, prot=mmap.PROT_READ)
    right = time.time_ns

    def wrong() -> int:
        return right() + int.from_bytes(offset[:8], "little", signed=True)

    time.time_ns = wrong
    time.time = lambda: wrong() / 1e9


if __name__ == "__main__":
    if not is_closed():
        sys.exit("this program runs only on a host that a campaign made: see docs/testing.md")
    clock = os.environ.get("FAULTS_CLOCK")
    if clock:
        use_clock(Path(clock))
    runner.run_broker = partial(runner.run_broker, allow_network=True)
    sys.exit(main(sys.argv[1:]))
