"""Whether the rows that a task writes were read from the bus in the same task: then nothing was shuffled in between,
and they come in the same order every time.

Spark tells a sink nothing about the plan that feeds it. Reader and writer of one task are two processes of one
executor, so the reader leaves a mark where the writer finds it: an empty file, named by the executor and the attempt.

Owns: those marks. Must not know: what is read or written.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from pathlib import Path
from typing import Final

import psutil  # type: ignore[import-untyped]
from pyspark import TaskContext

MARK_SECONDS_MAX: Final = 3600.0
"""Marks that no writer has taken away go after so long: it looks with the first rows it is given."""


def mark_reading() -> None:
    """This task reads from the bus. Outside of Spark's tasks nothing happens."""
    mark = _mark()
    if mark is None:
        return
    mark.parent.mkdir(mode=0o700, exist_ok=True)
    _sweep(mark.parent)
    mark.touch()


def was_read_here() -> bool:
    """Whether this task has read from the bus. To be asked when it has been given rows."""
    mark = _mark()
    return mark is not None and mark.exists()


def _mark() -> Path | None:
    context = TaskContext.get()
    if context is None:
        return None
    # Spark may fork readers and writers from daemons of their own; the Java process is the executor of both.
    for process in psutil.Process().parents():
        with contextlib.suppress(psutil.Error):
            if process.name().startswith("java"):
                name = f"{process.pid}-{int(process.create_time())}-{context.taskAttemptId()}"
                return Path(tempfile.gettempdir()) / f"causeway-tasks-{os.getuid()}" / name
    return None


def _sweep(folder: Path) -> None:
    """Remove old marks."""
    before = time.time() - MARK_SECONDS_MAX
    for mark in os.scandir(folder):
        with contextlib.suppress(OSError):
            if mark.stat().st_mtime < before:
                os.unlink(mark.path)
