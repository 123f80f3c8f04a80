"""An evaluation as files: results.json, a CSV per table, figures, report.md. Owns: files. Must not know: numbers."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from causeway.evaluate.drawing import draw
from causeway.evaluate.evaluation import Evaluation


def write(evaluation: Evaluation, folder: Path) -> list[Path]:
    """All files of an evaluation; those that were there before are overwritten."""
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / "results.json"
    results.write_text(json.dumps(evaluation.as_json(), indent=1, ensure_ascii=False) + "\n")
    written = [results]
    for name, rows in evaluation.tables.items():
        path = folder / f"{name}.csv"
        path.write_text(as_csv(rows))
        written.append(path)
    for figure in evaluation.figures:
        written += draw(figure, folder)
    report = folder / "report.md"
    report.write_text(as_report(evaluation))
    return [*written, report]


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """One table."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def as_report(evaluation: Evaluation) -> str:
    """What people read: the claims first."""
    lines = [f"# {evaluation.title}", "", "Generated; this makes it again:", ""]
    lines += ["```sh", evaluation.command, "```", ""]
    rows = [{"claim": c.claim, "held": "yes" if c.held else "NO", "found": c.found} for c in evaluation.claims]
    lines += [as_markdown(rows), "", evaluation.text.strip(), ""]
    return "\n".join(lines)


def as_markdown(rows: Sequence[dict[str, Any]]) -> str:
    """A table; numbers to the right, with three significant digits."""
    names = list(rows[0])
    numeric = [all(isinstance(row[name], int | float) for row in rows) for name in names]
    lines = ["| " + " | ".join(names) + " |", "|" + "|".join("---:" if right else "---" for right in numeric) + "|"]
    lines += ["| " + " | ".join(shown(row[name]) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def shown(value: object) -> str:
    """A value as people read it."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
