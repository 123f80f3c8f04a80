"""What people see of long work: a bar on a terminal, elsewhere a line every few seconds.

Owns: how often a line comes, and what it says. Must not know: what is done.
"""

from __future__ import annotations

import threading
from typing import Any, Final

from rich import progress

LINE_SECONDS: Final = 5.0


class Progress(progress.Progress):
    """As rich's; give it a console on standard error, so that standard output stays what a program reads."""

    def __init__(self, *columns: Any, line_seconds: float = LINE_SECONDS, **how: Any) -> None:
        super().__init__(*columns, **how)
        self._line_seconds = line_seconds
        self._ended = threading.Event()
        self._teller = threading.Thread(target=self._tell, name="progress", daemon=True)

    def start(self) -> None:
        """Begin to show."""
        if self.console.is_terminal:
            super().start()
        else:
            self._teller.start()

    def stop(self) -> None:
        """No more is shown."""
        if self.console.is_terminal:
            super().stop()
        self._ended.set()
        if self._teller.is_alive():
            self._teller.join()

    def _tell(self) -> None:
        while not self._ended.wait(self._line_seconds):
            under_way = [task for task in self.tasks if task.started and not task.finished]
            shown = under_way or self.tasks[-1:]  # what is full may still take its time
            if shown:
                self.console.print("; ".join(map(_line, shown)), markup=False, highlight=False, soft_wrap=True)


def _line(task: progress.Task) -> str:
    part = f", {task.percentage:.0f} %" if task.total else ""
    said = f", {task.fields['said']}" if task.fields.get("said") else ""
    return f"{task.description or 'under way'}: {task.elapsed or 0:.0f} s{part}{said}"
