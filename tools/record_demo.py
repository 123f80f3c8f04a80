"""Record the README's picture: a real cluster loses a broker while messages flow.

    .venv/bin/python tools/record_demo.py

Runs SCRIPT on this machine, notes when each line was printed, and writes docs/images/outage.svg: an animation in which
every line appears when it did. Where animations are off, the picture shows the end.
"""

from __future__ import annotations

import html
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "images" / "outage.svg"
SCRIPT = ("causeway up --brokers 5 --detach", "python examples/outage.py", "causeway status")
LAST = "causeway down"

COLUMNS = 84
CHAR_WIDTH, LINE_HEIGHT, MARGIN = 8.4, 17, 16
TYPING_SECONDS = 1.0
"""How long a command stands there before it runs."""
PAUSE_SECONDS = 8.0
"""How long the end stays before the animation begins again."""
STYLE = """
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #d6deeb }
.typed { fill: #7fdbca; font-weight: bold }
.bad { fill: #ff7b72; font-weight: bold }
.good { fill: #7ee787; font-weight: bold }
@media (prefers-reduced-motion: reduce) { text { animation: none !important } }
"""


@dataclass(frozen=True)
class Line:
    """A line of the terminal, and when it appeared."""

    at: float
    text: str
    kind: str = ""


def record(command: str, begun: float, environ: dict[str, str]) -> list[Line]:
    """Run a command; what it printed, and when. Ends the recording if it fails."""
    lines = [Line(begun, f"$ {command}", "typed")]
    started = time.monotonic() - begun - TYPING_SECONDS
    with subprocess.Popen(
        ["bash", "-c", command], cwd=ROOT, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        lines += [Line(time.monotonic() - started, line.rstrip(), kind(line)) for line in process.stdout]
    if process.returncode and command != SCRIPT[-1]:  # status says by its code that a broker is down
        raise SystemExit("\n".join(line.text for line in lines))
    return lines


def kind(line: str) -> str:
    """How a line is drawn."""
    if "kill -9" in line or " down " in line or line.startswith("failed"):
        return "bad"
    return "good" if "0 missing" in line else ""


def rows(line: Line, home: str) -> list[Line]:
    """A line as a terminal of COLUMNS shows it."""
    text = line.text.replace(home, "~")
    return [replace(line, text=text[at : at + COLUMNS]) for at in range(0, len(text) or 1, COLUMNS)]


def draw(lines: list[Line]) -> str:
    """The animation: every line is hidden until its time."""
    total = lines[-1].at + PAUSE_SECONDS
    width, height = int(COLUMNS * CHAR_WIDTH) + 2 * MARGIN, len(lines) * LINE_HEIGHT + 2 * MARGIN
    styles, texts = [], []
    for number, line in enumerate(lines):
        if not line.text:
            continue
        hidden = 100 * line.at / total
        styles.append(
            f"@keyframes l{number} {{ 0%, {hidden:.2f}% {{ opacity: 0 }} {hidden + 0.01:.2f}%, 100% {{ opacity: 1 }} }}"
        )
        texts.append(
            f'<text class="{line.kind}" style="animation: l{number} {total:.1f}s infinite" xml:space="preserve" '
            f'x="{MARGIN}" y="{MARGIN + (number + 0.75) * LINE_HEIGHT:g}" '
            f'textLength="{len(line.text) * CHAR_WIDTH:.1f}">{html.escape(line.text)}</text>'
        )
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
            "<title>A broker is killed while messages flow: none is lost, doubled or out of order</title>",
            f"<style>{STYLE}{chr(10).join(styles)}</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#0d1b2a" stroke="#5c6f84"/>',
            *texts,
            "</svg>\n",
        ]
    )


def main() -> None:
    """Record SCRIPT in an environment of its own and write PICTURE."""
    with tempfile.TemporaryDirectory(prefix="causeway-record-") as home:
        environ = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": home,
            "XDG_RUNTIME_DIR": home,
            "COLUMNS": str(COLUMNS),
            "PYTHONUNBUFFERED": "1",
        }
        lines: list[Line] = []
        try:
            for command in SCRIPT:
                lines += record(command, lines[-1].at + 0.5 if lines else 0.0, environ)
        finally:
            subprocess.run(["bash", "-c", LAST], env=environ, check=True, capture_output=True)
        shown = [row for line in lines for row in rows(line, home)]
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(draw(shown))


if __name__ == "__main__":
    main()
