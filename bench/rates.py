"""`python -m bench.rates`: a day of 2,000 topics in 200 items through `causeway pipeline rates`, on 2 cores and 2 GB.

Makes the lake (seeded), runs the real command in a process of its own, and says how long it took and how much memory
its processes held at most: Java's and those of Python beside it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from causeway.pipeline.generate.telemetry import TelemetryPlan

MIB = 1024 * 1024


class Watch:
    """Largest resident memory of a process and its children, by what they run."""

    def __init__(self, pid: int) -> None:
        self.most: dict[str, int] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, args=(psutil.Process(pid),), daemon=True)
        self._thread.start()

    def _look(self, root: psutil.Process) -> None:
        while not self._ended.wait(0.25):
            held: dict[str, int] = {}
            try:
                for process in (root, *root.children(recursive=True)):
                    kind = "java" if "java" in process.name() else "python"
                    held[kind] = held.get(kind, 0) + process.memory_info().rss
            except psutil.Error:
                continue  # one of them has just ended
            for kind, size in held.items():
                self.most[kind] = max(self.most.get(kind, 0), size)

    def stop(self) -> dict[str, int]:
        self._ended.set()
        self._thread.join()
        return {f"{kind}_mib_max": size // MIB for kind, size in sorted(self.most.items())}


def generate(lake: Path, out: Path, given: argparse.Namespace) -> dict[str, object]:
    """Make the lake, with the real command."""
    asked = {name: getattr(given, name) for name in ("topics", "items", "seconds", "rate")}
    options = [part for name, value in asked.items() for part in ("--set", f"{name}={value}")]
    command = ("generate", "--lake", str(lake), "--out", str(out), "--seed", str(given.seed), *options)
    made = measure(*command, "--set", "events=0", "--set", "latency=no", "--master", given.master)
    size = sum(path.stat().st_size for path in lake.rglob("*.parquet"))
    return {"mib": size // MIB, **made}


def measure(*words: str) -> dict[str, object]:
    """Run a job in a process of its own; what it took."""
    command = [sys.executable, "-m", "causeway", "pipeline", *words, "--json"]
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    watch = Watch(process.pid)
    answer, _ = process.communicate()
    took = time.monotonic() - began
    held = watch.stop()
    if process.returncode:
        raise SystemExit(f"the job failed: {answer}")
    return {"seconds": round(took, 1), **held, "summary": json.loads(answer)["summary"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=2_000)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=86_400)
    parser.add_argument("--rate", type=float, default=TelemetryPlan().rate)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--driver-memory", default="2g")
    parser.add_argument("--lake", type=Path, help="Use this lake, or make it here if it is not there.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lake = given.lake or Path(folder) / "lake"
        made = None if lake.exists() else generate(lake, Path(folder) / "made", given)
        where = ("--lake", str(lake), "--out", str(Path(folder) / "out"))
        found = measure("rates", *where, "--master", given.master, "--driver-memory", given.driver_memory)
    cells = given.topics * given.seconds
    print(json.dumps({"topic_seconds": cells, "generated": made, "rates": found}, indent=1))


if __name__ == "__main__":
    main()
