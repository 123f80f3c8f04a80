"""What the loop decided, turn by turn, and why; and how it is kept going.

Owns: the file of decisions, when the next turn comes. Must not know: what a turn does, Spark.
"""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections.abc import Callable
from typing import Any, Final

from causeway.errors import CausewayError
from causeway.lake.locations import locate

HISTORY_FILE: Final = "history.jsonl"
HISTORY_MAX: Final = 10_000
"""Lines; the oldest go first. At a turn every ten minutes, two months of one domain."""
FAILED: Final = "failed"


def add_history(out: str, lines: list[dict[str, Any]]) -> None:
    """More lines, each a JSON object about one domain and turn. The file is replaced as a whole, or not at all."""
    path = locate(out) / HISTORY_FILE
    had = path.read().decode().splitlines() if path.exists() else []
    kept = [*had, *(json.dumps(line, ensure_ascii=False) for line in lines)][-HISTORY_MAX:]
    path.write("".join(f"{line}\n" for line in kept).encode())


def keep_going(turn: Callable[[], object], out: str, seconds: float, stop: threading.Event) -> None:
    """Take a turn every so many seconds until somebody says stop. A turn that fails is a line of the history, and the
    next one comes all the same; but the first must succeed, so that a wrong flag is heard of at once."""
    succeeded = False
    while not stop.is_set():
        try:
            turn()
            succeeded = True
        except CausewayError as error:
            if not succeeded:
                raise
            add_history(out, [{"at": time_now(), "domain": "", "action": FAILED, "why": str(error), "adopted": False}])
        stop.wait(seconds)


def time_now() -> str:
    """As people read it, in UTC."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
