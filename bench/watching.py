"""A command of the pipeline in a process of its own, and what it took: time, processor time and memory.

Owns: looking at the process and its children. Must not know: what they compute.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

LOOK_SECONDS = 0.25
MIB = 1024 * 1024


class Watch:
    """Processor time, and the largest resident memory by what runs, of a process and its children."""

    def __init__(self, pid: int) -> None:
        self._most: dict[str, int] = {}
        self._used: dict[int, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, args=(psutil.Process(pid),), daemon=True)
        self._thread.start()

    def _look(self, root: psutil.Process) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            held: dict[str, int] = {}
            try:
                for process in (root, *root.children(recursive=True)):
                    kind = "java" if "java" in process.name() else "python"
                    held[kind] = held.get(kind, 0) + process.memory_info().rss
                    times = process.cpu_times()
                    self._used[process.pid] = times.user + times.system
            except psutil.Error:
                continue  # one of them has just ended
            for kind, size in held.items():
                self._most[kind] = max(self._most.get(kind, 0), size)

    def stop(self) -> dict[str, float]:
        """What was seen until now."""
        self._ended.set()
        self._thread.join()
        held = {f"{kind}_mib_max": size // MIB for kind, size in sorted(self._most.items())}
        return {"processor_seconds": round(sum(self._used.values()), 1), **held}


def watched(module: str, *words: str, variables: dict[str, str] | None = None) -> tuple[str, dict[str, Any]]:
    """Run a module with these words, and these variables of the environment: what it prints, and what it took."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", module, *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(variables or {})},
    )
    watch = Watch(process.pid)
    answer, _ = process.communicate()
    return answer, {"seconds": round(time.monotonic() - began, 1), **watch.stop()}


def run_watched(*words: str) -> dict[str, Any]:
    """Run `causeway pipeline` with these words: the summary of its answer, and what it took, also by Spark's events."""
    with tempfile.TemporaryDirectory(prefix="causeway-events-") as folder:
        told = f"spark.eventLog.enabled true\nspark.eventLog.compress false\nspark.eventLog.dir file://{folder}\n"
        Path(folder, "spark-defaults.conf").write_text(told)
        answer, took = watched("causeway", "pipeline", *words, "--json", variables={"SPARK_CONF_DIR": folder})
        took |= tasks_in(Path(folder))
    # A job that judges fails when something did not hold, and answers all the same: faults may have been planted.
    summary = json.loads(answer or "{}").get("summary")
    if summary is None:
        raise SystemExit(f"the job failed: {answer}")
    return {**took, "summary": summary}


def tasks_in(folder: Path) -> dict[str, Any]:
    """From Spark's event logs: what was shuffled, and how long the longest task of a stage was beside the median of it.
    Stages whose tasks took less than a second say nothing: starting a worker takes as long."""
    shuffled, stages = 0, dict[tuple[int, int], list[int]]()
    for path in folder.rglob("*"):
        for line in path.open() if path.is_file() and path.name != "spark-defaults.conf" else ():
            event = json.loads(line) if line.startswith('{"Event":"SparkListenerTaskEnd"') else None
            if event is None or not event.get("Task Metrics"):
                continue
            shuffled += event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            task = event["Task Info"]
            stage = (event["Stage ID"], event["Stage Attempt ID"])
            stages.setdefault(stage, []).append(task["Finish Time"] - task["Launch Time"])
    medians = [(max(times), statistics.median(times)) for times in stages.values() if len(times) > 2]
    worst = max((longest / median for longest, median in medians if median >= 1_000), default=0.0)
    return {"shuffle_mib": shuffled // MIB, "longest_task_to_median": round(worst, 2)}


def spent(took: dict[str, Any]) -> str:
    """What a command took, for people."""
    held = ", ".join(
        f"{name.removesuffix('_mib_max')} {took[name]:,} MiB" for name in took if name.endswith("_mib_max")
    )
    return f"{took['seconds']:.1f} s, {took['processor_seconds']:.1f} s of processors, {held} at most"
