"""`python -m bench.audit`: lakes of 1 and 5 million events with planted faults through `causeway pipeline audit`.

Makes both lakes (seeded, 200 applications), runs the real command on each with an executor of 2 cores and 1 GB, and
says whether every planted fault was found and none invented, how long it took by the clock and in processor time (which
other work on the machine changes little), and how much memory its processes held at most.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pyarrow.parquet as pq

from bench.rates import Watch
from causeway.pipeline.generate.world import GAP

MASTER = "local-cluster[1,2,1024]"
"""One executor of 2 cores and 1,024 MiB, a process of its own."""
KEY = ("source", "incarnation", "dest", "stream", "first", "last", "mailbox")


class ProcessorTime:
    """Seconds of processor that a process and its children used."""

    def __init__(self, pid: int) -> None:
        self._used: dict[int, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, args=(psutil.Process(pid),), daemon=True)
        self._thread.start()

    def _look(self, root: psutil.Process) -> None:
        while not self._ended.wait(0.25):
            try:
                for process in (root, *root.children(recursive=True)):
                    times = process.cpu_times()
                    self._used[process.pid] = times.user + times.system
            except psutil.Error:
                continue  # one of them has just ended

    def stop(self) -> float:
        self._ended.set()
        self._thread.join()
        return round(sum(self._used.values()), 1)


def causeway(*words: str) -> dict[str, Any]:
    """Run a command; its answer, and what it took."""
    command = [sys.executable, "-m", "causeway", "pipeline", *words, "--json"]
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    watch, used = Watch(process.pid), ProcessorTime(process.pid)
    answer, _ = process.communicate()
    took = {"seconds": round(time.monotonic() - began, 1), "processor_seconds": used.stop(), **watch.stop()}
    if process.returncode:
        raise SystemExit(f"the job failed: {answer}")
    return {**took, "summary": json.loads(answer)["summary"]}


def compared(lake: Path, out: Path) -> dict[str, Any]:
    """What was planted beside what was found."""
    planted = pq.read_table(lake / "_planted").to_pylist()
    findings = pq.read_table(out / "findings").to_pylist()
    meant = Counter(tuple(row[name] for name in KEY) for row in planted if row["fault"] != GAP)
    gaps = {tuple(row[name] for name in KEY) for row in planted if row["fault"] == GAP}
    violated = Counter(tuple(row[name] for name in KEY) for row in findings if row["outcome"] == "violated")
    unknown = {tuple(row[name] for name in KEY) for row in findings if row["outcome"] == "unknown"}
    return {
        "planted": meant.total(),
        "found": (meant & violated).total(),
        "invented": (violated - meant).total(),
        "records_missing": len(gaps),
        "of_these_unknown": len(gaps & unknown),
        "unknown": len(unknown),
    }


def measure(folder: Path, events: int, faults: int, master: str) -> dict[str, Any]:
    lake, out = folder / f"lake-{events}", folder / f"out-{events}"
    made = causeway(
        *("generate", "--lake", str(lake), "--out", str(folder / "made"), "--seed", "1", "--master", "local[2]"),
        *("--set", f"events={events}", "--set", "applications=200", "--set", f"faults={faults}", "--set", "topics=0"),
    )
    audited = causeway("audit", "--lake", str(lake), "--out", str(out), "--master", master)
    summary = audited.pop("summary")
    return {
        "events": made["summary"]["events_rows"],
        "made_in_seconds": made["seconds"],
        "made_in_processor_seconds": made["processor_seconds"],
        **audited,
        "job_seconds": summary["seconds_taken"],
        **compared(lake, out),
        "guarantees": summary["guarantees"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", default="1000000,5000000", help="sizes of the lakes, with commas between them")
    parser.add_argument("--faults", type=int, default=60, help="of each kind")
    parser.add_argument("--master", default=MASTER)
    parser.add_argument("--folder", type=Path, help="where lakes are made and kept; otherwise they are removed")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder or Path(temporary)
        for events in map(int, chosen.events.split(",")):
            print(json.dumps(measure(folder, events, chosen.faults, chosen.master), indent=1), flush=True)


if __name__ == "__main__":
    main()
