"""A command of the pipeline in a process of its own, and what it took: time, processor time and memory.

Owns: looking at the process and its children. Must not know: what they compute.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
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


def watched(module: str, *words: str) -> tuple[str, dict[str, Any]]:
    """Run a module with these words: what it prints, and what it took."""
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, "-m", module, *words], stdout=subprocess.PIPE, text=True)
    watch = Watch(process.pid)
    answer, _ = process.communicate()
    return answer, {"seconds": round(time.monotonic() - began, 1), **watch.stop()}


def run_watched(*words: str) -> dict[str, Any]:
    """Run `causeway pipeline` with these words: the summary of its answer, and what it took."""
    answer, took = watched("causeway", "pipeline", *words, "--json")
    # A job that judges fails when something did not hold, and answers all the same: faults may have been planted.
    summary = json.loads(answer or "{}").get("summary")
    if summary is None:
        raise SystemExit(f"the job failed: {answer}")
    return {**took, "summary": summary}


def spent(took: dict[str, Any]) -> str:
    """What a command took, for people."""
    held = ", ".join(
        f"{name.removesuffix('_mib_max')} {took[name]:,} MiB" for name in took if name.endswith("_mib_max")
    )
    return f"{took['seconds']:.1f} s, {took['processor_seconds']:.1f} s of processors, {held} at most"
