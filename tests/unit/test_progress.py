"""Long work shows that it goes on, also where there is no terminal."""

from __future__ import annotations

import io
import threading

from rich.console import Console

from causeway.progress import Progress


class Heard(io.StringIO):
    """Standard error that says when something was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def write(self, text: str) -> int:
        done = super().write(text)
        self.written.set()
        return done


def test_without_a_terminal_a_line_says_what_goes_on_and_how_far_it_is() -> None:
    out = Heard()
    with Progress(console=Console(file=out), line_seconds=0.01) as bar:
        bar.add_task("reading", total=4, completed=1)
        assert out.written.wait(30)
    assert out.getvalue().startswith("reading: 0 s, 25 %\n")


def test_short_work_says_nothing() -> None:
    out = Heard()
    with Progress(console=Console(file=out)) as bar:
        bar.add_task("reading", total=4)
    assert out.getvalue() == ""


def test_line_has_what_its_task_says_more() -> None:
    out = Heard()
    with Progress(console=Console(file=out), line_seconds=0.01) as bar:
        bar.add_task("reading", total=4, completed=1, said="7 rows, about 9 s left")
        assert out.written.wait(30)
    assert out.getvalue().startswith("reading: 0 s, 25 %, 7 rows, about 9 s left\n")
